/* looks.h: how often the daemon may be asked to look at a repository */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_LOOKS_H
#define FCGI_LOOKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* One repository is asked for once in this time. */
#define LOOK_MS 1000
/* All together are asked for so often in that time. */
#define MAX_LOOKS 200
/* Repositories remembered; two that meet in a slot forget each other. */
#define LOOK_SLOTS 1024

struct looks {
	pthread_mutex_t lock;
	struct {
		uint64_t hash;
		int64_t until_ms;
	} slots[LOOK_SLOTS];
	int64_t window_ms; /* its end; clock_boot_ms() */
	unsigned in_window;
};

void looks_init(struct looks *);
/* May it be asked for now?  If so, that is noted. */
bool looks_take(struct looks *, const char *route, const char *name,
    int64_t now_ms);

#endif

/* snapshot.h: the configuration in force, counted by those who use it */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_SNAPSHOT_H
#define FCGI_SNAPSHOT_H

#include <pthread.h>
#include <stdatomic.h>

#include "conf/conf.h"

/*
 * A reload replaces the one in force; the old one is freed when the last
 * request and the last write that began under it have let go of it.
 */
struct snapshot {
	struct conf *conf;
	atomic_uint refs;
};

struct snapshots {
	pthread_mutex_t lock;
	struct snapshot *now;
};

/* Both take conf over; no other thread may use it. */
void snapshots_init(struct snapshots *, struct conf *);
void snapshots_replace(struct snapshots *, struct conf *);
/* Lets go of the one in force: none is from here on. */
void snapshots_end(struct snapshots *);

/* The one in force, held. */
struct snapshot *snapshot_now(struct snapshots *);
struct snapshot *snapshot_hold(struct snapshot *);
void snapshot_release(struct snapshot *);

#endif

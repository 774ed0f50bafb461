/* world.h: a small configuration and an empty table for a test */
/* SPDX-License-Identifier: ISC */
#ifndef TESTS_UNIT_WORLD_H
#define TESTS_UNIT_WORLD_H

#include <pthread.h>

#include "conf/conf.h"
#include "conf/mem.h"
#include "sync/table.h"

/*
 * A git route "code" (primary "main", replicas "one" and "two"), another
 * one, "more" (primary "other", replica "two"), and a registry route "images"
 * (primary "old", to "new").  A test may change any of it.  All of this is
 * for one thread at a time, and ends the test where the table fails.
 */
struct world {
	struct upstream upstreams[6];
	struct route routes[3];
	struct conf conf;
	struct route *code, *more, *images;
	struct upstream *main, *one, *two;
	struct table *table;
	struct buf text; /* of the last answer */
	struct {	 /* world_hold()'s */
		pthread_t thread;
		pthread_mutex_t lock;
		pthread_cond_t news;
		bool holds, enough;
	} holder;
};

/* Ends the test where it cannot; directory is made below tap_dir(). */
void world_open(struct world *, const char *directory);
void world_close(struct world *);

/* Rows of names, which are parted by spaces; made where they are not. */
void world_learn(struct world *, const struct route *, const char *names);
/* The replica has what the row's generation and the present epochs say. */
void world_mark(struct world *, const struct route *,
    const struct upstream *replica, const char *name);
/* It had, before the last push. */
void world_outdate(struct world *, const struct route *,
    const struct upstream *replica, const char *name);
/*
 * The names in which a replica lags, by the index, parted by spaces;
 * borrowed until the next call.
 */
const char *world_lag(struct world *, const struct route *,
    const struct upstream *replica);

/* From one to the other a thread holds the table's lock: nobody can write. */
void world_hold(struct world *);
void world_release(struct world *);

#endif

/* lanes.h: the daemon's workers: what lags goes in, marks come out */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_LANES_H
#define SYNC_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "sync/pulse.h"
#include "sync/queue.h"
#include "sync/table.h"

/* One lane per git route and replica; see queue.h. */
struct lanes;

/* All are borrowed until lanes_free().  pulse NULL: nobody is told of marks. */
struct lanes *lanes_new(const struct conf *, struct table *, struct pulse *);
/* Lanes whose workers do not run; takes NULL. */
void lanes_free(struct lanes *);

/* A repository, at all replicas of its route. */
void lanes_put(struct lanes *, const struct route *, const char *name,
    enum queue_why);

/*
 * Where epochs rose since it was last done, every row of the route that has
 * no mark of them goes into the replica's lag index; *any: there was one.
 * alive, where not NULL, is called now and then.
 */
MUST_USE enum err lanes_requeue(struct lanes *, bool *any,
    void (*alive)(void *), void *arg);

/*
 * From the lag index into the lanes of those replicas that are up.  *all
 * (may be NULL) is false if a lane was full: then the next call goes on
 * where this one stopped.  retry: also names that rest.
 */
MUST_USE enum err lanes_refill(struct lanes *, bool retry, bool *all);

/*
 * Puts the next share of all that is known into the lanes, evenly spread, so
 * that all of it was compared within sweep_s; elapsed_ms since the last call.
 */
MUST_USE enum err lanes_sweep(struct lanes *, int64_t elapsed_ms);

/*
 * Starts the workers: sync.fetches for each lane.  What is in the lane of a
 * replica that is down they forget: it comes back with the replica's epoch.
 */
void lanes_start(struct lanes *);

/*
 * Waits until all that is in the lanes was tried once.  Then they are empty,
 * and may be filled and started again.
 */
void lanes_drain(struct lanes *);

/* Does a replica of any route lag in anything? */
MUST_USE enum err lanes_lag(const struct conf *, struct table *, bool *lags);

#endif

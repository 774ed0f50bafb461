/* health.h: which replicas are alive */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_HEALTH_H
#define SYNC_HEALTH_H

#include "conf/conf.h"
#include "sync/http.h"
#include "sync/table.h"

/* A replica is asked so often, in milliseconds. */
#define HEALTH_MS 1000
/* So many silences in a row make it down. */
#define HEALTH_MISSES 2

/*
 * Asks one replica, up to HEALTH_MISSES times, and notes in the table what
 * changed; logs a change.  *up tells how it is.
 */
MUST_USE enum err health_check(struct table *, struct http *,
    const struct conf *, const struct upstream *, bool *up);

/* Does that for ever, in a thread for each replica.  Borrowed for good. */
MUST_USE enum err health_start(const struct conf *, struct table *);

/* Does it once for each replica, side by side, and waits. */
void health_once(const struct conf *, struct table *);

#endif

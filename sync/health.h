/* health.h: which replicas are alive */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_HEALTH_H
#define SYNC_HEALTH_H

#include "conf/conf.h"
#include "sync/feed.h"
#include "sync/http.h"
#include "sync/table.h"

/* A replica is asked whether it is alive so often, in milliseconds. */
#define HEALTH_MS 1000
/* However much is told of it, no sooner than so long after the last time. */
#define HEALTH_GAP_MS 200
/*
 * Two misses in a row make it down.  A miss is an answer of 500 or more, or
 * none within so many milliseconds.  Before the second one its web server is
 * asked for what costs it nothing: if that hangs, too, the replica is down
 * within 1 + 1 + 1 + 1 s; if it answers, the replica is slow, as under load,
 * and gets the longer time.
 */
#define HEALTH_PATIENCE_MS 1000
#define HEALTH_SLOW_MS 10000

/*
 * What the feed tells of a replica's reads is a hint, since some requests
 * fail wherever they go: a repository that is broken, or too big for a time
 * limit.  If a hint alone took a replica out, whoever asks for such a one
 * again and again would keep all of them out, and have everything on them
 * compared anew each time.  So
 * - a failed read (502, 503, 504, another upstream served it) is a miss, and
 *   the replica is asked at once, its git as well as its endpoint: one more
 *   miss, and it is out, some milliseconds after the line where it refuses,
 *   after HEALTH_PATIENCE_MS where it hangs;
 * - a read that broke off has it asked at once, and counts for nothing;
 * - DAMP_READS failed reads (504 apart) in a short time take it out though it
 *   answers, since the web server's way to it may be another than ours; but
 *   never the last one that a route has, and for at most half of the time.
 * Nothing gets stale by it: others serve what they have proved, or the
 * primary does.  Whatever took it out, it comes back when endpoint and git
 * answer, but not during its hold-off (damp.h), when it is not asked, and
 * what is told of it is not counted.
 */
struct health;
struct health *health_new(const struct conf *, struct table *);
/* A line of the feed, from any thread; waits for no table and no network. */
void health_tell(struct health *, const struct feed_line *);

/* Asks for ever, in a thread for each replica.  Borrowed for good. */
MUST_USE enum err health_start(struct health *);

/*
 * Asks one replica, of which nothing was told, and notes in the table what
 * changed; logs a change.  *up tells how it is.
 */
MUST_USE enum err health_check(struct table *, struct http *,
    const struct conf *, const struct upstream *, bool *up);

/* Does it once for each replica, side by side, and waits. */
void health_once(const struct conf *, struct table *);

#endif

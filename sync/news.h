/* news.h: whoever waits for a mark is told of it, in whatever process */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_NEWS_H
#define SYNC_NEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "sync/pulse.h"

/*
 * The word of a repository, which is another after each news of it, and of
 * those that share it.  Read before the table, it tells whether what was
 * read there may be old.  Borrowed until pulse_close().
 */
const _Atomic uint32_t *news_of(const struct pulse *, const struct route *,
    const char *name);
/* A mark, or a fence, was committed: every news_await() returns. */
void news_tell(struct pulse *, const struct route *, const char *name);
/* So does it for this, though there are none. */
void news_ring(struct pulse *);
/*
 * Waits until there were news behind a turn, which is what it returned last
 * (0 at first), and returns theirs.
 */
uint32_t news_await(const struct pulse *, uint32_t turn);

/*
 * For a router that cannot do anything else while one request waits: seats
 * for half of the routers that have claimed a slot, so that the others are
 * free.  Each is held by a lock, which goes with its process, however that
 * ends.  false: none is free.
 */
MUST_USE bool news_sit(struct pulse *);
/* Leaves it, if it has one. */
void news_rise(struct pulse *);

#endif

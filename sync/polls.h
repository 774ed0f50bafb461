/* polls.h: compares what is read lately, for changes that nobody reported */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_POLLS_H
#define SYNC_POLLS_H

#include <stdint.h>

#include "conf/conf.h"
#include "sync/lanes.h"
#include "sync/stamps.h"
#include "sync/table.h"

/*
 * Rounds (round.h) over each git route, one for each of its replicas, which
 * have what was read compared, primary and replica, where a mark says that
 * the two are equal.  Where they are not, the generation rises, so that at
 * once no mark counts any more, whichever of the two has changed; the lanes
 * do the rest.  Each replica has threads of its own for that, so that no
 * fetch and no other replica delays it.
 */
struct polls;

/* All is borrowed until polls_free(). */
struct polls *polls_new(const struct conf *, struct table *, struct lanes *,
    struct stamps *);
/* Waits for comparisons under way; takes NULL. */
void polls_free(struct polls *);

MUST_USE enum err polls_start(struct polls *);
/*
 * What is due by now (clock_boot_ms()); call it each ROUND_TICK_MS.  Costs a
 * walk over all rows for each replica and poll_s: 100,000 rows 30 ms of CPU.
 */
MUST_USE enum err polls_tick(struct polls *, int64_t now_ms);

#endif

/* doubts.h: routes in doubt, and how they come out of it */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_DOUBTS_H
#define FCGI_DOUBTS_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "fcgi/snapshot.h"
#include "sync/pulse.h"
#include "sync/table.h"

/* Which routes were in doubt, and by which number. */
struct doubts {
	struct snapshot *snapshot;   /* held; NULL where there is no pulse */
	uint32_t number[MAX_ROUTES]; /* by index of the route; 0: none */
	unsigned n;
};

/* pulse NULL: none.  Ended by doubts_end(). */
void doubts_note(struct doubts *, struct pulse *, struct snapshots *);
void doubts_end(struct doubts *);

/*
 * Raises the epochs of those routes, so that marks of before count no more,
 * then takes doubt back where nobody raised it meanwhile.
 */
MUST_USE enum err doubts_settle(struct doubts *, struct table *,
    struct pulse *);

/*
 * Doubt that an earlier process left behind tells of fences that were never
 * committed, and whose pushes may still be under way: it has to stay as long
 * as a fence without a word.  Until when (clock_boot_ms(), 0: none);
 * all says that every git route is to be put in doubt now.
 */
int64_t doubts_adopt(struct pulse *, struct snapshots *, bool all);

#endif

/* view.h: what one decision needs of the table, from one snapshot */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_VIEW_H
#define SYNC_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "sync/place.h"
#include "sync/pulse.h"
#include "sync/table.h"

struct git_view {
	bool doubt;	       /* off, flag set, or heartbeat too old */
	const char *doubt_why; /* static text, or NULL */
	bool known;	       /* has a row */
	uint64_t generation;   /* 0 without a row */
	unsigned fences;       /* that are up */
	struct {
		bool current; /* marked at the present generation, epochs */
		bool down;
		bool drained;
		bool fails; /* lags, and failed to converge when last tried */
		bool lags;  /* in anything; only looked at for SCOPE_HOST */
		uint64_t generation; /* of its mark, 0 without */
	} replicas[MAX_REPLICAS];    /* in the route's order */
};

struct registry_view {
	bool imported; /* both catalogues, once, completely */
	bool placed;
	struct placement placement; /* where placed */
};

/*
 * table NULL is an empty one; pulse NULL is one that beats.  ERR_TABLE
 * leaves *out as it was: git reads then go to the primary in doubt,
 * registry writes to hold.
 */
MUST_USE enum err view_git(struct table *, const struct pulse *,
    const struct conf *, const struct route *, const char *name,
    struct git_view *out);
MUST_USE enum err view_registry(struct table *, const struct route *,
    const char *name, struct registry_view *out);

#endif

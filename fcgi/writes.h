/* writes.h: what the router writes: a fence, a placement */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_WRITES_H
#define FCGI_WRITES_H

#include <stdbool.h>

#include "fcgi/snapshot.h"
#include "fcgi/writer.h"
#include "sync/place.h"

/* A request waits at most so long for its row, in milliseconds. */
#define WRITE_WAIT_MS 500

/*
 * Raises a fence.  An error: it was not committed in time; then the route
 * is in doubt from before this returns until it was committed and the
 * route's epoch raised.  *guarded false: nor could doubt be raised, so that
 * the push must not be let through.  route is of snapshot's conf.
 */
MUST_USE enum err write_fence(struct writer *, struct snapshot *,
    const struct route *, const char *name, const char *token, bool *guarded);

/* What place_write() is asked; texts are copied. */
struct place_order {
	const struct route *route; /* of snapshot's conf */
	const char *name;
	const char *wanted; /* upstream */
	const char *reason;
	const char *token;
	bool manifest;
};
/* place_write(), committed.  An error: not in time; answer "hold". */
MUST_USE enum err write_place(struct writer *, struct snapshot *,
    const struct place_order *, struct placement *out);

#endif

/* work.h: one lagging repository at one replica: prove, converge, prove */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_WORK_H
#define SYNC_WORK_H

#include <stdbool.h>

#include "conf/conf.h"
#include "sync/http.h"
#include "sync/table.h"

enum work_outcome {
	WORK_MARKED,  /* it serves from now on */
	WORK_MOVED,   /* it changed meanwhile: once more */
	WORK_WAITS,   /* it comes back when its fence ends, or by a report */
	WORK_DROPPED, /* the primary has it no longer, nor has the table */
	WORK_FAILED,  /* later; err_text() says why */
};

/*
 * Looks at it, and does what is needed.  A difference where the table knew
 * of none is a change that nobody reported: then the generation rises.
 * *raised tells the caller, whose other replicas lag from then on.
 */
enum work_outcome work_run(struct table *, struct http *, const struct conf *,
    const struct route *, const struct upstream *replica, const char *name,
    bool *raised);

#endif

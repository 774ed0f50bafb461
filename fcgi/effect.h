/* effect.h: what a report of a push changes, and who is told */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_EFFECT_H
#define FCGI_EFFECT_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "fcgi/writer.h"
#include "sync/report.h"

/* A report on its way through the writer. */
struct effect {
	const struct conf *conf;
	struct push_report report;
	char token[TOKEN_SIZE]; /* of a fence that begins or ends, or "" */
	int64_t now_ms;
	unsigned n_concerned; /* routes that it may mean */

	/* what came of it */
	uint64_t generation; /* the highest; 0: no row */
	bool fenced;
	bool known[MAX_ROUTES]; /* by index of the route */
	unsigned n_known;
	bool learnt; /* because of this report */
};

/* Of a report that came just now. */
void effect_begin(struct effect *, const struct conf *,
    const struct push_report *);
/* To be written.  Not kept: who is late was told that nothing was done. */
extern const struct write_kind effect_kind;
/* Once it is: the daemon takes it first; where nobody knows it, it looks. */
void effect_wake(const struct effect *);

/* Without a word about the route, all git routes are meant. */
bool effect_concerns(const struct push_report *, const struct route *);
/* The repository's printed form on that route; not into the report itself. */
void effect_name(const struct push_report *, const struct route *,
    char name[NAME_SIZE]);

#endif

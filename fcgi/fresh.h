/* fresh.h: how soon reads of a git route see what was changed, and why */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_FRESH_H
#define FCGI_FRESH_H

#include <stdint.h>

#include "conf/conf.h"
#include "conf/mem.h"
#include "sync/stamps.h"
#include "sync/wire.h"

/* Why a change that nobody reported is seen when it is. */
enum fresh_why {
	FRESH_ALWAYS,	/* no replicas: all reads are the primary's */
	FRESH_UNSEEN,	/* it is not: no daemon compares what is read */
	FRESH_REPORTED, /* it is not: proof is by reported commits */
	FRESH_POLL,	/* the poll keeps to poll_s */
	FRESH_RATE,	/* more is read than poll_rate allows for */
	FRESH_LATE,	/* comparisons take longer */
};

struct fresh {
	enum fresh_why why;
	int64_t within_s; /* of a read, where it is seen; else 0 */
	int64_t read;	  /* repositories read lately */
};

/* pace NULL: nothing was told; now_ms is clock_boot_ms(). */
struct fresh fresh_of(const struct conf *, const struct route *,
    const struct pace *, int64_t now_ms);

/* A line for people, and an object "freshness"; nothing for FRESH_ALWAYS. */
void fresh_text(const struct conf *, const struct route *, const struct fresh *,
    struct buf *out);
void fresh_json(const struct conf *, const struct route *, const struct fresh *,
    struct wire *);

#endif

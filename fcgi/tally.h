/* tally.h: what was decided, and what became of waits, counted for status */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_TALLY_H
#define FCGI_TALLY_H

#include "conf/mem.h"
#include "fcgi/choose.h"
#include "sync/pulse.h"

enum tally_event {
	/* of requests that waited for a mark (wait_ms) */
	TALLY_WAITED, /* each once, however often it was woken */
	TALLY_SERVED, /* a replica had its mark in time */
	TALLY_LATE,   /* none had */
	/* decided for another upstream than the primary, or would have been */
	TALLY_ELSEWHERE,
	TALLY_EVENTS
};

/* Counted since the boot, by all routers; pulse NULL: nothing is. */
struct tally {
	uint64_t reason[REASONS];
	uint64_t event[TALLY_EVENTS];
};

void tally_event(struct pulse *, const struct route *, enum tally_event);
/* A decision on a request of the route, once it is answered. */
void tally_decision(struct pulse *, const struct route *,
    const struct decision *);
void tally_read(const struct pulse *, const struct route *, struct tally *out);

#endif

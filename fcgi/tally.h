/* tally.h: what was decided, and what became of waits, counted for status */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_TALLY_H
#define FCGI_TALLY_H

#include "conf/mem.h"
#include "fcgi/choose.h"
#include "sync/pulse.h"

/* Of requests that waited for a mark (wait_ms). */
enum tally_wait {
	TALLY_WAITED, /* each once, however often it was woken */
	TALLY_SERVED, /* a replica had its mark in time */
	TALLY_LATE,   /* none had */
	TALLY_WAITS
};

/* Counted since the boot, by all routers; pulse NULL: nothing is. */
struct tally {
	uint64_t reason[REASONS];
	uint64_t wait[TALLY_WAITS];
};

void tally_wait(struct pulse *, const struct route *, enum tally_wait);
/* A decision on a request of the route, once it is answered. */
void tally_decision(struct pulse *, const struct route *,
    const struct decision *);
void tally_read(const struct pulse *, const struct route *, struct tally *out);

#endif

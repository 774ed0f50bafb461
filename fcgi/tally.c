/* tally.c: what was decided, and what became of waits, counted for status */
/* SPDX-License-Identifier: ISC */
#include "fcgi/tally.h"

#include <string.h>

#include "sync/counts.h"

/* Numbers of the counts; those of reasons begin behind those of events. */
#define FIRST_REASON 8u
_Static_assert(TALLY_EVENTS <= FIRST_REASON, "events have their numbers");
_Static_assert(FIRST_REASON + REASONS <= MAX_COUNTS, "reasons have theirs");

void
tally_event(struct pulse *pulse, const struct route *route,
    enum tally_event what)
{
	if (pulse != NULL)
		counts_add(pulse, route, what);
}

void
tally_decision(struct pulse *pulse, const struct route *route,
    const struct decision *decision)
{
	const char *upstream = decision->observed != NULL ? decision->observed
							  : decision->upstream;

	if (pulse == NULL || route == NULL)
		return;
	counts_add(pulse, route, FIRST_REASON + decision->reason);
	if (decision->reason != REASON_HELD &&
	    strcmp(upstream, route->primary->name) != 0)
		counts_add(pulse, route, TALLY_ELSEWHERE);
}

void
tally_read(const struct pulse *pulse, const struct route *route,
    struct tally *out)
{
	*out = (struct tally){ 0 };
	if (pulse == NULL)
		return;
	for (unsigned i = 0; i < TALLY_EVENTS; i++)
		out->event[i] = counts_get(pulse, route, i);
	for (unsigned i = 0; i < REASONS; i++)
		out->reason[i] = counts_get(pulse, route, FIRST_REASON + i);
}

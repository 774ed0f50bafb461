/* tally.c: what was decided, and what became of waits, counted for status */
/* SPDX-License-Identifier: ISC */
#include "fcgi/tally.h"

#include "sync/counts.h"

/* Numbers of the counts; those of a reason begin behind those of waits. */
#define FIRST_REASON 8u
_Static_assert(TALLY_WAITS <= FIRST_REASON, "waits have their numbers");
_Static_assert(FIRST_REASON + REASONS <= MAX_COUNTS, "reasons have theirs");

void
tally_wait(struct pulse *pulse, const struct route *route, enum tally_wait what)
{
	if (pulse != NULL)
		counts_add(pulse, route, what);
}

void
tally_decision(struct pulse *pulse, const struct route *route,
    const struct decision *decision)
{
	if (pulse != NULL && route != NULL)
		counts_add(pulse, route, FIRST_REASON + decision->reason);
}

void
tally_read(const struct pulse *pulse, const struct route *route,
    struct tally *out)
{
	*out = (struct tally){ 0 };
	if (pulse == NULL)
		return;
	for (unsigned i = 0; i < TALLY_WAITS; i++)
		out->wait[i] = counts_get(pulse, route, i);
	for (unsigned i = 0; i < REASONS; i++)
		out->reason[i] = counts_get(pulse, route, FIRST_REASON + i);
}

/* round.h: when what is read is compared: rounds over a route's rows, paced */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_ROUND_H
#define SYNC_ROUND_H

#include <stdbool.h>
#include <stdint.h>

/* The plan is looked at so often, in milliseconds. */
#define ROUND_TICK_MS 1000

/*
 * Of one route and replica.  A round walks once over all rows of the route
 * and has those compared that were read since the round before it began.  So
 * of two reads, with the first at t, the second one at t + bound or later
 * sees what was changed before t, bound being the time from the begin of a
 * round to the last comparison of the next one.  A round begins so early that
 * this is poll_s, unless there is more to compare than poll_rate lets
 * through, or comparing takes longer.
 *
 * Pure; all times are clock_boot_ms().
 */
struct round {
	int64_t began_ms, before_ms; /* this round, and the one before */
	int64_t started_ms;	     /* the first one */
	bool under_way;		     /* not all was compared yet */
	bool walking;		     /* nor was the last row looked at */
	int64_t took_ms, bound_ms;   /* of the last one; 0: it found nothing */
	int64_t missed_ms; /* before the first whose comparisons failed, or 0 */
	int64_t earned, earned_ms; /* thousandths of a comparison; when */
	int64_t found, polled;	   /* repositories: until now; in the last */
};

/* The first round is due, over what was read since then. */
void round_start(struct round *, int64_t now_ms, int64_t since_ms);
/* Is it time for the next one?  Then it has begun. */
bool round_begins(struct round *, int64_t now_ms, int64_t poll_ms);
/*
 * How many repositories may be compared now, at a rate a second that this
 * replica shares with the others of the route, since each comparison asks
 * the primary; and never more than a second's worth at once.
 */
int64_t round_earns(struct round *, int64_t now_ms, unsigned rate,
    int64_t replicas);
/* So many were found and are being compared. */
void round_spends(struct round *, int64_t repositories, int64_t replicas);
/*
 * All rows were looked at; all that was found is compared, by done_ms; failed:
 * but for some that could not be asked.
 */
void round_walked(struct round *);
void round_ends(struct round *, int64_t done_ms, bool failed);

/*
 * For how long a change that nobody reported may stay unseen, by what is
 * known now; 0: nothing is read.
 */
int64_t round_bound_ms(const struct round *, int64_t now_ms);

#endif

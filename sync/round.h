/* round.h: when what is read is compared: rounds over a route's rows, paced */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_ROUND_H
#define SYNC_ROUND_H

#include <stdbool.h>
#include <stdint.h>

/* The plan is looked at so often, in milliseconds. */
#define ROUND_TICK_MS 1000

/*
 * A round walks once over all rows of a route and has those compared, at
 * each replica, that were read since the round before it began.  So of two
 * reads, with the first at t, the second one at t + bound or later sees what
 * was changed before t, bound being the time from the begin of a round to the
 * last comparison of the next one: a round begins so early that this is
 * poll_s, unless there is more to compare than poll_rate lets through.
 *
 * Pure; all times are clock_boot_ms().
 */
struct round {
	int64_t began_ms, before_ms; /* this round, and the one before */
	int64_t started_ms;	     /* the first one */
	bool walking;		     /* it is not at the last row yet */
	int64_t took_ms;	     /* the last one, with its comparisons */
	int64_t earned, earned_ms;   /* thousandths of a comparison; when */
	int64_t found, polled;	     /* repositories: until now; in the last */
};

/* The first round is due, over what was read since then. */
void round_start(struct round *, int64_t now_ms, int64_t since_ms);
/* Is it time for the next one?  Then it has begun. */
bool round_begins(struct round *, int64_t now_ms, int64_t poll_ms);
/*
 * How many repositories may be compared now, each of which costs the primary
 * as many comparisons as there are replicas: rate a second, and never more
 * than a second's worth at once.
 */
int64_t round_earns(struct round *, int64_t now_ms, unsigned rate,
    int64_t replicas);
/* So many were found and are being compared. */
void round_spends(struct round *, int64_t repositories, int64_t replicas);
void round_walked(struct round *);

/* How one replica keeps up with the rounds; { 0 } is one with nothing to do. */
struct pursuit {
	bool behind;	  /* it has something to compare */
	int64_t since_ms; /* what it compares was last compared before that */
	int64_t bound_ms; /* that it kept to last; 0: nothing was to be done */
};
void pursuit_begin(struct pursuit *, const struct round *);
/* It has compared all; the last of it was done at done_ms. */
void pursuit_end(struct pursuit *, int64_t done_ms);
/* For how long an unreported change may stay unseen, by what is known now. */
int64_t pursuit_bound_ms(const struct pursuit *, int64_t now_ms);

#endif

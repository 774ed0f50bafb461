/* round.c: when what is read is compared: rounds over a route's rows, paced */
/* SPDX-License-Identifier: ISC */
#include "sync/round.h"

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

void
round_start(struct round *round, int64_t now_ms, int64_t since_ms)
{
	*round = (struct round){ .began_ms = since_ms,
		.started_ms = now_ms,
		.earned_ms = now_ms - 1000 };
}

bool
round_begins(struct round *round, int64_t now_ms, int64_t poll_ms)
{
	/* its last comparison, not its begin, is due within poll_ms */
	int64_t early_ms = least(round->took_ms + ROUND_TICK_MS, poll_ms / 2);

	if (round->under_way || now_ms < round->began_ms + poll_ms - early_ms)
		return false;
	round->before_ms = round->began_ms;
	round->began_ms = now_ms;
	round->under_way = round->walking = true;
	round->found = 0;
	return true;
}

int64_t
round_earns(struct round *round, int64_t now_ms, unsigned rate,
    int64_t replicas)
{
	int64_t most = (int64_t)rate * 1000;
	/* what is earned of a span that is too long would only be cut off */
	int64_t span_ms = least(now_ms - round->earned_ms, 3600000);

	/* one repository must be affordable */
	if (most < replicas * 1000)
		most = replicas * 1000;
	round->earned = least(round->earned + span_ms * rate, most);
	round->earned_ms = now_ms;
	return round->earned / (replicas * 1000);
}

void
round_spends(struct round *round, int64_t repositories, int64_t replicas)
{
	round->earned -= repositories * replicas * 1000;
	round->found += repositories;
}

void
round_walked(struct round *round)
{
	round->walking = false;
}

/* What was before the first round, another daemon knew. */
static int64_t
unseen_ms(const struct round *round, int64_t now_ms)
{
	int64_t since_ms = round->missed_ms > 0 ? round->missed_ms
						: round->before_ms;

	return now_ms -
	    (since_ms < round->started_ms ? round->started_ms : since_ms);
}

void
round_ends(struct round *round, int64_t done_ms, bool failed)
{
	bool any = round->found > 0;

	if (!failed || !any)
		round->missed_ms = 0;
	else if (round->missed_ms == 0)
		round->missed_ms = round->before_ms;
	round->under_way = false;
	round->polled = round->found;
	round->took_ms = any ? done_ms - round->began_ms : 0;
	round->bound_ms = any ? unseen_ms(round, done_ms) : 0;
}

int64_t
round_bound_ms(const struct round *round, int64_t now_ms)
{
	int64_t late_ms = unseen_ms(round, now_ms);

	bool late = round->missed_ms > 0 ||
	    (round->under_way && round->found > 0);

	return late && late_ms > round->bound_ms ? late_ms : round->bound_ms;
}

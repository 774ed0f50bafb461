/* round_test.c: when rounds begin, what they may cost, how late they are */
/* SPDX-License-Identifier: ISC */
#include "sync/round.h"

#include <stddef.h>

#include "tests/unit/tap.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/* One after the other; times in seconds, poll_s is 10. */
static const struct beginning {
	const char *claim;
	int64_t now_s;
	int64_t took_s; /* of the one before, with its comparisons */
	bool ended;	/* before that */
	bool begins;
	int64_t before_s;
} beginnings[] = {
	{ "the first is due at once", 1000, 0, false, true, 800 },
	{ "none while it walks", 1100, 0, false, false, 800 },
	{ "a late one, when that is over", 1100, 0, true, true, 1000 },
	{ "not too early", 1108, 0, true, false, 1000 },
	{ "a tick early", 1109, 0, true, true, 1100 },
	{ "not too early after one that took 2 s", 1115, 2, true, false, 1100 },
	{ "earlier by that", 1116, 2, true, true, 1109 },
	{ "by half of poll_s at most", 1120, 60, true, false, 1109 },
	{ "which is that", 1121, 60, true, true, 1116 },
};

static void
test_begin(void)
{
	struct round round;

	round_start(&round, 1000000, 800000);
	for (size_t i = 0; i < COUNT(beginnings); i++) {
		const struct beginning *row = &beginnings[i];

		round.found = row->took_s > 0;
		if (row->ended)
			round_ends(&round, round.began_ms + row->took_s * 1000,
			    false);
		tap_int(round_begins(&round, row->now_s * 1000, 10000),
		    row->begins, "%s", row->claim);
		tap_int(round.before_ms,
		    row->begins || i > 0 ? row->before_s * 1000 : 0,
		    "%s: reads since", row->claim);
	}
}

/* One after the other. */
static const struct earning {
	int64_t after_ms;
	unsigned rate;
	int64_t replicas, may, spent;
} earnings[] = {
	{ 0, 20, 1, 20, 20 },
	{ 500, 20, 1, 10, 0 },
	{ 500, 20, 1, 20, 5 },
	{ 0, 20, 1, 15, 15 },
	{ 0, 20, 1, 0, 0 },
	{ 60000, 20, 1, 20, 20 }, /* no burst */
	{ 1000, 20, 2, 10, 10 },  /* each asks the primary */
	{ 1000, 20, 3, 6, 6 },
	{ 50, 20, 3, 1, 1 },	/* the rest is kept */
	{ 100000, 1, 4, 1, 1 }, /* slower than one a second */
	{ 3000, 1, 4, 0, 0 },
	{ 1000, 1, 4, 1, 1 },
	{ INT64_C(1) << 50, 1000, 1, 1000, 0 },
};

static void
test_earn(void)
{
	struct round round;
	int64_t now_ms = 5000;

	round_start(&round, now_ms, 0);
	for (size_t i = 0; i < COUNT(earnings); i++) {
		const struct earning *row = &earnings[i];

		now_ms += row->after_ms;
		tap_int(round_earns(&round, now_ms, row->rate, row->replicas),
		    row->may, "row %zu: so many may be compared", i);
		round_spends(&round, row->spent, row->replicas);
	}
	round_walked(&round);
	round_ends(&round, now_ms, false);
	tap_int(round.polled, 79, "all that were compared are counted");
}

/* One after the other; times in seconds; the first round begins at 1000. */
static const struct bounding {
	const char *claim;
	enum { LOOK, BEGIN, FIND, END, FAIL } what;
	int64_t at_s, bound_s;
} boundings[] = {
	{ "nothing is known", LOOK, 1003, 0 },
	{ "the first round", BEGIN, 1003, 0 },
	{ "finds something", FIND, 1003, 3 },
	{ "and compares it", LOOK, 1004, 4 },
	{ "until now", END, 1005, 5 },
	{ "idle", LOOK, 1009, 5 },
	{ "the second one", BEGIN, 1012, 5 },
	{ "finds something", FIND, 1012, 9 },
	{ "and is done", END, 1013, 10 },
	{ "the third one", BEGIN, 1021, 10 },
	{ "is as far as the last one was", FIND, 1021, 10 },
	{ "is late", LOOK, 1034, 22 },
	{ "at last it is done", END, 1035, 23 },
	{ "the fourth one", BEGIN, 1036, 23 },
	{ "finds nothing", END, 1036, 0 },
	{ "the fifth one", BEGIN, 1046, 0 },
	{ "finds something", FIND, 1046, 10 },
	{ "that cannot be compared", FAIL, 1047, 11 },
	{ "and nobody sees it", LOOK, 1052, 16 },
	{ "the sixth one", BEGIN, 1056, 20 },
	{ "finds it", FIND, 1056, 20 },
	{ "and cannot, either", FAIL, 1057, 21 },
	{ "the seventh one", BEGIN, 1066, 30 },
	{ "finds it", FIND, 1066, 30 },
	{ "and can", END, 1067, 11 },
	{ "as long as that took", LOOK, 1070, 11 },
};

static void
test_bound(void)
{
	struct round round;

	round_start(&round, 1000000, 0);
	for (size_t i = 0; i < COUNT(boundings); i++) {
		const struct bounding *row = &boundings[i];

		switch (row->what) {
		case BEGIN:
			tap_ok(round_begins(&round, row->at_s * 1000, 10000),
			    "%s begins", row->claim);
			break;
		case FIND:
			round_spends(&round, 1, 1);
			break;
		case END:
		case FAIL:
			round_ends(&round, row->at_s * 1000, row->what == FAIL);
			break;
		case LOOK:
			break;
		}
		tap_int(round_bound_ms(&round, row->at_s * 1000),
		    row->bound_s * 1000, "%s", row->claim);
	}
}

int
main(void)
{
	test_begin();
	test_earn();
	test_bound();
	return tap_done();
}

/* damp_test.c: when failed reads are enough, and how long down lasts */
/* SPDX-License-Identifier: ISC */
#include <string.h>

#include "sync/damp.h"
#include "tests/unit/tap.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define S 1000
#define QUIET (DAMP_QUIET_MS / S)

/* One after the other: at so many seconds it goes up or down. */
static const struct {
	const char *claim;
	int64_t at_s;
	bool up;
	int64_t left_s; /* of its hold-off, then */
} turns[] = {
	{ "the first time", 100, false, 2 },
	{ "back", 103, true, 0 },
	{ "soon again: twice as long", 104, false, 4 },
	{ "back", 110, true, 0 },
	{ "at the end of the quiet time", 110 + QUIET - 1, false, 8 },
	{ "back", 400, true, 0 },
	{ "again", 401, false, 16 },
	{ "back", 420, true, 0 },
	{ "again", 421, false, 32 },
	{ "back", 460, true, 0 },
	{ "no longer than the longest", 461, false, 60 },
	{ "back", 530, true, 0 },
	{ "still the longest", 531, false, 60 },
	{ "back", 600, true, 0 },
	{ "after a quiet time: as the first", 600 + QUIET, false, 2 },
};

static void
test_hold(void)
{
	struct damp damp = { 0 };

	tap_int(damp_left_ms(&damp, 50 * S), 0, "nothing holds a new one");
	for (size_t i = 0; i < COUNT(turns); i++) {
		int64_t now_ms = turns[i].at_s * S;

		if (turns[i].up)
			damp_up(&damp, now_ms);
		else
			damp_down(&damp, now_ms);
		tap_int(damp_left_ms(&damp, now_ms), turns[i].left_s * S,
		    "%s: %lld s", turns[i].claim, (long long)turns[i].left_s);
		tap_int(damp_left_ms(&damp, now_ms + turns[i].left_s * S), 0,
		    "%s: then it is over", turns[i].claim);
	}
}

/* Reads fail at these milliseconds; "!" where that was enough. */
static const struct {
	const char *claim;
	int64_t down_s, up_s; /* before; 0: it never was */
	int64_t at_ms[12];    /* ended by 0 */
	const char *want;
} rows[] = {
	{ "too few", 0, 0, { 1, 2, 3, 4 }, "...." },
	{ "at once", 0, 0, { 7, 7, 7, 7, 7 }, "....!" },
	{ "just in time", 0, 0, { 1, 2, 3, 4, 10001 }, "....!" },
	{ "too slow", 0, 0, { 1, 2, 3, 4, 10002 }, "....." },
	{ "the last ones count", 0, 0,
	    { 1, 2, 9000, 10500, 10600, 10700, 10800 }, "......!" },
	{ "they start anew", 0, 0, { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 },
	    "....!....!." },
	{ "not while it was up for less than it was down", 1, 10,
	    { 10001, 10002, 10003, 10004, 11998, 11999 }, "......" },
	{ "but from then on", 1, 10,
	    { 11999, 12000, 12001, 12002, 12003, 12004 }, ".....!" },
};

static void
test_reads(void)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct damp damp = { 0 };
		char got[16] = "";

		if (rows[i].down_s > 0) {
			damp_down(&damp, rows[i].down_s * S);
			damp_up(&damp, rows[i].up_s * S);
		}
		for (size_t j = 0; rows[i].at_ms[j] != 0; j++)
			strcat(got,
			    damp_read(&damp, rows[i].at_ms[j]) ? "!" : ".");
		tap_str(got, rows[i].want, "%s", rows[i].claim);
	}
}

int
main(void)
{
	test_hold();
	test_reads();
	return tap_done();
}

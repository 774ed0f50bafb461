/* judge_test.c: histories of refs, and which reads of them are stale */
/* SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/mem.h"
#include "tests/stale/judge.h"
#include "tests/unit/tap.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define MAX_READS 8

/*
 * What happened to one ref, whose first value is 0: "p1@10" prepared, "c1@12"
 * committed, "a1@12" aborted, "t1@5-20" told of by a push that took so long.
 * A value of "-" is absent, of "?" was not looked at.
 */
static const char *
value_of(const char *at, int *value)
{
	char *end;

	if (*at == '-' || *at == '?') {
		*value = *at == '-' ? ABSENT : UNSEEN;
		return at + 1;
	}
	*value = (int)strtol(at, &end, 10);
	return end;
}

static void
take_event(struct history *history, const char *event, int *last)
{
	long from = 0, to = 0;
	int value;
	const char *at = value_of(event + 1, &value);

	sscanf(at, "@%ld-%ld", &from, &to);
	switch (event[0]) {
	case 'p':
		history_prepared(history, 0, value + 100, *last, value, from);
		*last = value;
		break;
	case 'c':
		history_committed(history, 0, value + 100, value, from);
		*last = value;
		break;
	case 'a':
		history_aborted(history, 0, value + 100, value);
		break;
	case 't':
		history_told(history, 0, value, from, to);
		break;
	case '=': /* the next one finds this value */
		*last = value;
		break;
	}
}

static struct history *
history_of(const char *events)
{
	const int initial[] = { 0 };
	struct history *history = history_new(1, initial);
	char *copy = mem_dup(events), *rest = copy, *event;
	int last = 0;

	while ((event = strsep(&rest, " ")) != NULL && *event != '\0')
		take_event(history, event, &last);
	free(copy);
	return history;
}

/* "value@start-end ...", "!" behind it: at the primary. */
static size_t
reads_of(const char *text, struct read *reads, int *values)
{
	size_t n = 0;

	for (; *text != '\0'; text += *text == ' ') {
		long start = 0, end = 0;

		text = value_of(text, &values[n]);
		sscanf(text, "@%ld-%ld", &start, &end);
		text += strcspn(text, " !");
		reads[n] = (struct read){ .start_ns = start,
			.end_ns = end,
			.values = &values[n],
			.of_primary = *text == '!' };
		text += *text == '!';
		n++;
	}
	return n;
}

#define ONE "p1@10 c1@20 t1@5-30"
#define BACK ONE " p0@40 c0@50 t0@35-60"
static const struct {
	const char *claim, *events, *reads;
	const char *want; /* for each read, of "push read disk wrong" */
} rows[] = {
	{ "nothing happened", "", "0@1-2", "." },
	{ "a new state, once its push has returned", ONE, "1@31-32", "." },
	{ "the old one then", ONE, "0@31-32", "pd" },
	{ "the old one in the moment of the return", ONE, "0@30-32", "pd" },
	{ "the old one, visible but not returned", ONE, "0@21-32", "d" },
	{ "the old one, perhaps not yet visible", ONE, "0@19-32", "." },
	{ "the new one, before it was there", ONE, "1@1-9", "w" },
	{ "a read around all of it sees either", ONE, "0@1-99 1@1-99", ". ." },
	{ "a value that never was", ONE, "7@40-41", "w" },
	{ "older than another read, which it began behind", ONE,
	    "1@11-13 0@14-16", ". r" },
	{ "but not one that it overlapped", ONE, "1@11-13 0@12-16", ". ." },
	{ "nor one that ended as it began", ONE, "1@11-13 0@13-16", ". ." },
	{ "older than one of the primary", ONE, "1@11-13! 0@14-16", ". r" },
	{ "that of the primary is judged, too", ONE, "0@31-32!", "pd" },
	{ "a push back is a newer state", BACK, "0@61-62", "." },
	{ "and what was before it is stale", BACK, "1@61-62", "pd" },
	{ "with the value of then, before it began", BACK, "0@31-39", "pd" },
	{ "while it is pushed: perhaps it is the newer one", BACK, "0@31-40",
	    "." },
	{ "what may be the older one proves no more", BACK, "0@41-42 1@43-44",
	    ". ." },
	{ "the primary proves that it was the newer one", BACK,
	    "0@51-52! 1@53-54", ". rd" },
	{ "unless it may have been the older one", BACK, "0@1-39! 1@43-44",
	    ". ." },
	{ "deleted", "p-@10 c-@20 t-@5-30", "0@31-32 -@31-32", "pd ." },
	{ "created again", "p-@10 c-@20 p0@30 c0@40 t0@25-50",
	    "-@51-52 0@51-52", "pd ." },
	{ "a transaction that was aborted", "p1@10 a1@12", "0@31-32 1@31-32",
	    ". w" },
	{ "git killed in between: either may be", "p1@10", "0@31-32 1@31-32",
	    ". ." },
	{ "the next one found it", "p1@10 p2@40 c2@50", "0@41-42 1@41-42",
	    "d ." },
	{ "the next one did not", "p1@10 =0 p2@40 c2@50", "0@41-42 1@41-42",
	    ". w" },
	{ "killed, but its push returned", "p1@10 t1@5-30", "0@31-32", "pd" },
	{ "stamped twice: visible from the last", "p1@10 c1@20 c1@25",
	    "0@22-23 0@25-26", ". d" },
	{ "not looked at", ONE, "?@31-32", "." },
	{ "two returned: the newest counts", ONE " p2@40 c2@50 t2@35-60",
	    "1@61-62 2@61-62", "pd ." },
	{ "a failed push between them binds nobody",
	    "p1@10 c1@20 p2@30 c2@40 t2@25-50", "1@45-46 1@51-52", "d pd" },
};

static void
test_judge(void)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct history *history = history_of(rows[i].events);
		struct read reads[MAX_READS];
		int values[MAX_READS];
		size_t n = reads_of(rows[i].reads, reads, values);
		struct buf got = { 0 };

		judge(history, reads, n);
		for (size_t j = 0; j < n; j++) {
			unsigned faults = reads[j].faults;

			buf_puts(&got, j > 0 ? " " : "");
			buf_puts(&got, faults & STALE_TOLD ? "p" : "");
			buf_puts(&got, faults & STALE_READ ? "r" : "");
			buf_puts(&got, faults & STALE_DISK ? "d" : "");
			buf_puts(&got, faults & WRONG ? "w" : "");
			buf_puts(&got, faults == 0 ? "." : "");
		}
		tap_str(got.data, rows[i].want, "%s", rows[i].claim);
		tap_int(history->gaps, 0, "%s: no gap", rows[i].claim);
		buf_free(&got);
		history_free(history);
	}
}

static const struct {
	const char *claim, *events;
	unsigned gaps;
} gap_rows[] = {
	{ "a state that no stamp led to", "=5 p1@10 c1@20", 1 },
	{ "an end of what never began", "c1@20", 1 },
	{ "a push that left no stamp", "t1@5-30", 1 },
	{ "or only one of long ago", BACK " t1@61-70", 1 },
};

static void
test_gaps(void)
{
	for (size_t i = 0; i < COUNT(gap_rows); i++) {
		struct history *history = history_of(gap_rows[i].events);

		tap_int(history->gaps, gap_rows[i].gaps, "%s",
		    gap_rows[i].claim);
		history_free(history);
	}
}

int
main(void)
{
	test_judge();
	test_gaps();
	return tap_done();
}

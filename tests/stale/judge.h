/* judge.h: which reads were older than they might be */
/* SPDX-License-Identifier: ISC */
#ifndef TESTS_STALE_JUDGE_H
#define TESTS_STALE_JUDGE_H

#include "tests/stale/history.h"

/* One read of a repository that worked. */
struct read {
	int64_t start_ns, end_ns;
	int *values;	 /* what it saw of each ref */
	unsigned class;	 /* whose it is: the judge does not look */
	bool of_primary; /* asked directly: it saw the primary's disk */
	unsigned faults; /* bits of what the judge found */
};

enum {
	/* a push had returned before it began, and it does not show it (I1) */
	STALE_TOLD = 1,
	/* older than a read that had ended before it began (I2) */
	STALE_READ = 2,
	/* older than what the primary's disk showed before it began */
	STALE_DISK = 4,
	/* what it shows never was */
	WRONG = 8,
};

/* Sorts the reads of one repository by their start, and judges each. */
void judge(const struct history *, struct read *reads, size_t n);

#endif

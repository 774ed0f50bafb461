/* report.h: what came of it, for people, and in one line for scripts */
/* SPDX-License-Identifier: ISC */
#ifndef TESTS_STALE_REPORT_H
#define TESTS_STALE_REPORT_H

#include "tests/stale/history.h"
#include "tests/stale/notes.h"
#include "tests/stale/readers.h"
#include "tests/stale/writers.h"

/* Of one class of readers, or of all. */
struct tally {
	size_t reads, told, older, disk, wrong;
	/* failed while there was no fault: and of them "not our ref" */
	size_t errors, not_our_ref;
	size_t fault_errors, fault_not_our_ref;
};

/* To stdout.  gaps: of all histories. */
void report(const struct scene *, const struct readings *,
    const struct pushes *, const struct windows *, unsigned gaps);

#endif

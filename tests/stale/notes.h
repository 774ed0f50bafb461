/* notes.h: reads what stamp noted: refs that changed, faults */
/* SPDX-License-Identifier: ISC */
#ifndef TESTS_STALE_NOTES_H
#define TESTS_STALE_NOTES_H

#include "tests/stale/history.h"
#include "tests/stale/scene.h"

/* How many bytes of stamps there are of the primary's refs by now. */
size_t notes_size(const struct scene *);
/* Tells histories, one a repository, what stands behind so many bytes. */
MUST_USE enum err notes_tell(const struct scene *, size_t behind,
    struct history **histories);

/* From a fault's beginning to a while after its end. */
struct window {
	int64_t from_ns, to_ns;
	char name[48];
};
struct windows {
	size_t n;
	struct window *window;
};
/* None where there is no such file (NULL: none).  To be freed: window. */
MUST_USE enum err notes_faults(const char *path, struct windows *out);
/* Does a fault reach into that time? */
bool notes_meet(const struct windows *, int64_t start_ns, int64_t end_ns);

#endif

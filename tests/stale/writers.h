/* writers.h: who pushes, through the front and past it */
/* SPDX-License-Identifier: ISC */
#ifndef TESTS_STALE_WRITERS_H
#define TESTS_STALE_WRITERS_H

#include "tests/stale/history.h"
#include "tests/stale/scene.h"

enum way { WAY_FRONT, WAY_PAST, WAYS };
extern const char *const way_names[];

enum change { FORWARD, BACK, CREATE, DELETE, MANY_REFS, HEAD, CHANGES };
extern const char *const change_names[];

/* A push, or a change of HEAD, which no client can push. */
struct push {
	unsigned repo;
	enum way way;
	enum change change;
	int64_t start_ns, end_ns;
	int64_t seen_ns; /* of HEAD alone, by then at the latest; else 0 */
	bool returned;	 /* with success */
	unsigned n;
	struct move {
		unsigned ref;
		int old, value;
	} moves[MANY];
};

struct pushes {
	size_t n;
	struct push *push;
};

/*
 * Starts scene->writers (1 or 2) threads a repository.  The first owns HEAD,
 * main and many/, the other next and topic/.  now: what each repository's
 * refs are.
 */
struct writers;
struct writers *writers_start(struct scene *, int (*now)[REFS]);
/* Waits for their end; what they did, to be freed: push. */
void writers_end(struct writers *, struct pushes *out);

/* The refs of a repository at the primary, HEAD too, as they are on disk. */
MUST_USE enum err disk_refs(const struct scene *, unsigned repo, int *values);
/* Of whatever repository, by its path. */
MUST_USE enum err path_refs(const struct scene *, const char *path,
    int *values);

#endif

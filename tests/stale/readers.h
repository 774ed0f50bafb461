/* readers.h: who reads, through the front and at the primary */
/* SPDX-License-Identifier: ISC */
#ifndef TESTS_STALE_READERS_H
#define TESTS_STALE_READERS_H

#include "tests/stale/judge.h"
#include "tests/stale/scene.h"

enum reader_class {
	READ_V0,      /* the refs, by protocol v0, through the front */
	READ_V2,      /* the same by protocol v2 */
	READ_CLONE,   /* git clone and git fetch, by both, through the front */
	READ_PRIMARY, /* as READ_V2, directly at the primary */
	READ_CLASSES
};
extern const char *const reader_names[];

/* A read that failed. */
struct failure {
	enum reader_class class;
	int64_t start_ns, end_ns;
	bool not_our_ref; /* what mixed servers make upload-pack say */
};

/* What was seen of one repository. */
struct reads {
	size_t n;
	struct read *read;
};
struct readings {
	struct reads *reads; /* one a repository */
	size_t n_failures;
	struct failure *failure;
};

struct readers;
struct readers *readers_start(struct scene *);
/* Waits for their end. */
void readers_end(struct readers *, struct readings *out);
void readings_free(const struct scene *, struct readings *);

#endif

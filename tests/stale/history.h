/* history.h: what each ref of a repository was, state by state, since when */
/* SPDX-License-Identifier: ISC */
#ifndef TESTS_STALE_HISTORY_H
#define TESTS_STALE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A value is the number of a commit (pool.h), of HEAD's target, or one of: */
#define ABSENT (-1)
#define UNSEEN (-2) /* nobody looked */

/* All times are CLOCK_MONOTONIC. */
#define NEVER_NS INT64_MAX

/*
 * A state is known by its place in the ref's history, not by its value: a
 * push back to an old commit is a newer one.  When it appeared on the
 * primary's disk lies between two stamps; a read is said to be too old only
 * where it is by the one that takes its part.
 */
struct state {
	int value;
	int64_t from_ns; /* nobody saw it before */
	int64_t seen_ns; /* everybody could from then on; NEVER_NS: perhaps */
	int64_t told_ns; /* its push had returned; NEVER_NS: none did */
	pid_t by;	 /* git-receive-pack */
};

struct ref_history {
	size_t n; /* never 0: the first state was always there */
	struct state *states;
};

struct history {
	unsigned n_refs;
	struct ref_history *refs;
	unsigned gaps; /* stamps that do not follow from those before them */
};

/* initial: a value for each ref. */
struct history *history_new(unsigned n_refs, const int *initial);
void history_free(struct history *);

/*
 * Stamps of githooks(5) reference-transaction, in the order in which they
 * were written: prepared is before anybody sees the new value, committed
 * is behind it.  A state of which neither end came (its git was killed) is
 * settled by the next stamp's old value.
 */
void history_prepared(struct history *, unsigned ref, pid_t by, int old,
    int value, int64_t ns);
void history_committed(struct history *, unsigned ref, pid_t by, int value,
    int64_t ns);
void history_aborted(struct history *, unsigned ref, pid_t by, int value);

/* A push to that value, which took from start to end, has returned. */
void history_told(struct history *, unsigned ref, int value, int64_t start_ns,
    int64_t end_ns);

/* The newest place with that value that a read which ended then can have
 * seen; -1: there is none. */
ptrdiff_t history_newest(const struct ref_history *, int value, int64_t end_ns);
/* The oldest place with that value; at the primary's disk, between those. */
ptrdiff_t history_oldest(const struct ref_history *, int value);
ptrdiff_t history_oldest_between(const struct ref_history *, int value,
    int64_t start_ns, int64_t end_ns);
/* The newest place that everybody saw by then, and was told of by then. */
ptrdiff_t history_seen_by(const struct ref_history *, int64_t ns);
ptrdiff_t history_told_by(const struct ref_history *, int64_t ns);

#endif

/* scene.h: where reads and pushes take place, and what is pushed */
/* SPDX-License-Identifier: ISC */
#ifndef TESTS_STALE_SCENE_H
#define TESTS_STALE_SCENE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "conf/err.h"
#include "conf/mem.h"

/*
 * Every repository, r0, r1, ..., has these refs: HEAD, main, next, many/0
 * to many/N, topic/0 to topic/N, all in refs/heads.  The first three are
 * always there.
 */
enum { REF_HEAD, REF_MAIN, REF_NEXT, REF_MANY };
/* so few that a command line holds a push of all */
#define MANY 12
#define REF_TOPIC (REF_MANY + MANY)
#define TOPICS 4
#define REFS (REF_TOPIC + TOPICS)

struct scene {
	/* from the command line */
	const char *front, *primary; /* URLs, up to a repository's name */
	const char *root;	     /* the primary's repositories, on disk */
	const char *source;	     /* a repository with the commits to push */
	const char *scratch;	     /* a directory for clones */
	const char *faults;	     /* a file of stamps, or NULL */
	const char *changes;	     /* "all", or "back": of main alone */
	long repos, hooked;	     /* the first ones have hooks */
	long v0, v2, direct, clones,
	    writers;		      /* threads; writers a repository */
	long pause_ms, push_pause_ms; /* of one thread */
	long slowness; /* and so many times what the last push took */
	long seconds, at_most_s;
	long reads, pushes; /* so many at least */

	char **oids; /* commits, the oldest first */
	unsigned n_oids;
	unsigned *by_oid; /* their numbers, in the order of their oids */

	int64_t start_ns;
	atomic_long n_reads, n_pushes;
	atomic_bool over;
};

/* Reads the source's commits. */
MUST_USE enum err scene_open(struct scene *);
void scene_close(struct scene *);
/* Is it time to end?  Then it is so for all threads. */
bool scene_over(struct scene *);
/* Sleeps for a while that differs from time to time, around ms. */
void scene_pause(struct scene *, uint64_t *seed, long ms);

/* The full name of a ref. */
const char *scene_ref_name(unsigned ref);
/* -1: it has no such ref. */
int scene_ref(const char *name);
/* The number of a commit, ABSENT for zeros, UNSEEN for an unknown one. */
int scene_commit(const struct scene *, const char *oid, size_t len);

/* CLOCK_MONOTONIC */
int64_t monotonic_ns(void);
/* The next of a sequence, below n. */
unsigned draw(uint64_t *seed, unsigned n);

/* Runs git or another program to its end; output, or NULL, is appended. */
MUST_USE enum err run(const char *const *argv, const char *const *env,
    struct buf *output);

#endif

/* job.h: one write that waits for its turn, and lists of them */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_JOB_H
#define FCGI_JOB_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "fcgi/writer.h"

/*
 * Held by the writer, and by its caller while that waits.  refs, done, err
 * and text are under the writer's lock; the rest is the writer's thread's
 * alone until done.
 */
struct job {
	struct job *next;
	const struct write_kind *kind;
	unsigned refs;
	bool done; /* err says how; a kept one may be written later */
	enum err err;
	char text[256];
	pthread_cond_t over;
	_Alignas(max_align_t) unsigned char data[];
};

/* With one reference and a copy of data. */
struct job *job_new(const struct write_kind *, const void *data);
/* Under the lock, as job_tell(). */
void job_release(struct job *);
/* Done: wakes its caller. */
void job_tell(struct job *, enum err, const char *text);

/* In the order in which they came. */
struct jobs {
	struct job *first;
	struct job **last;
};
void jobs_init(struct jobs *);
void jobs_add(struct jobs *, struct job *);
/* Moves all of from behind those of to. */
void jobs_move(struct jobs *to, struct jobs *from);

/* A condition on CLOCK_MONOTONIC, and that clock in so many milliseconds. */
void monotonic_cond(pthread_cond_t *);
struct timespec monotonic_in(int64_t ms);

#endif

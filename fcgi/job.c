/* job.c: one write that waits for its turn, and lists of them */
/* SPDX-License-Identifier: ISC */
#include "fcgi/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/mem.h"

void
jobs_init(struct jobs *jobs)
{
	jobs->first = NULL;
	jobs->last = &jobs->first;
}

void
jobs_add(struct jobs *jobs, struct job *job)
{
	job->next = NULL;
	*jobs->last = job;
	jobs->last = &job->next;
}

void
jobs_move(struct jobs *to, struct jobs *from)
{
	if (from->first == NULL)
		return;
	*to->last = from->first;
	to->last = from->last;
	jobs_init(from);
}

void
monotonic_cond(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

struct timespec
monotonic_in(int64_t ms)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_sec += ms / 1000;
	at.tv_nsec += ms % 1000 * 1000000;
	if (at.tv_nsec >= 1000000000) {
		at.tv_sec++;
		at.tv_nsec -= 1000000000;
	}
	return at;
}

void
job_release(struct job *job)
{
	if (--job->refs > 0)
		return;
	if (job->kind->release != NULL)
		job->kind->release(job->data);
	pthread_cond_destroy(&job->over);
	free(job);
}

void
job_tell(struct job *job, enum err err, const char *text)
{
	job->done = true;
	job->err = err;
	snprintf(job->text, sizeof(job->text), "%s", text);
	pthread_cond_signal(&job->over);
}

struct job *
job_new(const struct write_kind *kind, const void *data)
{
	struct job *job = mem_zalloc(sizeof(*job) + kind->size);

	job->kind = kind;
	job->refs = 1;
	monotonic_cond(&job->over);
	memcpy(job->data, data, kind->size);
	return job;
}

/* job_test.c: a write's copy of its data, its word, and lists of them */
/* SPDX-License-Identifier: ISC */
#include "fcgi/job.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/tap.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static unsigned n_released;

static void
count_released(void *data)
{
	n_released += strcmp(data, "data") == 0;
}

static const struct write_kind kind = { .size = 5, .release = count_released };
static const struct write_kind plain = { .size = 2 };

static void
test_life(void)
{
	char data[] = "data", longer[400];
	struct job *job = job_new(&kind, data);

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	data[0] = 'D';
	tap_str((char *)job->data, "data", "its data is a copy");
	tap_ok(job->refs == 1 && !job->done, "one holds it; it is not done");
	job->refs++;
	job_tell(job, ERR_LIMIT, "full");
	tap_ok(job->done && job->err == ERR_LIMIT, "told how it went");
	tap_str(job->text, "full", "and why");
	job_tell(job, ERR_TABLE, longer);
	tap_int((long long)strlen(job->text), sizeof(job->text) - 1,
	    "a long sentence is cut");
	job_release(job);
	tap_int(n_released, 0, "somebody still holds it");
	job_release(job);
	tap_int(n_released, 1, "then its data is let go of, once");
	job_release(job_new(&plain, "x"));
	tap_int(n_released, 1, "a kind need not do that");
}

/* The jobs of a list by their letters, and then it is empty. */
static const char *
drain(struct jobs *jobs)
{
	static char text[16];
	struct job *next;
	size_t n = 0;

	for (struct job *job = jobs->first; job != NULL; job = next) {
		next = job->next;
		text[n++] = (char)job->data[0];
		job_release(job);
	}
	text[n] = '\0';
	jobs_init(jobs);
	return text;
}

static void
fill(struct jobs *jobs, const char *letters)
{
	for (; *letters != '\0'; letters++)
		jobs_add(jobs, job_new(&plain, letters));
}

static const struct {
	const char *to, *from, *then, *after;
} moves[] = {
	{ "", "", "", "" },
	{ "ab", "", "", "ab" },
	{ "", "cd", "", "cd" },
	{ "ab", "cd", "", "abcd" },
	{ "a", "b", "xy", "abxy" },
};

static void
test_lists(void)
{
	struct jobs to, from;

	for (size_t i = 0; i < COUNT(moves); i++) {
		jobs_init(&to);
		jobs_init(&from);
		fill(&to, moves[i].to);
		fill(&from, moves[i].from);
		jobs_move(&to, &from);
		fill(&to, moves[i].then);
		tap_str(drain(&to), moves[i].after,
		    "\"%s\" and \"%s\", "
		    "then \"%s\"",
		    moves[i].to, moves[i].from, moves[i].then);
		fill(&from, "q");
		tap_str(drain(&from), "q", "the other is empty, and of use");
	}
}

static void
test_time(void)
{
	static const int64_t spans_ms[] = { 0, 1, 999, 1000, 1999, 86400000 };

	for (size_t i = 0; i < COUNT(spans_ms); i++) {
		struct timespec before, at, after;
		int64_t low_ns, at_ns, high_ns;

		clock_gettime(CLOCK_MONOTONIC, &before);
		at = monotonic_in(spans_ms[i]);
		clock_gettime(CLOCK_MONOTONIC, &after);
		low_ns = before.tv_sec * INT64_C(1000000000) + before.tv_nsec;
		at_ns = at.tv_sec * INT64_C(1000000000) + at.tv_nsec -
		    spans_ms[i] * 1000000;
		high_ns = after.tv_sec * INT64_C(1000000000) + after.tv_nsec;
		tap_ok(low_ns <= at_ns && at_ns <= high_ns &&
			at.tv_nsec < 1000000000,
		    "in %jd ms", (intmax_t)spans_ms[i]);
	}
}

/*
 * By the real-time clock, decades ahead, this would end at once: so it does
 * not wait by that one.
 */
static void
test_cond(void)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct timespec until = monotonic_in(20), now;
	pthread_cond_t cond;

	monotonic_cond(&cond);
	pthread_mutex_lock(&lock);
	while (pthread_cond_timedwait(&cond, &lock, &until) == 0)
		;
	clock_gettime(CLOCK_MONOTONIC, &now);
	tap_ok(now.tv_sec > until.tv_sec ||
		(now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec),
	    "waits by the monotonic clock");
	pthread_mutex_unlock(&lock);
	pthread_cond_destroy(&cond);
}

int
main(void)
{
	test_life();
	test_lists();
	test_time();
	test_cond();
	return tap_done();
}

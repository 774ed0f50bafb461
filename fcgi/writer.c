/* writer.c: table writes of many threads, in one thread of their own */
/* SPDX-License-Identifier: ISC */
#include "fcgi/writer.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "conf/clock.h"
#include "conf/mem.h"
#include "fcgi/job.h"
#include "sync/doubts.h"

/* Between two tries of what failed. */
#define AGAIN_MS 1000
/* How long writer_stop() waits for the table's lock. */
#define STOP_MS 1000
/* So many failures, one behind the other, are the table's, not the write's. */
#define MAX_FAILURES 8

struct writer {
	struct writer_options options;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;  /* any of what follows changed */
	struct jobs queue;    /* not looked at yet */
	unsigned n_jobs;      /* queued, under way, or kept */
	bool stopping, ended; /* asked to; did */
	/* how often doubt was raised; all of it was settled at that count */
	uint64_t raises, settled;
	int64_t lost_until_ms; /* a fence was refused: doubt stays so long */
	_Atomic(struct table *) table; /* published */
	_Atomic(struct pulse *) pulse;

	/* the thread's alone */
	struct table *own_table;
	struct pulse *own_pulse;
	struct jobs kept; /* failed, to be tried again */
	int64_t again_ms; /* not before then */
};

/* Committed, or given up: the writer lets go of it. */
static void
finish(struct writer *writer, struct job *job, enum err err)
{
	if (err == ERR_OK && job->kind->committed != NULL)
		job->kind->committed(job->data);
	pthread_mutex_lock(&writer->lock);
	job_tell(job, err, err == ERR_OK ? "" : err_text());
	writer->n_jobs--;
	job_release(job);
	pthread_mutex_unlock(&writer->lock);
}

/* Its caller, if still there, is told; what is to be kept is kept. */
static void
fail(struct writer *writer, struct job *job, enum err err)
{
	if (!job->kind->keeps) {
		finish(writer, job, err);
		return;
	}
	pthread_mutex_lock(&writer->lock);
	if (!job->done)
		job_tell(job, err, err_text());
	pthread_mutex_unlock(&writer->lock);
	jobs_add(&writer->kept, job);
}

static enum err
batch_body(struct table_txn *txn, void *arg)
{
	enum err err;

	for (struct job *job = arg; job != NULL; job = job->next)
		if ((err = job->kind->body(txn, job->data)) != ERR_OK)
			return err;
	return ERR_OK;
}

/* A write that nobody waits for any more, and that is not to be kept. */
static bool
is_abandoned(struct writer *writer, struct job *job)
{
	bool abandoned;

	pthread_mutex_lock(&writer->lock);
	abandoned = !job->kind->keeps && job->refs == 1;
	pthread_mutex_unlock(&writer->lock);
	return abandoned;
}

static void
drop_abandoned(struct writer *writer, struct jobs *jobs)
{
	struct job *job = jobs->first, *next;

	jobs_init(jobs);
	for (; job != NULL; job = next) {
		next = job->next;
		if (is_abandoned(writer, job))
			finish(writer, job,
			    err_set(ERR_TABLE,
				"nobody waited for the write any more"));
		else
			jobs_add(jobs, job);
	}
}

static void
report(struct writer *writer)
{
	writer->again_ms = clock_boot_ms() + AGAIN_MS;
	if (writer->options.failed != NULL)
		writer->options.failed(writer->options.arg, err_text());
}

/* Each in a transaction of its own: one bad record must stop no other. */
static void
write_singly(struct writer *writer, struct job *job)
{
	unsigned failures = 0;
	struct job *next;
	enum err err = ERR_OK;

	for (; job != NULL; job = next) {
		next = job->next;
		job->next = NULL;
		if (failures < MAX_FAILURES)
			err = table_write(writer->own_table, batch_body, job);
		failures = err == ERR_OK ? 0 : failures + 1;
		if (err == ERR_OK)
			finish(writer, job, err);
		else
			fail(writer, job, err);
	}
}

/* Writes all of jobs, which it empties; what failed and is kept is in kept. */
static void
write_jobs(struct writer *writer, struct jobs *jobs)
{
	struct job *job, *next;

	drop_abandoned(writer, jobs);
	if ((job = jobs->first) == NULL)
		return;
	jobs_init(jobs);
	if (table_write(writer->own_table, batch_body, job) != ERR_OK) {
		report(writer);
		write_singly(writer, job);
		return;
	}
	for (; job != NULL; job = next) {
		next = job->next;
		finish(writer, job, ERR_OK);
	}
}

/* Lets others read the table. */
static void
publish(struct writer *writer)
{
	pthread_mutex_lock(&writer->lock);
	atomic_store(&writer->table, writer->own_table);
	pthread_cond_broadcast(&writer->wake);
	pthread_mutex_unlock(&writer->lock);
}

/* Under the lock. */
static bool
in_doubt(const struct writer *writer)
{
	return writer->raises != writer->settled;
}

static enum err
renew(struct writer *writer)
{
	struct snapshot *snapshot = snapshot_now(writer->options.conf);
	enum err err = doubts_renew(writer->own_table, writer->own_pulse,
	    pulse_slot(writer->own_pulse), snapshot->conf);

	snapshot_release(snapshot);
	return err;
}

/*
 * Every fence whose lateness that many raises tell of is committed: each was
 * queued before its caller raised doubt, and all that was queued when the
 * raises were counted has been written.
 */
static void
settle(struct writer *writer, uint64_t raises)
{
	bool due, lost;

	pthread_mutex_lock(&writer->lock);
	due = raises != writer->settled;
	lost = clock_boot_ms() < writer->lost_until_ms;
	pthread_mutex_unlock(&writer->lock);
	if (!due)
		return;
	writer->again_ms = clock_boot_ms() + AGAIN_MS;
	if (lost)
		return;
	if (renew(writer) != ERR_OK) {
		report(writer);
		return;
	}
	pthread_mutex_lock(&writer->lock);
	if (writer->raises == raises) {
		pulse_doubt_settle(writer->own_pulse);
		writer->settled = raises;
	}
	pthread_mutex_unlock(&writer->lock);
}

static void
work(struct writer *writer)
{
	struct jobs jobs;
	uint64_t raises;

	jobs_init(&jobs);
	pthread_mutex_lock(&writer->lock);
	raises = writer->raises;
	jobs_move(&jobs, &writer->queue);
	pthread_mutex_unlock(&writer->lock);
	write_jobs(writer, &jobs);
	if (clock_boot_ms() >= writer->again_ms) {
		jobs_move(&jobs, &writer->kept);
		write_jobs(writer, &jobs);
	}
	if (writer->kept.first == NULL)
		settle(writer, raises);
}

/* Until the queue, the hour of a second try, or the end; is it the end? */
static bool
wait_for_work(struct writer *writer)
{
	bool ends;

	pthread_mutex_lock(&writer->lock);
	while (!writer->stopping && writer->queue.first == NULL) {
		bool again = writer->kept.first != NULL || in_doubt(writer);
		int64_t wait_ms = writer->again_ms - clock_boot_ms();
		struct timespec at = monotonic_in(wait_ms);

		if (again && wait_ms <= 0)
			break;
		if (again)
			pthread_cond_timedwait(&writer->wake, &writer->lock,
			    &at);
		else
			pthread_cond_wait(&writer->wake, &writer->lock);
	}
	ends = writer->stopping;
	pthread_mutex_unlock(&writer->lock);
	return ends;
}

/* While there is no table; what is kept will be the first in it. */
static void
refuse_queued(struct writer *writer, enum err err)
{
	struct jobs jobs;
	struct job *job, *next;

	jobs_init(&jobs);
	pthread_mutex_lock(&writer->lock);
	jobs_move(&jobs, &writer->queue);
	pthread_mutex_unlock(&writer->lock);
	for (job = jobs.first; job != NULL; job = next) {
		next = job->next;
		fail(writer, job, err);
	}
}

/* The pause before the next try, or less: there is a job.  Is it the end? */
static bool
wait_closed(struct writer *writer, const struct timespec *until, bool *over)
{
	bool ends;

	pthread_mutex_lock(&writer->lock);
	*over = false;
	while (!writer->stopping && writer->queue.first == NULL && !*over)
		*over = pthread_cond_timedwait(&writer->wake, &writer->lock,
			    until) == ETIMEDOUT;
	ends = writer->stopping;
	pthread_mutex_unlock(&writer->lock);
	return ends;
}

/* The pulse is published even where the table cannot be opened. */
static enum err
open_both(struct writer *writer)
{
	const struct writer_options *options = &writer->options;
	enum err err = ERR_OK;

	if (options->pulse != NULL && writer->own_pulse == NULL) {
		err = options->pulse(options->arg, &writer->own_pulse);
		atomic_store(&writer->pulse, writer->own_pulse);
	}
	if (err == ERR_OK)
		err = options->open(options->arg, writer->own_pulse,
		    &writer->own_table);
	return err;
}

/* False: it was to end before the table was open. */
static bool
open_table(struct writer *writer)
{
	enum err err;

	while ((err = open_both(writer)) != ERR_OK) {
		struct timespec until = monotonic_in(AGAIN_MS);
		bool over = false;

		report(writer);
		while (!over) {
			refuse_queued(writer, err);
			if (wait_closed(writer, &until, &over))
				return false;
		}
	}
	return true;
}

static void *
writer_main(void *arg)
{
	struct writer *writer = arg;
	bool ends = !open_table(writer);

	writer->again_ms = 0;
	if (!ends) {
		publish(writer);
		work(writer);
	}
	while (!ends) {
		ends = wait_for_work(writer);
		if (ends)
			writer->again_ms = 0;
		work(writer);
	}
	pthread_mutex_lock(&writer->lock);
	writer->ended = true;
	pthread_cond_broadcast(&writer->wake);
	pthread_mutex_unlock(&writer->lock);
	return NULL;
}

static enum err
start_thread(struct writer *writer)
{
	sigset_t all, before;
	int error;

	/* signals are the main thread's */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&writer->thread, NULL, writer_main, writer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return error == 0 ? ERR_OK : err_sys("a thread for writes");
}

static void
writer_free(struct writer *writer)
{
	struct jobs *left[] = { &writer->queue, &writer->kept };

	for (size_t i = 0; i < 2; i++)
		for (struct job *job = left[i]->first, *next; job != NULL;
		     job = next) {
			next = job->next;
			job_release(job);
		}
	table_close(writer->own_table);
	pulse_close(writer->own_pulse);
	pthread_cond_destroy(&writer->wake);
	pthread_mutex_destroy(&writer->lock);
	free(writer);
}

enum err
writer_start(const struct writer_options *options, struct writer **out)
{
	struct writer *writer = mem_zalloc(sizeof(*writer));
	enum err err;

	writer->options = *options;
	pthread_mutex_init(&writer->lock, NULL);
	monotonic_cond(&writer->wake);
	jobs_init(&writer->queue);
	jobs_init(&writer->kept);
	if ((err = start_thread(writer)) != ERR_OK) {
		writer_free(writer);
		return err;
	}
	*out = writer;
	return ERR_OK;
}

enum err
writer_stop(struct writer *writer)
{
	struct timespec until = monotonic_in(STOP_MS);
	bool ended;

	pthread_mutex_lock(&writer->lock);
	writer->stopping = true;
	pthread_cond_broadcast(&writer->wake);
	while (!writer->ended)
		if (pthread_cond_timedwait(&writer->wake, &writer->lock,
			&until) == ETIMEDOUT)
			break;
	ended = writer->ended;
	pthread_mutex_unlock(&writer->lock);
	if (!ended)
		return err_set(ERR_BUSY,
		    "the table is locked by another "
		    "process, perhaps a stopped one");
	pthread_join(writer->thread, NULL);
	writer_free(writer);
	return ERR_OK;
}

struct table *
writer_table(struct writer *writer)
{
	return atomic_load(&writer->table);
}

struct pulse *
writer_pulse(struct writer *writer)
{
	return atomic_load(&writer->pulse);
}

bool
writer_wait_open(struct writer *writer, int64_t wait_ms)
{
	struct timespec at = monotonic_in(wait_ms);

	pthread_mutex_lock(&writer->lock);
	while (writer_table(writer) == NULL)
		if (pthread_cond_timedwait(&writer->wake, &writer->lock, &at) ==
		    ETIMEDOUT)
			break;
	pthread_mutex_unlock(&writer->lock);
	return writer_table(writer) != NULL;
}

/* Under the lock.  What came of it, as far as its caller waits. */
static enum err
wait_for_job(struct writer *writer, struct job *job, void *data,
    int64_t wait_ms)
{
	struct timespec at = monotonic_in(wait_ms);

	while (!job->done)
		if (pthread_cond_timedwait(&job->over, &writer->lock, &at) ==
		    ETIMEDOUT)
			break;
	if (!job->done)
		return err_set(ERR_TABLE,
		    "the table was not written within "
		    "%lld ms: another process, perhaps a stopped one, has its "
		    "lock",
		    (long long)wait_ms);
	if (job->err != ERR_OK)
		return err_set(job->err, "%s", job->text);
	memcpy(data, job->data, job->kind->size);
	return ERR_OK;
}

enum err
writer_run(struct writer *writer, const struct write_kind *kind, void *data,
    int64_t wait_ms)
{
	struct job *job = job_new(kind, data);
	enum err err = ERR_OK;

	assert(wait_ms > 0 || kind->keeps);
	pthread_mutex_lock(&writer->lock);
	if (writer->n_jobs >= MAX_WRITES) {
		err = err_set(ERR_LIMIT, "%u writes are waiting already",
		    writer->n_jobs);
	} else {
		writer->n_jobs++;
		job->refs++;
		jobs_add(&writer->queue, job);
		pthread_cond_broadcast(&writer->wake);
		if (wait_ms > 0)
			err = wait_for_job(writer, job, data, wait_ms);
	}
	job_release(job);
	pthread_mutex_unlock(&writer->lock);
	return err;
}

bool
writer_doubt(struct writer *writer, const struct route *route, bool lost)
{
	struct pulse *pulse = writer_pulse(writer);
	int64_t until_ms = clock_boot_ms() + route->fence_ms;
	bool raised;

	pthread_mutex_lock(&writer->lock);
	raised = pulse != NULL && pulse_doubt_raise(pulse, route);
	writer->raises += raised;
	if (raised && lost && until_ms > writer->lost_until_ms)
		writer->lost_until_ms = until_ms;
	pthread_cond_broadcast(&writer->wake);
	pthread_mutex_unlock(&writer->lock);
	return raised;
}

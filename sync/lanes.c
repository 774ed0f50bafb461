/* lanes.c: the daemon's workers: what lags goes in, marks come out */
/* SPDX-License-Identifier: ISC */
#include "sync/lanes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "conf/clock.h"
#include "conf/log.h"
#include "conf/mem.h"
#include "sync/http.h"
#include "sync/news.h"
#include "sync/peer.h"
#include "sync/row.h"
#include "sync/work.h"

/* Rows handled in one transaction, so that nobody waits long for the table. */
#define BATCH 500
/* Reasons of failures are noted no more often than this, in one lane. */
#define NOTE_MS 100
/* Of so much time at most the sweep does at once what is due. */
#define MAX_SWEEP_MS 10000

struct lane {
	struct lanes *all;
	size_t index;
	const struct route *route;
	const struct upstream *replica;
	char full_at[NAME_SIZE]; /* the last refill's last name, or "" */
	struct log_gate gate;
	_Atomic int64_t next_note_ms; /* clock_boot_ms() */
};

/* How far the sweep of one route is. */
struct sweep {
	const struct route *route;
	char name[NAME_SIZE]; /* last one put, "" at the start */
	char next[NAME_SIZE]; /* found by the transaction under way */
	int64_t owed_ms;      /* of sweep_ms for each row */
};

struct lanes {
	const struct conf *conf;
	struct table *table;
	struct pulse *pulse;
	struct queue *queue;
	struct lane *lanes;
	size_t n;
	struct sweep *sweeps;
	size_t n_sweeps;
	pthread_t *threads;
	size_t n_threads;
};

struct lanes *
lanes_new(const struct conf *conf, struct table *table, struct pulse *pulse)
{
	struct lanes *all = mem_zalloc(sizeof(*all));

	all->conf = conf;
	all->table = table;
	all->pulse = pulse;
	all->sweeps = mem_array(conf->n_routes, sizeof(*all->sweeps));
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct route *route = &conf->routes[i];

		if (route->kind != ROUTE_GIT)
			continue;
		all->sweeps[all->n_sweeps++].route = route;
		for (size_t j = 0; j < route->n_replicas; j++) {
			all->lanes = mem_more(all->lanes, all->n,
			    sizeof(*all->lanes));
			all->lanes[all->n] = (struct lane){ .all = all,
				.index = all->n,
				.route = route,
				.replica = route->replicas[j] };
			all->n++;
		}
	}
	all->queue = queue_new(all->n);
	return all;
}

void
lanes_free(struct lanes *all)
{
	if (all == NULL)
		return;
	queue_free(all->queue);
	free(all->lanes);
	free(all->sweeps);
	free(all);
}

void
lanes_put(struct lanes *all, const struct route *route, const char *name,
    enum queue_why why)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->lanes[i].route == route)
			(void)queue_put(all->queue, i, name, why);
}

/*
 * A walk over a lane's rows or its lag, in batches.  from is changed between
 * transactions only: the body of one may run again.
 */
struct walk {
	struct lane *lane;
	char from[NAME_SIZE]; /* the batch begins behind it */
	char name[NAME_SIZE]; /* last one done */
	struct epochs epochs; /* the ones the walk is for */
	bool ended;
	bool any; /* one was put into the index */
	bool retry, full;
};

static enum err
is_requeued(struct table_txn *txn, void *arg)
{
	struct walk *walk = arg;
	struct lane *lane = walk->lane;
	struct epochs done;
	enum err err;

	err = epochs_get(txn, lane->route, lane->replica, &walk->epochs);
	if (err == ERR_OK)
		err = epochs_requeued(txn, lane->route, lane->replica, &done);
	if (err == ERR_OK)
		walk->ended = done.route == walk->epochs.route &&
		    done.replica == walk->epochs.replica;
	return err;
}

static enum err
requeue_row(struct table_txn *txn, struct walk *walk)
{
	struct lane *lane = walk->lane;
	struct row row;
	enum err err;

	err = row_get(txn, lane->route, walk->name, &row);
	if (err != ERR_OK || row_is_current(&row, lane->replica, &walk->epochs))
		return err;
	walk->any = true;
	return lag_put(txn, lane->route, walk->name, lane->replica);
}

static enum err
requeue_batch(struct table_txn *txn, void *arg)
{
	struct walk *walk = arg;
	struct lane *lane = walk->lane;
	enum err err = ERR_OK;

	walk->ended = false;
	strcpy(walk->name, walk->from);
	for (int i = 0; i < BATCH && err == ERR_OK; i++) {
		err = row_next(txn, lane->route, walk->name, walk->name);
		if (err == ERR_OK)
			err = requeue_row(txn, walk);
	}
	if (err != ERR_ABSENT)
		return err;
	walk->ended = true;
	return epochs_note_requeued(txn, lane->route, lane->replica,
	    &walk->epochs);
}

enum err
lanes_requeue(struct lanes *all, bool *any, void (*alive)(void *), void *arg)
{
	bool found = false;

	for (size_t i = 0; i < all->n; i++) {
		struct walk walk = { .lane = &all->lanes[i] };
		enum err err = table_read(all->table, is_requeued, &walk);

		while (err == ERR_OK && !walk.ended) {
			err = table_write(all->table, requeue_batch, &walk);
			strcpy(walk.from, walk.name);
			if (alive != NULL)
				alive(arg);
		}
		if (err != ERR_OK)
			return err;
		found = found || walk.any;
	}
	*any = found;
	return ERR_OK;
}

static enum err
refill_batch(struct table_txn *txn, void *arg)
{
	struct walk *walk = arg;
	struct lane *lane = walk->lane;
	struct peer peer;
	struct lag lag;
	enum err err;

	strcpy(walk->name, walk->from);
	err = peer_get(txn, lane->replica->name, &peer);
	walk->ended = err == ERR_OK && peer.down;
	for (int i = 0; i < BATCH && err == ERR_OK && !walk->ended; i++) {
		err = lag_next(txn, lane->route, lane->replica, walk->name,
		    &lag);
		if (err != ERR_OK)
			break;
		if (queue_put(lane->all->queue, lane->index, lag.name,
			walk->retry ? QUEUE_URGENT : QUEUE_LAGS))
			strcpy(walk->name, lag.name);
		else
			walk->full = walk->ended = true;
	}
	if (err == ERR_ABSENT) {
		walk->ended = true;
		err = ERR_OK;
	}
	return err;
}

enum err
lanes_refill(struct lanes *all, bool retry, bool *fits)
{
	bool full = false;

	for (size_t i = 0; i < all->n; i++) {
		struct lane *lane = &all->lanes[i];
		struct walk walk = { .lane = lane, .retry = retry };
		enum err err = ERR_OK;

		strcpy(walk.from, lane->full_at);
		while (err == ERR_OK && !walk.ended) {
			err = table_read(all->table, refill_batch, &walk);
			strcpy(walk.from, walk.name);
		}
		if (err != ERR_OK)
			return err;
		strcpy(lane->full_at, walk.full ? walk.name : "");
		full = full || walk.full;
	}
	if (fits != NULL)
		*fits = !full;
	return ERR_OK;
}

static enum err
count_rows(struct table_txn *txn, void *arg)
{
	return table_count(txn, TABLE_ROWS, arg);
}

/* The row behind the last one; behind the last of all, the first. */
static enum err
sweep_one(struct table_txn *txn, void *arg)
{
	struct sweep *sweep = arg;
	enum err err;

	err = row_next(txn, sweep->route, sweep->name, sweep->next);
	if (err == ERR_ABSENT && sweep->name[0] != '\0')
		err = row_next(txn, sweep->route, "", sweep->next);
	return err;
}

enum err
lanes_sweep(struct lanes *all, int64_t elapsed_ms)
{
	const int64_t row_ms = all->conf->sync.sweep_ms;
	/* after a suspend there is no burst */
	const int64_t span_ms = elapsed_ms < MAX_SWEEP_MS ? elapsed_ms
							  : MAX_SWEEP_MS;
	size_t rows = 0;
	enum err err = table_read(all->table, count_rows, &rows);

	for (size_t i = 0; i < all->n_sweeps && err == ERR_OK; i++) {
		struct sweep *sweep = &all->sweeps[i];

		/* of all routes: one of several is swept faster than need be */
		sweep->owed_ms += (int64_t)rows * span_ms;
		for (; sweep->owed_ms >= row_ms && err == ERR_OK;
		     sweep->owed_ms -= row_ms) {
			err = table_read(all->table, sweep_one, sweep);
			if (err != ERR_OK)
				break;
			strcpy(sweep->name, sweep->next);
			lanes_put(all, sweep->route, sweep->name, QUEUE_VERIFY);
		}
		if (err == ERR_ABSENT) {
			sweep->owed_ms = 0;
			err = ERR_OK;
		}
	}
	return err;
}

static void
say(struct lane *lane, enum work_outcome outcome, const char *name,
    int64_t took_ms)
{
	char shown[512];

	log_escape(shown, sizeof(shown), name);
	if (outcome == WORK_MARKED)
		log_msg(LOG_DEBUG, "%s/%s: replica %s: has it (%lld ms)",
		    lane->route->name, shown, lane->replica->name,
		    (long long)took_ms);
	else if (outcome == WORK_DROPPED)
		log_msg(LOG_INFO, "%s/%s: the primary has it no longer",
		    lane->route->name, shown);
	else if (outcome == WORK_FAILED)
		log_gated(&lane->gate, LOG_WARNING, "%s/%s: %s",
		    lane->route->name, shown, err_text());
}

struct failure {
	struct lane *lane;
	const char *name;
	char why[256];
};

static enum err
note_failure(struct table_txn *txn, void *arg)
{
	struct failure *failure = arg;

	return lag_note(txn, failure->lane->route, failure->name,
	    failure->lane->replica, failure->why);
}

/*
 * For status: it rests now, and lags for that reason.  Where all fail, not
 * each failure is worth a durable write: it is noted when it comes again.
 */
static void
note_why(struct lane *lane, const char *name)
{
	struct failure failure = { .lane = lane, .name = name };
	int64_t now_ms = clock_boot_ms();

	if (now_ms < lane->next_note_ms)
		return;
	lane->next_note_ms = now_ms + NOTE_MS;
	log_escape(failure.why, sizeof(failure.why), err_text());
	/* the table's own failure is logged by the next tick */
	(void)!table_write(lane->all->table, note_failure, &failure);
}

static enum queue_done
done_of(enum work_outcome outcome)
{
	switch (outcome) {
	case WORK_MOVED:
		return QUEUE_AGAIN;
	case WORK_FAILED:
		return QUEUE_FAILED;
	case WORK_MARKED:
	case WORK_WAITS:
	case WORK_DROPPED:
		break;
	}
	return QUEUE_DONE;
}

struct question {
	const struct lane *lane;
	const char *name;
	bool verify;
	bool idle;
};

/*
 * A name of a replica that is down would cost the primary an answer, rest,
 * and come again; one that was put while it was worked on may be current.
 */
static enum err
ask_idle(struct table_txn *txn, void *arg)
{
	struct question *question = arg;
	const struct lane *lane = question->lane;
	struct epochs epochs;
	struct peer peer;
	struct row row;
	enum err err = peer_get(txn, lane->replica->name, &peer);

	question->idle = err == ERR_OK && peer.down;
	if (err != ERR_OK || question->idle || question->verify)
		return err;
	err = row_get(txn, lane->route, question->name, &row);
	if (err == ERR_OK)
		err = epochs_get(txn, lane->route, lane->replica, &epochs);
	question->idle = err == ERR_OK &&
	    row_is_current(&row, lane->replica, &epochs);
	return err;
}

static bool
is_idle(const struct lane *lane, const char *name, bool verify)
{
	struct question question = { lane, name, verify, false };

	return table_read(lane->all->table, ask_idle, &question) == ERR_OK &&
	    question.idle;
}

static void *
work(void *arg)
{
	struct lane *lane = arg;
	struct lanes *all = lane->all;
	struct http *http = http_new();
	char name[NAME_SIZE];
	bool verify;

	while (queue_take(all->queue, lane->index, name, &verify)) {
		int64_t begun_ms = clock_boot_ms();
		enum work_outcome outcome;
		bool raised;

		if (is_idle(lane, name, verify)) {
			queue_done(all->queue, lane->index, name, QUEUE_DONE);
			continue;
		}
		outcome = work_run(all->table, http, all->conf, lane->route,
		    lane->replica, name, &raised);
		if (outcome == WORK_MARKED && all->pulse != NULL)
			news_tell(all->pulse, lane->route, name);
		say(lane, outcome, name, clock_boot_ms() - begun_ms);
		if (outcome == WORK_FAILED)
			note_why(lane, name);
		if (raised)
			lanes_put(all, lane->route, name, QUEUE_URGENT);
		queue_done(all->queue, lane->index, name, done_of(outcome));
	}
	http_free(http);
	return NULL;
}

void
lanes_start(struct lanes *all)
{
	unsigned each = all->conf->sync.fetches;

	all->threads = mem_array(all->n * each, sizeof(*all->threads));
	for (size_t i = 0; i < all->n * each; i++) {
		if (pthread_create(&all->threads[i], NULL, work,
			&all->lanes[i / each]) != 0) {
			/* fewer workers do the same work */
			log_msg(LOG_WARNING,
			    "only %zu workers: no more "
			    "threads",
			    i);
			break;
		}
		all->n_threads++;
	}
}

void
lanes_drain(struct lanes *all)
{
	queue_drain(all->queue);
	for (size_t i = 0; i < all->n_threads; i++)
		pthread_join(all->threads[i], NULL);
	free(all->threads);
	all->threads = NULL;
	all->n_threads = 0;
	/* what rests is in the lag index, too */
	queue_free(all->queue);
	all->queue = queue_new(all->n);
}

struct lag_question {
	const struct conf *conf;
	bool lags;
};

static enum err
ask_lag(struct table_txn *txn, void *arg)
{
	struct lag_question *question = arg;

	question->lags = false;
	for (size_t i = 0; i < question->conf->n_routes; i++) {
		const struct route *route = &question->conf->routes[i];

		for (size_t j = 0; j < route->n_replicas; j++) {
			enum err err = lag_any(txn, route, route->replicas[j],
			    &question->lags);

			if (err != ERR_OK || question->lags)
				return err;
		}
	}
	return ERR_OK;
}

enum err
lanes_lag(const struct conf *conf, struct table *table, bool *lags)
{
	struct lag_question question = { .conf = conf };
	enum err err = table_read(table, ask_lag, &question);

	if (err == ERR_OK)
		*lags = question.lags;
	return err;
}

/* polls.c: compares what is read lately, for changes that nobody reported */
/* SPDX-License-Identifier: ISC */
#include "sync/polls.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "conf/clock.h"
#include "conf/log.h"
#include "conf/mem.h"
#include "sync/http.h"
#include "sync/peer.h"
#include "sync/proof.h"
#include "sync/queue.h"
#include "sync/round.h"
#include "sync/row.h"

/* Threads of each replica: one that waits for a slow answer is not all. */
#define THREADS 2
/* Rows of one transaction, and of one tick, which beats the heart, too. */
#define BATCH 1000
#define MAX_ROWS 100000

/* One route and replica; its index is that of its lane in the queue. */
struct watcher {
	struct polls *all;
	size_t index;
	const struct route *route;
	const struct upstream *replica;
	struct round round;
	char name[NAME_SIZE];	 /* the last row looked at, "": none yet */
	_Atomic int64_t done_ms; /* its last comparison's end */
	_Atomic bool failed;	 /* one of this round: who could not be asked */

	/* of the transaction under way, which may run again */
	char next[NAME_SIZE];
	int rows;
	int64_t may, put; /* repositories */
	bool ended, stopped;
};

struct polls {
	const struct conf *conf;
	struct table *table;
	struct lanes *lanes;
	struct stamps *stamps;
	struct queue *queue;
	struct watcher *watchers; /* a route's stand together */
	size_t n;
	pthread_t *threads;
	size_t n_threads;
};

static void
add_watcher(struct polls *all, const struct route *route,
    const struct upstream *replica)
{
	struct watcher *watcher = &all->watchers[all->n];
	int64_t now_ms = clock_boot_ms();

	*watcher = (struct watcher){ .all = all,
		.index = all->n++,
		.route = route,
		.replica = replica };
	/* replicas may have served on a beat of the daemon before this one */
	round_start(&watcher->round, now_ms,
	    now_ms - all->conf->sync.valid_ms - route->poll_ms);
}

struct polls *
polls_new(const struct conf *conf, struct table *table, struct lanes *lanes,
    struct stamps *stamps)
{
	struct polls *all = mem_zalloc(sizeof(*all));
	size_t n = 0;

	*all = (struct polls){ .conf = conf,
		.table = table,
		.lanes = lanes,
		.stamps = stamps };
	for (size_t i = 0; i < conf->n_routes; i++)
		n += conf->routes[i].n_replicas;
	all->watchers = mem_array(n, sizeof(*all->watchers));
	for (size_t i = 0; i < conf->n_routes; i++)
		for (size_t j = 0; j < conf->routes[i].n_replicas; j++)
			add_watcher(all, &conf->routes[i],
			    conf->routes[i].replicas[j]);
	all->queue = queue_new(all->n);
	return all;
}

void
polls_free(struct polls *all)
{
	if (all == NULL)
		return;
	queue_close(all->queue);
	for (size_t i = 0; i < all->n_threads; i++)
		pthread_join(all->threads[i], NULL);
	queue_free(all->queue);
	free(all->threads);
	free(all->watchers);
	free(all);
}

struct question {
	const struct watcher *watcher;
	const char *name;
	bool serves;
};

/* One that lags is the lanes' business, and one that is down comes back. */
static enum err
ask_serves(struct table_txn *txn, void *arg)
{
	struct question *question = arg;
	const struct watcher *watcher = question->watcher;
	struct epochs epochs;
	struct peer peer;
	struct row row;
	enum err err = peer_get(txn, watcher->replica->name, &peer);

	if (err == ERR_OK)
		err = row_get(txn, watcher->route, question->name, &row);
	if (err == ERR_OK)
		err = epochs_get(txn, watcher->route, watcher->replica,
		    &epochs);
	question->serves = err == ERR_OK && !peer.down &&
	    row_is_current(&row, watcher->replica, &epochs);
	return err;
}

static void
compare(struct watcher *watcher, struct http *http, const char *name)
{
	const struct polls *all = watcher->all;
	struct question question = { watcher, name, false };
	struct proof_result result;
	char shown[512];
	bool raised = false;
	enum err err;

	if (table_read(all->table, ask_serves, &question) != ERR_OK ||
	    !question.serves)
		return;
	err = proof_run(all->table, http, all->conf, watcher->route,
	    watcher->replica, name, &result);
	if (err == ERR_OK)
		err = proof_unreported(all->table, watcher->route,
		    watcher->replica, name, &result, &raised);
	if (err != ERR_OK && err != ERR_ABSENT)
		watcher->failed = true;
	if (raised)
		log_msg(LOG_INFO,
		    "%s/%s: replica %s and the primary differ, and nobody "
		    "reported a change",
		    watcher->route->name,
		    log_escape(shown, sizeof(shown), name),
		    watcher->replica->name);
	/* the lanes see to whatever lags by now, and know what does not */
	if (err != ERR_OK || result.outcome != PROOF_MARKED)
		lanes_put(all->lanes, watcher->route, name, QUEUE_URGENT);
}

static void *
work(void *arg)
{
	struct watcher *watcher = arg;
	struct queue *queue = watcher->all->queue;
	struct http *http = http_new();
	char name[NAME_SIZE];
	bool verify;

	while (queue_take(queue, watcher->index, name, &verify)) {
		compare(watcher, http, name);
		watcher->done_ms = clock_boot_ms();
		queue_done(queue, watcher->index, name, QUEUE_DONE);
	}
	http_free(http);
	return NULL;
}

enum err
polls_start(struct polls *all)
{
	all->threads = mem_array(all->n * THREADS, sizeof(*all->threads));
	for (size_t i = 0; i < all->n * THREADS; i++) {
		if (pthread_create(&all->threads[i], NULL, work,
			&all->watchers[i / THREADS]) != 0)
			return err_set(ERR_SYS,
			    "no thread to compare what is read");
		all->n_threads++;
	}
	return ERR_OK;
}

/* The cursor stays before what may not be compared yet. */
static enum err
walk_batch(struct table_txn *txn, void *arg)
{
	struct watcher *watcher = arg;
	const struct polls *all = watcher->all;
	/* the second in which the last round began, and what came late to it */
	int64_t since_s = watcher->round.before_ms / 1000 - 1;
	char name[NAME_SIZE];
	enum err err;

	/* -1 is what was not read since boot */
	if (since_s < 0)
		since_s = 0;
	strcpy(watcher->next, watcher->name);
	watcher->put = 0;
	watcher->ended = watcher->stopped = false;
	for (watcher->rows = 0; watcher->rows < BATCH; watcher->rows++) {
		err = row_next(txn, watcher->route, watcher->next, name);
		if (err != ERR_OK) {
			watcher->ended = err == ERR_ABSENT;
			return watcher->ended ? ERR_OK : err;
		}
		if (stamps_get_s(all->stamps, watcher->route, name) >=
		    since_s) {
			if (watcher->put == watcher->may ||
			    !queue_put(all->queue, watcher->index, name,
				QUEUE_VERIFY)) {
				watcher->stopped = true;
				return ERR_OK;
			}
			watcher->put++;
		}
		strcpy(watcher->next, name);
	}
	return ERR_OK;
}

static enum err
go_on(struct watcher *watcher, int64_t now_ms)
{
	const struct route *route = watcher->route;
	int64_t replicas = (int64_t)route->n_replicas;
	enum err err;

	watcher->stopped = watcher->ended = false;
	for (int rows = 0;
	     !watcher->stopped && !watcher->ended && rows < MAX_ROWS;
	     rows += watcher->rows) {
		watcher->may = round_earns(&watcher->round, now_ms,
		    route->poll_rate, replicas);
		err = table_read(watcher->all->table, walk_batch, watcher);
		if (err != ERR_OK)
			return err;
		strcpy(watcher->name, watcher->next);
		round_spends(&watcher->round, watcher->put, replicas);
	}
	if (watcher->ended)
		round_walked(&watcher->round);
	return ERR_OK;
}

static enum err
watch(struct watcher *watcher, int64_t now_ms)
{
	struct round *round = &watcher->round;

	if (round->under_way && !round->walking &&
	    queue_size(watcher->all->queue, watcher->index) == 0)
		round_ends(round, watcher->done_ms, watcher->failed);
	if (round_begins(round, now_ms, watcher->route->poll_ms)) {
		watcher->name[0] = '\0';
		watcher->failed = false;
	}
	return round->walking ? go_on(watcher, now_ms) : ERR_OK;
}

/* The route's pace is that of its slowest replica. */
static void
tell(const struct polls *all, const struct route *route, int64_t now_ms)
{
	struct pace pace = { .told_ms = now_ms };

	for (size_t i = 0; i < all->n; i++) {
		const struct watcher *watcher = &all->watchers[i];
		int64_t bound_ms = round_bound_ms(&watcher->round, now_ms);

		if (watcher->route != route)
			continue;
		if (bound_ms > pace.bound_ms)
			pace.bound_ms = bound_ms;
		if (watcher->round.polled > pace.polled)
			pace.polled = watcher->round.polled;
	}
	stamps_tell(all->stamps, route, &pace);
}

enum err
polls_tick(struct polls *all, int64_t now_ms)
{
	enum err err = ERR_OK;

	for (size_t i = 0; i < all->n && err == ERR_OK; i++)
		err = watch(&all->watchers[i], now_ms);
	for (size_t i = 0; i < all->conf->n_routes && err == ERR_OK; i++)
		if (all->conf->routes[i].n_replicas > 0)
			tell(all, &all->conf->routes[i], now_ms);
	return err;
}

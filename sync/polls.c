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
	struct pursuit pursuit;
	_Atomic int64_t done_ms; /* its last comparison's end */
};

/* How far the round of one route is. */
struct walk {
	struct polls *all;
	const struct route *route;
	struct watcher *watchers; /* as many as it has replicas */
	struct round round;
	char name[NAME_SIZE]; /* the last row that was looked at, "": none */

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
	struct watcher *watchers;
	size_t n;
	struct walk *walks;
	size_t n_walks;
	pthread_t *threads;
	size_t n_threads;
};

/* A daemon before this one may have served as long as its beat was good. */
static void
add_route(struct polls *all, const struct route *route)
{
	struct walk *walk = &all->walks[all->n_walks++];
	int64_t now_ms = clock_boot_ms();

	*walk = (struct walk){ .all = all,
		.route = route,
		.watchers = &all->watchers[all->n] };
	round_start(&walk->round, now_ms,
	    now_ms - all->conf->sync.valid_ms - route->poll_ms);
	for (size_t i = 0; i < route->n_replicas; i++) {
		struct watcher *watcher = &all->watchers[all->n];

		*watcher = (struct watcher){ .all = all,
			.index = all->n,
			.route = route,
			.replica = route->replicas[i] };
		all->n++;
	}
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
	all->walks = mem_array(conf->n_routes, sizeof(*all->walks));
	all->watchers = mem_array(n, sizeof(*all->watchers));
	for (size_t i = 0; i < conf->n_routes; i++)
		if (conf->routes[i].n_replicas > 0)
			add_route(all, &conf->routes[i]);
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
	free(all->walks);
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
compare(const struct watcher *watcher, struct http *http, const char *name)
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

static void
put(struct walk *walk, const char *name)
{
	walk->put++;
	/* one that waits since the last round, waits; a full lane comes again */
	for (size_t i = 0; i < walk->route->n_replicas; i++)
		(void)queue_put(walk->all->queue, walk->watchers[i].index, name,
		    QUEUE_VERIFY);
}

/* The cursor stays before what may not be compared yet. */
static enum err
walk_batch(struct table_txn *txn, void *arg)
{
	struct walk *walk = arg;
	const struct polls *all = walk->all;
	/* the second in which the last round began, and what came late to it */
	int64_t since_s = walk->round.before_ms / 1000 - 1;
	char name[NAME_SIZE];
	enum err err;

	strcpy(walk->next, walk->name);
	walk->put = 0;
	walk->ended = walk->stopped = false;
	for (walk->rows = 0; walk->rows < BATCH; walk->rows++) {
		err = row_next(txn, walk->route, walk->next, name);
		if (err != ERR_OK) {
			walk->ended = err == ERR_ABSENT;
			return walk->ended ? ERR_OK : err;
		}
		if (stamps_get_s(all->stamps, walk->route, name) >= since_s) {
			if (walk->put == walk->may) {
				walk->stopped = true;
				return ERR_OK;
			}
			put(walk, name);
		}
		strcpy(walk->next, name);
	}
	return ERR_OK;
}

static enum err
go_on(struct walk *walk, int64_t now_ms)
{
	const struct route *route = walk->route;
	int64_t replicas = (int64_t)route->n_replicas;
	enum err err;

	walk->stopped = false;
	for (int rows = 0; !walk->stopped && rows < MAX_ROWS;
	     rows += walk->rows) {
		walk->may = round_earns(&walk->round, now_ms, route->poll_rate,
		    replicas);
		err = table_read(walk->all->table, walk_batch, walk);
		if (err != ERR_OK)
			return err;
		strcpy(walk->name, walk->next);
		round_spends(&walk->round, walk->put, replicas);
		for (int64_t i = 0; walk->put > 0 && i < replicas; i++)
			pursuit_begin(&walk->watchers[i].pursuit, &walk->round);
		if (walk->ended) {
			round_walked(&walk->round);
			break;
		}
	}
	return ERR_OK;
}

/* Who has compared all that the round found? */
static void
settle(struct walk *walk)
{
	const struct round *round = &walk->round;

	for (size_t i = 0; i < walk->route->n_replicas; i++) {
		struct watcher *watcher = &walk->watchers[i];

		if (round->walking ||
		    queue_size(walk->all->queue, watcher->index) > 0)
			continue;
		if (watcher->pursuit.behind &&
		    watcher->done_ms - round->began_ms > walk->round.took_ms)
			walk->round.took_ms = watcher->done_ms -
			    round->began_ms;
		if (watcher->pursuit.behind || round->polled == 0)
			pursuit_end(&watcher->pursuit, watcher->done_ms);
	}
}

static void
tell(const struct walk *walk, int64_t now_ms)
{
	struct pace pace = { .told_ms = now_ms, .polled = walk->round.polled };

	for (size_t i = 0; i < walk->route->n_replicas; i++) {
		int64_t bound_ms = pursuit_bound_ms(&walk->watchers[i].pursuit,
		    now_ms);

		if (bound_ms > pace.bound_ms)
			pace.bound_ms = bound_ms;
	}
	stamps_tell(walk->all->stamps, walk->route, &pace);
}

enum err
polls_tick(struct polls *all, int64_t now_ms)
{
	for (size_t i = 0; i < all->n_walks; i++) {
		struct walk *walk = &all->walks[i];
		enum err err = ERR_OK;

		settle(walk);
		if (round_begins(&walk->round, now_ms, walk->route->poll_ms)) {
			walk->round.took_ms = 0;
			walk->name[0] = '\0';
		}
		if (walk->round.walking)
			err = go_on(walk, now_ms);
		if (err != ERR_OK)
			return err;
		tell(walk, now_ms);
	}
	return ERR_OK;
}

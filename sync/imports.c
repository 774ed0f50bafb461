/* imports.c: keeps the placements what both registries' catalogues say */
/* SPDX-License-Identifier: ISC */
#include "sync/imports.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "conf/clock.h"
#include "conf/log.h"
#include "conf/mem.h"
#include "sync/catalogue.h"
#include "sync/place.h"

/* A registry that could not be read is asked again so soon, in seconds. */
#define RETRY_S 5
#define MAX_RETRY_S 300
/* Expired placements are looked for so often, in seconds. */
#define SETTLE_S 10
/* One whose side cannot be asked is put off so long, in seconds. */
#define POSTPONE_S 3600
/* Put off in one transaction. */
#define BATCH 500

struct side {
	const struct conf *conf;
	struct table *table;
	const struct route *route;
	const struct upstream *upstream;
	pthread_t thread;
};

static void
sleep_s(int64_t s)
{
	const struct timespec gap = { .tv_sec = s };

	if (s > 0)
		nanosleep(&gap, NULL);
}

struct progress {
	const struct side *side;
	struct import import;
};

static enum err
read_progress(struct table_txn *txn, void *arg)
{
	struct progress *progress = arg;

	return import_get(txn, progress->side->route, progress->side->upstream,
	    &progress->import);
}

/* Seconds until the next import of this side is due. */
static enum err
due_s(const struct side *side, int64_t *s)
{
	struct progress progress = { .side = side };
	enum err err = table_read(side->table, read_progress, &progress);

	if (err != ERR_OK)
		return err;
	*s = progress.import.completed_s + side->route->import_s -
	    clock_real_s();
	/* one under way goes on; one of the future says nothing of today */
	if (progress.import.started_s != 0 || *s > side->route->import_s)
		*s = 0;
	return ERR_OK;
}

static enum err
import_if_due(const struct side *side, struct http *http)
{
	struct import import;
	int64_t s;
	enum err err = due_s(side, &s);

	if (err != ERR_OK || s > 0)
		return err;
	err = catalogue_import(side->table, http, side->conf, side->route,
	    side->upstream, NULL, &import);
	if (err != ERR_OK)
		log_msg(LOG_WARNING, "%s: import from %s: %s",
		    side->route->name, side->upstream->name, err_text());
	else if (import.conflicts > 0)
		log_msg(LOG_WARNING,
		    "%s: import from %s: %llu names, %llu of "
		    "them placed on the other side",
		    side->route->name, side->upstream->name,
		    (unsigned long long)import.names,
		    (unsigned long long)import.conflicts);
	return err;
}

static void *
import_for_ever(void *arg)
{
	struct side *side = arg;
	struct http *http = http_new();
	int64_t retry_s = RETRY_S;

	for (;;) {
		int64_t s = 0;

		if (import_if_due(side, http) != ERR_OK) {
			sleep_s(retry_s);
			retry_s = retry_s * 2 < MAX_RETRY_S ? retry_s * 2
							    : MAX_RETRY_S;
			continue;
		}
		retry_s = RETRY_S;
		/* not all of it at once: a clock that is set must not matter */
		if (due_s(side, &s) == ERR_OK)
			sleep_s(s < MAX_RETRY_S ? s : MAX_RETRY_S);
	}
	return NULL;
}

static void *
import_once(void *arg)
{
	struct side *side = arg;
	struct http *http = http_new();

	(void)import_if_due(side, http);
	http_free(http);
	return NULL;
}

/* A pass over the provisional placements that expired. */
struct pass {
	const struct conf *conf;
	int64_t lost_ms[MAX_UPSTREAMS]; /* as in conf: on what failed there */
	bool ended;
	/* whose side is to be asked; NULL: none in this batch */
	const struct route *route;
	const struct upstream *side; /* NULL: no more in conf */
	char name[NAME_SIZE];
};

/*
 * Only of a route that still migrates is a side asked, and in a pass only
 * until stall_ms was lost on it: who has a quick no for one name may have a
 * yes for the next, who swallows requests has not.
 */
static enum err
find_side(struct table_txn *txn, struct pass *pass, const char *route_name)
{
	const struct route *route = conf_route(pass->conf, route_name);
	struct placement placement;
	enum err err;

	pass->route = NULL;
	if (route == NULL || route->to == NULL)
		return ERR_OK;
	err = place_get(txn, route, pass->name, &placement);
	if (err != ERR_OK)
		return err;
	pass->side = conf_upstream(pass->conf, placement.upstream);
	if (pass->side == NULL ||
	    pass->lost_ms[pass->side - pass->conf->upstreams] <
		pass->conf->sync.stall_ms)
		pass->route = route;
	return ERR_OK;
}

/* The next one that can be asked about; others on the way are put off. */
static enum err
find_expired(struct table_txn *txn, void *arg)
{
	struct pass *pass = arg;
	char name[WORD_SIZE];
	const struct route route = { .name = name };
	const int64_t now_s = clock_real_s();

	pass->ended = false;
	for (int i = 0; i < BATCH; i++) {
		enum err err = place_expired(txn, now_s, name, pass->name);

		if (err == ERR_ABSENT) {
			pass->ended = true;
			pass->route = NULL;
			return ERR_OK;
		}
		if (err == ERR_OK)
			err = find_side(txn, pass, name);
		if (err != ERR_OK || pass->route != NULL)
			return err;
		err = place_postpone(txn, &route, pass->name,
		    now_s + POSTPONE_S);
		if (err != ERR_OK)
			return err;
	}
	return ERR_OK;
}

/* An error of its side's is this one's alone, and puts it off. */
static enum err
settle_one(struct pass *pass, struct table *table, struct http *http)
{
	static struct log_gate gate;
	int64_t begun_ms = clock_boot_ms();
	enum err err = catalogue_settle(table, http, pass->conf, pass->route,
	    pass->name);

	if (err == ERR_OK || err == ERR_TABLE)
		return err;
	log_gated(&gate, LOG_WARNING, "%s/%s: %s", pass->route->name,
	    pass->name, err_text());
	if (pass->side != NULL)
		pass->lost_ms[pass->side - pass->conf->upstreams] +=
		    clock_boot_ms() - begun_ms;
	return ERR_OK;
}

static void
settle_all(const struct conf *conf, struct table *table, struct http *http)
{
	static struct log_gate gate;
	struct pass pass = { .conf = conf };
	enum err err = ERR_OK;

	while (err == ERR_OK && !pass.ended) {
		err = table_write(table, find_expired, &pass);
		if (err == ERR_OK && pass.route != NULL)
			err = settle_one(&pass, table, http);
	}
	if (err != ERR_OK)
		log_gated(&gate, LOG_ERR, "expired placements: %s", err_text());
}

static void *
settle_for_ever(void *arg)
{
	struct side *side = arg;
	struct http *http = http_new();

	for (;;) {
		settle_all(side->conf, side->table, http);
		sleep_s(SETTLE_S);
	}
	return NULL;
}

static struct side *
start_side(const struct conf *conf, struct table *table,
    const struct route *route, const struct upstream *upstream,
    void *(*run)(void *))
{
	struct side *side = mem_zalloc(sizeof(*side));

	*side = (struct side){ .conf = conf,
		.table = table,
		.route = route,
		.upstream = upstream };
	if (pthread_create(&side->thread, NULL, run, side) == 0)
		return side;
	log_msg(LOG_ERR, "%s: no thread to import its catalogues", route->name);
	free(side);
	return NULL;
}

/* Two threads of run for each route that migrates; ended by NULL. */
static struct side **
start_sides(const struct conf *conf, struct table *table, void *(*run)(void *))
{
	struct side **all = mem_array(conf->n_routes * 2 + 1, sizeof(*all));
	size_t n = 0;

	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct route *route = &conf->routes[i];

		if (route->kind != ROUTE_REGISTRY || route->to == NULL)
			continue;
		if ((all[n] = start_side(conf, table, route, route->primary,
			 run)) != NULL)
			n++;
		if ((all[n] = start_side(conf, table, route, route->to, run)) !=
		    NULL)
			n++;
	}
	return all;
}

enum err
imports_start(const struct conf *conf, struct table *table)
{
	struct side **all = start_sides(conf, table, import_for_ever);
	struct side *settler;

	for (size_t i = 0; all[i] != NULL; i++)
		pthread_detach(all[i]->thread);
	if (all[0] != NULL &&
	    (settler = start_side(conf, table, all[0]->route, all[0]->upstream,
		 settle_for_ever)) != NULL)
		pthread_detach(settler->thread);
	free(all);
	return ERR_OK;
}

void
imports_once(const struct conf *conf, struct table *table)
{
	struct side **all = start_sides(conf, table, import_once);
	struct http *http = http_new();

	settle_all(conf, table, http);
	http_free(http);
	for (size_t i = 0; all[i] != NULL; i++) {
		pthread_join(all[i]->thread, NULL);
		free(all[i]);
	}
	free(all);
}

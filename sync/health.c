/* health.c: which replicas are alive */
/* SPDX-License-Identifier: ISC */
#include "sync/health.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "conf/log.h"
#include "conf/mem.h"
#include "sync/peer.h"
#include "sync/probe.h"

struct patient {
	const struct conf *conf;
	struct table *table;
	const struct upstream *replica;
	pthread_t thread;
	/* of the transaction that notes it */
	bool up;
	bool changed;
	char why[256];
};

/* The route by which a replica is asked: the first that has it, or NULL. */
static const struct route *
route_of(const struct conf *conf, const struct upstream *replica)
{
	for (size_t i = 0; i < conf->n_routes; i++)
		if (conf->routes[i].kind == ROUTE_GIT &&
		    conf_is_replica(&conf->routes[i], replica, NULL))
			return &conf->routes[i];
	return NULL;
}

static enum err
note(struct table_txn *txn, void *arg)
{
	struct patient *patient = arg;

	return patient->up ? peer_set_up(txn, patient->conf, patient->replica,
				 &patient->changed)
			   : peer_set_down(txn, patient->replica, patient->why,
				 &patient->changed);
}

static enum err
is_news(struct table_txn *txn, void *arg)
{
	struct patient *patient = arg;
	struct peer peer;
	enum err err = peer_get(txn, patient->replica->name, &peer);

	if (err == ERR_OK)
		patient->changed = peer.down == patient->up;
	return err;
}

enum err
health_check(struct table *table, struct http *http, const struct conf *conf,
    const struct upstream *replica, bool *up)
{
	struct patient patient = { .conf = conf, .replica = replica };
	const struct route *route = route_of(conf, replica);
	enum err err;

	for (int i = 0; i < HEALTH_MISSES && !patient.up; i++)
		patient.up = probe_alive(http, conf, route, replica) == ERR_OK;
	if (!patient.up)
		log_escape(patient.why, sizeof(patient.why), err_text());
	*up = patient.up;
	/* most of the time nothing is to be written */
	err = table_read(table, is_news, &patient);
	if (err == ERR_OK && patient.changed)
		err = table_write(table, note, &patient);
	if (err == ERR_OK && patient.changed && patient.up)
		log_msg(LOG_NOTICE, "replica %s: up again", replica->name);
	else if (err == ERR_OK && patient.changed)
		log_msg(LOG_WARNING, "replica %s: down: %s", replica->name,
		    patient.why);
	return err;
}

static void *
watch(void *arg)
{
	static const struct timespec gap = { HEALTH_MS / 1000,
		HEALTH_MS % 1000 * 1000000 };
	struct patient *patient = arg;
	struct http *http = http_new();
	struct log_gate gate = { 0 };
	bool up;

	for (;;) {
		if (health_check(patient->table, http, patient->conf,
			patient->replica, &up) != ERR_OK)
			log_gated(&gate, LOG_ERR, "replica %s: %s",
			    patient->replica->name, err_text());
		nanosleep(&gap, NULL);
	}
	return NULL;
}

static void *
look_once(void *arg)
{
	struct patient *patient = arg;
	struct http *http = http_new();
	bool up;

	if (health_check(patient->table, http, patient->conf, patient->replica,
		&up) != ERR_OK)
		log_msg(LOG_ERR, "replica %s: %s", patient->replica->name,
		    err_text());
	http_free(http);
	return NULL;
}

/*
 * A thread of run for each replica of conf; their array, ended by NULL.
 * *err is ERR_SYS where one could not be started.
 */
static struct patient **
start_all(const struct conf *conf, struct table *table, void *(*run)(void *),
    enum err *err)
{
	struct patient **all = mem_array(conf->n_upstreams + 1, sizeof(*all));
	size_t n = 0;

	*err = ERR_OK;
	for (size_t i = 0; i < conf->n_upstreams; i++) {
		struct patient *patient;

		if (route_of(conf, &conf->upstreams[i]) == NULL)
			continue;
		patient = mem_zalloc(sizeof(*patient));
		patient->conf = conf;
		patient->table = table;
		patient->replica = &conf->upstreams[i];
		if (pthread_create(&patient->thread, NULL, run, patient) != 0) {
			*err = err_set(ERR_SYS,
			    "replica %s: no thread to ask "
			    "whether it is up",
			    patient->replica->name);
			free(patient);
			break;
		}
		all[n++] = patient;
	}
	return all;
}

enum err
health_start(const struct conf *conf, struct table *table)
{
	enum err err;
	struct patient **all = start_all(conf, table, watch, &err);

	for (size_t i = 0; all[i] != NULL; i++)
		pthread_detach(all[i]->thread);
	free(all);
	return err;
}

void
health_once(const struct conf *conf, struct table *table)
{
	enum err err;
	struct patient **all = start_all(conf, table, look_once, &err);

	if (err != ERR_OK)
		log_msg(LOG_ERR, "%s", err_text());
	for (size_t i = 0; all[i] != NULL; i++) {
		pthread_join(all[i]->thread, NULL);
		free(all[i]);
	}
	free(all);
}

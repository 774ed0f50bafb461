/* health.c: which replicas are alive */
/* SPDX-License-Identifier: ISC */
#include "sync/health.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "conf/clock.h"
#include "conf/log.h"
#include "conf/mem.h"
#include "sync/alive.h"
#include "sync/damp.h"
#include "sync/peer.h"

/* What the feed told of a replica since it was asked last. */
struct hints {
	bool any;
	bool failed;	/* a read did: it is as good as a miss */
	bool enough;	/* to take it out though it answers */
	char text[192]; /* of the last one; printable */
};

struct patient {
	const struct conf *conf;
	struct table *table;
	const struct upstream *replica;
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows; never held over I/O */
	pthread_cond_t told;
	struct hints hints;
	struct damp damp;
	int64_t asked_ms; /* clock_boot_ms() */
};

struct health {
	struct patient *patients;
	size_t n;
};

/* How a replica is, and what the table makes of it. */
struct finding {
	const struct conf *conf;
	const struct upstream *replica;
	bool was_down;
	bool up;
	bool unconfirmed; /* down, but it answers */
	bool spared;	  /* it stays up, being the last one */
	bool changed;
	char why[384]; /* of down; the table keeps its beginning */
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

/* Has route a replica beside that one which takes reads? */
static enum err
has_other(struct table_txn *txn, const struct route *route,
    const struct upstream *replica, bool *has)
{
	struct peer peer;
	enum err err;

	*has = false;
	for (size_t i = 0; i < route->n_replicas && !*has; i++) {
		if (route->replicas[i] == replica)
			continue;
		err = peer_get(txn, route->replicas[i]->name, &peer);
		if (err != ERR_OK)
			return err;
		*has = !peer.down && !peer.drained;
	}
	return ERR_OK;
}

/* Is it the last one in any of its routes? */
static enum err
see_last(struct table_txn *txn, struct finding *finding)
{
	const struct conf *conf = finding->conf;
	enum err err = ERR_OK;
	bool other = true;

	for (size_t i = 0; err == ERR_OK && other && i < conf->n_routes; i++)
		if (conf->routes[i].kind == ROUTE_GIT &&
		    conf_is_replica(&conf->routes[i], finding->replica, NULL))
			err = has_other(txn, &conf->routes[i], finding->replica,
			    &other);
	finding->spared = !other;
	return err;
}

static enum err
note(struct table_txn *txn, void *arg)
{
	struct finding *finding = arg;
	enum err err = ERR_OK;

	if (finding->up)
		return peer_set_up(txn, finding->conf, finding->replica,
		    &finding->changed);
	if (finding->unconfirmed)
		err = see_last(txn, finding);
	if (err == ERR_OK && !finding->spared)
		err = peer_set_down(txn, finding->replica, finding->why,
		    &finding->changed);
	return err;
}

static enum err
see_down(struct table_txn *txn, void *arg)
{
	struct finding *finding = arg;
	struct peer peer;
	enum err err = peer_get(txn, finding->replica->name, &peer);

	if (err == ERR_OK)
		finding->was_down = peer.down;
	return err;
}

static void
say(const struct finding *finding)
{
	static struct log_gate gate;
	const char *name = finding->replica->name;

	if (finding->spared)
		log_gated(&gate, LOG_WARNING,
		    "replica %s: %s; it stays up: it answers, and no other "
		    "replica is up",
		    name, finding->why);
	else if (finding->changed && finding->up)
		log_msg(LOG_NOTICE, "replica %s: up again", name);
	else if (finding->changed)
		log_msg(LOG_WARNING, "replica %s: down: %s", name,
		    finding->why);
}

/* git: its git, too, and not only whether it is alive. */
static enum err
ask_once(struct http *http, const struct finding *finding, bool git,
    int64_t limit_ms)
{
	const struct conf *conf = finding->conf;
	const struct upstream *replica = finding->replica;
	enum err err = alive_ask(http, route_of(conf, replica), replica,
	    limit_ms);

	for (size_t i = 0; err == ERR_OK && git && i < conf->n_routes; i++)
		if (conf->routes[i].kind == ROUTE_GIT &&
		    conf_is_replica(&conf->routes[i], replica, NULL))
			err = alive_ask_git(http, &conf->routes[i], replica,
			    limit_ms);
	return err;
}

/* For how long it may say nothing after it missed once. */
static int64_t
second_limit_ms(struct http *http, const struct finding *finding)
{
	return alive_server(http, route_of(finding->conf, finding->replica),
		   finding->replica, HEALTH_PATIENCE_MS)
	    ? HEALTH_SLOW_MS
	    : HEALTH_PATIENCE_MS;
}

static void
ask(struct http *http, const struct hints *hints, struct finding *finding)
{
	bool git = hints->any || finding->was_down;
	size_t len;

	finding->up = ask_once(http, finding, git, HEALTH_PATIENCE_MS) ==
	    ERR_OK;
	if (!finding->up && !hints->failed)
		finding->up = ask_once(http, finding, git,
				  second_limit_ms(http, finding)) == ERR_OK;
	if (!finding->up) {
		log_escape(finding->why, sizeof(finding->why), err_text());
		len = strlen(finding->why);
		if (hints->any)
			snprintf(finding->why + len, sizeof(finding->why) - len,
			    "; noticed by %s", hints->text);
	} else if (hints->enough) {
		finding->up = false;
		finding->unconfirmed = true;
		snprintf(finding->why, sizeof(finding->why),
		    "%d failed reads within %d s, the last: %s", DAMP_READS,
		    DAMP_READS_MS / 1000, hints->text);
	}
}

/* Most of the time nothing is to be written. */
static enum err
look(struct table *table, struct http *http, const struct hints *hints,
    struct finding *finding)
{
	enum err err = table_read(table, see_down, finding);

	if (err != ERR_OK)
		return err;
	ask(http, hints, finding);
	if (finding->up == finding->was_down)
		err = table_write(table, note, finding);
	if (err == ERR_OK)
		say(finding);
	return err;
}

enum err
health_check(struct table *table, struct http *http, const struct conf *conf,
    const struct upstream *replica, bool *up)
{
	static const struct hints none;
	struct finding finding = { .conf = conf, .replica = replica };
	enum err err = look(table, http, &none, &finding);

	if (err == ERR_OK)
		*up = finding.up;
	return err;
}

/* For how long there is nothing to do; 0: now. */
static int64_t
rest_ms(const struct patient *patient, int64_t now_ms)
{
	int64_t held_ms = damp_left_ms(&patient->damp, now_ms);
	int64_t next_ms = patient->asked_ms +
	    (patient->hints.any ? HEALTH_GAP_MS : HEALTH_MS);

	if (held_ms > 0)
		return held_ms;
	return next_ms > now_ms ? next_ms - now_ms : 0;
}

/* Waits until the replica is to be asked, and takes what was told of it. */
static struct hints
await(struct patient *patient)
{
	struct timespec until;
	struct hints hints;
	int64_t ms;

	pthread_mutex_lock(&patient->lock);
	while ((ms = rest_ms(patient, clock_boot_ms())) > 0) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		ms += until.tv_nsec / 1000000;
		until.tv_sec += ms / 1000;
		until.tv_nsec = ms % 1000 * 1000000;
		pthread_cond_timedwait(&patient->told, &patient->lock, &until);
	}
	hints = patient->hints;
	patient->hints = (struct hints){ .any = false };
	pthread_mutex_unlock(&patient->lock);
	return hints;
}

static void
remember(struct patient *patient, const struct finding *finding, enum err err)
{
	int64_t now_ms = clock_boot_ms();

	pthread_mutex_lock(&patient->lock);
	patient->asked_ms = now_ms;
	if (err == ERR_OK && finding->changed && finding->up)
		damp_up(&patient->damp, now_ms);
	else if (err == ERR_OK && finding->changed)
		damp_down(&patient->damp, now_ms);
	pthread_mutex_unlock(&patient->lock);
}

static enum err
examine(struct patient *patient, struct http *http)
{
	struct hints hints = await(patient);
	struct finding finding = { .conf = patient->conf,
		.replica = patient->replica };
	enum err err = look(patient->table, http, &hints, &finding);

	remember(patient, &finding, err);
	return err;
}

static void *
watch(void *arg)
{
	struct patient *patient = arg;
	struct http *http = http_new();
	struct log_gate gate = { 0 };

	for (;;)
		if (examine(patient, http) != ERR_OK)
			log_gated(&gate, LOG_ERR, "replica %s: %s",
			    patient->replica->name, err_text());
	return NULL;
}

static void *
look_once(void *arg)
{
	struct patient *patient = arg;
	struct http *http = http_new();

	if (examine(patient, http) != ERR_OK)
		log_msg(LOG_ERR, "replica %s: %s", patient->replica->name,
		    err_text());
	http_free(http);
	return NULL;
}

static void
admit(struct patient *patient, const struct conf *conf, struct table *table,
    const struct upstream *replica)
{
	pthread_condattr_t attr;

	*patient = (struct patient){ .conf = conf,
		.table = table,
		.replica = replica,
		.asked_ms = clock_boot_ms() - HEALTH_MS };
	pthread_mutex_init(&patient->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&patient->told, &attr);
	pthread_condattr_destroy(&attr);
}

struct health *
health_new(const struct conf *conf, struct table *table)
{
	struct health *health = mem_zalloc(sizeof(*health));

	health->patients = mem_array(conf->n_upstreams + 1,
	    sizeof(*health->patients));
	for (size_t i = 0; i < conf->n_upstreams; i++)
		if (route_of(conf, &conf->upstreams[i]) != NULL)
			admit(&health->patients[health->n++], conf, table,
			    &conf->upstreams[i]);
	return health;
}

static struct patient *
find(struct health *health, const char *name)
{
	for (size_t i = 0; i < health->n; i++)
		if (strcmp(health->patients[i].replica->name, name) == 0)
			return &health->patients[i];
	return NULL;
}

static void
describe(const struct feed_line *line, char *out, size_t size)
{
	char addr[sizeof(line->addr)];

	log_escape(addr, sizeof(addr), line->addr);
	if (line->served[0] != '\0')
		snprintf(out, size,
		    "a read, which %s served: status %u, addr=%s", line->served,
		    line->status, addr);
	else
		snprintf(out, size, "a read: status %u, addr=%s", line->status,
		    addr);
}

static void
hint(struct patient *patient, const struct feed_line *line, enum feed_news news)
{
	struct hints *hints = &patient->hints;
	int64_t now_ms = clock_boot_ms();

	pthread_mutex_lock(&patient->lock);
	/* one that broke off must not hide what a failed one told */
	if (damp_left_ms(&patient->damp, now_ms) == 0 &&
	    !(hints->failed && news == FEED_CUT)) {
		hints->any = true;
		hints->failed = news != FEED_CUT;
		if (news == FEED_FAILED && damp_read(&patient->damp, now_ms))
			hints->enough = true;
		describe(line, hints->text, sizeof(hints->text));
		pthread_cond_signal(&patient->told);
	}
	pthread_mutex_unlock(&patient->lock);
}

void
health_tell(struct health *health, const struct feed_line *line)
{
	enum feed_news news = feed_tells(line);
	struct patient *patient = news != FEED_WELL
	    ? find(health, line->upstream)
	    : NULL;

	if (patient != NULL)
		hint(patient, line, news);
}

/* A thread of run for each patient; *n counts those that were started. */
static enum err
start_all(struct health *health, void *(*run)(void *), size_t *n)
{
	for (*n = 0; *n < health->n; ++*n) {
		struct patient *patient = &health->patients[*n];

		if (pthread_create(&patient->thread, NULL, run, patient) != 0)
			return err_set(ERR_SYS,
			    "replica %s: no thread to ask "
			    "whether it is up",
			    patient->replica->name);
	}
	return ERR_OK;
}

enum err
health_start(struct health *health)
{
	size_t n;
	enum err err = start_all(health, watch, &n);

	while (n > 0)
		pthread_detach(health->patients[--n].thread);
	return err;
}

void
health_once(const struct conf *conf, struct table *table)
{
	struct health *health = health_new(conf, table);
	size_t n;

	if (start_all(health, look_once, &n) != ERR_OK)
		log_msg(LOG_ERR, "%s", err_text());
	while (n > 0)
		pthread_join(health->patients[--n].thread, NULL);
	free(health->patients);
	free(health);
}

/* daemon.c: makes lagging replicas converge, and keeps all promises of time */
/* SPDX-License-Identifier: ISC */
#include "sync/daemon.h"

#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "conf/clock.h"
#include "conf/log.h"
#include "conf/mem.h"
#include "sync/doubts.h"
#include "sync/fence.h"
#include "sync/health.h"
#include "sync/imports.h"
#include "sync/inbox.h"
#include "sync/lanes.h"
#include "sync/look.h"
#include "sync/peer.h"
#include "sync/polls.h"
#include "sync/round.h"
#include "sync/stamps.h"
#include "sync/token.h"

/* The loop looks at every promise of time so often, in milliseconds. */
#define TICK_MS ROUND_TICK_MS
/* What no one waits for is done so often. */
#define HOUSEKEEPING_MS 60000

struct daemon {
	const struct conf *conf;
	struct table *table;
	struct pulse *pulse;
	struct lanes *lanes;
	struct stamps *stamps;
	struct polls *polls;
	/* by index of the route: no primary's silence holds up another's */
	struct look *looks[MAX_ROUTES];
	struct health *health;
	struct inbox inbox;
	int kick_fd;
	/* clock_boot_ms() of the last time */
	int64_t refilled_ms, kept_ms, swept_ms;
};

static void
kick(void *arg)
{
	struct daemon *daemon = arg;
	const uint64_t one = 1;

	if (write(daemon->kick_fd, &one, sizeof(one)) == -1)
		return; /* it is full of kicks already */
}

static void
beat(void *arg)
{
	pulse_beat(arg);
}

struct looker {
	struct daemon *daemon;
	struct look *look;
};

static void *
look(void *arg)
{
	static struct log_gate gate;
	struct looker *looker = arg;
	struct daemon *daemon = looker->daemon;
	struct http *http = http_new();
	char name[NAME_SIZE], shown[512];
	const struct route *route;
	bool made;

	while (look_take(looker->look, &route, name)) {
		enum err err = look_run(looker->look, daemon->table, http,
		    daemon->conf, route, name, &made);

		if (err == ERR_OK)
			lanes_put(daemon->lanes, route, name, QUEUE_URGENT);
		else if (err != ERR_ABSENT)
			log_gated(&gate, LOG_WARNING, "%s/%s: primary %s: %s",
			    route->name, log_escape(shown, sizeof(shown), name),
			    route->primary->name, err_text());
	}
	http_free(http);
	return NULL;
}

static enum err
start_lookers(struct daemon *daemon)
{
	pthread_t thread;

	for (size_t i = 0; i < daemon->conf->n_routes; i++) {
		struct looker *looker;

		if (daemon->looks[i] == NULL)
			continue;
		looker = mem_zalloc(sizeof(*looker));
		*looker = (struct looker){ daemon, daemon->looks[i] };
		if (pthread_create(&thread, NULL, look, looker) != 0)
			return err_set(ERR_SYS, "no thread to look at names");
		pthread_detach(thread);
	}
	return ERR_OK;
}

struct expiry {
	const struct conf *conf;
	unsigned changed;
};

static enum err
expire_fences(struct table_txn *txn, void *arg)
{
	struct expiry *expiry = arg;
	int64_t next_ms;

	return fences_expire(txn, expiry->conf, clock_boot_ms(), &next_ms,
	    &expiry->changed);
}

/* Tokens outlive the longest push by as much again. */
static int64_t
token_age_s(const struct conf *conf)
{
	int64_t longest_ms = 0;

	for (size_t i = 0; i < conf->n_routes; i++)
		if (conf->routes[i].push_max_ms > longest_ms)
			longest_ms = conf->routes[i].push_max_ms;
	return longest_ms / 1000 * 2 + 3600;
}

static enum err
expire_tokens(struct table_txn *txn, void *arg)
{
	struct expiry *expiry = arg;

	return tokens_expire(txn, clock_real_s() - token_age_s(expiry->conf),
	    &expiry->changed);
}

static enum err
keep_house(struct daemon *daemon, int64_t now_ms)
{
	struct expiry expiry = { .conf = daemon->conf };

	if (now_ms - daemon->kept_ms < HOUSEKEEPING_MS)
		return ERR_OK;
	daemon->kept_ms = now_ms;
	(void)table_clear_readers(daemon->table);
	return table_write(daemon->table, expire_tokens, &expiry);
}

static enum err
raise_all(struct table_txn *txn, void *arg)
{
	const struct conf *conf = arg;
	enum err err = ERR_OK;

	for (size_t i = 0; i < conf->n_routes && err == ERR_OK; i++)
		if (conf->routes[i].kind == ROUTE_GIT)
			err = epoch_raise(txn, &conf->routes[i], NULL);
	return err;
}

/*
 * Nobody watched for longer than a heartbeat is good for: a replica may have
 * been away, or set back, in that time, so that every mark is seen again
 * before it counts.
 */
static enum err
mind_the_gap(struct daemon *daemon)
{
	int64_t age_ms = pulse_age_ms(daemon->pulse);

	if (age_ms >= 0 && age_ms <= daemon->conf->sync.valid_ms)
		return ERR_OK;
	return table_write(daemon->table, raise_all, (void *)daemon->conf);
}

/*
 * Everything that time or an epoch asks for.  The heartbeat comes last: it
 * says that all of this was done.
 */
static enum err
tick(struct daemon *daemon, bool kicked)
{
	struct expiry expiry = { .conf = daemon->conf };
	int64_t now_ms = clock_boot_ms();
	bool requeued = false;
	enum err err;

	err = mind_the_gap(daemon);
	if (err == ERR_OK)
		err = doubts_expire(daemon->table, daemon->pulse, daemon->conf,
		    clock_boot_ms());
	if (err == ERR_OK)
		err = table_write(daemon->table, expire_fences, &expiry);
	if (err == ERR_OK)
		err = lanes_requeue(daemon->lanes, &requeued, beat,
		    daemon->pulse);
	if (err == ERR_OK &&
	    (kicked || requeued || expiry.changed > 0 ||
		now_ms - daemon->refilled_ms >=
		    daemon->conf->sync.interval_ms)) {
		daemon->refilled_ms = now_ms;
		err = lanes_refill(daemon->lanes, kicked, NULL);
	}
	if (err == ERR_OK)
		err = polls_tick(daemon->polls, now_ms);
	if (err == ERR_OK)
		err = lanes_sweep(daemon->lanes, now_ms - daemon->swept_ms);
	daemon->swept_ms = now_ms;
	if (err == ERR_OK)
		err = keep_house(daemon, now_ms);
	if (err == ERR_OK)
		pulse_beat(daemon->pulse);
	return err;
}

/* Until the next tick is due, or somebody kicks. */
static bool
rest(struct daemon *daemon)
{
	struct pollfd poll_fd = { .fd = daemon->kick_fd, .events = POLLIN };
	uint64_t kicks;

	return poll(&poll_fd, 1, TICK_MS) == 1 &&
	    read(daemon->kick_fd, &kicks, sizeof(kicks)) > 0;
}

static enum err
adopt(struct table_txn *txn, void *arg)
{
	struct daemon *daemon = arg;
	unsigned changed;
	enum err err = epochs_adopt(txn, daemon->conf, &changed);

	return err == ERR_OK ? fences_adopt(txn, clock_boot_ms()) : err;
}

/* The stamps are for routers also where no daemon reads them. */
static enum err
set_up(struct daemon *daemon)
{
	enum err err = stamps_open(daemon->conf->run_dir, true,
	    &daemon->stamps);

	daemon->lanes = lanes_new(daemon->conf, daemon->table, daemon->pulse);
	return err == ERR_OK ? table_write(daemon->table, adopt, daemon) : err;
}

static enum err
start_threads(struct daemon *daemon)
{
	enum err err;

	daemon->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (daemon->kick_fd == -1)
		return err_sys("eventfd");
	for (size_t i = 0; i < daemon->conf->n_routes; i++)
		if (daemon->conf->routes[i].kind == ROUTE_GIT)
			daemon->looks[i] = look_new();
	daemon->health = health_new(daemon->conf, daemon->table);
	daemon->polls = polls_new(daemon->conf, daemon->table, daemon->lanes,
	    daemon->stamps);
	daemon->inbox = (struct inbox){ daemon->conf, daemon->table,
		daemon->lanes, daemon->looks, daemon->health, kick, daemon };
	err = inbox_start(&daemon->inbox);
	if (err == ERR_OK)
		err = start_lookers(daemon);
	if (err == ERR_OK)
		err = health_start(daemon->health);
	if (err == ERR_OK)
		err = imports_start(daemon->conf, daemon->table);
	if (err == ERR_OK)
		err = polls_start(daemon->polls);
	if (err == ERR_OK)
		lanes_start(daemon->lanes);
	return err;
}

enum err
daemon_start(const struct conf *conf, struct table *table, struct pulse *pulse,
    struct daemon **out)
{
	struct daemon *daemon = mem_zalloc(sizeof(*daemon));
	enum err err;

	*daemon =
	    (struct daemon){ .conf = conf, .table = table, .pulse = pulse };
	err = set_up(daemon);
	if (err == ERR_OK)
		err = start_threads(daemon);
	if (err == ERR_OK)
		*out = daemon;
	return err;
}

void
daemon_run(struct daemon *daemon, const volatile sig_atomic_t *stop)
{
	struct log_gate gate = { 0 };
	bool kicked = true;

	while (!*stop) {
		/* no heartbeat meanwhile: reads go to the primary */
		if (tick(daemon, kicked) != ERR_OK)
			log_gated(&gate, LOG_ERR, "%s", err_text());
		kicked = rest(daemon);
	}
}

/* What fits into the lanes, once; *fits: that was the rest of it. */
static enum err
pass(struct daemon *daemon, bool *fits)
{
	struct expiry expiry = { .conf = daemon->conf };
	bool any;
	enum err err;

	err = mind_the_gap(daemon);
	if (err == ERR_OK)
		err = doubts_expire(daemon->table, daemon->pulse, daemon->conf,
		    clock_boot_ms());
	if (err == ERR_OK)
		err = table_write(daemon->table, expire_fences, &expiry);
	if (err == ERR_OK)
		err = lanes_requeue(daemon->lanes, &any, beat, daemon->pulse);
	if (err == ERR_OK)
		err = lanes_refill(daemon->lanes, false, fits);
	if (err != ERR_OK)
		return err;
	lanes_start(daemon->lanes);
	lanes_drain(daemon->lanes);
	return ERR_OK;
}

enum err
daemon_once(const struct conf *conf, struct table *table, struct pulse *pulse,
    bool *lags)
{
	struct daemon daemon = { .conf = conf, .table = table, .pulse = pulse };
	bool fits = false;
	enum err err;

	health_once(conf, table);
	err = set_up(&daemon);
	while (err == ERR_OK && !fits)
		err = pass(&daemon, &fits);
	lanes_free(daemon.lanes);
	stamps_close(daemon.stamps);
	imports_once(conf, table);
	if (err == ERR_OK)
		err = keep_house(&daemon, clock_boot_ms());
	if (err == ERR_OK)
		err = lanes_lag(conf, table, lags);
	if (err == ERR_OK)
		pulse_beat(pulse);
	return err;
}

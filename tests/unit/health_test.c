/* health_test.c: down after so many silences, back with a new epoch */
/* SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sync/health.h"
#include "sync/peer.h"
#include "tests/unit/githost.h"
#include "tests/unit/tap.h"

/* Whatever waits longer than that ends the test. */
#define PATIENCE_S 60

static struct world world;
static struct githost host;

/* Of replica "two": its health and epochs, and those of "one". */
struct state {
	struct peer peer;
	struct epochs code, more, one;
};

static enum err
read_state(struct table_txn *txn, void *arg)
{
	struct state *state = arg;
	enum err err = peer_get(txn, world.two->name, &state->peer);

	if (err == ERR_OK)
		err = epochs_get(txn, world.code, world.two, &state->code);
	if (err == ERR_OK)
		err = epochs_get(txn, world.more, world.two, &state->more);
	if (err == ERR_OK)
		err = epochs_get(txn, world.code, world.one, &state->one);
	return err;
}

static struct state
see(void)
{
	struct state state;

	if (table_read(world.table, read_state, &state) == ERR_OK)
		return state;
	printf("Bail out! %s\n", err_text());
	exit(1);
}

/* One step after the other; epoch is how often it came back. */
static const struct step {
	const char *claim;
	unsigned status; /* of its answers; 0: 200 */
	unsigned misses; /* so many first are 500 */
	bool away;	 /* nobody listens */
	bool up;
	unsigned asked;
	uint64_t epoch;
	const char *why; /* a part of it */
} steps[] = {
	{ "up", 0, 0, false, true, 1, 0, "" },
	{ "any answer below 500", 404, 0, false, true, 1, 0, "" },
	{ "one silence", 0, HEALTH_MISSES - 1, false, true, HEALTH_MISSES, 0,
	    "" },
	{ "too many", 0, HEALTH_MISSES, false, false, HEALTH_MISSES, 0,
	    "HTTP 500" },
	{ "still", 503, 0, false, false, HEALTH_MISSES, 0, "HTTP 500" },
	{ "back", 0, 0, false, true, 1, 1, "" },
	{ "it stays", 0, 0, false, true, 1, 1, "" },
	{ "nobody listens", 0, 0, true, false, 0, 1, "127.0.0.1" },
	{ "back again", 401, 0, false, true, 1, 2, "" },
};

static void
miss(void *arg, const struct githost_side *side)
{
	const struct step *step = arg;

	if (side == &host.two)
		host.two.status = side->others <= step->misses ? 500
							       : step->status;
}

static void
check(const struct step *step, struct http *http)
{
	/* nobody listens there: the port is reserved (tcpmux) */
	static char nowhere[] = "http://127.0.0.1:1";
	bool up = !step->up;
	struct state state;

	host.event = miss;
	host.event_arg = (void *)step;
	host.two.others = 0;
	world.two->endpoint = step->away ? nowhere : host.endpoints[2];
	tap_int(health_check(world.table, http, &world.conf, world.two, &up),
	    ERR_OK, "%s: checked", step->claim);
	state = see();
	tap_int(up, step->up, "%s: it is %s", step->claim,
	    step->up ? "up" : "down");
	tap_int(state.peer.down, !step->up, "%s: so says the table",
	    step->claim);
	tap_int(host.two.others, step->asked, "%s: asked", step->claim);
	tap_ok(step->why[0] == '\0' ? state.peer.why[0] == '\0'
				    : strstr(state.peer.why, step->why) != NULL,
	    "%s: why: \"%s\"", step->claim, state.peer.why);
	tap_int((long long)state.code.replica, (long long)step->epoch,
	    "%s: its epoch", step->claim);
	tap_int((long long)state.more.replica, (long long)step->epoch,
	    "%s: its epoch in the other route", step->claim);
	tap_int((long long)(state.one.replica + state.one.route), 0,
	    "%s: no other epoch", step->claim);
}

/* A check that wrote would wait for the lock for ever. */
static void
only_changes(struct http *http)
{
	static const struct step quiet = { .claim = "quiet" };
	bool up = false;

	host.event_arg = (void *)&quiet;
	world_hold(&world);
	tap_int(health_check(world.table, http, &world.conf, world.two, &up),
	    ERR_OK, "no news: no write, as the table's lock is taken");
	tap_ok(up, "and it is up");
	world_release(&world);
}

static void
all_once(void)
{
	static const struct step lost = { .claim = "lost", .status = 500 };

	host.event_arg = (void *)&lost;
	host.main.others = host.one.others = host.other.others = 0;
	health_once(&world.conf, world.table);
	tap_ok(see().peer.down, "all once: who fails is down");
	tap_int(host.one.others, 1, "every replica is asked");
	tap_int(host.main.others + host.other.others, 0,
	    "and nobody who is none");
}

/* In the end, as its threads never do. */
static void
for_ever(void)
{
	static const struct step well = { .claim = "well" };

	tap_int(health_start(&world.conf, world.table), ERR_OK, "started");
	host.event_arg = (void *)&well;
	while (see().peer.down)
		usleep(20000);
	tap_int((long long)see().code.replica, 3, "it comes back by itself");
}

int
main(void)
{
	struct http *http = http_new();
	int status;

	alarm(PATIENCE_S);
	world_open(&world, "health");
	githost_start(&host, &world);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		check(&steps[i], http);
	only_changes(http);
	all_once();
	http_free(http);
	for_ever();
	status = tap_done();
	fflush(stdout);
	/* threads still run: leave without tearing down what they use */
	_exit(status);
}

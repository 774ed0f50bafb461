/* health_test.c: down after so many silences, back with a new epoch */
/* SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/clock.h"
#include "sync/damp.h"
#include "sync/health.h"
#include "sync/peer.h"
#include "tests/unit/githost.h"
#include "tests/unit/server.h"
#include "tests/unit/tap.h"

/* Whatever waits longer than that ends the test. */
#define PATIENCE_S 60
/* So many in a row. */
#define MISSES 2

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
	{ "one silence", 0, MISSES - 1, false, true, MISSES, 0, "" },
	{ "too many", 0, MISSES, false, false, MISSES, 0, "HTTP 500" },
	{ "still", 503, 0, false, false, MISSES, 0, "HTTP 500" },
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
	/* of no upstream: the web server of the one that fails */
	tap_int(host.main.others, 1, "and a web server, whether it hangs");
	tap_int(host.other.others + host.main.adverts, 0,
	    "and nobody who is none");
}

/* Its endpoint says nothing so often; its web server says something or not. */
static const struct silence {
	const char *claim;
	unsigned silent;
	bool hangs;
	bool up;
} silences[] = {
	{ "slow once", 1, false, true },
	{ "hangs", 3, true, false },
};

struct mute {
	const struct silence *silence;
	unsigned asked;
};

static void
say_nothing(void *arg, const struct server_request *request,
    struct server_reply *reply)
{
	struct mute *mute = arg;

	if (strcmp(request->target, "/robots.txt") == 0)
		reply->silent = mute->silence->hangs;
	else
		reply->silent = ++mute->asked <= mute->silence->silent;
}

static void
silent(struct http *http)
{
	for (size_t i = 0; i < sizeof(silences) / sizeof(silences[0]); i++) {
		struct mute mute = { &silences[i], 0 };
		struct server *server = server_start(say_nothing, &mute);
		bool up = !silences[i].up;

		world.two->endpoint = (char *)server_url(server);
		tap_int(health_check(world.table, http, &world.conf, world.two,
			    &up),
		    ERR_OK, "%s: checked", silences[i].claim);
		tap_int(up, silences[i].up, "%s: it is %s", silences[i].claim,
		    silences[i].up ? "up" : "down");
		server_stop(server);
	}
	world.two->endpoint = host.endpoints[2];
}

static struct health *health;

static void
tell(const struct upstream *replica, const char *text)
{
	char *whole = mem_fmt("reproute-feed - %s", text);
	struct feed_line line;

	if (feed_parse(whole, &line) != ERR_OK)
		abort();
	snprintf(line.upstream, sizeof(line.upstream), "%s", replica->name);
	health_tell(health, &line);
	free(whole);
}

static void
wait_down(bool down)
{
	while (see().peer.down != down)
		usleep(5000);
}

static void
wait_asked(unsigned n)
{
	while (host.two.others < n)
		usleep(5000);
}

/* It fails when it is asked: for what is told of it, at once. */
static void
confirmed(void)
{
	static const struct step failing = { .status = 503 }, well = { 0 };
	int64_t from_ms;

	host.event_arg = (void *)&failing;
	from_ms = clock_boot_ms();
	tell(world.two, "503 1 x done=+ addr=10.1.2.3");
	wait_down(true);
	host.event_arg = (void *)&well;
	tap_ok(strstr(see().peer.why, "HTTP 503") != NULL, "down: %s",
	    see().peer.why);
	wait_down(false);
	tap_ok(clock_boot_ms() - from_ms >= DAMP_HOLD_MIN_MS,
	    "it answers, but comes back only after its hold-off");
	tap_int((long long)see().code.replica, 5, "with a new epoch");
}

static void
tell_enough(void)
{
	for (int i = 0; i < DAMP_READS; i++)
		tell(world.two, "200 1 x done=OK served=main addr=10.9.9.9");
}

/* Its endpoint answers; what comes to its git is counted as adverts. */
static void
git_gone(void *arg, const struct githost_side *side)
{
	if (side == &host.two)
		host.two.status = side->adverts > 0 ? *(unsigned *)arg : 0;
}

static void
only_git(void)
{
	static unsigned gone = 502, well = 0;

	host.two.adverts = 0;
	host.event_arg = &gone;
	host.event = git_gone;
	tell(world.two, "200 1 x done=OK served=main addr=10.1.2.3");
	wait_down(true);
	tap_ok(strstr(see().peer.why, "which main served") != NULL &&
		strstr(see().peer.why, "HTTP 502") != NULL,
	    "its endpoint answers, its git does not: %s", see().peer.why);
	host.two.adverts = 0;
	while (host.two.adverts < 1)
		usleep(5000);
	tap_ok(see().peer.down, "and it comes back only if its git does");
	host.event_arg = &well;
	wait_down(false);
}

/* It answers, whatever is told of it. */
static void
unconfirmed(void)
{
	for (int i = 0; i < 10 * DAMP_READS; i++) {
		tell(world.two, "504 1 x done=+ addr=10.1.2.3");
		tell(world.two, "200 1 x done=X addr=10.1.2.3");
		tell(world.main, "502 1 x done=X addr=10.1.2.3");
	}
	host.two.others = 0;
	wait_asked(3);
	tap_ok(!see().peer.down, "it answers: doubts do not take it out");
	tell_enough();
	host.two.others = 0;
	wait_asked(3);
	tap_ok(!see().peer.down, "nor do failed reads soon after it was down");
}

/* In another world's eyes it was never down. */
static void
enough(void)
{
	health = health_new(&world.conf, world.table);
	tap_int(health_start(health), ERR_OK, "started anew");
	/* it is the only replica of "more" */
	tell_enough();
	host.two.others = 0;
	wait_asked(3);
	tap_ok(!see().peer.down, "failed reads do not take out the last one");
	world.more->replicas[world.more->n_replicas++] = world.one;
	tell_enough();
	wait_down(true);
	tap_ok(strstr(see().peer.why, "failed reads") != NULL &&
		strstr(see().peer.why, "10.9.9.9") != NULL,
	    "but where others are up: %s", see().peer.why);
}

/* In the end, as its threads never do. */
static void
for_ever(void)
{
	static const struct step well = { .claim = "well" };

	health = health_new(&world.conf, world.table);
	host.event_arg = (void *)&well;
	tap_int(health_start(health), ERR_OK, "started");
	wait_down(false);
	tap_int((long long)see().code.replica, 4, "it comes back by itself");
	confirmed();
	only_git();
	unconfirmed();
	enough();
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
	silent(http);
	http_free(http);
	for_ever();
	status = tap_done();
	fflush(stdout);
	/* threads still run: leave without tearing down what they use */
	_exit(status);
}

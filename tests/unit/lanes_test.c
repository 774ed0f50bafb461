/* lanes_test.c: what lags is tried, once each, by those who can */
/* SPDX-License-Identifier: ISC */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sync/lanes.h"
#include "sync/news.h"
#include "sync/peer.h"
#include "sync/queue.h"
#include "sync/row.h"
#include "sync/view.h"
#include "tests/unit/githost.h"
#include "tests/unit/tap.h"

/* Whatever waits longer than that ends the test. */
#define PATIENCE_S 120

static struct world world;
static struct githost host;

static void
begin(const char *directory)
{
	world_open(&world, directory);
	world.conf.sync.fetches = 2;
	world.conf.sync.sweep_ms = 100000;
	world.code->converge = world.more->converge = CONVERGE_NONE;
	githost_start(&host, &world);
}

static void
end(struct lanes *lanes)
{
	lanes_free(lanes);
	githost_stop(&host);
	world_close(&world);
}

/* Lets the workers try all that is in the lanes. */
static void
work(struct lanes *lanes)
{
	host.main.adverts = host.one.adverts = host.two.adverts =
	    host.other.adverts = 0;
	lanes_start(lanes);
	lanes_drain(lanes);
}

struct order {
	const struct route *route;
	const struct upstream *upstream;
	bool up;
};

static enum err
raise_epoch(struct table_txn *txn, void *arg)
{
	const struct order *order = arg;

	return epoch_raise(txn, order->route, order->upstream);
}

static void
raise(const struct route *route, const struct upstream *replica)
{
	struct order order = { .route = route, .upstream = replica };

	tap_must(table_write(world.table, raise_epoch, &order));
}

static enum err
set_health(struct table_txn *txn, void *arg)
{
	const struct order *order = arg;
	bool changed;

	return order->up
	    ? peer_set_up(txn, &world.conf, order->upstream, &changed)
	    : peer_set_down(txn, order->upstream, "test", &changed);
}

static void
set_up(const struct upstream *replica, bool up)
{
	struct order order = { .upstream = replica, .up = up };

	tap_must(table_write(world.table, set_health, &order));
}

static void
count(void *arg)
{
	++*(unsigned *)arg;
}

/* One step after the other, in a table where all is marked at first. */
static const struct requeueing {
	const char *claim;
	enum { NO_RAISE, OF_ONE, OF_ROUTE } raise;
	const char *marked; /* by one, under the new epochs, or NULL */
	bool any;
	const char *one, *two; /* what lags, afterwards */
} requeueings[] = {
	{ "no epoch rose", NO_RAISE, NULL, false, "", "" },
	{ "a replica's epoch rose", OF_ONE, "b", true, "a c", "" },
	{ "done once", NO_RAISE, "a", false, "c", "" },
	{ "the route's epoch rose", OF_ROUTE, "c", true, "a b", "a b c" },
	{ "done for both", NO_RAISE, "b", false, "a", "a b c" },
};

static void
requeue(void)
{
	struct lanes *lanes;

	begin("requeue");
	lanes = lanes_new(&world.conf, world.table, NULL);
	world_learn(&world, world.code, "a b c");
	for (const char *name = "a\0b\0c\0"; *name != '\0'; name += 2) {
		world_mark(&world, world.code, world.one, name);
		world_mark(&world, world.code, world.two, name);
	}
	for (size_t i = 0; i < sizeof(requeueings) / sizeof(requeueings[0]);
	     i++) {
		const struct requeueing *step = &requeueings[i];
		unsigned times = 0;
		bool any = !step->any;

		if (step->raise != NO_RAISE)
			raise(world.code,
			    step->raise == OF_ONE ? world.one : NULL);
		if (step->marked != NULL)
			world_mark(&world, world.code, world.one, step->marked);
		tap_int(lanes_requeue(lanes, &any, count, &times), ERR_OK,
		    "%s: requeued", step->claim);
		tap_int(any, step->any, "%s: any", step->claim);
		tap_int(times > 0, step->raise != NO_RAISE,
		    "%s: a sign of life", step->claim);
		tap_str(world_lag(&world, world.code, world.one), step->one,
		    "%s: lags at one", step->claim);
		tap_str(world_lag(&world, world.code, world.two), step->two,
		    "%s: lags at two", step->claim);
	}
	tap_str(world_lag(&world, world.more, world.two), "",
	    "the other route lags in nothing");
	end(lanes);
}

/* Those that wait for a mark are told of it. */
static void
news(void)
{
	struct pulse *pulse = NULL;
	const _Atomic uint32_t *word;
	struct lanes *lanes;

	begin("news");
	tap_must(pulse_open(tap_dir(), true, &pulse));
	lanes = lanes_new(&world.conf, world.table, pulse);
	word = news_of(pulse, world.more, "r");
	world_learn(&world, world.more, "r");
	host.two.oid = OID_B;
	lanes_put(lanes, world.more, "r", QUEUE_URGENT);
	work(lanes);
	tap_int(atomic_load(word), 0, "no mark, no news");
	host.two.oid = OID_A;
	lanes_put(lanes, world.more, "r", QUEUE_URGENT);
	work(lanes);
	tap_str(world_lag(&world, world.more, world.two), "", "a mark is made");
	tap_int(atomic_load(word), 1, "and told");
	end(lanes);
	pulse_close(pulse);
}

/* So many rows of "more": r000001 and so on. */
static enum err
learn_many(struct table_txn *txn, void *arg)
{
	const int *rows = arg;
	enum err err = ERR_OK;
	char name[16];

	for (int i = 1; i <= *rows && err == ERR_OK; i++) {
		snprintf(name, sizeof(name), "r%06d", i);
		err = row_learn(txn, world.more, name, NULL);
	}
	return err;
}

/* More than fit into one transaction, and into a lane. */
static void
many(void)
{
	static const int rows = MAX_LANE + 1;
	struct lanes *lanes;
	bool any = false, fits = true;

	begin("many");
	lanes = lanes_new(&world.conf, world.table, NULL);
	tap_must(table_write(world.table, learn_many, (void *)&rows));
	raise(world.more, NULL);
	tap_int(lanes_requeue(lanes, &any, NULL, NULL), ERR_OK,
	    "%d rows are requeued", rows);
	tap_ok(any, "as there are some");
	any = false;
	tap_int(lanes_requeue(lanes, &any, NULL, NULL), ERR_OK, "again");
	tap_ok(!any, "there is nothing to do");

	set_up(world.two, false);
	fits = false;
	tap_int(lanes_refill(lanes, false, &fits), ERR_OK, "for nobody");
	tap_ok(fits, "nothing goes into the lane of one that is down");
	set_up(world.two, true);
	tap_int(lanes_refill(lanes, false, &fits), ERR_OK, "refilled");
	tap_ok(!fits, "one more than fits");
	tap_int(lanes_refill(lanes, false, &fits), ERR_OK, "refilled again");
	tap_ok(!fits, "still there is no room");
	lanes_drain(lanes);
	tap_int(lanes_refill(lanes, false, &fits), ERR_OK, "into empty lanes");
	tap_ok(fits, "what is left fits");
	work(lanes);
	tap_int(host.two.adverts, 1, "it is the one that did not fit");
	end(lanes);
}

static void
refill(void)
{
	struct lanes *lanes;
	bool fits = false;

	begin("refill");
	lanes = lanes_new(&world.conf, world.table, NULL);
	world_learn(&world, world.code, "a b c");
	world_mark(&world, world.code, world.one, "b");
	set_up(world.two, false);
	tap_int(lanes_refill(lanes, false, &fits), ERR_OK, "refilled");
	tap_ok(fits, "all of it fits");
	work(lanes);
	tap_str(world_lag(&world, world.code, world.one), "",
	    "one lags in nothing any more");
	tap_int(host.one.adverts, 2, "one was asked for what lagged");
	tap_str(world_lag(&world, world.code, world.two), "a b c",
	    "two, which is down, lags in all");
	tap_int(host.two.adverts, 0, "two was not asked");

	set_up(world.two, true);
	tap_must(lanes_refill(lanes, false, &fits));
	work(lanes);
	tap_str(world_lag(&world, world.code, world.two), "",
	    "up again, it catches up");
	tap_int(host.two.adverts, 3, "and was asked for each");
	tap_int(host.one.adverts, 0, "and one for nothing");
	end(lanes);
}

/* It went down with a full lane: the primary is not asked in vain. */
static void
away(void)
{
	struct lanes *lanes;

	begin("away");
	lanes = lanes_new(&world.conf, world.table, NULL);
	world_learn(&world, world.more, "x y");
	lanes_put(lanes, world.more, "x", QUEUE_LAGS);
	lanes_put(lanes, world.more, "y", QUEUE_URGENT);
	set_up(world.two, false);
	work(lanes);
	tap_int(host.other.adverts + host.two.adverts, 0,
	    "down: nobody is asked");
	set_up(world.two, true);
	work(lanes);
	tap_int(host.other.adverts + host.two.adverts, 0,
	    "its names are forgotten");
	tap_must(lanes_refill(lanes, false, NULL));
	work(lanes);
	tap_str(world_lag(&world, world.more, world.two), "",
	    "and come back from the index");
	end(lanes);
}

static void
fail(void)
{
	struct lanes *lanes;

	begin("fail");
	lanes = lanes_new(&world.conf, world.table, NULL);
	world_learn(&world, world.code, "a b c d e");
	host.one.status = 500;
	for (int i = 0; i < 2; i++) {
		tap_must(lanes_refill(lanes, false, NULL));
		work(lanes);
		tap_int(host.one.adverts, 5, "each that fails is tried once");
		tap_str(world_lag(&world, world.code, world.one), "a b c d e",
		    "and still lags");
	}
	tap_str(world_lag(&world, world.code, world.two), "",
	    "the other replica is none the worse");
	end(lanes);
}

/* So many calls, one after the other, compare so many rows. */
static const struct sweeping {
	int rows, calls;
	unsigned compared;
} sweepings[] = {
	{ 0, 100, 0 },
	{ 1, 99, 0 },
	{ 1, 1, 1 },
	{ 1, 100, 1 }, /* and the next time, too */
	{ 7, 50, 3 },
	{ 7, 50, 4 },
	{ 7, 100, 7 },
	{ 7, 300, 7 }, /* thrice, but once in a lane */
	{ 200, 50, 100 },
	{ 200, 50, 100 },
	{ 200, 100, 200 },
};

static void
sweep(void)
{
	struct lanes *lanes;

	begin("sweep");
	lanes = lanes_new(&world.conf, world.table, NULL);
	for (size_t i = 0; i < sizeof(sweepings) / sizeof(sweepings[0]); i++) {
		const struct sweeping *step = &sweepings[i];
		enum err err = ERR_OK;

		tap_must(
		    table_write(world.table, learn_many, (void *)&step->rows));
		for (int j = 0; j < step->calls && err == ERR_OK; j++)
			err = lanes_sweep(lanes, 1000);
		tap_int(err, ERR_OK, "swept");
		work(lanes);
		tap_int(host.two.adverts, step->compared,
		    "%d rows, %d calls of 100", step->rows, step->calls);
	}
	tap_int(host.one.adverts, 0, "a route without rows costs nothing");
	tap_must(lanes_sweep(lanes, 3600000));
	work(lanes);
	tap_int(host.two.adverts, 20, "no burst after a suspend of an hour");
	tap_must(lanes_sweep(lanes, 250));
	tap_must(lanes_sweep(lanes, 250));
	work(lanes);
	tap_int(host.two.adverts, 1, "nor by calls that come early");
	end(lanes);
}

/* Found by verifying one replica: the other one is compared anew, too. */
static void
unreported(void)
{
	struct lanes *lanes;
	struct git_view view;

	begin("unreported");
	lanes = lanes_new(&world.conf, world.table, NULL);
	world_learn(&world, world.code, "a");
	world_mark(&world, world.code, world.one, "a");
	world_mark(&world, world.code, world.two, "a");
	host.one.oid = OID_B;
	lanes_put(lanes, world.code, "a", QUEUE_VERIFY);
	lanes_start(lanes);
	do {
		usleep(10000);
		tap_must(view_git(world.table, NULL, &world.conf, world.code,
		    "a", &view));
	} while (view.generation != 2 || !view.replicas[1].current);
	tap_ok(true, "the generation rose, and two has its mark again");
	lanes_drain(lanes);
	tap_must(
	    view_git(world.table, NULL, &world.conf, world.code, "a", &view));
	tap_ok(!view.replicas[0].current, "one has not");
	tap_int((long long)view.generation, 2, "it rose once");
	end(lanes);
}

/* What is current already, and is not to be verified, costs no question. */
static void
idle(void)
{
	struct lanes *lanes;

	begin("idle");
	lanes = lanes_new(&world.conf, world.table, NULL);
	world_learn(&world, world.more, "a");
	world_mark(&world, world.more, world.two, "a");
	lanes_put(lanes, world.more, "a", QUEUE_URGENT);
	work(lanes);
	tap_int(host.other.adverts + host.two.adverts, 0, "current: not asked");
	lanes_put(lanes, world.more, "a", QUEUE_VERIFY);
	work(lanes);
	tap_ok(host.two.adverts > 0, "to be verified: asked");
	end(lanes);
}

static const struct lagging {
	const char *claim;
	const char *one, *two; /* marked there, of "a" in code */
	bool lags;
} laggings[] = {
	{ "nobody has it", NULL, NULL, true },
	{ "two has not", "a", NULL, true },
	{ "both have it", NULL, "a", false },
};

static void
lag(void)
{
	bool lags = true;

	begin("lag");
	tap_int(lanes_lag(&world.conf, world.table, &lags), ERR_OK, "asked");
	tap_ok(!lags, "an empty table: nothing lags");
	world_learn(&world, world.code, "a");
	for (size_t i = 0; i < sizeof(laggings) / sizeof(laggings[0]); i++) {
		const struct lagging *step = &laggings[i];

		if (step->one != NULL)
			world_mark(&world, world.code, world.one, step->one);
		if (step->two != NULL)
			world_mark(&world, world.code, world.two, step->two);
		lags = !step->lags;
		tap_must(lanes_lag(&world.conf, world.table, &lags));
		tap_int(lags, step->lags, "%s", step->claim);
	}
	world_learn(&world, world.more, "b");
	tap_must(lanes_lag(&world.conf, world.table, &lags));
	tap_ok(lags, "another route lags");
	end(NULL);
}

int
main(void)
{
	alarm(PATIENCE_S);
	requeue();
	news();
	refill();
	away();
	fail();
	sweep();
	unreported();
	idle();
	lag();
	many();
	return tap_done();
}

/* polls_test.c: what is read is compared, and what differs is out at once */
/* SPDX-License-Identifier: ISC */
#include "sync/polls.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "conf/clock.h"
#include "sync/peer.h"
#include "sync/round.h"
#include "sync/row.h"
#include "sync/view.h"
#include "tests/unit/githost.h"
#include "tests/unit/tap.h"

/* Whatever waits longer than that ends the test. */
#define PATIENCE_S 60
/* Nothing else is compared so long after something was. */
#define QUIET_MS 300
#define POLL_MS 10000

static struct world world;
static struct githost host;
static struct stamps *stamps;
static struct lanes *lanes;
static struct polls *polls;
static int64_t now_ms;

static void
begin(const char *directory)
{
	world_open(&world, directory);
	world.code->converge = world.more->converge = CONVERGE_NONE;
	world.conf.run_dir = (char *)tap_dir();
	githost_start(&host, &world);
	tap_must(stamps_open(tap_dir(), true, &stamps));
	lanes = lanes_new(&world.conf, world.table, NULL);
	polls = polls_new(&world.conf, world.table, lanes, stamps);
	tap_must(polls_start(polls));
	now_ms = clock_boot_ms();
}

static void
end(void)
{
	polls_free(polls);
	lanes_free(lanes);
	stamps_close(stamps);
	githost_stop(&host);
	world_close(&world);
}

static unsigned
asked(void)
{
	return host.main.adverts + host.one.adverts + host.two.adverts;
}

/* Lets the time come, and all be compared that is due then, or more. */
static void
tick(int64_t later_ms, unsigned questions)
{
	unsigned before;

	now_ms += later_ms;
	host.main.adverts = host.one.adverts = host.two.adverts = 0;
	tap_must(polls_tick(polls, now_ms));
	do {
		before = asked();
		usleep(QUIET_MS * 1000);
	} while (asked() != before || before < questions);
}

static void
read_it(const char *name, int64_t at_ms)
{
	stamps_put(stamps, world.code, name, at_ms);
}

static struct git_view
see(const char *name)
{
	struct git_view view;

	tap_must(
	    view_git(world.table, NULL, &world.conf, world.code, name, &view));
	return view;
}

/* By url alone each comparison is two questions of each (advert, ls-refs). */
static void
compared(unsigned primary, unsigned one, unsigned two, const char *claim)
{
	tap_int(host.main.adverts, primary, "%s: main", claim);
	tap_int(host.one.adverts, one, "%s: one", claim);
	tap_int(host.two.adverts, two, "%s: two", claim);
}

static enum err
set_down(struct table_txn *txn, void *arg)
{
	bool changed;

	return peer_set_down(txn, arg, "test", &changed);
}

static void
mark_all(const char *name)
{
	world_mark(&world, world.code, world.one, name);
	world_mark(&world, world.code, world.two, name);
}

/* Which are compared, when. */
static void
test_rounds(void)
{
	struct pace pace;

	begin("rounds");
	world_learn(&world, world.code, "cold half hot");
	mark_all("cold");
	mark_all("hot");
	world_mark(&world, world.code, world.one, "half");
	read_it("hot", now_ms);
	tick(0, 4);
	compared(2, 1, 1, "what is read");
	tick(0, 0);
	compared(0, 0, 0, "once a round");
	tick(POLL_MS / 2 - ROUND_TICK_MS, 0);
	compared(0, 0, 0, "not before its time");
	read_it("half", now_ms);
	tick(POLL_MS / 2, 6);
	compared(3, 2, 1, "again, and what was read since, where it serves");
	tick(POLL_MS, 0);
	tick(POLL_MS, 0);
	compared(0, 0, 0, "no more when it is not read");
	tick(0, 0);
	tap_ok(stamps_told(stamps, world.code, &pace), "the pace is told");
	tap_int(pace.polled, 0, "so many were read");
	tap_int(pace.bound_ms, 0, "nothing is to be bounded");
	tap_int((long long)see("hot").generation, 1, "all were equal");
	tap_must(table_write(world.table, set_down, world.one));
	read_it("hot", now_ms);
	tick(POLL_MS, 2);
	compared(1, 0, 1, "one that is down is not asked");
	end();
}

/* A host that was booted less than valid_s ago. */
static void
test_boot(void)
{
	begin("boot");
	polls_free(polls);
	world.conf.sync.valid_ms = now_ms + 60000;
	polls = polls_new(&world.conf, world.table, lanes, stamps);
	tap_must(polls_start(polls));
	world_learn(&world, world.code, "cold hot");
	mark_all("cold");
	mark_all("hot");
	read_it("hot", 0);
	tick(0, 4);
	compared(2, 1, 1, "what was read, as early as it may be");
	end();
}

/* Whoever changed, and whom it tells. */
static const struct change {
	const char *claim;
	const char *main, *one; /* where they are, NULL: there is none */
	unsigned status;	/* of main, or 0 */
	unsigned one_status;
	int64_t generation;
	bool current; /* one's mark */
} changes[] = {
	{ "a push that nobody reported", OID_B, OID_A, 0, 0, 2, false },
	{ "a replica set back", OID_A, OID_B, 0, 0, 2, false },
	{ "a replica lost it", OID_A, NULL, 0, 0, 2, false },
	{ "deleted at the primary", NULL, OID_A, 0, 0, 2, false },
	{ "made private", OID_A, OID_A, 403, 0, 2, false },
	{ "a primary in trouble", OID_A, OID_A, 503, 0, 1, true },
	{ "a replica too busy to answer", OID_A, OID_A, 0, 503, 1, true },
	{ "a replica that fails at it", OID_A, OID_A, 0, 500, 1, false },
};

static void
test_change(const struct change *change)
{
	struct git_view view;

	begin(change->claim);
	world_learn(&world, world.code, "a");
	mark_all("a");
	read_it("a", now_ms);
	host.main.oid = change->main;
	host.one.oid = change->one;
	host.main.status = change->status;
	host.one.status = change->one_status;
	/* both ask the primary, at least */
	tick(0, 2);
	/* what it writes, comes behind its last question */
	for (int i = 0; i < 100; i++) {
		view = see("a");
		if ((int64_t)view.generation == change->generation &&
		    view.replicas[0].current == change->current)
			break;
		usleep(100000);
	}
	tap_int((long long)view.generation, change->generation,
	    "%s: the generation", change->claim);
	tap_int(view.replicas[0].current, change->current, "%s: its mark",
	    change->claim);
	end();
}

/* 30 that are read, at 20 comparisons a second and two replicas. */
static void
test_rate(void)
{
	struct pace pace = { 0 };
	char name[16];

	begin("rate");
	for (int i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "r%02d", i);
		world_learn(&world, world.code, name);
		mark_all(name);
		read_it(name, now_ms);
	}
	now_ms += 60000;
	tick(0, 40);
	compared(20, 10, 10, "a second's worth");
	tick(500, 20);
	compared(10, 5, 5, "half of one");
	tick(60000, 40);
	compared(20, 10, 10, "no more than one");
	tick(500, 20);
	compared(10, 5, 5, "and the rest");
	tick(0, 0);
	tap_ok(stamps_told(stamps, world.code, &pace), "the pace is told");
	tap_int(pace.polled, 30, "so many were read");
	end();
}

/*
 * It is read, and compared as far as that can be.  Comparisons end by the
 * true clock, ever farther behind ours: a round that took less than no time
 * has the next one begin later.
 */
static void
read_later(int64_t later_ms, unsigned questions)
{
	read_it("a", now_ms + later_ms);
	tick(later_ms, questions);
	tick(0, 0);
}

/* What cannot be compared is not seen, however soon that was tried. */
static void
test_failing(void)
{
	struct pace pace = { 0 };

	begin("failing");
	world_learn(&world, world.code, "a");
	mark_all("a");
	read_later(0, 4);
	host.main.status = 503;
	read_later(6 * POLL_MS, 2);
	read_later(18 * POLL_MS, 2);
	tap_ok(stamps_told(stamps, world.code, &pace), "the pace is told");
	tap_int(pace.bound_ms, 24 * POLL_MS,
	    "a primary in trouble: nothing was seen since before that");
	host.main.status = 0;
	read_later(54 * POLL_MS, 4);
	tap_ok(stamps_told(stamps, world.code, &pace), "the pace is told");
	tap_ok(pace.bound_ms < 24 * POLL_MS, "until it is out of it");
	end();
}

int
main(void)
{
	alarm(PATIENCE_S);
	test_rounds();
	test_boot();
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		test_change(&changes[i]);
	test_rate();
	test_failing();
	return tap_done();
}

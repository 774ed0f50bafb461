/* daemon_test.c: one pass over all that lags, and a daemon that goes on */
/* SPDX-License-Identifier: ISC */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/clock.h"
#include "sync/daemon.h"
#include "sync/fence.h"
#include "sync/peer.h"
#include "sync/row.h"
#include "sync/view.h"
#include "sync/wake.h"
#include "tests/unit/githost.h"
#include "tests/unit/tap.h"

/* Whatever waits longer than that ends the test. */
#define PATIENCE_S 60
#define TOKEN "00112233445566778899aabbccddeeff"

static struct world world;
static struct githost host;
static struct pulse *pulse;

static struct git_view
see(const char *name)
{
	struct git_view view;

	tap_must(
	    view_git(world.table, NULL, &world.conf, world.code, name, &view));
	return view;
}

/* One pass after the other. */
static const struct pass {
	const char *claim;
	const char *learnt; /* before, in code */
	unsigned main, two; /* what they answer */
	bool lags;
	const char *at_one, *at_two; /* what lags, afterwards */
} passes[] = {
	{ "nothing is known", "", 0, 0, false, "", "" },
	{ "all converges", "a b", 0, 0, false, "", "" },
	{ "a replica is down", "c", 0, 500, true, "", "c" },
	{ "it still is", "d", 0, 500, true, "", "c d" },
	{ "it is up again", "", 0, 0, false, "", "" },
	{ "the primary fails", "e", 500, 0, true, "e", "e" },
	{ "it has one no more", "", 404, 0, false, "", "" },
};

static void
test_pass(const struct pass *pass)
{
	bool lags = !pass->lags;

	world_learn(&world, world.code, pass->learnt);
	host.main.status = pass->main;
	host.two.status = pass->two;
	tap_int(daemon_once(&world.conf, world.table, pulse, &lags), ERR_OK,
	    "%s: one pass", pass->claim);
	tap_int(lags, pass->lags, "%s: something lags", pass->claim);
	tap_str(world_lag(&world, world.code, world.one), pass->at_one,
	    "%s: what lags at one", pass->claim);
	tap_str(world_lag(&world, world.code, world.two), pass->at_two,
	    "%s: what lags at two", pass->claim);
	tap_ok(pulse_age_ms(pulse) >= 0, "%s: it beats", pass->claim);
	host.main.status = host.two.status = 0;
}

static enum err
fence(struct table_txn *txn, void *arg)
{
	return fence_begin(txn, world.code, arg, TOKEN, clock_boot_ms());
}

static void
old_fence(void)
{
	bool lags = true;

	world_learn(&world, world.code, "fenced");
	tap_must(table_write(world.table, fence, (void *)"fenced"));
	tap_must(daemon_once(&world.conf, world.table, pulse, &lags));
	tap_ok(lags, "a fence is up: it lags");
	world.code->fence_ms = world.code->push_max_ms = 0;
	tap_must(daemon_once(&world.conf, world.table, pulse, &lags));
	tap_ok(!lags, "when it is too old, it ends, and nothing lags");
	world.code->fence_ms = world.code->push_max_ms = 900000;
}

static volatile sig_atomic_t stop;

static void *
run(void *arg)
{
	daemon_run(arg, &stop);
	return NULL;
}

/* Until both have it, or (want false) "two" has it no more. */
static void
wait_current(const char *name, bool want)
{
	while (!see(name).replicas[0].current ||
	    see(name).replicas[1].current != want)
		usleep(10000);
}

static enum err
learn_quietly(struct table_txn *txn, void *arg)
{
	return row_learn(txn, world.code, arg, NULL);
}

/* The interval is an hour: nothing here waits for it. */
static void
goes_on(void)
{
	struct daemon *daemon;
	pthread_t thread;

	world_learn(&world, world.code, "x");
	tap_must(daemon_start(&world.conf, world.table, pulse, &daemon));
	if (pthread_create(&thread, NULL, run, daemon) != 0)
		tap_must(err_set(ERR_SYS, "no thread"));
	wait_current("x", true);
	tap_ok(true, "what lagged at the start converges");

	host.two.status = 500;
	while (!see("x").replicas[1].down)
		usleep(10000);
	tap_ok(true, "a replica that fails is down");
	tap_must(table_write(world.table, learn_quietly, (void *)"y"));
	host.two.status = 0;
	wait_current("x", true);
	wait_current("y", true);
	tap_ok(!see("x").replicas[1].down, "up again, it has all of it");

	tap_must(table_write(world.table, learn_quietly, (void *)"z"));
	wake_send(world.conf.run_dir, NULL, NULL);
	wait_current("z", true);
	tap_ok(true, "who is kicked looks");
	wake_send(world.conf.run_dir, "code", "never/seen");
	wait_current("never/seen", true);
	tap_ok(true, "an unknown name is looked at, learnt, and converges");

	stop = 1;
	wake_send(world.conf.run_dir, NULL, NULL);
	pthread_join(thread, NULL);
	tap_ok(true, "it stops");
}

static enum err
read_epochs(struct table_txn *txn, void *arg)
{
	return epochs_get(txn, world.code, world.one, arg);
}

/* Nobody watched for longer than a heartbeat is good for. */
static void
gap(void)
{
	static const struct {
		const char *claim;
		bool beats;
		int64_t valid_ms;
		unsigned raised;
	} rows[] = {
		{ "a fresh heartbeat: marks go on", true, 3600000, 0 },
		{ "an old one: every mark is seen anew", true, -1, 1 },
		{ "none in this boot: the same", false, 3600000, 1 },
	};
	int64_t valid_ms = world.conf.sync.valid_ms;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct epochs before, after;
		struct pulse *other;
		bool lags;
		char *dir = mem_fmt("%s/run%zu", tap_dir(), i);

		mkdir(dir, 0700);
		tap_must(pulse_open(dir, true, &other));
		if (rows[i].beats)
			pulse_beat(other);
		world.conf.sync.valid_ms = rows[i].valid_ms;
		tap_must(table_read(world.table, read_epochs, &before));
		tap_must(daemon_once(&world.conf, world.table, other, &lags));
		tap_must(table_read(world.table, read_epochs, &after));
		tap_int((long long)(after.route - before.route), rows[i].raised,
		    "%s", rows[i].claim);
		pulse_close(other);
		free(dir);
	}
	world.conf.sync.valid_ms = valid_ms;
}

int
main(void)
{
	int status;

	alarm(PATIENCE_S);
	world_open(&world, "daemon");
	githost_start(&host, &world);
	world.conf.run_dir = mem_fmt("%s/run", tap_dir());
	mkdir(world.conf.run_dir, 0700);
	world.conf.sync.fetches = 1;
	world.conf.sync.interval_ms = world.conf.sync.sweep_ms = 3600000;
	world.code->converge = CONVERGE_NONE;
	tap_must(pulse_open(world.conf.run_dir, true, &pulse));
	for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]); i++)
		test_pass(&passes[i]);
	old_fence();
	gap();
	goes_on();
	status = tap_done();
	fflush(stdout);
	/* threads still run: leave without tearing down what they use */
	_exit(status);
}

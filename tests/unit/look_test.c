/* look_test.c: unknown names: bounded, once each, a no is remembered */
/* SPDX-License-Identifier: ISC */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sync/look.h"
#include "sync/row.h"
#include "tests/unit/githost.h"
#include "tests/unit/tap.h"

/* A take that never returns ends the test. */
#define PATIENCE_S 60
/* Taken at once, before look_take() paces itself. */
#define BURST LOOKS_A_SECOND

static struct world world;
static struct githost host;

/* "ROUTE/NAME" of the next one, "-" where it is closed. */
static const char *
take(struct look *look)
{
	static char text[WORD_SIZE + NAME_SIZE + 1];
	const struct route *route;
	char name[NAME_SIZE];

	if (!look_take(look, &route, name))
		return "-";
	sprintf(text, "%s/%s", route->name, name);
	return text;
}

static void
once(void)
{
	static const struct {
		const char *route, *name;
		bool taken;
	} puts[] = {
		{ "code", "a", true },
		{ "code", "b", true },
		{ "code", "a", false },
		{ "more", "a", true },
		{ "more", "a", false },
		{ "code", "b", false },
		{ "code", "A", true },
	};
	static const char *const order[] = { "code/a", "code/b", "more/a",
		"code/A" };
	struct look *look = look_new();

	for (size_t i = 0; i < sizeof(puts) / sizeof(puts[0]); i++)
		tap_int(look_put(look, conf_route(&world.conf, puts[i].route),
			    puts[i].name),
		    puts[i].taken, "put %zu: %s/%s is %s", i, puts[i].route,
		    puts[i].name, puts[i].taken ? "taken" : "waiting already");
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		tap_str(take(look), order[i], "in the order of asking");
	tap_ok(look_put(look, world.code, "a"),
	    "what was taken may be asked for again");
	look_free(look);
}

static void
bound(void)
{
	struct look *look = look_new();
	char name[32];
	bool all = true;

	for (int i = 0; i < MAX_LOOKS; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		all = look_put(look, world.code, name) && all;
	}
	tap_ok(all, "%d names fit", MAX_LOOKS);
	tap_ok(!look_put(look, world.code, "more"), "and no more");
	tap_str(take(look), "code/n0", "the first is taken");
	tap_ok(look_put(look, world.code, "more"), "now there is room for one");
	tap_ok(!look_put(look, world.code, "again"), "and for no second one");
	tap_str(take(look), "code/n1", "the second is taken");
	tap_ok(!look_put(look, world.code, "more"),
	    "one that came round the ring's end waits there");
	tap_ok(look_put(look, world.code, "again"), "another one has room");
	look_free(look);
}

struct taker {
	pthread_t thread;
	struct look *look;
	unsigned *times; /* of each number */
	unsigned n;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *
take_all(void *arg)
{
	struct taker *taker = arg;
	const struct route *route;
	char name[NAME_SIZE];

	while (look_take(taker->look, &route, name)) {
		pthread_mutex_lock(&lock);
		taker->times[atoi(name)]++;
		taker->n++;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

/* So many were taken, in all. */
static unsigned
taken(const struct taker *takers, size_t n)
{
	unsigned all = 0;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < n; i++)
		all += takers[i].n;
	pthread_mutex_unlock(&lock);
	return all;
}

/* More names than a second's worth, and more takers than one. */
static void
paced(void)
{
	enum { NAMES = BURST + 5, TAKERS = 3 };
	struct look *look = look_new();
	struct taker takers[TAKERS];
	unsigned times[NAMES] = { 0 }, once_each = 0;
	char name[32];

	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "%d", i);
		tap_ok(look_put(look, world.code, name), "%s is put", name);
	}
	for (size_t i = 0; i < TAKERS; i++) {
		takers[i] = (struct taker){ .look = look, .times = times };
		pthread_create(&takers[i].thread, NULL, take_all, &takers[i]);
	}
	while (taken(takers, TAKERS) < NAMES)
		usleep(10000);
	look_close(look);
	for (size_t i = 0; i < TAKERS; i++)
		pthread_join(takers[i].thread, NULL);
	for (size_t i = 0; i < NAMES; i++)
		once_each += times[i] == 1;
	tap_int(once_each, NAMES, "none is lost to pacing, none comes twice");
	tap_str(take(look), "-", "all takers ended when it was closed");
	look_free(look);
}

static void
closed(void)
{
	struct look *look = look_new();

	tap_ok(look_put(look, world.code, "a"), "one waits");
	look_close(look);
	tap_str(take(look), "-", "closed: nobody takes it any more");
	look_free(look);
	look_free(NULL);
}

/* What the primary says of a name, and what becomes of it. */
static const struct answer {
	const char *claim;
	const char *name;
	const char *oid;
	unsigned status;
	enum err want;
	bool no;	 /* remembered: no look for a while */
	const char *lag; /* of each replica of the route, afterwards */
} answers[] = {
	{ "there is none", "absent", NULL, 0, ERR_ABSENT, true, "" },
	{ "gone", "gone", OID_A, 410, ERR_ABSENT, true, "" },
	{ "private", "private", OID_A, 403, ERR_PEER, true, "" },
	{ "it fails", "broken", OID_A, 500, ERR_PEER, true, "" },
	{ "yes", "there", OID_A, 0, ERR_OK, false, "there" },
	{ "yes again", "there", OID_A, 0, ERR_OK, false, "there" },
	{ "yes, of another", "too", OID_B, 0, ERR_OK, false, "there too" },
};

static void
test_answer(const struct answer *answer, struct http *http)
{
	struct look *look = look_new();
	const bool known = strcmp(answer->claim, "yes again") == 0;
	/* to begin with, the other one */
	bool made = answer->want == ERR_OK && known;
	enum err err;

	host.main.oid = answer->oid;
	host.main.status = answer->status;
	err = look_run(look, world.table, http, &world.conf, world.code,
	    answer->name, &made);
	tap_int(err, answer->want, "%s: returns", answer->claim);
	tap_int(made, answer->want == ERR_OK && !known, "%s: %s", answer->claim,
	    answer->want != ERR_OK ? "says nothing of a row"
		: known		   ? "the row was there"
				   : "the row is new");
	tap_int(look_put(look, world.code, answer->name), !answer->no,
	    "%s: asked for again: %s", answer->claim,
	    answer->no ? "not needed" : "may be");
	tap_ok(look_put(look, world.more, answer->name),
	    "%s: of another route this says nothing", answer->claim);
	tap_str(world_lag(&world, world.code, world.one), answer->lag,
	    "%s: what replica one lags in", answer->claim);
	tap_str(world_lag(&world, world.code, world.two), answer->lag,
	    "%s: what replica two lags in", answer->claim);
	tap_str(world_lag(&world, world.more, world.two), "",
	    "%s: another route lags in nothing", answer->claim);
	look_free(look);
}

static enum err
read_row(struct table_txn *txn, void *arg)
{
	return row_get(txn, world.code, "there", arg);
}

static void
run(void)
{
	struct http *http = http_new();
	struct row row = { 0 };

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		test_answer(&answers[i], http);
	tap_int(table_read(world.table, read_row, &row), ERR_OK,
	    "there is a row");
	tap_int((long long)row.generation, 1, "at its first generation");
	tap_int(row.n_marks, 0, "and nobody has a mark");
	http_free(http);
}

int
main(void)
{
	alarm(PATIENCE_S);
	world_open(&world, "look");
	githost_start(&host, &world);
	once();
	bound();
	paced();
	closed();
	run();
	githost_stop(&host);
	world_close(&world);
	return tap_done();
}

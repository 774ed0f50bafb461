/* peer_test.c: epochs rise when they must, and only then; health and drain */
/* SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>

#include "sync/pack.h"
#include "sync/peer.h"
#include "tests/unit/tap.h"
#include "tests/unit/world.h"

static struct world world;

enum op { LOOK, ADOPT, RAISE_ROUTE, RAISE_ONE, DOWN, UP, DRAIN, UNDRAIN };

/* Of route "code" and "more": "ROUTE/ONE/TWO ROUTE/TWO". */
struct step {
	const char *claim;
	enum op op;
	void (*before)(void); /* changes the configuration */
	int news;	      /* *changed; -1: the call has none */
	const char *epochs;
};

static void
other_url(void)
{
	world.one->url = "http://127.0.0.1:99";
}

static void
other_prefix(void)
{
	world.code->prefix = "/scm/";
}

static void
without_one(void)
{
	world.code->replicas[0] = world.two;
	world.code->n_replicas = 1;
}

static void
with_one(void)
{
	world.code->replicas[0] = world.one;
	world.code->n_replicas = 2;
}

static void
without_more(void)
{
	world.more->name = "less";
}

static void
with_more(void)
{
	world.more->name = "more";
}

static const struct step steps[] = {
	{ "nothing is known", LOOK, NULL, -1, "0/0/0 0/0" },
	{ "whatever is new rises", ADOPT, NULL, 5, "1/1/1 1/1" },
	{ "noted once, it stays", ADOPT, NULL, 0, "1/1/1 1/1" },
	{ "a replica's url changes: its epoch", ADOPT, other_url, 1,
	    "1/2/1 1/1" },
	{ "a route's prefix changes: its epoch", ADOPT, other_prefix, 1,
	    "2/2/1 1/1" },
	{ "raised by hand: the route's", RAISE_ROUTE, NULL, -1, "3/2/1 1/1" },
	{ "raised by hand: a replica's", RAISE_ONE, NULL, -1, "3/3/1 1/1" },
	{ "raising is no change of fingerprint", ADOPT, NULL, 0, "3/3/1 1/1" },
	{ "a replica leaves: nothing rises", ADOPT, without_one, 0,
	    "3/3/1 1/1" },
	{ "it is back, the same: its epoch rises", ADOPT, with_one, 1,
	    "3/4/1 1/1" },
	{ "a route leaves, another comes", ADOPT, without_more, 2,
	    "3/4/1 1/1" },
	{ "it is back: its epochs rise", ADOPT, with_more, 2, "3/4/1 2/2" },
	{ "up that was up is no news", UP, NULL, 0, "3/4/1 2/2" },
	{ "down raises nothing", DOWN, NULL, 1, "3/4/1 2/2" },
	{ "down again is no news", DOWN, NULL, 0, "3/4/1 2/2" },
	{ "a drain raises nothing", DRAIN, NULL, -1, "3/4/1 2/2" },
	{ "up again raises it in each route", UP, NULL, 1, "3/4/2 2/3" },
	{ "the end of a drain raises nothing", UNDRAIN, NULL, -1, "3/4/2 2/3" },
};

struct run {
	const struct step *step;
	int news;
	char epochs[64];
	struct peer two;
};

static enum err
see(struct table_txn *txn, struct run *run)
{
	/* "code" has both even where a step took one out */
	struct route code = *world.code;
	struct epochs one, two, more;
	struct route more_route = *world.more;
	enum err err;

	more_route.name = "more";
	err = epochs_get(txn, &code, world.one, &one);
	if (err == ERR_OK)
		err = epochs_get(txn, &code, world.two, &two);
	if (err == ERR_OK)
		err = epochs_get(txn, &more_route, world.two, &more);
	if (err == ERR_OK)
		err = peer_get(txn, "two", &run->two);
	snprintf(run->epochs, sizeof(run->epochs), "%d/%d/%d %d/%d",
	    (int)one.route, (int)one.replica, (int)two.replica, (int)more.route,
	    (int)more.replica);
	return err;
}

static enum err
act(struct table_txn *txn, struct run *run)
{
	unsigned count = 0;
	bool changed = false;
	enum err err = ERR_USAGE;

	run->news = -1;
	switch (run->step->op) {
	case LOOK:
		return ERR_OK;
	case ADOPT:
		err = epochs_adopt(txn, &world.conf, &count);
		run->news = (int)count;
		return err;
	case RAISE_ROUTE:
		return epoch_raise(txn, world.code, NULL);
	case RAISE_ONE:
		return epoch_raise(txn, world.code, world.one);
	case DOWN:
		err = peer_set_down(txn, world.two, "timeout\n5 s", &changed);
		break;
	case UP:
		err = peer_set_up(txn, &world.conf, world.two, &changed);
		break;
	case DRAIN:
		return peer_drain(txn, "two", true);
	case UNDRAIN:
		return peer_drain(txn, "two", false);
	}
	run->news = changed;
	return err;
}

static enum err
body(struct table_txn *txn, void *arg)
{
	enum err err = act(txn, arg);

	return err == ERR_OK ? see(txn, arg) : err;
}

static void
test_steps(void)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct run run = { .step = &steps[i] };

		if (steps[i].before != NULL)
			steps[i].before();
		tap_int(table_write(world.table, body, &run), ERR_OK,
		    "%s: it works", steps[i].claim);
		tap_str(run.epochs, steps[i].epochs, "%s: epochs",
		    steps[i].claim);
		tap_int(run.news, steps[i].news, "%s: news", steps[i].claim);
		if (steps[i].op == DOWN) {
			tap_str(run.two.why, "timeout\\x0a5 s",
			    "%s: why, printable", steps[i].claim);
			tap_ok(run.two.since_s > 0, "%s: since when",
			    steps[i].claim);
		}
		if (steps[i].op == DRAIN)
			tap_ok(run.two.drained && run.two.down,
			    "a drain leaves health alone");
		if (steps[i].op == UNDRAIN)
			tap_ok(!run.two.drained && !run.two.down &&
				run.two.why[0] == '\0',
			    "all is well again");
	}
}

static enum err
requeue(struct table_txn *txn, void *arg)
{
	const struct epochs noted = { 7, 8 };
	struct epochs *seen = arg;
	enum err err;

	err = epochs_requeued(txn, world.code, world.one, &seen[0]);
	if (err == ERR_OK)
		err = epochs_note_requeued(txn, world.code, world.one, &noted);
	if (err == ERR_OK)
		err = epochs_requeued(txn, world.code, world.one, &seen[1]);
	if (err == ERR_OK)
		err = epochs_requeued(txn, world.code, world.two, &seen[2]);
	return err;
}

static void
test_requeued(void)
{
	struct epochs seen[3];

	tap_int(table_write(world.table, requeue, seen), ERR_OK,
	    "requeued epochs are noted");
	tap_ok(seen[0].route == 0 && seen[0].replica == 0, "none before");
	tap_ok(seen[1].route == 7 && seen[1].replica == 8, "those noted");
	tap_ok(seen[2].route == 0 && seen[2].replica == 0,
	    "of that replica only");
}

static enum err
damage(struct table_txn *txn, void *arg)
{
	const struct key keys[] = {
		key_of("epoch", "code", "", NULL),
		key_of("peer", "two", NULL),
		key_of("requeued", "code", "one", NULL),
	};
	struct table_bytes bytes = { "abc", 3 };
	struct epochs epochs = { 5, 5 };
	struct peer peer = { .since_s = 5 };
	enum err *seen = arg;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (table_put(txn, TABLE_PEERS, key_bytes(&keys[i]), bytes) !=
		    ERR_OK)
			return ERR_TABLE;
	seen[0] = epochs_get(txn, world.code, world.one, &epochs);
	seen[1] = peer_get(txn, "two", &peer);
	seen[2] = epochs_requeued(txn, world.code, world.one, &epochs);
	tap_ok(epochs.route == 5 && epochs.replica == 5 && peer.since_s == 5,
	    "a failure leaves the results alone");
	return ERR_OK;
}

static void
test_damage(void)
{
	enum err seen[3] = { ERR_OK, ERR_OK, ERR_OK };

	tap_int(table_write(world.table, damage, seen), ERR_OK,
	    "records are damaged");
	for (int i = 0; i < 3; i++)
		tap_int(seen[i], ERR_TABLE, "damage %d is told", i);
}

int
main(void)
{
	world_open(&world, "peer");
	test_steps();
	test_requeued();
	test_damage();
	world_close(&world);
	return tap_done();
}

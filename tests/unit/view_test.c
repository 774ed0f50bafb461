/* view_test.c: what one decision sees of the table */
/* SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>

#include "sync/fence.h"
#include "sync/pack.h"
#include "sync/peer.h"
#include "sync/row.h"
#include "sync/view.h"
#include "tests/unit/tap.h"
#include "tests/unit/world.h"

#define TOKEN "00112233445566778899aabbccddeeff"

static struct world world;

enum op {
	NOTHING,
	LEARN,
	NOTE,
	MARK_ONE,
	FAIL_TWO,
	RAISE,
	BEGIN,
	BROKEN,
	WATCH,
	END,
	DOWN_ONE,
	UP_ONE,
	DRAIN_TWO,
	UNDRAIN_TWO,
	ROUTE_EPOCH,
	REQUEUED,
	LEARN_ANOTHER,
	DROP_ANOTHER,
	HOST,
	REPOSITORY,
	OFF,
	ON,
};

/*
 * View: "GENERATION FENCES ONE TWO", a generation of "-" without a row; each
 * replica its mark's generation, then c(urrent) d(own) D(rained) f(ails)
 * l(ags).
 */
struct step {
	const char *claim;
	enum op op;
	const char *view;
};

static const struct step steps[] = {
	{ "an empty table", NOTHING, "- 0 0 0" },
	{ "a fence on an unknown name", BEGIN, "- 1 0 0" },
	{ "its end", END, "- 0 0 0" },
	{ "a row without marks", LEARN, "1 0 0 0" },
	{ "what a comparison notes", NOTE, "1 0 0 0" },
	{ "a mark", MARK_ONE, "1 0 1c 0" },
	{ "a raise", RAISE, "2 0 1 0" },
	{ "noted anew", NOTE, "2 0 1 0" },
	{ "marked anew", MARK_ONE, "2 0 2c 0" },
	{ "a fence", BEGIN, "3 1 2 0" },
	{ "broken off, it is up", BROKEN, "4 1 2 0" },
	{ "watched, it is not", WATCH, "5 0 2 0" },
	{ "noted under watch", NOTE, "5 0 2 0" },
	{ "marked under watch, it serves", MARK_ONE, "5 0 5c 0" },
	{ "over", END, "6 0 5 0" },
	{ "noted after it", NOTE, "6 0 5 0" },
	{ "marked after it", MARK_ONE, "6 0 6c 0" },
	{ "a replica down", DOWN_ONE, "6 0 6cd 0" },
	{ "up again, in a new epoch", UP_ONE, "6 0 6 0" },
	{ "a drain", DRAIN_TWO, "6 0 6 0D" },
	{ "its end", UNDRAIN_TWO, "6 0 6 0" },
	{ "noted in the new epoch", NOTE, "6 0 6 0" },
	{ "marked in it", MARK_ONE, "6 0 6c 0" },
	{ "another route epoch", ROUTE_EPOCH, "6 0 6 0" },
	{ "scope host: not requeued since the epoch rose", HOST, "6 0 6l 0l" },
	{ "noted", NOTE, "6 0 6l 0l" },
	{ "marked, but other rows may wait", MARK_ONE, "6 0 6cl 0l" },
	{ "requeued: two lags still", REQUEUED, "6 0 6c 0l" },
	{ "another repository lags: nothing serves", LEARN_ANOTHER,
	    "6 0 6cl 0l" },
	{ "it is gone", DROP_ANOTHER, "6 0 6c 0l" },
	{ "a replica down, and not requeued", DOWN_ONE, "6 0 6cd 0l" },
	{ "up again, its own epoch rose: it lags", UP_ONE, "6 0 6l 0l" },
	{ "scope repository again", REPOSITORY, "6 0 6 0" },
	{ "switched off: in doubt", OFF, "6 0 6 0" },
	{ "and on", ON, "6 0 6 0" },
	{ "a failure to converge", FAIL_TWO, "6 0 6 0f" },
};

struct run {
	const struct step *step;
	uint64_t generation;
	struct epochs epochs;
};

static enum err
note(struct table_txn *txn, struct run *run)
{
	struct row row = { 0 };
	enum err err = row_get(txn, world.code, "repo", &row);

	run->generation = row.generation;
	return err == ERR_OK
	    ? epochs_get(txn, world.code, world.one, &run->epochs)
	    : err;
}

static enum err
requeued(struct table_txn *txn)
{
	struct epochs epochs;
	enum err err = ERR_OK;

	for (size_t i = 0; err == ERR_OK && i < 2; i++) {
		const struct upstream *replica = world.code->replicas[i];

		err = epochs_get(txn, world.code, replica, &epochs);
		if (err == ERR_OK)
			err = epochs_note_requeued(txn, world.code, replica,
			    &epochs);
	}
	return err;
}

static enum err
act(struct table_txn *txn, void *arg)
{
	struct run *run = arg;
	int64_t next_ms;
	uint64_t generation;
	unsigned count;
	bool news;

	switch (run->step->op) {
	case NOTHING:
		return ERR_OK;
	case LEARN:
		return row_learn(txn, world.code, "repo", NULL);
	case NOTE:
		return note(txn, run);
	case MARK_ONE:
		return row_mark(txn, world.code, "repo", world.one,
		    run->generation, &run->epochs, &news);
	case FAIL_TWO:
		return lag_note(txn, world.code, "repo", world.two, "no space");
	case RAISE:
		return row_raise(txn, world.code, "repo", NULL, &generation);
	case BEGIN:
		return fence_begin(txn, world.code, "repo", TOKEN, 0);
	case BROKEN:
		return fence_broken(txn, world.code, "repo", TOKEN);
	case WATCH:
		return fences_expire(txn, &world.conf, world.code->fence_ms,
		    &next_ms, &count);
	case END:
		return fence_end(txn, world.code, "repo", TOKEN, &news);
	case DOWN_ONE:
		return peer_set_down(txn, world.one, "refused", &news);
	case UP_ONE:
		return peer_set_up(txn, &world.conf, world.one, &news);
	case DRAIN_TWO:
		return peer_drain(txn, "two", true);
	case UNDRAIN_TWO:
		return peer_drain(txn, "two", false);
	case OFF:
		return route_off_set(txn, world.code, true);
	case ON:
		return route_off_set(txn, world.code, false);
	case ROUTE_EPOCH:
		return epoch_raise(txn, world.code, NULL);
	case REQUEUED:
		return requeued(txn);
	case LEARN_ANOTHER:
		return row_learn(txn, world.code, "another", NULL);
	case DROP_ANOTHER:
		return row_drop(txn, world.code, "another");
	case HOST:
		world.code->scope = SCOPE_HOST;
		return ERR_OK;
	case REPOSITORY:
		world.code->scope = SCOPE_REPOSITORY;
		return ERR_OK;
	}
	return ERR_USAGE;
}

static void
write_view(const struct git_view *view, char *out)
{
	if (view->known)
		out += sprintf(out, "%d", (int)view->generation);
	else
		out += sprintf(out, "%s",
		    view->generation == 0 ? "-" : "no row, a generation");
	out += sprintf(out, " %u", view->fences);
	for (size_t i = 0; i < 2; i++)
		out += sprintf(out, " %d%s%s%s%s%s",
		    (int)view->replicas[i].generation,
		    view->replicas[i].current ? "c" : "",
		    view->replicas[i].down ? "d" : "",
		    view->replicas[i].drained ? "D" : "",
		    view->replicas[i].fails ? "f" : "",
		    view->replicas[i].lags ? "l" : "");
}

static void
test_steps(void)
{
	struct run run = { .step = NULL };

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct git_view view;
		char got[128];

		run.step = &steps[i];
		tap_int(table_write(world.table, act, &run), ERR_OK,
		    "%s: it works", steps[i].claim);
		memset(&view, 0xff, sizeof(view));
		tap_int(view_git(world.table, NULL, &world.conf, world.code,
			    "repo", &view),
		    ERR_OK, "%s: is seen", steps[i].claim);
		write_view(&view, got);
		tap_str(got, steps[i].view, "%s: view", steps[i].claim);
		tap_ok(view.doubt == (steps[i].op == OFF) &&
			view.doubt == (view.doubt_why != NULL),
		    "%s: no pulse is no doubt", steps[i].claim);
	}
}

static const char *
why(const struct pulse *pulse)
{
	struct git_view view;

	if (view_git(world.table, pulse, &world.conf, world.code, "repo",
		&view) != ERR_OK ||
	    view.doubt != (view.doubt_why != NULL))
		return "no view";
	return view.doubt_why;
}

static void
test_doubt(void)
{
	struct pulse *pulse;

	tap_int(pulse_open(tap_dir(), true, &pulse), ERR_OK, "a pulse");
	tap_str(why(pulse), "reproute-syncd has not run since boot",
	    "without a beat there is doubt");
	pulse_beat(pulse);
	tap_str(why(pulse), NULL, "with one there is none");
	world.conf.sync.valid_ms = -1;
	tap_str(why(pulse),
	    "reproute-syncd has not finished a pass for too long",
	    "with one that is too old there is");
	world.conf.sync.valid_ms = 180000;
	tap_int(pulse_claim(pulse), ERR_OK, "a slot");
	(void)!pulse_doubt_raise(pulse, world.code);
	tap_str(why(pulse),
	    "a change could not be written to the table in time",
	    "a raised flag is doubt");
	pulse_doubt_settle(pulse);
	tap_str(why(pulse), NULL, "a settled one is not");
	(void)!pulse_doubt_raise(pulse, world.more);
	tap_str(why(pulse), NULL, "another route's is not");
	pulse_close(pulse);
}

static void
test_no_table(void)
{
	struct registry_view registry;
	struct git_view git;
	char got[128];

	memset(&git, 0xff, sizeof(git));
	memset(&registry, 0xff, sizeof(registry));
	tap_int(view_git(NULL, NULL, &world.conf, world.code, "repo", &git),
	    ERR_OK, "no table is an empty one");
	write_view(&git, got);
	tap_str(got, "- 0 0 0", "without a row");
	tap_int(view_registry(NULL, world.images, "app", &registry), ERR_OK,
	    "for a registry, too");
	tap_ok(!registry.placed && !registry.imported,
	    "nothing placed, nothing imported");
}

static enum err
place(struct table_txn *txn, void *arg)
{
	(void)arg;
	return place_set(txn, world.images, "app", "new");
}

static enum err
import(struct table_txn *txn, void *arg)
{
	const struct import complete = { .completed_s = 1 };
	enum err err;

	(void)arg;
	err = import_set(txn, world.images, world.images->primary, &complete);
	return err == ERR_OK
	    ? import_set(txn, world.images, world.images->to, &complete)
	    : err;
}

static void
test_registry(void)
{
	struct registry_view view;

	tap_int(table_write(world.table, place, NULL), ERR_OK, "a placement");
	tap_int(view_registry(world.table, world.images, "app", &view), ERR_OK,
	    "is seen");
	tap_ok(view.placed, "it is placed");
	tap_str(view.placement.upstream, "new", "where it is");
	tap_ok(!view.imported, "nothing was imported");
	tap_int(table_write(world.table, import, NULL), ERR_OK,
	    "both sides are imported");
	tap_int(view_registry(world.table, world.images, "web", &view), ERR_OK,
	    "another name is seen");
	tap_ok(!view.placed && view.imported, "not placed, but imported");
}

static enum err
damage(struct table_txn *txn, void *arg)
{
	const struct table_bytes bytes = { "abc", 3 };
	const struct key row = key_of("code", "hurt", NULL);
	const struct key placement = key_of("images", "hurt", NULL);
	enum err err;

	(void)arg;
	err = table_put(txn, TABLE_ROWS, key_bytes(&row), bytes);
	return err == ERR_OK
	    ? table_put(txn, TABLE_PLACEMENTS, key_bytes(&placement), bytes)
	    : err;
}

static void
test_damage(void)
{
	struct registry_view registry = { .imported = true };
	struct git_view git = { .generation = 42 };

	tap_int(table_write(world.table, damage, NULL), ERR_OK,
	    "records are damaged");
	tap_int(view_git(world.table, NULL, &world.conf, world.code, "hurt",
		    &git),
	    ERR_TABLE, "a damaged row is told");
	tap_int((long long)git.generation, 42, "the view stays as it was");
	tap_int(view_registry(world.table, world.images, "hurt", &registry),
	    ERR_TABLE, "a damaged placement is told");
	tap_ok(registry.imported, "that view stays, too");
}

int
main(void)
{
	world_open(&world, "view");
	test_steps();
	test_doubt();
	test_no_table();
	test_registry();
	test_damage();
	world_close(&world);
	return tap_done();
}

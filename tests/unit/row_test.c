/* row_test.c: generations, marks and the lag index */
/* SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>

#include "sync/fence.h"
#include "sync/pack.h"
#include "sync/row.h"
#include "tests/unit/tap.h"
#include "tests/unit/world.h"

#define TOKEN "00112233445566778899aabbccddeeff"

static struct world world;

/*
 * NOTE remembers generation and epochs, MARK_ marks with what was noted last,
 * as a comparison between the two would.
 */
enum op {
	LEARN,
	RAISE,
	NOTE,
	MARK_ONE,
	MARK_TWO,
	VOID_ONE,
	VOID_ALL,
	DROP,
	ROUTE_EPOCH,
	ONE_EPOCH,
	FENCE,
	WITHOUT_ONE,
	WITH_ONE,
	LAG_ONE,
};

/*
 * State: "GENERATION ONE TWO", of each replica "+" where its mark counts,
 * "~" where it has one that does not, "-" without; then "!" if it lags.
 */
struct step {
	const char *claim;
	enum op op;
	enum err want;
	int flag; /* *made or *current; -1: the call has none */
	const char *state;
};

static const struct step steps[] = {
	{ "there is no row to raise", RAISE, ERR_ABSENT, -1, "none" },
	{ "nor one to void", VOID_ALL, ERR_ABSENT, -1, "none" },
	{ "nor one to mark", MARK_ONE, ERR_ABSENT, -1, "none" },
	{ "dropping none is fine", DROP, ERR_OK, -1, "none" },
	{ "a row is learnt, and lags", LEARN, ERR_OK, 1, "1 -! -!" },
	{ "once", LEARN, ERR_OK, 0, "1 -! -!" },
	{ "noted", NOTE, ERR_OK, -1, "1 -! -!" },
	{ "one is marked", MARK_ONE, ERR_OK, 1, "1 + -!" },
	{ "two is marked", MARK_TWO, ERR_OK, 1, "1 + +" },
	{ "a raise: none counts", RAISE, ERR_OK, -1, "2 ~! ~!" },
	{ "a mark noted before the raise does not count", MARK_ONE, ERR_OK, 0,
	    "2 ~! ~!" },
	{ "noted again", NOTE, ERR_OK, -1, "2 ~! ~!" },
	{ "now it counts", MARK_ONE, ERR_OK, 1, "2 + ~!" },
	{ "another route epoch", ROUTE_EPOCH, ERR_OK, -1, "2 ~ ~!" },
	{ "a mark of the old epoch does not count, and lags on", LAG_ONE,
	    ERR_OK, -1, "2 ~! ~!" },
	{ "nor when made after", MARK_ONE, ERR_OK, 0, "2 ~! ~!" },
	{ "noted in the new epoch", NOTE, ERR_OK, -1, "2 ~! ~!" },
	{ "it counts", MARK_ONE, ERR_OK, 1, "2 + ~!" },
	{ "of two as well", MARK_TWO, ERR_OK, 1, "2 + +" },
	{ "one's own epoch", ONE_EPOCH, ERR_OK, -1, "2 ~ +" },
	{ "noted in it", NOTE, ERR_OK, -1, "2 ~ +" },
	{ "marked in it", MARK_ONE, ERR_OK, 1, "2 + +" },
	{ "one is void", VOID_ONE, ERR_OK, -1, "2 -! +" },
	{ "one is marked again", MARK_ONE, ERR_OK, 1, "2 + +" },
	{ "all are void; no comparison under way counts", VOID_ALL, ERR_OK, -1,
	    "3 -! -!" },
	{ "as this one", MARK_TWO, ERR_OK, 0, "3 -! ~!" },
	{ "noted for the drop", NOTE, ERR_OK, -1, "3 -! ~!" },
	{ "dropped", DROP, ERR_OK, -1, "none" },
	{ "learnt again, above the dropped one", LEARN, ERR_OK, 1, "4 -! -!" },
	{ "what was noted before the drop does not count", MARK_ONE, ERR_OK, 0,
	    "4 ~! -!" },
	{ "noted once more", NOTE, ERR_OK, -1, "4 ~! -!" },
	{ "one is marked once more", MARK_ONE, ERR_OK, 1, "4 + -!" },
	{ "a fence raises", FENCE, ERR_OK, -1, "5 ~! -!" },
	{ "one is no replica any more", WITHOUT_ONE, ERR_OK, -1, "5 ~! -!" },
	{ "the next write drops its mark", RAISE, ERR_OK, -1, "6 -! -!" },
	{ "the row goes", DROP, ERR_OK, -1, "none" },
	{ "one is back: it does not lag in what is gone", WITH_ONE, ERR_OK, -1,
	    "none" },
};

struct run {
	const struct step *step;
	const char *name;
	uint64_t generation;
	struct epochs epochs[2];
	int flag;
	char state[64];
};

static enum err
note(struct table_txn *txn, struct run *run)
{
	struct row row;
	enum err err = row_get(txn, world.code, run->name, &row);

	run->generation = row.generation;
	if (err == ERR_OK)
		err = epochs_get(txn, world.code, world.one, &run->epochs[0]);
	if (err == ERR_OK)
		err = epochs_get(txn, world.code, world.two, &run->epochs[1]);
	return err;
}

static enum err
mark(struct table_txn *txn, struct run *run, int which)
{
	bool current = false;
	enum err err;

	err = row_mark(txn, world.code, run->name,
	    which == 0 ? world.one : world.two, run->generation,
	    &run->epochs[which], &current);
	if (err == ERR_OK)
		run->flag = current;
	return err;
}

static enum err
act(struct table_txn *txn, void *arg)
{
	struct run *run = arg;
	uint64_t generation;
	bool made = false;
	enum err err;

	run->flag = -1;
	switch (run->step->op) {
	case LEARN:
		err = row_learn(txn, world.code, run->name, &made);
		run->flag = made;
		return err;
	case RAISE:
		return row_raise(txn, world.code, run->name, NULL, &generation);
	case NOTE:
		return note(txn, run);
	case MARK_ONE:
		return mark(txn, run, 0);
	case MARK_TWO:
		return mark(txn, run, 1);
	case VOID_ONE:
		return row_void(txn, world.code, run->name, world.one);
	case VOID_ALL:
		return row_void(txn, world.code, run->name, NULL);
	case DROP:
		return row_drop(txn, world.code, run->name);
	case ROUTE_EPOCH:
		return epoch_raise(txn, world.code, NULL);
	case ONE_EPOCH:
		return epoch_raise(txn, world.code, world.one);
	case FENCE:
		return fence_begin(txn, world.code, run->name, TOKEN, 1);
	case LAG_ONE:
		return lag_put(txn, world.code, run->name, world.one);
	case WITHOUT_ONE:
		world.code->replicas[0] = world.two;
		world.code->n_replicas = 1;
		return ERR_OK;
	case WITH_ONE:
		world.code->replicas[0] = world.one;
		world.code->n_replicas = 2;
		return ERR_OK;
	}
	return ERR_USAGE;
}

static enum err
see_replica(struct table_txn *txn, struct run *run, const struct row *row,
    const struct upstream *replica)
{
	char *state = run->state + strlen(run->state);
	struct epochs epochs = { 0 };
	const char *mark_state = "-";
	struct lag lag;
	enum err err;

	err = epochs_get(txn, world.code, replica, &epochs);
	if (err != ERR_OK)
		return err;
	for (unsigned i = 0; i < row->n_marks; i++)
		if (strcmp(row->marks[i].upstream, replica->name) == 0)
			mark_state = row_is_current(row, replica, &epochs)
			    ? "+"
			    : "~";
	err = lag_next(txn, world.code, replica, "", &lag);
	sprintf(state, " %s%s", mark_state, err == ERR_OK ? "!" : "");
	return err == ERR_ABSENT ? ERR_OK : err;
}

static enum err
see(struct table_txn *txn, void *arg)
{
	struct run *run = arg;
	struct row row;
	struct lag lag;
	enum err err = row_get(txn, world.code, run->name, &row);

	if (err == ERR_ABSENT) {
		bool lags = lag_next(txn, world.code, world.one, "", &lag) ==
			ERR_OK ||
		    lag_next(txn, world.code, world.two, "", &lag) == ERR_OK;

		strcpy(run->state, lags ? "none, but lags" : "none");
		return ERR_OK;
	}
	sprintf(run->state, "%d", (int)row.generation);
	if (err == ERR_OK)
		err = see_replica(txn, run, &row, world.one);
	return err == ERR_OK ? see_replica(txn, run, &row, world.two) : err;
}

static void
test_steps(const char *name)
{
	struct run run = { .name = name };

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		run.step = &steps[i];
		tap_int(table_write(world.table, act, &run), steps[i].want,
		    "%s: returns", steps[i].claim);
		tap_int(run.flag, steps[i].flag, "%s: says", steps[i].claim);
		tap_int(table_read(world.table, see, &run), ERR_OK,
		    "%s: is seen", steps[i].claim);
		tap_str(run.state, steps[i].state, "%s: state", steps[i].claim);
	}
}

/* An older comparison of the same replica ends after a newer one. */
static enum err
late_mark(struct table_txn *txn, void *arg)
{
	struct run early = { .name = "late" }, late = { .name = "late" };
	uint64_t generation;
	bool *current = arg;
	enum err err;

	err = row_learn(txn, world.code, "late", NULL);
	if (err == ERR_OK)
		err = note(txn, &early);
	if (err == ERR_OK)
		err = row_raise(txn, world.code, "late", NULL, &generation);
	if (err == ERR_OK)
		err = note(txn, &late);
	if (err == ERR_OK)
		err = mark(txn, &late, 0);
	if (err == ERR_OK)
		err = mark(txn, &early, 0);
	*current = early.flag == 1;
	return err == ERR_OK ? see(txn, &early) : err;
}

static enum err
refuse_to_learn(struct table_txn *txn, void *arg)
{
	struct row row;
	enum err *seen = arg;
	struct key key = key_of("code", "", NULL);
	struct pack pack = { 0 };
	enum err err;

	err = row_learn(txn, world.code, "before", NULL);
	/* the common fence, as it stands once MAX_FENCED are fenced */
	pack_text(&pack, "");
	pack_text(&pack, "code");
	pack_u64(&pack, 0);
	pack_u8(&pack, 1);
	pack_text(&pack, "");
	pack_u8(&pack, FENCE_WATCH);
	pack_u64(&pack, 1);
	if (err == ERR_OK)
		err = table_put(txn, TABLE_FENCES, key_bytes(&key),
		    pack_bytes(&pack));
	seen[0] = row_learn(txn, world.code, "behind", NULL);
	seen[1] = row_get(txn, world.code, "behind", &row);
	seen[2] = row_learn(txn, world.code, "before", NULL);
	seen[3] = row_learn(txn, world.more, "behind", NULL);
	return err == ERR_OK ? fences_end_all(txn, world.code, "") : err;
}

static void
test_learn(void)
{
	enum err seen[4];

	tap_int(table_write(world.table, refuse_to_learn, seen), ERR_OK,
	    "a common fence stands");
	tap_int(seen[0], ERR_BUSY, "nothing is learnt behind it");
	tap_int(seen[1], ERR_ABSENT, "there is no row");
	tap_int(seen[2], ERR_OK, "a row that is there is there");
	tap_int(seen[3], ERR_OK, "another route's is learnt");
}

/* Two names of the same first bytes, too long for a key. */
static char long_a[NAME_SIZE], long_b[NAME_SIZE];

static const char *const names[] = {
	"a",
	"a/b",
	"a/b/c",
	"a-b",
	"b",
	"z\xc3\xa9",
	long_a,
	long_b,
};
#define N_NAMES (sizeof(names) / sizeof(names[0]))

static enum err
learn_names(struct table_txn *txn, void *arg)
{
	enum err err = row_learn(txn, world.more, "another", NULL);

	(void)arg;
	for (size_t i = 0; err == ERR_OK && i < N_NAMES; i++)
		err = row_learn(txn, world.code, names[i], NULL);
	return err;
}

/* Each name once, and nothing else: the sum of what was seen tells. */
static enum err
count_rows(struct table_txn *txn, void *arg)
{
	unsigned *seen = arg;
	char name[NAME_SIZE] = "";
	enum err err;

	while ((err = row_next(txn, world.code, name, name)) == ERR_OK)
		for (size_t i = 0; i < N_NAMES; i++)
			seen[i] += strcmp(name, names[i]) == 0;
	return err == ERR_ABSENT ? ERR_OK : err;
}

static enum err
count_lags(struct table_txn *txn, void *arg)
{
	unsigned *seen = arg;
	struct lag lag = { .name = "" };
	enum err err;

	while ((err = lag_next(txn, world.code, world.two, lag.name, &lag)) ==
	    ERR_OK)
		for (size_t i = 0; i < N_NAMES; i++)
			seen[i] += strcmp(lag.name, names[i]) == 0;
	return err == ERR_ABSENT ? ERR_OK : err;
}

static void
test_order(void)
{
	unsigned rows[N_NAMES] = { 0 }, lags[N_NAMES] = { 0 };

	memset(long_a, 'x', MAX_NAME);
	memset(long_b, 'x', MAX_NAME);
	long_b[MAX_NAME - 1] = 'y';
	tap_int(table_write(world.table, learn_names, NULL), ERR_OK,
	    "names are learnt");
	tap_int(table_read(world.table, count_rows, rows), ERR_OK,
	    "rows are walked");
	tap_int(table_read(world.table, count_lags, lags), ERR_OK,
	    "lag is walked");
	for (size_t i = 0; i < N_NAMES; i++) {
		tap_int(rows[i], 1, "%.20s is met once", names[i]);
		tap_int(lags[i], 1, "%.20s lags once", names[i]);
	}
}

static enum err
lag_since(struct table_txn *txn, void *arg)
{
	struct key key = key_of("code", "one", "since", NULL);
	struct pack old = { 0 };
	struct lag *seen = arg;
	struct row row = { 0 };
	uint64_t generation = 0;
	bool any = false;
	enum err err;

	err = row_learn(txn, world.code, "since", NULL);
	pack_text(&old, "since");
	pack_u64(&old, 12345);
	pack_text(&old, "");
	if (err == ERR_OK)
		err = table_put(txn, TABLE_LAG, key_bytes(&key),
		    pack_bytes(&old));
	if (err == ERR_OK)
		err = row_raise(txn, world.code, "since",
		    "0123456789012345678901234567890123456789", &generation);
	if (err == ERR_OK)
		err = lag_next(txn, world.code, world.one, "sinc", seen);
	if (err == ERR_OK)
		err = row_get(txn, world.code, "since", &row);
	tap_str(row.sha, "0123456789012345678901234567890123456789",
	    "the reported commit is noted");
	if (err == ERR_OK)
		err = row_raise(txn, world.code, "since", NULL, &generation);
	if (err == ERR_OK)
		err = row_get(txn, world.code, "since", &row);
	tap_ok(row.sha[0] == '0', "and stays where none is reported");
	tap_ok(row.changed_s > 0 && row.generation == generation,
	    "a raise says the generation, and when");
	if (err == ERR_OK)
		err = lag_any(txn, world.more, world.two, &any);
	tap_ok(any, "another route's lag is seen");
	if (err == ERR_OK)
		err = lag_any(txn, world.more, world.one, &any);
	tap_ok(!any, "who is no replica there lags in nothing");
	return err;
}

/* As many replicas as a route may have, and a mark of each. */
static enum err
full_row(struct table_txn *txn, void *arg)
{
	static char replica_names[MAX_REPLICAS][WORD_SIZE];
	static struct upstream replicas[MAX_REPLICAS];
	static char name[NAME_SIZE];
	struct route wide = *world.code;
	const struct epochs epochs = { 0, 0 };
	unsigned *current = arg;
	bool counts;
	enum err err;

	memset(name, 'n', MAX_NAME);
	wide.name = "wide";
	wide.n_replicas = MAX_REPLICAS;
	for (int i = 0; i < MAX_REPLICAS; i++) {
		memset(replica_names[i], 'r', MAX_WORD);
		replica_names[i][0] = (char)('a' + i % 26);
		replica_names[i][1] = (char)('a' + i / 26);
		replicas[i].name = replica_names[i];
		wide.replicas[i] = &replicas[i];
	}
	err = row_learn(txn, &wide, name, NULL);
	for (int i = 0; err == ERR_OK && i < MAX_REPLICAS; i++) {
		err = row_mark(txn, &wide, name, &replicas[i], 1, &epochs,
		    &counts);
		*current += counts;
	}
	return err;
}

static enum err
damage(struct table_txn *txn, void *arg)
{
	struct key key = key_of("code", "hurt", NULL);
	struct key lag_key = key_of("code", "one", "hurt", NULL);
	struct table_bytes bytes = { "\0\4hurt\0", 7 };
	enum err *seen = arg;
	char name[NAME_SIZE] = "hurs";
	uint64_t generation = 77;
	struct lag lag;
	struct row row;
	enum err err;

	err = table_put(txn, TABLE_ROWS, key_bytes(&key), bytes);
	if (err == ERR_OK)
		err = table_put(txn, TABLE_LAG, key_bytes(&lag_key),
		    (struct table_bytes){ "\0\4hur", 5 });
	seen[0] = row_get(txn, world.code, "hurt", &row);
	seen[1] = row_raise(txn, world.code, "hurt", NULL, &generation);
	seen[2] = row_drop(txn, world.code, "hurt");
	seen[3] = lag_next(txn, world.code, world.one, "hurs", &lag);
	seen[4] = row_next(txn, world.code, "hurs", name);
	tap_int((long long)generation, 77, "results are left alone");
	tap_str(name, "hurt", "its name can be read");
	return err;
}

/* What failed last is told, of what lags, until it lags no more. */
static enum err
note_lag(struct table_txn *txn, void *arg)
{
	struct lag *seen = arg;
	struct epochs epochs;
	struct row row;
	bool current;
	enum err err;

	if ((err = row_learn(txn, world.code, "p/note", NULL)) != ERR_OK ||
	    (err = row_get(txn, world.code, "p/note", &row)) != ERR_OK ||
	    (err = lag_note(txn, world.code, "p/note", world.one, "first")) !=
		ERR_OK ||
	    (err = lag_note(txn, world.code, "p/note", world.one, "timeout")) !=
		ERR_OK ||
	    (err = lag_put(txn, world.code, "p/note", world.one)) != ERR_OK ||
	    (err = lag_get(txn, world.code, "p/note", world.one, &seen[0])) !=
		ERR_OK ||
	    (err = lag_get(txn, world.code, "p/note", world.two, &seen[1])) !=
		ERR_OK ||
	    (err = epochs_get(txn, world.code, world.one, &epochs)) != ERR_OK ||
	    (err = row_mark(txn, world.code, "p/note", world.one,
		 row.generation, &epochs, &current)) != ERR_OK)
		return err;
	/* too late: nothing to note it at */
	err = lag_note(txn, world.code, "p/note", world.one, "late");
	return err == ERR_OK
	    ? lag_get(txn, world.code, "p/note", world.one, &seen[2])
	    : err;
}

static void
test_note(void)
{
	struct lag seen[3] = { 0 };

	tap_int(table_write(world.table, note_lag, seen), ERR_ABSENT,
	    "a mark ends lag and reason");
	tap_str(seen[0].why, "timeout", "the last failure is the reason");
	tap_str(seen[0].name, "p/note", "under its name");
	tap_ok(seen[0].since_s > 0, "and its time");
	tap_str(seen[1].why, "", "of that replica only");
}

/* One program was told to reload, the other compares by the old still. */
static enum err
mark_by_old(struct table_txn *txn, void *arg)
{
	struct conf newer = world.conf;
	struct route routes[3];
	struct epochs epochs;
	unsigned changed;
	bool current;
	enum err err;

	(void)arg;
	memcpy(routes, world.routes, sizeof(routes));
	routes[0].fold_case = !routes[0].fold_case;
	newer.routes = routes;
	if ((err = epochs_adopt(txn, &newer, &changed)) != ERR_OK ||
	    (err = epochs_get(txn, world.code, world.one, &epochs)) != ERR_OK)
		return err;
	return row_mark(txn, world.code, "p/old", world.one, 1, &epochs,
	    &current);
}

static void
test_other_configuration(void)
{
	world_learn(&world, world.code, "p/old");
	tap_int(table_write(world.table, mark_by_old, NULL), ERR_BUSY,
	    "no mark by a configuration that the table does not follow");
}

int
main(void)
{
	static const enum err hurt[] = { ERR_TABLE, ERR_TABLE, ERR_TABLE,
		ERR_TABLE, ERR_OK };
	enum err seen[5];
	unsigned current = 0;
	struct lag lag;
	bool kept;

	world_open(&world, "row");
	test_steps("group/project");
	tap_int(table_write(world.table, late_mark, &kept), ERR_OK,
	    "an older comparison ends late");
	tap_ok(kept, "it takes nothing from the newer one");
	test_learn();
	test_order();
	tap_int(table_write(world.table, lag_since, &lag), ERR_OK,
	    "lag goes on");
	tap_int(lag.since_s, 12345, "who lags, lags since then");
	tap_int(table_write(world.table, full_row, &current), ERR_OK,
	    "the largest row fits");
	tap_int(current, MAX_REPLICAS, "with all its marks");
	tap_int(table_write(world.table, damage, seen), ERR_OK,
	    "a row is damaged");
	for (int i = 0; i < 5; i++)
		tap_int(seen[i], hurt[i], "damage %d is told", i);
	test_note();
	test_other_configuration();
	world_close(&world);
	return tap_done();
}

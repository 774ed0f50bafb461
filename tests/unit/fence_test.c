/* fence_test.c: fences go up, break, watch and end, and raise generations */
/* SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>

#include "conf/clock.h"
#include "sync/fence.h"
#include "sync/pack.h"
#include "sync/row.h"
#include "sync/token.h"
#include "tests/unit/tap.h"
#include "tests/unit/world.h"

static struct world world;

/* Token of a letter: that letter, 32 times. */
static const char *
token_of(char letter, char out[TOKEN_SIZE])
{
	memset(out, letter, TOKEN_SIZE - 1);
	out[TOKEN_SIZE - 1] = '\0';
	return out;
}

enum op { LEARN, BEGIN, HOOK, END, BROKEN, END_ALL, EXPIRE, STRICT };

/*
 * Times in ms.  The route's: fence 1000, push_max 5000, watch 100.  State:
 * "gGENERATION upN", and for each fence its token's letter, U, B or W, and h
 * if it is a hook's.  STRICT: from here on hooks are.
 */
struct step {
	const char *claim;
	enum op op;
	char token;
	int64_t now_ms;
	int says;	 /* *was, *changed; -1: the call has none */
	int64_t next_ms; /* of EXPIRE */
	const char *state;
};

#define NEVER INT64_MAX

static const struct step steps[] = {
	{ "nothing is fenced", EXPIRE, 0, 0, 0, NEVER, "g0 up0" },
	{ "a fence without a row", BEGIN, 'a', 10, -1, 0, "g0 up1 aU" },
	{ "it ends", END, 'a', 20, 1, 0, "g0 up0" },
	{ "it goes up again", BEGIN, 'a', 30, -1, 0, "g0 up1 aU" },
	{ "the repository is learnt behind it", LEARN, 0, 30, -1, 0,
	    "g1 up1 aU" },
	{ "its end raises the generation", END, 'a', 40, 1, 0, "g2 up0" },
	{ "its end again is none, but raises", END, 'a', 50, 0, 0, "g3 up0" },
	{ "an unknown one raises", END, 'f', 50, 0, 0, "g4 up0" },
	{ "a broken one that is unknown raises", BROKEN, 'f', 50, -1, 0,
	    "g5 up0" },
	{ "a begin raises", BEGIN, 'a', 100, -1, 0, "g6 up1 aU" },
	{ "a second push", BEGIN, 'b', 300, -1, 0, "g7 up2 aU bU" },
	{ "time passes, nothing is due", EXPIRE, 0, 400, 0, 1100,
	    "g7 up2 aU bU" },
	{ "the second is broken off", BROKEN, 'b', 500, -1, 0, "g8 up2 aU bB" },
	{ "a moment before fence_s", EXPIRE, 0, 1099, 0, 1100, "g8 up2 aU bB" },
	{ "fence_s is over: it watches, and is compared", EXPIRE, 0, 1100, 1,
	    1200, "g9 up1 aW bB" },
	{ "not yet to be compared again", EXPIRE, 0, 1199, 0, 1200,
	    "g9 up1 aW bB" },
	{ "compared again after watch_s", EXPIRE, 0, 1210, 1, 1300,
	    "g10 up1 aW bB" },
	{ "the broken one watches, too", EXPIRE, 0, 1300, 1, 1400,
	    "g11 up0 aW bW" },
	{ "its late line: unsettled, proves nothing", BROKEN, 'b', 1350, -1, 0,
	    "g12 up0 aW bW" },
	{ "its late line: settled", END, 'b', 1360, 1, 0, "g13 up0 aW" },
	{ "a moment before push_max_s", EXPIRE, 0, 5099, 1, 5100,
	    "g14 up0 aW" },
	{ "push_max_s is over", EXPIRE, 0, 5100, 1, NEVER, "g15 up0" },
	{ "no more comparisons", EXPIRE, 0, 9000, 0, NEVER, "g15 up0" },
	{ "up once more", BEGIN, 'c', 10000, -1, 0, "g16 up1 cU" },
	{ "its begin again: its time begins anew", BEGIN, 'c', 10900, -1, 0,
	    "g17 up1 cU" },
	{ "so it is still up", EXPIRE, 0, 11800, 0, 11900, "g17 up1 cU" },
	{ "it watches", EXPIRE, 0, 11900, 1, 12000, "g18 up0 cW" },
	{ "a begin takes it up again", BEGIN, 'c', 12000, -1, 0, "g19 up1 cU" },
	{ "with another", BEGIN, 'd', 12000, -1, 0, "g20 up2 cU dU" },
	{ "a person ends all", END_ALL, 0, 12100, -1, 0, "g21 up0" },
	{ "a push nobody saw end", BEGIN, 'e', 20000, -1, 0, "g22 up1 eU" },
	{ "a daemon that slept past all of it ends it", EXPIRE, 0, 99999, 1,
	    NEVER, "g23 up0" },
	{ "a hook's", HOOK, 'a', 99999, -1, 0, "g24 up1 aUh" },
	{ "is broken off as any other", BROKEN, 'a', 99999, -1, 0,
	    "g25 up1 aBh" },
	{ "its begin again", HOOK, 'a', 99999, -1, 0, "g26 up1 aUh" },
	{ "and is ended", END, 'a', 99999, 1, 0, "g27 up0" },
	{ "hooks are strict", STRICT, 0, 0, -1, 0, "g27 up0" },
	{ "a push through the router", BEGIN, 'a', 100000, -1, 0,
	    "g28 up1 aU" },
	{ "any line ends it: a later landing has its own", BROKEN, 'a', 100100,
	    -1, 0, "g29 up0" },
	{ "its hook, behind its line", HOOK, 'a', 100200, -1, 0,
	    "g30 up1 aUh" },
	{ "no line ends that", BROKEN, 'a', 100300, -1, 0, "g31 up1 aBh" },
	{ "but the hook does", END, 'a', 100400, 1, 0, "g32 up0" },
	{ "another through the router", BEGIN, 'b', 100500, -1, 0,
	    "g33 up1 bU" },
	{ "which its hook takes over", HOOK, 'b', 100600, -1, 0,
	    "g34 up1 bUh" },
	{ "so that an unsettled line ends nothing", BROKEN, 'b', 100700, -1, 0,
	    "g35 up1 bBh" },
	{ "a settled one does: refused behind the hook", END, 'b', 100800, 1, 0,
	    "g36 up0" },
	{ "one that is watched", BEGIN, 'c', 100900, -1, 0, "g37 up1 cU" },
	{ "after fence_s", EXPIRE, 0, 101900, 1, 102000, "g38 up0 cW" },
	{ "is over at any line, too", BROKEN, 'c', 101950, -1, 0, "g39 up0" },
};

struct run {
	const struct step *step;
	int says;
	int64_t next_ms;
	char state[512];
};

static enum err
act(struct table_txn *txn, struct run *run)
{
	const struct step *step = run->step;
	char token[TOKEN_SIZE];
	unsigned changed = 0;
	bool was = false;
	enum err err;

	run->says = -1;
	run->next_ms = 0;
	token_of(step->token, token);
	switch (step->op) {
	case LEARN:
		return row_learn(txn, world.code, "repo", NULL);
	case BEGIN:
		return fence_begin(txn, world.code, "repo", token,
		    step->now_ms);
	case HOOK:
		return fence_begin_hook(txn, world.code, "repo", token,
		    step->now_ms);
	case STRICT:
		world.code->hooks = HOOKS_STRICT;
		return ERR_OK;
	case END:
		err = fence_end(txn, world.code, "repo", token, &was);
		run->says = was;
		return err;
	case BROKEN:
		return fence_broken(txn, world.code, "repo", token);
	case END_ALL:
		return fences_end_all(txn, world.code, "repo");
	case EXPIRE:
		err = fences_expire(txn, &world.conf, step->now_ms,
		    &run->next_ms, &changed);
		run->says = (int)changed;
		return err;
	}
	return ERR_USAGE;
}

static void
write_fences(const struct fences *fences, char *out)
{
	static const char states[] = { [FENCE_UP] = 'U',
		[FENCE_BROKEN] = 'B',
		[FENCE_WATCH] = 'W' };

	out += sprintf(out, "up%u", fences->n_up);
	for (unsigned i = 0; i < fences->n; i++)
		out += sprintf(out, " %c%c%s",
		    fences->fence[i].token[0] ? fences->fence[i].token[0] : '*',
		    states[fences->fence[i].state],
		    fences->fence[i].hooked ? "h" : "");
}

static enum err
see(struct table_txn *txn, struct run *run)
{
	struct row row = { 0 };
	struct fences fences;
	enum err err = row_get(txn, world.code, "repo", &row);

	if (err == ERR_OK || err == ERR_ABSENT)
		err = fences_get(txn, world.code, "repo", &fences);
	if (err == ERR_OK)
		write_fences(&fences,
		    run->state +
			sprintf(run->state, "g%d ", (int)row.generation));
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
	world.code->fence_ms = 1000;
	world.code->push_max_ms = 5000;
	world.code->watch_ms = 100;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct run run = { .step = &steps[i] };

		tap_int(table_write(world.table, body, &run), ERR_OK,
		    "%s: it works", steps[i].claim);
		tap_str(run.state, steps[i].state, "%s: state", steps[i].claim);
		tap_int(run.says, steps[i].says, "%s: says", steps[i].claim);
		tap_int(run.next_ms, steps[i].next_ms, "%s: next event",
		    steps[i].claim);
	}
	world.code->hooks = HOOKS_NONE;
}

/* The token is remembered beyond its fence: a late line still raises. */
static enum err
look_up_token(struct table_txn *txn, void *arg)
{
	char text[TOKEN_SIZE];

	return token_get(txn, token_of('e', text), arg);
}

static void
number_token(unsigned number, char out[TOKEN_SIZE])
{
	snprintf(out, TOKEN_SIZE, "%032x", number);
}

static enum err
overflow_set(struct table_txn *txn, void *arg)
{
	struct fences *seen = arg;
	char token[TOKEN_SIZE];
	bool was;
	enum err err = ERR_OK;

	for (unsigned i = 0; err == ERR_OK && i <= MAX_FENCES; i++) {
		number_token(i, token);
		err = fence_begin(txn, world.code, "crowd", token, 100);
	}
	if (err == ERR_OK)
		err = fences_get(txn, world.code, "crowd", &seen[0]);
	/* once more: the common one begins anew */
	number_token(1000, token);
	if (err == ERR_OK)
		err = fence_begin(txn, world.code, "crowd", token, 500);
	for (unsigned i = 0; err == ERR_OK && i <= MAX_FENCES; i++) {
		number_token(i, token);
		err = fence_end(txn, world.code, "crowd", token, &was);
		if (was != (i < MAX_FENCES))
			err = ERR_USAGE;
	}
	if (err == ERR_OK)
		err = fences_get(txn, world.code, "crowd", &seen[1]);
	return err == ERR_OK ? fences_end_all(txn, world.code, "crowd") : err;
}

static void
test_overflow(void)
{
	struct fences seen[2];

	tap_int(table_write(world.table, overflow_set, seen), ERR_OK,
	    "more pushes than MAX_FENCES");
	tap_int(seen[0].n, MAX_FENCES + 1, "a common fence beside the others");
	tap_int(seen[0].n_up, MAX_FENCES + 1, "all are up");
	tap_str(seen[0].fence[MAX_FENCES].token, "", "it has no token");
	tap_int(seen[1].n, 1, "the others end, it stays");
	tap_str(seen[1].fence[0].token, "", "it is the common one");
	tap_int(seen[1].fence[0].begun_ms, 500, "begun at the last overflow");
}

static enum err
fill(struct table_txn *txn, void *arg)
{
	char name[32], token[TOKEN_SIZE];
	enum err err;

	(void)arg;
	err = row_learn(txn, world.code, "known", NULL);
	for (unsigned i = 0; err == ERR_OK && i < MAX_FENCED; i++) {
		snprintf(name, sizeof(name), "scan/%u", i);
		number_token(i, token);
		err = fence_begin(txn, world.code, name, token, 100);
	}
	return err;
}

static enum err
beyond(struct table_txn *txn, void *arg)
{
	char token[TOKEN_SIZE];
	struct fences *seen = arg;
	enum err err;

	number_token(20000, token);
	err = fence_begin(txn, world.code, "stranger", token, 200);
	number_token(20001, token);
	if (err == ERR_OK)
		err = fence_begin(txn, world.code, "known", token, 200);
	number_token(20002, token);
	if (err == ERR_OK)
		err = fence_begin(txn, world.code, "scan/7", token, 200);
	if (err == ERR_OK)
		err = fences_get(txn, world.code, "stranger", &seen[0]);
	if (err == ERR_OK)
		err = fences_get(txn, world.code, "", &seen[1]);
	if (err == ERR_OK)
		err = fences_get(txn, world.code, "known", &seen[2]);
	if (err == ERR_OK)
		err = fences_get(txn, world.code, "scan/7", &seen[3]);
	tap_int(row_learn(txn, world.code, "stranger", NULL), ERR_BUSY,
	    "who is behind the common fence is not learnt");
	return err;
}

static enum err
end_of_scan(struct table_txn *txn, void *arg)
{
	struct fences fences;
	char name[NAME_SIZE];
	unsigned *changed = arg;
	int64_t next_ms;
	enum err err;

	err = fences_expire(txn, &world.conf, 99999, &next_ms, changed);
	tap_int(next_ms, NEVER, "then nothing is due");
	if (err == ERR_OK)
		err = row_learn(txn, world.code, "stranger", NULL);
	tap_int(fences_next(txn, world.code, "", name, &fences), ERR_ABSENT,
	    "nothing is fenced");
	return err;
}

static void
test_bound(void)
{
	struct fences seen[4];
	unsigned changed = 0;

	tap_int(table_write(world.table, fill, NULL), ERR_OK,
	    "a scanner pushes to MAX_FENCED names");
	tap_int(table_write(world.table, beyond, seen), ERR_OK, "and on");
	tap_int(seen[0].n, 0, "a name without a row has no fence of its own");
	tap_int(seen[1].n_up, 1, "the route's common fence is up");
	tap_str(seen[1].fence[0].token, "", "which has no token");
	tap_int(seen[2].n_up, 1, "a row has its own all the same");
	tap_int(seen[3].n_up, 2, "as has a name that had one");
	tap_int(table_write(world.table, end_of_scan, &changed), ERR_OK,
	    "time ends all of it");
	tap_int(changed, MAX_FENCED + 2, "each of them");
}

/* fences_next() over two routes, the common fence left out */
static enum err
list(struct table_txn *txn, void *arg)
{
	char *out = arg, token[TOKEN_SIZE], name[NAME_SIZE] = "";
	struct fences fences;
	enum err err;

	*out = '\0';
	err = fence_begin(txn, world.more, "m", token_of('1', token), 5);
	if (err == ERR_OK)
		err = fence_begin(txn, world.code, "y", token_of('2', token),
		    5);
	if (err == ERR_OK)
		err = fence_begin(txn, world.code, "x", token_of('3', token),
		    5);
	if (err == ERR_OK)
		err = fence_broken(txn, world.code, "x", token);
	while (err == ERR_OK &&
	    (err = fences_next(txn, world.code, name, name, &fences)) ==
		ERR_OK) {
		out += sprintf(out, "%s ", name);
		write_fences(&fences, out);
		out += strlen(out);
		out += sprintf(out, "; ");
	}
	return err == ERR_ABSENT ? ERR_OK : err;
}

static enum err
adopt(struct table_txn *txn, void *arg)
{
	return fences_adopt(txn, *(int64_t *)arg);
}

static enum err
another_boot(struct table_txn *txn, void *arg)
{
	struct key key = key_of("boot", NULL);
	struct pack pack = { 0 };

	(void)arg;
	pack_text(&pack, "00000000-0000-0000-0000-000000000000");
	return table_put(txn, TABLE_PEERS, key_bytes(&key), pack_bytes(&pack));
}

static enum err
begun(struct table_txn *txn, void *arg)
{
	struct fences fences;
	enum err err = fences_get(txn, world.code, "x", &fences);

	if (err == ERR_OK)
		*(int64_t *)arg = fences.fence[0].begun_ms;
	return err;
}

static int64_t
adopted_at(int64_t now_ms)
{
	int64_t begun_ms = -1;

	if (table_write(world.table, adopt, &now_ms) != ERR_OK ||
	    table_read(world.table, begun, &begun_ms) != ERR_OK)
		return -1;
	return begun_ms;
}

static void
test_boot(void)
{
	tap_int(adopted_at(70), 70, "the first adoption begins all anew");
	tap_int(adopted_at(80), 70, "in the same boot they stay");
	tap_int(table_write(world.table, another_boot, NULL), ERR_OK,
	    "a boot passes");
	tap_int(adopted_at(3), 3, "then all begin anew");
	tap_int(adopted_at(4), 3, "once");
}

struct expiry {
	int64_t now_ms, next_ms;
	unsigned changed;
};

static enum err
expire(struct table_txn *txn, void *arg)
{
	struct expiry *expiry = arg;

	return fences_expire(txn, &world.conf, expiry->now_ms, &expiry->next_ms,
	    &expiry->changed);
}

/* "more" has one fence, begun at 3; "code" two */
static void
test_gone_route(void)
{
	static const struct {
		int64_t now_ms;
		unsigned changed;
		int64_t next_ms;
	} rows[] = {
		{ 99999, 2, 86400003 },
		{ 86400002, 0, 86400003 },
		{ 86400003, 1, NEVER },
	};

	world.more->name = "elsewhere";
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct expiry expiry = { .now_ms = rows[i].now_ms };

		tap_int(table_write(world.table, expire, &expiry), ERR_OK,
		    "a route is gone, at %d", (int)rows[i].now_ms);
		tap_int(expiry.changed, rows[i].changed, "so many change");
		tap_int(expiry.next_ms, rows[i].next_ms, "and then at");
	}
	world.more->name = "more";
}

static enum err
damage(struct table_txn *txn, void *arg)
{
	/* a name, a route, a time, and 66 fences that are not there */
	static const char bytes[] = "\0\4hurt\0\4code\0\0\0\0\0\0\0\0\x42";
	struct key key = key_of("code", "hurt", NULL);
	char token[TOKEN_SIZE];
	enum err *seen = arg;
	struct fences fences;
	int64_t next_ms;
	unsigned changed;
	enum err err;

	err = table_put(txn, TABLE_FENCES, key_bytes(&key),
	    (struct table_bytes){ bytes, sizeof(bytes) - 1 });
	seen[0] = fences_get(txn, world.code, "hurt", &fences);
	seen[1] = fence_begin(txn, world.code, "hurt", token_of('a', token), 1);
	seen[2] = fences_expire(txn, &world.conf, 1, &next_ms, &changed);
	return err;
}

int
main(void)
{
	struct token token;
	enum err seen[3];
	char listed[256];

	world_open(&world, "fence");
	test_steps();
	tap_int(table_read(world.table, look_up_token, &token), ERR_OK,
	    "a token outlives its fence");
	tap_str(token.name, "repo", "and knows its repository");
	tap_int(token.use, TOKEN_PUSH, "and its use");
	test_overflow();
	test_bound();
	tap_int(table_write(world.table, list, listed), ERR_OK, "a list");
	tap_str(listed, "x up1 3B; y up1 2U; ", "of one route, in order");
	test_boot();
	test_gone_route();
	tap_int(table_write(world.table, damage, seen), ERR_OK,
	    "a set is damaged");
	for (int i = 0; i < 3; i++)
		tap_int(seen[i], ERR_TABLE, "damage %d is told", i);
	world_close(&world);
	return tap_done();
}

/* place_test.c: placements: every transition, imports, expiry, damage */
/* SPDX-License-Identifier: ISC */
#include "sync/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "conf/clock.h"
#include "conf/mem.h"
#include "sync/pack.h"
#include "sync/token.h"
#include "tests/unit/tap.h"

#define T1 "00000000000000000000000000000001"
#define T2 "00000000000000000000000000000002"
#define T3 "00000000000000000000000000000003"
#define NAME "group/image"
#define PROVISIONAL_S 1000

static struct upstream upstreams[] = {
	{ .name = (char[]){ "old" } },
	{ .name = (char[]){ "new" } },
};
static const struct upstream *const old = &upstreams[0];
static const struct upstream *const new = &upstreams[1];
static struct route routes[] = {
	{ .name = (char[]){ "reg" },
	    .kind = ROUTE_REGISTRY,
	    .primary = &upstreams[0],
	    .to = &upstreams[1],
	    .provisional_s = PROVISIONAL_S },
	{ .name = (char[]){ "reg2" },
	    .kind = ROUTE_REGISTRY,
	    .primary = &upstreams[0],
	    .to = &upstreams[1],
	    .provisional_s = PROVISIONAL_S },
};
static const struct route *const reg = &routes[0];
static const struct conf conf = { .upstreams = upstreams,
	.n_upstreams = 2,
	.routes = routes,
	.n_routes = 2 };

/*
 * A step, in a word: what is done, and by which token or status.
 *	w1 m1	a write, a manifest PUT, wanted "new", by token 1
 *	W1 M1	the same, wanted "old"
 *	p1=404	the feed's word on a write of token 1
 *	m1=201	the feed's word on a manifest PUT of token 1
 *	io in	found in the catalogue of old, of new
 *	so	set to old; d: dropped; c: confirmed; x: put off
 */
struct step {
	const char *word;
	const char *name;
	bool conflict;
	struct placement place;
};

static const char *
token_of(char digit)
{
	return digit == '1' ? T1 : digit == '2' ? T2 : T3;
}

static enum err
do_step(struct table_txn *txn, void *arg)
{
	struct step *step = arg;
	const char *word = step->word, *token = token_of(word[1]);
	bool manifest = word[0] == 'm' || word[0] == 'M';

	if (word[1] != '\0' && word[2] == '=')
		return place_settle(txn, reg, step->name, token, manifest,
		    (unsigned)atoi(word + 3));
	switch (word[0]) {
	case 'w':
	case 'm':
		return place_write(txn, reg, step->name, "new", "included",
		    token, manifest, &step->place);
	case 'W':
	case 'M':
		return place_write(txn, reg, step->name, "old", "excluded",
		    token, manifest, &step->place);
	case 'i':
		return place_import(txn, reg, step->name,
		    word[1] == 'o' ? "old" : "new", &step->conflict);
	case 's':
		return place_set(txn, reg, step->name,
		    word[1] == 'o' ? "old" : "new");
	case 'd':
		return place_drop(txn, reg, step->name);
	case 'c':
		return place_confirm(txn, reg, step->name);
	case 'x':
		return place_postpone(txn, reg, step->name, 5000000000);
	}
	return ERR_USAGE;
}

static enum err
get_place(struct table_txn *txn, void *arg)
{
	struct step *step = arg;

	return place_get(txn, reg, step->name, &step->place);
}

struct tally {
	size_t placements, index, tokens;
};

static enum err
tally_all(struct table_txn *txn, void *arg)
{
	struct tally *tally = arg;
	enum err err;

	err = table_count(txn, TABLE_PLACEMENTS, &tally->placements);
	if (err == ERR_OK)
		err = table_count(txn, TABLE_PROVISIONAL, &tally->index);
	if (err == ERR_OK)
		err = table_count(txn, TABLE_TOKENS, &tally->tokens);
	return err;
}

/* The placement in words: "new provisional shared 1", or "none". */
static const char *
describe(const struct placement *place, char text[256])
{
	static const char *const states[] = { "provisional", "manifest",
		"final" };

	snprintf(text, 256, "%s %s %s%s%.1s", place->upstream, place->reason,
	    states[place->state], place->shared ? " shared" : "",
	    place->token[0] != '\0' ? " " : "");
	if (place->token[0] != '\0')
		strcat(text, place->token + TOKEN_SIZE - 2);
	return text;
}

static const struct {
	const char *steps;
	const char *stands;
	/* tokens that the table must know afterwards */
	unsigned tokens;
} transitions[] = {
	/* writes */
	{ "w1", "new included provisional 1", 1 },
	{ "W1", "old excluded provisional 1", 1 },
	{ "w1 w1", "new included provisional 1", 1 },
	{ "w1 w2", "new included provisional shared 1", 1 },
	{ "w1 w2 w3", "new included provisional shared 1", 1 },
	{ "w1 W2", "new included provisional shared 1", 1 },
	{ "m1", "new included manifest 1", 1 },
	{ "w1 m1", "new included manifest 1", 1 },
	{ "w1 m2", "new included manifest shared 2", 2 },
	{ "w1 m2 m2", "new included manifest shared 2", 2 },
	{ "w1 m2 m3", "new included manifest shared", 3 },
	{ "w1 m2 m3 m2", "new included manifest shared", 3 },
	{ "w1 m2 w3", "new included manifest shared 2", 2 },
	{ "m1 w2", "new included manifest shared 1", 1 },
	{ "m1 M2", "new included manifest shared", 2 },
	/* the feed on a write */
	{ "p1=404", "none", 0 },
	{ "w1 p1=401", "none", 1 },
	{ "w1 p1=403", "none", 1 },
	{ "w1 p1=404", "none", 1 },
	{ "w1 p1=202", "new included provisional 1", 1 },
	{ "w1 p1=400", "new included provisional 1", 1 },
	{ "w1 p1=413", "new included provisional 1", 1 },
	{ "w1 p1=499", "new included provisional 1", 1 },
	{ "w1 p1=502", "new included provisional 1", 1 },
	{ "w1 p2=404", "new included provisional 1", 1 },
	{ "w1 w2 p1=404", "new included provisional shared 1", 1 },
	{ "w1 w2 p2=404", "new included provisional shared 1", 1 },
	{ "w1 m2 p1=404", "new included manifest shared 2", 2 },
	{ "w1 m1 p1=404", "new included manifest 1", 1 },
	{ "so p1=404", "old admin final", 0 },
	{ "w1 p1=404 W2", "old excluded provisional 2", 2 },
	/* the feed on a manifest PUT */
	{ "w1 m2 m2=201", "new included final shared", 2 },
	{ "m1 m1=201", "new included final", 1 },
	{ "m1 m2 m1=201", "new included final shared", 2 },
	{ "m1 m2 m2=202", "new included final shared", 2 },
	{ "m1 m1=400 m2=201", "new included final", 1 },
	{ "w1 m2 m2=400", "new included provisional shared 2", 2 },
	{ "w1 m2 m2=404", "new included provisional shared 2", 2 },
	{ "w1 m2 m2=499", "new included provisional shared 2", 2 },
	{ "m1 m1=400", "new included provisional 1", 1 },
	{ "m1 m1=401", "none", 1 },
	{ "w1 m1 m1=404", "none", 1 },
	{ "w1 m2 m2=502", "new included manifest shared 2", 2 },
	{ "w1 m2 m2=304", "new included manifest shared 2", 2 },
	{ "w1 m2 m1=400", "new included manifest shared 2", 2 },
	{ "w1 m2 m3 m2=400", "new included manifest shared", 3 },
	{ "w1 m2 m3 m3=404 m2=201", "new included final shared", 3 },
	{ "w1 m2 m2=400 m3", "new included manifest shared 3", 3 },
	{ "w1 m2 m2=400 m3 m3=201", "new included final shared", 3 },
	{ "m1 m1=201 m1=404", "new included final", 1 },
	{ "m1=201", "none", 0 },
	/* final: nothing moves it but a person */
	{ "so w1", "old admin final", 0 },
	{ "so m1", "old admin final", 0 },
	{ "so w1 p1=404", "old admin final", 0 },
	{ "io m1 m1=404", "old import final", 0 },
	{ "io sn", "new admin final", 0 },
	{ "w1 so", "old admin final", 1 },
	{ "m1 so", "old admin final", 1 },
	{ "so d", "none", 0 },
	{ "w1 d", "none", 1 },
	{ "m1 d", "none", 1 },
	{ "d", "none", 0 },
	/* asked on expiry */
	{ "w1 c", "new included final", 1 },
	{ "w1 w2 c", "new included final shared", 1 },
	{ "m1 c", "new included manifest 1", 1 },
	{ "so c", "old admin final", 0 },
	{ "c", "none", 0 },
	{ "w1 x", "new included provisional 1", 1 },
	{ "w1 x d", "none", 1 },
	{ "w1 x m1", "new included manifest 1", 1 },
	{ "x", "none", 0 },
	{ "m1 x", "new included manifest 1", 1 },
	{ "so x", "old admin final", 0 },
	/* imports */
	{ "in", "new import final", 0 },
	{ "in in", "new import final", 0 },
	{ "w1 in", "new included final", 1 },
	{ "w1 io", "old import final", 1 },
	{ "w1 w2 io", "old import final", 1 },
	{ "m1 in", "new included final", 1 },
	{ "m1 io!", "new included manifest 1", 1 },
	{ "in io!", "new import final", 0 },
	{ "so in!", "old admin final", 0 },
	{ "so io", "old admin final", 0 },
	{ "w1 io in!", "old import final", 1 },
};

/* Does the index of provisional ones hold what it must, and no more? */
static void
check_index(struct table *table, const char *steps, const struct step *step,
    bool placed, unsigned tokens)
{
	bool provisional = placed && step->place.state == PLACE_PROVISIONAL;
	struct tally tally = { 0 };

	if (table_read(table, tally_all, &tally) != ERR_OK)
		exit(1);
	tap_ok(tally.index == provisional && tally.placements == placed,
	    "%s: the index of provisional ones is exact", steps);
	tap_int((long long)tally.tokens, 2 * tokens, "%s: tokens noted", steps);
}

static enum err
drop_all(struct table_txn *txn, void *arg)
{
	enum err err = place_drop(txn, reg, NAME);

	(void)arg;
	for (char digit = '1'; digit <= '3' && err == ERR_OK; digit++)
		err = token_drop(txn, token_of(digit));
	return err;
}

static void
test_transition(struct table *table, size_t i)
{
	char *steps = mem_dup(transitions[i].steps), *rest = steps, *word;
	struct step step = { .name = NAME };
	char text[256];
	enum err err;

	while ((word = strsep(&rest, " ")) != NULL) {
		bool conflict = strchr(word, '!') != NULL;

		step.word = word;
		step.conflict = false;
		if (table_write(table, do_step, &step) != ERR_OK)
			tap_ok(false, "%s: %s", word, err_text());
		if (step.conflict != conflict)
			tap_ok(false, "%s of %s: conflict", word,
			    transitions[i].steps);
	}
	err = table_read(table, get_place, &step);
	tap_str(err == ERR_OK ? describe(&step.place, text) : "none",
	    transitions[i].stands, "%s", transitions[i].steps);
	check_index(table, transitions[i].steps, &step, err == ERR_OK,
	    transitions[i].tokens);
	if (table_write(table, drop_all, NULL) != ERR_OK)
		exit(1);
	free(steps);
}

static struct placement
step(struct table *table, const char *name, const char *word)
{
	struct step one = { .word = word, .name = name };

	if (table_write(table, do_step, &one) != ERR_OK)
		exit(1);
	return one.place;
}

static void
test_write(struct table *table)
{
	struct placement place = step(table, NAME, "w1");
	int64_t now_s = clock_real_s();
	char text[256];

	tap_str(describe(&place, text), "new included provisional 1",
	    "a write tells what stands");
	tap_ok(place.made_s <= now_s && place.made_s > now_s - 100, "made now");
	tap_int(place.expires_s - place.made_s, PROVISIONAL_S, "for so long");
	place = step(table, NAME, "W2");
	tap_str(describe(&place, text), "new included provisional shared 1",
	    "a second one tells where the first went");
	step(table, NAME, "x");
	step(table, NAME, "m1");
	step(table, NAME, "m1=400");
	place = step(table, NAME, "w2");
	tap_ok(place.expires_s >= now_s + PROVISIONAL_S &&
		place.expires_s < now_s + 2 * PROVISIONAL_S,
	    "provisional again, it expires anew");
	step(table, NAME, "d");
}

struct expiry {
	int64_t now_s;
	char route[WORD_SIZE];
	char name[NAME_SIZE];
};

static enum err
find_expired(struct table_txn *txn, void *arg)
{
	struct expiry *expiry = arg;

	return place_expired(txn, expiry->now_s, expiry->route, expiry->name);
}

static void
test_expiry(struct table *table)
{
	int64_t now_s = clock_real_s();
	struct expiry expiry = { .now_s = now_s + PROVISIONAL_S - 100 };

	tap_int(table_read(table, find_expired, &expiry), ERR_ABSENT,
	    "nothing to expire");
	step(table, "late", "w1");
	step(table, "late", "x");
	step(table, "soon", "w2");
	step(table, "never", "so");
	tap_int(table_read(table, find_expired, &expiry), ERR_ABSENT,
	    "nothing expired yet");
	expiry.now_s += 1000;
	tap_int(table_read(table, find_expired, &expiry), ERR_OK,
	    "in a while one has");
	tap_str(expiry.name, "soon", "the one");
	tap_str(expiry.route, "reg", "of that route");
	step(table, "soon", "x");
	tap_int(table_read(table, find_expired, &expiry), ERR_ABSENT,
	    "it is put off");
	expiry.now_s = 5000000000;
	tap_int(table_read(table, find_expired, &expiry), ERR_ABSENT,
	    "until then it has not expired");
	expiry.now_s++;
	tap_int(table_read(table, find_expired, &expiry), ERR_OK,
	    "but a second later");
	tap_str(expiry.name, "late", "the first by name");
	step(table, "late", "d");
	step(table, "soon", "c");
	tap_int(table_read(table, find_expired, &expiry), ERR_ABSENT,
	    "dropped and confirmed ones never expire");
	step(table, "soon", "d");
	step(table, "never", "d");
}

struct scan {
	const struct route *route;
	char names[256];
	char upstream[WORD_SIZE];
	char name[NAME_SIZE];
};

static enum err
scan_all(struct table_txn *txn, void *arg)
{
	struct scan *scan = arg;
	char name[NAME_SIZE] = "";
	struct placement place;
	enum err err;

	scan->names[0] = '\0';
	while ((err = place_next(txn, scan->route, name, name, &place)) ==
	    ERR_OK) {
		strcat(scan->names, name);
		strcat(scan->names, "=");
		strcat(scan->names, place.upstream);
		strcat(scan->names, " ");
	}
	return err == ERR_ABSENT ? ERR_OK : err;
}

static enum err
find_orphan(struct table_txn *txn, void *arg)
{
	struct scan *scan = arg;

	return place_orphan(txn, &conf, scan->upstream, scan->name);
}

static enum err
set_gone(struct table_txn *txn, void *arg)
{
	(void)arg;
	return place_set(txn, &routes[1], "lost", "gone");
}

static void
test_scan(struct table *table)
{
	struct scan scan = { .route = &routes[1] };

	step(table, "b", "sn");
	step(table, "a/b", "so");
	step(table, "a", "w1");
	tap_int(table_read(table, scan_all, &scan), ERR_OK, "a scan");
	tap_str(scan.names, "", "of a route without any");
	tap_int(table_read(table, find_orphan, &scan), ERR_ABSENT,
	    "all name an upstream that there is");
	tap_int(table_write(table, set_gone, NULL), ERR_OK, "but this one");
	tap_int(table_read(table, find_orphan, &scan), ERR_OK, "is found");
	tap_str(scan.upstream, "gone", "by its upstream");
	tap_str(scan.name, "lost", "and its name");
	scan.route = reg;
	tap_int(table_read(table, scan_all, &scan), ERR_OK, "a scan");
	tap_str(scan.names, "a=new a/b=old b=new ",
	    "comes by all of its route, and no other");
	step(table, "a", "d");
	step(table, "a/b", "d");
	step(table, "b", "d");
}

struct imports {
	const struct upstream *side;
	struct import import;
	bool complete;
};

static enum err
get_import(struct table_txn *txn, void *arg)
{
	struct imports *imports = arg;
	enum err err = import_get(txn, reg, imports->side, &imports->import);

	return err != ERR_OK ? err
			     : imports_complete(txn, reg, &imports->complete);
}

static enum err
set_import(struct table_txn *txn, void *arg)
{
	struct imports *imports = arg;

	return import_set(txn, reg, imports->side, &imports->import);
}

static void
test_imports(struct table *table)
{
	struct imports imports = { .side = old,
		.import.names = 7,
		.complete = true };

	tap_int(table_read(table, get_import, &imports), ERR_OK,
	    "an import that never was");
	tap_ok(imports.import.names == 0 && imports.import.last[0] == '\0' &&
		imports.import.completed_s == 0,
	    "is all zero");
	tap_ok(!imports.complete, "and not complete");
	imports.import = (struct import){ .started_s = 5,
		.names = 3,
		.conflicts = 2,
		.last = "a/b" };
	tap_int(table_write(table, set_import, &imports), ERR_OK, "set");
	imports.import = (struct import){ .names = 0 };
	tap_int(table_read(table, get_import, &imports), ERR_OK, "got");
	tap_ok(imports.import.started_s == 5 && imports.import.names == 3 &&
		imports.import.conflicts == 2 &&
		strcmp(imports.import.last, "a/b") == 0,
	    "what was set");
	imports.import.completed_s = 6;
	tap_int(table_write(table, set_import, &imports), ERR_OK,
	    "one side is complete");
	tap_int(table_read(table, get_import, &imports), ERR_OK, "got");
	tap_ok(!imports.complete, "that is not both");
	imports.side = new;
	tap_int(table_write(table, set_import, &imports), ERR_OK,
	    "so is the other");
	tap_int(table_read(table, get_import, &imports), ERR_OK, "got");
	tap_ok(imports.complete, "that is both");
}

struct damage {
	enum table_db db;
	const char *what;
	struct table_bytes bytes;
	enum err get, scan, expired, import;
};

static enum err
put_damage(struct table_txn *txn, void *arg)
{
	const struct damage *damage = arg;
	struct key key = damage->db == TABLE_PLACEMENTS
	    ? key_of("reg", NAME, NULL)
	    : damage->db == TABLE_IMPORTS
	    ? key_of("reg", "old", NULL)
	    : key_of("0000000000000001", "reg", NAME, NULL);

	return table_put(txn, damage->db, key_bytes(&key), damage->bytes);
}

static enum err
del_damage(struct table_txn *txn, void *arg)
{
	struct key place = key_of("reg", NAME, NULL);
	struct key index = key_of("0000000000000001", "reg", NAME, NULL);
	enum err err = table_del(txn, TABLE_PLACEMENTS, key_bytes(&place));

	(void)arg;
	return err != ERR_OK
	    ? err
	    : table_del(txn, TABLE_PROVISIONAL, key_bytes(&index));
}

#define TIMES "\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0"
/* name, upstream, reason; state, shared, token; times */
#define SOUND                                                                  \
	"\0\1n\0\3old\0\1r"                                                    \
	"\2\0\0\0" TIMES
static const struct damage damages[] = {
	{ TABLE_PLACEMENTS, "sound", { SOUND, 31 }, ERR_OK, ERR_OK, ERR_ABSENT,
	    ERR_OK },
	{ TABLE_PLACEMENTS, "empty", { "", 0 }, ERR_TABLE, ERR_TABLE,
	    ERR_ABSENT, ERR_OK },
	{ TABLE_PLACEMENTS, "cut", { SOUND, 30 }, ERR_TABLE, ERR_TABLE,
	    ERR_ABSENT, ERR_OK },
	{ TABLE_PLACEMENTS, "too long", { SOUND "x", 32 }, ERR_TABLE, ERR_TABLE,
	    ERR_ABSENT, ERR_OK },
	{ TABLE_PLACEMENTS, "of no state",
	    { "\0\1n\0\3old\0\1r"
	      "\3\0\0\0" TIMES,
		31 },
	    ERR_TABLE, ERR_TABLE, ERR_ABSENT, ERR_OK },
	{ TABLE_PLACEMENTS, "neither shared nor not",
	    { "\0\1n\0\3old\0\1r"
	      "\2\2\0\0" TIMES,
		31 },
	    ERR_TABLE, ERR_TABLE, ERR_ABSENT, ERR_OK },
	{ TABLE_PLACEMENTS, "full of lies", { "\xff\xff\xff", 3 }, ERR_TABLE,
	    ERR_TABLE, ERR_ABSENT, ERR_OK },
	{ TABLE_PROVISIONAL, "sound", { "\0\1n\0\3reg", 8 }, ERR_ABSENT, ERR_OK,
	    ERR_OK, ERR_OK },
	{ TABLE_PROVISIONAL, "cut", { "\0\1n\0\3re", 7 }, ERR_ABSENT, ERR_OK,
	    ERR_TABLE, ERR_OK },
	{ TABLE_IMPORTS, "cut", { TIMES, 16 }, ERR_ABSENT, ERR_OK, ERR_ABSENT,
	    ERR_TABLE },
};

static void
test_damage(struct table *table)
{
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		const struct damage *damage = &damages[i];
		struct step get = { .name = NAME };
		struct scan scan = { .route = reg };
		struct expiry expiry = { .now_s = 10 };
		struct imports imports = { .side = old };

		if (table_write(table, put_damage, (void *)damage) != ERR_OK)
			exit(1);
		tap_int(table_read(table, get_place, &get), damage->get,
		    "one that is %s: get", damage->what);
		tap_int(table_read(table, scan_all, &scan), damage->scan,
		    "scan");
		tap_int(table_read(table, find_expired, &expiry),
		    damage->expired, "expired");
		tap_int(table_read(table, get_import, &imports), damage->import,
		    "import");
		if (table_write(table, del_damage, NULL) != ERR_OK)
			exit(1);
	}
	tap_ok(strstr(err_text(), "damaged") != NULL, "says %s", err_text());
}

int
main(void)
{
	struct table *table;

	umask(0007);
	if (table_open(tap_dir(), true, &table) != ERR_OK)
		return 1;
	for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]);
	     i++)
		test_transition(table, i);
	test_write(table);
	test_expiry(table);
	test_scan(table);
	test_imports(table);
	table_close(table);

	if (table_open(tap_dir(), false, &table) != ERR_OK)
		return 1;
	test_damage(table);
	table_close(table);
	return tap_done();
}

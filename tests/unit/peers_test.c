/* peers_test.c: compare and drain: what is said, what is done */
/* SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/clock.h"
#include "sync/fence.h"
#include "sync/peer.h"
#include "sync/wake.h"
#include "tests/unit/githost.h"
#include "tests/unit/tap.h"
#include "tests/unit/tool.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define TOKEN "0123456789abcdef0123456789abcdef"

struct scene {
	struct world world;
	struct githost host;
	struct tool tool;
	int wakes;
};

static void
scene_begin(struct scene *scene, const char *name)
{
	struct world *world = &scene->world;

	world_open(world, name);
	world_learn(world, world->code, "p/r");
	githost_start(&scene->host, world);
	tool_begin(&scene->tool, world, name, "", "");
	if (wake_bind(scene->tool.dir, WAKE_SOCKET, &scene->wakes) != ERR_OK) {
		printf("Bail out! %s\n", err_text());
		exit(1);
	}
}

static void
scene_end(struct scene *scene)
{
	close(scene->wakes);
	githost_stop(&scene->host);
	tool_end(&scene->tool);
	world_close(&scene->world);
}

struct look {
	const struct world *world;
	unsigned fences;
	struct peer one, two;
	int64_t off_since_s;
	enum err err;
};

static enum err
look_body(struct table_txn *txn, void *arg)
{
	struct look *look = arg;
	struct fences fences;
	enum err err = fences_get(txn, look->world->code, "p/r", &fences);

	look->fences = fences.n;
	if (err == ERR_OK)
		err = peer_get(txn, "one", &look->one);
	if (err == ERR_OK)
		err = peer_get(txn, "two", &look->two);
	return err == ERR_OK
	    ? route_off_get(txn, look->world->code, &look->off_since_s)
	    : err;
}

static struct look
look_at(const struct scene *scene)
{
	struct look look = { .world = &scene->world };

	look.err = table_read(scene->world.table, look_body, &look);
	return look;
}

static enum err
raise_fence(struct table_txn *txn, void *arg)
{
	const struct world *world = arg;

	return fence_begin(txn, world->code, "p/r", TOKEN, clock_boot_ms());
}

static bool
is_woken(struct scene *scene)
{
	char datagram[1024];

	return wake_receive(scene->wakes, 0, datagram, sizeof(datagram)) ==
	    ERR_OK;
}

/* In this order. */
static const struct {
	const char *claim, *words;
	const char *one, *two; /* what they have; NULL: nothing */
	bool fence;	       /* one goes up first */
	int status;
	const char *says;
	const char *lags; /* at "two", afterwards */
	unsigned fences;
	bool wakes;
} rows[] = {
	{ "both are equal", "compare code p/r", OID_A, OID_A, false, 0,
	    "  one            equal, marked, at generation 1\n"
	    "    primary  1 refs, ",
	    "", 0, false },
	{ "a name with .git", "compare code p/r.git", OID_A, OID_A, false, 0,
	    "code: p/r\n", "", 0, false },
	{ "as JSON", "compare --json code p/r", OID_A, OID_A, false, 0,
	    "{\"route\":\"code\",\"repository\":\"p/r\",\"fences\":[],"
	    "\"ended\":false,\"replicas\":[{\"upstream\":\"one\","
	    "\"outcome\":\"marked\",\"generation\":1,\"note\":null,"
	    "\"primary\":{\"digest\":\"",
	    "", 0, false },
	{ "a fence is up", "compare code p/r", OID_A, OID_A, true, 1,
	    "  two            not compared: a fence is up", "p/r", 1, true },
	{ "as JSON", "compare --json code p/r", OID_A, OID_A, false, 1,
	    "\"fences\":[{\"token\":\"" TOKEN "\",\"state\":\"up\",", "p/r", 1,
	    true },
	{ "its fence is ended", "compare --force code p/r", OID_A, OID_A, false,
	    0, "  ended by --force: 1 fence\n", "", 0, false },
	{ "nothing is left to end", "compare --json --force code p/r", OID_A,
	    OID_A, false, 0, "\"ended\":false", "", 0, false },
	{ "one differs", "compare code p/r", OID_A, OID_B, false, 1,
	    "  two            differs, at generation ", "p/r", 0, true },
	{ "one has none", "compare code p/r", OID_A, NULL, false, 1,
	    "    replica  no such repository\n", "p/r", 0, true },
};

static void
test_compare(void)
{
	struct scene scene;

	scene_begin(&scene, "compare");
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct look look;

		scene.host.one.oid = rows[i].one;
		scene.host.two.oid = rows[i].two;
		if (rows[i].fence)
			tap_int(table_write(scene.world.table, raise_fence,
				    &scene.world),
			    ERR_OK, "a fence goes up");
		tool_run(&scene.tool, rows[i].words);
		tap_int(scene.tool.status, rows[i].status, "%s: exit status",
		    rows[i].claim);
		tool_says(&scene.tool, rows[i].says, rows[i].claim);
		tap_str(world_lag(&scene.world, scene.world.code,
			    scene.world.two),
		    rows[i].lags, "%s: what lags then", rows[i].claim);
		look = look_at(&scene);
		tap_int(look.fences, rows[i].fences, "%s: fences then",
		    rows[i].claim);
		tap_int(is_woken(&scene), rows[i].wakes,
		    "%s: the daemon is told", rows[i].claim);
	}
	scene_end(&scene);
}

static const struct {
	const char *words;
	int status;
	const char *says; /* on either output */
} refusals[] = {
	{ "compare", 64, "1 or 2 words" },
	{ "compare p/r", 64, "which route: code, more?" },
	{ "compare images p/r", 64, "no such route: \"images\"" },
	{ "compare code p/none", 1, "the repository has no row" },
	{ "compare --json code p/none", 1, "\"replicas\":[]" },
	{ "drain", 64, "one upstream is wanted" },
	{ "drain one two", 64, "one upstream is wanted" },
	{ "drain nobody", 64, "no such upstream: \"nobody\"" },
	{ "drain main", 64, "main is no replica of any route" },
	{ "drain new", 64, "new is no replica of any route" },
	{ "off", 64, "which route: code, more?" },
	{ "on images", 64, "no such route: \"images\"" },
	{ "off code more", 64, "0 or 1 words are wanted" },
};

static void
test_refusals(void)
{
	struct scene scene;
	char *path;

	scene_begin(&scene, "refusals");
	for (size_t i = 0; i < COUNT(refusals); i++) {
		tool_run(&scene.tool, refusals[i].words);
		tap_int(scene.tool.status, refusals[i].status,
		    "%s: exit status", refusals[i].words);
		buf_puts(&scene.tool.out, scene.tool.errors.data);
		tool_says(&scene.tool, refusals[i].says, refusals[i].words);
	}
	tap_ok(!look_at(&scene).one.drained, "nothing was drained");
	path = mem_fmt("%s/" TABLE_FILE, scene.tool.dir);
	unlink(path);
	tool_run(&scene.tool, "compare code p/r");
	tap_ok(strstr(scene.tool.errors.data, "there is no table yet") != NULL,
	    "compare needs a table");
	tap_ok(access(path, F_OK) == -1, "and makes none");
	free(path);
	scene_end(&scene);
}

static const struct {
	const char *words, *says;
	bool one, two; /* then drained */
} drains[] = {
	{ "drain one",
	    "one: drained: no more reads go there, until \"reproute drain one "
	    "--undo\"\n",
	    true, false },
	{ "drain one", "one: drained", true, false },
	{ "drain two --json", "{\"upstream\":\"two\",\"drained\":true}", true,
	    true },
	{ "drain --undo one", "one: takes reads again\n", false, true },
	{ "drain --undo --json two",
	    "{\"upstream\":\"two\","
	    "\"drained\":false}",
	    false, false },
};

static void
test_drain(void)
{
	struct scene scene;

	scene_begin(&scene, "drain");
	for (size_t i = 0; i < COUNT(drains); i++) {
		struct look look;

		tool_run(&scene.tool, drains[i].words);
		tap_int(scene.tool.status, 0, "%s: exit status",
		    drains[i].words);
		tool_says(&scene.tool, drains[i].says, drains[i].words);
		look = look_at(&scene);
		tap_ok(look.one.drained == drains[i].one &&
			look.two.drained == drains[i].two,
		    "%s: is in the table", drains[i].words);
	}
	scene_end(&scene);
}

static const struct {
	const char *words, *says;
	bool off; /* then */
} turns[] = {
	{ "on code", "code: on: replicas serve what they have\n", false },
	{ "off code",
	    "code: off: all reads go to the primary, until \"reproute "
	    "on\"\n",
	    true },
	{ "off --json more", "{\"route\":\"more\",\"off\":true}", true },
	{ "off code", "code: off", true },
	{ "on --json code", "{\"route\":\"code\",\"off\":false}", false },
};

static void
test_off(void)
{
	struct scene scene;

	scene_begin(&scene, "off");
	for (size_t i = 0; i < COUNT(turns); i++) {
		tool_run(&scene.tool, turns[i].words);
		tap_int(scene.tool.status, 0, "%s: exit status",
		    turns[i].words);
		tool_says(&scene.tool, turns[i].says, turns[i].words);
		tap_int(look_at(&scene).off_since_s != 0, turns[i].off,
		    "%s: is in the table", turns[i].words);
	}
	scene_end(&scene);
}

int
main(void)
{
	test_compare();
	test_refusals();
	test_drain();
	test_off();
	return tap_done();
}

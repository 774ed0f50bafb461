/* imports_test.c: both catalogues when due, and what expired is settled */
/* SPDX-License-Identifier: ISC */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/clock.h"
#include "sync/imports.h"
#include "sync/place.h"
#include "tests/unit/server.h"
#include "tests/unit/tap.h"
#include "tests/unit/world.h"

/* Whatever waits longer than that ends the test. */
#define PATIENCE_S 60
#define TOKEN "00112233445566778899aabbccddeeff"

static struct world world;

/* A registry: the answer to its catalogue, and how often that was asked. */
static struct registry {
	const char *path;
	atomic_uint status; /* of everything; 0: 200, or what tags say */
	atomic_bool silent; /* swallows what is asked of tags */
	atomic_uint catalogues, tags;
	char last[64]; /* the last query of a catalogue */
} old = { .path = "/old/v2/" }, new = { .path = "/new/v2/" };

static char urls[2][96];

static void
answer(void *arg, const struct server_request *request,
    struct server_reply *reply)
{
	struct registry *side = strncmp(request->target, old.path,
				    strlen(old.path)) == 0
	    ? &old
	    : &new;
	const char *rest = request->target + strlen(side->path);
	unsigned status;

	(void)arg;
	buf_puts(&reply->headers, "Content-Type: application/json\r\n");
	if (strncmp(rest, "_catalog", 8) == 0) {
		side->catalogues++;
		snprintf(side->last, sizeof(side->last), "%s", rest + 8);
		buf_fmt(&reply->body,
		    "{\"repositories\":[\"of-%s/a\","
		    "\"of-%s/b\"]}",
		    side == &old ? "old" : "new", side == &old ? "old" : "new");
	} else if (sscanf(rest, "s%u", &status) == 1) {
		/* a repository whose name says the status of its tags */
		side->tags++;
		reply->status = status;
		reply->silent = side->silent;
	}
	if (side->status != 0)
		reply->status = side->status;
}

/* What the table is asked or told of a name of a route. */
struct subject {
	const struct route *route;
	const char *name;
	const struct upstream *side;
	struct placement placement;
	struct import import;
	int64_t expires_s;
};

static enum err
read_placement(struct table_txn *txn, void *arg)
{
	struct subject *subject = arg;

	return place_get(txn, subject->route, subject->name,
	    &subject->placement);
}

/* "UPSTREAM final", "... provisional", "... put off" (an hour), or "none". */
static const char *
see(const struct route *route, const char *name)
{
	static char text[WORD_SIZE + 16];
	struct subject subject = { .route = route, .name = name };
	enum err err = table_read(world.table, read_placement, &subject);

	if (err == ERR_ABSENT)
		return "none";
	tap_must(err);
	sprintf(text, "%s %s", subject.placement.upstream,
	    subject.placement.state == PLACE_FINAL ? "final"
		: subject.placement.expires_s > clock_real_s() + 3000 &&
		    subject.placement.expires_s <= clock_real_s() + 3600
		? "put off"
		: "provisional");
	return text;
}

static enum err
read_import(struct table_txn *txn, void *arg)
{
	struct subject *subject = arg;

	return import_get(txn, subject->route, subject->side, &subject->import);
}

static enum err
write_import(struct table_txn *txn, void *arg)
{
	struct subject *subject = arg;

	return import_set(txn, subject->route, subject->side, &subject->import);
}

static bool
is_complete(const struct upstream *side)
{
	struct subject subject = { .route = world.images, .side = side };

	tap_must(table_read(world.table, read_import, &subject));
	return subject.import.completed_s != 0 && subject.import.started_s == 0;
}

/* Of the old side's import; the new side's was just completed. */
static const struct import_case {
	const char *claim;
	int64_t completed_s; /* so long ago; 0: never */
	bool started;	     /* one is under way, behind "m" */
	unsigned status;     /* of the new registry */
	unsigned asked;
} import_cases[] = {
	{ "never", 0, false, 0, 1 },
	{ "just now", 1, false, 0, 0 },
	{ "nearly import_s ago", 3500, false, 0, 0 },
	{ "import_s ago", 3601, false, 0, 1 },
	{ "one is under way", 1, true, 0, 1 },
	{ "in the future: the clock was set", -7200, false, 0, 1 },
	{ "never, and the other side fails", 0, false, 500, 1 },
};

static void
set_import(const struct upstream *side, int64_t ago_s, bool started)
{
	struct subject subject = { .route = world.images, .side = side };

	if (ago_s != 0)
		subject.import.completed_s = clock_real_s() - ago_s;
	if (started) {
		subject.import.started_s = clock_real_s();
		strcpy(subject.import.last, "m");
	}
	tap_must(table_write(world.table, write_import, &subject));
}

static void
test_due(const struct import_case *test)
{
	set_import(world.images->primary, test->completed_s, test->started);
	set_import(world.images->to, test->status != 0 ? 0 : 1, false);
	old.catalogues = new.catalogues = 0;
	new.status = test->status;
	imports_once(&world.conf, world.table);
	tap_int(old.catalogues, test->asked, "%s: asked", test->claim);
	tap_int(new.catalogues, test->status != 0, "%s: the other side",
	    test->claim);
	tap_ok(is_complete(world.images->primary), "%s: it is complete",
	    test->claim);
	tap_int(is_complete(world.images->to), test->status == 0,
	    "%s: so is the other", test->claim);
	if (test->started)
		tap_ok(strstr(old.last, "last=m") != NULL,
		    "%s: it goes on where it was", test->claim);
	new.status = 0;
}

static void
both_sides(void)
{
	imports_once(&world.conf, world.table);
	tap_int(old.catalogues, 1, "the old catalogue is read");
	tap_int(new.catalogues, 1, "and the new one");
	tap_str(see(world.images, "of-old/a"), "old final", "placed there");
	tap_str(see(world.images, "of-new/b"), "new final", "placed here");
	imports_once(&world.conf, world.table);
	tap_int(old.catalogues + new.catalogues, 2, "once; it is not due");
}

/* A route that is no more, and one that no longer migrates. */
static struct route gone, still;

static const struct settling {
	const char *name;
	const struct route *route;
	const char *side;
	int64_t ago_s; /* expired so long ago; below 0: it has not */
	const char *want;
} settlings[] = {
	/* the longest expired come first */
	{ "s404/of-no-route", &gone, "new", 900, "new put off" },
	{ "s404/of-still", &still, "old", 800, "old put off" },
	{ "s404/of-no-side", NULL, "was-there", 700, "was-there put off" },
	{ "s500/broken", NULL, "new", 600, "new put off" },
	{ "s404/absent", NULL, "new", 500, "none" },
	{ "s200/there", NULL, "new", 400, "new final" },
	{ "s404/old", NULL, "old", 300, "none" },
	{ "s200/old", NULL, "old", 200, "old final" },
	{ "s401/private", NULL, "old", 100, "old put off" },
	{ "s200/young", NULL, "new", -100, "new provisional" },
};
#define SETTLINGS (sizeof(settlings) / sizeof(settlings[0]))

static enum err
place(struct table_txn *txn, void *arg)
{
	const struct settling *settling = arg;
	const struct route *route = settling->route != NULL ? settling->route
							    : world.images;
	struct placement placement;
	enum err err;

	err = place_write(txn, route, settling->name, settling->side,
	    "included", TOKEN, false, &placement);
	return err == ERR_OK ? place_postpone(txn, route, settling->name,
				   clock_real_s() - settling->ago_s)
			     : err;
}

static const char *
see_settled(const struct settling *settling)
{
	return see(settling->route != NULL ? settling->route : world.images,
	    settling->name);
}

static void
settle(void)
{
	gone = still = *world.images;
	gone.name = "gone";
	still.name = "still";
	still.to = NULL;
	world.routes[0] = still;
	for (size_t i = 0; i < SETTLINGS; i++)
		tap_must(
		    table_write(world.table, place, (void *)&settlings[i]));
	old.tags = new.tags = 0;
	imports_once(&world.conf, world.table);
	for (size_t i = 0; i < SETTLINGS; i++)
		tap_str(see_settled(&settlings[i]), settlings[i].want, "%s/%s",
		    settlings[i].route != NULL ? settlings[i].route->name
					       : "images",
		    settlings[i].name);
	tap_int(old.tags, 3, "the old registry was asked for its own");
	tap_int(new.tags, 3, "and the new one for what it must have");
}

/* Nobody answers there: no other side has to wait, nor anybody for ever. */
static void
one_side_away(void)
{
	static const struct settling there = { "s404/behind", NULL, "old", 1,
		"none" };
	static const struct settling away[] = {
		{ "s404/away1", NULL, "new", 3, "new put off" },
		{ "s404/away2", NULL, "new", 2, "new put off" },
	};
	/* nobody listens there: the port is reserved (tcpmux) */
	static char nowhere[] = "http://127.0.0.1:1";
	struct upstream *to = &world.upstreams[5];

	for (size_t i = 0; i < 2; i++)
		tap_must(table_write(world.table, place, (void *)&away[i]));
	tap_must(table_write(world.table, place, (void *)&there));
	to->url = nowhere;
	imports_once(&world.conf, world.table);
	to->url = urls[1];
	for (size_t i = 0; i < 2; i++)
		tap_str(see_settled(&away[i]), away[i].want,
		    "its side is away: %s", away[i].name);
	tap_str(see_settled(&there), there.want, "the other side is not");
}

/* One that swallows requests costs one of them, or two, in a pass. */
static void
one_side_silent(void)
{
	struct settling settling = { NULL, NULL, "new", 1, "new put off" };
	char name[32];

	world.conf.sync.stall_ms = 1000;
	new.silent = true;
	new.tags = 0;
	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "s404/silent%d", i);
		settling.name = name;
		tap_must(table_write(world.table, place, &settling));
	}
	imports_once(&world.conf, world.table);
	tap_ok(new.tags == 1 || new.tags == 2, "asked %u times, not five",
	    new.tags);
	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "s404/silent%d", i);
		tap_str(see_settled(&settling), settling.want, "%s", name);
	}
	new.silent = false;
}

/* In the end, as its threads never do. */
static void
for_ever(void)
{
	static const struct settling one = { "s404/later", NULL, "new", 1,
		"none" };

	tap_must(table_write(world.table, place, (void *)&one));
	set_import(world.images->primary, 0, false);
	set_import(world.images->to, 0, false);
	tap_int(imports_start(&world.conf, world.table), ERR_OK, "started");
	while (!is_complete(world.images->primary) ||
	    !is_complete(world.images->to) ||
	    strcmp(see_settled(&one), one.want) != 0)
		usleep(10000);
	tap_ok(true, "both are imported, and what expired is settled");
}

int
main(void)
{
	struct server *server;
	int status;

	alarm(PATIENCE_S);
	world_open(&world, "imports");
	server = server_start(answer, NULL);
	snprintf(urls[0], sizeof(urls[0]), "%s/old", server_url(server));
	snprintf(urls[1], sizeof(urls[1]), "%s/new", server_url(server));
	world.upstreams[4].url = urls[0];
	world.upstreams[5].url = urls[1];
	both_sides();
	for (size_t i = 0; i < sizeof(import_cases) / sizeof(import_cases[0]);
	     i++)
		test_due(&import_cases[i]);
	set_import(world.images->primary, 1, false);
	set_import(world.images->to, 1, false);
	settle();
	one_side_away();
	one_side_silent();
	for_ever();
	status = tap_done();
	fflush(stdout);
	/* threads still run: leave without tearing down what they use */
	_exit(status);
}

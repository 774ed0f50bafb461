/* places_test.c: place, forget and import: what is said, what is done */
/* SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sync/place.h"
#include "sync/row.h"
#include "tests/unit/server.h"
#include "tests/unit/tap.h"
#include "tests/unit/tool.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/* Both registries, at "/old" and "/new". */
struct scene {
	struct world world;
	struct tool tool;
	struct server *server;
	char urls[2][64];
	bool broken; /* the new one answers 500 to all */
};

/* Who has a repository shows in its name. */
static void
answer(void *arg, const struct server_request *request,
    struct server_reply *reply)
{
	struct scene *scene = arg;
	bool new = strncmp(request->target, "/new/", 5) == 0;
	const char *path = request->target + 4;

	buf_puts(&reply->headers, "Content-Type: application/json\r\n");
	if (new && scene->broken)
		reply->status = 500;
	else if (strncmp(path, "/v2/_catalog", 12) == 0)
		buf_puts(&reply->body,
		    new ? "{\"repositories\":[\"t/both\",\"t/new\"]}"
			: "{\"repositories\":[\"t/both\",\"t/old\"]}");
	else if (strstr(path, "/t/both/") == NULL &&
	    strstr(path, new ? "/t/new/" : "/t/old/") == NULL)
		reply->status = 404;
	else
		buf_puts(&reply->body, "{\"tags\":[]}");
}

static void
scene_begin(struct scene *scene, const char *name)
{
	struct world *world = &scene->world;

	scene->broken = false;
	world_open(world, name);
	scene->server = server_start(answer, scene);
	snprintf(scene->urls[0], sizeof(scene->urls[0]), "%s/old",
	    server_url(scene->server));
	snprintf(scene->urls[1], sizeof(scene->urls[1]), "%s/new",
	    server_url(scene->server));
	for (size_t i = 0; i < world->conf.n_upstreams; i++) {
		struct upstream *upstream = &world->upstreams[i];

		if (strcmp(upstream->name, "old") == 0)
			upstream->url = scene->urls[0];
		else if (strcmp(upstream->name, "new") == 0)
			upstream->url = scene->urls[1];
	}
	world_learn(world, world->code, "p/r");
	tool_begin(&scene->tool, world, name, "", "");
}

static void
scene_end(struct scene *scene)
{
	server_stop(scene->server);
	tool_end(&scene->tool);
	world_close(&scene->world);
}

struct look {
	const struct world *world;
	char placed[256];
	bool has_row;
};

static enum err
look_body(struct table_txn *txn, void *arg)
{
	struct look *look = arg;
	char name[NAME_SIZE] = "", next[NAME_SIZE];
	struct placement placement;
	struct row row;
	enum err err = row_get(txn, look->world->code, "p/r", &row);
	size_t at = 0;

	look->has_row = err == ERR_OK;
	look->placed[0] = '\0';
	while ((err = place_next(txn, look->world->images, name, next,
		    &placement)) == ERR_OK) {
		at += (size_t)snprintf(look->placed + at,
		    sizeof(look->placed) - at, "%s=%s/%s/%d ", next,
		    placement.upstream, placement.reason, (int)placement.state);
		memcpy(name, next, sizeof(name));
	}
	return err == ERR_ABSENT ? ERR_OK : err;
}

static struct look
look_at(const struct scene *scene)
{
	struct look look = { .world = &scene->world };

	if (table_read(scene->world.table, look_body, &look) != ERR_OK)
		strcpy(look.placed, "(failed)");
	return look;
}

/* In this order: what one does the next one sees. */
static const struct step {
	const char *words;
	int status;
	const char *says;   /* on either output */
	const char *placed; /* afterwards */
} steps[] = {
	/* dry */
	{ "place t/new new", 0,
	    "would be done: placed on new, finally\n"
	    "nothing was changed: say --apply\n",
	    "" },
	{ "place t/new new", 0,
	    "images: t/new: not placed\n"
	    "  old            does not have it\n"
	    "  new            has it\n",
	    "" },
	/* refused where the other side may have it */
	{ "place --apply t/new old", 1,
	    "refused: that side is not known to "
	    "have it",
	    "" },
	{ "place --apply --json t/new old", 1, "\"refused\":\"that side", "" },
	/* one that is nowhere, or on both */
	{ "place t/none old", 0, "would be done: placed on old", "" },
	{ "place t/both old", 0, "would be done: placed on old", "" },
	/* done */
	{ "place --apply t/new new", 0, "done: placed on new, finally\n",
	    "t/new=new/admin/2 " },
	{ "place --apply --force images t/new old", 0, "done: placed on old",
	    "t/new=old/admin/2 " },
	{ "place t/new new", 0,
	    "images: t/new: placed on old, final, by "
	    "admin\n",
	    "t/new=old/admin/2 " },
	{ "place --json --apply t/new new", 0,
	    "{\"route\":\"images\","
	    "\"repository\":\"t/new\",\"known\":true,\"before\":\"old\","
	    "\"after\":\"new\",\"sides\":[{\"upstream\":\"old\",\"has\":"
	    "\"no\",\"why\":null},{\"upstream\":\"new\",\"has\":\"yes\","
	    "\"why\":null}],\"refused\":null,\"applied\":true}",
	    "t/new=new/admin/2 " },
	{ "forget images t/new", 0, "would be done: its placement is dropped",
	    "t/new=new/admin/2 " },
	{ "forget images t/none --apply", 0, "nothing to forget\n",
	    "t/new=new/admin/2 " },
	{ "forget --apply images t/new", 0, "done: its placement is dropped",
	    "" },
	{ "forget --json images t/new", 0,
	    "\"known\":false,\"before\":null,"
	    "\"after\":null,",
	    "" },
	/* what is wrong with the words */
	{ "place t/new", 64, "2 or 3 words", "" },
	{ "place t/new main", 64, "the sides old and new", "" },
	{ "place T/new new", 64, "can have that name", "" },
	{ "place code t/new new", 64,
	    "no such route: \"code\"; there is "
	    "images",
	    "" },
	{ "forget t/new", 64, "which route: code, more, images?", "" },
	{ "forget nowhere t/new", 64, "no such route", "" },
	{ "import nowhere", 64, "neither a route", "" },
	{ "import main", 64, "no route migrates from or to that", "" },
	{ "import images old more", 64, "at most", "" },
	/* the catalogues */
	{ "import images old", 0, "images: old: 2 names, 0 conflicts\n",
	    "t/both=old/import/2 t/old=old/import/2 " },
	{ "import", 0, "images: new: 2 names, 1 conflicts\n",
	    "t/both=old/import/2 t/new=new/import/2 t/old=old/import/2 " },
	{ "import --json new", 0,
	    "{\"imports\":[{\"route\":\"images\","
	    "\"upstream\":\"new\",\"names\":2,\"conflicts\":1,\"completed\":",
	    "t/both=old/import/2 t/new=new/import/2 t/old=old/import/2 " },
};

static void
run_step(struct scene *scene, const struct step *step)
{
	struct look look;

	tool_run(&scene->tool, step->words);
	tap_int(scene->tool.status, step->status, "%s: exit status",
	    step->words);
	buf_puts(&scene->tool.out, scene->tool.errors.data);
	tool_says(&scene->tool, step->says, step->words);
	look = look_at(scene);
	tap_str(look.placed, step->placed, "%s: then placed", step->words);
}

static void
test_steps(void)
{
	struct scene scene;

	scene_begin(&scene, "steps");
	for (size_t i = 0; i < COUNT(steps); i++)
		run_step(&scene, &steps[i]);
	scene_end(&scene);
}

/* A side that cannot tell is not one that has nothing. */
static const struct step broken_steps[] = {
	{ "place --apply t/new new", 1,
	    "  new            cannot tell: HTTP "
	    "500\nrefused: ",
	    "" },
	{ "place --apply t/none old", 1, "refused: ", "" },
	{ "place --apply t/old old", 0, "done: ", "t/old=old/admin/2 " },
	{ "place --json t/none old", 1,
	    "\"has\":\"unknown\",\"why\":\"HTTP "
	    "500\"",
	    "t/old=old/admin/2 " },
	/* the other catalogue is read all the same */
	{ "import", 69, "images: old: 2 names, 0 conflicts\n",
	    "t/both=old/import/2 t/old=old/admin/2 " },
	{ "import", 69, "not every catalogue could be read",
	    "t/both=old/import/2 t/old=old/admin/2 " },
};

static void
test_broken(void)
{
	struct scene scene;

	scene_begin(&scene, "broken");
	scene.broken = true;
	for (size_t i = 0; i < COUNT(broken_steps); i++)
		run_step(&scene, &broken_steps[i]);
	scene_end(&scene);
}

static const struct {
	const char *words;
	const char *says;
	bool has_row;
} git_steps[] = {
	{ "forget code p/r",
	    "code: p/r: has a row\nwould be done: its row is "
	    "dropped",
	    true },
	{ "forget --apply code p/none",
	    "code: p/none: has no row\nnothing to "
	    "forget\n",
	    true },
	{ "forget --apply code p/r.git", "done: its row is dropped", false },
	{ "forget --json --apply code p/r",
	    "{\"route\":\"code\","
	    "\"repository\":\"p/r\",\"known\":false,\"refused\":null,"
	    "\"applied\":false}",
	    false },
};

static void
test_git(void)
{
	struct scene scene;

	scene_begin(&scene, "git");
	for (size_t i = 0; i < COUNT(git_steps); i++) {
		tool_run(&scene.tool, git_steps[i].words);
		tap_int(scene.tool.status, 0, "%s: exit status",
		    git_steps[i].words);
		tool_says(&scene.tool, git_steps[i].says, git_steps[i].words);
		tap_int(look_at(&scene).has_row, git_steps[i].has_row,
		    "%s: then a row", git_steps[i].words);
	}
	scene_end(&scene);
}

int
main(void)
{
	test_steps();
	test_broken();
	test_git();
	return tap_done();
}

/* check_test.c: what is not as it must be, and how bad that is */
/* SPDX-License-Identifier: ISC */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fcgi/listener.h"
#include "sync/place.h"
#include "sync/pulse.h"
#include "sync/wake.h"
#include "tests/unit/tap.h"
#include "tests/unit/tool.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static void
write_file(const char *path, const char *text, mode_t mode)
{
	FILE *file = fopen(path, "we");

	if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0 ||
	    chmod(path, mode) == -1)
		tap_must(err_sys("%s", path));
}

/* A host on which all is well, until a test spoils it. */
struct scene {
	struct world world;
	struct tool tool;
	struct pulse *pulse;
	struct listener *router;
	int feed, wake;
	char *secret;
};

static void
scene_begin(struct scene *scene, const char *name)
{
	char *more, *socket;

	world_open(&scene->world, name);
	scene->secret = mem_fmt("%s/%s/secret", tap_dir(), name);
	more = mem_fmt("push = { token_file = \"%s\"; };", scene->secret);
	tool_begin(&scene->tool, &scene->world, name, "", more);
	write_file(scene->secret, "a-secret-of-24-characters\n", 0600);
	if (chmod(scene->tool.dir, 02770) == -1)
		tap_must(err_sys("chmod"));
	tap_must(pulse_open(scene->tool.dir, true, &scene->pulse));
	pulse_beat(scene->pulse);
	tap_must(wake_bind(scene->tool.dir, FEED_SOCKET, &scene->feed));
	tap_must(wake_bind(scene->tool.dir, WAKE_SOCKET, &scene->wake));
	socket = mem_fmt("%s/fcgi.sock", scene->tool.dir);
	tap_must(listener_open(socket, 0660, &scene->router));
	free(socket);
	free(more);
}

static void
scene_end(struct scene *scene)
{
	listener_close(scene->router);
	close(scene->wake);
	close(scene->feed);
	pulse_close(scene->pulse);
	free(scene->secret);
	tool_end(&scene->tool);
	world_close(&scene->world);
}

static const char *const well[] = {
	"ok       configuration: ",
	"/c.conf: 6 upstreams, 3 routes\n",
	" rules: ",
	" state_dir: ",
	"ok       table: format 1, ",
	"ok       placements: the upstreams of all are there\n",
	" run_dir: ",
	"ok       heartbeat: ",
	" s ago; good for 180 s\n",
	"ok       feed.sock: the daemon listens\n",
	"ok       wake.sock: the daemon listens\n",
	"ok       fcgi.sock: the router listens\n",
};

static void
test_well(void)
{
	struct scene scene;

	scene_begin(&scene, "well");
	tool_run(&scene.tool, "check");
	/* where a user reproute is, this directory and file are not its */
	if (getpwnam("reproute") == NULL) {
		tap_int(scene.tool.status, 0, "all is well");
		tool_says(&scene.tool, "ok       state_dir: ", "state_dir");
		tool_says(&scene.tool,
		    "ok       push.token_file: ", "push.token_file");
	}
	for (size_t i = 0; i < COUNT(well); i++) {
		char claim[32];

		snprintf(claim, sizeof(claim), "all is well: piece %zu", i);
		tool_says(&scene.tool, well[i], claim);
	}
	tool_run(&scene.tool, "check -t");
	tap_int(scene.tool.status, 0, "the configuration only");
	tap_ok(strchr(scene.tool.out.data, '\n') ==
		scene.tool.out.data + scene.tool.out.len - 1,
	    "is one line");
	tool_run(&scene.tool, "-t");
	tool_says(&scene.tool,
	    "ok       configuration: ", "the same without a verb");
	tool_run(&scene.tool, "check -t --json");
	tool_says(&scene.tool,
	    "{\"checks\":[{\"level\":\"ok\",\"subject\":"
	    "\"configuration\",\"text\":\"",
	    "as JSON");
	tool_says(&scene.tool, "\"}],\"errors\":0}", "with a sum");
	tool_run(&scene.tool, "check more");
	tap_int(scene.tool.status, 64, "it takes no operand");
	scene_end(&scene);
}

static enum err
lose_upstream(struct table_txn *txn, void *arg)
{
	const struct world *world = arg;

	return place_set(txn, world->images, "team/lost", "gone");
}

static void
spoil_placement(struct scene *scene)
{
	tap_must(table_write(scene->world.table, lose_upstream, &scene->world));
}

static void
spoil_doubt(struct scene *scene)
{
	tap_must(pulse_claim(scene->pulse));
	(void)!pulse_doubt_raise(scene->pulse, scene->world.code);
}

static void
spoil_secret(struct scene *scene)
{
	write_file(scene->secret, "short\n", 0600);
}

static void
spoil_secret_mode(struct scene *scene)
{
	write_file(scene->secret, "a-secret-of-24-characters\n", 0644);
}

static void
spoil_dir_mode(struct scene *scene)
{
	if (chmod(scene->tool.dir, 02777) == -1)
		tap_must(err_sys("chmod"));
}

static void
spoil_dir_group(struct scene *scene)
{
	if (chmod(scene->tool.dir, 0770) == -1)
		tap_must(err_sys("chmod"));
}

static void
unlink_in(struct scene *scene, const char *name)
{
	char *path = mem_fmt("%s/%s", scene->tool.dir, name);

	if (unlink(path) == -1)
		tap_must(err_sys("%s", path));
	free(path);
}

static void
spoil_pulse(struct scene *scene)
{
	unlink_in(scene, "pulse");
}

static void
spoil_feed(struct scene *scene)
{
	unlink_in(scene, FEED_SOCKET);
}

static void
spoil_router(struct scene *scene)
{
	listener_close(scene->router);
	scene->router = NULL;
}

static enum err
start(void *arg, bool first)
{
	(void)arg;
	(void)first;
	return ERR_OK;
}

/* One that a web server started listens elsewhere. */
static void
move_router(struct scene *scene)
{
	spoil_router(scene);
	tap_must(pulse_join(scene->pulse, start, NULL));
}

/* The configuration says this of its route code. */
static void
say_of_code(struct scene *scene, const char *keys)
{
	char *words = mem_fmt("sed -i 's#name = \"code\";#& %s#' %s", keys,
	    scene->tool.conf);

	if (system(words) != 0)
		tap_must(err_set(ERR_SYS, "%s", words));
	free(words);
}

static void
spoil_strict_time(struct scene *scene)
{
	say_of_code(scene, "hooks = \"strict\"; fence_s = 59;");
}

static void
spoil_strict_proof(struct scene *scene)
{
	say_of_code(scene, "hooks = \"strict\"; proof = \"commit\";");
}

static void
spoil_table(struct scene *scene)
{
	unlink_in(scene, TABLE_FILE);
}

static const struct {
	const char *name;
	void (*spoil)(struct scene *);
	int status;
	const char *says;
	bool no_user; /* only where there is no user reproute */
} rows[] = {
	{ "placement", spoil_placement, 1,
	    "error    placements: team/lost is "
	    "placed on the upstream \"gone\"",
	    false },
	{ "doubt", spoil_doubt, 1, "error    code: in doubt: ", false },
	{ "secret", spoil_secret, 1, "error    push.token_file: ", false },
	{ "secret-mode", spoil_secret_mode, 1,
	    "error    push.token_file: ", false },
	{ "pulse", spoil_pulse, 1, "error    heartbeat: ", false },
	{ "dir-mode", spoil_dir_mode, 0,
	    "is open to everybody: chmod o= ", true },
	{ "dir-group", spoil_dir_group, 0, ": chmod g+s ", true },
	{ "feed", spoil_feed, 0,
	    "/feed.sock: nobody listens; does the daemon "
	    "run?\n",
	    true },
	{ "router", spoil_router, 0, "warning  fcgi.sock: ", true },
	{ "router-moved", move_router, 0,
	    "ok       fcgi.sock: nobody listens, but a router runs: ", true },
	{ "strict-time", spoil_strict_time, 0,
	    "warning  code: hooks = \"strict\" does not hold with fence_s = "
	    "59: ",
	    true },
	{ "strict-proof", spoil_strict_proof, 0,
	    "warning  code: hooks = \"strict\" does not hold with proof = ",
	    true },
	{ "table", spoil_table, 0, "warning  table: there is none yet", true },
};

static void
test_spoilt(void)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct scene scene;

		if (rows[i].no_user && getpwnam("reproute") != NULL)
			continue;
		scene_begin(&scene, rows[i].name);
		rows[i].spoil(&scene);
		tool_run(&scene.tool, "check");
		tap_int(scene.tool.status, rows[i].status, "%s: exit status",
		    rows[i].name);
		tool_says(&scene.tool, rows[i].says, rows[i].name);
		scene_end(&scene);
	}
}

/* Neither directory is there. */
static void
test_nothing(void)
{
	struct world world;
	struct tool tool;
	char *words;

	world_open(&world, "nothing");
	tool_begin(&tool, &world, "nothing", "", "");
	tool_run(&tool, "check");
	tap_int(tool.status, 1, "no daemon");
	tool_says(&tool, "error    heartbeat: ", "no daemon: no heartbeat");
	words = mem_fmt("sed -i 's#_dir = \"[^\"]*#&/none#g' %s", tool.conf);
	tap_int(system(words), 0, "other directories");
	free(words);
	tool_run(&tool, "check --json");
	tap_int(tool.status, 1, "no directories");
	tool_says(&tool, "\"subject\":\"state_dir\"", "no state_dir");
	tool_says(&tool, "-g www-data -m 2750", "how to make run_dir");
	tool_says(&tool, "\"errors\":2}", "two errors");
	tool_end(&tool);
	world_close(&world);
}

int
main(void)
{
	test_well();
	test_spoilt();
	test_nothing();
	return tap_done();
}

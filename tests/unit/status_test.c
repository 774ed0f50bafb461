/* status_test.c: how the routes are, and one repository */
/* SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "conf/clock.h"
#include "fcgi/listener.h"
#include "fcgi/overview.h"
#include "sync/fence.h"
#include "sync/place.h"
#include "sync/pulse.h"
#include "sync/stamps.h"
#include "sync/wake.h"
#include "tests/unit/tap.h"
#include "tests/unit/tool.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define TOKEN "0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210"
/* Fenced repositories beside the one that is told apart. */
#define CROWD (MAX_SHOWN + 3)

static enum err
fill_fences(struct table_txn *txn, void *arg)
{
	const struct world *world = arg;
	int64_t now_ms = clock_boot_ms();
	enum err err = fence_begin(txn, world->code, "p/up", TOKEN, now_ms);

	if (err == ERR_OK)
		err = fence_begin(txn, world->code, "p/up", OTHER, now_ms);
	return err == ERR_OK ? fence_broken(txn, world->code, "p/up", OTHER)
			     : err;
}

static enum err
fill_others(struct table_txn *txn, void *arg)
{
	const struct import import = { .completed_s = 1,
		.names = 2,
		.conflicts = 1 };
	const struct world *world = arg;
	const struct route *images = world->images;
	struct placement placement;
	bool changed;
	enum err err;

	if ((err = peer_set_down(txn, world->two, "timeout", &changed)) !=
		ERR_OK ||
	    (err = peer_drain(txn, "one", true)) != ERR_OK ||
	    (err = route_off_set(txn, world->more, true)) != ERR_OK ||
	    (err = import_set(txn, images, images->primary, &import)) !=
		ERR_OK ||
	    (err = place_set(txn, images, "team/final", "new")) != ERR_OK)
		return err;
	return place_write(txn, images, "team/young", "old", "not-included",
	    TOKEN, false, &placement);
}

static enum err
fill_crowd(struct table_txn *txn, void *arg)
{
	const struct world *world = arg;
	char name[32], token[TOKEN_SIZE];
	enum err err = ERR_OK;

	for (unsigned i = 0; i < CROWD && err == ERR_OK; i++) {
		snprintf(name, sizeof(name), "q/%02u", i);
		token_new(token);
		err = fence_begin(txn, world->code, name, token,
		    clock_boot_ms());
	}
	return err;
}

struct scene {
	struct world world;
	struct tool tool;
	struct pulse *pulse;
};

static void
scene_begin(struct scene *scene, const char *name)
{
	world_open(&scene->world, name);
	tool_begin(&scene->tool, &scene->world, name, "", "");
	tap_must(pulse_open(scene->tool.dir, true, &scene->pulse));
}

static void
scene_end(struct scene *scene)
{
	pulse_close(scene->pulse);
	tool_end(&scene->tool);
	world_close(&scene->world);
}

/* As the daemon does, of the route code. */
static void
tell(const struct scene *scene, int64_t bound_ms, int64_t polled)
{
	const struct pace pace = { clock_boot_ms(), bound_ms, polled };
	struct stamps *stamps = NULL;

	tap_must(stamps_open(scene->tool.dir, true, &stamps));
	stamps_tell(stamps, scene->world.code, &pace);
	stamps_close(stamps);
}

static void
fill_tally(const struct scene *scene)
{
	const struct decision lagging = { .upstream = "main",
		.reason = REASON_LAGGING };
	const struct decision replica = { .upstream = "one",
		.reason = REASON_REPLICA };
	const struct route *code = scene->world.code;

	tally_decision(scene->pulse, code, &replica);
	tally_decision(scene->pulse, code, &lagging);
	tally_decision(scene->pulse, code, &replica);
	tally_event(scene->pulse, code, TALLY_WAITED);
	tally_event(scene->pulse, code, TALLY_WAITED);
	tally_event(scene->pulse, code, TALLY_LATE);
	tally_event(scene->pulse, code, TALLY_SERVED);
}

static void
fill(struct scene *scene)
{
	struct world *world = &scene->world;

	/* an hour more than a week, so that it is a week for long */
	world->images->provisional_s = 7 * 86400 + 3600;
	world_learn(world, world->code, "p/fresh p/up");
	world_mark(world, world->code, world->one, "p/fresh");
	tap_must(table_write(world->table, fill_fences, world));
	tap_must(table_write(world->table, fill_others, world));
	pulse_beat(scene->pulse);
	fill_tally(scene);
	tell(scene, 9999, 3);
}

static const char *const text_pieces[] = {
	"state      yellow\n",
	"daemon     heartbeat ",
	" s ago\ntable      ",
	" reader slots\n",
	"\ncode (git, /git/)\n",
	"  main           2 repositories known, 1 fenced\n"
	"  freshness      reported changes are seen at once, others within "
	"10 s of a read (poll_s), else 60 min (sweep_s)\n"
	"  one ",
	"  one            up, drained, lags in 1\n",
	"  two            down, lags in 2; since ",
	" s: timeout\n",
	"    p/up                           1 up, 1 broken off, 0 watched, "
	"oldest ",
	"  decided        lagging 1, replica 2\n"
	"  replicas       served 2 of 3, 66 %\n"
	"  waited         2 for a mark: replicas served 1, none came in time "
	"for 1\n",
	"\nmore (git, /more/)\n  switched off since ",
	" s: all reads go to the primary until \"reproute on more\"\n",
	"  other          0 repositories known, 0 fenced\n"
	"  freshness      reported changes are seen at once, others are not: "
	"reproute-syncd does not run, or only with --once\n",
	"\nimages (registry, /v2/)\n",
	"  both catalogues were not imported yet: what has no place stays "
	"on old\n",
	"  old            0 placed, 1 provisional; imported ",
	": 2 names, 1 conflicts\n",
	"  new            1 placed, 0 provisional; never imported "
	"completely: 0 names, 0 conflicts\n",
};

static const char *const json_pieces[] = {
	"{\"red\":false,\"yellow\":true,\"heartbeat_ms\":",
	"\"heartbeat_error\":null,\"table_error\":null,",
	"{\"route\":\"code\",\"kind\":\"git\",\"prefix\":\"/git/\","
	"\"mode\":\"serve\",\"primary\":\"main\",\"doubt\":false,\"off\":false,\"epoch\":0,"
	"\"known\":2,\"freshness\":{\"strict\":false,\"why\":\"poll_s\","
	"\"unreported_s\":10,\"unread_s\":3600,\"read\":3},",
	"\"freshness\":{\"strict\":false,\"why\":\"unseen\",\"unreported_s\":null},",
	"{\"upstream\":\"one\",\"down\":false,\"why\":null,\"since\":0,"
	"\"drained\":true,\"epoch\":0,\"lagging\":1,",
	"{\"upstream\":\"two\",\"down\":true,\"why\":\"timeout\",\"since\":",
	"\"fenced\":1,\"fences\":[{\"repository\":\"p/up\",\"up\":1,"
	"\"broken_off\":1,\"watched\":0,\"oldest_ms\":",
	"}],\"decided\":{\"lagging\":1,\"replica\":2},\"waited\":2,"
	"\"waited_served\":1,\"waited_late\":1,\"elsewhere\":2},{\"route\":\"more\",",
	"\"imported\":false,\"sides\":[{\"upstream\":\"old\",\"placed\":0,"
	"\"provisional\":1,\"completed\":1,\"started\":0,\"names\":2,"
	"\"conflicts\":1},{\"upstream\":\"new\",\"placed\":1,",
};

static void
says_all(struct tool *tool, const char *words, const char *const *pieces,
    size_t n, int status)
{
	tool_run(tool, words);
	tap_int(tool->status, status, "%s: exit status", words);
	for (size_t i = 0; i < n; i++) {
		char claim[160];

		snprintf(claim, sizeof(claim), "%s: piece %zu", words, i);
		tool_says(tool, pieces[i], claim);
	}
}

static void
test_overview(void)
{
	struct scene scene;

	scene_begin(&scene, "overview");
	fill(&scene);
	says_all(&scene.tool, "status", text_pieces, COUNT(text_pieces), 0);
	says_all(&scene.tool, "status --json", json_pieces, COUNT(json_pieces),
	    0);
	tap_must(table_write(scene.world.table, fill_crowd, &scene.world));
	tool_run(&scene.tool, "status");
	tool_says(&scene.tool, ", 24 fenced\n", "all fences are counted");
	tool_says(&scene.tool, "    and 4 more\n", "not all are shown");
	scene_end(&scene);
}

/* With a poll_s of 10 and a poll_rate of 20; text and JSON say the same. */
static const struct {
	const char *claim;
	size_t replicas;
	enum proof proof;
	int64_t told_ago_ms; /* -1: never */
	int64_t bound_ms, polled;
	const char *text, *json;
} freshnesses[] = {
	{ "no replicas", 0, PROOF_REFS, 0, 9000, 9, "", "{}\n" },
	{ "nobody polls", 2, PROOF_REFS, -1, 0, 0,
	    "others are not: reproute-syncd does not run, or only with "
	    "--once\n",
	    "\"why\":\"unseen\",\"unreported_s\":null}" },
	{ "nobody does any more", 2, PROOF_REFS, 180001, 9000, 9,
	    "others are not: reproute-syncd", "\"unseen\"" },
	{ "nothing is read", 2, PROOF_REFS, 1000, 0, 0,
	    "others within 10 s of a read (poll_s), else 60 min (sweep_s)\n",
	    "\"why\":\"poll_s\",\"unreported_s\":10,\"unread_s\":3600,"
	    "\"read\":0}" },
	{ "in time", 2, PROOF_REFS, 1000, 10000, 9, "within 10 s of a read",
	    "\"read\":9}" },
	{ "more than poll_rate allows for", 2, PROOF_REFS, 1000, 33001, 340,
	    "others within 34 s of a read (340 are read, at poll_rate 20; "
	    "poll_s is 10), else",
	    "\"why\":\"poll_rate\",\"unreported_s\":34," },
	{ "as much as it allows for", 2, PROOF_REFS, 1000, 10001, 100,
	    "others within 11 s of a read (poll_s is 10), else",
	    "\"why\":\"late\",\"unreported_s\":11," },
	{ "by commit", 2, PROOF_COMMIT, 1000, 9000, 9,
	    "others are not (proof = \"commit\")\n",
	    "\"why\":\"proof\",\"unreported_s\":null}" },
};

static void
test_strict(void)
{
	const struct conf conf = { .sync = { .sweep_ms = 3600000 } };
	const struct route route = { .n_replicas = 1,
		.hooks = HOOKS_STRICT,
		.poll_ms = 10000 };
	const struct pace pace = { .bound_ms = 10000 };
	struct fresh fresh = fresh_of(&conf, &route, &pace, 0);
	struct wire *wire = wire_new();
	struct buf text = { 0 }, json = { 0 };

	fresh_text(&conf, &route, &fresh, &text);
	fresh_json(&conf, &route, &fresh, wire);
	wire_finish(wire, &json);
	tap_ok(strstr(text.data,
		   "strict: changes by git are seen at once, "
		   "others within 10 s of a read") != NULL,
	    "strict hooks: %s", text.data);
	tap_ok(strstr(json.data, "\"strict\":true") != NULL, "%s", json.data);
	buf_free(&text);
	buf_free(&json);
}

static void
test_fresh(void)
{
	const struct conf conf = { .sync = { .valid_ms = 180000,
				       .sweep_ms = 3600000 } };

	for (size_t i = 0; i < COUNT(freshnesses); i++) {
		const struct route route = {
			.n_replicas = freshnesses[i].replicas,
			.proof = freshnesses[i].proof,
			.poll_ms = 10000,
			.poll_rate = 20,
		};
		const struct pace pace = { .told_ms = 500000 -
			    freshnesses[i].told_ago_ms,
			.bound_ms = freshnesses[i].bound_ms,
			.polled = freshnesses[i].polled };
		struct fresh fresh = fresh_of(&conf, &route,
		    freshnesses[i].told_ago_ms == -1 ? NULL : &pace, 500000);
		struct wire *wire = wire_new();
		struct buf text = { 0 }, json = { 0 };

		buf_puts(&text, "");
		fresh_text(&conf, &route, &fresh, &text);
		fresh_json(&conf, &route, &fresh, wire);
		wire_finish(wire, &json);
		tap_ok(strstr(text.data, freshnesses[i].text) != NULL, "%s: %s",
		    freshnesses[i].claim, text.data);
		tap_ok(strstr(json.data, freshnesses[i].json) != NULL, "%s: %s",
		    freshnesses[i].claim, json.data);
		buf_free(&text);
		buf_free(&json);
	}
}

/* Whatever a person must see to makes it red. */
static void
test_red(void)
{
	struct scene scene;
	char *path;

	scene_begin(&scene, "red");
	tool_run(&scene.tool, "status");
	tap_int(scene.tool.status, 1, "no beat: red");
	tool_says(&scene.tool,
	    "state      red\ndaemon     no heartbeat since "
	    "boot: start reproute-syncd",
	    "no beat: says so");
	pulse_beat(scene.pulse);
	tap_must(pulse_claim(scene.pulse));
	(void)!pulse_doubt_raise(scene.pulse, scene.world.more);
	tool_run(&scene.tool, "status");
	tap_int(scene.tool.status, 1, "doubt: red");
	tool_says(&scene.tool,
	    "\nmore (git, /more/)\n  in doubt: ", "doubt: says of which route");
	path = mem_fmt("%s/pulse", scene.tool.dir);
	/* what root cannot open either */
	if (unlink(path) == -1 || symlink("pulse", path) == -1)
		tap_must(err_sys("%s", path));
	free(path);
	tool_run(&scene.tool, "status");
	tap_int(scene.tool.status, 1, "no pulse to be read: red");
	tool_says(&scene.tool, "/pulse: Too many levels of symbolic links\n",
	    "and why");
	tool_run(&scene.tool, "status --json");
	tool_says(&scene.tool, "Too many levels of symbolic links\",\"table",
	    "in JSON, too");
	path = mem_fmt("%s/stamps", scene.tool.dir);
	if (symlink("stamps", path) == -1)
		tap_must(err_sys("%s", path));
	free(path);
	tool_run(&scene.tool, "status");
	tap_ok(strstr(scene.tool.out.data, "freshness") == NULL,
	    "stamps that cannot be read tell nothing");
	scene_end(&scene);
}

static void
unlink_socket(const struct scene *scene, const char *name)
{
	char *path = mem_fmt("%s/%s", scene->tool.dir, name);

	if (unlink(path) == -1)
		tap_must(err_sys("%s", path));
	free(path);
}

/* As of a program that was killed. */
static void
leave_socket(const struct scene *scene, const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s",
	    scene->tool.dir, name);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) == -1 ||
	    listen(fd, 1) == -1)
		tap_must(err_sys("%s", address.sun_path));
	close(fd);
}

static void
test_no_table(void)
{
	struct scene scene;
	char *path;
	int feed;

	scene_begin(&scene, "none");
	pulse_beat(scene.pulse);
	path = mem_fmt("%s/" TABLE_FILE, scene.tool.dir);
	world_close(&scene.world);
	unlink(path);
	tool_run(&scene.tool, "status");
	tap_int(scene.tool.status, 0, "no table yet: green");
	tool_says(&scene.tool, "\ntable      none yet\n", "and says so");
	tap_must(wake_bind(scene.tool.dir, FEED_SOCKET, &feed));
	tool_run(&scene.tool, "status");
	tool_says(&scene.tool, "state      green\n", "a daemon that listens");
	close(feed);
	tool_run(&scene.tool, "status");
	tap_int(scene.tool.status, 0, "and does no more: its beat is fresh");
	tool_says(&scene.tool, "state      yellow\n", "but somebody must act");
	tool_says(&scene.tool,
	    "\n           reproute-syncd runs no more: ", "and is told so");
	tool_run(&scene.tool, "status --json");
	tool_says(&scene.tool, "\"daemon_gone\":true,", "in JSON, too");
	unlink_socket(&scene, FEED_SOCKET);
	tool_run(&scene.tool, "status");
	tool_says(&scene.tool, "state      green\n", "there never was one");
	leave_socket(&scene, ROUTER_SOCKET);
	tool_run(&scene.tool, "status");
	tool_says(&scene.tool, "state      yellow\n", "a router was killed");
	tool_says(&scene.tool, "\nrouter     nobody listens at ", "is said");
	tool_run(&scene.tool, "status --json");
	tool_says(&scene.tool, "\"router_gone\":true,", "in JSON, too");
	tool_run(&scene.tool, "status p/r");
	tap_int(scene.tool.status, 1, "no table: knows no repository");
	if (mkdir(path, 0700) == -1)
		tap_must(err_sys("%s", path));
	tool_run(&scene.tool, "status");
	tap_int(scene.tool.status, 1, "no table can be there: red");
	tool_says(&scene.tool, TABLE_FILE, "and why");
	free(path);
	pulse_close(scene.pulse);
	tool_end(&scene.tool);
}

static const struct {
	const char *words;
	int status;
	const char *says;
} names[] = {
	{ "status p/fresh", 0, "code: p/fresh\n  generation 1, since " },
	{ "status p/fresh", 0,
	    " s\n  one            current, seen equal at "
	    "generation 1, " },
	{ "status p/fresh", 0,
	    " s ago; drained\n  two            lags, never "
	    "seen equal; down: timeout\n" },
	{ "status code p/fresh.git", 0, "code: p/fresh\n" },
	{ "status p/up", 0, "  fence " TOKEN ": up, " },
	{ "status p/up", 0,
	    " s old; waits for its hook, its line, or "
	    "fence_s\n  fence " OTHER ": broken off, " },
	{ "status p/up", 0,
	    " s old; its line does not say that it is over; waits for its "
	    "hook, or fence_s\n" },
	{ "status q/00", 0, "code: q/00\n  no row yet\n  fence " },
	{ "status team/final", 0,
	    "images: team/final\n  on new: final, by "
	    "admin, since " },
	{ "status images team/young", 0,
	    "images: team/young\n  on old: "
	    "provisional, by not-included, since " },
	{ "status images team/young", 0,
	    " s; without a manifest, its registry is asked in 7 d\n" },
	{ "status more p/fresh", 1, "no route knows that repository yet\n" },
	{ "status --json p/none", 1, "{\"routes\":[]}" },
	{ "status --json p/fresh", 0,
	    "{\"routes\":[{\"route\":\"code\","
	    "\"repository\":\"p/fresh\",\"generation\":1,\"changed\":" },
	{ "status --json p/fresh", 0,
	    "{\"upstream\":\"two\","
	    "\"current\":false,\"generation\":0,\"at\":0,\"down\":true,"
	    "\"drained\":false," },
	{ "status --json p/fresh", 0, "}],\"fences\":[]}]}" },
	{ "status --json p/up", 0, "\"fences\":[{\"token\":\"" },
	{ "status --json team/final", 0,
	    "\"repository\":\"team/final\","
	    "\"upstream\":\"new\",\"state\":\"final\",\"reason\":\"admin\"," },
	{ "status nowhere p/fresh", 64, "" },
	{ "status a b c", 64, "" },
	{ "status ''", 64, "" },
};

static void
test_names(void)
{
	struct scene scene;

	scene_begin(&scene, "names");
	fill(&scene);
	tap_must(table_write(scene.world.table, fill_crowd, &scene.world));
	for (size_t i = 0; i < COUNT(names); i++) {
		tool_run(&scene.tool, names[i].words);
		tap_int(scene.tool.status, names[i].status,
		    "row %zu: exit status", i);
		tool_says(&scene.tool, names[i].says, names[i].words);
	}
	scene_end(&scene);
}

int
main(void)
{
	test_overview();
	test_fresh();
	test_strict();
	test_red();
	test_no_table();
	test_names();
	return tap_done();
}

/* decide_test.c: whole requests, what is committed, what is answered */
/* SPDX-License-Identifier: ISC */
#include "fcgi/decide.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/tally.h"
#include "sync/fence.h"
#include "sync/place.h"
#include "sync/wake.h"
#include "tests/unit/cgi.h"
#include "tests/unit/scene.h"
#include "tests/unit/tap.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static void
handle(struct gateway_request *request, void *arg)
{
	decide_request(request, arg);
}

/* "UPSTREAM REASON", and whether there is a token. */
static const char *
ask(struct scene *scene, const char *method, const char *target, bool *token)
{
	static char said[128];
	char *variables =
	    mem_fmt("FCGI_ROLE=AUTHORIZER\nREMOTE_ADDR=192.0.2.1"
		    "\nREMOTE_PORT=4000\nREQUEST_METHOD=%s\nREQUEST_URI=%s\n",
		method, target);
	const char *answer = cgi_ask(handle, &scene->decide, variables);
	char upstream[32] = "-", reason[32] = "-";
	const char *at;

	if ((at = strstr(answer, "_UPSTREAM: ")) != NULL)
		sscanf(at + 11, "%31s", upstream);
	if ((at = strstr(answer, "_REASON: ")) != NULL)
		sscanf(at + 9, "%31s", reason);
	*token = strstr(answer, "_TOKEN: ") != NULL;
	snprintf(said, sizeof(said), "%s %s", upstream, reason);
	free(variables);
	return said;
}

/* What the daemon was woken for, "" where it was not. */
static const char *
woken(struct scene *scene)
{
	static char text[2 * NAME_SIZE];
	char datagram[1024], route[WORD_SIZE], name[NAME_SIZE];

	/* sent before the answer was: no need to wait */
	if (wake_receive(scene->wakes, 0, datagram, sizeof(datagram)) !=
		ERR_OK ||
	    wake_parse(datagram, route, name) != ERR_OK)
		return "";
	snprintf(text, sizeof(text), "%s %s", route, name);
	return text;
}

static const struct {
	const char *method, *target, *says;
	bool token;
	const char *wakes;
} rows[] = {
	{ "GET", "/git/p/fresh/info/refs?service=git-upload-pack",
	    "one replica", false, "" },
	{ "GET", "/git/p/lags/info/refs?service=git-upload-pack",
	    "main lagging", false, "code p/lags" },
	{ "POST", "/git/p/new/git-upload-pack", "main unknown", false,
	    "code p/new" },
	/* asked for a moment ago */
	{ "POST", "/git/p/new/git-upload-pack", "main unknown", false, "" },
	{ "GET", "/git/p/fresh/info/refs?service=git-receive-pack",
	    "main write", false, "" },
	{ "POST", "/git/p/fresh/git-receive-pack", "main write", true,
	    "code p/fresh" },
	{ "POST", "/git/p/fresh/git-upload-pack", "main fenced", false, "" },
	{ "POST", "/git/a%0ab/git-receive-pack", "main write", false, "" },
	{ "GET", "/git/p/fresh/archive", "main other", false, "" },
	{ "GET", "/elsewhere", "- no-route", false, "" },
	{ "GET", "/v2/", "old other", false, "" },
	{ "GET", "/v2/team/a/tags/list", "new included", false, "" },
	{ "POST", "/v2/team/a/blobs/uploads/", "new included", true, "" },
	{ "GET", "/v2/team/a/tags/list", "new placed", false, "" },
	{ "PUT", "/v2/team/kept/manifests/v1", "old placed", true, "" },
	{ "PUT", "/v2/else/b/manifests/v1", "old not-included", true, "" },
	{ "DELETE", "/v2/else/c/manifests/v1", "old not-included", false, "" },
	/* on an upstream that the configuration has no more */
	{ "GET", "/v2/team/lost/tags/list", "hold held", false, "" },
	{ "PUT", "/v2/team/lost/manifests/v1", "hold held", false, "" },
};

struct look {
	struct world *world;
	struct fences fences;
	char placed[256];
};

static enum err
look_body(struct table_txn *txn, void *arg)
{
	struct look *look = arg;
	const struct route *images = look->world->images;
	char name[NAME_SIZE] = "", next[NAME_SIZE];
	struct placement placement;
	enum err err = fences_get(txn, look->world->code, "p/fresh",
	    &look->fences);

	look->placed[0] = '\0';
	while (err == ERR_OK &&
	    (err = place_next(txn, images, name, next, &placement)) == ERR_OK) {
		size_t at = strlen(look->placed);

		snprintf(look->placed + at, sizeof(look->placed) - at,
		    "%s=%s/%d ", next, placement.upstream,
		    (int)placement.state);
		memcpy(name, next, sizeof(name));
	}
	return err == ERR_ABSENT ? ERR_OK : err;
}

static void
test_answers(void)
{
	struct scene scene;
	struct look look = { .world = &scene.world };
	bool token;

	scene_begin(&scene, "answers", false, false, NULL);
	for (size_t i = 0; i < COUNT(rows); i++) {
		tap_str(ask(&scene, rows[i].method, rows[i].target, &token),
		    rows[i].says, "%s %s", rows[i].method, rows[i].target);
		tap_int(token, rows[i].token, "row %zu: a token", i);
		tap_str(woken(&scene), rows[i].wakes, "row %zu: wakes", i);
	}
	tap_must(table_read(scene.world.table, look_body, &look));
	tap_int(look.fences.n_up, 1, "one fence is in the table");
	tap_str(look.placed,
	    "else/b=old/1 team/a=new/0 team/kept=old/2 "
	    "team/lost=gone/2 ",
	    "so are placements of writes alone");
	scene_end(&scene);
}

/* Asked in this order: who is stamped as read by then? */
static const struct {
	const char *claim, *method, *target, *name;
	bool stamped;
} stampings[] = {
	{ "a push is no read", "POST", "/git/p/fresh/git-receive-pack",
	    "p/fresh", false },
	{ "nor is an archive", "GET", "/git/p/fresh/archive", "p/fresh",
	    false },
	{ "a read, wherever it goes", "POST", "/git/p/fresh/git-upload-pack",
	    "p/fresh", true },
	{ "one that lags", "GET",
	    "/git/p/lags.git/info/refs?service=git-upload-pack", "p/lags",
	    true },
	{ "one that has no row", "POST", "/git/p/new/git-upload-pack", "p/new",
	    false },
	{ "a registry's", "GET", "/v2/team/a/tags/list", "team/a", false },
};

static void
test_stamps(void)
{
	struct scene scene;
	bool token;

	scene_begin(&scene, "stamps", false, false, NULL);
	for (size_t i = 0; i < COUNT(stampings); i++) {
		(void)ask(&scene, stampings[i].method, stampings[i].target,
		    &token);
		tap_int(stamps_get_s(scene.decide.stamps, scene.world.code,
			    stampings[i].name) >= 0,
		    stampings[i].stamped, "%s: stamped", stampings[i].claim);
	}
	scene_end(&scene);
}

static const struct {
	const char *claim, *variables, *answer;
} forms[] = {
	{ "a responder's form",
	    "REQUEST_METHOD=GET\nREQUEST_URI=/git/p/fresh"
	    "/info/refs?service=git-upload-pack\nREPROUTE_ANSWER=name\n",
	    "Status: 200 OK\r\nX-Reproute-Upstream: one\r\n"
	    "X-Reproute-Reason: replica\r\n\r\n" },
	{ "no method", "REQUEST_URI=/git/p/fresh/git-upload-pack\n",
	    "Status: 404 Not Found\r\nX-Reproute-Reason: no-route\r\n\r\n" },
	{ "no target", "REQUEST_METHOD=GET\nFCGI_ROLE=AUTHORIZER\n",
	    "Status: 404 Not Found\r\n"
	    "Variable-REPROUTE_REASON: no-route\r\n\r\n" },
	{ "nothing of the client",
	    "REQUEST_METHOD=GET\nREQUEST_URI=/v2/\n"
	    "FCGI_ROLE=AUTHORIZER\n",
	    "Status: 200 OK\r\nVariable-REPROUTE_UPSTREAM: old\r\n"
	    "Variable-REPROUTE_REASON: other\r\n\r\n" },
};

static void
test_forms(void)
{
	struct scene scene;

	scene_begin(&scene, "forms", false, false, NULL);
	for (size_t i = 0; i < COUNT(forms); i++)
		tap_str(cgi_ask(handle, &scene.decide, forms[i].variables),
		    forms[i].answer, "%s", forms[i].claim);
	scene_end(&scene);
}

/*
 * No table: reads are in doubt, registries are held, pushes go on, since doubt
 * is raised in all routers; where it cannot be (blind) they are held, too.
 */
static const struct {
	bool blind;
	const char *method, *target, *says;
	bool token;
} locked_rows[] = {
	{ false, "GET", "/git/p/fresh/info/refs?service=git-upload-pack",
	    "main doubt", false },
	{ false, "POST", "/git/p/fresh/git-receive-pack", "main write", true },
	{ false, "GET", "/git/p/fresh/archive", "main other", false },
	{ false, "GET", "/v2/", "old other", false },
	{ false, "GET", "/v2/team/a/tags/list", "hold held", false },
	{ false, "POST", "/v2/team/a/blobs/uploads/", "hold held", false },
	{ true, "GET", "/git/p/fresh/info/refs?service=git-upload-pack",
	    "main doubt", false },
	{ true, "POST", "/git/p/fresh/git-receive-pack", "hold held", false },
	{ true, "GET", "/git/p/fresh/info/refs?service=git-receive-pack",
	    "main write", false },
};

static void
test_locked(void)
{
	struct scene scenes[2];
	bool token;

	scene_begin(&scenes[false], "locked", true, false, NULL);
	scene_begin(&scenes[true], "blind", true, true, NULL);
	for (size_t i = 0; i < COUNT(locked_rows); i++) {
		tap_str(ask(&scenes[locked_rows[i].blind],
			    locked_rows[i].method, locked_rows[i].target,
			    &token),
		    locked_rows[i].says, "no table%s: %s %s",
		    locked_rows[i].blind ? " and no pulse" : "",
		    locked_rows[i].method, locked_rows[i].target);
		tap_int(token, locked_rows[i].token,
		    "no table, row %zu: a token", i);
	}
	tap_ok(pulse_doubt(writer_pulse(scenes[false].decide.writer),
		   scenes[false].world.code),
	    "the push that went on put its route in doubt");
	scene_end(&scenes[false]);
	scene_end(&scenes[true]);
}

static void
observe(struct world *world)
{
	world->code->mode = world->images->mode = MODE_OBSERVE;
	world->code->wait_ms = 1000;
}

/* The decision's reason beside the primary; fences alone are committed. */
static const struct {
	const char *method, *target, *says;
	bool token;
} observed[] = {
	{ "GET", "/git/p/fresh/info/refs?service=git-upload-pack",
	    "main replica", false },
	{ "GET", "/git/p/lags/info/refs?service=git-upload-pack",
	    "main lagging", false },
	{ "POST", "/git/p/fresh/git-receive-pack", "main write", true },
	{ "POST", "/git/p/fresh/git-upload-pack", "main fenced", false },
	{ "GET", "/v2/team/a/tags/list", "old included", false },
	{ "POST", "/v2/team/a/blobs/uploads/", "old included", false },
	{ "GET", "/v2/team/a/tags/list", "old included", false },
	{ "PUT", "/v2/else/b/manifests/v1", "old not-included", false },
	{ "PUT", "/v2/team/kept/manifests/v1", "old placed", false },
	{ "GET", "/v2/team/lost/tags/list", "old placed", false },
};

static void
test_observed(void)
{
	struct scene scene, blind;
	struct look look = { .world = &scene.world };
	struct tally tally;
	bool token;

	scene_begin(&scene, "observed", false, false, observe);
	for (size_t i = 0; i < COUNT(observed); i++) {
		tap_str(ask(&scene, observed[i].method, observed[i].target,
			    &token),
		    observed[i].says, "observed: %s %s", observed[i].method,
		    observed[i].target);
		tap_int(token, observed[i].token, "observed, row %zu: a token",
		    i);
	}
	tap_must(table_read(scene.world.table, look_body, &look));
	tap_int(look.fences.n_up, 1, "observed: a push has its fence");
	tap_str(look.placed, "team/kept=old/2 team/lost=gone/2 ",
	    "observed: nothing is placed");
	tally_read(writer_pulse(scene.decide.writer), scene.world.code, &tally);
	tap_int(tally.event[TALLY_ELSEWHERE], 1, "what a replica would serve");
	tap_int(tally.reason[REASON_REPLICA], 1, "by its reason");
	tally_read(writer_pulse(scene.decide.writer), scene.world.images,
	    &tally);
	tap_int(tally.event[TALLY_ELSEWHERE], 4, "what the new side would");
	scene_end(&scene);
	scene_begin(&blind, "observed-blind", true, true, observe);
	tap_str(ask(&blind, "POST", "/git/p/fresh/git-receive-pack", &token),
	    "main write", "observed: no push is held");
	tap_int(token, false, "nor has it a token");
	tap_str(ask(&blind, "PUT", "/v2/team/a/manifests/v1", &token),
	    "old held", "nor is a registry's write");
	scene_end(&blind);
}

int
main(void)
{
	test_answers();
	test_stamps();
	test_forms();
	test_locked();
	test_observed();
	return tap_done();
}

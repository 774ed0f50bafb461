/* alive_test.c: which answers are signs of life */
/* SPDX-License-Identifier: ISC */
#include "sync/alive.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/server.h"
#include "tests/unit/tap.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define PATIENCE_MS 30000
/* Of who never answers: as short as it may be. */
#define SILENCE_MS 50
#define NOBODYS                                                                \
	"GET /base/git/reproute-alive.git/info/refs?service=git-upload-pack"

/* Whatever else is asked is answered with 503. */
static struct {
	const char *request;
	unsigned status; /* 0: never */
	size_t len;	 /* of its body */
} canned;

static struct http *http;
static struct upstream upstream;
static struct upstream dead = { .url = "http://127.0.0.1:1",
	.endpoint = "http://127.0.0.1:1/end" };
static struct route route = { .kind = ROUTE_GIT, .prefix = "/git/" };

static void
answer(void *arg, const struct server_request *request,
    struct server_reply *reply)
{
	char *line = mem_fmt("%s %s", request->method, request->target);

	(void)arg;
	reply->status = 503;
	if (strcmp(line, canned.request) == 0) {
		reply->status = canned.status;
		reply->silent = canned.status == 0;
		for (size_t i = 0; i < canned.len; i++)
			buf_add(&reply->body, "x", 1);
	}
	free(line);
}

static const struct {
	enum converge converge;
	const char *request;
	unsigned status;
	enum err want;
} asked[] = {
	{ CONVERGE_ENDPOINT, "GET /end/", 200, ERR_OK },
	{ CONVERGE_ENDPOINT, "GET /end/", 404, ERR_OK },
	{ CONVERGE_LOCAL, "GET /base/git/", 401, ERR_OK },
	{ CONVERGE_COMMAND, "GET /base/git/", 302, ERR_OK },
	{ CONVERGE_NONE, "GET /base/git/", 499, ERR_OK },
	{ CONVERGE_NONE, "GET /base/git/", 500, ERR_PEER },
	{ CONVERGE_ENDPOINT, "GET /end/", 503, ERR_PEER },
	{ CONVERGE_ENDPOINT, "GET /end/", 0, ERR_PEER },
};

static void
test_ask(void)
{
	for (size_t i = 0; i < COUNT(asked); i++) {
		route.converge = asked[i].converge;
		canned.request = asked[i].request;
		canned.status = asked[i].status;
		tap_int(alive_ask(http, &route, &upstream,
			    asked[i].status != 0 ? PATIENCE_MS : SILENCE_MS),
		    asked[i].want, "%s: %u", asked[i].request, asked[i].status);
	}
	route.converge = CONVERGE_NONE;
	canned.request = "GET /base/git/";
	canned.status = 200;
	canned.len = 100000;
	tap_int(alive_ask(http, &route, &upstream, PATIENCE_MS), ERR_OK,
	    "a long page");
	canned.len = 0;
	tap_int(alive_ask(http, &route, &dead, PATIENCE_MS), ERR_PEER,
	    "nobody is there");
}

static const struct {
	unsigned status;
	enum err want;
} gits[] = {
	{ 200, ERR_OK },
	{ 401, ERR_OK },
	{ 404, ERR_OK },
	/* to a name that is none, some say so */
	{ 500, ERR_OK },
	{ 501, ERR_OK },
	{ 502, ERR_PEER },
	{ 503, ERR_PEER },
	{ 504, ERR_PEER },
	{ 505, ERR_OK },
	{ 0, ERR_PEER },
};

static void
test_git(void)
{
	canned.request = NOBODYS;
	for (size_t i = 0; i < COUNT(gits); i++) {
		canned.status = gits[i].status;
		tap_int(alive_ask_git(http, &route, &upstream,
			    gits[i].status != 0 ? PATIENCE_MS : SILENCE_MS),
		    gits[i].want, "git: %u", gits[i].status);
	}
	tap_int(alive_ask_git(http, &route, &dead, PATIENCE_MS), ERR_PEER,
	    "git: nobody is there");
}

static void
test_server(void)
{
	canned.request = "GET /robots.txt";
	for (int i = 0; i < 2; i++) {
		route.converge = i == 0 ? CONVERGE_ENDPOINT : CONVERGE_NONE;
		canned.status = 404;
		tap_ok(alive_server(http, &route, &upstream, PATIENCE_MS),
		    "%d: a server that answers", i);
		canned.status = 503;
		tap_ok(alive_server(http, &route, &upstream, PATIENCE_MS),
		    "%d: whatever it answers", i);
		canned.status = 0;
		tap_ok(!alive_server(http, &route, &upstream, SILENCE_MS),
		    "%d: one that hangs", i);
		tap_ok(!alive_server(http, &route, &dead, PATIENCE_MS),
		    "%d: nobody is there", i);
	}
}

int
main(void)
{
	struct server *server = server_start(answer, NULL);

	http = http_new();
	upstream.url = mem_fmt("%s/base", server_url(server));
	upstream.endpoint = mem_fmt("%s/end", server_url(server));
	test_ask();
	test_git();
	test_server();
	http_free(http);
	server_stop(server);
	free(upstream.url);
	free(upstream.endpoint);
	return tap_done();
}

/* page_test.c: the status page: who gets it, and as what */
/* SPDX-License-Identifier: ISC */
#include "fcgi/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/cgi.h"
#include "tests/unit/tap.h"
#include "tests/unit/tool.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

struct scene {
	struct world world;
	struct tool tool;
	struct conf *conf;
	bool open; /* has the router a table? */
};

static void
handle(struct gateway_request *request, void *arg)
{
	struct scene *scene = arg;

	if (page_wanted(request))
		page_send(request, scene->conf,
		    scene->open ? scene->world.table : NULL);
}

static const struct {
	const char *claim, *variables;
	bool open;
	const char *piece; /* of the answer; "": there is no page */
} rows[] = {
	{ "a request as any other", "FCGI_ROLE=RESPONDER\n", true, "" },
	{ "who asks for a name", "REPROUTE_ANSWER=name\n", true, "" },
	{ "an authorizer", "FCGI_ROLE=AUTHORIZER\nREPROUTE_ANSWER=status\n",
	    true, "" },
	{ "a client's word", "HTTP_REPROUTE_ANSWER=status\n", true, "" },
	{ "text", "REPROUTE_ANSWER=status\n", true,
	    "\ncode (git, /git/)\n"
	    "  main           1 repositories known, 0 fenced\n" },
	{ "its type", "REPROUTE_ANSWER=status\n", true,
	    "Status: 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n" },
	{ "JSON", "REPROUTE_ANSWER=status\nQUERY_STRING=json\n", true,
	    "\r\n\r\n{\"red\":true,\"yellow\":false,\"heartbeat_ms\":-1," },
	{ "JSON's type", "REPROUTE_ANSWER=status\nQUERY_STRING=json\n", true,
	    "Content-Type: application/json\r\n" },
	{ "nothing is kept by a cache", "REPROUTE_ANSWER=status\n", true,
	    "Cache-Control: no-store\r\n" },
	{ "another query is none", "REPROUTE_ANSWER=status\nQUERY_STRING=x\n",
	    true, "text/plain" },
	{ "without a table", "REPROUTE_ANSWER=status\n", false,
	    "state      red\n" },
	{ "and why", "REPROUTE_ANSWER=status\n", false,
	    "table      the router has not opened it yet\n" },
	{ "and in JSON", "REPROUTE_ANSWER=status\nQUERY_STRING=json\n", false,
	    "\"table_error\":\"the router has not opened it yet\"" },
};

int
main(void)
{
	struct scene scene = { .conf = NULL };

	world_open(&scene.world, "page");
	tool_begin(&scene.tool, &scene.world, "page", "", "");
	world_learn(&scene.world, scene.world.code, "p/fresh");
	if (conf_read(scene.tool.conf, &scene.conf) != ERR_OK) {
		printf("Bail out! %s\n", err_text());
		return 1;
	}
	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *answer;

		scene.open = rows[i].open;
		answer = cgi_ask(handle, &scene, rows[i].variables);
		if (rows[i].piece[0] == '\0')
			tap_str(answer, "", "%s: no page", rows[i].claim);
		else
			tap_ok(strstr(answer, rows[i].piece) != NULL,
			    "%s: in %s", rows[i].claim, answer);
	}
	conf_free(scene.conf);
	tool_end(&scene.tool);
	world_close(&scene.world);
	return tap_done();
}

/* tool.c: the built reproute, run on a world, and what it says */
/* SPDX-License-Identifier: ISC */
#include "tests/unit/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "conf/log.h"
#include "tests/unit/tap.h"

static void
put_route(FILE *file, const struct route *route, const char *migrate)
{
	fprintf(file,
	    "{ name = \"%s\"; kind = \"%s\"; prefix = \"%s\"; "
	    "primary = \"%s\";\n",
	    route->name, route->kind == ROUTE_GIT ? "git" : "registry",
	    route->prefix, route->primary->name);
	if (route->mode == MODE_OBSERVE)
		fputs("  mode = \"observe\";\n", file);
	if (route->kind == ROUTE_GIT) {
		fputs("  authorize = \"webserver\"; replicas = (", file);
		for (size_t i = 0; i < route->n_replicas; i++)
			fprintf(file, "%s\"%s\"", i > 0 ? ", " : "",
			    route->replicas[i]->name);
		fprintf(file, "); wait_ms = %u; replica_share = %u; }",
		    route->wait_ms, route->replica_share);
	} else {
		fprintf(file, "  migrate = { to = \"%s\"; %s }; }",
		    route->to->name, migrate);
	}
}

void
tool_begin(struct tool *tool, const struct world *world, const char *directory,
    const char *migrate, const char *more)
{
	const struct conf *conf = &world->conf;
	FILE *file;

	*tool = (struct tool){ .status = -1,
		.dir = mem_fmt("%s/%s", tap_dir(), directory),
		.conf = mem_fmt("%s/%s/c.conf", tap_dir(), directory) };
	if ((file = fopen(tool->conf, "we")) == NULL) {
		printf("Bail out! no %s\n", tool->conf);
		exit(1);
	}
	fprintf(file,
	    "state_dir = \"%s\"; run_dir = \"%s\"; %s\n"
	    "upstreams = (",
	    tool->dir, tool->dir, more);
	for (size_t i = 0; i < conf->n_upstreams; i++)
		fprintf(file,
		    "%s{ name = \"%s\"; url = \"%s\"; "
		    "endpoint = \"%s\"; }",
		    i > 0 ? ",\n " : "", conf->upstreams[i].name,
		    conf->upstreams[i].url, conf->upstreams[i].endpoint);
	fputs(");\nroutes = (", file);
	for (size_t i = 0; i < conf->n_routes; i++) {
		fputs(i > 0 ? ",\n " : "", file);
		put_route(file, &conf->routes[i], migrate);
	}
	fputs(");\n", file);
	fclose(file);
}

void
tool_end(struct tool *tool)
{
	buf_free(&tool->out);
	buf_free(&tool->errors);
	free(tool->conf);
	free(tool->dir);
}

static void
read_file(const struct tool *tool, const char *name, struct buf *out)
{
	char *path = mem_fmt("%s/%s", tool->dir, name);
	FILE *file = fopen(path, "re");
	char piece[4096];
	size_t len;

	buf_reset(out);
	buf_puts(out, "");
	while (file != NULL && (len = fread(piece, 1, sizeof(piece), file)) > 0)
		buf_add(out, piece, len);
	if (file != NULL)
		fclose(file);
	free(path);
}

void
tool_run(struct tool *tool, const char *words)
{
	char *line = mem_fmt("exec ./reproute -c %s </dev/null >%s/out "
			     "2>%s/err %s",
	    tool->conf, tool->dir, tool->dir, words);
	int status = system(line);

	tool->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	read_file(tool, "out", &tool->out);
	read_file(tool, "err", &tool->errors);
	free(line);
}

bool
tool_says(const struct tool *tool, const char *piece, const char *claim)
{
	bool pass = tap_ok(strstr(tool->out.data, piece) != NULL, "%s", claim);
	char shown[512];

	/* line by line, or it would be read as results */
	for (const char *at = tool->out.data; !pass && *at != '\0';) {
		int len = (int)strcspn(at, "\n");

		tap_note("%.*s", len, at);
		at += len + (at[len] != '\0');
	}
	if (!pass)
		tap_note("no \"%s\"; exit status %d",
		    log_escape(shown, sizeof(shown), piece), tool->status);
	return pass;
}

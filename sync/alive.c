/* alive.c: whether a replica answers: its endpoint, its git, its web server */
/* SPDX-License-Identifier: ISC */
#include "sync/alive.h"

#include <stdlib.h>
#include <string.h>

#include "conf/mem.h"

/* Enough of an answer to know that somebody is there. */
#define ENOUGH 4096
/* A repository that nobody needs to have: what counts is who answers. */
#define NOBODYS_NAME "reproute-alive"

/* gitprotocol-http(5); else the answer to a v0 client is all refs. */
static const char *const git_headers[] = {
	"Git-Protocol: version=2",
	NULL,
};

/* Of a long page that is enough. */
static enum err
see_life(void *arg, const char *bytes, size_t len)
{
	size_t *seen = arg;

	(void)bytes;
	*seen += len;
	return *seen > ENOUGH ? err_set(ERR_LIMIT, "enough") : ERR_OK;
}

/* *status is that of the answer; ERR_PEER: none came in time. */
static enum err
get(struct http *http, const struct upstream *upstream, const char *url,
    int64_t limit_ms, unsigned *status)
{
	size_t seen = 0;
	struct http_reply reply = { 0 };
	struct http_request request = { .method = "GET",
		.url = url,
		.headers = git_headers,
		.auth_file = upstream->auth_file,
		.ca_file = upstream->ca_file,
		.stall_ms = limit_ms,
		.total_ms = limit_ms,
		.max_body = SIZE_MAX,
		.sink = see_life,
		.sink_arg = &seen };
	enum err err = http_run(http, &request, &reply);

	/* only bodies of 200 get as far as that */
	if (err == ERR_LIMIT) {
		reply.status = 200;
		err = ERR_OK;
	}
	if (err == ERR_OK)
		*status = reply.status;
	buf_free(&reply.body);
	return err;
}

/* The caller frees it. */
static char *
url_of(const struct route *route, const struct upstream *upstream)
{
	if (route->converge == CONVERGE_ENDPOINT)
		return mem_fmt("%s/", upstream->endpoint);
	return mem_fmt("%s%s", upstream->url, route->prefix);
}

enum err
alive_ask(struct http *http, const struct route *route,
    const struct upstream *upstream, int64_t limit_ms)
{
	char *url = url_of(route, upstream);
	unsigned status;
	enum err err = get(http, upstream, url, limit_ms, &status);

	if (err == ERR_OK && status >= 500)
		err = err_set(ERR_PEER, "%s: HTTP %u", url, status);
	free(url);
	return err;
}

enum err
alive_ask_git(struct http *http, const struct route *route,
    const struct upstream *upstream, int64_t limit_ms)
{
	char *url = mem_fmt("%s%s" NOBODYS_NAME
			    ".git/info/refs?service=git-upload-pack",
	    upstream->url, route->prefix);
	unsigned status;
	enum err err = get(http, upstream, url, limit_ms, &status);

	if (err == ERR_OK && status >= 502 && status <= 504)
		err = err_set(ERR_PEER, "%s: HTTP %u", url, status);
	free(url);
	return err;
}

bool
alive_server(struct http *http, const struct route *route,
    const struct upstream *upstream, int64_t limit_ms)
{
	char *url = url_of(route, upstream);
	const char *host = strstr(url, "://");
	size_t at = host != NULL ? strcspn(host + 3, "/?#") : 0;
	char *robots = mem_fmt("%.*s/robots.txt",
	    host != NULL ? (int)((size_t)(host + 3 - url) + at) : 0, url);
	unsigned status;
	bool alive = get(http, upstream, robots, limit_ms, &status) == ERR_OK;

	free(robots);
	free(url);
	return alive;
}

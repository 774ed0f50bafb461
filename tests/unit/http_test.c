/* http_test.c: what goes out, what comes back, and every way to fail */
/* SPDX-License-Identifier: ISC */
#include "sync/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/server.h"
#include "tests/unit/tap.h"

/* What the server saw last; its thread writes only while a request runs. */
struct seen {
	unsigned count, connection;
	char method[16], target[256];
	char *agent, *expect, *authorization, *given, *type;
	struct buf body;
};

static void
forget(struct seen *seen)
{
	free(seen->agent);
	free(seen->expect);
	free(seen->authorization);
	free(seen->given);
	free(seen->type);
	buf_reset(&seen->body);
}

static void
note(struct seen *seen, const struct server_request *request)
{
	forget(seen);
	seen->count++;
	seen->connection = request->connection;
	snprintf(seen->method, sizeof(seen->method), "%s", request->method);
	snprintf(seen->target, sizeof(seen->target), "%s", request->target);
	seen->agent = server_header(request, "User-Agent");
	seen->expect = server_header(request, "Expect");
	seen->authorization = server_header(request, "Authorization");
	seen->given = server_header(request, "X-Given");
	seen->type = server_header(request, "Content-Type");
	buf_add(&seen->body, request->body, request->body_len);
}

static void
handle(void *arg, const struct server_request *request,
    struct server_reply *reply)
{
	const char *target = request->target;

	note(arg, request);
	buf_puts(&reply->headers, "Content-Type: text/canned; v=1\r\n");
	buf_puts(&reply->body, "0123456789");
	if (strcmp(target, "/redirect") == 0) {
		reply->status = 302;
		buf_puts(&reply->headers, "Location: /elsewhere\r\n");
	} else if (strcmp(target, "/missing") == 0) {
		reply->status = 404;
	} else if (strcmp(target, "/links") == 0) {
		buf_puts(&reply->headers,
		    "Link: <a>; rel=\"next\"\r\n"
		    "link: <b>; rel=\"last\"\r\n");
	} else if (strcmp(target, "/long-link") == 0) {
		buf_fmt(&reply->headers, "Link: <%02040d>; rel=\"next\"\r\n",
		    0);
	} else if (strcmp(target, "/headers") == 0) {
		for (int i = 0; i < 1000; i++)
			buf_fmt(&reply->headers, "X-%d: %01000d\r\n", i, 0);
	} else if (strcmp(target, "/silent") == 0) {
		reply->silent = true;
	} else if (strcmp(target, "/cut") == 0) {
		reply->cut = true;
	} else if (strcmp(target, "/big-error") == 0) {
		reply->status = 500;
		for (int i = 0; i < 10000; i++)
			buf_puts(&reply->body, "0123456789");
	}
}

/* Has enough beyond limit bytes. */
struct sunk {
	struct buf bytes;
	size_t limit;
};

static enum err
sink(void *arg, const char *bytes, size_t len)
{
	struct sunk *sunk = arg;

	buf_add(&sunk->bytes, bytes, len);
	return sunk->bytes.len > sunk->limit ? err_set(ERR_LIMIT, "sunk")
					     : ERR_OK;
}

static enum err
get(struct http *http, const char *url, const char *path,
    struct http_request request, struct http_reply *reply)
{
	char *whole = mem_fmt("%s%s", url, path);
	enum err err;

	request.method = request.method != NULL ? request.method : "GET";
	request.url = whole;
	request.stall_ms = request.stall_ms ? request.stall_ms : 5000;
	request.max_body = request.max_body ? request.max_body : 1000;
	err = http_run(http, &request, reply);
	free(whole);
	return err;
}

static void
answers(struct http *http, const char *url, struct seen *seen)
{
	const char *headers[] = { "X-Given: yes", NULL };
	struct http_request request = { .headers = headers };
	struct http_reply reply = { 0 };
	unsigned connection;

	tap_int(get(http, url, "/a%2Fb?x=1", request, &reply), ERR_OK, "a GET");
	tap_int(reply.status, 200, "its status");
	tap_str(reply.content_type, "text/canned; v=1", "its type");
	tap_str(reply.link, "", "no Link");
	tap_str(reply.body.data, "0123456789", "its body");
	tap_str(seen->method, "GET", "its method as seen");
	tap_str(seen->target, "/a%2Fb?x=1", "its target, untouched");
	tap_str(seen->given, "yes", "a header of ours");
	tap_str(seen->agent, "reproute/" PACKAGE_VERSION, "our name");
	tap_str(seen->authorization, "", "no credentials");
	buf_free(&reply.body);
	connection = seen->connection;

	request = (struct http_request){ .method = "POST",
		.body = "a\0b",
		.body_len = 3 };
	tap_int(get(http, url, "/post", request, &reply), ERR_OK, "a POST");
	tap_str(seen->method, "POST", "its method as seen");
	tap_ok(seen->body.len == 3 && memcmp(seen->body.data, "a\0b", 3) == 0,
	    "its body, a NUL included");
	tap_str(seen->expect, "", "without Expect");
	tap_int(seen->connection, connection, "over the kept connection");
	buf_free(&reply.body);

	request = (struct http_request){ .method = "POST" };
	tap_int(get(http, url, "/", request, &reply), ERR_OK, "an empty POST");
	tap_int((long long)seen->body.len, 0, "has no body");
	buf_free(&reply.body);

	request = (struct http_request){ 0 };
	tap_int(get(http, url, "/redirect", request, &reply), ERR_OK,
	    "a redirect");
	tap_int(reply.status, 302, "is an answer");
	tap_str(seen->target, "/redirect", "and not followed");
	buf_free(&reply.body);
	tap_int(get(http, url, "/links", request, &reply), ERR_OK, "two Links");
	tap_str(reply.link, "<a>; rel=\"next\", <b>; rel=\"last\"",
	    "are one list");
	buf_free(&reply.body);
}

static void
sinks(struct http *http, const char *url)
{
	struct sunk sunk = { .limit = 100 };
	struct http_request request = { .sink = sink,
		.sink_arg = &sunk,
		.max_body = 1000000 };
	struct http_reply reply = { 0 };

	tap_int(get(http, url, "/", request, &reply), ERR_OK, "into a sink");
	tap_str(sunk.bytes.data, "0123456789", "what it took");
	tap_int((long long)reply.body.len, 0, "and nothing else");
	buf_free(&reply.body);
	tap_int(get(http, url, "/missing", request, &reply), ERR_OK, "a 404");
	tap_int((long long)sunk.bytes.len, 10, "is not for the sink");
	tap_str(reply.body.data, "0123456789", "but in the body");
	buf_free(&reply.body);
	tap_int(get(http, url, "/big-error", request, &reply), ERR_OK,
	    "a 500 with a long body");
	tap_int((long long)reply.body.len, 64 << 10, "which is cut");
	buf_free(&reply.body);
	sunk.limit = 5;
	reply = (struct http_reply){ .status = 99 };
	tap_int(get(http, url, "/", request, &reply), ERR_LIMIT,
	    "a sink that had enough");
	tap_ok(strstr(err_text(), "/: sunk") != NULL, "%s", err_text());
	tap_int(reply.status, 99, "the reply is untouched");
	buf_free(&sunk.bytes);
}

static void
failures(struct http *http, const char *url)
{
	const struct {
		const char *url, *path, *says;
		size_t max_body;
		int64_t stall_ms, total_ms;
	} rows[] = {
		{ url, "/", "a body of more than 9 bytes", 9, 0, 0 },
		{ url, "/silent", "no byte for 100 ms", 0, 100, 0 },
		{ url, "/silent", "timed out", 0, 5000, 100 },
		{ url, "/cut", "bytes remaining to read", 0, 0, 0 },
		{ url, "/long-link", "Link headers", 0, 0, 0 },
		{ url, "/headers", "headers of more than 262144 bytes", 0, 0,
		    0 },
		{ "http://127.0.0.1:1", "/x", "http://127.0.0.1:1/x: ", 0, 0,
		    0 },
		{ "http://u:secret@127.0.0.1:1", "/",
		    "http://127.0.0.1:1/: ", 0, 0, 0 },
		{ "http://127.0.0.1:1", "/\xff\n", "/\\xff\\x0a: ", 0, 0, 0 },
		{ "file:///etc/", "passwd", "file", 0, 0, 0 },
		{ "no url", "", "no url: ", 0, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_request request = { .max_body = rows[i].max_body,
			.stall_ms = rows[i].stall_ms,
			.total_ms = rows[i].total_ms };
		struct http_reply reply = { .status = 99 };
		enum err err = get(http, rows[i].url, rows[i].path, request,
		    &reply);

		tap_int(err, ERR_PEER, "fails: %s", rows[i].says);
		tap_ok(strstr(err_text(), rows[i].says) != NULL &&
			strstr(err_text(), "secret") == NULL &&
			reply.status == 99,
		    "%s", err_text());
	}
}

static void
write_file(const char *path, const char *text, mode_t mode)
{
	FILE *file = fopen(path, "we");

	if (file != NULL) {
		fputs(text, file);
		fclose(file);
	}
	chmod(path, mode);
}

static void
credentials(struct http *http, const char *url, struct seen *seen)
{
	char *path = mem_fmt("%s/netrc", tap_dir());
	struct http_request request = { .auth_file = path };
	struct http_reply reply = { 0 };
	unsigned before;

	write_file(path, "machine 127.0.0.1 login u password p\n", 0600);
	tap_int(get(http, url, "/", request, &reply), ERR_OK, "with netrc");
	tap_str(seen->authorization, "Basic dTpw", "its user and password");
	buf_free(&reply.body);
	write_file(path, "machine other.example login u password p\n", 0640);
	tap_int(get(http, url, "/", request, &reply), ERR_OK,
	    "with netrc of another host");
	tap_str(seen->authorization, "", "no credentials");
	buf_free(&reply.body);
	before = seen->count;
	chmod(path, 0644);
	tap_int(get(http, url, "/", request, &reply), ERR_CONF,
	    "netrc that others may read");
	tap_ok(strstr(err_text(), "chmod") != NULL, "%s", err_text());
	unlink(path);
	tap_int(get(http, url, "/", request, &reply), ERR_SYS, "no netrc");
	tap_int(seen->count, before, "nothing was asked");
	free(path);
}

static void
escapes(void)
{
	struct buf out = { 0 };

	http_escape(&out, "a/b c%~.gr\303\274n?#", true);
	tap_str(out.data, "a/b%20c%25~.gr%C3%BCn%3F%23", "a path");
	buf_reset(&out);
	http_escape(&out, "a/b", false);
	tap_str(out.data, "a%2Fb", "a segment");
	buf_free(&out);
}

int
main(void)
{
	struct seen seen = { 0 };
	struct server *server = server_start(handle, &seen);
	struct http *http;

	/* a proxy in the environment is nobody's wish */
	setenv("http_proxy", "http://127.0.0.1:1", 1);
	http = http_new();
	answers(http, server_url(server), &seen);
	sinks(http, server_url(server));
	failures(http, server_url(server));
	credentials(http, server_url(server), &seen);
	escapes();
	http_free(http);
	http_free(NULL);
	server_stop(server);
	forget(&seen);
	buf_free(&seen.body);
	return tap_done();
}

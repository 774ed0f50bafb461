/* http.c: one HTTP request to an upstream; the only user of libcurl */
/* SPDX-License-Identifier: ISC */
#include "sync/http.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "conf/clock.h"
#include "conf/log.h"
#include "conf/name.h"

/* A connection that is not there by then goes nowhere, in milliseconds. */
#define MAX_CONNECT_MS 5000
/* What is kept of a body for people, where a sink wanted one of status 200. */
#define MAX_OTHER_BODY (64UL << 10)
/* Headers of one answer, in bytes: libcurl keeps all that come. */
#define MAX_HEADERS (256L << 10)
/* Connections kept by one client, which may speak to every upstream. */
#define MAX_KEPT 64L

struct http {
	CURL *easy;
};

/* One request under way. */
struct run {
	const struct http_request *request;
	struct http_reply reply;
	CURL *easy;
	size_t got;	  /* bytes of the body */
	curl_off_t moved; /* bytes in both directions, headers too */
	int64_t moved_ms; /* when it last grew */
	bool stalled, too_long, too_many;
	enum err sink_err;
	char error[CURL_ERROR_SIZE];
};

static void
global_init(void)
{
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		fputs("reproute: libcurl does not start\n", stderr);
		exit(EX_OSERR);
	}
}

struct http *
http_new(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct http *http = mem_zalloc(sizeof(*http));

	pthread_once(&once, global_init);
	if ((http->easy = curl_easy_init()) == NULL) {
		fputs("reproute: out of memory for HTTP\n", stderr);
		exit(EX_OSERR);
	}
	return http;
}

void
http_free(struct http *http)
{
	if (http == NULL)
		return;
	curl_easy_cleanup(http->easy);
	free(http);
}

void
http_escape(struct buf *out, const char *text, bool slash)
{
	const struct name_values values = { .name = text, .repo = text };
	enum err err = name_fill(slash ? "{name}" : "{repo}", &values, true,
	    out);

	(void)err; /* both have a value */
}

static unsigned
status_of(const struct run *run)
{
	long status = 0;

	curl_easy_getinfo(run->easy, CURLINFO_RESPONSE_CODE, &status);
	return (unsigned)status;
}

/* A piece of the body; another answer than its length ends the request. */
static size_t
take_body(char *bytes, size_t one, size_t len, void *arg)
{
	struct run *run = arg;
	struct buf *body = &run->reply.body;
	size_t keep = len * one;

	run->got += keep;
	if (run->got > run->request->max_body) {
		run->too_long = true;
		return 0;
	}
	if (run->request->sink == NULL) {
		buf_add(body, bytes, keep);
	} else if (status_of(run) == 200) {
		run->sink_err = run->request->sink(run->request->sink_arg,
		    bytes, keep);
		if (run->sink_err != ERR_OK)
			return 0;
	} else if (body->len < MAX_OTHER_BODY) {
		if (keep > MAX_OTHER_BODY - body->len)
			keep = MAX_OTHER_BODY - body->len;
		buf_add(body, bytes, keep);
	}
	return len * one;
}

/* libcurl calls it as bytes come, and once a second where none do. */
static int
watch(void *arg, curl_off_t total_in, curl_off_t in, curl_off_t total_out,
    curl_off_t out)
{
	struct run *run = arg;
	int64_t now_ms = clock_boot_ms();
	long head = 0;

	(void)total_in;
	(void)total_out;
	curl_easy_getinfo(run->easy, CURLINFO_HEADER_SIZE, &head);
	if (in + out + head != run->moved) {
		run->moved = in + out + head;
		run->moved_ms = now_ms;
	}
	run->stalled = now_ms - run->moved_ms >= run->request->stall_ms;
	run->too_many = head > MAX_HEADERS;
	return run->stalled || run->too_many;
}

/* netrc(5) secrets are as secret as any (secret_read() is as strict). */
static enum err
check_auth_file(const char *path)
{
	struct stat status;

	if (stat(path, &status) == -1)
		return err_sys("auth_file %s", path);
	if ((status.st_mode & 07) != 0)
		return err_set(ERR_CONF,
		    "auth_file %s: others may read it; "
		    "chmod 0640 (or 0600) it",
		    path);
	/* libcurl would go on without */
	if (access(path, R_OK) == -1)
		return err_sys("auth_file %s", path);
	return ERR_OK;
}

static void
set_connection(const struct run *run)
{
	const struct http_request *request = run->request;
	CURL *easy = run->easy;
	int64_t connect_ms = request->stall_ms < MAX_CONNECT_MS
	    ? request->stall_ms
	    : MAX_CONNECT_MS;

	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_MAXCONNECTS, MAX_KEPT);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)request->total_ms);
	if (request->ca_file != NULL)
		curl_easy_setopt(easy, CURLOPT_CAINFO, request->ca_file);
	/* netrc alone: whatever stands in the URL is no secret */
	if (request->auth_file != NULL) {
		curl_easy_setopt(easy, CURLOPT_NETRC,
		    (long)CURL_NETRC_REQUIRED);
		curl_easy_setopt(easy, CURLOPT_NETRC_FILE, request->auth_file);
	}
}

static void
set_request(struct run *run, struct curl_slist *headers)
{
	const struct http_request *request = run->request;
	CURL *easy = run->easy;

	curl_easy_setopt(easy, CURLOPT_URL, request->url);
	if (strcmp(request->method, "POST") == 0) {
		curl_easy_setopt(easy, CURLOPT_POST, 1L);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
		    (curl_off_t)request->body_len);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS,
		    request->body != NULL ? request->body : "");
	}
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "reproute/" PACKAGE_VERSION);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, run->error);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, run);
	curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, watch);
	curl_easy_setopt(easy, CURLOPT_XFERINFODATA, run);
}

/* Adds one, or ends the process as all of ours does without memory. */
static struct curl_slist *
add_header(struct curl_slist *list, const char *header)
{
	struct curl_slist *longer = curl_slist_append(list, header);

	if (longer == NULL) {
		fputs("reproute: out of memory for HTTP\n", stderr);
		exit(EX_OSERR);
	}
	return longer;
}

static struct curl_slist *
make_headers(const char *const *headers)
{
	/* git and registries answer at once, or never to "Expect" */
	struct curl_slist *list = add_header(NULL, "Expect:");

	for (; headers != NULL && *headers != NULL; headers++)
		list = add_header(list, *headers);
	return list;
}

/* The Link headers, as one list (RFC 9110, 5.3). */
static enum err
take_link(struct run *run)
{
	struct http_reply *reply = &run->reply;
	struct curl_header *header;

	for (size_t i = 0; curl_easy_header(run->easy, "Link", i, CURLH_HEADER,
			       -1, &header) == CURLHE_OK;
	     i++) {
		size_t len = strlen(reply->link);
		int more = snprintf(reply->link + len,
		    sizeof(reply->link) - len, "%s%s", i ? ", " : "",
		    header->value);

		/* half of one would read as if nothing followed */
		if (more < 0 || (size_t)more >= sizeof(reply->link) - len)
			return err_set(ERR_PEER,
			    "Link headers of more than "
			    "%zu bytes",
			    sizeof(reply->link) - 1);
	}
	return ERR_OK;
}

static enum err
take_head(struct run *run)
{
	const char *type = NULL;

	run->reply.status = status_of(run);
	curl_easy_getinfo(run->easy, CURLINFO_CONTENT_TYPE, &type);
	snprintf(run->reply.content_type, sizeof(run->reply.content_type), "%s",
	    type != NULL ? type : "");
	return take_link(run);
}

static enum err
failure(const struct run *run, CURLcode code)
{
	const char *text = run->error[0] != '\0' ? run->error
						 : curl_easy_strerror(code);
	char escaped[CURL_ERROR_SIZE];

	if (run->sink_err != ERR_OK)
		return run->sink_err;
	if (run->too_long)
		return err_set(ERR_PEER, "a body of more than %zu bytes",
		    run->request->max_body);
	if (run->too_many)
		return err_set(ERR_PEER, "headers of more than %ld bytes",
		    MAX_HEADERS);
	if (run->stalled)
		return err_set(ERR_PEER, "no byte for %lld ms",
		    (long long)run->request->stall_ms);
	return err_set(ERR_PEER, "%s",
	    log_escape(escaped, sizeof(escaped), text));
}

/* Puts the URL before the sentence, without user and password. */
static enum err
with_url(enum err err, const char *url)
{
	const char *host = strstr(url, "://");
	const char *at = NULL;
	char escaped[512];
	size_t scheme;

	host = host != NULL ? host + 3 : url;
	scheme = (size_t)(host - url);
	for (const char *c = host; *c != '\0' && strchr("/?#", *c) == NULL; c++)
		if (*c == '@')
			at = c;
	return err_prefix(err, "%.*s%s", (int)scheme, url,
	    log_escape(escaped, sizeof(escaped), at != NULL ? at + 1 : host));
}

enum err
http_run(struct http *http, const struct http_request *request,
    struct http_reply *out)
{
	struct run run = { .request = request, .easy = http->easy };
	struct curl_slist *headers = NULL;
	enum err err = ERR_OK;
	CURLcode code;

	if (request->auth_file != NULL)
		err = check_auth_file(request->auth_file);
	if (err != ERR_OK)
		return err;
	headers = make_headers(request->headers);
	set_connection(&run);
	set_request(&run, headers);
	run.moved_ms = clock_boot_ms();
	code = curl_easy_perform(http->easy);
	err = code == CURLE_OK ? take_head(&run) : failure(&run, code);
	/* forgets run and headers, and keeps the connections */
	curl_easy_reset(http->easy);
	curl_slist_free_all(headers);
	if (err != ERR_OK) {
		buf_free(&run.reply.body);
		return with_url(err, request->url);
	}
	*out = run.reply;
	return ERR_OK;
}

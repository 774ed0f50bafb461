/* probe_test.c: what is asked of an upstream, and what each answer means */
/* SPDX-License-Identifier: ISC */
#include "sync/probe.h"

#include <stdlib.h>
#include <string.h>

#include "sync/advert.h"
#include "tests/unit/server.h"
#include "tests/unit/tap.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define A "1111111111111111111111111111111111111111"
#define ZERO "0000000000000000000000000000000000000000"
/* of 'A refs/heads/main\nref: refs/heads/main HEAD\n' */
#define ONE_HEAD                                                               \
	"de31ec4421f8b701ed392ff6b189713be1a1cd9bc788c252ec8eb677fc603498"
/* of 'A refs/heads/a\nA refs/heads/b\n' */
#define AB "764fbd3a3a3e0f69aa07a2a45803a1363a34b4800d0f4f06ae4bde8507a14c6e"

#define ADVERT "application/x-git-upload-pack-advertisement"
#define RESULT "application/x-git-upload-pack-result"
#define SERVICE "001e# service=git-upload-pack\n0000"
#define V2 SERVICE "000eversion 2\n000cls-refs\n0011fetch=filter\n0000"
#define LISTED                                                                 \
	"0050" A " HEAD symref-target:refs/heads/main\n"                       \
	"003d" A " refs/heads/main\n0000"
#define V0 SERVICE "003d" A " refs/heads/main\n0000"
#define UNORDERED                                                              \
	SERVICE "003a" A " refs/heads/b\n"                                     \
		"003a" A " refs/heads/a\n0000"

#define INFO "GET /git/p/r.git/info/refs?service=git-upload-pack"
#define BARE "GET /git/p/r/info/refs?service=git-upload-pack"
#define LS "POST /git/p/r.git/git-upload-pack"
#define DIGEST "GET /end/projects/p/repos/r/refs/"
#define HAS "GET /end/projects/p/repos/r/has-commit/?sha1=" A

struct canned {
	const char *request;
	unsigned status; /* 0: 200 */
	const char *type, *body;
};

/* Whatever is not canned is answered with 418. */
static const struct canned *canned;
static struct buf asked; /* "METHOD TARGET\n" of each */
static bool v2_asked;	 /* each said Git-Protocol: version=2 */

static void
answer(void *arg, const struct server_request *request,
    struct server_reply *reply)
{
	char *line = mem_fmt("%s %s", request->method, request->target);
	char *protocol = server_header(request, "Git-Protocol");

	(void)arg;
	buf_fmt(&asked, "%s\n", line);
	v2_asked = v2_asked && strcmp(protocol, "version=2") == 0;
	reply->status = 418;
	for (const struct canned *one = canned; one->request != NULL; one++) {
		if (strcmp(one->request, line) != 0)
			continue;
		reply->status = one->status;
		buf_fmt(&reply->headers, "Content-Type: %s\r\n", one->type);
		buf_puts(&reply->body, one->body);
	}
	free(line);
	free(protocol);
}

/* What is asked, one line each, is beside what is answered. */
static const struct row {
	const char *what;
	struct canned canned[4];
	enum err err;
	unsigned status;
	const char *says; /* of an error; else of the digest */
	const char *asks;
} adverts[] = {
	{ "v2", { { INFO, 0, ADVERT, V2 }, { LS, 0, RESULT, LISTED } }, ERR_OK,
	    200, ONE_HEAD, INFO "\n" LS "\n" },
	{ "v0", { { INFO, 0, ADVERT, V0 } }, ERR_OK, 200,
	    "9d7636ccd3f2caa6104fbd9ab5908fea0bd5f075126e6ef4677a92cabe5b3daa",
	    INFO "\n" },
	{ "without .git",
	    { { INFO, 404, "text/html", "" }, { BARE, 0, ADVERT, V0 } }, ERR_OK,
	    200,
	    "9d7636ccd3f2caa6104fbd9ab5908fea0bd5f075126e6ef4677a92cabe5b3daa",
	    INFO "\n" BARE "\n" },
	{ "refs out of order are asked for again",
	    { { INFO, 0, ADVERT, UNORDERED } }, ERR_OK, 200, AB,
	    INFO "\n" INFO "\n" },
	{ "none",
	    { { INFO, 404, "text/html", "" }, { BARE, 410, "text/html", "" } },
	    ERR_ABSENT, 410, "no such repository", INFO "\n" BARE "\n" },
	{ "who must sign in", { { INFO, 401, "text/html", "" } }, ERR_PEER, 401,
	    "auth_file", INFO "\n" },
	{ "a redirect", { { INFO, 301, "text/html", "" } }, ERR_PEER, 301,
	    "redirects are not followed", INFO "\n" },
	{ "a failure", { { INFO, 503, "text/html", "" } }, ERR_PEER, 503,
	    "HTTP 503", INFO "\n" },
	{ "a failure of ls-refs",
	    { { INFO, 0, ADVERT, V2 }, { LS, 500, RESULT, "" } }, ERR_PEER, 500,
	    "HTTP 500", INFO "\n" LS "\n" },
	{ "a page with status 200", { { INFO, 0, "text/html", "<html>" } },
	    ERR_PEER, 200, "no ref advertisement", INFO "\n" },
	{ "an empty page", { { INFO, 0, ADVERT, "" } }, ERR_PEER, 200,
	    "broke off", INFO "\n" },
	{ "another type", { { INFO, 0, "text/plain", V0 } }, ERR_PEER, 200,
	    "smart protocol", INFO "\n" },
	{ "another type of ls-refs",
	    { { INFO, 0, ADVERT, V2 }, { LS, 0, ADVERT, LISTED } }, ERR_PEER,
	    200, RESULT, INFO "\n" LS "\n" },
	{ "a ref under deletion",
	    { { INFO, 0, ADVERT,
		SERVICE "003d" ZERO " refs/heads/main\n0000" } },
	    ERR_BUSY, 0, "being deleted", INFO "\n" },
};

#define ANSWER                                                                 \
	"{\"digest\":\"" ONE_HEAD "\",\"refs\":1,\"head\":"                    \
	"\"refs/heads/main\",\"object_format\":\"sha1\"}"

static const struct row endpoints[] = {
	{ "a digest",
	    { { DIGEST, 0, "application/json", ANSWER },
		{ INFO, 0, ADVERT, V2 } },
	    ERR_OK, 200, ONE_HEAD, DIGEST "\n" INFO "\n" },
	{ "offers of v0, refs out of order",
	    { { DIGEST, 0, "application/json", ANSWER },
		{ INFO, 0, ADVERT, UNORDERED } },
	    ERR_OK, 200, ONE_HEAD, DIGEST "\n" INFO "\n" INFO "\n" },
	{ "offers without .git",
	    { { DIGEST, 0, "application/json", ANSWER },
		{ INFO, 404, "text/html", "" }, { BARE, 0, ADVERT, V2 } },
	    ERR_OK, 200, ONE_HEAD, DIGEST "\n" INFO "\n" BARE "\n" },
	{ "none", { { DIGEST, 404, "application/json", "{}" } }, ERR_ABSENT,
	    404, "no such repository", DIGEST "\n" },
	{ "not at its url",
	    { { DIGEST, 0, "application/json", ANSWER },
		{ INFO, 404, "text/html", "" },
		{ BARE, 404, "text/html", "" } },
	    ERR_PEER, 404, "the same directory",
	    DIGEST "\n" INFO "\n" BARE "\n" },
	{ "no JSON", { { DIGEST, 0, "text/html", "<html>" } }, ERR_PEER, 200,
	    "not one JSON object", DIGEST "\n" },
	{ "a failure", { { DIGEST, 500, "text/html", "" } }, ERR_PEER, 500,
	    "HTTP 500", DIGEST "\n" },
};

static const struct {
	struct canned canned[2];
	enum err err;
	bool has;
} commits[] = {
	{ { { HAS, 0, "text/plain", "true" } }, ERR_OK, true },
	{ { { HAS, 0, "text/plain", " true\r\n" } }, ERR_OK, true },
	{ { { HAS, 0, "text/plain", "false\n" } }, ERR_OK, false },
	{ { { HAS, 0, "text/plain", "" } }, ERR_PEER, false },
	{ { { HAS, 0, "text/plain", "truefalse" } }, ERR_PEER, false },
	{ { { HAS, 0, "text/plain", "true true" } }, ERR_PEER, false },
	{ { { HAS, 0, "text/plain", "{\"true\":1}" } }, ERR_PEER, false },
	{ { { HAS, 404, "text/plain", "true" } }, ERR_ABSENT, false },
	{ { { HAS, 500, "text/plain", "true" } }, ERR_PEER, false },
};

typedef enum err prober(struct http *, const struct conf *,
    const struct route *, const struct upstream *, const char *,
    struct probe_refs *);

static struct http *http;
static struct upstream upstream = { .name = "one" };
static struct route route = { .name = "code",
	.kind = ROUTE_GIT,
	.prefix = "/git/",
	.primary = &upstream };
static struct conf conf;

static void
begin(const struct canned *answers)
{
	canned = answers;
	buf_reset(&asked);
	buf_puts(&asked, "");
	v2_asked = true;
}

static void
probes(prober *probe, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct probe_refs out = { .status = 99 };
		enum err err;

		begin(rows[i].canned);
		err = probe(http, &conf, &route, &upstream, "p/r", &out);
		tap_int(err, rows[i].err, "%s", rows[i].what);
		tap_int(out.status, rows[i].status, "its status");
		tap_str(asked.data, rows[i].asks, "what was asked");
		if (err != ERR_OK) {
			tap_ok(strstr(err_text(), rows[i].says) != NULL, "%s",
			    err_text());
			continue;
		}
		tap_str(out.refs.digest, rows[i].says, "its digest");
		tap_ok(out.has_offers, "what it offers is known");
		tap_ok(v2_asked || probe != probe_advert, "in protocol v2");
	}
}

static void
has_commit(void)
{
	for (size_t i = 0; i < COUNT(commits); i++) {
		bool has = !commits[i].has;
		enum err err;

		begin(commits[i].canned);
		err = probe_has_commit(http, &conf, &upstream, "p/r", A, &has);
		tap_int(err, commits[i].err, "has-commit: %u %s",
		    commits[i].canned[0].status, commits[i].canned[0].body);
		tap_ok(has ==
			(err == ERR_OK ? commits[i].has : !commits[i].has),
		    "its answer, or nothing");
	}
}

static void
urls(void)
{
	static const struct {
		const char *name, *want;
	} rows[] = {
		{ "r", "http://x/end/projects/-/repos/r/refs/" },
		{ "a/b c/r", "http://x/end/projects/a%2Fb%20c/repos/r/refs/" },
		{ "-/r", NULL },
		{ "-/b/r", "http://x/end/projects/-%2Fb/repos/r/refs/" },
	};
	struct upstream one = { .endpoint = "http://x/end" };

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct buf url = { 0 };
		enum err err = probe_endpoint_url(&one, rows[i].name, NULL,
		    "refs/", &url);

		if (rows[i].want != NULL)
			tap_str(url.data, rows[i].want, "%s", rows[i].name);
		else
			tap_int(err, ERR_PEER, "%s", rows[i].name);
		buf_free(&url);
	}
}

/* Bits are named as advert.h names them. */
static void
offers(void)
{
	static const struct canned answers[] = {
		{ INFO, 0, ADVERT, V2 },
		{ LS, 0, RESULT, LISTED },
		{ DIGEST, 0, "application/json", ANSWER },
		{ NULL, 0, NULL, NULL },
	};
	struct probe_refs one = { .offers = 0 }, other = { .offers = 0 };

	begin(answers);
	tap_int(probe_advert(http, &conf, &route, &upstream, "p/r", &one),
	    ERR_OK, "an advertisement");
	tap_int(probe_endpoint(http, &conf, &route, &upstream, "p/r", &other),
	    ERR_OK, "a digest");
	tap_int(one.offers, other.offers, "offer the same");
	tap_ok((one.offers & 1) != 0 &&
		strcmp(advert_cap_names[0], "filter") == 0,
	    "filter");
}

int
main(void)
{
	struct server *server = server_start(answer, NULL);

	upstream.url = mem_dup(server_url(server));
	upstream.endpoint = mem_fmt("%s/end", server_url(server));
	conf.sync.stall_ms = 5000;
	http = http_new();
	probes(probe_advert, adverts, COUNT(adverts));
	probes(probe_endpoint, endpoints, COUNT(endpoints));
	has_commit();
	urls();
	offers();
	http_free(http);
	server_stop(server);
	buf_free(&asked);
	free(upstream.url);
	free(upstream.endpoint);
	return tap_done();
}

/* probe.c: asks a primary or a replica what it has */
/* SPDX-License-Identifier: ISC */
#include "sync/probe.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "conf/name.h"
#include "sync/advert.h"
#include "sync/wire.h"

/* MAX_REFS refs of some length; streamed, so that it costs no memory. */
#define MAX_ADVERT_BODY (1UL << 30)
/* An endpoint's answer is one digest and one name, or a word. */
#define MAX_ENDPOINT_BODY (64UL << 10)
/* A registry may list all tags, whatever was asked for. */
#define MAX_TAGS_BODY (16UL << 20)
/* An answer that trickles in is ended after so many stall limits. */
#define STALLS_IN_ALL 10

/* Whom, about what. */
struct question {
	struct http *http;
	const struct conf *conf;
	const struct upstream *upstream;
	unsigned status; /* of the last answer; 0: none came */
};

/* gitprotocol-http(5); Git-Protocol: gitprotocol-v2(5), "HTTP Transport". */
static const char *const advert_headers[] = {
	"Git-Protocol: version=2",
	"Pragma: no-cache",
	NULL,
};
static const char *const ls_refs_headers[] = {
	"Content-Type: application/x-git-upload-pack-request",
	"Accept: application/x-git-upload-pack-result",
	"Git-Protocol: version=2",
	NULL,
};

static enum err
refused(const char *url, const struct upstream *upstream, unsigned status)
{
	if (status == 404 || status == 410)
		return err_set(ERR_ABSENT,
		    "%s: HTTP %u: there is no such "
		    "repository",
		    url, status);
	if (status == 401 || status == 403)
		return err_set(ERR_PEER,
		    "%s: HTTP %u: give upstream %s an "
		    "auth_file whose user may read it",
		    url, status, upstream->name);
	if (status / 100 == 3)
		return err_set(ERR_PEER,
		    "%s: HTTP %u: redirects are not "
		    "followed; set the url of upstream %s to where it went",
		    url, status, upstream->name);
	return err_set(ERR_PEER, "%s: HTTP %u", url, status);
}

static void
set_limits(const struct question *question, struct http_request *request)
{
	request->auth_file = question->upstream->auth_file;
	request->ca_file = question->upstream->ca_file;
	request->stall_ms = question->conf->sync.stall_ms;
	request->total_ms = request->stall_ms * STALLS_IN_ALL;
}

/* Answers ERR_OK exactly for status 200. */
static enum err
ask(struct question *question, struct http_request *request,
    struct http_reply *reply)
{
	enum err err;

	set_limits(question, request);
	question->status = 0;
	err = http_run(question->http, request, reply);
	if (err != ERR_OK)
		return err;
	question->status = reply->status;
	if (reply->status == 200)
		return ERR_OK;
	buf_free(&reply->body);
	return refused(request->url, question->upstream, reply->status);
}

static enum err
feed_advert(void *arg, const char *bytes, size_t len)
{
	return advert_take(arg, bytes, len);
}

static bool
is_type(const struct http_reply *reply, const char *type)
{
	size_t len = strcspn(reply->content_type, "; ");

	return len == strlen(type) &&
	    strncasecmp(reply->content_type, type, len) == 0;
}

/* One request whose answer, of that type, goes into advert. */
static enum err
ask_advert(struct question *question, struct http_request *request,
    const char *type, struct advert *advert)
{
	struct http_reply reply = { 0 };
	enum err err;

	request->max_body = MAX_ADVERT_BODY;
	request->sink = feed_advert;
	request->sink_arg = advert;
	err = ask(question, request, &reply);
	buf_free(&reply.body);
	if (err == ERR_INPUT) {
		/* only of that status are bytes fed */
		question->status = 200;
		return err_prefix(err, "no ref advertisement");
	}
	if (err != ERR_OK)
		return err;
	if (!is_type(&reply, type))
		return err_set(ERR_PEER,
		    "%s: its type is not %s: is it a "
		    "git server that speaks the smart protocol?",
		    request->url, type);
	return ERR_OK;
}

/* repo is the repository's URL; in v0 and v1, refs gets all refs as well. */
static enum err
ask_info_refs(struct question *question, const char *repo, struct refs *refs,
    struct advert_caps *caps)
{
	char *url = mem_fmt("%s/info/refs?service=git-upload-pack", repo);
	struct advert *advert = advert_new(ADVERT_INFO_REFS, refs);
	struct http_request request = { .method = "GET",
		.url = url,
		.headers = advert_headers };
	enum err err;

	err = ask_advert(question, &request,
	    "application/x-git-upload-pack-advertisement", advert);
	if (err == ERR_OK && (err = advert_end(advert, caps)) != ERR_OK)
		err = err_prefix(err, "%s", url);
	advert_free(advert);
	free(url);
	return err;
}

static enum err
ask_ls_refs(struct question *question, const char *repo, struct refs *refs,
    struct advert_caps *caps)
{
	char *url = mem_fmt("%s/git-upload-pack", repo);
	struct advert *advert = advert_new(ADVERT_LS_REFS, refs);
	struct buf body = { 0 };
	struct http_request request = { .method = "POST",
		.url = url,
		.headers = ls_refs_headers };
	enum err err;

	advert_ls_refs_body(caps, &body);
	request.body = body.data;
	request.body_len = body.len;
	err = ask_advert(question, &request,
	    "application/x-git-upload-pack-result", advert);
	if (err == ERR_OK && (err = advert_end(advert, caps)) != ERR_OK)
		err = err_prefix(err, "%s", url);
	buf_free(&body);
	advert_free(advert);
	free(url);
	return err;
}

/* refs is freed in any case. */
static enum err
read_refs(struct question *question, const char *repo, struct refs *refs,
    bool *unordered, struct probe_refs *out)
{
	struct advert_caps caps;
	struct refs_digest digest;
	enum err err = ask_info_refs(question, repo, refs, &caps);

	if (err == ERR_OK && caps.v2)
		err = ask_ls_refs(question, repo, refs, &caps);
	if (err != ERR_OK) {
		*unordered = refs_unordered(refs);
		refs_free(refs);
		return err;
	}
	err = refs_end(refs, caps.object_format, &digest);
	if (err != ERR_OK)
		return err_prefix(err, "%s", repo);
	out->refs = digest;
	out->offers = caps.offers;
	out->has_offers = true;
	return ERR_OK;
}

/* git sends refs in order, which costs no memory; others once more. */
static enum err
read_repository(struct question *question, const char *repo,
    struct probe_refs *out)
{
	bool unordered = false;
	enum err err;

	err = read_refs(question, repo, refs_new_ordered(), &unordered, out);
	if (unordered)
		err = read_refs(question, repo, refs_new(), &unordered, out);
	return err;
}

/* "url/prefix/name.git"; the caller frees it. */
static char *
repository_url(const struct route *route, const struct upstream *upstream,
    const char *name)
{
	struct buf url = { 0 };

	buf_puts(&url, upstream->url);
	http_escape(&url, route->prefix, true);
	http_escape(&url, name, true);
	buf_puts(&url, ".git");
	return url.data;
}

/* What a peer sends is its fault, in whatever way. */
static enum err
fault_of_peer(enum err err)
{
	return err == ERR_INPUT || err == ERR_LIMIT ? ERR_PEER : err;
}

enum err
probe_advert(struct http *http, const struct conf *conf,
    const struct route *route, const struct upstream *upstream,
    const char *name, struct probe_refs *out)
{
	struct question question = { http, conf, upstream, 0 };
	char *repo = repository_url(route, upstream, name);
	enum err err = read_repository(&question, repo, out);

	if (err == ERR_ABSENT) {
		repo[strlen(repo) - strlen(".git")] = '\0';
		err = read_repository(&question, repo, out);
	}
	out->status = question.status;
	free(repo);
	return fault_of_peer(err);
}

/* What upload-pack of repo offers, whatever its refs are. */
static enum err
read_offers(struct question *question, const char *repo, unsigned *offers)
{
	struct refs *refs = refs_new_ordered();
	struct advert_caps caps;
	enum err err = ask_info_refs(question, repo, refs, &caps);

	if (refs_unordered(refs)) {
		refs_free(refs);
		refs = refs_new();
		err = ask_info_refs(question, repo, refs, &caps);
	}
	refs_free(refs);
	if (err == ERR_OK)
		*offers = caps.offers;
	return err;
}

/* As clients would ask it: another directory than the endpoint's shows. */
static enum err
offers_at(struct question *question, const struct route *route,
    const char *name, struct probe_refs *out)
{
	char *repo = repository_url(route, question->upstream, name);
	enum err err = read_offers(question, repo, &out->offers);

	if (err == ERR_ABSENT) {
		repo[strlen(repo) - strlen(".git")] = '\0';
		err = read_offers(question, repo, &out->offers);
	}
	if (err == ERR_ABSENT)
		err = err_set(ERR_PEER,
		    "%s: its endpoint has this repository, "
		    "its url has not: do both show the same directory?",
		    repo);
	if (err == ERR_OK)
		out->has_offers = true;
	free(repo);
	return err;
}

enum err
probe_endpoint_url(const struct upstream *upstream, const char *name,
    const char *sha, const char *tail, struct buf *out)
{
	const char *slash = strrchr(name, '/');
	char *project = slash != NULL ? mem_dup_n(name, (size_t)(slash - name))
				      : mem_dup("-");
	char *template = mem_fmt("/projects/{project}/repos/{repo}/%s", tail);
	const struct name_values values = { .project = project,
		.repo = slash != NULL ? slash + 1 : name,
		.sha = sha };
	enum err err;

	buf_puts(out, upstream->endpoint);
	if (slash != NULL && strcmp(project, "-") == 0)
		err = err_set(ERR_PEER,
		    "a project \"-\" cannot be asked for "
		    "at an endpoint, where it means none");
	else
		err = name_fill(template, &values, true, out);
	free(template);
	free(project);
	return err;
}

static enum err
ask_endpoint(struct question *question, const char *name, const char *sha,
    const char *tail, struct http_reply *reply)
{
	struct buf url = { 0 };
	struct http_request request = { .method = "GET",
		.max_body = MAX_ENDPOINT_BODY };
	enum err err = probe_endpoint_url(question->upstream, name, sha, tail,
	    &url);

	if (err == ERR_OK) {
		request.url = url.data;
		err = ask(question, &request, reply);
	}
	buf_free(&url);
	return err;
}

enum err
probe_endpoint(struct http *http, const struct conf *conf,
    const struct route *route, const struct upstream *upstream,
    const char *name, struct probe_refs *out)
{
	struct question question = { http, conf, upstream, 0 };
	struct http_reply reply = { 0 };
	enum err err = ask_endpoint(&question, name, NULL, "refs/", &reply);

	if (err == ERR_OK) {
		err = wire_get_refs(reply.body.data, reply.body.len,
		    &out->refs);
		if (err != ERR_OK)
			err = err_prefix(err, "%s", upstream->endpoint);
		buf_free(&reply.body);
	}
	if (err == ERR_OK)
		err = offers_at(&question, route, name, out);
	out->status = question.status;
	return fault_of_peer(err);
}

enum err
probe_has_commit(struct http *http, const struct conf *conf,
    const struct upstream *upstream, const char *name, const char *sha,
    bool *has)
{
	struct question question = { http, conf, upstream, 0 };
	struct http_reply reply = { 0 };
	enum err err = ask_endpoint(&question, name, sha,
	    "has-commit/?sha1={sha}", &reply);
	const char *text;
	size_t len;

	if (err != ERR_OK)
		return fault_of_peer(err);
	text = reply.body.data != NULL ? reply.body.data : "";
	text += strspn(text, " \t\r\n");
	len = strcspn(text, " \t\r\n");
	if (text[len + strspn(text + len, " \t\r\n")] != '\0')
		len = 0;
	if (len == 4 && strncmp(text, "true", len) == 0)
		*has = true;
	else if (len == 5 && strncmp(text, "false", len) == 0)
		*has = false;
	else
		err = err_set(ERR_PEER,
		    "%s: has-commit answers neither "
		    "\"true\" nor \"false\"",
		    upstream->endpoint);
	buf_free(&reply.body);
	return err;
}

enum err
probe_tags(struct http *http, const struct conf *conf,
    const struct upstream *upstream, const char *name, unsigned *status)
{
	const struct question question = { http, conf, upstream, 0 };
	char *url = mem_fmt("%s/v2/%s/tags/list?n=1", upstream->url, name);
	struct http_request request = { .method = "GET",
		.url = url,
		.max_body = MAX_TAGS_BODY };
	struct http_reply reply = { 0 };
	enum err err;

	set_limits(&question, &request);
	err = http_run(http, &request, &reply);
	if (err == ERR_OK && !is_type(&reply, "application/json"))
		err = err_set(ERR_PEER, "%s: HTTP %u, not of a registry", url,
		    reply.status);
	if (err == ERR_OK)
		*status = reply.status;
	buf_free(&reply.body);
	free(url);
	return err;
}

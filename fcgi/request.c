/* request.c: what a request is about: route, operation, repository */
/* SPDX-License-Identifier: ISC */
#include "fcgi/request.h"

#include <string.h>

#include "fcgi/target.h"

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define ALNUM DIGITS LETTERS

/* "/.git.git" at most is stripped of what was written. */
#define SPELT_SIZE (NAME_SIZE + 16)
/* Longest tag (OCI distribution-spec, "Pulling manifests"). */
#define MAX_TAG 128

static const struct {
	const char *word;
	enum op_class class;
} ops[] = {
	[OP_NONE] = { "none", CLASS_OTHER },
	[OP_OTHER] = { "other", CLASS_OTHER },
	[OP_GIT_REFS] = { "refs", CLASS_READ },
	[OP_GIT_UPLOAD_PACK] = { "upload-pack", CLASS_READ },
	[OP_GIT_WRITE_REFS] = { "write-refs", CLASS_WRITE },
	[OP_GIT_RECEIVE_PACK] = { "receive-pack", CLASS_WRITE },
	[OP_GIT_ARCHIVE] = { "archive", CLASS_OTHER },
	[OP_GIT_LFS] = { "lfs", CLASS_OTHER },
	[OP_GIT_DUMB] = { "dumb", CLASS_OTHER },
	[OP_REG_BASE] = { "base", CLASS_OTHER },
	[OP_REG_CATALOGUE] = { "catalogue", CLASS_OTHER },
	[OP_REG_TAGS] = { "tags", CLASS_READ },
	[OP_REG_MANIFEST_GET] = { "manifest-get", CLASS_READ },
	[OP_REG_MANIFEST_PUT] = { "manifest-put", CLASS_WRITE },
	[OP_REG_MANIFEST_DELETE] = { "manifest-delete", CLASS_FOLLOW },
	[OP_REG_TAG_DELETE] = { "tag-delete", CLASS_FOLLOW },
	[OP_REG_BLOB_GET] = { "blob-get", CLASS_READ },
	[OP_REG_BLOB_DELETE] = { "blob-delete", CLASS_FOLLOW },
	[OP_REG_UPLOAD_START] = { "upload-start", CLASS_WRITE },
	[OP_REG_UPLOAD_WRITE] = { "upload-write", CLASS_WRITE },
	[OP_REG_UPLOAD_STATUS] = { "upload-status", CLASS_READ },
	[OP_REG_UPLOAD_CANCEL] = { "upload-cancel", CLASS_FOLLOW },
	[OP_REG_REFERRERS] = { "referrers", CLASS_READ },
};

const char *
request_op_word(enum op op)
{
	return ops[op].word;
}

enum op_class
request_op_class(enum op op)
{
	return ops[op].class;
}

static bool
ends_with(const char *text, size_t len, const char *tail)
{
	size_t n = strlen(tail);

	return len >= n && memcmp(text + len - n, tail, n) == 0;
}

/* gitprotocol-http(5), "Smart Clients" */
static const struct {
	const char *service;
	enum op op;
} services[] = {
	{ "git-upload-pack", OP_GIT_REFS },
	{ "git-receive-pack", OP_GIT_WRITE_REFS },
	{ "git-upload-archive", OP_GIT_ARCHIVE },
};

static enum op
service_op(const char *value, size_t len)
{
	for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++)
		if (target_means(value, len, services[i].service))
			return services[i].op;
	return OP_OTHER;
}

/*
 * What an info/refs is for.  Backends differ in which of several services
 * they take (and some split at ";"): one that writes is a write, others
 * must agree.
 */
static enum op
refs_op(const char *query)
{
	enum op op = OP_GIT_DUMB;
	size_t len;

	for (; *query != '\0'; query += len + (query[len] != '\0')) {
		size_t key = strcspn(query, "=&;#");
		enum op said;

		len = strcspn(query, "&;#");
		if (!target_means(query, key, "service"))
			continue;
		said = query[key] == '='
		    ? service_op(query + key + 1, len - key - 1)
		    : OP_OTHER;
		if (said == OP_GIT_WRITE_REFS)
			return said;
		op = op == OP_GIT_DUMB || op == said ? said : OP_OTHER;
	}
	return op;
}

/* As git's http-backend.c has them; HEAD counts as GET there, too. */
static const struct git_shape {
	const char *words;
	bool open;	    /* anything may follow */
	const char *method; /* NULL: any */
	enum op op;
} git_shapes[] = {
	{ "/info/refs", false, "GET", OP_GIT_REFS },
	{ "/git-upload-pack", false, "POST", OP_GIT_UPLOAD_PACK },
	{ "/git-receive-pack", false, "POST", OP_GIT_RECEIVE_PACK },
	{ "/git-upload-archive", false, "POST", OP_GIT_ARCHIVE },
	{ "/info/lfs/", true, NULL, OP_GIT_LFS },
	{ "/HEAD", false, "GET", OP_GIT_DUMB },
	{ "/objects/", true, "GET", OP_GIT_DUMB },
	{ NULL, false, NULL, OP_OTHER },
};

/* Where the last one of words begins in text, or NULL. */
static const char *
find_last(const char *text, const char *words)
{
	const char *last = NULL;

	while ((text = strstr(text, words)) != NULL)
		last = text++;
	return last;
}

/* *name becomes the length of what stands before the shape's words. */
static bool
fits_git(const struct git_shape *shape, const char *rest, size_t *name)
{
	size_t len = strlen(rest);
	const char *words = NULL;

	if (shape->open)
		words = find_last(rest, shape->words);
	else if (ends_with(rest, len, shape->words))
		words = rest + len - strlen(shape->words);
	if (words == NULL)
		return false;
	*name = (size_t)(words - rest);
	return true;
}

/* Sets name, and canonical to false where the spelling says so. */
static void
take_git_name(const struct route *route, const char *spelt, size_t len,
    struct request *out)
{
	char name[SPELT_SIZE];

	if (len >= sizeof(name))
		return;
	memcpy(name, spelt, len);
	name[len] = '\0';
	if (route->fold_case) {
		name_fold(name);
		out->canonical &= memcmp(name, spelt, len) == 0;
	}
	/* a path parameter to some (see target.h) */
	out->canonical &= strchr(name, ';') == NULL;
	/* git takes NAME/.git for NAME where that has a work tree */
	if (ends_with(name, len, "/.git")) {
		len -= strlen("/.git");
		out->canonical = false;
	}
	if (ends_with(name, len, ".git"))
		len -= strlen(".git");
	name[len] = '\0';
	if (name_git(name))
		memcpy(out->name, name, len + 1);
}

/* rest starts with the prefix's last slash. */
static void
parse_git(const char *method, struct target *target, char *rest,
    struct request *out)
{
	const struct git_shape *shape = git_shapes;
	size_t len = strlen(rest), name = 0;

	if (len > 1 && rest[len - 1] == '/') {
		rest[len - 1] = '\0';
		target->changed = true;
	}
	while (shape->words != NULL && !fits_git(shape, rest, &name))
		shape++;
	if (shape->words == NULL ||
	    (shape->method != NULL && strcmp(shape->method, method) != 0))
		return;
	out->op = shape->op;
	if (out->op == OP_GIT_REFS)
		out->op = refs_op(target->query);
	out->canonical = !target->changed && !target->odd;
	if (name > 1)
		take_git_name(out->route, rest + 1, name - 1, out);
	/* no write escapes its fence by its spelling */
	if (request_op_class(out->op) == CLASS_WRITE)
		return;
	if (target->changed || out->op == OP_OTHER || out->name[0] == '\0') {
		out->op = OP_OTHER;
		out->name[0] = '\0';
	}
}

static bool
is_tag(const char *text)
{
	size_t len = strspn(text, ALNUM "_.-");

	return len >= 1 && len <= MAX_TAG && text[len] == '\0' &&
	    text[0] != '.' && text[0] != '-';
}

/* As registries take it in a path, which is wider than the specification. */
static bool
is_digest(const char *text)
{
	size_t algorithm = strspn(text, ALNUM ".+_-"), value;

	if (algorithm == 0 || text[algorithm] != ':')
		return false;
	text += algorithm + 1;
	value = strspn(text, ALNUM "=_-");
	return value > 0 && text[value] == '\0';
}

static bool
is_reference(const char *text)
{
	return is_tag(text) || is_digest(text);
}

static bool
is_upload(const char *text)
{
	size_t len = strspn(text, ALNUM "_=.-");

	return len > 0 && text[len] == '\0';
}

/*
 * OCI distribution-spec 1.1, "Endpoints", and what Docker's registry and
 * GitLab's have beside; HEAD counts as GET.
 */
static const struct registry_shape {
	const char *words;
	bool (*last)(const char *); /* what follows; NULL: nothing does */
	struct {
		const char *method;
		enum op op;
	} methods[4];
} registry_shapes[] = {
	{ "/tags/list", NULL, { { "GET", OP_REG_TAGS } } },
	{ "/manifests/", is_reference,
	    { { "GET", OP_REG_MANIFEST_GET }, { "PUT", OP_REG_MANIFEST_PUT },
		{ "DELETE", OP_REG_MANIFEST_DELETE } } },
	{ "/blobs/uploads/", NULL, { { "POST", OP_REG_UPLOAD_START } } },
	/* registries send 301 here, and clients then GET */
	{ "/blobs/uploads", NULL, { { "POST", OP_REG_UPLOAD_START } } },
	{ "/blobs/uploads/", is_upload,
	    { { "GET", OP_REG_UPLOAD_STATUS },
		{ "DELETE", OP_REG_UPLOAD_CANCEL },
		{ "PATCH", OP_REG_UPLOAD_WRITE },
		{ "PUT", OP_REG_UPLOAD_WRITE } } },
	{ "/blobs/", is_digest,
	    { { "GET", OP_REG_BLOB_GET }, { "DELETE", OP_REG_BLOB_DELETE } } },
	{ "/referrers/", is_digest, { { "GET", OP_REG_REFERRERS } } },
	{ "/tags/reference/", is_tag, { { "DELETE", OP_REG_TAG_DELETE } } },
	{ NULL, NULL, { { NULL, OP_OTHER } } },
};

/* Those without a repository, under the route's last slash. */
static const struct {
	const char *rest;
	enum op op;
} registry_roots[] = {
	{ "", OP_REG_BASE },
	{ "/", OP_REG_BASE },
	{ "/_catalog", OP_REG_CATALOGUE },
	{ "/_catalog/", OP_REG_CATALOGUE },
};

static enum op
root_op(const char *method, const char *rest)
{
	const size_t n = sizeof(registry_roots) / sizeof(registry_roots[0]);

	for (size_t i = 0; i < n && strcmp(method, "GET") == 0; i++)
		if (strcmp(rest, registry_roots[i].rest) == 0)
			return registry_roots[i].op;
	return OP_OTHER;
}

static enum op
fit_registry(const struct registry_shape *shape, const char *method,
    const char *rest, size_t *name)
{
	size_t len = strlen(rest);

	if (shape->last != NULL) {
		const char *last = strrchr(rest, '/');

		if (last == NULL || !shape->last(last + 1))
			return OP_OTHER;
		len = (size_t)(last + 1 - rest);
	}
	if (!ends_with(rest, len, shape->words))
		return OP_OTHER;
	*name = len - strlen(shape->words);
	for (size_t i = 0; i < 4 && shape->methods[i].method != NULL; i++)
		if (strcmp(shape->methods[i].method, method) == 0)
			return shape->methods[i].op;
	return OP_OTHER;
}

static void
parse_registry(const char *method, const struct target *target,
    const char *rest, struct request *out)
{
	enum op op = OP_OTHER;
	size_t name = 0;

	/* the registry answers 301 to the clean path */
	if (target->changed)
		return;
	out->op = root_op(method, rest);
	for (const struct registry_shape *shape = registry_shapes;
	     op == OP_OTHER && shape->words != NULL; shape++)
		op = fit_registry(shape, method, rest, &name);
	if (op == OP_OTHER || name < 2 || name - 1 > MAX_REGISTRY_NAME)
		return;
	memcpy(out->name, rest + 1, name - 1);
	out->name[name - 1] = '\0';
	if (name_registry(out->name))
		out->op = op;
	else
		out->name[0] = '\0';
}

/* "/v2" is "/v2/": registries answer both; *rest starts with its last slash. */
static const struct route *
find_route(const struct conf *conf, char *path, char **rest)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < conf->n_routes; i++) {
		const char *prefix = conf->routes[i].prefix;
		size_t n = strlen(prefix) - 1;

		if (len < n || memcmp(path, prefix, n) != 0 ||
		    (path[n] != '/' && path[n] != '\0'))
			continue;
		*rest = path + n;
		return &conf->routes[i];
	}
	return NULL;
}

/*
 * Is it below the route only where path parameters are dropped ("/scm;x/")?
 * To the web server it is not, so that what it asks of its clients below the
 * route's prefix, as a password, was not asked.
 */
static bool
is_hidden(const struct conf *conf, const struct route *route, const char *text)
{
	struct target plain;
	char *rest;

	return strchr(text, ';') != NULL && target_read_plain(text, &plain) &&
	    find_route(conf, plain.path, &rest) != route;
}

void
request_parse(const struct conf *conf, const char *method, const char *text,
    struct request *out)
{
	struct target target;
	char *rest;

	out->route = NULL;
	out->op = OP_NONE;
	out->name[0] = '\0';
	out->canonical = false;
	if (method == NULL || text == NULL || !target_read(text, &target))
		return;
	out->route = find_route(conf, target.path, &rest);
	if (out->route != NULL && is_hidden(conf, out->route, text))
		out->route = NULL;
	if (out->route == NULL)
		return;
	out->op = OP_OTHER;
	if (target.cut)
		return;
	if (strcmp(method, "HEAD") == 0)
		method = "GET";
	if (out->route->kind == ROUTE_GIT)
		parse_git(method, &target, rest, out);
	else
		parse_registry(method, &target, rest, out);
}

/* endpoint.c: what a request to reproute-replica asks for */
/* SPDX-License-Identifier: ISC */
#include "fcgi/endpoint.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/target.h"

static const char *const words[ENDPOINT_OPS] = {
	[ENDPOINT_HAS_COMMIT] = "has-commit",
	[ENDPOINT_REFS] = "refs",
	[ENDPOINT_FETCH] = "fetch",
};

/* Cuts the last segment off path, and returns it; NULL: there is none. */
static char *
cut_segment(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash == NULL)
		return NULL;
	*slash = '\0';
	return slash + 1;
}

/* path is "/projects/P/repos/R". */
static enum err
take_name(char *path, struct endpoint *out)
{
	static const char head[] = "/projects/";
	const char *repo = cut_segment(path);
	const char *repos = repo != NULL ? cut_segment(path) : NULL;
	char *name;
	bool legal;

	if (repos == NULL || strcmp(repos, "repos") != 0 ||
	    strncmp(path, head, strlen(head)) != 0)
		return err_set(ERR_ABSENT, "not projects/PROJECT/repos/REPO");
	path += strlen(head);
	name = strcmp(path, "-") == 0 ? mem_dup(repo)
				      : mem_fmt("%s/%s", path, repo);
	if ((legal = name_git(name)))
		strcpy(out->name, name);
	free(name);
	return legal ? ERR_OK
		     : err_set(ERR_INPUT,
			   "not the name of a "
			   "repository");
}

/* The value of sha1=, which must be there once. */
static enum err
take_sha(const char *query, struct endpoint *out)
{
	static const char key[] = "sha1=";
	unsigned found = 0;

	while (*query != '\0') {
		size_t len = strcspn(query, "&"), n = len - strlen(key);

		if (len >= strlen(key) &&
		    strncmp(query, key, strlen(key)) == 0) {
			found++;
			n = n < sizeof(out->sha) ? n : 0;
			memcpy(out->sha, query + strlen(key), n);
			out->sha[n] = '\0';
		}
		query += len + (query[len] == '&');
	}
	if (found != 1 || !name_oid(out->sha))
		return err_set(ERR_INPUT,
		    "sha1= must be there once, as 40 or "
		    "64 lower hex digits");
	return ERR_OK;
}

/* The path behind the endpoint's own. */
static char *
behind_script(const char *script, char *path)
{
	size_t len = script != NULL ? strlen(script) : 0;
	char *projects;

	if (len > 0 && strncmp(path, script, len) == 0 &&
	    (path[len] == '/' || path[len] == '\0'))
		return path + len;
	projects = strstr(path, "/projects/");
	return projects != NULL ? projects : path;
}

static enum err
take_path(char *path, const char *query, struct endpoint *out)
{
	size_t len = strlen(path);
	const char *word;
	enum err err;

	if (len > 0 && path[len - 1] == '/')
		path[len - 1] = '\0';
	if ((word = cut_segment(path)) == NULL) {
		out->op = ENDPOINT_LIFE;
		return ERR_OK;
	}
	out->op = ENDPOINT_OPS;
	for (enum endpoint_op op = 0; op < ENDPOINT_OPS; op++)
		if (words[op] != NULL && strcmp(words[op], word) == 0)
			out->op = op;
	if (out->op == ENDPOINT_OPS)
		return err_set(ERR_ABSENT,
		    "there are has-commit, refs and "
		    "fetch");
	err = take_name(path, out);
	if (err == ERR_OK && out->op == ENDPOINT_HAS_COMMIT)
		err = take_sha(query, out);
	return err;
}

enum err
endpoint_parse(const char *script, const char *uri, struct endpoint *out)
{
	struct target *target = mem_zalloc(sizeof(*target));
	struct endpoint endpoint = { 0 };
	enum err err;

	/* what had to be resolved, no program of ours has written */
	if (!target_read(uri, target) || target->cut || target->changed)
		err = err_set(ERR_INPUT, "not a path as it is asked for");
	else
		err = take_path(behind_script(script, target->path),
		    target->query, &endpoint);
	free(target);
	if (err == ERR_OK)
		*out = endpoint;
	return err;
}

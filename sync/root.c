/* root.c: the repositories below one directory, and nothing else */
/* SPDX-License-Identifier: ISC */
#include "sync/root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "conf/name.h"
#include "sync/repo.h"

/* A directory below dir that no link leads to; -1 and errno. */
static int
open_beneath(int dir, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
		    RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

static enum err
open_root(const char *root, const char *name, int *out)
{
	int dir;

	if (!name_git(name))
		return err_set(ERR_INPUT, "not a repository's name");
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return err_sys("%s", root);
	*out = dir;
	return ERR_OK;
}

static bool
is_there(int root, const char *name, const char *suffix)
{
	char path[MAX_NAME + sizeof(".git")];
	bool found;
	int dir;

	snprintf(path, sizeof(path), "%s%s", name, suffix);
	if ((dir = open_beneath(root, path)) < 0)
		return false;
	found = repo_is(dir);
	close(dir);
	return found;
}

static enum err
put_path(const char *root, const char *name, const char *suffix, char *path,
    size_t size)
{
	int len = snprintf(path, size, "%s/%s%s", root, name, suffix);

	if (len < 0 || (size_t)len >= size)
		return err_set(ERR_LIMIT, "%s: too long a path", root);
	return ERR_OK;
}

enum err
root_find(const char *root, const char *name, char *path, size_t size)
{
	bool plain, dotted;
	enum err err;
	int dir;

	if ((err = open_root(root, name, &dir)) != ERR_OK)
		return err;
	plain = is_there(dir, name, "");
	dotted = is_there(dir, name, ".git");
	close(dir);
	if (!plain && !dotted)
		return err_set(ERR_ABSENT, "no such repository");
	if (plain && dotted)
		return err_set(ERR_INPUT,
		    "the repository is there twice, "
		    "with and without .git: remove one of the two");
	return put_path(root, name, plain ? "" : ".git", path, size);
}

/* Each directory on the way, from the outermost, as far as they are there. */
static enum err
check_way(int root, const char *name)
{
	char way[MAX_NAME + sizeof(".git")];

	snprintf(way, sizeof(way), "%s.git", name);
	for (char *slash = strchr(way, '/');; slash = strchr(slash + 1, '/')) {
		bool inside;
		int dir;

		if (slash != NULL)
			*slash = '\0';
		dir = open_beneath(root, way);
		if (dir < 0 && errno == ENOENT)
			return ERR_OK;
		if (dir < 0)
			return err_set(ERR_INPUT,
			    "a link or a file is in the "
			    "way of the repository");
		inside = repo_is(dir);
		close(dir);
		if (slash == NULL)
			return err_set(ERR_INPUT,
			    "its directory is there "
			    "already, but holds no repository: remove it");
		if (inside)
			return err_set(ERR_INPUT,
			    "it would be made inside "
			    "another repository");
		*slash = '/';
	}
}

enum err
root_place(const char *root, const char *name, char *path, size_t size)
{
	enum err err;
	int dir;

	if ((err = open_root(root, name, &dir)) != ERR_OK)
		return err;
	err = check_way(dir, name);
	close(dir);
	return err != ERR_OK ? err : put_path(root, name, ".git", path, size);
}

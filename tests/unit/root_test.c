/* root_test.c: no name leads out of the root, and none through a link */
/* SPDX-License-Identifier: ISC */
#include "sync/root.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

#include "conf/mem.h"
#include "tests/unit/tap.h"

/* A root with what may be found, and what may not. */
static const char tree[] =
    "mkdir -p root/p/q root/file.git root/dir root/loop; cd root\n"
    "for r in plain dotted.git p/r.git p/q/deep.git twice twice.git"
    " ../outside.git 'p/a b.git'; do git init -q --bare \"$r\"; done\n"
    "ln -s plain link; ln -s plain link2.git; ln -s p ln\n"
    "ln -s ../outside.git outlink.git; ln -s ../.. up; >p/plainfile\n"
    "cd ..; ln -s root rootlink\n";

static const struct {
	const char *name, *path;
	enum err err;
} finds[] = {
	{ "plain", "plain", ERR_OK },
	{ "dotted", "dotted.git", ERR_OK },
	{ "p/r", "p/r.git", ERR_OK },
	{ "p/q/deep", "p/q/deep.git", ERR_OK },
	{ "p/a b", "p/a b.git", ERR_OK },
	{ "twice", NULL, ERR_INPUT },
	{ "absent", NULL, ERR_ABSENT },
	{ "p/absent", NULL, ERR_ABSENT },
	{ "p", NULL, ERR_ABSENT },
	{ "file", NULL, ERR_ABSENT },
	{ "dir", NULL, ERR_ABSENT },
	{ "p/plainfile/x", NULL, ERR_ABSENT },
	{ "link", NULL, ERR_ABSENT },
	{ "link2", NULL, ERR_ABSENT },
	{ "ln/r", NULL, ERR_ABSENT },
	{ "outlink", NULL, ERR_ABSENT },
	{ "up/root/plain", NULL, ERR_ABSENT },
	{ "../outside", NULL, ERR_INPUT },
	{ "p/../plain", NULL, ERR_INPUT },
	{ "/etc", NULL, ERR_INPUT },
	{ "", NULL, ERR_INPUT },
	{ "plain.git", NULL, ERR_INPUT },
	{ "proc/self/root", NULL, ERR_ABSENT },
}, places[] = {
	{ "new", "new.git", ERR_OK },
	{ "p/new", "p/new.git", ERR_OK },
	{ "n/e/w", "n/e/w.git", ERR_OK },
	{ "~u/x", "~u/x.git", ERR_OK },
	{ "dotted", NULL, ERR_INPUT },
	{ "file", NULL, ERR_INPUT },
	{ "ln/new", NULL, ERR_INPUT },
	{ "up/new", NULL, ERR_INPUT },
	{ "link2/new", "link2/new.git", ERR_OK },
	{ "link2", NULL, ERR_INPUT },
	{ "p/plainfile/new", NULL, ERR_INPUT },
	{ "plain/new", NULL, ERR_INPUT },
	{ "p/r.git/hooks/new", NULL, ERR_INPUT },
	{ "../new", NULL, ERR_INPUT },
	{ "a/../../new", NULL, ERR_INPUT },
};

static bool
shell(const char *script)
{
	char *line = mem_fmt("cd '%s' && set -e\n%s", tap_dir(), script);
	bool good = system(line) == 0;

	free(line);
	return good;
}

static void
check_path(const char *what, enum err err, enum err want, const char *name,
    const char *path, const char *want_path)
{
	char *whole = want_path
	    ? mem_fmt("%s/rootlink/%s", tap_dir(), want_path)
	    : NULL;

	tap_int(err, want, "%s \"%s\"", what, name);
	if (whole != NULL)
		tap_str(path, whole, "%s \"%s\": the path", what, name);
	free(whole);
}

static void
test_paths(void)
{
	char *root = mem_fmt("%s/rootlink", tap_dir());
	char path[PATH_MAX], small[8];

	tap_ok(shell(tree), "a root, by a link");
	for (size_t i = 0; i < sizeof(finds) / sizeof(finds[0]); i++)
		check_path("find",
		    root_find(root, finds[i].name, path, sizeof(path)),
		    finds[i].err, finds[i].name, path, finds[i].path);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		check_path("place",
		    root_place(root, places[i].name, path, sizeof(path)),
		    places[i].err, places[i].name, path, places[i].path);
	tap_int(root_find(root, "plain", small, sizeof(small)), ERR_LIMIT,
	    "a path too long for its room");
	tap_int(root_find("/nonexistent", "plain", path, sizeof(path)), ERR_SYS,
	    "a root that is not there");
	free(root);
}

int
main(void)
{
	test_paths();
	return tap_done();
}

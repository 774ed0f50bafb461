/* fetch_test.c: one fetch makes a copy what its origin is, whatever it was */
/* SPDX-License-Identifier: ISC */
#include "sync/fetch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/mem.h"
#include "tests/unit/tap.h"

/* No fetch here is so long without a word. */
#define LONG_MS 60000

/* Runs in the origin; commit TEXT [PARENT...] prints a new commit's id. */
static const char prelude[] =
    "set -e\n"
    "commit() { m=$1; shift; t=$(echo \"$m\" | git hash-object -w --stdin);"
    " t=$(printf '100644 blob %s\\tf\\n' $t | git mktree);"
    " git commit-tree -m \"$m\" $(for p; do echo -p $p; done) $t; }\n"
    "[ -f ids ] || { a=$(commit a); b=$(commit b $a); c=$(commit c $b);"
    " echo a=$a b=$b c=$c >ids; }; . ./ids\n"
    "set_() { git update-ref \"$@\"; }\n";

/* One after the other in one origin, each followed by one fetch. */
static const struct {
	const char *claim, *script;
} steps[] = {
	{ "an empty repository", "" },
	{ "the first branch", "set_ refs/heads/main $a" },
	{ "a commit more", "set_ refs/heads/main $c" },
	{ "nothing new", "" },
	{ "a force-push back", "set_ refs/heads/main $a" },
	{ "a branch at an old commit", "set_ refs/heads/rel $a" },
	{ "a branch that is a tag, too",
	    "set_ refs/tags/rel $b; set_ refs/heads/rel $c" },
	{ "an annotated tag that moves",
	    "git tag -a -m x t $a;"
	    "git tag -f -a -m y t $b >/dev/null" },
	{ "a branch that becomes a directory",
	    "set_ refs/heads/foo $a; set_ -d refs/heads/foo;"
	    "set_ refs/heads/foo/bar $b" },
	{ "a branch that will be a directory",
	    "set_ -d refs/heads/foo/bar; set_ refs/heads/foo $a" },
	{ "and becomes one",
	    "set_ -d refs/heads/foo;"
	    "set_ refs/heads/foo/bar $b; set_ refs/heads/foo/baz/x $b" },
	{ "and is one no more",
	    "set_ -d refs/heads/foo/bar;"
	    "set_ -d refs/heads/foo/baz/x; set_ refs/heads/foo $c" },
	{ "a deleted branch and a deleted tag",
	    "set_ -d refs/heads/rel; set_ -d refs/tags/t" },
	{ "refs that are no branches",
	    "set_ refs/changes/01/1/1 $b;"
	    "set_ refs/pull/1/head $c; git notes add -m n $a" },
	{ "another HEAD, the old one deleted",
	    "set_ refs/heads/trunk $c; git symbolic-ref HEAD refs/heads/trunk;"
	    "set_ -d refs/heads/main" },
	{ "HEAD at a branch that is not there",
	    "git symbolic-ref HEAD refs/heads/nowhere" },
	{ "a detached HEAD at a commit that no ref reaches",
	    "set_ --no-deref HEAD $(commit lonely $c)" },
	{ "a detached HEAD that moves", "set_ --no-deref HEAD $b" },
	{ "HEAD at a branch again", "git symbolic-ref HEAD refs/heads/trunk" },
	{ "HEAD by way of another symbolic ref",
	    "git symbolic-ref refs/heads/alias refs/heads/trunk;"
	    "git symbolic-ref HEAD refs/heads/alias" },
	{ "a symbolic ref that was a branch",
	    "set_ refs/heads/alias2 $b;"
	    "git symbolic-ref refs/heads/alias2 refs/heads/trunk" },
	{ "an unrelated history", "set_ refs/heads/trunk $(commit other)" },
	{ "400 branches",
	    "for i in $(seq 400); do"
	    " echo \"create refs/heads/many/b$i $c\"; done |"
	    " git update-ref --stdin" },
	{ "and none of them",
	    "git for-each-ref --format='delete %(refname)'"
	    " refs/heads/many | git update-ref --stdin" },
	{ "odd names",
	    "set_ 'refs/heads/ä+&%41;$x' $a; set_ refs/heads/-x $a;"
	    "set_ refs/heads/HEAD $b; set_ refs/x $b" },
	{ "the last ref deleted",
	    "git for-each-ref"
	    " --format='option no-deref%0adelete %(refname)' |"
	    " git update-ref --stdin" },
	{ "and a first one again",
	    "set_ refs/heads/main $b;"
	    "git symbolic-ref HEAD refs/heads/main" },
};

static bool
shell(const char *dir, const char *script)
{
	char *line = mem_fmt("cd '%s' && %s\n%s", dir, prelude, script);
	bool good = system(line) == 0;

	free(line);
	return good;
}

/* All that a command says, or "" ; the caller's. */
static char *
say(const char *fmt, const char *path)
{
	char *command = mem_fmt(fmt, path);
	FILE *answer = popen(command, "r");
	struct buf text = { 0 };
	char piece[4096];
	size_t len;

	buf_puts(&text, "");
	while ((len = fread(piece, 1, sizeof(piece), answer)) > 0)
		buf_add(&text, piece, len);
	pclose(answer);
	free(command);
	return text.data;
}

static void
make(const char *path, const char *format)
{
	char *init = mem_fmt("git init -q --bare --object-format=%s '%s'"
			     " 2>/dev/null",
	    format, path);

	if (system(init) != 0)
		tap_ok(false, "%s is made", path);
	free(init);
}

static enum err
fetch(const char *path, const char *origin, const char *head,
    const char *format)
{
	struct fetch order = { .path = path,
		.origin = origin,
		.head = head,
		.object_format = format,
		.stall_ms = LONG_MS };

	return fetch_run(&order);
}

/*
 * HEAD first; other symbolic refs are advertised as what they lead to, and
 * "ref: X HEAD" is told of what is listed.
 */
#define ADVERTISED                                                             \
	"git ls-remote --symref '%s' | grep -v '^ref: .*refs/.*refs/'"

static void
check_same(const char *origin, const char *copy, const char *claim)
{
	char *want = say(ADVERTISED, origin), *have = say(ADVERTISED, copy);

	tap_str(have, want, "%s", claim);
	free(have);
	free(want);
}

static void
test_steps(const char *format, bool told)
{
	const char *how = told ? "HEAD told" : "HEAD asked for";
	char *origin = mem_fmt("%s/%s-%d.git", tap_dir(), format, told);
	char *copy = mem_fmt("%s/copies/%s-%d.git", tap_dir(), format, told);

	make(origin, format);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		char *claim = mem_fmt("%s, %s: %s", format, how,
		    steps[i].claim);
		char *head;

		if (!tap_ok(shell(origin, steps[i].script), "%s: made", claim))
			continue;
		/* the last of the chain, as it is advertised */
		head = say(
		    "cd '%s' && h=HEAD; while t=$(git symbolic-ref"
		    " --no-recurse -q $h 2>/dev/null || git symbolic-ref -q $h"
		    " 2>/dev/null); do h=$t; done;"
		    " [ $h = HEAD ] || printf %%s $h",
		    origin);
		if (!tap_int(fetch(copy, origin, told ? head : "", format),
			ERR_OK, "%s: fetched", claim))
			tap_note("%s", err_text());
		check_same(origin, copy, claim);
		free(head);
		free(claim);
	}
	free(copy);
	free(origin);
}

static void
test_formats(void)
{
	char *one = mem_fmt("%s/one.git", tap_dir());
	char *two = mem_fmt("%s/two.git", tap_dir());
	char *copy = mem_fmt("%s/format.git", tap_dir());
	char *left;

	make(one, "sha1");
	make(two, "sha256");
	tap_ok(shell(one, "set_ refs/heads/main $a") &&
		shell(two, "set_ refs/heads/main $b"),
	    "two object formats");
	tap_int(fetch(copy, one, "refs/heads/main", "sha1"), ERR_OK,
	    "a copy of the first");
	check_same(one, copy, "is the first");
	tap_int(fetch(copy, two, "refs/heads/main", "sha256"), ERR_OK,
	    "its origin is made anew in the other");
	check_same(two, copy, "is the second");
	tap_int(fetch(copy, one, "refs/heads/main", "sha1"), ERR_OK,
	    "and back");
	check_same(one, copy, "is the first again");
	left = say("ls -d '%s'.* | tr '\\n' ' '", copy);
	tap_ok(strstr(left, "-new") == NULL && strstr(left, "-old") == NULL,
	    "nothing lies beside: %s", left);
	free(left);
	free(copy);
	free(two);
	free(one);
}

static const struct {
	const char *claim, *origin, *head, *format;
	enum err err;
	const char *text;
} refused[] = {
	{ "an origin that is not there", "/nonexistent.git", "refs/heads/main",
	    "sha1", ERR_PEER, "does not appear to be a git repository" },
	{ "an origin in another protocol", "ext::sh -c date", "refs/heads/main",
	    "sha1", ERR_PEER, "transport 'ext' not allowed" },
	{ "an origin like an option", "--upload-pack=date", "refs/heads/main",
	    "sha1", ERR_PEER, "git: exit" },
	{ "a HEAD outside refs/", "/nonexistent.git", "main", "sha1", ERR_INPUT,
	    "no ref's name" },
	{ "a HEAD with a line's end", "/nonexistent.git", "refs/heads/a\nb",
	    "sha1", ERR_INPUT, "no ref's name" },
	{ "a HEAD that climbs", "/nonexistent.git", "refs/../../x", "sha1",
	    ERR_INPUT, "no ref's name" },
	{ "an unknown object format", "/nonexistent.git", "", "md5", ERR_INPUT,
	    "object format" },
};

static void
test_refused(void)
{
	char *copy = mem_fmt("%s/refused/copy.git", tap_dir());

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		tap_int(fetch(copy, refused[i].origin, refused[i].head,
			    refused[i].format),
		    refused[i].err, "%s", refused[i].claim);
		if (!tap_ok(strstr(err_text(), refused[i].text) != NULL,
			"%s: says why", refused[i].claim))
			tap_note("%s", err_text());
		tap_ok(access(copy, F_OK) != 0, "%s: nothing is left",
		    refused[i].claim);
	}
	free(copy);
	copy = mem_fmt("%s/occupied", tap_dir());
	mkdir(copy, 0700);
	tap_int(fetch(copy, "/nonexistent.git", "", "sha1"), ERR_SYS,
	    "a directory that is no repository is not touched");
	tap_ok(rmdir(copy) == 0, "and is as it was");
	free(copy);
}

static void
test_busy(void)
{
	char *origin = mem_fmt("%s/busy-origin.git", tap_dir());
	char *copy = mem_fmt("%s/busy.git", tap_dir());
	char *path = mem_fmt("%s.reproute-lock", copy);
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	make(origin, "sha1");
	flock(fd, LOCK_EX);
	tap_int(fetch(copy, origin, "", "sha1"), ERR_BUSY,
	    "one at a time per repository");
	tap_int(fetch_idle(copy), ERR_BUSY, "its refs may move");
	close(fd);
	tap_int(fetch_idle(copy), ERR_OK, "they stand when that is over");
	tap_int(fetch_idle(origin), ERR_OK, "and where nobody ever fetched");
	tap_int(fetch(copy, origin, "", "sha1"), ERR_OK, "then the other");
	free(path);
	free(copy);
	free(origin);
}

/* What a killed git leaves; every one of them wedges a git fetch. */
static void
test_leftovers(void)
{
	static const char *const files[] = { "refs/heads/main.lock",
		"refs/heads/sub/gone.lock", "packed-refs.lock",
		"packed-refs.new", "HEAD.lock", "shallow.lock" };
	char *origin = mem_fmt("%s/left-origin.git", tap_dir());
	char *copy = mem_fmt("%s/left.git", tap_dir());
	struct timespec hour_ago[2] = { { 0 }, { 0 } };

	make(origin, "sha1");
	shell(origin,
	    "for r in main x sub/gone; do set_ refs/heads/$r $a;"
	    " done");
	tap_int(fetch(copy, origin, "refs/heads/main", "sha1"), ERR_OK,
	    "a copy");
	shell(origin,
	    "set_ refs/heads/main $b; set_ -d refs/heads/sub/gone;"
	    "git symbolic-ref HEAD refs/heads/x");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *path = mem_fmt("%s/%s", copy, files[i]);
		char *dir = mem_dup_n(path,
		    (size_t)(strrchr(path, '/') - path));

		mkdir(dir, 0700);
		close(open(path, O_WRONLY | O_CREAT, 0600));
		free(dir);
		free(path);
	}
	if (tap_int(fetch(copy, origin, "refs/heads/x", "sha1"), ERR_PEER,
		"a fresh lock may be somebody's"))
		tap_ok(strstr(err_text(), ".lock") != NULL ||
			strstr(err_text(), "packed-refs") != NULL ||
			strstr(err_text(), "git: exit") != NULL,
		    "and is named");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *path = mem_fmt("%s/%s", copy, files[i]);

		tap_int(access(path, F_OK), 0, "%s stays while it is fresh",
		    files[i]);
		utimensat(AT_FDCWD, path, hour_ago, 0);
		free(path);
	}
	if (!tap_int(fetch(copy, origin, "refs/heads/x", "sha1"), ERR_OK,
		"old ones are removed"))
		tap_note("%s", err_text());
	check_same(origin, copy, "and the copy converges");
	free(copy);
	free(origin);
}

static void
test_power_loss(void)
{
	char *origin = mem_fmt("%s/loss-origin.git", tap_dir());
	char *copy = mem_fmt("%s/loss.git", tap_dir());
	char *ref = mem_fmt("%s/refs/heads/main", copy);
	struct timespec long_ago[2] = { { 0 }, { 0 } };

	make(origin, "sha1");
	shell(origin, "set_ refs/heads/main $a");
	tap_int(fetch(copy, origin, "refs/heads/main", "sha1"), ERR_OK,
	    "a copy");
	shell(origin, "set_ refs/heads/main $b");
	close(open(ref, O_WRONLY | O_CREAT | O_TRUNC, 0600));
	utimensat(AT_FDCWD, ref, long_ago, 0);
	tap_int(fetch(copy, origin, "refs/heads/main", "sha1"), ERR_OK,
	    "a ref whose bytes are lost is no obstacle");
	check_same(origin, copy, "and comes back");
	free(ref);
	free(copy);
	free(origin);
}

static void
test_packs(void)
{
	char *origin = mem_fmt("%s/packs-origin.git", tap_dir());
	char *copy = mem_fmt("%s/packs.git", tap_dir());
	char *count, *sound;

	make(origin, "sha1");
	shell(origin, "git symbolic-ref HEAD refs/heads/b0");
	for (int i = 0; i < 50; i++) {
		char *script = mem_fmt("set_ refs/heads/b%d $(commit %d)", i,
		    i);

		if (!shell(origin, script) ||
		    fetch(copy, origin, "refs/heads/b0", "sha1") != ERR_OK)
			tap_ok(false, "fetch %d: %s", i, err_text());
		free(script);
	}
	count = say("ls '%s'/objects/pack/*.pack | wc -l", copy);
	tap_ok(atoi(count) < 10, "50 fetches leave few packs: %s", count);
	check_same(origin, copy, "and all that was fetched");
	sound = say("git --git-dir='%s' fsck --full 2>&1", copy);
	tap_ok(strstr(sound, "error") == NULL &&
		strstr(sound, "missing") == NULL,
	    "and sound");
	free(sound);
	free(count);
	free(copy);
	free(origin);
}

/* Where git has no say: hooks, configuration, a hook's environment. */
static void
test_surroundings(void)
{
	char *origin = mem_fmt("%s/env-origin.git", tap_dir());
	char *copy = mem_fmt("%s/env.git", tap_dir());
	char *hook = mem_fmt("mkdir -p %s/hooks; printf '#!/bin/sh\\nexit 1\\n'"
			     " >%s/hooks/reference-transaction;"
			     "chmod +x %s/hooks/reference-transaction",
	    copy, copy, copy);

	make(origin, "sha1");
	shell(origin, "set_ refs/heads/main $a");
	tap_int(fetch(copy, origin, "refs/heads/main", "sha1"), ERR_OK,
	    "a copy");
	shell(origin, "set_ refs/heads/main $b");
	tap_int(system(hook), 0, "a hook that refuses all");
	setenv("GIT_DIR", "/nonexistent", 1);
	setenv("GIT_QUARANTINE_PATH", "/nonexistent", 1);
	setenv("GIT_OBJECT_DIRECTORY", "/nonexistent", 1);
	setenv("GIT_NAMESPACE", "n", 1);
	tap_int(fetch(copy, origin, "refs/heads/main", "sha1"), ERR_OK,
	    "has no say, nor has a hook's environment");
	unsetenv("GIT_DIR");
	unsetenv("GIT_QUARANTINE_PATH");
	unsetenv("GIT_OBJECT_DIRECTORY");
	unsetenv("GIT_NAMESPACE");
	check_same(origin, copy, "and the copy converges");
	free(hook);
	free(copy);
	free(origin);
}

static bool
at_once(void *arg)
{
	(void)arg;
	return true;
}

static void
test_stop(void)
{
	char *origin = mem_fmt("%s/stop-origin.git", tap_dir());
	char *copy = mem_fmt("%s/stop.git", tap_dir()), *netrc;
	struct fetch order = { .path = copy,
		.origin = origin,
		.head = "refs/heads/main",
		.object_format = "sha1",
		.stall_ms = LONG_MS,
		.stop = at_once };
	char *homes;

	make(origin, "sha1");
	shell(origin, "set_ refs/heads/main $a");
	tap_int(fetch_run(&order), ERR_PEER, "a stop ends it");
	tap_ok(access(copy, F_OK) != 0, "and leaves no half of a repository");
	order.stop = NULL;
	order.auth_file = "/nonexistent";
	tap_int(fetch_run(&order), ERR_SYS, "an auth_file that is not there");
	order.auth_file = "/dev/null";
	tap_int(fetch_run(&order), ERR_CONF, "one that others may read");
	order.auth_file = netrc = mem_fmt("%s/netrc", tap_dir());
	close(open(netrc, O_WRONLY | O_CREAT, 0600));
	tap_int(fetch_run(&order), ERR_OK, "and one that is as it must be");
	free(netrc);
	homes = say("ls '%s'/tmp", tap_dir());
	tap_str(homes, "", "no home is left");
	free(homes);
	free(copy);
	free(origin);
}

int
main(void)
{
	char *tmp = mem_fmt("%s/tmp", tap_dir());

	mkdir(tmp, 0700);
	setenv("TMPDIR", tmp, 1);
	setenv("HOME", tap_dir(), 1);
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	setenv("GIT_AUTHOR_NAME", "a", 1);
	setenv("GIT_AUTHOR_EMAIL", "a@example.org", 1);
	setenv("GIT_COMMITTER_NAME", "a", 1);
	setenv("GIT_COMMITTER_EMAIL", "a@example.org", 1);
	setenv("GIT_AUTHOR_DATE", "2001-01-01T00:00:00Z", 1);
	setenv("GIT_COMMITTER_DATE", "2001-01-01T00:00:00Z", 1);
	if (system("git config --global init.defaultBranch main") != 0)
		return 1;
	test_steps("sha1", true);
	test_steps("sha1", false);
	test_steps("sha256", true);
	test_formats();
	test_refused();
	test_busy();
	test_leftovers();
	test_power_loss();
	test_packs();
	test_surroundings();
	test_stop();
	free(tmp);
	return tap_done();
}

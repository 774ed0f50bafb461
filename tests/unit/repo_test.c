/* repo_test.c: a digest is that of what git itself advertises */
/* SPDX-License-Identifier: ISC */
#include "sync/repo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/mem.h"
#include "tests/unit/tap.h"

/* Runs in the repository's directory; commit TEXT prints a new commit's id. */
static const char prelude[] =
    "set -e\n"
    "commit() { git commit-tree -m \"$1\" $(git mktree </dev/null); }\n"
    "a=$(commit a) b=$(commit b)\n"
    "none=$(echo \"$a\" | tr 0-9a-f 1-9a-f0)\n";

static const struct {
	const char *claim;
	const char *format, *script;
	long refs;	  /* -1: as git says */
	const char *head; /* NULL: the same */
} rows[] = {
	{ "an empty repository", "sha1", "", 0, "refs/heads/main" },
	{ "one branch", "sha1", "git update-ref refs/heads/main $a", 1,
	    "refs/heads/main" },
	{ "HEAD at a branch that is not there", "sha1",
	    "git update-ref refs/heads/other $a", 1, "refs/heads/main" },
	{ "a detached HEAD", "sha1",
	    "git update-ref refs/heads/main $a;"
	    "git update-ref --no-deref HEAD $b",
	    1, "" },
	{ "a HEAD detached at what is not there", "sha1",
	    "git update-ref refs/heads/main $a; echo $none >HEAD", 1, "" },
	{ "HEAD by way of another symbolic ref", "sha1",
	    "git update-ref refs/heads/main $a;"
	    "git symbolic-ref refs/heads/alias refs/heads/main;"
	    "git symbolic-ref HEAD refs/heads/alias",
	    2, "refs/heads/main" },
	{ "loose and packed", "sha1",
	    "git update-ref refs/heads/b $a;"
	    "git update-ref refs/heads/main $a; git pack-refs --all;"
	    "git update-ref refs/heads/main $b; git update-ref refs/heads/a $b",
	    3, "refs/heads/main" },
	{ "a packed one that was deleted", "sha1",
	    "git update-ref refs/heads/b $a; git update-ref refs/heads/main $a;"
	    "git pack-refs --all; git update-ref -d refs/heads/b",
	    1, "refs/heads/main" },
	{ "names that sort oddly", "sha1",
	    "for r in a a-b a/b a.b ab A é a0 'a!' z/y/x z-y z/y-x; do"
	    " git update-ref \"refs/heads/$r/x\" $a; done;"
	    "git pack-refs --all;"
	    "git update-ref refs/heads/a-b/w $b; git update-ref refs/tags/a $b",
	    14, "refs/heads/main" },
	{ "annotated tags, a tag of a tag, a blob's", "sha1",
	    "git update-ref refs/heads/main $a; git tag -a -m x t1 $a;"
	    "git tag -a -m x t2 t1; git tag light $b;"
	    "git tag blob $(echo x | git hash-object -w --stdin);"
	    "git tag -a -m x t3 $a; git pack-refs --all",
	    6, "refs/heads/main" },
	{ "refs outside heads and tags", "sha1",
	    "git update-ref refs/changes/01/1/1 $a;"
	    "git update-ref refs/notes/commits $b;"
	    "git update-ref refs/pull/1/head $b; git update-ref refs/stash $a;"
	    "git update-ref refs/bisect/bad $a",
	    5, "refs/heads/main" },
	{ "a symbolic ref that is not HEAD", "sha1",
	    "git update-ref refs/remotes/o/main $a;"
	    "git symbolic-ref refs/remotes/o/HEAD refs/remotes/o/main",
	    2, "refs/heads/main" },
	{ "a symbolic ref that leads nowhere", "sha1",
	    "git update-ref refs/heads/main $a;"
	    "git symbolic-ref refs/heads/x refs/heads/gone",
	    1, "refs/heads/main" },
	/* what is broken is listed by some versions, and not by others */
	{ "a ref to a missing object, loose", "sha1",
	    "git update-ref refs/heads/main $a; echo $none >refs/heads/broken",
	    -1, "refs/heads/main" },
	{ "a ref to a missing object, packed", "sha1",
	    "git update-ref refs/heads/main $a; git pack-refs --all;"
	    "echo \"$none refs/heads/znone\" >>packed-refs",
	    -1, "refs/heads/main" },
	{ "HEAD at a branch whose object is missing", "sha1",
	    "git update-ref refs/heads/b $a; echo $none >refs/heads/main", -1,
	    "refs/heads/main" },
	{ "an empty file as a ref, over a packed one", "sha1",
	    "git update-ref refs/heads/b $a; git update-ref refs/heads/main $a;"
	    "git pack-refs --all; >refs/heads/b",
	    -1, NULL },
	{ "zeros where a ref was, after a power loss", "sha1",
	    "git update-ref refs/heads/main $a;"
	    "head -c 41 /dev/zero >refs/heads/b",
	    -1, NULL },
	{ "a ref with an ill name", "sha1",
	    "git update-ref refs/heads/main $a;"
	    "cp refs/heads/main 'refs/heads/a..b'",
	    -1, NULL },
	{ "a symbolic link as a ref", "sha1",
	    "git update-ref refs/heads/main $a; ln -s main refs/heads/link", 2,
	    NULL },
	{ "files that are no refs", "sha1",
	    "git update-ref refs/heads/main $a;"
	    "cp refs/heads/main refs/heads/x.lock;"
	    "cp refs/heads/main refs/heads/.hidden",
	    1, "refs/heads/main" },
	{ "objects of another repository", "sha1",
	    "git init -q --bare ../lender.git;"
	    "c=$(git -C ../lender.git commit-tree -m c"
	    " $(git -C ../lender.git mktree </dev/null));"
	    "echo ../../lender.git/objects"
	    " >objects/info/alternates; git update-ref refs/heads/main $c",
	    1, "refs/heads/main" },
	{ "replaced objects", "sha1",
	    "git update-ref refs/heads/main $a;"
	    "git replace $a $b",
	    2, "refs/heads/main" },
	{ "many", "sha1",
	    "for i in $(seq 1000); do"
	    " echo \"create refs/heads/b$i $a\"; done | git update-ref --stdin;"
	    "git pack-refs --all; for i in $(seq 50); do"
	    " echo \"update refs/heads/b$i $b\"; done | git update-ref --stdin",
	    1000, "refs/heads/main" },
	{ "hidden refs", "sha1",
	    "git update-ref refs/heads/main $a;"
	    "git update-ref refs/pull/1/head $a;"
	    "git config transfer.hideRefs refs/pull",
	    1, "refs/heads/main" },
	{ "hidden refs of upload-pack, detached", "sha1",
	    "git update-ref refs/heads/main $a; git update-ref refs/x/1 $a;"
	    "git config uploadpack.hideRefs refs/x;"
	    "git update-ref --no-deref HEAD $b",
	    1, "" },
	{ "hidden refs that hide nothing, empty", "sha1",
	    "git config transfer.hideRefs refs/pull", 0, NULL },
	{ "SHA-256", "sha256",
	    "git update-ref refs/heads/main $a;"
	    "git tag -a -m x t $b",
	    2, "refs/heads/main" },
	{ "SHA-256, empty", "sha256", "", 0, NULL },
	{ "SHA-256, detached", "sha256",
	    "git update-ref refs/heads/x $a;"
	    "git update-ref --no-deref HEAD $b",
	    1, "" },
};

/* Runs a script in dir; true where it ended well. */
static bool
shell(const char *dir, const char *script)
{
	char *line = mem_fmt("cd '%s' && %s\n%s", dir, prelude, script);
	bool good = system(line) == 0;

	free(line);
	return good;
}

/* What a git client is told: the digest of git ls-remote's words. */
static enum err
expected(const char *path, const char *format, struct refs_digest *out)
{
	char *command = mem_fmt("git ls-remote -q --symref '%s'", path);
	FILE *list = popen(command, "r");
	struct refs *refs = refs_new();
	char line[8192], target[MAX_REF + 1] = "";
	enum err err = ERR_OK;

	while (fgets(line, sizeof(line), list) != NULL && err == ERR_OK) {
		char *name = strchr(line, '\t');

		line[strcspn(line, "\n")] = '\0';
		*name++ = '\0';
		if (strncmp(line, "ref: ", 5) == 0) {
			if (strcmp(name, "HEAD") == 0)
				strcpy(target, line + 5);
		} else if (strcmp(name, "HEAD") == 0) {
			err = refs_head(refs, line, target[0] ? target : NULL);
		} else if (strstr(name, "^{}") == NULL) {
			err = refs_add(refs, line, name);
		}
	}
	pclose(list);
	free(command);
	if (err == ERR_OK)
		return refs_end(refs, format, out);
	refs_free(refs);
	return err;
}

static void
check_digest(size_t i, const char *path)
{
	const char *claim = rows[i].claim;
	struct refs_digest got = { 0 }, want = { 0 };
	struct repo *repo = NULL;
	enum err err = expected(path, rows[i].format, &want);

	tap_int(repo_open(path, &repo), ERR_OK, "%s: is opened", claim);
	tap_int(repo_refs(repo, &got), err, "%s: is read", claim);
	repo_close(repo);
	tap_str(got.digest, want.digest, "%s: the digest", claim);
	tap_int((long long)got.refs, (long long)want.refs, "%s: how many refs",
	    claim);
	if (rows[i].refs >= 0)
		tap_int((long long)want.refs, rows[i].refs,
		    "%s: how many refs, says git", claim);
	if (rows[i].head != NULL)
		tap_str(got.head, rows[i].head, "%s: HEAD", claim);
	if (err == ERR_OK)
		tap_str(got.object_format, rows[i].format, "%s: format", claim);
}

static void
test_digests(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *path = mem_fmt("%s/%zu.git", tap_dir(), i);
		char *init = mem_fmt("git init -q --bare --object-format=%s"
				     " '%s' 2>/dev/null",
		    rows[i].format, path);

		tap_ok(system(init) == 0 && shell(path, rows[i].script),
		    "%s: is made", rows[i].claim);
		check_digest(i, path);
		free(init);
		free(path);
	}
}

static void
test_namespace(void)
{
	char *path = mem_fmt("%s/space.git", tap_dir());
	struct refs_digest whole = { 0 }, part = { 0 }, want = { 0 };
	struct repo *repo = NULL;
	char *init = mem_fmt("git init -q --bare '%s'", path);

	tap_ok(system(init) == 0 &&
		shell(path,
		    "git update-ref refs/heads/main $a;"
		    "git update-ref refs/namespaces/n/refs/heads/main $b"),
	    "a repository with a namespace");
	tap_ok(repo_open(path, &repo) == ERR_OK &&
		repo_refs(repo, &whole) == ERR_OK && whole.refs == 2,
	    "is read whole");
	setenv("GIT_NAMESPACE", "n", 1);
	tap_int(expected(path, "sha1", &want), ERR_OK, "a namespace is set");
	tap_int(repo_refs(repo, &part), ERR_OK, "and by its namespace");
	tap_str(part.digest, want.digest, "as git sees it");
	tap_int((long long)part.refs, 1, "with what is in it");
	unsetenv("GIT_NAMESPACE");
	repo_close(repo);
	free(init);
	free(path);
}

/* Writes a script's last line of output into out. */
static void
ask(const char *dir, const char *script, char *out, size_t size)
{
	char *line = mem_fmt("cd '%s' && %s\n%s", dir, prelude, script);
	FILE *answer = popen(line, "r");

	out[0] = '\0';
	while (fgets(out, (int)size, answer) != NULL)
		out[strcspn(out, "\n")] = '\0';
	pclose(answer);
	free(line);
}

static void
test_commits(const char *format)
{
	static const struct {
		const char *claim, *script;
		bool has;
	} one[] = {
		{ "a commit", "echo $a", true },
		{ "a packed commit",
		    "git update-ref refs/heads/main $b;"
		    "git repack -adq; git prune-packed; echo $b",
		    true },
		{ "a commit that no ref reaches", "commit unreached", true },
		{ "an unknown one", "echo $none", false },
		{ "a tree", "git mktree </dev/null", false },
		{ "a blob", "echo x | git hash-object -w --stdin", false },
		{ "an annotated tag",
		    "git tag -f -a -m x t $a >/dev/null;"
		    "git rev-parse t",
		    false },
	};
	char *path = mem_fmt("%s/commits-%s.git", tap_dir(), format);
	char *init = mem_fmt("git init -q --bare --object-format=%s '%s'",
	    format, path);
	struct repo *repo = NULL;
	bool has;

	tap_ok(system(init) == 0 && repo_open(path, &repo) == ERR_OK,
	    "%s: a repository for commits", format);
	tap_str(repo_object_format(repo), format, "its object format");
	for (size_t i = 0; i < sizeof(one) / sizeof(one[0]); i++) {
		char oid[100];

		ask(path, one[i].script, oid, sizeof(oid));
		has = !one[i].has;
		tap_int(repo_has_commit(repo, oid, &has), ERR_OK, "%s: %s",
		    format, one[i].claim);
		tap_int(has, one[i].has, "%s: %s: has", format, one[i].claim);
		/* the other format's length, of the same first digits */
		oid[40] = '\0';
		if (strcmp(format, "sha256") == 0) {
			has = true;
			tap_ok(repo_has_commit(repo, oid, &has) == ERR_OK &&
				!has,
			    "%s: %s: not abbreviated", format, one[i].claim);
		}
	}
	repo_close(repo);
	free(init);
	free(path);
}

static void
test_new_packs(void)
{
	char *path = mem_fmt("%s/kept.git", tap_dir());
	char *init = mem_fmt("git init -q --bare '%s'", path);
	struct repo *repo = NULL;
	char oid[100];
	bool has = true;

	tap_ok(system(init) == 0 && repo_open(path, &repo) == ERR_OK,
	    "a repository that stays open");
	ask(path, "echo $a", oid, sizeof(oid));
	tap_ok(repo_has_commit(repo, oid, &has) == ERR_OK && has,
	    "sees a later commit");
	ask(path,
	    "c=$(commit later); git update-ref refs/heads/main $c;"
	    "git repack -adq; git prune-packed; echo $c",
	    oid, sizeof(oid));
	tap_ok(repo_has_commit(repo, oid, &has) == ERR_OK && has,
	    "and one in a later pack");
	repo_close(repo);
	free(init);
	free(path);
}

/* The digest of a repository whose only branch is at oid. */
static void
digest_at(const char *oid, struct refs_digest *out)
{
	struct refs *refs = refs_new();

	if (refs_head(refs, NULL, "refs/heads/main") != ERR_OK ||
	    refs_add(refs, oid, "refs/heads/main") != ERR_OK ||
	    refs_end(refs, "sha1", out) != ERR_OK)
		tap_ok(false, "a digest of %s: %s", oid, err_text());
}

#define MOVES 80
/* Far more than fit into the time that the moves take. */
#define MAX_LOOKS 100000

/* Which of the digests is it?  -1: none. */
static int
index_of(struct refs_digest *digests, const char *path)
{
	struct refs_digest digest = { 0 };
	struct repo *repo = NULL;

	if (repo_open(path, &repo) != ERR_OK ||
	    repo_refs(repo, &digest) != ERR_OK)
		digest.digest[0] = '\0';
	repo_close(repo);
	for (int i = 0; i < MOVES; i++)
		if (strcmp(digests[i].digest, digest.digest) == 0)
			return i;
	return -1;
}

/* libgit2 alone shows the old value of a ref that is just being packed. */
static void
test_packing(void)
{
	char *path = mem_fmt("%s/packing.git", tap_dir());
	char *init = mem_fmt("git init -q --bare '%s'", path);
	struct refs_digest *digests = mem_array(MOVES, sizeof(*digests));
	int back = 0, lost = 0, last = 0, at;
	char oid[100];
	FILE *moves;

	tap_ok(system(init) == 0 &&
		shell(path,
		    "for i in $(seq 80); do"
		    " commit $i; done >moves; set -- $(cat moves);"
		    "git update-ref refs/heads/main $1"),
	    "a branch to move");
	free(init);
	init = mem_fmt("cat '%s/moves'", path);
	moves = popen(init, "r");
	for (int i = 0; i < MOVES && fscanf(moves, "%99s", oid) == 1; i++)
		digest_at(oid, &digests[i]);
	pclose(moves);
	free(init);
	init = mem_fmt(
	    "cd '%s' && for c in $(cat moves); do"
	    " git update-ref refs/heads/main $c; git pack-refs --all; done",
	    path);
	moves = popen(init, "r");
	for (int i = 0; i < MAX_LOOKS && last < MOVES - 1; i++) {
		at = index_of(digests, path);
		lost += at < 0;
		back += at >= 0 && at < last;
		last = at > last ? at : last;
	}
	pclose(moves);
	tap_int(lost, 0, "a ref is never lost while it is packed");
	tap_int(back, 0, "nor older than it was");
	free(digests);
	free(init);
	free(path);
}

static void
test_open(void)
{
	struct repo *repo = NULL;
	char *path = mem_fmt("%s/plain", tap_dir());
	char *init = mem_fmt("git init -q %s/work", tap_dir());

	tap_int(repo_open("/nonexistent", &repo), ERR_ABSENT,
	    "no directory is no repository");
	mkdir(path, 0700);
	tap_int(repo_open(path, &repo), ERR_ABSENT,
	    "an empty directory is none");
	tap_int(system(init), 0, "a working tree");
	free(path);
	path = mem_fmt("%s/work", tap_dir());
	tap_int(repo_open(path, &repo), ERR_ABSENT, "a working tree is none");
	tap_ok(repo == NULL, "nothing is opened");
	repo_close(NULL);
	free(init);
	free(path);
}

int
main(void)
{
	setenv("HOME", tap_dir(), 1);
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	setenv("GIT_AUTHOR_NAME", "a", 1);
	setenv("GIT_AUTHOR_EMAIL", "a@example.org", 1);
	setenv("GIT_COMMITTER_NAME", "a", 1);
	setenv("GIT_COMMITTER_EMAIL", "a@example.org", 1);
	if (system("git config --global init.defaultBranch main && "
		   "git config --global advice.nestedTag false") != 0)
		return 1;
	test_digests();
	test_namespace();
	test_commits("sha1");
	test_commits("sha256");
	test_new_packs();
	test_packing();
	test_open();
	return tap_done();
}

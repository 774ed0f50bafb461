/* repo.c: one repository on this host's disk; the only user of libgit2 */
/* SPDX-License-Identifier: ISC */
#include "sync/repo.h"

#include <fcntl.h>
#include <fts.h>
#include <git2.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/name.h"
#include "sync/advert.h"
#include "sync/gitcmd.h"

/* Refs rewritten while they were read are read so often, then it is busy. */
#define MAX_READS 5
/* As git: a symbolic ref of a symbolic ref, and so on. */
#define MAX_SYMREF_DEPTH 5
/* git itself was asked, and shows no sign of life, in ms. */
#define STALL_MS 30000

struct repo {
	char *path;
	git_repository *git; /* NULL: only git itself understands it */
	char object_format[8];
};

static void
set_up(void)
{
	git_libgit2_init();
	/* the web server's user is not the repositories' owner */
	git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
}

static enum err
git_failed(const struct repo *repo)
{
	const git_error *error = git_error_last();

	return err_set(ERR_SYS, "%s: %s", repo->path,
	    error != NULL ? error->message : "libgit2 failed");
}

bool
repo_is(int dir)
{
	struct stat status;

	return fstatat(dir, "HEAD", &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	    fstatat(dir, "objects", &status, 0) == 0 &&
	    S_ISDIR(status.st_mode) && fstatat(dir, "refs", &status, 0) == 0 &&
	    S_ISDIR(status.st_mode);
}

/* Asked before it is opened: libgit2 refuses what is not sha1. */
static void
read_object_format(struct repo *repo)
{
	char *path = mem_fmt("%s/config", repo->path);
	git_config *config = NULL;
	git_buf value = { 0 };

	strcpy(repo->object_format, "sha1");
	if (git_config_open_ondisk(&config, path) == 0 &&
	    git_config_get_string_buf(&value, config,
		"extensions.objectformat") == 0 &&
	    strlen(value.ptr) < sizeof(repo->object_format))
		strcpy(repo->object_format, value.ptr);
	git_buf_dispose(&value);
	git_config_free(config);
	free(path);
}

enum err
repo_open(const char *path, struct repo **out)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool there = dir >= 0 && repo_is(dir);
	struct repo *repo;

	if (dir >= 0)
		close(dir);
	if (!there)
		return err_set(ERR_ABSENT, "%s: no bare repository", path);
	pthread_once(&once, set_up);
	repo = mem_zalloc(sizeof(*repo));
	repo->path = mem_dup(path);
	read_object_format(repo);
	if (strcmp(repo->object_format, "sha1") == 0 &&
	    git_repository_open_ext(&repo->git, path,
		GIT_REPOSITORY_OPEN_NO_SEARCH | GIT_REPOSITORY_OPEN_NO_DOTGIT,
		NULL) != 0)
		repo->git = NULL;
	*out = repo;
	return ERR_OK;
}

void
repo_close(struct repo *repo)
{
	if (repo == NULL)
		return;
	git_repository_free(repo->git);
	free(repo->path);
	free(repo);
}

const char *
repo_path(const struct repo *repo)
{
	return repo->path;
}

const char *
repo_object_format(const struct repo *repo)
{
	return repo->object_format;
}

static enum err
has_commit_by_git(struct repo *repo, const char *oid, bool *has)
{
	char *dir = mem_fmt("--git-dir=%s", repo->path);
	char *input = mem_fmt("%s\n", oid), *want = mem_fmt("%s commit ", oid);
	const char *argv[] = { "git", dir, "cat-file", "--batch-check", NULL };
	struct spawn order = { .argv = argv,
		.input = input,
		.input_len = strlen(input),
		.stall_ms = STALL_MS };
	struct buf output = { 0 };
	enum err err = gitcmd_run(&order, NULL, &output);

	if (err == ERR_OK)
		*has = output.data != NULL &&
		    strncmp(output.data, want, strlen(want)) == 0;
	buf_free(&output);
	free(want);
	free(input);
	free(dir);
	return err;
}

enum err
repo_has_commit(struct repo *repo, const char *oid, bool *has)
{
	size_t len = strcmp(repo->object_format, "sha256") == 0 ? 64 : 40;
	git_object *object = NULL;
	git_oid id;
	int rc;

	/* git would take a shorter one for an abbreviation */
	if (strlen(oid) != len || !name_oid(oid)) {
		*has = false;
		return ERR_OK;
	}
	if (repo->git == NULL)
		return has_commit_by_git(repo, oid, has);
	if (git_oid_fromstr(&id, oid) != 0)
		return git_failed(repo);
	rc = git_object_lookup(&object, repo->git, &id, GIT_OBJECT_COMMIT);
	git_object_free(object);
	if (rc != 0 && rc != GIT_ENOTFOUND)
		return git_failed(repo);
	*has = rc == 0;
	return ERR_OK;
}

/* upload-pack's answer has no service header (gitprotocol-http(5)). */
static enum err
refs_by_git(struct repo *repo, struct refs_digest *out)
{
	static const char header[] = "001e# service=git-upload-pack\n0000";
	const char *argv[] = { "git", "upload-pack", "--strict",
		"--stateless-rpc", "--advertise-refs", repo->path, NULL };
	struct spawn order = { .argv = argv, .stall_ms = STALL_MS };
	struct refs *refs = refs_new();
	struct advert *advert = advert_new(ADVERT_INFO_REFS, refs);
	struct advert_caps caps;
	struct buf output = { 0 };
	enum err err = gitcmd_run(&order, NULL, &output);

	if (err == ERR_OK)
		err = advert_take(advert, header, sizeof(header) - 1);
	if (err == ERR_OK)
		err = advert_take(advert, output.data, output.len);
	if (err == ERR_OK)
		err = advert_end(advert, &caps);
	advert_free(advert);
	buf_free(&output);
	if (err != ERR_OK) {
		refs_free(refs);
		return err;
	}
	/* of an empty repository, old versions tell no format */
	return refs_end(refs, repo->object_format, out);
}

/* Does something that libgit2 does not know of hide or move refs? */
static bool
bends_refs(struct repo *repo)
{
	static const char *const keys[] = { "transfer.hiderefs",
		"uploadpack.hiderefs" };
	static const char *const variables[] = { "GIT_NAMESPACE",
		"GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS" };
	git_config *config = NULL;
	bool found = false;

	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
		found |= getenv(variables[i]) != NULL;
	if (git_repository_config_snapshot(&config, repo->git) != 0)
		return true;
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		git_config_entry *entry = NULL;

		found |= git_config_get_entry(&entry, config, keys[i]) !=
		    GIT_ENOTFOUND;
		git_config_entry_free(entry);
	}
	git_config_free(config);
	return found;
}

/*
 * Where HEAD leads to: the last name of its chain, or the oid at which it is
 * detached.  A HEAD that is neither is not advertised.
 */
static enum err
add_head(struct repo *repo, struct refs *refs)
{
	git_reference *ref = NULL, *next;
	const char *target = NULL;
	enum err err = ERR_OK;
	char oid[GIT_OID_HEXSZ + 1];

	if (git_reference_lookup(&ref, repo->git, "HEAD") != 0)
		return ERR_OK;
	for (int i = 0; i < MAX_SYMREF_DEPTH; i++) {
		if ((target = git_reference_symbolic_target(ref)) == NULL ||
		    git_reference_lookup(&next, repo->git, target) != 0)
			break;
		if (git_reference_type(next) != GIT_REFERENCE_SYMBOLIC) {
			git_reference_free(next);
			break;
		}
		git_reference_free(ref);
		ref = next;
	}
	if (target != NULL && refs_legal(target)) {
		err = refs_head(refs, NULL, target);
	} else if (target == NULL) {
		git_oid_tostr(oid, sizeof(oid), git_reference_target(ref));
		err = refs_head(refs, oid, NULL);
	}
	git_reference_free(ref);
	return err;
}

/*
 * A ref whose name is ill, or that leads to no object, is listed by some
 * versions of git: ERR_ABSENT.
 */
static enum err
add_ref(git_odb *odb, git_reference *ref, struct refs *refs)
{
	const char *name = git_reference_name(ref);
	git_reference *end = NULL;
	const git_oid *id = git_reference_target(ref);
	char oid[GIT_OID_HEXSZ + 1];
	enum err err = ERR_OK;
	int valid = 0;

	/* only a symbolic one: resolving reads each file once more */
	if (id == NULL) {
		int rc = git_reference_resolve(&end, ref);

		/* one that leads nowhere is never listed */
		if (rc == GIT_ENOTFOUND)
			return ERR_OK;
		if (rc == 0)
			id = git_reference_target(end);
	}
	if (id == NULL || git_reference_name_is_valid(&valid, name) != 0 ||
	    !valid || !refs_legal(name) || !git_odb_exists(odb, id)) {
		err = err_set(ERR_ABSENT, "a broken ref");
	} else {
		git_oid_tostr(oid, sizeof(oid), id);
		err = refs_add(refs, oid, name);
	}
	git_reference_free(end);
	return err;
}

static enum err
add_refs(struct repo *repo, struct refs *refs)
{
	git_reference_iterator *each = NULL;
	git_reference *ref;
	git_odb *odb = NULL;
	enum err err = ERR_OK;
	int rc = 0;

	if (git_repository_odb(&odb, repo->git) != 0 ||
	    git_reference_iterator_new(&each, repo->git) != 0) {
		err = git_failed(repo);
		goto out;
	}
	while (err == ERR_OK && (rc = git_reference_next(&ref, each)) == 0) {
		err = add_ref(odb, ref, refs);
		git_reference_free(ref);
	}
	if (err == ERR_OK && rc != GIT_ITEROVER)
		err = git_failed(repo);
out:
	git_reference_iterator_free(each);
	git_odb_free(odb);
	return err;
}

/* Is that a file that git takes for a ref, and libgit2 does not? */
static bool
is_broken(struct repo *repo, const FTSENT *file)
{
	git_reference *ref = NULL;
	bool broken;

	if (file->fts_info == FTS_D || file->fts_info == FTS_DP ||
	    file->fts_name[0] == '.' ||
	    (file->fts_namelen > 5 &&
		strcmp(file->fts_name + file->fts_namelen - 5, ".lock") == 0))
		return false;
	broken = file->fts_info != FTS_F ||
	    git_reference_lookup(&ref, repo->git,
		file->fts_path + strlen(repo->path) + 1) != 0;
	git_reference_free(ref);
	return broken;
}

/*
 * libgit2 passes over a file without an oid, as a power loss leaves one;
 * git lists it, as all zeros, and no client can clone: ERR_ABSENT.
 */
static enum err
check_files(struct repo *repo)
{
	char *top = mem_fmt("%s/refs", repo->path);
	char *tops[] = { top, NULL };
	FTS *walk = fts_open(tops, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	bool broken = walk == NULL;

	while (!broken) {
		FTSENT *file = fts_read(walk);

		if (file == NULL)
			break;
		broken = is_broken(repo, file);
	}
	if (walk != NULL)
		fts_close(walk);
	free(top);
	return broken ? err_set(ERR_ABSENT, "a broken ref") : ERR_OK;
}

/* Which packed-refs it is; a rewritten one is another file. */
static struct stat
stat_packed(const struct repo *repo)
{
	char *path = mem_fmt("%s/packed-refs", repo->path);
	struct stat status = { 0 };

	if (stat(path, &status) != 0)
		status = (struct stat){ 0 };
	free(path);
	return status;
}

static bool
same_file(const struct stat *one, const struct stat *other)
{
	return one->st_ino == other->st_ino && one->st_size == other->st_size &&
	    one->st_ctim.tv_sec == other->st_ctim.tv_sec &&
	    one->st_ctim.tv_nsec == other->st_ctim.tv_nsec;
}

enum err
repo_refs(struct repo *repo, struct refs_digest *out)
{
	if (repo->git == NULL || bends_refs(repo))
		return refs_by_git(repo, out);
	for (int i = 0; i < MAX_READS; i++) {
		struct stat before = stat_packed(repo), after;
		struct refs *refs = refs_new();
		enum err err = add_head(repo, refs);

		if (err == ERR_OK)
			err = add_refs(repo, refs);
		if (err == ERR_OK)
			err = check_files(repo);
		/*
		 * A ref that moved from its own file into packed-refs under
		 * our eyes shows its old value there, or none.
		 */
		after = stat_packed(repo);
		if (same_file(&before, &after) && err == ERR_OK)
			return refs_end(refs, repo->object_format, out);
		refs_free(refs);
		if (same_file(&before, &after))
			return err == ERR_ABSENT ? refs_by_git(repo, out) : err;
	}
	return err_set(ERR_BUSY, "%s: its refs are being rewritten",
	    repo->path);
}

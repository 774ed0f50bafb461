/* fetch.c: makes a local repository converge to its origin, by git fetch */
/* SPDX-License-Identifier: ISC */
#include "sync/fetch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/mem.h"
#include "conf/name.h"
#include "sync/gitcmd.h"
#include "sync/refs.h"
#include "sync/repo.h"
#include "sync/tidy.h"

/* Each fetch leaves a pack; at every so many the small ones become one. */
#define MAX_PACKS 50
/* Where HEAD points when the origin has none and ours would be listed. */
#define NO_BRANCH "refs/heads/unborn"

/* One fetch under way. */
struct run {
	const struct fetch *fetch;
	int lock;	  /* inherited by every git: held until all end */
	char *home;	  /* theirs, with .netrc; or NULL */
	char *beside;	  /* PATH.reproute-new */
	char *aside;	  /* PATH.reproute-old */
	const char *path; /* of the one that is filled */
	char *head;	  /* HEAD's target at the origin, or NULL */
	char *detached;	  /* the oid of a detached one, or NULL */
};

static enum err
check_order(const struct fetch *fetch)
{
	if (fetch->head[0] != '\0' && !refs_legal(fetch->head))
		return err_set(ERR_INPUT,
		    "HEAD would point at what is no "
		    "ref's name");
	if (strcmp(fetch->object_format, "sha1") != 0 &&
	    strcmp(fetch->object_format, "sha256") != 0)
		return err_set(ERR_INPUT,
		    "an object format that is neither "
		    "sha1 nor sha256");
	return ERR_OK;
}

/* The directories that path is in. */
static void
make_parents(const char *path)
{
	char *way = mem_dup(path);

	/* what fails here, fails to open below, and is reported there */
	for (char *slash = strchr(way + 1, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(way, 0777);
		*slash = '/';
	}
	free(way);
}

static enum err
take_lock(struct run *run)
{
	char *path = mem_fmt("%s.reproute-lock", run->fetch->path);
	enum err err = ERR_OK;

	make_parents(path);
	run->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (run->lock < 0)
		err = err_sys("%s", path);
	else if (flock(run->lock, LOCK_EX | LOCK_NB) != 0)
		err = errno == EWOULDBLOCK
		    ? err_set(ERR_BUSY, "%s: another fetch is under way",
			  run->fetch->path)
		    : err_sys("%s", path);
	free(path);
	return err;
}

enum err
fetch_idle(const char *path)
{
	char *lock = mem_fmt("%s.reproute-lock", path);
	int fd = open(lock, O_RDONLY | O_CLOEXEC);
	enum err err = ERR_OK;

	if (fd < 0 && errno != ENOENT)
		err = err_sys("%s", lock);
	else if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0)
		err = errno == EWOULDBLOCK
		    ? err_set(ERR_BUSY, "%s: a fetch is under way", path)
		    : err_sys("%s", lock);
	if (fd >= 0)
		close(fd);
	free(lock);
	return err;
}

/*
 * libcurl reads ~/.netrc (git's http.c, CURLOPT_NETRC), so that the secret
 * is in no argument.  It is a link, so that nothing secret is left behind.
 */
static enum err
make_home(struct run *run)
{
	const char *tmp = getenv("TMPDIR"), *auth = run->fetch->auth_file;
	char *home = mem_fmt("%s/reproute-XXXXXX",
	    tmp != NULL && tmp[0] == '/' ? tmp : "/tmp");
	char *real = NULL, *netrc = NULL;
	struct stat status;
	enum err err = ERR_OK;

	if (mkdtemp(home) == NULL) {
		err = err_sys("%s", home);
		free(home);
		return err;
	}
	run->home = home;
	if (auth == NULL)
		return ERR_OK;
	netrc = mem_fmt("%s/.netrc", home);
	if (access(auth, R_OK) != 0 || stat(auth, &status) != 0 ||
	    (real = realpath(auth, NULL)) == NULL)
		err = err_sys("auth_file %s", auth);
	else if ((status.st_mode & 07) != 0)
		err = err_set(ERR_CONF,
		    "auth_file %s: others may read it; "
		    "chmod 0640 (or 0600) it",
		    auth);
	else if (symlink(real, netrc) != 0)
		err = err_sys("%s", netrc);
	free(real);
	free(netrc);
	return err;
}

static void
remove_home(struct run *run)
{
	if (run->home != NULL)
		(void)!tidy_remove(run->home);
	free(run->home);
}

/* git at the origin or in the repository that is filled. */
static enum err
run_git(const struct run *run, const char *const *argv, struct buf *output)
{
	const struct fetch *fetch = run->fetch;
	char *home = mem_fmt("HOME=%s", run->home);
	char *speed = mem_fmt("http.lowSpeedTime=%lld",
	    (long long)(fetch->stall_ms + 999) / 1000);
	char *ca = mem_fmt("http.sslCAInfo=%s",
	    fetch->ca_file != NULL ? fetch->ca_file : "");
	const char *env[] = { home, "XDG_CONFIG_HOME", "GIT_NAMESPACE",
		"GIT_ALLOW_PROTOCOL=file:http:https", NULL };
	const char *config[] = {
		"credential.helper=",
		"http.followRedirects=false",
		/* a git that outlived us, and keeps our lock, ends as well */
		"http.lowSpeedLimit=1",
		speed,
		/* a copy has no pushes to refuse or to report */
		"core.hooksPath=/dev/null",
		/* one pack a fetch, so that packs are all there is to count */
		"fetch.unpackLimit=1",
		"gc.auto=0",
		fetch->ca_file != NULL ? ca : NULL,
		NULL,
	};
	struct spawn order = { .argv = argv,
		.env = env,
		.stall_ms = fetch->stall_ms,
		.keep_fd = run->lock,
		.progress = fetch->progress,
		.progress_arg = fetch->progress_arg,
		.stop = fetch->stop,
		.stop_arg = fetch->stop_arg };
	enum err err = gitcmd_run(&order, config, output);

	free(ca);
	free(speed);
	free(home);
	return err;
}

/* A git command of up to four words in the repository that is filled. */
static enum err
in_repository(const struct run *run, const char *const words[4])
{
	char *dir = mem_fmt("--git-dir=%s", run->path);
	const char *argv[] = { "git", dir, words[0], words[1], words[2],
		words[3], NULL };
	enum err err = run_git(run, argv, NULL);

	free(dir);
	return err;
}

/* Takes one line of ls-remote --symref: "ref: TARGET", or an oid, of HEAD. */
static void
take_head(struct run *run, char *line)
{
	char *tab = strchr(line, '\t');

	if (tab == NULL || strcmp(tab + 1, "HEAD") != 0)
		return;
	*tab = '\0';
	if (strncmp(line, "ref: ", 5) == 0 && refs_legal(line + 5) &&
	    run->head == NULL)
		run->head = mem_dup(line + 5);
	else if (name_oid(line) && run->detached == NULL)
		run->detached = mem_dup(line);
}

/* Where HEAD is at the origin, where the order does not say so. */
static enum err
ask_head(struct run *run)
{
	const char *argv[] = { "git", "ls-remote", "--symref", "--",
		run->fetch->origin, "HEAD", NULL };
	struct buf output = { 0 };
	char *save = NULL;
	enum err err;

	if (run->fetch->head[0] != '\0') {
		run->head = mem_dup(run->fetch->head);
		return ERR_OK;
	}
	err = run_git(run, argv, &output);
	for (char *line = err == ERR_OK && output.data != NULL
		 ? strtok_r(output.data, "\n", &save)
		 : NULL;
	     line != NULL; line = strtok_r(NULL, "\n", &save))
		take_head(run, line);
	if (run->head != NULL) {
		free(run->detached);
		run->detached = NULL;
	}
	buf_free(&output);
	return err;
}

/*
 * --prune, and not --atomic: that is what gets past a branch that became a
 * directory of branches.  The explicit refspec brings tags and all else; no
 * ref of the origin has a say in what is fetched.
 */
static enum err
fetch_refs(const struct run *run)
{
	char *dir = mem_fmt("--git-dir=%s", run->path);
	const char *argv[] = { "git", dir, "fetch", "--prune", "--force",
		"--no-tags", "--no-auto-maintenance", "--no-write-fetch-head",
		"--no-recurse-submodules", "--update-head-ok", "--progress",
		"--", run->fetch->origin, "+refs/*:refs/*",
		run->detached != NULL ? "HEAD" : NULL, NULL };
	enum err err = run_git(run, argv, NULL);

	free(dir);
	return err;
}

/* Is HEAD what it shall be?  Then its lock need not be taken. */
static bool
head_stands(const struct run *run)
{
	char *path = mem_fmt("%s/HEAD", run->path);
	char *want = run->head != NULL ? mem_fmt("ref: %s\n", run->head)
				       : mem_fmt("%s\n", run->detached);
	char *have = mem_zalloc(strlen(want) + 2);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool same = fd >= 0 && read(fd, have, strlen(want) + 1) > 0 &&
	    strcmp(have, want) == 0;

	if (fd >= 0)
		close(fd);
	free(have);
	free(want);
	free(path);
	return same;
}

/* The origin lists no HEAD: ours may not lead to a ref that is listed. */
static enum err
hide_head(const struct run *run)
{
	const char *const ask[4] = { "rev-parse", "--verify", "--quiet",
		"HEAD" };
	const char *const hide[4] = { "symbolic-ref", "HEAD", NO_BRANCH };
	enum err err = in_repository(run, ask);

	if (err == ERR_OK)
		return in_repository(run, hide);
	return err == ERR_PEER ? ERR_OK : err;
}

static enum err
set_head(const struct run *run)
{
	const char *const symbolic[4] = { "symbolic-ref", "HEAD", run->head };
	const char *const detach[4] = { "update-ref", "--no-deref", "HEAD",
		run->detached };

	if (run->head == NULL && run->detached == NULL)
		return hide_head(run);
	if (head_stands(run))
		return ERR_OK;
	return in_repository(run, run->head != NULL ? symbolic : detach);
}

static size_t
count_packs(const struct run *run)
{
	char *path = mem_fmt("%s/objects/pack", run->path);
	DIR *dir = opendir(path);
	struct dirent *entry;
	size_t count = 0;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		size_t len = strlen(entry->d_name);

		if (len > 5 && strcmp(entry->d_name + len - 5, ".pack") == 0)
			count++;
	}
	if (dir != NULL)
		closedir(dir);
	free(path);
	return count;
}

/*
 * Not gc, which rewrites the whole: its minutes would keep the replica out
 * of service after a push.  The geometric way joins the small packs, in a
 * time that goes with what was fetched since.  If that fails nothing is
 * lost, and so many fetches later it is tried again.
 */
static void
keep_small(const struct run *run)
{
	const char *const join[4] = { "repack", "-dlq", "--geometric=2" };
	const char *const pack[4] = { "pack-refs", "--all" };
	size_t packs = count_packs(run);

	if (packs == 0 || packs % MAX_PACKS != 0)
		return;
	(void)!in_repository(run, join);
	(void)!in_repository(run, pack);
}

/* An empty one beside the place. */
static enum err
init_beside(struct run *run)
{
	char *format = mem_fmt("--object-format=%s", run->fetch->object_format);
	const char *argv[] = { "git", "init", "--quiet", "--bare",
		"--template=", format, run->beside, NULL };
	enum err err = run_git(run, argv, NULL);

	free(format);
	run->path = run->beside;
	return err;
}

/*
 * Complete, it goes in place.  Killed between the two renames, we leave no
 * repository there, and the next fetch makes one.
 */
static enum err
put_in_place(struct run *run)
{
	const char *const pack[4] = { "pack-refs", "--all" };
	const char *path = run->fetch->path;
	enum err err = in_repository(run, pack);

	if (err != ERR_OK)
		return err;
	if (rename(path, run->aside) != 0 && errno != ENOENT)
		return err_sys("%s", path);
	if (rename(run->beside, path) != 0)
		return err_sys("%s", path);
	run->path = path;
	return tidy_remove(run->aside);
}

/* Is one there, and of that object format?  ERR_SYS: something else is. */
static enum err
look(const struct run *run, bool *there)
{
	const struct fetch *fetch = run->fetch;
	struct repo *repo = NULL;
	struct stat status;
	enum err err = repo_open(fetch->path, &repo);

	if (err == ERR_OK) {
		*there = strcmp(repo_object_format(repo),
			     fetch->object_format) == 0;
		repo_close(repo);
	} else if (err == ERR_ABSENT && lstat(fetch->path, &status) == 0) {
		return err_set(ERR_SYS,
		    "%s: is there, but is no bare "
		    "repository: remove it",
		    fetch->path);
	} else if (err == ERR_ABSENT) {
		*there = false;
		err = ERR_OK;
	}
	return err;
}

static enum err
converge(struct run *run)
{
	bool there = false;
	enum err err;

	if ((err = look(run, &there)) != ERR_OK ||
	    (err = tidy_remove(run->beside)) != ERR_OK ||
	    (err = tidy_remove(run->aside)) != ERR_OK)
		return err;
	if (there)
		tidy_leftovers(run->path);
	if ((err = ask_head(run)) != ERR_OK ||
	    (!there && (err = init_beside(run)) != ERR_OK) ||
	    (err = fetch_refs(run)) != ERR_OK ||
	    (err = set_head(run)) != ERR_OK ||
	    (!there && (err = put_in_place(run)) != ERR_OK))
		return err;
	keep_small(run);
	return ERR_OK;
}

enum err
fetch_run(const struct fetch *fetch)
{
	struct run run = { .fetch = fetch, .lock = -1, .path = fetch->path };
	enum err err;

	run.beside = mem_fmt("%s.reproute-new", fetch->path);
	run.aside = mem_fmt("%s.reproute-old", fetch->path);
	if ((err = check_order(fetch)) == ERR_OK &&
	    (err = take_lock(&run)) == ERR_OK &&
	    (err = make_home(&run)) == ERR_OK) {
		err = converge(&run);
		/* what is half filled is of no use to anybody */
		if (run.path == run.beside)
			(void)!tidy_remove(run.beside);
	}
	remove_home(&run);
	if (run.lock >= 0)
		close(run.lock);
	free(run.detached);
	free(run.head);
	free(run.beside);
	free(run.aside);
	return err;
}

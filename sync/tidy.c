/* tidy.c: what a killed git leaves in a repository, and how it goes */
/* SPDX-License-Identifier: ISC */
#include "sync/tidy.h"

#include <errno.h>
#include <fnmatch.h>
#include <fts.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/clock.h"
#include "conf/mem.h"

/* A lock on refs or on the list of packs is held for milliseconds. */
#define LOCK_AGE_S 10
/* A pack under construction may lie still while its objects are resolved. */
#define PACK_AGE_S 3600

static const struct leftover {
	const char *dir;
	bool deep;
	const char *pattern; /* of the file's name */
	bool empty;	     /* only if it is */
	int64_t age_s;
} leftovers[] = {
	{ "", false, "*.lock", false, LOCK_AGE_S },
	{ "", false, "packed-refs.new", false, LOCK_AGE_S },
	/* no ref's name ends in .lock: git-check-ref-format(1) */
	{ "refs", true, "*.lock", false, LOCK_AGE_S },
	/* a file whose bytes did not reach the disk: no git updates it */
	{ "refs", true, "*", true, LOCK_AGE_S },
	{ "objects", false, "*.lock", false, LOCK_AGE_S },
	{ "objects/info", true, "*.lock", false, LOCK_AGE_S },
	{ "objects/pack", false, "*.lock", false, LOCK_AGE_S },
	{ "objects/pack", false, "tmp_*", false, PACK_AGE_S },
};

static bool
is_left(const struct leftover *kind, const FTSENT *file)
{
	/* a clock that was set back may not keep one for ever */
	int64_t age_s = llabs(clock_real_s() - file->fts_statp->st_mtime);

	return file->fts_info == FTS_F && age_s >= kind->age_s &&
	    (!kind->empty || file->fts_statp->st_size == 0) &&
	    fnmatch(kind->pattern, file->fts_name, 0) == 0;
}

static void
sweep(const char *repository, const struct leftover *kind)
{
	char *top = mem_fmt("%s/%s", repository, kind->dir);
	char *tops[] = { top, NULL };
	FTS *walk = fts_open(tops, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *file;

	while (walk != NULL && (file = fts_read(walk)) != NULL) {
		if (file->fts_info == FTS_D && file->fts_level > 0 &&
		    !kind->deep)
			fts_set(walk, file, FTS_SKIP);
		else if (is_left(kind, file))
			unlink(file->fts_path);
	}
	if (walk != NULL)
		fts_close(walk);
	free(top);
}

void
tidy_leftovers(const char *repository)
{
	for (size_t i = 0; i < sizeof(leftovers) / sizeof(leftovers[0]); i++)
		sweep(repository, &leftovers[i]);
}

enum err
tidy_remove(const char *path)
{
	char *top = mem_dup(path), *tops[] = { top, NULL };
	FTS *walk = fts_open(tops, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *file;
	struct stat status;

	while (walk != NULL && (file = fts_read(walk)) != NULL) {
		if (file->fts_info == FTS_DP)
			rmdir(file->fts_path);
		else if (file->fts_info != FTS_D)
			unlink(file->fts_path);
	}
	if (walk != NULL)
		fts_close(walk);
	free(top);
	errno = ENOTEMPTY;
	if (lstat(path, &status) == 0)
		return err_sys("%s: cannot be removed", path);
	return ERR_OK;
}

/* fetch.h: makes a local repository converge to its origin, by git fetch */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_FETCH_H
#define SYNC_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/err.h"
#include "sync/refs.h"

struct fetch {
	const char *path;		/* the bare repository, made if absent */
	const char *origin;		/* URL */
	const char *auth_file;		/* netrc(5) form, or NULL */
	const char *ca_file;		/* or NULL */
	const char *head;		/* HEAD's target at the origin, or "" */
	const char *object_format;	/* "sha1", "sha256" */
	int64_t stall_ms;
	void (*progress)(void *arg, const char *line);	/* or NULL */
	void *progress_arg;
};

/*
 * One at a time per repository (a lock beside it; ERR_BUSY when another
 * holds it).  Creates the repository with that object format; fetches
 * +refs/...:refs/... of everything with prune, so that a directory/file conflict converges in one
 * pass; then sets HEAD's target.  Success is no proof: compare refs.
 * Stale lock files of a killed git are removed once nobody holds ours.
 */
MUST_USE enum err fetch_run(const struct fetch *);

#endif

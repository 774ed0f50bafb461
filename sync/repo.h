/* repo.h: one repository on this host's disk; the only user of libgit2 */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_REPO_H
#define SYNC_REPO_H

#include <stdbool.h>
#include <stddef.h>

#include "sync/refs.h"

/* Is that directory (an fd) what git takes for a repository? */
bool repo_is(int dir);

/*
 * Opened read-only, whoever owns it; ERR_ABSENT where there is no bare
 * repository.  What libgit2 does not understand (SHA-256, hideRefs, a
 * namespace, a newer format) is asked of git itself, which takes longer.
 */
struct repo;
MUST_USE enum err repo_open(const char *path, struct repo **out);
void repo_close(struct repo *);

/* As it was opened; borrowed until repo_close(). */
const char *repo_path(const struct repo *);
/* "sha1" or "sha256"; borrowed until repo_close(). */
const char *repo_object_format(const struct repo *);

/* Does it hold that commit?  oid as name_oid() takes it. */
MUST_USE enum err repo_has_commit(struct repo *, const char *oid, bool *has);

/*
 * The digest of what its upload-pack would advertise.  ERR_BUSY: its refs
 * were rewritten each time they were read.
 */
MUST_USE enum err repo_refs(struct repo *, struct refs_digest *out);

#endif

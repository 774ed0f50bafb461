/* repo.h: one repository on this host's disk; the only user of libgit2 */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_REPO_H
#define SYNC_REPO_H

#include <stdbool.h>

#include "sync/refs.h"

/* Opened read-only; ERR_ABSENT where there is no repository. */
struct repo;
MUST_USE enum err repo_open(const char *path, struct repo **out);
void repo_close(struct repo *);

/* Does it hold that commit?  oid as name_oid() takes it. */
MUST_USE enum err repo_has_commit(struct repo *, const char *oid, bool *has);

/*
 * The digest of what its upload-pack would advertise.  ERR_ABSENT where
 * hideRefs or a namespace is set, so that only upload-pack itself can tell.
 */
MUST_USE enum err repo_refs(struct repo *, struct refs_digest *out);

/*
 * The repository NAME below root as git http-backend would find it, NAME
 * first, then NAME.git, into path.  No link and no ".." is followed on the
 * way (openat2 RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS, root itself may be a
 * link).  ERR_ABSENT: neither is there.
 */
MUST_USE enum err repo_find(const char *root, const char *name, char *path,
    size_t size);

#endif

/* gitcmd.h: git as a child, in an environment that no caller can bend */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_GITCMD_H
#define SYNC_GITCMD_H

#include "sync/spawn.h"

/* Values of git's configuration that one run may be given. */
#define MAX_GITCMD_CONFIG 16

/*
 * spawn_run() of a git command (argv[0] is "git").  config: "key=value"
 * strings, NULL-terminated, or NULL; they reach git by its environment, so
 * that none shows in a process list.  Taken away are a hook's GIT_DIR and
 * its kin, and the credentials of the request that we serve as CGI; no
 * question is ever asked of a terminal; any owner's repository is taken
 * (safe.directory), the caller having looked at the path.  order->env is
 * applied, too.
 */
MUST_USE enum err gitcmd_run(const struct spawn *order,
    const char *const *config, struct buf *output);

#endif

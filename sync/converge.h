/* converge.h: makes a replica's copy of a repository what the primary has */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_CONVERGE_H
#define SYNC_CONVERGE_H

#include "conf/conf.h"
#include "sync/http.h"
#include "sync/refs.h"

/*
 * Has the replica fetch, in the route's way (converge), and waits for its
 * end; primary says HEAD and object format, and where it does not (the proof
 * by commit compares no refs) the primary is asked.  Success is no proof.
 *
 * ERR_PEER: it did not work, or for CONVERGE_NONE "somebody else must";
 * ERR_BUSY: another fetch of it is under way on this host (CONVERGE_LOCAL);
 * ERR_INPUT: a name that no command may be given; ERR_CONF, ERR_SYS: a
 * secret or a program that cannot be used.
 */
MUST_USE enum err converge_run(struct http *, const struct conf *,
    const struct route *, const struct upstream *replica, const char *name,
    const struct refs_digest *primary);

/*
 * ERR_BUSY while a fetch into the replica's copy is under way on this host
 * (CONVERGE_LOCAL), perhaps one of a daemon that was killed.  With
 * CONVERGE_ENDPOINT reproute-replica looks itself.
 *
 * With CONVERGE_COMMAND and CONVERGE_NONE nobody can tell.  A worker waits
 * for its command before it compares, so that in a daemon's life only what a
 * command leaves behind is late: the far end of an ssh that stalled, or that
 * died with its daemon (ssh closes whatever could hold a lock for it).  It
 * writes refs as the primary had them when it asked, so it can set back what
 * was marked meanwhile.  That is a change that nobody reported, like any
 * other: the poll sees it within its bound while the repository is read, and
 * the sweep else.
 */
MUST_USE enum err converge_idle(const struct route *,
    const struct upstream *replica, const char *name);

#endif

/* converge.h: makes a replica's copy of a repository what the primary has */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_CONVERGE_H
#define SYNC_CONVERGE_H

#include "conf/conf.h"
#include "sync/http.h"
#include "sync/refs.h"

/*
 * Has the replica fetch, in the route's way (converge), and waits for its
 * end; primary says HEAD and object format.  Success is no proof.  For
 * CONVERGE_NONE it is ERR_PEER: "somebody else must".
 */
MUST_USE enum err converge_run(struct http *, const struct conf *,
    const struct route *, const struct upstream *replica, const char *name,
    const struct refs_digest *primary);

#endif

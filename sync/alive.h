/* alive.h: whether a replica answers: its endpoint, its git, its web server */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_ALIVE_H
#define SYNC_ALIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "sync/http.h"

/*
 * Any HTTP answer below 500 within limit_ms to a GET of its endpoint (where
 * the route converges by endpoint) or of url + the route's prefix; otherwise
 * ERR_PEER.
 */
MUST_USE enum err alive_ask(struct http *, const struct route *,
    const struct upstream *, int64_t limit_ms);

/*
 * Any answer within limit_ms, but 502, 503 and 504, to what a git client asks
 * first, of a repository that nobody has: git is often another program than
 * the endpoint, which goes on answering when that one is gone.  Not for each
 * second: it leaves lines in the replica's logs.
 */
MUST_USE enum err alive_ask_git(struct http *, const struct route *,
    const struct upstream *, int64_t limit_ms);

/*
 * Any answer at all within limit_ms of the server that alive_ask() asks, to
 * what costs it no program: if that comes and the other does not, it is slow,
 * and does not hang.
 */
bool alive_server(struct http *, const struct route *, const struct upstream *,
    int64_t limit_ms);

#endif

/* fence.h: fences: a change of a repository may be under way */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_FENCE_H
#define SYNC_FENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "conf/crypto.h"
#include "sync/table.h"

/*
 * Fences of one repository; beyond that one common fence, which only time
 * ends.
 */
#define MAX_FENCES 64
/*
 * Repositories with fences; beyond that a repository without a row gets
 * the route's common one, and is not learnt while that stands.
 */
#define MAX_FENCED 10000

enum fence_state {
	FENCE_UP,     /* no read goes to a replica */
	FENCE_BROKEN, /* as up; its line says that the push was broken off */
	FENCE_WATCH,  /* fence_s is over: serves, compared every watch_s */
};

struct fence {
	char token[TOKEN_SIZE]; /* "" is the common one */
	enum fence_state state;
	bool hooked;	  /* a hook began it, and is to end it */
	int64_t begun_ms; /* clock_boot_ms(); begun anew after a boot */
};

struct fences {
	unsigned n, n_up; /* n_up: FENCE_UP and FENCE_BROKEN */
	struct fence fence[MAX_FENCES + 1];
};

/* An empty set where there is none. */
MUST_USE enum err fences_get(struct table_txn *, const struct route *,
    const char *name, struct fences *out);

/*
 * Every one of these also raises the generation, if the repository has a
 * row, in the same transaction.
 *
 * fence_begin: a fence goes up under that token (and the token is noted for
 * fence_find).  Again with a token that is up: its time begins anew.
 * fence_begin_hook: the same by a hook, which is to end it; also with the
 * token of the router's fence, which then is the hook's.
 * fence_end: the fence of that token goes down.  *was tells whether there
 * was one (may be NULL); without one the generation rises all the same.
 * fence_broken: its line came and proves nothing.  Where hooks are strict, it
 * goes down all the same, unless a hook began it: whatever lands later has a
 * fence of its own.
 */
MUST_USE enum err fence_begin(struct table_txn *, const struct route *,
    const char *name, const char *token, int64_t now_ms);
MUST_USE enum err fence_begin_hook(struct table_txn *, const struct route *,
    const char *name, const char *token, int64_t now_ms);
MUST_USE enum err fence_end(struct table_txn *, const struct route *,
    const char *name, const char *token, bool *was);
MUST_USE enum err fence_broken(struct table_txn *, const struct route *,
    const char *name, const char *token);
/* Ends all of a repository's fences, whatever their cause (a person's word). */
MUST_USE enum err fences_end_all(struct table_txn *, const struct route *,
    const char *name);

/*
 * What time does: fences older than fence_s watch, those older than
 * push_max_s end.  Costs what is fenced.  *next_ms is when to call again at
 * the latest (clock_boot_ms(); INT64_MAX: nothing is fenced), *changed how
 * many repositories changed, or were due to be compared again: the
 * generation of each was raised.
 */
MUST_USE enum err fences_expire(struct table_txn *, const struct conf *,
    int64_t now_ms, int64_t *next_ms, unsigned *changed);
/* After a boot (another boot id than the table's) every fence begins anew. */
MUST_USE enum err fences_adopt(struct table_txn *, int64_t now_ms);

/*
 * The next repository of a route with fences after name; ERR_ABSENT: none.
 * The route's common fence (MAX_FENCED) is fences_get()'s of the name "".
 */
MUST_USE enum err fences_next(struct table_txn *, const struct route *,
    const char *name, char *next, struct fences *out);

#endif

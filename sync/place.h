/* place.h: placements: to which registry a repository belongs */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_PLACE_H
#define SYNC_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "conf/crypto.h"
#include "sync/table.h"

enum place_state {
	PLACE_PROVISIONAL, /* a write was let through; no manifest yet */
	PLACE_MANIFEST,	   /* a manifest PUT is under way */
	PLACE_FINAL,
};

struct placement {
	char upstream[WORD_SIZE];
	char reason[WORD_SIZE]; /* the decision's, or "import", "admin" */
	enum place_state state;
	bool shared;		/* more than one token wrote under it */
	char token[TOKEN_SIZE]; /* that made this state; "": none, or several */
	int64_t made_s;		/* real time */
	int64_t expires_s;	/* real time; of a provisional one */
};

/* ERR_ABSENT: not placed. */
MUST_USE enum err place_get(struct table_txn *, const struct route *,
    const char *name, struct placement *out);

/*
 * A write passes: insert-if-absent, and notes what the token needs noted.
 * *out is what stands afterwards, and where the write must go.  wanted and
 * reason are the decision's.  manifest: it is a manifest PUT.
 * A final placement costs no write; the caller need not call then.  Of one
 * that is not final, only the first write of a second token and manifest
 * PUTs cost one.
 */
MUST_USE enum err place_write(struct table_txn *, const struct route *,
    const char *name, const char *wanted, const char *reason, const char *token,
    bool manifest, struct placement *out);

/*
 * The feed's word on a token that place_write() noted: an HTTP status.  A
 * manifest PUT with 2xx makes its placement final, one with 4xx takes its
 * own word back; a refused write (401, 403, 404) drops a placement that no
 * other token used.  Anything else proves nothing.  ERR_OK also where
 * nothing changed.
 */
MUST_USE enum err place_settle(struct table_txn *, const struct route *,
    const char *name, const char *token, bool manifest, unsigned status);

/*
 * Found in that side's catalogue, completely imported or not: inserts a
 * final one; overturns a provisional one; a final one on another side stays,
 * and *conflict says so (as does one whose manifest PUT is under way).
 */
MUST_USE enum err place_import(struct table_txn *, const struct route *,
    const char *name, const char *upstream, bool *conflict);

/* A person's word: final, whatever stood. */
MUST_USE enum err place_set(struct table_txn *, const struct route *,
    const char *name, const char *upstream);
/* Whatever stood; ERR_OK also where nothing did. */
MUST_USE enum err place_drop(struct table_txn *, const struct route *,
    const char *name);
/* Asked and found there: provisional becomes final; anything else stays. */
MUST_USE enum err place_confirm(struct table_txn *, const struct route *,
    const char *name);

/* As row_next(): all of one route.  out may be NULL. */
MUST_USE enum err place_next(struct table_txn *, const struct route *,
    const char *name, char *next, struct placement *out);
/* A provisional one that expired before now_s, of any route; ERR_ABSENT. */
MUST_USE enum err place_expired(struct table_txn *, int64_t now_s, char *route,
    char *name);
/*
 * Puts off the expiry of a provisional one (its side could not be asked);
 * anything else stays.  Of route only the name is looked at.
 */
MUST_USE enum err place_postpone(struct table_txn *, const struct route *,
    const char *name, int64_t until_s);

/*
 * The first placement that names an upstream which conf does not have; costs
 * all placements.  upstream is of WORD_SIZE.  ERR_ABSENT: there is none.
 */
MUST_USE enum err place_orphan(struct table_txn *, const struct conf *,
    char *upstream, char *name);

/* How far the import of one side's catalogue is. */
struct import {
	int64_t completed_s; /* real time, the last complete one; 0: never */
	int64_t started_s;   /* of the one under way; 0: none */
	uint64_t names;	     /* found by the one under way, or the last */
	uint64_t conflicts;
	char last[NAME_SIZE]; /* name on the last page read; "": the start */
};
/* All zero where there is none yet. */
MUST_USE enum err import_get(struct table_txn *, const struct route *,
    const struct upstream *side, struct import *out);
MUST_USE enum err import_set(struct table_txn *, const struct route *,
    const struct upstream *side, const struct import *);
/* Were both sides of a route that migrates imported completely, once? */
MUST_USE enum err imports_complete(struct table_txn *, const struct route *,
    bool *complete);

#endif

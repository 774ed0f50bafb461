/* proof.h: proves that a replica has what the primary has, and marks it */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_PROOF_H
#define SYNC_PROOF_H

#include <stdbool.h>

#include "conf/conf.h"
#include "sync/http.h"
#include "sync/refs.h"
#include "sync/table.h"

enum proof_outcome {
	PROOF_MARKED,	  /* equal; the mark is set and current */
	PROOF_SUPERSEDED, /* equal, but it changed meanwhile */
	PROOF_FENCED,	  /* a fence is up: nothing to prove yet */
	PROOF_UNREPORTED, /* by commit, and no commit was reported yet */
	PROOF_DIFFERS,	  /* not equal: converge, and again */
	PROOF_GONE,	  /* not at the primary; all marks void */
	PROOF_UNVERIFIED, /* equal refs, but upload-pack offers less */
};

struct proof_result {
	enum proof_outcome outcome;
	struct refs_digest primary;
	struct refs_digest replica; /* digest "": no such repository */
	uint64_t generation;	    /* noted before comparing */
	bool marked;		    /* then the replica's mark counted */
	unsigned primary_status;    /* of PROOF_GONE */
	char note[256];		    /* for people, or "" */
};

/*
 * Notes generation and epochs, then compares by the route's proof, then
 * marks with what was noted: in this order, which is the whole point.
 * ERR_ABSENT: the repository has no row.  ERR_PEER: one of the two could
 * not be asked, or the replica is just fetching it; ERR_TABLE.
 *
 * A primary that refuses, twice, voids all marks (404 and 410: PROOF_GONE;
 * other statuses: ERR_PEER); one that does not answer, or with 408, 429 or
 * 5xx, is in trouble itself and voids none.  A replica that fails at its
 * marked repository, twice, loses that mark, but not where it is only too
 * busy to answer; so does one of PROOF_UNVERIFIED.  PROOF_DIFFERS writes
 * nothing; see proof_unreported().
 */
MUST_USE enum err proof_run(struct table *, struct http *, const struct conf *,
    const struct route *, const struct upstream *replica, const char *name,
    struct proof_result *out);

/*
 * After it: where the replica is not what its mark says, which counted before
 * the comparison and still does, somebody changed one of the two and told
 * nobody.  Which of the two is not asked: the generation rises, so that no
 * mark counts, nor any comparison under way, and *raised says so.
 */
MUST_USE enum err proof_unreported(struct table *, const struct route *,
    const struct upstream *replica, const char *name,
    const struct proof_result *, bool *raised);

#endif

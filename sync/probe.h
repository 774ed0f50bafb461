/* probe.h: asks a primary or a replica what it has */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_PROBE_H
#define SYNC_PROBE_H

#include <stdbool.h>

#include "conf/conf.h"
#include "sync/http.h"
#include "sync/refs.h"

struct probe_refs {
	struct refs_digest refs;
	unsigned offers; /* of upload-pack, as bits (advert.h) */
	bool has_offers;
	/*
	 * HTTP status that decided, set on failure too (200: its bytes are
	 * none of what was asked for); 0: no whole answer
	 */
	unsigned status;
};

/*
 * The refs of a repository at an upstream, by its ref advertisement
 * (protocol v2 ls-refs, v0 where it lacks that), at url + the route's prefix
 * + name + ".git" (and, on 404, without ".git").  ERR_ABSENT: the upstream
 * says there is none (404, 410); ERR_BUSY: a ref is being deleted, look
 * again; ERR_PEER: anything else than 200, no answer, or bytes that are no
 * advertisement.
 */
MUST_USE enum err probe_advert(struct http *, const struct conf *,
    const struct route *, const struct upstream *, const char *name,
    struct probe_refs *out);

/*
 * The same of a replica, by the digest at its endpoint; ERR_ABSENT where
 * the endpoint says that it has no such repository.  What upload-pack offers
 * is asked at url, as clients do; ERR_PEER where that has no repository.
 */
MUST_USE enum err probe_endpoint(struct http *, const struct conf *,
    const struct route *, const struct upstream *, const char *name,
    struct probe_refs *out);

/*
 * Appends "ENDPOINT/projects/PROJECT/repos/REPO/TAIL" for a repository: what
 * is before its last slash is the project, with %2F for slashes, or "-"
 * where there is none.  In tail, {sha} may stand.  ERR_PEER for a name whose
 * project is "-".
 */
MUST_USE enum err probe_endpoint_url(const struct upstream *, const char *name,
    const char *sha, const char *tail, struct buf *out);

/*
 * The seed's has-commit, at an endpoint.  ERR_ABSENT: there is no such
 * repository (404); ERR_PEER: neither "true" nor "false".
 */
MUST_USE enum err probe_has_commit(struct http *, const struct conf *,
    const struct upstream *, const char *name, const char *sha, bool *has);

/*
 * Has a registry that repository?  *status is what its tags/list answers (OCI
 * distribution-spec, "Content Discovery"), which is 200 or 404 once a
 * manifest was pushed or none was.  ERR_PEER: no answer, or one that a
 * registry does not give (its errors are JSON, "Error Codes"): a placement
 * that holds an image must not be lost to a wrong URL.
 */
MUST_USE enum err probe_tags(struct http *, const struct conf *,
    const struct upstream *, const char *name, unsigned *status);

#endif

/* refs.h: the canonical ref advertisement and its digest */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_REFS_H
#define SYNC_REFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/crypto.h"

/* More refs than this are not compared, in one repository. */
#define MAX_REFS 2000000
/* Longest ref name in bytes (a pkt-line holds 65,516). */
#define MAX_REF 4096

/*
 * SHA-256 over the canonical advertisement: for each ref, in strictly
 * increasing byte order of the names, "OID SP REF LF", without peeled
 * lines; then, for HEAD, "ref: TARGET SP HEAD LF" only where TARGET is
 * listed, or "OID SP HEAD LF" where it is detached.  Streamed while the
 * refs come in order; collected and sorted from the first one that does not.
 */
struct refs;
struct refs *refs_new(void);
void refs_free(struct refs *);

/*
 * A ref, of full name; HEAD goes to refs_head() instead.  ERR_INPUT for an
 * oid or a name out of its grammar; ERR_LIMIT beyond MAX_REFS; ERR_BUSY for
 * an all-zero oid, which git lists while it deletes: look again.
 */
MUST_USE enum err refs_add(struct refs *, const char *oid, const char *name);
/* target NULL: detached at oid.  target set: symbolic; oid may be NULL (unborn). */
MUST_USE enum err refs_head(struct refs *, const char *oid,
    const char *target);

struct refs_digest {
	char digest[DIGEST_HEX_SIZE];
	size_t refs;		/* without HEAD */
	char head[MAX_REF + 1];	/* HEAD's target, or "" (detached, none) */
	char object_format[8];	/* "sha1" or "sha256" */
};
/* Ends it and frees it, in any case.  ERR_INPUT: a ref came twice. */
MUST_USE enum err refs_end(struct refs *, const char *object_format,
    struct refs_digest *out);

#endif

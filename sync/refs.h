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

/* Refs kept for sorting, in bytes. */
#define MAX_REFS_TEXT (256UL << 20)

/*
 * SHA-256 over the canonical advertisement: for each ref, in strictly
 * increasing byte order of the names, "OID SP REF LF", without peeled
 * lines; then, for HEAD, "ref: TARGET SP HEAD LF" only where TARGET is
 * listed, or "OID SP HEAD LF" where it is detached.
 */
struct refs;
/* Takes any order: keeps the refs until the end, and sorts them. */
struct refs *refs_new(void);
/*
 * Constant memory, but takes HEAD first and then the refs in their order,
 * as git sends them.  Where they come otherwise, refs_unordered() tells so
 * after the ERR_INPUT; then begin again with refs_new().
 */
struct refs *refs_new_ordered(void);
bool refs_unordered(const struct refs *);
void refs_free(struct refs *);

/*
 * A full ref name, as far as comparing needs it: "refs/...", at most
 * MAX_REF bytes, none of them a control byte, a space, a backslash or one
 * of ~^:?*[, and no ".." (git-check-ref-format(1)).
 */
bool refs_legal(const char *name);

/*
 * A ref, of full name; HEAD goes to refs_head() instead.  ERR_INPUT for an
 * oid or a name out of its grammar, or a mixture of oid lengths; ERR_LIMIT
 * beyond MAX_REFS or MAX_REFS_TEXT; ERR_BUSY for an all-zero oid, which git
 * lists while it deletes: look again.
 */
MUST_USE enum err refs_add(struct refs *, const char *oid, const char *name);
/*
 * target NULL: detached at oid.  target set: symbolic; oid may be NULL
 * (unborn).
 */
MUST_USE enum err refs_head(struct refs *, const char *oid, const char *target);

struct refs_digest {
	char digest[DIGEST_HEX_SIZE];
	size_t refs;		/* without HEAD */
	char head[MAX_REF + 1]; /* HEAD's target, or "" (detached, none) */
	char object_format[8];	/* "sha1" or "sha256" */
};
/*
 * Ends it and frees it, in any case.  ERR_INPUT: a ref came twice, the
 * object format is none, or the oids are not of its length.
 */
MUST_USE enum err refs_end(struct refs *, const char *object_format,
    struct refs_digest *out);

#endif

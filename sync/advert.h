/* advert.h: reads a ref advertisement off the wire, protocol v0, v1 and v2 */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_ADVERT_H
#define SYNC_ADVERT_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/mem.h"
#include "sync/refs.h"

/*
 * A push parser of pkt-lines (gitprotocol-common(5)) in one of two forms:
 * what GET .../info/refs?service=git-upload-pack answers (v0/v1 refs, or v2
 * capabilities), and what POST command=ls-refs answers (v2).  Constant
 * memory but for what refs.h collects.
 */
enum advert_form { ADVERT_INFO_REFS, ADVERT_LS_REFS };

struct advert;
/* refs, which v2 capabilities leave alone, is borrowed until advert_free(). */
struct advert *advert_new(enum advert_form, struct refs *refs);
void advert_free(struct advert *);

/*
 * The next bytes, in pieces of any size.  ERR_INPUT with what is wrong, or
 * what refs_add() and refs_head() say; then it takes no more.
 */
MUST_USE enum err advert_take(struct advert *, const char *bytes, size_t len);

/* What the capabilities said. */
struct advert_caps {
	bool v2;	       /* refs are still to be asked for by ls-refs */
	bool unborn;	       /* ls-refs takes "unborn" (v2) */
	char object_format[8]; /* "sha1" where nothing is said */
	/*
	 * What upload-pack offers, as bits of advert_cap_names: of what its
	 * configuration or its age can take away, and a client would miss.
	 * Protocol v2 lets a client want any object, so that the bits of v0
	 * about wants are always set there.
	 */
	unsigned offers;
};
extern const char *const advert_cap_names[]; /* NULL-terminated */

/*
 * ERR_INPUT where the advertisement broke off, or is v2 without ls-refs.
 * After ADVERT_LS_REFS, which has no capabilities, *out is left alone.
 */
MUST_USE enum err advert_end(struct advert *, struct advert_caps *out);

/* The body of a POST git-upload-pack that asks for all refs (v2). */
void advert_ls_refs_body(const struct advert_caps *, struct buf *out);

#endif

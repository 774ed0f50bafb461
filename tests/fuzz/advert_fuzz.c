/* advert_fuzz.c: any bytes as an advertisement, whole and byte by byte */
/* SPDX-License-Identifier: ISC */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sync/advert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
	enum err err;
	struct advert_caps caps;
	struct refs_digest digest;
};

static void
read_all(enum advert_form form, const char *bytes, size_t len, size_t piece,
    struct outcome *out)
{
	struct refs *refs = refs_new();
	struct advert *advert = advert_new(form, refs);
	struct advert_caps caps = { .object_format = "sha1" };

	for (size_t at = 0; at < len && out->err == ERR_OK; at += piece)
		out->err = advert_take(advert, bytes + at,
		    len - at < piece ? len - at : piece);
	if (out->err == ERR_OK)
		out->err = advert_end(advert, &caps);
	advert_free(advert);
	out->caps = caps;
	if (out->err == ERR_OK)
		out->err = refs_end(refs, caps.object_format, &out->digest);
	else
		refs_free(refs);
}

static bool
same(const struct outcome *one, const struct outcome *other)
{
	return one->err == other->err && one->caps.v2 == other->caps.v2 &&
	    one->caps.unborn == other->caps.unborn &&
	    one->caps.offers == other->caps.offers &&
	    strcmp(one->caps.object_format, other->caps.object_format) == 0 &&
	    one->digest.refs == other->digest.refs &&
	    strcmp(one->digest.digest, other->digest.digest) == 0 &&
	    strcmp(one->digest.head, other->digest.head) == 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct outcome whole, pieces;
	enum advert_form form = size > 0 && data[0] == 'l' ? ADVERT_LS_REFS
							   : ADVERT_INFO_REFS;
	const char *bytes = (const char *)data + 1;

	if (size == 0)
		return 0;
	memset(&whole, 0, sizeof(whole));
	memset(&pieces, 0, sizeof(pieces));
	read_all(form, bytes, size - 1, size, &whole);
	read_all(form, bytes, size - 1, 1, &pieces);
	/* how the bytes are cut changes nothing */
	if (!same(&whole, &pieces))
		abort();
	return 0;
}

/* pack.c: table records as bytes: big-endian numbers, counted text */
/* SPDX-License-Identifier: ISC */
#include "sync/pack.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "conf/crypto.h"
#include "conf/log.h"

/* Words of one key. */
#define MAX_KEY_WORDS 4

static uint8_t *
more(struct pack *pack, size_t len)
{
	uint8_t *at = pack->bytes + pack->len;

	assert(len <= sizeof(pack->bytes) - pack->len);
	pack->len += len;
	return at;
}

void
pack_u8(struct pack *pack, uint8_t value)
{
	*more(pack, 1) = value;
}

void
pack_u64(struct pack *pack, uint64_t value)
{
	uint8_t *at = more(pack, 8);

	for (int i = 7; i >= 0; i--, value >>= 8)
		at[i] = (uint8_t)value;
}

void
pack_text(struct pack *pack, const char *text)
{
	size_t len = strlen(text);

	assert(len <= UINT16_MAX);
	pack_u8(pack, (uint8_t)(len >> 8));
	pack_u8(pack, (uint8_t)len);
	memcpy(more(pack, len), text, len);
}

struct table_bytes
pack_bytes(const struct pack *pack)
{
	return (struct table_bytes){ pack->bytes, pack->len };
}

struct unpack
unpack_of(struct table_bytes bytes)
{
	const uint8_t *at = bytes.data;

	return (struct unpack){ .at = at, .end = at + bytes.len };
}

/* The next len bytes, or NULL. */
static const uint8_t *
take(struct unpack *unpack, size_t len)
{
	const uint8_t *at = unpack->at;

	if (unpack->broken || (size_t)(unpack->end - at) < len) {
		unpack->broken = true;
		return NULL;
	}
	unpack->at += len;
	return at;
}

uint8_t
unpack_u8(struct unpack *unpack)
{
	const uint8_t *at = take(unpack, 1);

	return at != NULL ? *at : 0;
}

uint64_t
unpack_u64(struct unpack *unpack)
{
	const uint8_t *at = take(unpack, 8);
	uint64_t value = 0;

	for (int i = 0; at != NULL && i < 8; i++)
		value = value << 8 | at[i];
	return value;
}

void
unpack_text(struct unpack *unpack, char *out, size_t size)
{
	size_t high = unpack_u8(unpack);
	size_t len = high << 8 | unpack_u8(unpack);
	const uint8_t *at = take(unpack, len);

	out[0] = '\0';
	if (at == NULL)
		return;
	if (len >= size || memchr(at, '\0', len) != NULL) {
		unpack->broken = true;
		return;
	}
	memcpy(out, at, len);
	out[len] = '\0';
}

bool
unpack_whole(const struct unpack *unpack)
{
	return !unpack->broken && unpack->at == unpack->end;
}

enum err
unpack_failed(const char *what, const char *whose)
{
	char shown[512];

	return err_set(ERR_TABLE, "the table's %s of %s is damaged", what,
	    log_escape(shown, sizeof(shown), whose));
}

static void
add_word(struct key *key, const char *word)
{
	size_t size = strlen(word) + 1;

	assert(size <= sizeof(key->bytes) - key->len);
	memcpy(key->bytes + key->len, word, size);
	key->len += size;
}

static void
add_hashed(struct key *key, const char *word)
{
	struct digest *digest = digest_new();
	char text[1 + DIGEST_HEX_SIZE] = "\x01";
	uint8_t bytes[DIGEST_SIZE];

	digest_add(digest, word, strlen(word));
	digest_end(digest, bytes);
	digest_hex(bytes, text + 1);
	add_word(key, text);
}

struct key
key_of(const char *first, ...)
{
	const char *words[MAX_KEY_WORDS];
	struct key key;
	size_t n = 0;
	va_list ap;

	key.len = 0;
	va_start(ap, first);
	for (const char *word = first; word != NULL;
	     word = va_arg(ap, const char *)) {
		assert(n < MAX_KEY_WORDS);
		words[n++] = word;
	}
	va_end(ap);
	for (size_t i = 0; i < n; i++) {
		bool fits = strlen(words[i]) < sizeof(key.bytes) - key.len;

		if (i + 1 == n && !fits)
			add_hashed(&key, words[i]);
		else
			add_word(&key, words[i]);
	}
	return key;
}

struct table_bytes
key_bytes(const struct key *key)
{
	return (struct table_bytes){ key->bytes, key->len };
}

bool
key_under(const struct key *prefix, struct table_bytes found)
{
	return found.len >= prefix->len &&
	    memcmp(found.data, prefix->bytes, prefix->len) == 0;
}

enum err
key_next(struct table_txn *txn, enum table_db db, const struct key *prefix,
    const struct key *at, struct table_bytes *value)
{
	struct table_bytes found, its;
	enum err err = table_seek(txn, db, key_bytes(at), true, &found, &its);

	if (err == ERR_OK && !key_under(prefix, found))
		err = ERR_ABSENT;
	if (err == ERR_OK)
		*value = its;
	return err;
}

void
time_word(int64_t time, char out[TIME_WORD_SIZE])
{
	snprintf(out, TIME_WORD_SIZE, "%016" PRIx64, time > 0 ? time : 0);
}

bool
key_before(struct table_bytes found, const struct key *bound)
{
	size_t len = found.len < bound->len ? found.len : bound->len;
	int order = memcmp(found.data, bound->bytes, len);

	return order < 0 || (order == 0 && found.len < bound->len);
}

/* pack.h: table records as bytes: big-endian numbers, counted text */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_PACK_H
#define SYNC_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sync/table.h"

/* The longest record; every record's parts are bounded to fit. */
#define MAX_RECORD 8192

/* Writing: too much is our bug and ends in an assert.  { 0 } is empty. */
struct pack {
	uint8_t bytes[MAX_RECORD];
	size_t len;
};
void pack_u8(struct pack *, uint8_t);
void pack_u64(struct pack *, uint64_t);
/* Two bytes of length, then the text. */
void pack_text(struct pack *, const char *text);
struct table_bytes pack_bytes(const struct pack *);

/* Reading: what does not fit sets broken, and zero is read from then on. */
struct unpack {
	const uint8_t *at, *end;
	bool broken;
};
struct unpack unpack_of(struct table_bytes);
uint8_t unpack_u8(struct unpack *);
uint64_t unpack_u64(struct unpack *);
/*
 * Into out of that size, NUL-terminated; too long for it, or with a NUL
 * inside, is broken, and out is "".
 */
void unpack_text(struct unpack *, char *out, size_t size);
/* Was all read, and nothing broken? */
bool unpack_whole(const struct unpack *);
/* ERR_TABLE: "the table's WHAT of WHOSE is damaged". */
MUST_USE enum err unpack_failed(const char *what, const char *whose);

/*
 * Keys are words, each followed by a NUL, so that a key of fewer words is a
 * prefix of the bytes of those under it.  A key that would pass MAX_KEY ends
 * in "\x01" and the SHA-256 of its last word, in hex, instead of that word
 * (no name holds a control byte).  So a name cannot be read back from a key:
 * in every database whose keys end in a name, the value begins with
 * pack_text(name).
 */
struct key {
	uint8_t bytes[MAX_KEY];
	size_t len;
};
/* The words up to the first NULL. */
struct key key_of(const char *first, ...) __attribute__((sentinel));
struct table_bytes key_bytes(const struct key *);
/* Is prefix, a key of whole words, the beginning of found? */
bool key_under(const struct key *prefix, struct table_bytes found);
/*
 * The value of the first entry whose key is above at, and under prefix;
 * borrowed until the transaction's next call.  ERR_ABSENT at the end.
 */
MUST_USE enum err key_next(struct table_txn *, enum table_db,
    const struct key *prefix, const struct key *at, struct table_bytes *value);

/* A time as a word of a key whose order is that of time; before 0 is 0. */
#define TIME_WORD_SIZE 17
void time_word(int64_t time, char out[TIME_WORD_SIZE]);
/* Does found come before bound in the table's order? */
bool key_before(struct table_bytes found, const struct key *bound);

#endif

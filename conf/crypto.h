/* crypto.h: SHA-256, tokens and secrets; the only user of libcrypto */
/* SPDX-License-Identifier: ISC */
#ifndef CONF_CRYPTO_H
#define CONF_CRYPTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/err.h"

#define DIGEST_SIZE 32
/* 64 lower hex digits and NUL */
#define DIGEST_HEX_SIZE 65
/* 32 lower hex digits and NUL */
#define TOKEN_SIZE 33

/* SHA-256 in pieces. */
struct digest;
struct digest *digest_new(void);
void digest_add(struct digest *, const void *bytes, size_t len);
/* Ends it and frees it. */
void digest_end(struct digest *, uint8_t out[DIGEST_SIZE]);
void digest_free(struct digest *);

void digest_hex(const uint8_t digest[DIGEST_SIZE], char out[DIGEST_HEX_SIZE]);
/* The first 64 bits, big-endian, of the SHA-256 of bytes. */
uint64_t digest_64(const void *bytes, size_t len);

/* A new random token.  A token is a claim, never an authority. */
void token_new(char out[TOKEN_SIZE]);
/* Is text exactly 32 lower hex digits? */
bool token_legal(const char *text);

/*
 * The first line of a file as *out, which the caller frees.  ERR_SYS if it
 * cannot be read; ERR_CONF if it is empty, shorter than 16 characters, or if
 * others than owner and group may read it.
 */
MUST_USE enum err secret_read(const char *path, char **out);
/* Equal, in a time that does not tell where they differ? */
bool secret_equal(const char *a, const char *b);

#endif

/* crypto.c: SHA-256, tokens and secrets; the only user of libcrypto */
/* SPDX-License-Identifier: ISC */
#include "conf/crypto.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sysexits.h>

#include "conf/mem.h"

#define MIN_SECRET 16
#define MAX_SECRET 4096

struct digest {
	EVP_MD_CTX *context;
};

/* libcrypto fails here only where memory does */
static void
must(int ok)
{
	if (ok != 1) {
		fputs("reproute: libcrypto cannot compute SHA-256\n", stderr);
		exit(EX_OSERR);
	}
}

struct digest *
digest_new(void)
{
	struct digest *digest = mem_zalloc(sizeof(*digest));

	digest->context = EVP_MD_CTX_new();
	must(digest->context != NULL);
	must(EVP_DigestInit_ex(digest->context, EVP_sha256(), NULL));
	return digest;
}

void
digest_add(struct digest *digest, const void *bytes, size_t len)
{
	must(EVP_DigestUpdate(digest->context, bytes, len));
}

void
digest_end(struct digest *digest, uint8_t out[DIGEST_SIZE])
{
	must(EVP_DigestFinal_ex(digest->context, out, NULL));
	digest_free(digest);
}

void
digest_free(struct digest *digest)
{
	if (digest == NULL)
		return;
	EVP_MD_CTX_free(digest->context);
	free(digest);
}

static void
to_hex(const uint8_t *bytes, size_t len, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		*out++ = digits[bytes[i] >> 4];
		*out++ = digits[bytes[i] & 15];
	}
	*out = '\0';
}

void
digest_hex(const uint8_t digest[DIGEST_SIZE], char out[DIGEST_HEX_SIZE])
{
	to_hex(digest, DIGEST_SIZE, out);
}

uint64_t
digest_64(const void *bytes, size_t len)
{
	uint8_t digest[DIGEST_SIZE];
	uint64_t value = 0;

	SHA256(bytes, len, digest);
	for (int i = 0; i < 8; i++)
		value = value << 8 | digest[i];
	return value;
}

void
token_new(char out[TOKEN_SIZE])
{
	uint8_t bytes[(TOKEN_SIZE - 1) / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
		fputs("reproute: the kernel gives no random bytes\n", stderr);
		exit(EX_OSERR);
	}
	to_hex(bytes, sizeof(bytes), out);
}

bool
token_legal(const char *text)
{
	return strspn(text, "0123456789abcdef") == TOKEN_SIZE - 1 &&
	    text[TOKEN_SIZE - 1] == '\0';
}

enum err
secret_read(const char *path, char **out)
{
	char line[MAX_SECRET + 2];
	struct stat status;
	enum err err = ERR_OK;
	FILE *file;
	size_t len;

	if ((file = fopen(path, "re")) == NULL)
		return err_sys("secret %s", path);
	if (fstat(fileno(file), &status) == -1)
		err = err_sys("secret %s", path);
	else if ((status.st_mode & 07) != 0)
		err = err_set(ERR_CONF,
		    "secret %s: others may read it; "
		    "chmod 0640 (or 0600) it",
		    path);
	else if (fgets(line, sizeof(line), file) == NULL)
		err = err_set(ERR_CONF,
		    "secret %s: it is empty; "
		    "put one line of %d or more random characters into it",
		    path, MIN_SECRET);
	fclose(file);
	if (err != ERR_OK)
		return err;
	len = strcspn(line, "\r\n");
	if (len < MIN_SECRET || len > MAX_SECRET) {
		OPENSSL_cleanse(line, sizeof(line));
		return err_set(ERR_CONF,
		    "secret %s: its first line has %zu "
		    "characters; it must have %d to %d",
		    path, len, MIN_SECRET, MAX_SECRET);
	}
	*out = mem_dup_n(line, len);
	OPENSSL_cleanse(line, sizeof(line));
	return ERR_OK;
}

bool
secret_equal(const char *a, const char *b)
{
	uint8_t one[DIGEST_SIZE], other[DIGEST_SIZE];

	/* by way of digests, so that not even the length is told */
	SHA256((const uint8_t *)a, strlen(a), one);
	SHA256((const uint8_t *)b, strlen(b), other);
	return CRYPTO_memcmp(one, other, sizeof(one)) == 0;
}

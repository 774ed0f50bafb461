/* crypto_test.c: digests, tokens and secrets */
/* SPDX-License-Identifier: ISC */
#include "conf/crypto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/mem.h"
#include "tests/unit/tap.h"

/* FIPS 180-2, appendix B */
static const struct {
	const char *text, *hex;
} digests[] = {
	{ "",
	    "e3b0c44298fc1c149afbf4c8996fb924"
	    "27ae41e4649b934ca495991b7852b855" },
	{ "abc",
	    "ba7816bf8f01cfea414140de5dae2223"
	    "b00361a396177a9cb410ff61f20015ad" },
	{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	    "248d6a61d20638b8e5c026930c3e6039"
	    "a33ce45964ff2167f6ecedd419db06c1" },
};

static void
test_digests(void)
{
	for (size_t i = 0; i < sizeof(digests) / sizeof(digests[0]); i++) {
		const char *text = digests[i].text;
		struct digest *digest = digest_new();
		uint8_t bytes[DIGEST_SIZE];
		char hex[DIGEST_HEX_SIZE];

		digest_add(digest, text, strlen(text) / 3);
		digest_add(digest, text + strlen(text) / 3,
		    strlen(text) - strlen(text) / 3);
		digest_end(digest, bytes);
		digest_hex(bytes, hex);
		tap_str(hex, digests[i].hex, "SHA-256 in pieces, row %zu", i);
	}
	tap_ok(digest_64("abc", 3) == UINT64_C(0xba7816bf8f01cfea),
	    "digest_64 is the first 64 bits");
	digest_free(digest_new());
	digest_free(NULL);
}

#define HEX16 "0123456789abcdef"
static const struct {
	const char *text;
	bool legal;
} tokens[] = {
	{ HEX16 HEX16, true },
	{ "", false },
	{ HEX16, false },
	{ HEX16 HEX16 "0", false },
	{ HEX16 "0123456789ABCDEF", false },
	{ HEX16 "0123456789abcde-", false },
	{ HEX16 HEX16 "\n", false },
};

static void
test_tokens(void)
{
	char one[TOKEN_SIZE], other[TOKEN_SIZE];

	for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++)
		tap_int(token_legal(tokens[i].text), tokens[i].legal,
		    "token row %zu", i);
	token_new(one);
	token_new(other);
	tap_ok(token_legal(one) && token_legal(other), "new ones are legal");
	tap_ok(strcmp(one, other) != 0, "and no two are alike");
}

/* secret NULL: words of the sentence that refuses it */
static const struct {
	const char *text;
	mode_t mode;
	const char *secret, *words;
} secrets[] = {
	{ "0123456789abcdef\n", 0600, "0123456789abcdef", NULL },
	{ "0123456789abcdef", 0640, "0123456789abcdef", NULL },
	{ "0123456789abcdef\r\nmore\n", 0400, "0123456789abcdef", NULL },
	{ "spaces are in here, too\n", 0600, "spaces are in here, too", NULL },
	{ "0123456789abcde\n", 0600, NULL, "it must have 16" },
	{ "\n0123456789abcdef\n", 0600, NULL, "it must have 16" },
	{ "", 0600, NULL, "it is empty" },
	{ "0123456789abcdef\n", 0644, NULL, "others may read it" },
	{ "0123456789abcdef\n", 0602, NULL, "others may read it" },
};

static void
test_secrets(void)
{
	char *path = mem_fmt("%s/secret", tap_dir());
	char *secret;

	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
		FILE *file = fopen(path, "we");
		enum err err;

		fputs(secrets[i].text, file);
		fclose(file);
		chmod(path, secrets[i].mode);
		secret = NULL;
		err = secret_read(path, &secret);
		if (secrets[i].secret != NULL)
			tap_str(secret, secrets[i].secret, "secret %zu", i);
		else
			tap_ok(err == ERR_CONF && secret == NULL &&
				strstr(err_text(), secrets[i].words) != NULL,
			    "secret %zu: %s", i, secrets[i].words);
		free(secret);
	}
	unlink(path);
	tap_int(secret_read(path, &secret), ERR_SYS, "no file");
	tap_ok(strstr(err_text(), path) != NULL, "is named by its path");
	free(path);
}

static const struct {
	const char *a, *b;
	bool equal;
} pairs[] = {
	{ "", "", true },
	{ "secret", "secret", true },
	{ "secret", "secreT", false },
	{ "secret", "secre", false },
	{ "secret", "", false },
	{ "", "secret", false },
	{ "secret", "secret\n", false },
};

int
main(void)
{
	test_digests();
	test_tokens();
	test_secrets();
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		tap_int(secret_equal(pairs[i].a, pairs[i].b), pairs[i].equal,
		    "secret_equal row %zu", i);
	return tap_done();
}

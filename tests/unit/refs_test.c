/* refs_test.c: golden vectors of the digest, in any order and in either way */
/* SPDX-License-Identifier: ISC */
#include "sync/refs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/mem.h"
#include "tests/unit/tap.h"

#define A "1111111111111111111111111111111111111111"
#define B "2222222222222222222222222222222222222222"
#define C "3333333333333333333333333333333333333333"
#define ZERO "0000000000000000000000000000000000000000"
#define S "4444444444444444444444444444444444444444444444444444444444444444"
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define ONE_HEAD                                                               \
	"de31ec4421f8b701ed392ff6b189713be1a1cd9bc788c252ec8eb677fc603498"
#define ONE "9d7636ccd3f2caa6104fbd9ab5908fea0bd5f075126e6ef4677a92cabe5b3daa"
#define THREE "267ff5eb88e70c650135241fd182d2f3e91ed8e64ffbe2961b7910c5118b8f8f"

struct line {
	const char *oid;    /* NULL: unborn */
	const char *name;   /* "HEAD" goes to refs_head() */
	const char *target; /* of HEAD, NULL where detached */
};

/* What each digest was made of, by printf TEXT | sha256sum, is beside it. */
static const struct {
	const char *what;
	struct line lines[5];
	const char *format;
	bool unordered; /* only the collecting way takes it */
	enum err err;
	const char *digest, *head;
	size_t refs;
} vectors[] = {
	{ "an empty repository whose HEAD is unborn",
	    { { NULL, "HEAD", "refs/heads/main" } }, "sha1", false, ERR_OK,
	    /* '' */ EMPTY, "refs/heads/main", 0 },
	{ "nothing at all", { { NULL, NULL, NULL } }, "sha1", false, ERR_OK,
	    EMPTY, "", 0 },
	{ "one branch and HEAD",
	    { { A, "HEAD", "refs/heads/main" },
		{ A, "refs/heads/main", NULL } },
	    "sha1", false, ERR_OK,
	    /* 'A refs/heads/main\nref: refs/heads/main HEAD\n' */
	    ONE_HEAD, "refs/heads/main", 1 },
	{ "the same, HEAD behind it",
	    { { A, "refs/heads/main", NULL },
		{ A, "HEAD", "refs/heads/main" } },
	    "sha1", true, ERR_OK, ONE_HEAD, "refs/heads/main", 1 },
	{ "HEAD's own oid is not digested where it is symbolic",
	    { { B, "HEAD", "refs/heads/main" },
		{ A, "refs/heads/main", NULL } },
	    "sha1", false, ERR_OK, ONE_HEAD, "refs/heads/main", 1 },
	{ "a detached HEAD",
	    { { B, "HEAD", NULL }, { A, "refs/heads/main", NULL } }, "sha1",
	    false, ERR_OK,
	    /* 'A refs/heads/main\nB HEAD\n' */
	    "c71f2be1d37a3c384f8a25e22e74dab1bc3af79b4d6ed056add13146774ad751",
	    "", 1 },
	{ "a detached HEAD and no ref", { { A, "HEAD", NULL } }, "sha1", false,
	    ERR_OK, /* 'A HEAD\n' */
	    "7ec07090fc33a78fa42de1d34734a5a8b340a9398919f0a13c4f0c346acb3bcb",
	    "", 0 },
	{ "HEAD at a ref that is not listed",
	    { { B, "HEAD", "refs/hidden/x" }, { A, "refs/heads/main", NULL } },
	    "sha1", false, ERR_OK, /* 'A refs/heads/main\n' */
	    ONE, "refs/hidden/x", 1 },
	{ "HEAD unborn beside a branch",
	    { { NULL, "HEAD", "refs/heads/new" },
		{ A, "refs/heads/main", NULL } },
	    "sha1", false, ERR_OK, ONE, "refs/heads/new", 1 },
	{ "a branch and a tag",
	    { { A, "HEAD", "refs/heads/main" }, { A, "refs/heads/main", NULL },
		{ C, "refs/tags/v1", NULL } },
	    "sha1", false, ERR_OK,
	    /* 'A refs/heads/main\nC refs/tags/v1\nref: refs/heads/main HEAD\n' */
	    "6d41ed944ffab738c7724c9d3d05913ad9ccb165afbecf373357807a9babf00a",
	    "refs/heads/main", 2 },
	{ "SHA-256 object ids",
	    { { S, "HEAD", "refs/heads/main" },
		{ S, "refs/heads/main", NULL } },
	    "sha256", false, ERR_OK,
	    /* 'S refs/heads/main\nref: refs/heads/main HEAD\n' */
	    "24475cd9e77d984a490e25cb0b1188bfa9d4c3146de5b948db8369a8ee5a269c",
	    "refs/heads/main", 1 },
	{ "a name that is not ASCII", { { A, "refs/heads/gr\303\274n", NULL } },
	    "sha1", false, ERR_OK, /* 'A refs/heads/gr\303\274n\n' */
	    "32a20ed1df4966532c99cc21544aaa9a842e909e0355f73a0bfcb05df92afcff",
	    "", 1 },
	{ "names in byte order, in which '-' is before '/'",
	    { { A, "HEAD", "refs/heads/a" }, { A, "refs/heads/a", NULL },
		{ B, "refs/heads/a-b", NULL }, { C, "refs/heads/a/b", NULL } },
	    "sha1", false, ERR_OK,
	    /* 'A refs/heads/a\nB refs/heads/a-b\nC refs/heads/a/b\n
	   * ref: refs/heads/a HEAD\n' */
	    THREE, "refs/heads/a", 3 },
	{ "the same out of order",
	    { { C, "refs/heads/a/b", NULL }, { A, "HEAD", "refs/heads/a" },
		{ A, "refs/heads/a", NULL }, { B, "refs/heads/a-b", NULL } },
	    "sha1", true, ERR_OK, THREE, "refs/heads/a", 3 },

	{ "a ref twice",
	    { { A, "refs/heads/a", NULL }, { A, "refs/heads/a", NULL } },
	    "sha1", false, ERR_INPUT, NULL, NULL, 0 },
	{ "a ref twice, out of order",
	    { { A, "refs/heads/b", NULL }, { A, "refs/heads/a", NULL },
		{ A, "refs/heads/b", NULL } },
	    "sha1", true, ERR_INPUT, NULL, NULL, 0 },
	{ "HEAD twice", { { A, "HEAD", NULL }, { A, "HEAD", NULL } }, "sha1",
	    false, ERR_INPUT, NULL, NULL, 0 },
	{ "an all-zero oid", { { ZERO, "refs/heads/a", NULL } }, "sha1", false,
	    ERR_BUSY, NULL, NULL, 0 },
	{ "an all-zero oid of HEAD", { { ZERO, "HEAD", NULL } }, "sha1", false,
	    ERR_BUSY, NULL, NULL, 0 },
	{ "oids of two lengths",
	    { { A, "refs/heads/a", NULL }, { S, "refs/heads/b", NULL } },
	    "sha1", false, ERR_INPUT, NULL, NULL, 0 },
	{ "oids that are not of the format", { { S, "refs/heads/a", NULL } },
	    "sha1", false, ERR_INPUT, NULL, NULL, 0 },
	{ "a format that is none", { { NULL, NULL, NULL } }, "md5", false,
	    ERR_INPUT, NULL, NULL, 0 },
	{ "an oid of 7 digits", { { "1111111", "refs/heads/a", NULL } }, "sha1",
	    false, ERR_INPUT, NULL, NULL, 0 },
	{ "a name outside refs/", { { A, "heads/a", NULL } }, "sha1", false,
	    ERR_INPUT, NULL, NULL, 0 },
	{ "a name with a line feed", { { A, "refs/heads/a\nb", NULL } }, "sha1",
	    false, ERR_INPUT, NULL, NULL, 0 },
	{ "a name with a space", { { A, "refs/heads/a b", NULL } }, "sha1",
	    false, ERR_INPUT, NULL, NULL, 0 },
	{ "a name with ..", { { A, "refs/heads/../a", NULL } }, "sha1", false,
	    ERR_INPUT, NULL, NULL, 0 },
	{ "HEAD at a name that is no ref",
	    { { NULL, "HEAD", "--upload-pack" } }, "sha1", false, ERR_INPUT,
	    NULL, NULL, 0 },
};

static enum err
feed(struct refs *refs, const struct line *lines, const char *format,
    struct refs_digest *out)
{
	for (; lines->name != NULL; lines++) {
		enum err err = strcmp(lines->name, "HEAD") == 0
		    ? refs_head(refs, lines->oid, lines->target)
		    : refs_add(refs, lines->oid, lines->name);

		if (err != ERR_OK) {
			refs_free(refs);
			return err;
		}
	}
	return refs_end(refs, format, out);
}

static void
golden(void)
{
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		struct refs_digest out = { .refs = 99 };
		enum err err = feed(refs_new(), vectors[i].lines,
		    vectors[i].format, &out);

		tap_int(err, vectors[i].err, "%s", vectors[i].what);
		if (err == ERR_OK) {
			tap_str(out.digest, vectors[i].digest, "its digest");
			tap_str(out.head, vectors[i].head, "its HEAD");
			tap_int((long long)out.refs, (long long)vectors[i].refs,
			    "its count");
		} else {
			tap_int((long long)out.refs, 99, "out is untouched");
		}
		memset(&out, 0, sizeof(out));
		err = feed(refs_new_ordered(), vectors[i].lines,
		    vectors[i].format, &out);
		if (vectors[i].unordered) {
			tap_int(err, ERR_INPUT, "not in the ordered way");
			continue;
		}
		tap_int(err, vectors[i].err, "the ordered way");
		if (err == ERR_OK)
			tap_str(out.digest, vectors[i].digest, "and digest");
	}
}

/* Why the ordered way failed decides whether to begin again. */
static void
tells_disorder(void)
{
	struct refs *refs = refs_new_ordered();

	tap_int(refs_add(refs, A, "refs/heads/b"), ERR_OK, "the first");
	tap_int(refs_add(refs, A, "refs/heads/b"), ERR_INPUT, "twice");
	tap_ok(!refs_unordered(refs), "is no matter of order");
	tap_int(refs_add(refs, A, "refs/heads/a"), ERR_INPUT, "a smaller one");
	tap_ok(refs_unordered(refs), "is a matter of order");
	refs_free(refs);
	refs = refs_new_ordered();
	tap_int(refs_add(refs, A, "refs/heads/b"), ERR_OK, "the first");
	tap_int(refs_head(refs, A, NULL), ERR_INPUT, "HEAD behind it");
	tap_ok(refs_unordered(refs), "is a matter of order");
	refs_free(refs);
}

/* Sorting many gives what taking them in order gives. */
static void
many(void)
{
	struct refs *up = refs_new_ordered(), *down = refs_new();
	struct refs_digest one = { 0 }, other = { 0 };
	char name[64];
	bool ok = true;

	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "refs/pull/%06d/head", i);
		ok = ok && refs_add(up, A, name) == ERR_OK;
		snprintf(name, sizeof(name), "refs/pull/%06d/head", 19999 - i);
		ok = ok && refs_add(down, A, name) == ERR_OK;
	}
	tap_ok(ok, "20,000 refs up and down");
	tap_int(refs_end(up, "sha1", &one), ERR_OK, "up");
	tap_int(refs_end(down, "sha1", &other), ERR_OK, "down");
	tap_str(one.digest, other.digest, "have one digest");
}

static void
long_names(void)
{
	struct refs *refs = refs_new_ordered();
	char name[MAX_REF + 2] = "refs/heads/";

	memset(name + 11, 'x', MAX_REF + 1 - 11);
	tap_int(refs_add(refs, A, name), ERR_INPUT, "a name too long");
	name[MAX_REF] = '\0';
	tap_int(refs_add(refs, A, name), ERR_OK, "the longest name");
	refs_free(refs);
	refs_free(NULL);
}

int
main(void)
{
	golden();
	tells_disorder();
	many();
	long_names();
	return tap_done();
}

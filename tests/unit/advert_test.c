/* advert_test.c: advertisements of every protocol, whole and byte by byte */
/* SPDX-License-Identifier: ISC */
#include "sync/advert.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/tap.h"

#define A "1111111111111111111111111111111111111111"
#define B "2222222222222222222222222222222222222222"
#define C "3333333333333333333333333333333333333333"
#define ZERO "0000000000000000000000000000000000000000"
#define S "4444444444444444444444444444444444444444444444444444444444444444"
/* of 'A refs/heads/main\nref: refs/heads/main HEAD\n' */
#define ONE_HEAD                                                               \
	"de31ec4421f8b701ed392ff6b189713be1a1cd9bc788c252ec8eb677fc603498"
/* of 'A refs/heads/main\nC refs/tags/v1\nref: refs/heads/main HEAD\n' */
#define TAGGED                                                                 \
	"6d41ed944ffab738c7724c9d3d05913ad9ccb165afbecf373357807a9babf00a"
/* of 'A refs/heads/main\nB HEAD\n' */
#define DETACHED                                                               \
	"c71f2be1d37a3c384f8a25e22e74dab1bc3af79b4d6ed056add13146774ad751"
/* of 'S refs/heads/main\nref: refs/heads/main HEAD\n' */
#define ONE_S "24475cd9e77d984a490e25cb0b1188bfa9d4c3146de5b948db8369a8ee5a269c"
/* of 'A refs/heads/main\n' */
#define ONE "9d7636ccd3f2caa6104fbd9ab5908fea0bd5f075126e6ef4677a92cabe5b3daa"
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* Lines become pkt-lines, "@" in them a NUL; after "!" bytes stay as are. */
#define SERVICE "# service=git-upload-pack\n", "!0000"
#define END "!0000"

/* names: which bits of advert_cap_names, each with a space behind it */
#define V2_ALWAYS "allow-tip-sha1-in-want allow-reachable-sha1-in-want "

static const struct row {
	const char *what;
	enum advert_form form;
	const char *lines[9];
	const char *says; /* NULL: taken; else part of the sentence */
	const char *digest, *head, *format, *offers;
	bool v2, unborn;
} rows[] = {
	{ "v0", ADVERT_INFO_REFS,
	    { SERVICE,
		A " HEAD@multi_ack shallow symref=HEAD:refs/heads/main "
		  "object-format=sha1 filter agent=git/2.39.5\n",
		A " refs/heads/main\n", C " refs/tags/v1\n",
		A " refs/tags/v1^{}\n", END },
	    NULL, TAGGED, "refs/heads/main", "sha1", "filter shallow ", false,
	    false },
	{ "v0 with allow-tip-sha1-in-want alone", ADVERT_INFO_REFS,
	    { SERVICE, A " refs/heads/main@allow-tip-sha1-in-want\n", END },
	    NULL, ONE, "", "sha1", "allow-tip-sha1-in-want ", false, false },
	{ "v0 without LF, service or capabilities", ADVERT_INFO_REFS,
	    { B " HEAD", A " refs/heads/main", END }, NULL, DETACHED, "",
	    "sha1", "", false, false },
	{ "v1", ADVERT_INFO_REFS,
	    { SERVICE, "version 1\n", A " HEAD@symref=HEAD:refs/heads/main\n",
		A " refs/heads/main\n", END },
	    NULL, ONE_HEAD, "refs/heads/main", "sha1", "", false, false },
	{ "v0, SHA-256", ADVERT_INFO_REFS,
	    { SERVICE,
		S " HEAD@symref=HEAD:refs/heads/main "
		  "object-format=sha256\n",
		S " refs/heads/main\n", END },
	    NULL, ONE_S, "refs/heads/main", "sha256", "", false, false },
	{ "v0, the first of two object formats", ADVERT_INFO_REFS,
	    { SERVICE,
		S " HEAD@symref=HEAD:refs/heads/main "
		  "object-format=sha256 object-format=sha1\n",
		S " refs/heads/main\n", END },
	    NULL, ONE_S, "refs/heads/main", "sha256", "", false, false },
	{ "v0, detached HEAD", ADVERT_INFO_REFS,
	    { SERVICE, B " HEAD@agent=x\n", A " refs/heads/main\n", END }, NULL,
	    DETACHED, "", "sha1", "", false, false },
	{ "v0, HEAD's target not listed", ADVERT_INFO_REFS,
	    { SERVICE, B " HEAD@symref=HEAD:refs/hidden/x\n",
		A " refs/heads/main\n", END },
	    NULL, ONE, "refs/hidden/x", "sha1", "", false, false },
	{ "v0, symref without a line of HEAD", ADVERT_INFO_REFS,
	    { SERVICE, A " refs/heads/main@symref=HEAD:refs/heads/main\n",
		END },
	    NULL, ONE_HEAD, "refs/heads/main", "sha1", "", false, false },
	{ "v0, HEAD behind its target", ADVERT_INFO_REFS,
	    { SERVICE, A " refs/heads/main@symref=HEAD:refs/heads/main\n",
		A " HEAD\n", END },
	    NULL, ONE_HEAD, "refs/heads/main", "sha1", "", false, false },
	{ "v0, empty repository by capabilities^{}", ADVERT_INFO_REFS,
	    { SERVICE, ZERO " capabilities^{}@object-format=sha1 filter\n",
		END },
	    NULL, EMPTY, "", "sha1", "filter ", false, false },
	{ "v0, empty repository by nothing", ADVERT_INFO_REFS, { SERVICE, END },
	    NULL, EMPTY, "", "sha1", "", false, false },
	{ "v1, empty repository", ADVERT_INFO_REFS,
	    { SERVICE, "version 1\n", END }, NULL, EMPTY, "", "sha1", "", false,
	    false },
	{ "v0, shallow repository", ADVERT_INFO_REFS,
	    { SERVICE, A " refs/heads/main@shallow\n", "shallow " B "\n", END },
	    NULL, ONE, "", "sha1", "shallow ", false, false },
	{ "v2", ADVERT_INFO_REFS,
	    { SERVICE, "version 2\n", "agent=git/2.39.5\n", "ls-refs=unborn\n",
		"fetch=shallow wait-for-done filter\n", "object-format=sha1\n",
		END },
	    NULL, EMPTY, "", "sha1",
	    "filter " V2_ALWAYS "shallow wait-for-done ", true, true },
	{ "v2, bare ls-refs, object-info, SHA-256", ADVERT_INFO_REFS,
	    { "version 2\n", "ls-refs\n", "object-info\n",
		"fetch=ref-in-want sideband-all packfile-uris\n",
		"object-format=sha256\n", END },
	    NULL, EMPTY, "", "sha256",
	    V2_ALWAYS "ref-in-want sideband-all packfile-uris object-info ",
	    true, false },
	{ "ls-refs", ADVERT_LS_REFS,
	    { A " HEAD symref-target:refs/heads/main\n", A " refs/heads/main\n",
		C " refs/tags/v1 peeled:" A "\n", END },
	    NULL, TAGGED, "refs/heads/main", "", "", false, false },
	{ "ls-refs, detached HEAD", ADVERT_LS_REFS,
	    { B " HEAD\n", A " refs/heads/main\n", END }, NULL, DETACHED, "",
	    "", "", false, false },
	{ "ls-refs, unborn HEAD", ADVERT_LS_REFS,
	    { "unborn HEAD symref-target:refs/heads/main\n", END }, NULL, EMPTY,
	    "refs/heads/main", "", "", false, false },
	{ "ls-refs, nothing", ADVERT_LS_REFS, { END }, NULL, EMPTY, "", "", "",
	    false, false },
	{ "ls-refs, a symref that is not HEAD", ADVERT_LS_REFS,
	    { A " refs/heads/main symref-target:refs/heads/x\n", END }, NULL,
	    ONE, "", "", "", false, false },
	{ "ls-refs, upper-case length", ADVERT_LS_REFS,
	    { "!003D" A " refs/heads/main\n", END }, NULL, ONE, "", "", "",
	    false, false },

	{ "an error of git", ADVERT_INFO_REFS,
	    { SERVICE, "ERR no\x1bsuch\n", END }, "git says: no\\x1bsuch", NULL,
	    NULL, NULL, NULL, false, false },
	{ "an error among refs", ADVERT_LS_REFS,
	    { A " refs/heads/main\n", "ERR gone" }, "git says: gone", NULL,
	    NULL, NULL, NULL, false, false },
	{ "HTML", ADVERT_INFO_REFS, { "!<html>" }, "no pkt-line", NULL, NULL,
	    NULL, NULL, false, false },
	{ "a length beyond the bound", ADVERT_INFO_REFS, { SERVICE, "!fff1" },
	    "more than 65520", NULL, NULL, NULL, NULL, false, false },
	{ "a length of three", ADVERT_LS_REFS, { "!0003" }, "no place", NULL,
	    NULL, NULL, NULL, false, false },
	{ "a delimiter", ADVERT_LS_REFS, { "!0001" }, "no place", NULL, NULL,
	    NULL, NULL, false, false },
	{ "an empty line", ADVERT_LS_REFS, { "!0004" }, "no ref", NULL, NULL,
	    NULL, NULL, false, false },
	{ "bytes behind the end", ADVERT_LS_REFS, { END, END }, "behind", NULL,
	    NULL, NULL, NULL, false, false },
	{ "a byte behind the end", ADVERT_LS_REFS, { END, "!x" }, "broke off",
	    NULL, NULL, NULL, NULL, false, false },
	{ "nothing", ADVERT_INFO_REFS, { NULL }, "broke off", NULL, NULL, NULL,
	    NULL, false, false },
	{ "only a flush", ADVERT_INFO_REFS, { END }, "no place", NULL, NULL,
	    NULL, NULL, false, false },
	{ "a service and no flush", ADVERT_INFO_REFS,
	    { "# service=git-upload-pack\n", A " HEAD\n" }, "where none may be",
	    NULL, NULL, NULL, NULL, false, false },
	{ "another service", ADVERT_INFO_REFS,
	    { "# service=git-receive-pack\n", END }, "object id", NULL, NULL,
	    NULL, NULL, false, false },
	{ "a packet cut", ADVERT_LS_REFS,
	    { A " refs/heads/main\n", "!003d1111" }, "broke off", NULL, NULL,
	    NULL, NULL, false, false },
	{ "no flush at the end", ADVERT_LS_REFS, { A " refs/heads/main\n" },
	    "broke off", NULL, NULL, NULL, NULL, false, false },
	{ "v2 without ls-refs", ADVERT_INFO_REFS,
	    { SERVICE, "version 2\n", "fetch\n", END }, "without ls-refs", NULL,
	    NULL, NULL, NULL, false, false },
	{ "a version that we do not know", ADVERT_INFO_REFS,
	    { SERVICE, "version 3\n", END }, "object id", NULL, NULL, NULL,
	    NULL, false, false },
	{ "an object format that is none", ADVERT_INFO_REFS,
	    { SERVICE, "version 2\n", "ls-refs\n", "object-format=md5\n", END },
	    "object format", NULL, NULL, NULL, NULL, false, false },
	{ "two NULs", ADVERT_INFO_REFS, { SERVICE, A " HEAD@a@b\n", END },
	    "two NULs", NULL, NULL, NULL, NULL, false, false },
	{ "capabilities at the second ref", ADVERT_INFO_REFS,
	    { SERVICE, A " refs/heads/a@x\n", A " refs/heads/b@x\n", END },
	    "a NUL", NULL, NULL, NULL, NULL, false, false },
	{ "a NUL in ls-refs", ADVERT_LS_REFS, { A " refs/heads/a@x\n", END },
	    "a NUL", NULL, NULL, NULL, NULL, false, false },
	{ "an oid too short", ADVERT_LS_REFS, { "111 refs/heads/a\n", END },
	    "object id", NULL, NULL, NULL, NULL, false, false },
	{ "an unborn HEAD without a target", ADVERT_LS_REFS,
	    { "unborn HEAD\n", END }, "without a target", NULL, NULL, NULL,
	    NULL, false, false },
	{ "an unborn branch", ADVERT_LS_REFS, { "unborn refs/heads/a\n", END },
	    "object id", NULL, NULL, NULL, NULL, false, false },
	{ "HEAD at a command's option", ADVERT_LS_REFS,
	    { A " HEAD symref-target:--x\n", END }, "not legal", NULL, NULL,
	    NULL, NULL, false, false },
	{ "HEAD twice", ADVERT_LS_REFS, { A " HEAD\n", A " HEAD\n", END },
	    "twice", NULL, NULL, NULL, NULL, false, false },
	{ "a ref under deletion", ADVERT_LS_REFS,
	    { ZERO " refs/heads/a\n", END }, "being deleted", NULL, NULL, NULL,
	    NULL, false, false },
};

static void
write_lines(const char *const *lines, struct buf *out)
{
	for (; *lines != NULL; lines++) {
		size_t start = out->len + 4;

		if (**lines == '!') {
			buf_puts(out, *lines + 1);
			continue;
		}
		buf_fmt(out, "%04zx%s", strlen(*lines) + 4, *lines);
		for (size_t i = start; i < out->len; i++)
			if (out->data[i] == '@')
				out->data[i] = '\0';
	}
}

static enum err
read_all(const struct row *row, const struct buf *bytes, size_t piece,
    struct advert_caps *caps, struct refs_digest *digest)
{
	struct refs *refs = refs_new();
	struct advert *advert = advert_new(row->form, refs);
	enum err err = ERR_OK;

	for (size_t at = 0; at < bytes->len && err == ERR_OK; at += piece)
		err = advert_take(advert, bytes->data + at,
		    bytes->len - at < piece ? bytes->len - at : piece);
	if (err == ERR_OK)
		err = advert_end(advert, caps);
	advert_free(advert);
	if (err != ERR_OK)
		refs_free(refs);
	else if (row->form == ADVERT_LS_REFS)
		err = refs_end(refs, "sha1", digest);
	else
		err = refs_end(refs, caps->object_format, digest);
	return err;
}

static void
check(const struct row *row, const struct buf *bytes, size_t piece)
{
	struct advert_caps caps = { .object_format = "" };
	struct refs_digest digest = { .digest = "" };
	struct buf names = { 0 };
	enum err err = read_all(row, bytes, piece, &caps, &digest);

	if (row->says != NULL) {
		tap_ok(err != ERR_OK && strstr(err_text(), row->says) != NULL,
		    "%s: %s", row->what, err_text());
		return;
	}
	tap_int(err, ERR_OK, "%s", row->what);
	if (err != ERR_OK)
		tap_note("%s", err_text());
	tap_str(digest.digest, row->digest, "its digest");
	tap_str(digest.head, row->head, "its HEAD");
	tap_str(caps.object_format, row->format, "its object format");
	tap_ok(caps.v2 == row->v2 && caps.unborn == row->unborn, "v2, unborn");
	buf_puts(&names, "");
	for (unsigned i = 0; advert_cap_names[i] != NULL; i++)
		if (caps.offers & 1U << i)
			buf_fmt(&names, "%s ", advert_cap_names[i]);
	tap_str(names.data, row->offers, "what it offers");
	buf_free(&names);
}

static void
bodies(void)
{
	struct advert_caps caps = { .v2 = true, .object_format = "sha1" };
	struct buf out = { 0 };

	advert_ls_refs_body(&caps, &out);
	tap_str(out.data, "0014command=ls-refs\n0001000csymrefs\n0000",
	    "what asks for all refs");
	buf_reset(&out);
	caps.unborn = true;
	strcpy(caps.object_format, "sha256");
	advert_ls_refs_body(&caps, &out);
	tap_str(out.data,
	    "0014command=ls-refs\n0019object-format=sha256\n"
	    "0001000csymrefs\n000bunborn\n0000",
	    "unborn, and of SHA-256");
	buf_free(&out);
}

/* The longest pkt-line there is, and what comes after a failure. */
static void
extremes(void)
{
	struct refs *refs = refs_new();
	struct advert *advert = advert_new(ADVERT_LS_REFS, refs);
	struct buf line = { 0 };

	buf_puts(&line, "fff0" A " ");
	while (line.len < 65520)
		buf_add(&line, "x", 1);
	tap_int(advert_take(advert, line.data, line.len), ERR_INPUT,
	    "a name of the longest line is too long");
	tap_ok(strstr(err_text(), "not legal") != NULL, "%s", err_text());
	tap_int(advert_take(advert, "0000", 4), ERR_INPUT,
	    "nothing is taken after a failure");
	buf_free(&line);
	advert_free(advert);
	refs_free(refs);
	advert_free(NULL);
}

int
main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf bytes = { 0 };

		write_lines(rows[i].lines, &bytes);
		check(&rows[i], &bytes, bytes.len + 1);
		check(&rows[i], &bytes, 1);
		buf_free(&bytes);
	}
	bodies();
	extremes();
	return tap_done();
}

/* endpoint_test.c: what a request to a replica asks for, in every spelling */
/* SPDX-License-Identifier: ISC */
#include "fcgi/endpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/mem.h"
#include "tests/unit/tap.h"

#define SHA1 "0123456789abcdef0123456789abcdef01234567"
#define SHA256 SHA1 "0123456789abcdef01234567"
#define ASK "/re/projects/p/repos/r/has-commit/?"

static const struct {
	const char *script, *uri;
	enum err err;
	enum endpoint_op op;
	const char *name, *sha;
} rows[] = {
	{ "/re", "/re/projects/p/repos/r/refs/", ERR_OK, ENDPOINT_REFS, "p/r",
	    "" },
	{ "/re", "/re/projects/p/repos/r/refs", ERR_OK, ENDPOINT_REFS, "p/r",
	    "" },
	{ "/re", "/re/projects/p/repos/r/fetch/", ERR_OK, ENDPOINT_FETCH, "p/r",
	    "" },
	{ "/re", "/re/projects/-/repos/r/refs/", ERR_OK, ENDPOINT_REFS, "r",
	    "" },
	{ "/re", "/re/projects/a%2Fb%2fc/repos/r/refs/", ERR_OK, ENDPOINT_REFS,
	    "a/b/c/r", "" },
	/* as lighttpd passes it unless it is told otherwise */
	{ "/re", "/re/projects/a/b/c/repos/r/refs/", ERR_OK, ENDPOINT_REFS,
	    "a/b/c/r", "" },
	{ "/re", "/re/projects/projects%2Frepos/repos/repos/refs/", ERR_OK,
	    ENDPOINT_REFS, "projects/repos/repos", "" },
	{ "/re", "/re/projects/~u/repos/a%20b%3b%25/refs/", ERR_OK,
	    ENDPOINT_REFS, "~u/a b;%", "" },
	{ "/projects/re", "/projects/re/projects/p/repos/r/refs/", ERR_OK,
	    ENDPOINT_REFS, "p/r", "" },
	{ "", "/projects/p/repos/r/refs/", ERR_OK, ENDPOINT_REFS, "p/r", "" },
	{ NULL, "/any/projects/p/repos/r/refs/?x", ERR_OK, ENDPOINT_REFS, "p/r",
	    "" },
	{ "/re", "http://host/re/projects/p/repos/r/refs/", ERR_OK,
	    ENDPOINT_REFS, "p/r", "" },

	{ "/re", ASK "sha1=" SHA1, ERR_OK, ENDPOINT_HAS_COMMIT, "p/r", SHA1 },
	{ "/re", ASK "sha1=" SHA256, ERR_OK, ENDPOINT_HAS_COMMIT, "p/r",
	    SHA256 },
	{ "/re", ASK "a=b&sha1=" SHA1 "&c", ERR_OK, ENDPOINT_HAS_COMMIT, "p/r",
	    SHA1 },
	{ "/re", "/re/projects/p/repos/r/has-commit?sha1=" SHA1, ERR_OK,
	    ENDPOINT_HAS_COMMIT, "p/r", SHA1 },
	{ "/re", ASK, ERR_INPUT, 0, NULL, NULL },
	{ "/re", ASK "sha1=", ERR_INPUT, 0, NULL, NULL },
	{ "/re", ASK "sha1", ERR_INPUT, 0, NULL, NULL },
	{ "/re", ASK "sha1=HEAD", ERR_INPUT, 0, NULL, NULL },
	{ "/re", ASK "sha1=main", ERR_INPUT, 0, NULL, NULL },
	{ "/re", ASK "sha1=0123456", ERR_INPUT, 0, NULL, NULL },
	{ "/re", ASK "sha1=" SHA1 "~0", ERR_INPUT, 0, NULL, NULL },
	{ "/re", ASK "sha1=" SHA256 "0", ERR_INPUT, 0, NULL, NULL },
	{ "/re", ASK "sha1=0123456789ABCDEF0123456789ABCDEF01234567", ERR_INPUT,
	    0, NULL, NULL },
	{ "/re", ASK "sha1=%30123456789abcdef0123456789abcdef01234567",
	    ERR_INPUT, 0, NULL, NULL },
	{ "/re", ASK "sha1=" SHA1 "&sha1=" SHA1, ERR_INPUT, 0, NULL, NULL },
	{ "/re", ASK "xsha1=" SHA1, ERR_INPUT, 0, NULL, NULL },

	{ "/re", "/re", ERR_OK, ENDPOINT_LIFE, "", "" },
	{ "/re", "/re/", ERR_OK, ENDPOINT_LIFE, "", "" },
	{ "/re", "/re/?x=y", ERR_OK, ENDPOINT_LIFE, "", "" },
	{ "", "/", ERR_OK, ENDPOINT_LIFE, "", "" },
	{ "/re", "/re/x", ERR_ABSENT, 0, NULL, NULL },
	{ "/re", "/rex", ERR_ABSENT, 0, NULL, NULL },
	{ "/re", "/re/projects/p/repos/r/", ERR_ABSENT, 0, NULL, NULL },
	{ "/re", "/re/projects/p/repos/r/delete/", ERR_ABSENT, 0, NULL, NULL },
	{ "/re", "/re/projects/p/r/refs/", ERR_ABSENT, 0, NULL, NULL },
	{ "/re", "/re/repos/r/refs/", ERR_ABSENT, 0, NULL, NULL },
	{ "/re", "/re/projects/repos/r/refs/", ERR_ABSENT, 0, NULL, NULL },
	{ "/re", "/re/refs/", ERR_ABSENT, 0, NULL, NULL },
	{ "/re", "/re/projects/p/repos/a%2Fb/refs/", ERR_ABSENT, 0, NULL,
	    NULL },

	{ "/re", "/re/projects/p/repos/r.git/refs/", ERR_INPUT, 0, NULL, NULL },
	{ "/re", "/re/projects/..%2F..%2Fetc/repos/r/refs/", ERR_INPUT, 0, NULL,
	    NULL },
	{ "/re", "/re/projects/../repos/r/refs/", ERR_INPUT, 0, NULL, NULL },
	{ "/re", "/re/projects/p//repos/r/refs/", ERR_INPUT, 0, NULL, NULL },
	{ "/re", "/re/projects/p%2F/repos/r/refs/", ERR_INPUT, 0, NULL, NULL },
	{ "/re", "/re/projects/p%00/repos/r/refs/", ERR_INPUT, 0, NULL, NULL },
	{ "/re", "/re/projects/p%0a/repos/r/refs/", ERR_INPUT, 0, NULL, NULL },
	{ "/re", "/re/projects/%ff/repos/r/refs/", ERR_INPUT, 0, NULL, NULL },
	{ "/re", "nonsense", ERR_INPUT, 0, NULL, NULL },
	{ "/re", "", ERR_INPUT, 0, NULL, NULL },
};

static void
test_long(void)
{
	struct endpoint out = { 0 };
	char *uri = mem_fmt("/re/projects/%01022d/repos/r/refs/", 0);

	tap_int(endpoint_parse("/re", uri, &out), ERR_OK, "the longest name");
	tap_int((long long)strlen(out.name), MAX_NAME, "is whole");
	free(uri);
	uri = mem_fmt("/re/projects/%01023d/repos/r/refs/", 0);
	tap_int(endpoint_parse("/re", uri, &out), ERR_INPUT,
	    "a longer one is none");
	free(uri);
	uri = mem_fmt("/re/projects/%020000d/repos/r/refs/", 0);
	tap_int(endpoint_parse("/re", uri, &out), ERR_INPUT,
	    "nor is a far longer one");
	free(uri);
}

int
main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct endpoint out = { .op = ENDPOINT_OPS };

		tap_int(endpoint_parse(rows[i].script, rows[i].uri, &out),
		    rows[i].err, "\"%s\"", rows[i].uri);
		if (rows[i].err != ERR_OK) {
			tap_int(out.op, ENDPOINT_OPS, "\"%s\": untouched",
			    rows[i].uri);
			continue;
		}
		tap_int(out.op, rows[i].op, "\"%s\": operation", rows[i].uri);
		tap_str(out.name, rows[i].name, "\"%s\": name", rows[i].uri);
		tap_str(out.sha, rows[i].sha, "\"%s\": sha", rows[i].uri);
	}
	test_long();
	return tap_done();
}

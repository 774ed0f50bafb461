/* sight_test.c: what the checker of stale reads takes an answer for */
/* SPDX-License-Identifier: ISC */
#include "tests/stale/sight.h"

#include <stdio.h>
#include <string.h>

#include "tests/stale/history.h"
#include "tests/unit/tap.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C "cccccccccccccccccccccccccccccccccccccccc"

static char first[] = B, second[] = A;
static char *oids[] = { first, second };
static unsigned by_oid[] = { 1, 0 };
static const struct scene scene = { .oids = oids,
	.n_oids = 2,
	.by_oid = by_oid };

/*
 * Packets, of which "|" ends one, "0" alone is a flush, and "^" is NUL.
 * Wanted: the values of HEAD, main, next, many/0 and topic/3; NULL: an error.
 */
#define V0 "# service=git-upload-pack\n|0|"
static const struct {
	const char *claim, *packets, *want;
} adverts[] = {
	{ "v0",
	    V0 A " HEAD^multi_ack symref=HEAD:refs/heads/main agent=x\n|" A
		 " refs/heads/main\n|" B " refs/heads/next\n|0",
	    "1 1 0 -1 -1" },
	{ "v0, HEAD elsewhere",
	    V0 A " HEAD^symref=HEAD:refs/heads/next\n|" B
		 " refs/heads/main\n|" A " refs/heads/next\n|0",
	    "2 0 1 -1 -1" },
	{ "v2",
	    A " HEAD symref-target:refs/heads/main\n|" A " refs/heads/main\n|" B
	      " refs/heads/many/0\n|" B " refs/heads/next\n|" A
	      " refs/heads/topic/3\n|0",
	    "1 1 0 0 1" },
	{ "no HEAD", A " refs/heads/main\n|0", "-1 1 -1 -1 -1" },
	{ "an unknown commit", C " refs/heads/main\n|0", NULL },
	{ "an unknown ref", A " refs/heads/main\n|" A " refs/heads/x\n|0",
	    NULL },
	{ "without its end", A " refs/heads/main\n", NULL },
	{ "an error", "ERR upload-pack: not our ref " A, NULL },
	{ "nothing", "", NULL },
	{ "no refs at all", "0", NULL },
};

static size_t
packed(const char *packets, char *out)
{
	size_t len = 0;

	while (*packets != '\0') {
		size_t size = strcspn(packets, "|");

		if (size == 1 && *packets == '0')
			len += (size_t)sprintf(out + len, "0000");
		else
			len += (size_t)sprintf(out + len, "%04zx%.*s", size + 4,
			    (int)size, packets);
		packets += size + (packets[size] == '|');
	}
	for (size_t i = 0; i < len; i++)
		if (out[i] == '^')
			out[i] = '\0';
	return len;
}

static void
claim(enum err err, const int *values, const char *want, const char *text)
{
	char got[64];

	snprintf(got, sizeof(got), "%d %d %d %d %d", values[REF_HEAD],
	    values[REF_MAIN], values[REF_NEXT], values[REF_MANY],
	    values[REFS - 1]);
	tap_str(err == ERR_OK ? got : NULL, want, "%s", text);
}

static void
test_adverts(void)
{
	for (size_t i = 0; i < COUNT(adverts); i++) {
		char bytes[1024];
		size_t len = packed(adverts[i].packets, bytes);
		int values[REFS];

		claim(sight_advert(&scene, bytes, len, values), values,
		    adverts[i].want, adverts[i].claim);
	}
}

static void
test_cut(void)
{
	char bytes[1024];
	size_t len = packed(adverts[2].packets, bytes), good = 0;
	int values[REFS];

	for (size_t i = 0; i < len; i++)
		good += sight_advert(&scene, bytes, i, values) == ERR_OK;
	tap_int((long long)good, 0, "broken off anywhere, it is an error");
}

static void
test_lines(void)
{
	int values[REFS];

	claim(sight_lines(&scene, A " refs/heads/main\n" B " refs/heads/next\n",
		  values),
	    values, "-2 1 0 -1 -1", "for-each-ref: HEAD is not seen");
	claim(sight_lines(&scene, "", values), values, "-2 -1 -1 -1 -1",
	    "for-each-ref: no refs");
	claim(sight_lines(&scene, C " refs/heads/main\n", values), values, NULL,
	    "for-each-ref: an unknown commit");
}

int
main(void)
{
	test_adverts();
	test_cut();
	test_lines();
	return tap_done();
}

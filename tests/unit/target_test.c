/* target_test.c: request targets taken apart, row by row */
/* SPDX-License-Identifier: ISC */
#include <stdlib.h>
#include <string.h>

#include "conf/mem.h"
#include "fcgi/target.h"
#include "tests/unit/tap.h"

/* path NULL: no target */
static const struct {
	const char *text, *path, *query;
	bool changed, odd;
} rows[] = {
	{ "/", "/", "", false, false },
	{ "/a/b", "/a/b", "", false, false },
	{ "/a/b/", "/a/b/", "", false, false },
	{ "/a?b=c&d", "/a", "b=c&d", false, false },
	{ "/a?", "/a", "", false, false },
	{ "/a?b?c/../d", "/a", "b?c/../d", false, false },

	/* decoded once */
	{ "/%61%2e%2E%7e", "/a..~", "", false, false },
	{ "/a%252fb", "/a%2fb", "", false, false },
	{ "/a%2Fb%2fc", "/a/b/c", "", false, true },
	{ "/a%3Fb%23c%3Bd", "/a?b#c;d", "", false, false },
	{ "/a%00b", "/a\1b", "", false, false },
	{ "/a+b", "/a+b", "", false, false },
	{ "/a%", "/a%", "", false, true },
	{ "/a%4", "/a%4", "", false, true },
	{ "/a%g0%0g", "/a%g0%0g", "", false, true },
	{ "/a%%34", "/a%4", "", false, true },
	{ "/a?%41", "/a", "%41", false, false },

	/* RFC 3986, 5.2.4 and 5.4 */
	{ "/./a", "/a", "", true, false },
	{ "/a/.", "/a/", "", true, false },
	{ "/a/./b", "/a/b", "", true, false },
	{ "/a/..", "/", "", true, false },
	{ "/a/b/..", "/a/", "", true, false },
	{ "/a/b/../", "/a/", "", true, false },
	{ "/a/b/../../c", "/c", "", true, false },
	{ "/..", "/", "", true, false },
	{ "/../../a", "/a", "", true, false },
	{ "/a/...", "/a/...", "", false, false },
	{ "/.a/..b/c.", "/.a/..b/c.", "", false, false },
	{ "/a/%2e%2e/b", "/b", "", true, false },
	{ "/a%2f..%2fb", "/b", "", true, true },

	/* empty segments go first */
	{ "//", "/", "", true, false },
	{ "//a///b//", "/a/b/", "", true, false },
	{ "/a//../b", "/b", "", true, false },
	{ "//h/a", "/h/a", "", true, false },

	/* path parameters and fragments */
	{ "/a;b=c/d;e", "/a/d", "", true, false },
	{ "/a;b%2Fc/d", "/a/d", "", true, false },
	{ "/a/..;/b", "/b", "", true, false },
	{ "/;", "/", "", true, false },
	{ "/a?b;c", "/a", "b;c", false, false },
	{ "/a#b", "/a", "", true, false },
	{ "/a?b#c", "/a", "b#c", true, false },

	/* whole URLs */
	{ "http://h", "/", "", false, false },
	{ "http://h/a", "/a", "", false, false },
	{ "HTTP://u:p@[::1]:80/a?b", "/a", "b", false, false },
	{ "http://h?a/b", "/", "a/b", false, false },
	{ "http:///a", "/a", "", false, false },
	{ "git+x.y-1://h/a", "/a", "", false, false },

	{ "", NULL, NULL, false, false },
	{ "a", NULL, NULL, false, false },
	{ "*", NULL, NULL, false, false },
	{ "h:443", NULL, NULL, false, false },
	{ "http:/h/a", NULL, NULL, false, false },
	{ "://h/a", NULL, NULL, false, false },
	{ "a b://h/a", NULL, NULL, false, false },
	{ "?a", NULL, NULL, false, false },
};

static void
test_rows(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *text = rows[i].text;
		struct target target;
		bool good;

		memset(&target, 0xff, sizeof(target));
		good = target_read(text, &target);
		tap_int(good, rows[i].path != NULL, "\"%s\": a target", text);
		if (!good || rows[i].path == NULL)
			continue;
		tap_str(target.path, rows[i].path, "\"%s\": path", text);
		tap_str(target.query, rows[i].query, "\"%s\": query", text);
		tap_int(target.changed, rows[i].changed, "\"%s\": changed",
		    text);
		tap_int(target.odd, rows[i].odd, "\"%s\": odd", text);
		tap_ok(!target.cut, "\"%s\": whole", text);
	}
}

static void
test_lengths(void)
{
	static const size_t lengths[] = { MAX_TARGET, MAX_TARGET + 1,
		MAX_TARGET * 3 };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		char *text = mem_zalloc(lengths[i] + 1);
		struct target target;

		memset(text, 'a', lengths[i]);
		text[0] = '/';
		tap_ok(target_read(text, &target), "%zu bytes: a target",
		    lengths[i]);
		tap_int(target.cut, lengths[i] > MAX_TARGET, "%zu bytes: cut",
		    lengths[i]);
		tap_int((long long)strlen(target.path), MAX_TARGET,
		    "%zu bytes: length of the path", lengths[i]);
		free(text);
	}
}

static void
test_means(void)
{
	static const struct {
		const char *text, *want;
		bool means;
	} pieces[] = {
		{ "git-upload-pack", "git-upload-pack", true },
		{ "git%2Dupload%2dpack", "git-upload-pack", true },
		{ "%67%69t", "git", true },
		{ "a+b", "a b", true },
		{ "a%2Bb", "a+b", true },
		{ "", "", true },
		{ "gi", "git", false },
		{ "gitt", "git", false },
		{ "git%00", "git", false },
		{ "GIT", "git", false },
		{ "git%", "git%", true },
		{ "git%252D", "git-", false },
	};

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
		tap_int(target_means(pieces[i].text, strlen(pieces[i].text),
			    pieces[i].want),
		    pieces[i].means, "\"%s\" and \"%s\"", pieces[i].text,
		    pieces[i].want);
	tap_ok(target_means("git-x", 3, "git"), "only so long a piece");
	tap_ok(!target_means("%67", 2, "g"), "no look past its end");
}

int
main(void)
{
	test_rows();
	test_lengths();
	test_means();
	return tap_done();
}

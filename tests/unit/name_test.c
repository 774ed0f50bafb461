/* name_test.c: which names are legal, and templates filled with them */
/* SPDX-License-Identifier: ISC */
#include "conf/name.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/tap.h"

static const struct {
	const char *name;
	bool legal;
} gits[] = {
	{ "a", true },
	{ "project/repo", true },
	{ "~user/x", true },
	{ "a/b/c/d", true },
	{ "a b", true },
	{ "-x", true },
	{ ".x", true },
	{ "...", true },
	{ "a.git/b", true },
	{ "a..b", true },
	{ "\xc3\xbc", true },
	{ "\xe2\x82\xac", true },
	{ "\xf0\x9f\x98\x80", true },
	{ "\xed\x9f\xbf", true },
	{ "\xf4\x8f\xbf\xbf", true },
	{ "\xee\x80\x80", true },
	{ "gitx", true },
	{ ".gi", true },
	{ "", false },
	{ "/", false },
	{ "/a", false },
	{ "a/", false },
	{ "a//b", false },
	{ ".", false },
	{ "..", false },
	{ "a/./b", false },
	{ "a/../b", false },
	{ "../a", false },
	{ "a.git", false },
	{ ".git", false },
	{ "a/.git", false },
	{ "a\nb", false },
	{ "a\tb", false },
	{ "a\x7f", false },
	{ "\x01", false },
	/* U+0085 is a control character, U+00A0 is none */
	{ "\xc2\x85", false },
	{ "\xc2\xa0", true },
	/* not UTF-8: RFC 3629, 3 and 4 */
	{ "\x80", false },
	{ "\xc0\xaf", false },
	{ "\xc1\xbf", false },
	{ "\xe0\x80\xaf", false },
	{ "\xe0\x9f\xbf", false },
	{ "\xed\xa0\x80", false },
	{ "\xf0\x8f\xbf\xbf", false },
	{ "\xf4\x90\x80\x80", false },
	{ "\xf5\x80\x80\x80", false },
	{ "\xff", false },
	{ "\xc3", false },
	{ "\xe2\x82", false },
	{ "\xe2\x82/", false },
	{ "a\xf0\x9f\x98", false },
	{ "\xc3\xbc\xbc", false },
};

/* OCI distribution-spec, "Pulling manifests": <name> */
static const struct {
	const char *name;
	bool legal;
} registries[] = {
	{ "a", true },
	{ "alpine", true },
	{ "library/alpine", true },
	{ "a.b", true },
	{ "a_b", true },
	{ "a__b", true },
	{ "a-b", true },
	{ "a---b", true },
	{ "0/1/2", true },
	{ "a/b.c/d_e/f__g", true },
	{ "x86_64", true },
	{ "", false },
	{ "A", false },
	{ "a/B", false },
	{ "/a", false },
	{ "a/", false },
	{ "a//b", false },
	{ ".a", false },
	{ "a.", false },
	{ "-a", false },
	{ "a-", false },
	{ "_a", false },
	{ "a_", false },
	{ "a..b", false },
	{ "a___b", false },
	{ "a._b", false },
	{ "a-.b", false },
	{ "a_-b", false },
	{ "a b", false },
	{ "a\n", false },
	{ "a:b", false },
	{ "a@b", false },
	{ "~a", false },
	{ "\xc3\xbc", false },
	{ "..", false },
	{ "a/../b", false },
};

static const struct {
	const char *name;
	bool legal;
} words[] = {
	{ "a", true },
	{ "0", true },
	{ "slave-1", true },
	{ "a_b", true },
	{ "0123456789012345678901234567890123456789"
	  "01234567890123456789012",
	    true },
	{ "0123456789012345678901234567890123456789"
	  "012345678901234567890123",
	    false },
	{ "", false },
	{ "-a", false },
	{ "_a", false },
	{ "A", false },
	{ "a.b", false },
	{ "a b", false },
	{ "a/b", false },
	{ "\xc3\xbc", false },
};

#define HEX20 "0123456789abcdef0123"
static const struct {
	const char *name;
	bool legal;
} oids[] = {
	{ HEX20 HEX20, true },
	{ HEX20 HEX20 HEX20 "0123", true },
	{ "", false },
	{ HEX20, false },
	{ HEX20 HEX20 "0", false },
	{ HEX20 "0123456789ABCDEF0123", false },
	{ HEX20 "0123456789abcdefg123", false },
	{ HEX20 HEX20 HEX20 "01234", false },
	{ HEX20 HEX20 "\n", false },
};

static void
test_lengths(void)
{
	char *name = mem_array(MAX_NAME + 2, 1);

	memset(name, 'a', MAX_NAME);
	tap_ok(name_git(name), "a repository of 1,024 bytes is legal");
	name[MAX_NAME] = 'a';
	tap_ok(!name_git(name), "one of 1,025 is not");
	name[MAX_REGISTRY_NAME] = '\0';
	tap_ok(name_registry(name), "a registry's of 255 bytes is legal");
	name[MAX_REGISTRY_NAME] = 'a';
	name[MAX_REGISTRY_NAME + 1] = '\0';
	tap_ok(!name_registry(name), "one of 256 is not");
	free(name);
}

static void
test_fold(void)
{
	char name[] = "AZaz09[@`{/\xc3\x9c";

	name_fold(name);
	tap_str(name, "azaz09[@`{/\xc3\x9c", "only A to Z are folded");
}

/* filled NULL: ERR_CONF */
static const struct {
	const char *template;
	bool url;
	const char *filled;
} fills[] = {
	{ "plain", false, "plain" },
	{ "", false, "" },
	{ "/srv/{name}.git", false, "/srv/p q/r+s.git" },
	{ "{name}{name}", false, "p q/r+sp q/r+s" },
	{ "{upstream}: {project} {repo} {sha}", false, "eu/1: p q/x abc 1f" },
	{ "http://h/{name}.git", true, "http://h/p%20q/r%2Bs.git" },
	/* only {name} keeps its slashes in a URL */
	{ "http://{upstream}/?p={project}&r={repo}", true,
	    "http://eu%2F1/?p=p%20q%2Fx&r=abc" },
	{ "{", false, NULL },
	{ "}", false, NULL },
	{ "{}", false, NULL },
	{ "{name", false, NULL },
	{ "name}", false, NULL },
	{ "{{name}}", false, NULL },
	{ "{Name}", false, NULL },
	{ "{name }", false, NULL },
	{ "{host}", false, NULL },
};

static void
test_fill(void)
{
	const struct name_values values = { .name = "p q/r+s",
		.upstream = "eu/1",
		.project = "p q/x",
		.repo = "abc",
		.sha = "1f" };
	const struct name_values only_name = { .name = "n" };
	struct buf out = { 0 };

	for (size_t i = 0; i < sizeof(fills) / sizeof(fills[0]); i++) {
		enum err err;

		buf_reset(&out);
		buf_add(&out, "", 0);
		err = name_fill(fills[i].template, &values, fills[i].url, &out);
		if (fills[i].filled == NULL)
			tap_int(err, ERR_CONF, "refused: %s",
			    fills[i].template);
		else
			tap_str(err == ERR_OK ? out.data : err_text(),
			    fills[i].filled, "filled: %s", fills[i].template);
	}
	tap_int(name_fill("{sha}", &only_name, false, &out), ERR_CONF,
	    "a value that is NULL may not be asked for");
	buf_free(&out);
}

#define EACH(table, function)                                                  \
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)          \
	tap_int(function(table[i].name), table[i].legal, #function " row %zu", \
	    i)

int
main(void)
{
	EACH(gits, name_git);
	EACH(registries, name_registry);
	EACH(words, name_word);
	EACH(oids, name_oid);
	test_lengths();
	test_fold();
	test_fill();
	return tap_done();
}

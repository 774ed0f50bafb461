/* rules_test.c: which patterns are taken, and what they say of a name */
/* SPDX-License-Identifier: ISC */
#include "conf/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/mem.h"
#include "tests/unit/tap.h"

static const char *const verdicts[] = {
	[RULE_EXCLUDED] = "excluded",
	[RULE_NOT_INCLUDED] = "not-included",
	[RULE_ERROR] = "rule-error",
	[RULE_PERCENT] = "percent",
	[RULE_INCLUDED] = "included",
};

/* why NULL: taken; else a piece of the sentence that refuses it. */
static const struct {
	const char *pattern, *why;
} patterns[] = {
	{ "^gitlab-org/.*", NULL },
	{ "^a.*", NULL },
	{ "a|b|c", NULL },
	{ "^(?:alpha|beta)/[^/]+$", NULL },
	{ "(?i)^ABC", NULL },
	{ "^[[:word:]]+/\\d+\\z", NULL },
	{ "(?P<group>a)/b", NULL },
	{ "^(?!group-a/)", NULL },
	{ ".*-.*-prod$", NULL },
	{ "(.*)-(.*)-prod$", NULL },
	{ "^[a-z0-9._-]+(/[a-z0-9._-]+)*-prod$", NULL },
	{ "", NULL },
	{ "(", "wrong after 1 bytes" },
	{ "a)", "unmatched" },
	{ "[a", "missing terminating ]" },
	{ "x**", "wrong after" },
	{ "\\C", "\\C" },
	{ "*a", "quantifier" },
	/* may raise limits or change the alphabet */
	{ "(*UTF)a", "starts with (*" },
	{ "(*LIMIT_MATCH=4000000000)a", "starts with (*" },
	{ "(*NO_JIT)a", "starts with (*" },
	{ "((a{1,1000}){1,1000}){1,1000}", "too large" },
	/* linear in Go's RE2, 118 ms and then an error here */
	{ "^([a-z0-9]+/?)+-prod$", "runs away" },
	{ "^(([a-z0-9]+[._-]?)+/?)+-prod$", "runs away" },
	{ "^(a+)+-prod$", "runs away" },
	{ "^(z+)+-prod$", "runs away" },
	{ ".*/.*/.*x", "runs away" },
	{ "(?R)", "runs away" },
	{ "(.*)*(.*)*(.*)*-$", "runs away" },
	{ "(.+)+/(.+)+/(.+)+/x$", "runs away" },
};

static void
test_patterns(void)
{
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		struct rules *rules = rules_new("s", 100, false);
		enum err err = rules_add(rules, RULES_INCLUDE, NULL,
		    patterns[i].pattern);

		if (patterns[i].why == NULL)
			tap_ok(err == ERR_OK, "taken: %s", patterns[i].pattern);
		else if (!tap_ok(err == ERR_CONF &&
				 strstr(err_text(), patterns[i].why) != NULL,
			     "refused: %s", patterns[i].pattern))
			tap_note("%d %s", err, err_text());
		rules_free(rules);
	}
}

static void
test_bounds(void)
{
	struct rules *rules = rules_new("s", 100, false);
	char *longest = mem_array(MAX_PATTERN + 2, 1);

	memset(longest, 'a', MAX_PATTERN);
	tap_ok(rules_add(rules, RULES_INCLUDE, NULL, longest) == ERR_OK,
	    "a pattern of MAX_PATTERN bytes is taken");
	longest[MAX_PATTERN] = 'a';
	tap_ok(rules_add(rules, RULES_INCLUDE, NULL, longest) == ERR_CONF,
	    "a longer one is refused");
	free(longest);
	rules_free(rules);
	rules_free(NULL);
}

#define MAX_PATTERNS 4
static const struct {
	const char *include[MAX_PATTERNS], *exclude[MAX_PATTERNS];
	const char *name, *verdict, *rule;
} judgements[] = {
	{ { NULL }, { NULL }, "any/name", "included", NULL },
	{ { "^a.*" }, { NULL }, "alpine", "included", "^a.*" },
	{ { "^a.*" }, { NULL }, "debian", "not-included", NULL },
	{ { "^b", "^a" }, { NULL }, "alpine", "included", "^a" },
	{ { NULL }, { "^group-a/.*" }, "group-a/x", "excluded", "^group-a/.*" },
	{ { NULL }, { "^group-a/.*" }, "group-ab/x", "included", NULL },
	/* exclude beats include */
	{ { "^a" }, { "^alpine$" }, "alpine", "excluded", "^alpine$" },
	{ { "^a" }, { "^alpine$" }, "alpine2", "included", "^a" },
	/* searches are not anchored, as in Go's lists */
	{ { "gitlab-org" }, { NULL }, "evil/gitlab-orgx", "included",
	    "gitlab-org" },
	{ { "^gitlab-org" }, { NULL }, "gitlab-org-fork/x", "included",
	    "^gitlab-org" },
	{ { "^gitlab-org/" }, { NULL }, "gitlab-org-fork/x", "not-included",
	    NULL },
	/* $ is the end and nothing else */
	{ { "x$" }, { NULL }, "x\n", "not-included", NULL },
	/* without UTF a dot is one byte */
	{ { "^..$" }, { NULL }, "\xc3\xa9", "included", "^..$" },
	{ { "" }, { NULL }, "x", "included", "" },
	/* an error is never "does not match" */
	{ { NULL }, { "^((xy)+)+-prod$" }, "@xy", "rule-error",
	    "^((xy)+)+-prod$" },
	{ { "^((xy)+)+-prod$" }, { NULL }, "@xy", "rule-error",
	    "^((xy)+)+-prod$" },
	/* but another rule that matches decides */
	{ { "^((xy)+)+-prod$", "^x" }, { NULL }, "@xy", "included", "^x" },
	{ { NULL }, { "^((xy)+)+-prod$", "^x" }, "@xy", "excluded", "^x" },
	{ { "^x" }, { "^((xy)+)+-prod$" }, "@xy", "rule-error",
	    "^((xy)+)+-prod$" },
};

/*
 * "@xy" stands for xyxy... of 240 bytes and "/-prod/x", so that PCRE2 does
 * not see at once that a pattern's last letters are missing.
 */
static char *
expand(const char *name)
{
	struct buf out = { 0 };

	if (name[0] != '@')
		return mem_dup(name);
	while (out.len < 240)
		buf_puts(&out, name + 1);
	buf_puts(&out, "/-prod/x");
	return out.data;
}

static void
test_judge(void)
{
	for (size_t i = 0; i < sizeof(judgements) / sizeof(judgements[0]);
	     i++) {
		struct rules *rules = rules_new("s", 100, false);
		char *name = expand(judgements[i].name);
		const char *rule = "untouched";
		bool taken = true;

		for (int n = 0; n < MAX_PATTERNS; n++) {
			const char *in = judgements[i].include[n];
			const char *ex = judgements[i].exclude[n];

			if (in != NULL)
				taken &= rules_add(rules, RULES_INCLUDE, NULL,
					     in) == ERR_OK;
			if (ex != NULL)
				taken &= rules_add(rules, RULES_EXCLUDE, NULL,
					     ex) == ERR_OK;
		}
		tap_ok(taken, "row %zu: patterns are taken", i);
		tap_str(verdicts[rules_judge(rules, name, &rule)],
		    judgements[i].verdict, "row %zu: the verdict", i);
		tap_str(rule, judgements[i].rule, "row %zu: the rule", i);
		free(name);
		rules_free(rules);
	}
}

static void
test_names(void)
{
	struct rules *rules = rules_new("s", 0, false);
	const char *rule = NULL;

	tap_ok(rules_add(rules, RULES_INCLUDE, "wave-1", "^a") == ERR_OK,
	    "a rule with a name");
	tap_str(verdicts[rules_judge(rules, "abc", &rule)], "percent",
	    "0 percent takes nothing that is included");
	tap_str(rule, "wave-1", "the rule goes by its name");
	tap_str(verdicts[rules_judge(rules, "b", NULL)], "not-included",
	    "nobody need ask for the rule");
	rules_free(rules);
}

/* How many of n names r0000, r0001, ... go to the new side. */
static unsigned
count(double percent, bool by_namespace, const char *salt, const char *fmt,
    unsigned n, bool *in)
{
	struct rules *rules = rules_new(salt, percent, by_namespace);
	unsigned taken = 0;

	for (unsigned i = 0; i < n; i++) {
		char *name = mem_fmt("%s%04u", fmt, i);

		in[i] = rules_judge(rules, name, NULL) == RULE_INCLUDED;
		taken += in[i];
		free(name);
	}
	rules_free(rules);
	return taken;
}

#define NAMES 4000
static void
test_percent(void)
{
	static const double steps[] = { 0, 0.01, 1, 5, 25, 50, 99.99, 100 };
	static bool before[NAMES], now[NAMES], other[NAMES];
	unsigned lost = 0, same = 0, taken = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		double share = steps[i] / 100 * NAMES;

		taken = count(steps[i], false, "salt", "r", NAMES, now);
		tap_ok(taken > share - 200 && taken < share + 200,
		    "%g percent take about %g of %d: %u", steps[i], share,
		    NAMES, taken);
		for (int n = 0; n < NAMES; n++)
			lost += before[n] && !now[n];
		memcpy(before, now, sizeof(before));
	}
	tap_int(taken, NAMES, "100 percent take all");
	tap_int(lost, 0, "raising percent only adds names");
	tap_int((long long)count(0, false, "salt", "r", NAMES, now), 0,
	    "0 percent take none");

	count(50, false, "salt", "r", NAMES, now);
	count(50, false, "pepper", "r", NAMES, other);
	for (int n = 0; n < NAMES; n++)
		same += now[n] == other[n];
	tap_ok(same > NAMES * 0.4 && same < NAMES * 0.6,
	    "another salt draws other names: %u of %d alike", same, NAMES);
}

static void
test_namespace(void)
{
	static bool in[NAMES];
	unsigned taken = count(50, true, "salt", "group/r", NAMES, in);
	unsigned single = count(50, true, "salt", "r", NAMES, in);

	tap_ok(taken == 0 || taken == NAMES, "a namespace is never split");
	tap_ok(single > NAMES * 0.4 && single < NAMES * 0.6,
	    "a name without a slash is its own namespace");
}

/* Buckets may never change: repositories would be drawn anew. */
static void
test_golden(void)
{
	/*
	 * printf 'salt\0a/b' | sha256sum | cut -c1-16, modulo 10000: 8450
	 */
	struct rules *below = rules_new("salt", 84.495, false);
	struct rules *above = rules_new("salt", 84.505, false);

	tap_str(verdicts[rules_judge(below, "a/b", NULL)], "percent",
	    "a/b is not in the buckets below its own");
	tap_str(verdicts[rules_judge(above, "a/b", NULL)], "included",
	    "a/b is in its own");
	rules_free(below);
	rules_free(above);
}

int
main(void)
{
	test_patterns();
	test_bounds();
	test_judge();
	test_names();
	test_percent();
	test_namespace();
	test_golden();
	tap_note("JIT %s", rules_jit() ? "works" : "does not work");
	return tap_done();
}

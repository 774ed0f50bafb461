/* rules.c: include and exclude patterns over names; the only user of PCRE2 */
/* SPDX-License-Identifier: ISC */
#include "conf/rules.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conf/crypto.h"
#include "conf/mem.h"
#include "conf/name.h"

/*
 * What one pattern may cost from one start in one name: about 0.1 ms with
 * JIT, 0.6 ms without; "(.*)-(.*)-prod$" needs some 10,000 steps.  PCRE2's
 * own limits are 10,000,000 steps and 20 GB.
 */
#define MATCH_LIMIT 50000
#define DEPTH_LIMIT 50000
#define HEAP_LIMIT_KB 4096

struct rule {
	char *name;
	pcre2_code *code;
};

struct list {
	struct rule *rules;
	size_t n;
};

struct rules {
	struct list lists[2]; /* by enum rule_list */
	pcre2_match_context *limits;
	char *salt;
	double percent;
	bool by_namespace;
};

enum match { MATCH_NO, MATCH_YES, MATCH_ERROR };

struct rules *
rules_new(const char *salt, double percent, bool by_namespace)
{
	struct rules *rules = mem_zalloc(sizeof(*rules));

	rules->salt = mem_dup(salt);
	rules->percent = percent;
	rules->by_namespace = by_namespace;
	rules->limits = pcre2_match_context_create(NULL);
	if (rules->limits == NULL)
		abort(); /* no memory at start */
	pcre2_set_match_limit(rules->limits, MATCH_LIMIT);
	pcre2_set_depth_limit(rules->limits, DEPTH_LIMIT);
	pcre2_set_heap_limit(rules->limits, HEAP_LIMIT_KB);
	return rules;
}

static void
free_rule(struct rule *rule)
{
	free(rule->name);
	pcre2_code_free(rule->code);
}

void
rules_free(struct rules *rules)
{
	if (rules == NULL)
		return;
	for (int i = 0; i < 2; i++) {
		for (size_t n = 0; n < rules->lists[i].n; n++)
			free_rule(&rules->lists[i].rules[n]);
		free(rules->lists[i].rules);
	}
	pcre2_match_context_free(rules->limits);
	free(rules->salt);
	free(rules);
}

/* Every failure but "no match" is an error: -47, the match limit, and kin. */
static enum match
match(const struct rules *rules, const pcre2_code *code, const char *name,
    uint32_t options, pcre2_match_data *data)
{
	int rc = pcre2_match(code, (PCRE2_SPTR)name, strlen(name), 0, options,
	    data, rules->limits);

	if (rc >= 0)
		return MATCH_YES;
	return rc == PCRE2_ERROR_NOMATCH ? MATCH_NO : MATCH_ERROR;
}

/* --- loading */

/*
 * The pattern against the longest legal name that repeats unit, under both
 * engines: they count their limits differently, and not every process may
 * have JIT (systemd's MemoryDenyWriteExecute).
 */
static enum match
stress(const struct rules *rules, const pcre2_code *code, const char *unit,
    pcre2_match_data *data)
{
	char name[MAX_REGISTRY_NAME + 1];
	size_t len = strlen(unit);
	enum match result;

	for (size_t i = 0; i < MAX_REGISTRY_NAME; i++)
		name[i] = unit[i % len];
	name[MAX_REGISTRY_NAME] = '\0';
	result = match(rules, code, name, 0, data);
	if (result != MATCH_ERROR)
		result = match(rules, code, name, PCRE2_NO_JIT, data);
	return result;
}

/*
 * Does it keep its limits on the names on which patterns run away?  code is
 * without start optimisations: those find at once that "-prod$" is not in
 * the names here, and hide what happens on names that have it.
 */
static enum match
stress_all(const struct rules *rules, const pcre2_code *code,
    const char *pattern)
{
	static const char *const units[] = {
		"a",
		"0",
		"a-",
		"a/",
		"a.",
		"a_",
		"ab",
		"a0",
		"aa/",
		"ab-",
		"group/project-0/image.x86_64/",
	};
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	enum match result = data != NULL ? MATCH_NO : MATCH_ERROR;
	bool seen[256] = { false };

	for (size_t i = 0;
	     i < sizeof(units) / sizeof(units[0]) && result != MATCH_ERROR; i++)
		result = stress(rules, code, units[i], data);
	/* a pattern that knows only z runs away on z */
	for (; *pattern != '\0' && result != MATCH_ERROR; pattern++) {
		const char unit[] = { *pattern, '\0' };

		if (!name_registry(unit) || seen[(unsigned char)*pattern])
			continue;
		seen[(unsigned char)*pattern] = true;
		result = stress(rules, code, unit, data);
	}
	pcre2_match_data_free(data);
	return result;
}

static enum err
compile(const char *pattern, uint32_t options, pcre2_code **out)
{
	char text[256];
	PCRE2_SIZE offset;
	int code;

	*out = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
	    PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_UTF | PCRE2_NEVER_BACKSLASH_C |
		options,
	    &code, &offset, NULL);
	if (*out == NULL) {
		pcre2_get_error_message(code, (PCRE2_UCHAR *)text,
		    sizeof(text));
		return err_set(ERR_CONF,
		    "the pattern \"%s\" is wrong after "
		    "%zu bytes: %s; pcre2pattern(3) has the grammar",
		    pattern, (size_t)offset, text);
	}
	/* without it everything is slower, and the same */
	(void)pcre2_jit_compile(*out, PCRE2_JIT_COMPLETE);
	return ERR_OK;
}

enum err
rules_add(struct rules *rules, enum rule_list which, const char *name,
    const char *pattern)
{
	struct list *list = &rules->lists[which];
	pcre2_code *code = NULL, *stressed = NULL;
	enum err err;

	if (list->n == MAX_RULES)
		return err_set(ERR_CONF,
		    "more than %d rules in a list; join "
		    "some by |",
		    MAX_RULES);
	if (strlen(pattern) > MAX_PATTERN)
		return err_set(ERR_CONF,
		    "a pattern of %zu bytes; %d is the "
		    "most: make several of it",
		    strlen(pattern), MAX_PATTERN);
	if (strncmp(pattern, "(*", 2) == 0)
		return err_set(ERR_CONF,
		    "the pattern \"%s\" starts with (*, "
		    "which would change how all is matched; leave that out",
		    pattern);
	if ((err = compile(pattern, PCRE2_NO_START_OPTIMIZE, &stressed)) !=
		ERR_OK ||
	    (err = compile(pattern, 0, &code)) != ERR_OK)
		goto out;
	if (stress_all(rules, stressed, pattern) == MATCH_ERROR) {
		err = err_set(ERR_CONF,
		    "the pattern \"%s\" runs away on "
		    "long names: it repeats what repeats already; anchor it "
		    "by ^, and write [^/]+/ rather than (.+/?)+",
		    pattern);
		goto out;
	}
	list->rules = mem_more(list->rules, list->n, sizeof(*list->rules));
	list->rules[list->n++] = (struct rule){
		.name = mem_dup(name != NULL ? name : pattern),
		.code = code,
	};
	code = NULL;
out:
	pcre2_code_free(stressed);
	pcre2_code_free(code);
	return err;
}

/* --- judging */

/*
 * Does any rule match?  One that failed does not hide another that matches;
 * *rule is the one that matched, else one that failed, else NULL.
 */
static enum match
match_any(const struct rules *rules, enum rule_list which, const char *name,
    pcre2_match_data *data, const char **rule)
{
	const struct list *list = &rules->lists[which];
	enum match result = MATCH_NO;

	*rule = NULL;
	for (size_t i = 0; i < list->n; i++) {
		switch (match(rules, list->rules[i].code, name, 0, data)) {
		case MATCH_YES:
			*rule = list->rules[i].name;
			return MATCH_YES;
		case MATCH_ERROR:
			*rule = list->rules[i].name;
			result = MATCH_ERROR;
			break;
		case MATCH_NO:
			break;
		}
	}
	return result;
}

/*
 * Buckets below percent are in.  A name keeps its bucket, so that raising
 * percent only adds names.
 */
static bool
within_percent(const struct rules *rules, const char *name)
{
	size_t len = rules->by_namespace ? strcspn(name, "/") : strlen(name);
	struct buf text = { 0 };
	uint64_t bucket;

	/* no salt holds a NUL: two pairs never make one text */
	buf_add(&text, rules->salt, strlen(rules->salt) + 1);
	buf_add(&text, name, len);
	bucket = digest_64(text.data, text.len) % RULE_BUCKETS;
	buf_free(&text);
	return (double)bucket < rules->percent / 100 * RULE_BUCKETS;
}

static enum rule_verdict
judge(const struct rules *rules, const char *name, pcre2_match_data *data,
    const char **rule)
{
	switch (match_any(rules, RULES_EXCLUDE, name, data, rule)) {
	case MATCH_YES:
		return RULE_EXCLUDED;
	case MATCH_ERROR:
		return RULE_ERROR; /* never "not excluded" */
	case MATCH_NO:
		break;
	}
	switch (match_any(rules, RULES_INCLUDE, name, data, rule)) {
	case MATCH_ERROR:
		return RULE_ERROR;
	case MATCH_NO:
		if (rules->lists[RULES_INCLUDE].n > 0)
			return RULE_NOT_INCLUDED;
		break;
	case MATCH_YES:
		break;
	}
	return within_percent(rules, name) ? RULE_INCLUDED : RULE_PERCENT;
}

enum rule_verdict
rules_judge(const struct rules *rules, const char *name, const char **rule)
{
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	enum rule_verdict verdict = RULE_ERROR;
	const char *decided = NULL;

	if (data != NULL)
		verdict = judge(rules, name, data, &decided);
	pcre2_match_data_free(data);
	if (rule != NULL)
		*rule = decided;
	return verdict;
}

bool
rules_jit(void)
{
	int code;
	PCRE2_SIZE offset;
	pcre2_code *any = pcre2_compile((PCRE2_SPTR) "a", 1, 0, &code, &offset,
	    NULL);
	bool works = any != NULL &&
	    pcre2_jit_compile(any, PCRE2_JIT_COMPLETE) == 0;

	pcre2_code_free(any);
	return works;
}

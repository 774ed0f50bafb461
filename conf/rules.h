/* rules.h: include and exclude patterns over names; the only user of PCRE2 */
/* SPDX-License-Identifier: ISC */
#ifndef CONF_RULES_H
#define CONF_RULES_H

#include <stdbool.h>

#include "conf/err.h"

/* A pattern longer than this is refused, in bytes. */
#define MAX_PATTERN 1024
/* More rules than this in one list are refused. */
#define MAX_RULES 10000
/* Buckets of the salted hash; percent is of these. */
#define RULE_BUCKETS 10000

struct rules;

enum rule_list { RULES_INCLUDE, RULES_EXCLUDE };

enum rule_verdict {
	RULE_EXCLUDED,	   /* an exclude rule matched */
	RULE_NOT_INCLUDED, /* there are include rules; none matched */
	RULE_ERROR,	   /* a pattern hit its match limit: not a match */
	RULE_PERCENT,	   /* the bucket is not below percent */
	RULE_INCLUDED,	   /* goes to the new side */
};

/*
 * percent is 0 to 100; by_namespace hashes only the first component of a
 * name.  salt is copied.
 */
struct rules *rules_new(const char *salt, double percent, bool by_namespace);
void rules_free(struct rules *);

/*
 * Adds one pattern; an unanchored search (as in Go's RE2 lists), compiled
 * with DOLLAR_ENDONLY and JIT.  name may be NULL: the pattern is its own
 * name.  ERR_CONF, with what to write instead, for a pattern that does not
 * compile, starts with "(*", is too long, or hits its limits on the stress
 * battery.
 */
MUST_USE enum err rules_add(struct rules *, enum rule_list, const char *name,
    const char *pattern);

/*
 * Judges a legal registry name: exclude beats include; no include rule
 * means that every name is included; then percent.  *rule, where not NULL,
 * becomes the name of the deciding rule, or NULL where none decided;
 * borrowed until rules_free().  Safe in many threads at once.
 */
enum rule_verdict rules_judge(const struct rules *, const char *name,
    const char **rule);

/* Does this machine's PCRE2 compile to machine code? */
bool rules_jit(void);

#endif

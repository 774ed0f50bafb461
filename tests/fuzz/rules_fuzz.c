/* rules_fuzz.c: any pattern (the first line) over any name (the rest) */
/* SPDX-License-Identifier: ISC */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conf/mem.h"
#include "conf/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *pattern = mem_dup_n(size > 0 ? (const char *)data : "", size);
	char *name = strchr(pattern, '\n');
	struct rules *rules = rules_new("salt", 50, false);
	const char *rule = NULL;
	enum rule_verdict verdict;

	if (name != NULL)
		*name++ = '\0';
	if (name == NULL ||
	    rules_add(rules, RULES_EXCLUDE, "x", pattern) != ERR_OK)
		goto out;
	verdict = rules_judge(rules, name, &rule);
	/* no include rule: the exclude rule decides, or percent does */
	if ((verdict == RULE_EXCLUDED || verdict == RULE_ERROR) !=
		(rule != NULL) ||
	    verdict == RULE_NOT_INCLUDED)
		abort();
out:
	rules_free(rules);
	free(pattern);
	return 0;
}

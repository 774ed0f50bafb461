/* setting.h: one setting of the configuration as it was written, and where */
/* SPDX-License-Identifier: ISC */
#ifndef CONF_SETTING_H
#define CONF_SETTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/err.h"

enum setting_type {
	SETTING_TEXT,
	SETTING_INTEGER,
	SETTING_REAL,
	SETTING_BOOL,
	SETTING_LIST,  /* ( ... ) or [ ... ] */
	SETTING_GROUP, /* { ... } */
};

struct setting {
	const char *file; /* borrowed of whoever read it */
	unsigned line;
	char *key; /* NULL in a list */
	enum setting_type type;
	char *text;
	int64_t number;
	double real;
	bool truth;
	struct setting *items; /* of a list or a group */
	size_t n_items;
};

/* The member of a group, or NULL; of NULL and of all else, too. */
const struct setting *setting_child(const struct setting *, const char *key);

/* Moves item to the end of a list or a group, and leaves it empty. */
void setting_append(struct setting *, struct setting *item);

/* "FILE:LINE: text"; returns ERR_CONF. */
enum err setting_error(const struct setting *, const char *fmt, ...)
    PRINTF(2, 3);

/* Releases what it holds, not itself. */
void setting_free(struct setting *);

#endif

/* schema.h: reads a group of settings by a table of its keys */
/* SPDX-License-Identifier: ISC */
#ifndef CONF_SCHEMA_H
#define CONF_SCHEMA_H

#include "conf/conf.h"
#include "conf/setting.h"

/* Where a setter is: the key's row, and the struct that holds its field. */
struct place {
	struct conf *conf;
	const struct key *key;
	void *target;
};

/* Called for each key; value is NULL where the key was left out. */
typedef enum err setter(const struct place *, const struct setting *value);

enum { IN_GIT = 1, IN_REGISTRY = 2, IN_ALL = 3 };

/* All there is to know of a key; a table of them ends with a NULL name. */
struct key {
	const char *name;
	setter *set;
	size_t offset;	   /* of its field in the target */
	int64_t low, high; /* of a number; high: of a text, in bytes */
	int64_t preset;
	const char *preset_text;
	enum err (*legal)(const char *text);
	const char *const *words; /* by value, ended by NULL */
	const struct key *keys;	  /* of a group */
	bool required;
	unsigned in; /* kinds of route; 0: all */
};

/*
 * Sets every key of a group, or, where group is NULL, every default.
 * ERR_CONF for what the table does not allow, a key outside it included.
 */
MUST_USE enum err schema_fill(struct conf *, const char *what,
    const struct key *, unsigned in, const struct setting *group, void *target);

/* Setters, by the type of the field: */
setter set_text; /* char *; key->legal judges it */
setter set_url;	 /* char *, without slashes at its end */
setter set_word; /* an enum, unsigned */
setter set_unsigned;
setter set_s;	   /* int64_t */
setter set_ms;	   /* int64_t, of seconds */
setter set_double; /* an integer is as good as a real */
setter set_bool;
setter set_group; /* key->keys, in the target at key->offset */

/* For setters elsewhere: ERR_CONF with the cure for anything else. */
MUST_USE enum err want(const struct setting *, enum setting_type);
/*
 * A text, not empty, not overlong, without control characters; borrowed of
 * the setting.
 */
MUST_USE enum err want_text(const struct setting *, const char **out);
/* A list of low to high items. */
MUST_USE enum err want_list(const struct setting *, size_t low, size_t high);
/* Puts the setting's place before the sentence of an error. */
enum err placed(const struct setting *, enum err);

#endif

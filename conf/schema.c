/* schema.c: reads a group of settings by a table of its keys */
/* SPDX-License-Identifier: ISC */
#include "conf/schema.h"

#include <string.h>

#include "conf/legal.h"
#include "conf/mem.h"

static void *
field_of(const struct place *place)
{
	return (char *)place->target + place->key->offset;
}

static const char *
name_of(const struct setting *setting)
{
	return setting->key != NULL ? setting->key : "an item of the list";
}

enum err
placed(const struct setting *setting, enum err err)
{
	return err == ERR_OK
	    ? ERR_OK
	    : err_prefix(ERR_CONF, "%s:%u", setting->file, setting->line);
}

enum err
want(const struct setting *value, enum setting_type type)
{
	static const char *const words[] = {
		[SETTING_TEXT] = "a text in quotes",
		[SETTING_INTEGER] = "an integer",
		[SETTING_REAL] = "a number",
		[SETTING_BOOL] = "true or false",
		[SETTING_LIST] = "a list ( ... )",
		[SETTING_GROUP] = "a group { ... }",
	};

	if (value->type == type)
		return ERR_OK;
	return setting_error(value, "%s is %s; write %s", name_of(value),
	    words[value->type], words[type]);
}

static bool
has_control(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return true;
	return false;
}

enum err
want_text(const struct setting *value, const char **out)
{
	enum err err = want(value, SETTING_TEXT);

	if (err != ERR_OK)
		return err;
	if (value->text[0] == '\0')
		return setting_error(value,
		    "%s is empty; leave it out or "
		    "write something",
		    name_of(value));
	if (strlen(value->text) > MAX_TEXT)
		return setting_error(value, "%s has %zu bytes; %d is the most",
		    name_of(value), strlen(value->text), MAX_TEXT);
	if (has_control(value->text))
		return setting_error(value,
		    "%s holds a control character or "
		    "the end of a line; is a quote missing?",
		    name_of(value));
	*out = value->text;
	return ERR_OK;
}

enum err
want_list(const struct setting *value, size_t low, size_t high)
{
	enum err err = want(value, SETTING_LIST);

	if (err == ERR_OK && (value->n_items < low || value->n_items > high))
		err = setting_error(value,
		    "%s has %zu items; write %zu to "
		    "%zu",
		    name_of(value), value->n_items, low, high);
	return err;
}

/* A number within the bounds of its row. */
static enum err
want_number(const struct place *place, const struct setting *value,
    int64_t *out)
{
	const struct key *key = place->key;
	enum err err;

	*out = key->preset;
	if (value == NULL)
		return ERR_OK;
	if ((err = want(value, SETTING_INTEGER)) != ERR_OK)
		return err;
	if (value->number < key->low || value->number > key->high)
		return setting_error(value,
		    "%s = %lld is out of bounds; "
		    "write %lld to %lld",
		    key->name, (long long)value->number, (long long)key->low,
		    (long long)key->high);
	*out = value->number;
	return ERR_OK;
}

enum err
set_unsigned(const struct place *place, const struct setting *value)
{
	unsigned *field = field_of(place);
	int64_t number;
	enum err err = want_number(place, value, &number);

	if (err == ERR_OK)
		*field = (unsigned)number;
	return err;
}

enum err
set_s(const struct place *place, const struct setting *value)
{
	int64_t *field = field_of(place);

	return want_number(place, value, field);
}

enum err
set_ms(const struct place *place, const struct setting *value)
{
	int64_t *field = field_of(place);
	enum err err = want_number(place, value, field);

	*field *= 1000;
	return err;
}

enum err
set_bool(const struct place *place, const struct setting *value)
{
	bool *field = field_of(place);
	enum err err;

	*field = place->key->preset != 0;
	if (value == NULL)
		return ERR_OK;
	if ((err = want(value, SETTING_BOOL)) == ERR_OK)
		*field = value->truth;
	return err;
}

enum err
set_double(const struct place *place, const struct setting *value)
{
	const struct key *key = place->key;
	double *field = field_of(place);
	enum err err;

	*field = (double)key->preset;
	if (value == NULL)
		return ERR_OK;
	if (value->type == SETTING_INTEGER)
		*field = (double)value->number;
	else if ((err = want(value, SETTING_REAL)) != ERR_OK)
		return err;
	else
		*field = value->real;
	if (*field >= (double)key->low && *field <= (double)key->high)
		return ERR_OK;
	return setting_error(value,
	    "%s = %g is out of bounds; write %lld "
	    "to %lld",
	    key->name, *field, (long long)key->low, (long long)key->high);
}

enum err
set_word(const struct place *place, const struct setting *value)
{
	const char *const *words = place->key->words;
	unsigned *field = field_of(place);
	struct buf known = { 0 };
	const char *text;
	enum err err;

	*field = (unsigned)place->key->preset;
	if (value == NULL)
		return ERR_OK;
	if ((err = want_text(value, &text)) != ERR_OK)
		return err;
	for (unsigned i = 0; words[i] != NULL; i++) {
		if (strcmp(words[i], text) == 0) {
			*field = i;
			goto out;
		}
		buf_fmt(&known, "%s\"%s\"", i > 0 ? " or " : "", words[i]);
	}
	err = setting_error(value, "%s = \"%s\" is not known; write %s",
	    place->key->name, text, known.data);
out:
	buf_free(&known);
	return err;
}

enum err
set_text(const struct place *place, const struct setting *value)
{
	const struct key *key = place->key;
	char **field = field_of(place);
	const char *text = key->preset_text;
	enum err err = ERR_OK;

	if (value == NULL)
		goto out;
	if ((err = want_text(value, &text)) != ERR_OK)
		return err;
	if (key->high != 0 && strlen(text) > (size_t)key->high)
		return setting_error(value,
		    "%s has %zu bytes; %lld is the "
		    "most",
		    key->name, strlen(text), (long long)key->high);
	if (key->legal != NULL)
		err = placed(value, key->legal(text));
out:
	if (err == ERR_OK && text != NULL)
		*field = mem_dup(text);
	return err;
}

enum err
set_url(const struct place *place, const struct setting *value)
{
	char **field = field_of(place);
	enum err err = set_text(place, value);

	if (err == ERR_OK && *field != NULL)
		for (size_t n = strlen(*field); (*field)[n - 1] == '/'; n--)
			(*field)[n - 1] = '\0';
	return err;
}

enum err
set_group(const struct place *place, const struct setting *value)
{
	return schema_fill(place->conf, place->key->name, place->key->keys,
	    IN_ALL, value, field_of(place));
}

static bool
belongs(const struct key *key, unsigned in)
{
	return key->in == 0 || (key->in & in) != 0;
}

/* Each key that is there must be in the table. */
static enum err
check_known(const char *what, const struct key *keys, unsigned in,
    const struct setting *group)
{
	struct buf known = { 0 };
	enum err err = ERR_OK;

	for (const struct key *key = keys; key->name != NULL; key++)
		if (belongs(key, in))
			buf_fmt(&known, "%s%s", known.len > 0 ? ", " : "",
			    key->name);
	for (size_t i = 0; i < group->n_items && err == ERR_OK; i++) {
		const struct setting *item = &group->items[i];
		const struct key *key = keys;

		while (key->name != NULL &&
		    (!belongs(key, in) || strcmp(key->name, item->key) != 0))
			key++;
		if (key->name == NULL)
			err = setting_error(item,
			    "unknown key %s in %s; "
			    "known are %s",
			    item->key, what, known.data);
	}
	buf_free(&known);
	return err;
}

enum err
schema_fill(struct conf *conf, const char *what, const struct key *keys,
    unsigned in, const struct setting *group, void *target)
{
	enum err err = ERR_OK;

	if (group != NULL && (err = want(group, SETTING_GROUP)) != ERR_OK)
		return err;
	for (const struct key *key = keys; key->name != NULL; key++) {
		const struct place place = { conf, key, target };
		const struct setting *value = setting_child(group, key->name);

		if (!belongs(key, in) || (key->required && group == NULL))
			continue;
		if (key->required && value == NULL)
			return setting_error(group,
			    "%s has no %s; add %s "
			    "= ...;",
			    what, key->name, key->name);
		if ((err = key->set(&place, value)) != ERR_OK)
			return err;
	}
	return group == NULL ? ERR_OK : check_known(what, keys, in, group);
}

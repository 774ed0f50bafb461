/* wire.c: bodies on the wire, in and out; the only user of json-c */
/* SPDX-License-Identifier: ISC */
#include "sync/wire.h"

#include <assert.h>
#include <json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "conf/log.h"
#include "conf/name.h"
#include "sync/form.h"

/* The answer of a replica's refs/ is one digest and one name. */
#define MAX_REFS_BODY (64UL << 10)

/* json-c fails here only where memory does */
static struct json_object *
made(struct json_object *object)
{
	if (object == NULL) {
		fputs("reproute: out of memory for JSON\n", stderr);
		exit(EX_OSERR);
	}
	return object;
}

/* Writing */

struct wire {
	struct json_object *open[MAX_DEPTH]; /* [0] owns all others */
	unsigned depth;
};

struct wire *
wire_new(void)
{
	struct wire *wire = mem_zalloc(sizeof(*wire));

	wire->open[0] = made(json_object_new_object());
	return wire;
}

static void
put(struct wire *wire, const char *key, struct json_object *value)
{
	struct json_object *in = wire->open[wire->depth];
	int failed;

	assert((key != NULL) == json_object_is_type(in, json_type_object));
	failed = key != NULL ? json_object_object_add(in, key, value)
			     : json_object_array_add(in, value);
	if (failed)
		made(NULL);
}

/* Would a strict reader take it?  json-c's own one is asked. */
static bool
is_utf8(struct json_object *text)
{
	const char *written = json_object_to_json_string(text);
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *read;
	bool valid;

	if (tokener == NULL)
		made(NULL);
	json_tokener_set_flags(tokener, JSON_TOKENER_VALIDATE_UTF8);
	read = json_tokener_parse_ex(tokener, written, (int)strlen(written));
	valid = read != NULL;
	json_object_put(read);
	json_tokener_free(tokener);
	return valid;
}

static struct json_object *
text_of(const char *value)
{
	struct json_object *text = made(json_object_new_string(value));
	size_t size = 4 * strlen(value) + 2;
	char *escaped;

	if (is_utf8(text))
		return text;
	json_object_put(text);
	escaped = mem_array(size, 1);
	text = made(json_object_new_string(log_escape(escaped, size, value)));
	free(escaped);
	return text;
}

void
wire_text(struct wire *wire, const char *key, const char *value)
{
	put(wire, key, value != NULL ? text_of(value) : NULL);
}

void
wire_number(struct wire *wire, const char *key, int64_t value)
{
	put(wire, key, made(json_object_new_int64(value)));
}

void
wire_bool(struct wire *wire, const char *key, bool value)
{
	put(wire, key, made(json_object_new_boolean(value)));
}

static void
begin(struct wire *wire, const char *key, struct json_object *value)
{
	assert(wire->depth + 1 < MAX_DEPTH);
	put(wire, key, made(value));
	wire->open[++wire->depth] = value;
}

void
wire_begin_object(struct wire *wire, const char *key)
{
	begin(wire, key, json_object_new_object());
}

void
wire_begin_array(struct wire *wire, const char *key)
{
	begin(wire, key, json_object_new_array());
}

void
wire_end(struct wire *wire)
{
	assert(wire->depth > 0);
	wire->depth--;
}

void
wire_finish(struct wire *wire, struct buf *out)
{
	const char *text = json_object_to_json_string_ext(wire->open[0],
	    JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);

	assert(wire->depth == 0);
	if (text == NULL)
		made(NULL);
	buf_puts(out, text);
	buf_puts(out, "\n");
	json_object_put(wire->open[0]);
	free(wire);
}

void
wire_put_push(const struct push_answer *answer, struct buf *out)
{
	struct wire *wire = wire_new();

	wire_text(wire, "repository", answer->name);
	wire_number(wire, "generation", (int64_t)answer->generation);
	wire_bool(wire, "fenced", answer->fenced);
	if (answer->note != NULL)
		wire_text(wire, "note", answer->note);
	if (answer->wanted > 0) {
		wire_number(wire, "wanted", answer->wanted);
		wire_number(wire, "have", answer->have);
	}
	wire_finish(wire, out);
}

void
wire_put_error(const char *code, const char *message, struct buf *out)
{
	struct wire *wire = wire_new();

	wire_begin_object(wire, "error");
	wire_text(wire, "code", code);
	wire_text(wire, "message", message);
	wire_end(wire);
	wire_finish(wire, out);
}

void
wire_put_registry_error(const char *code, const char *message, struct buf *out)
{
	struct wire *wire = wire_new();

	wire_begin_array(wire, "errors");
	wire_begin_object(wire, NULL);
	wire_text(wire, "code", code);
	wire_text(wire, "message", message);
	wire_text(wire, "detail", NULL);
	wire_end(wire);
	wire_end(wire);
	wire_finish(wire, out);
}

static void
put_head(struct wire *wire, const char *head, const char *object_format)
{
	wire_text(wire, "head", head[0] != '\0' ? head : NULL);
	wire_text(wire, "object_format", object_format);
}

void
wire_put_refs(const struct refs_digest *refs, struct buf *out)
{
	struct wire *wire = wire_new();

	wire_text(wire, "digest", refs->digest);
	wire_number(wire, "refs", (int64_t)refs->refs);
	put_head(wire, refs->head, refs->object_format);
	wire_finish(wire, out);
}

void
wire_put_fetch(const struct fetch_order *order, struct buf *out)
{
	struct wire *wire = wire_new();

	put_head(wire, order->head, order->object_format);
	wire_finish(wire, out);
}

/* Reading */

/* The whole of body as one object, which the caller puts. */
static enum err
parse(const char *body, size_t len, size_t max, struct json_object **out)
{
	struct json_tokener *tokener;
	struct json_object *object;
	bool whole;

	if (len > max)
		return err_set(ERR_LIMIT, "the body is over %zu bytes", max);
	/* RFC 8259, 2: whitespace may follow; json-c's strictness forbids it */
	while (len > 0 && strchr(" \t\r\n", body[len - 1]) != NULL &&
	    body[len - 1] != '\0')
		len--;
	if ((tokener = json_tokener_new_ex(MAX_DEPTH)) == NULL)
		made(NULL);
	json_tokener_set_flags(tokener,
	    JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	object = json_tokener_parse_ex(tokener, body, (int)len);
	whole = json_tokener_get_error(tokener) == json_tokener_success &&
	    json_tokener_get_parse_end(tokener) == len;
	json_tokener_free(tokener);
	if (!whole || !json_object_is_type(object, json_type_object)) {
		json_object_put(object);
		return err_set(ERR_INPUT, "the body is not one JSON object");
	}
	*out = object;
	return ERR_OK;
}

/* A text as C has it; what names it in the sentence. */
static enum err
as_text(struct json_object *value, const char *what, const char **out)
{
	const char *text;

	if (!json_object_is_type(value, json_type_string))
		return err_set(ERR_INPUT, "\"%s\" must be text", what);
	text = json_object_get_string(value);
	if (strlen(text) != (size_t)json_object_get_string_len(value))
		return err_set(ERR_INPUT, "\"%s\" holds a NUL", what);
	*out = text;
	return ERR_OK;
}

/* NULL where there is no such key; borrowed from object. */
static enum err
get_text(struct json_object *object, const char *key, const char **out)
{
	struct json_object *value;

	if (json_object_object_get_ex(object, key, &value))
		return as_text(value, key, out);
	*out = NULL;
	return ERR_OK;
}

#define SEED_FIELDS 4
#define FIELDS 7

/* The seed's come first: a form has no others. */
static const struct field {
	const char *key;
	size_t at;
} fields[FIELDS] = {
	{ "route", offsetof(struct report_said, route) },
	{ "project", offsetof(struct report_said, project) },
	{ "repo", offsetof(struct report_said, repo) },
	{ "sha1", offsetof(struct report_said, sha1) },
	{ "repository", offsetof(struct report_said, repository) },
	{ "phase", offsetof(struct report_said, phase) },
	{ "token", offsetof(struct report_said, token) },
};

static const char **
field_in(struct report_said *said, const struct field *field)
{
	return (const char **)((char *)said + field->at);
}

/* An array of objects of texts; the real refs are read elsewhere. */
static enum err
check_refs(struct json_object *object)
{
	struct json_object *refs;
	const char *text;
	enum err err;

	if (!json_object_object_get_ex(object, "refs", &refs))
		return ERR_OK;
	if (!json_object_is_type(refs, json_type_array))
		return err_set(ERR_INPUT, "\"refs\" must be an array");
	for (size_t i = 0; i < json_object_array_length(refs); i++) {
		struct json_object *ref = json_object_array_get_idx(refs, i);

		if (!json_object_is_type(ref, json_type_object))
			return err_set(ERR_INPUT, "\"refs\" must hold objects");
		json_object_object_foreach(ref, key, value)
		{
			(void)key;
			err = as_text(value, "refs", &text);
			if (err != ERR_OK)
				return err;
		}
	}
	return ERR_OK;
}

enum err
wire_get_push(const char *body, size_t len, struct push_report *out)
{
	struct report_said said = { 0 };
	struct json_object *object;
	enum err err = parse(body, len, MAX_PUSH_BODY, &object);

	if (err != ERR_OK)
		return err;
	for (size_t i = 0; i < FIELDS && err == ERR_OK; i++)
		err = get_text(object, fields[i].key,
		    field_in(&said, &fields[i]));
	if (err == ERR_OK)
		err = check_refs(object);
	if (err == ERR_OK)
		err = report_make(&said, out);
	json_object_put(object);
	return err;
}

enum err
wire_get_push_form(const char *query, size_t len, struct push_report *out)
{
	const char *keys[SEED_FIELDS];
	char *values[SEED_FIELDS];
	struct report_said said = { 0 };
	enum err err;

	if (len > MAX_PUSH_BODY)
		return err_set(ERR_LIMIT, "the form is over %lu bytes",
		    MAX_PUSH_BODY);
	for (size_t i = 0; i < SEED_FIELDS; i++)
		keys[i] = fields[i].key;
	err = form_get(query, len, keys, SEED_FIELDS, values);
	if (err != ERR_OK)
		return err;
	for (size_t i = 0; i < SEED_FIELDS; i++)
		*field_in(&said, &fields[i]) = values[i];
	err = report_make(&said, out);
	for (size_t i = 0; i < SEED_FIELDS; i++)
		free(values[i]);
	return err;
}

/* "head" (null or left out: none) and "object_format". */
static enum err
get_head(struct json_object *object, char head[MAX_REF + 1],
    char object_format[8])
{
	struct json_object *value;
	const char *name = "", *format = NULL;
	enum err err = ERR_OK;

	if (json_object_object_get_ex(object, "head", &value) && value != NULL)
		err = as_text(value, "head", &name);
	if (err == ERR_OK)
		err = get_text(object, "object_format", &format);
	if (err != ERR_OK)
		return err;
	if (name[0] != '\0' && !refs_legal(name))
		return err_set(ERR_INPUT, "\"head\" must be a full ref name");
	if (format == NULL ||
	    (strcmp(format, "sha1") != 0 && strcmp(format, "sha256") != 0))
		return err_set(ERR_INPUT,
		    "\"object_format\" must be \"sha1\" or \"sha256\"");
	strcpy(head, name);
	strcpy(object_format, format);
	return ERR_OK;
}

static enum err
get_digest(struct json_object *object, struct refs_digest *refs)
{
	struct json_object *count;
	const char *digest;
	enum err err = get_text(object, "digest", &digest);
	int64_t n = -1;

	if (err != ERR_OK)
		return err;
	if (digest == NULL || !name_oid(digest) ||
	    strlen(digest) != DIGEST_HEX_SIZE - 1)
		return err_set(ERR_INPUT,
		    "\"digest\" must be 64 lower hex digits");
	if (json_object_object_get_ex(object, "refs", &count) &&
	    json_object_is_type(count, json_type_int))
		n = json_object_get_int64(count);
	if (n < 0 || n > MAX_REFS)
		return err_set(ERR_INPUT,
		    "\"refs\" must be a number from 0 to %d", MAX_REFS);
	strcpy(refs->digest, digest);
	refs->refs = (size_t)n;
	return ERR_OK;
}

enum err
wire_get_refs(const char *body, size_t len, struct refs_digest *out)
{
	struct refs_digest refs = { 0 };
	struct json_object *object;
	enum err err = parse(body, len, MAX_REFS_BODY, &object);

	if (err != ERR_OK)
		return err;
	err = get_digest(object, &refs);
	if (err == ERR_OK)
		err = get_head(object, refs.head, refs.object_format);
	if (err == ERR_OK)
		*out = refs;
	json_object_put(object);
	return err;
}

enum err
wire_get_fetch(const char *body, size_t len, struct fetch_order *out)
{
	struct fetch_order order = { 0 };
	struct json_object *object;
	enum err err = parse(body, len, MAX_FETCH_BODY, &object);

	if (err != ERR_OK)
		return err;
	err = get_head(object, order.head, order.object_format);
	if (err == ERR_OK)
		*out = order;
	json_object_put(object);
	return err;
}

static enum err
take_names(struct json_object *names, wire_name *take, void *arg)
{
	for (size_t i = 0; i < json_object_array_length(names); i++) {
		const char *name;
		enum err err = as_text(json_object_array_get_idx(names, i),
		    "repositories", &name);

		if (err == ERR_OK)
			err = take(arg, name);
		if (err != ERR_OK)
			return err;
	}
	return ERR_OK;
}

enum err
wire_get_catalogue(const char *body, size_t len, wire_name *take, void *arg,
    size_t *count)
{
	struct json_object *object, *names;
	enum err err = parse(body, len, MAX_CATALOGUE_BODY, &object);
	size_t n = 0;

	if (err != ERR_OK)
		return err;
	if (!json_object_object_get_ex(object, "repositories", &names)) {
		err = err_set(ERR_INPUT, "\"repositories\" is missing");
	} else if (json_object_is_type(names, json_type_array)) {
		n = json_object_array_length(names);
		err = take_names(names, take, arg);
	} else if (names != NULL) {
		/* an empty list may be null: Go writes a nil slice so */
		err = err_set(ERR_INPUT, "\"repositories\" must be an array");
	}
	if (err == ERR_OK)
		*count = n;
	json_object_put(object);
	return err;
}

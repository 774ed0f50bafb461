/* feed.c: the completion feed: what a finished request's log line proves */
/* SPDX-License-Identifier: ISC */
#include "sync/feed.h"

#include <string.h>

#include "sync/fence.h"
#include "sync/place.h"
#include "sync/token.h"

#define FEED_WORD "reproute-feed"

/* A field of a line: what stands before the next space. */
struct field {
	const char *text;
	size_t len;
};

/* The line ends at end; false where it has no more fields. */
static bool
next_field(const char **at, const char *end, struct field *out)
{
	const char *space;

	if (*at > end)
		return false;
	space = memchr(*at, ' ', (size_t)(end - *at));
	out->text = *at;
	out->len = (size_t)((space != NULL ? space : end) - *at);
	*at = out->text + out->len + 1;
	return true;
}

/* Into out of that size; false if it does not fit. */
static bool
copy_field(const struct field *field, char *out, size_t size)
{
	if (field->len >= size)
		return false;
	memcpy(out, field->text, field->len);
	out[field->len] = '\0';
	return true;
}

static bool
is_dash(const struct field *field)
{
	return field->len == 1 && field->text[0] == '-';
}

static bool
take_token(const struct field *field, struct feed_line *line)
{
	return copy_field(field, line->token, sizeof(line->token)) &&
	    token_legal(line->token);
}

/* Three digits, or "-" where the web server has none: 0. */
static bool
take_status(const struct field *field, struct feed_line *line)
{
	char digits[4];

	line->status = 0;
	if (is_dash(field))
		return true;
	if (!copy_field(field, digits, sizeof(digits)) ||
	    strspn(digits, "0123456789") != 3)
		return false;
	for (int i = 0; i < 3; i++)
		line->status = line->status * 10 + (unsigned)(digits[i] - '0');
	return true;
}

/* Decimal, nginx with leading zeros; nothing here depends on how long. */
static bool
take_microseconds(const struct field *field, struct feed_line *line)
{
	char digits[24];

	(void)line;
	return is_dash(field) ||
	    (copy_field(field, digits, sizeof(digits)) && digits[0] != '\0' &&
		digits[strspn(digits, "0123456789")] == '\0');
}

/* A name of the configuration; "" or "-" where none was chosen. */
static bool
take_upstream(const struct field *field, struct feed_line *line)
{
	line->upstream[0] = '\0';
	return field->len == 0 || is_dash(field) ||
	    (copy_field(field, line->upstream, sizeof(line->upstream)) &&
		name_word(line->upstream));
}

/* Of the fields behind the fixed ones; without done= nothing is proved. */
static bool
take_mark(const char *at, const char *end, struct feed_line *line)
{
	static const char *const marks[] = { "", "OK", "+", "-", "X" };
	static const char key[] = "done=";
	const size_t key_len = sizeof(key) - 1;
	struct field field;

	line->done[0] = '\0';
	while (next_field(&at, end, &field)) {
		if (field.len < key_len ||
		    memcmp(field.text, key, key_len) != 0)
			continue;
		field.text += key_len;
		field.len -= key_len;
		if (!copy_field(&field, line->done, sizeof(line->done)))
			return false;
		for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
			if (strcmp(line->done, marks[i]) == 0)
				return true;
		return false;
	}
	return true;
}

/* at is behind the word and its space */
static bool
parse_at(const char *at, struct feed_line *out)
{
	static bool (*const fields[])(const struct field *,
	    struct feed_line *) = {
		take_token,
		take_status,
		take_microseconds,
		take_upstream,
	};
	const char *end = at + strcspn(at, "\r\n");
	struct feed_line line = { .status = 0 };
	struct field field;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (!next_field(&at, end, &field) || !fields[i](&field, &line))
			return false;
	if (!take_mark(at, end, &line))
		return false;
	*out = line;
	return true;
}

enum err
feed_parse(const char *text, struct feed_line *out)
{
	static const char word[] = FEED_WORD " ";
	const char *at = text;

	/* a syslog's host or tag may be the same word: the next one, then */
	while ((at = strstr(at, word)) != NULL) {
		at += sizeof(word) - 1;
		if (parse_at(at, out))
			return ERR_OK;
	}
	return err_set(ERR_INPUT,
	    "no line of the form \"" FEED_WORD " TOKEN "
	    "STATUS MICROSECONDS UPSTREAM done=MARK addr=WHO\"");
}

static bool
is_one_of(const char *mark, const char *const *marks)
{
	for (; *marks != NULL; marks++)
		if (strcmp(mark, *marks) == 0)
			return true;
	return false;
}

enum feed_verdict
feed_judge(const struct feed_line *line)
{
	static const char *const whole[] = { "OK", "+", NULL };
	static const char *const over[] = { "OK", "+", "-", NULL };

	const char *const *marks = NULL;

	switch (line->status) {
	case 401:
	case 403:
	case 404:
	case 413:
	case 429:
		/* refused before anything ran */
		marks = over;
		break;
	default:
		/* "-": the answer may have been cut by a killed upstream */
		if (line->status / 100 == 2)
			marks = whole;
		break;
	}
	return marks != NULL && is_one_of(line->done, marks) ? FEED_SETTLED
							     : FEED_UNSETTLED;
}

struct application {
	const struct conf *conf;
	const struct feed_line *line;
	const struct route *route;
	struct token token;
};

static enum err
apply_push(struct table_txn *txn, const struct application *application)
{
	const struct feed_line *line = application->line;

	if (application->route->kind != ROUTE_GIT)
		return ERR_ABSENT;
	if (feed_judge(line) == FEED_SETTLED)
		return fence_end(txn, application->route,
		    application->token.name, line->token, NULL);
	return fence_broken(txn, application->route, application->token.name,
	    line->token);
}

static enum err
apply(struct table_txn *txn, void *arg)
{
	struct application *application = arg;
	const struct feed_line *line = application->line;
	enum err err;

	err = token_get(txn, line->token, &application->token);
	if (err != ERR_OK)
		return err;
	application->route = conf_route(application->conf,
	    application->token.route);
	if (application->route == NULL)
		return ERR_ABSENT;
	if (application->token.use == TOKEN_PUSH)
		return apply_push(txn, application);
	if (application->route->kind != ROUTE_REGISTRY)
		return ERR_ABSENT;
	return place_settle(txn, application->route, application->token.name,
	    line->token, application->token.use == TOKEN_MANIFEST,
	    line->status);
}

enum err
feed_apply(struct table *table, const struct conf *conf,
    const struct feed_line *line, const struct route **route, char *name)
{
	struct application application = { .conf = conf, .line = line };
	enum err err = table_write(table, apply, &application);

	if (err == ERR_OK) {
		*route = application.route;
		strcpy(name, application.token.name);
	}
	return err;
}

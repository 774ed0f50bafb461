/* feed.c: the completion feed: what a finished request's log line proves */
/* SPDX-License-Identifier: ISC */
#include "sync/feed.h"

#include <stdio.h>
#include <string.h>

#include "sync/fence.h"
#include "sync/peer.h"
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
	line->token[0] = '\0';
	return is_dash(field) ||
	    (copy_field(field, line->token, sizeof(line->token)) &&
		token_legal(line->token));
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

static bool
take_mark(const struct field *field, struct feed_line *line)
{
	static const char *const marks[] = { "", "OK", "+", "-", "X" };

	if (!copy_field(field, line->done, sizeof(line->done)))
		return false;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strcmp(line->done, marks[i]) == 0)
			return true;
	return false;
}

/* Only people read it. */
static bool
take_addr(const struct field *field, struct feed_line *line)
{
	snprintf(line->addr, sizeof(line->addr), "%.*s",
	    field->len < sizeof(line->addr) ? (int)field->len
					    : (int)sizeof(line->addr) - 1,
	    field->text);
	return true;
}

/* What is no name is unknown: it must not cost a push its line. */
static bool
take_name(const struct field *field, char out[WORD_SIZE])
{
	if (is_dash(field) || !copy_field(field, out, WORD_SIZE) ||
	    !name_word(out))
		out[0] = '\0';
	return true;
}

static bool
take_served(const struct field *field, struct feed_line *line)
{
	return take_name(field, line->served);
}

static bool
take_unfenced(const struct field *field, struct feed_line *line)
{
	return take_name(field, line->unfenced);
}

/* The fields behind the fixed ones, in any order; of each the first counts. */
static bool
take_named(const char *at, const char *end, struct feed_line *line)
{
	static const struct {
		const char *key;
		bool (*take)(const struct field *, struct feed_line *);
	} named[] = {
		{ "done=", take_mark },
		{ "addr=", take_addr },
		{ "served=", take_served },
		{ "unfenced=", take_unfenced },
	};
	bool seen[sizeof(named) / sizeof(named[0])] = { false };
	struct field field;

	while (next_field(&at, end, &field))
		for (size_t i = 0; i < sizeof(seen); i++) {
			size_t len = strlen(named[i].key);

			if (seen[i] || field.len < len ||
			    memcmp(field.text, named[i].key, len) != 0)
				continue;
			seen[i] = true;
			field.text += len;
			field.len -= len;
			if (!named[i].take(&field, line))
				return false;
			break;
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
	if (!take_named(at, end, &line))
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
	    "STATUS MICROSECONDS UPSTREAM done=MARK addr=WHO "
	    "served=NAME unfenced=ROUTE\"");
}

static bool
is_one_of(const char *mark, const char *const *marks)
{
	for (; *marks != NULL; marks++)
		if (strcmp(mark, *marks) == 0)
			return true;
	return false;
}

bool
feed_is_write(const struct feed_line *line)
{
	return line->token[0] != '\0' || line->unfenced[0] != '\0';
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

enum feed_news
feed_tells(const struct feed_line *line)
{
	if (feed_is_write(line) || line->upstream[0] == '\0')
		return FEED_WELL;
	if (line->status == 502 || line->status == 503 ||
	    (line->served[0] != '\0' &&
		strcmp(line->served, line->upstream) != 0))
		return FEED_FAILED;
	if (line->status == 504)
		return FEED_LATE;
	/* a client that went away, or a Connection: close, looks the same */
	if (line->status / 100 == 2 &&
	    (strcmp(line->done, "-") == 0 || strcmp(line->done, "X") == 0))
		return FEED_CUT;
	return FEED_WELL;
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

/*
 * Whoever has no password may send writes, which the web server itself
 * refuses without asking the router: they must not cost a route its marks.
 */
static bool
is_refused(const struct feed_line *line)
{
	return feed_judge(line) == FEED_SETTLED && line->status / 100 != 2;
}

static enum err
apply_unfenced(struct table_txn *txn, struct application *application)
{
	if (is_refused(application->line))
		return ERR_ABSENT;
	application->route = conf_route(application->conf,
	    application->line->unfenced);
	if (application->route == NULL || application->route->kind != ROUTE_GIT)
		return ERR_ABSENT;
	return epoch_raise(txn, application->route, NULL);
}

static enum err
apply(struct table_txn *txn, void *arg)
{
	struct application *application = arg;
	const struct feed_line *line = application->line;
	enum err err;

	if (line->token[0] == '\0')
		return apply_unfenced(txn, application);
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
	enum err err;

	if (!feed_is_write(line))
		return ERR_ABSENT;
	err = table_write(table, apply, &application);
	if (err == ERR_OK) {
		*route = application.route;
		strcpy(name, application.token.name);
	}
	return err;
}

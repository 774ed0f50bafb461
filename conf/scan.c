/* scan.c: mistakes in a configuration's bytes that libconfig hides */
/* SPDX-License-Identifier: ISC */
#include "conf/scan.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Tokens as libconfig's scanner.l cuts them, as far as we need them. */
enum token { TOKEN_END, TOKEN_TEXT, TOKEN_NUMBER, TOKEN_WORD, TOKEN_SIGN };

struct scan {
	const char *at;
	unsigned line;
	/* the token last returned */
	const char *token;
	size_t len;
};

/* Steps over n bytes and counts their lines. */
static void
step(struct scan *scan, size_t n)
{
	for (; n > 0; n--)
		if (*scan->at++ == '\n')
			scan->line++;
}

/* Bytes of the blank or comment at text; 0 where there is none with an end. */
static size_t
blank_len(const char *text)
{
	const char *end;

	if (*text == '#' || strncmp(text, "//", 2) == 0)
		return strcspn(text, "\n");
	if (strncmp(text, "/*", 2) != 0)
		return strspn(text, " \t\r\n\f\v");
	end = strstr(text + 2, "*/");
	return end != NULL ? (size_t)(end + 2 - text) : 0;
}

static size_t
text_len(const char *text)
{
	const char *at = text + 1;

	while (*at != '\0' && *at != '"')
		at += at[0] == '\\' && at[1] != '\0' ? 2 : 1;
	return (size_t)(at - text) + (*at == '"');
}

static enum token
next(struct scan *scan)
{
	enum token token = TOKEN_SIGN;
	size_t blank;

	step(scan, scan->len);
	while ((blank = blank_len(scan->at)) > 0)
		step(scan, blank);
	scan->token = scan->at;
	scan->len = 1;
	if (*scan->at == '\0') {
		scan->len = 0;
		token = TOKEN_END;
	} else if (*scan->at == '"') {
		scan->len = text_len(scan->at);
		token = TOKEN_TEXT;
	} else if (isdigit((unsigned char)*scan->at)) {
		while (isalnum((unsigned char)scan->at[scan->len]) ||
		    scan->at[scan->len] == '.')
			scan->len++;
		token = TOKEN_NUMBER;
	} else if (isalpha((unsigned char)*scan->at)) {
		while (isalnum((unsigned char)scan->at[scan->len]) ||
		    (scan->at[scan->len] != '\0' &&
			strchr("-_*", scan->at[scan->len]) != NULL))
			scan->len++;
		token = TOKEN_WORD;
	}
	return token;
}

/* Is it an integer without the suffix L, and over 32 bits? */
static bool
too_large(const struct scan *scan)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(scan->token, &end,
	    strncasecmp(scan->token, "0x", 2) == 0 ? 16 : 10);
	return end == scan->token + scan->len &&
	    (errno == ERANGE || value > INT32_MAX);
}

/* Has a quoted text an escape that stands for NUL? */
static bool
has_nul_escape(const struct scan *scan)
{
	for (size_t i = 0; i + 3 < scan->len; i++)
		if (scan->token[i] == '\\') {
			if (strncasecmp(scan->token + i, "\\x00", 4) == 0)
				return true;
			i++;
		}
	return false;
}

static bool
starts(const struct scan *scan, const char *text)
{
	return strncmp(scan->token, text, strlen(text)) == 0;
}

/* What is wrong with the token, and the cure; or NULL. */
static const char *
mistake(const struct scan *scan, enum token token)
{
	switch (token) {
	case TOKEN_NUMBER:
		return too_large(scan)
		    ? "the number here is too large; "
		      "reproute.conf(5) has the bounds of each key"
		    : NULL;
	case TOKEN_TEXT:
		/* one without an end runs to the file's last newline */
		if (scan->token[scan->len - 1] != '"')
			return "a text begins here and does not end; close "
			       "it with a quote";
		return has_nul_escape(scan) ? "a text holds \\x00; leave it "
					      "out"
					    : NULL;
	case TOKEN_SIGN:
		if (starts(scan, "/*"))
			return "a comment begins here and does not end; "
			       "close it with */";
		return starts(scan, "@include")
		    ? "@include is not known; "
		      "put that file into conf.d/ beside this one"
		    : NULL;
	default:
		return NULL;
	}
}

enum err
scan_check(const char *file, const char *bytes, size_t len)
{
	struct scan scan = { .at = bytes, .line = 1 };
	enum token token;

	while ((token = next(&scan)) != TOKEN_END) {
		const char *text = mistake(&scan, token);

		if (text != NULL)
			return err_set(ERR_CONF, "%s:%u: %s", file, scan.line,
			    text);
	}
	if (scan.at != bytes + len)
		return err_set(ERR_CONF,
		    "%s:%u: a NUL byte; write the file "
		    "as text",
		    file, scan.line);
	return ERR_OK;
}

bool
scan_trailing_comma(const char *bytes, unsigned line)
{
	struct scan scan = { .at = bytes, .line = 1 };
	bool comma = false;

	while (next(&scan) != TOKEN_END && scan.line <= line) {
		if (comma && scan.line == line &&
		    (*scan.token == ')' || *scan.token == ']'))
			return true;
		comma = *scan.token == ',';
	}
	return false;
}

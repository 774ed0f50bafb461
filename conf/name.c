/* name.c: which names are legal: repositories, upstreams, object ids */
/* SPDX-License-Identifier: ISC */
#include "conf/name.h"

#include <string.h>

static bool
is_low_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Bytes of one well-formed UTF-8 character at text (RFC 3629, 4), or 0. */
static size_t
utf8_len(const unsigned char *text)
{
	unsigned char lead = text[0];
	unsigned char low = 0x80, high = 0xbf;
	size_t len;

	if (lead < 0x80)
		return lead < 0x20 || lead == 0x7f ? 0 : 1;
	if (lead >= 0xc2 && lead <= 0xdf)
		len = 2;
	else if (lead >= 0xe0 && lead <= 0xef)
		len = 3;
	else if (lead >= 0xf0 && lead <= 0xf4)
		len = 4;
	else
		return 0;
	/* no overlong forms, no surrogates, nothing above U+10FFFF */
	if (lead == 0xe0)
		low = 0xa0;
	else if (lead == 0xed)
		high = 0x9f;
	else if (lead == 0xf0)
		low = 0x90;
	else if (lead == 0xf4)
		high = 0x8f;
	if (text[1] < low || text[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++)
		if (text[i] < 0x80 || text[i] > 0xbf)
			return 0;
	/* U+0080 to U+009F are control characters, too */
	if (lead == 0xc2 && text[1] < 0xa0)
		return 0;
	return len;
}

static bool
is_dot_segment(const char *segment, size_t len)
{
	return len == 0 || (len == 1 && segment[0] == '.') ||
	    (len == 2 && memcmp(segment, "..", 2) == 0);
}

bool
name_git(const char *name)
{
	size_t len = strlen(name), step;

	if (len == 0 || len > MAX_NAME)
		return false;
	if (len >= 4 && strcmp(name + len - 4, ".git") == 0)
		return false;
	for (size_t i = 0; i < len; i += step)
		if ((step = utf8_len((const unsigned char *)name + i)) == 0)
			return false;
	for (const char *segment = name;;) {
		size_t n = strcspn(segment, "/");

		if (is_dot_segment(segment, n))
			return false;
		if (segment[n] == '\0')
			return true;
		segment += n + 1;
	}
}

/* One component; returns what stands behind it, or NULL. */
static const char *
registry_component(const char *at)
{
	for (;;) {
		const char *run = at;

		while (is_low_alnum(*at))
			at++;
		if (at == run)
			return NULL;
		if (*at == '.') {
			at++;
		} else if (*at == '_') {
			at++;
			if (*at == '_')
				at++;
		} else if (*at == '-') {
			while (*at == '-')
				at++;
		} else {
			return at;
		}
	}
}

bool
name_registry(const char *name)
{
	if (strlen(name) > MAX_REGISTRY_NAME)
		return false;
	for (;;) {
		if ((name = registry_component(name)) == NULL)
			return false;
		if (*name == '\0')
			return true;
		if (*name++ != '/')
			return false;
	}
}

bool
name_word(const char *name)
{
	static const char tail[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
	size_t len = strlen(name);

	return len >= 1 && len <= MAX_WORD && is_low_alnum(name[0]) &&
	    strspn(name, tail) == len;
}

void
name_fold(char *name)
{
	for (; *name != '\0'; name++)
		if (*name >= 'A' && *name <= 'Z')
			*name = (char)(*name + ('a' - 'A'));
}

bool
name_oid(const char *text)
{
	size_t len = strspn(text, "0123456789abcdef");

	return (len == 40 || len == 64) && text[len] == '\0';
}

static void
put_escaped(struct buf *out, const char *value, size_t len, bool keep_slash)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";

	for (size_t i = 0; i < len; i++) {
		if ((value[i] == '/' && keep_slash) ||
		    (value[i] != '\0' && strchr(plain, value[i]) != NULL))
			buf_add(out, &value[i], 1);
		else
			buf_fmt(out, "%%%02X", (unsigned char)value[i]);
	}
}

static enum err
put_value(const struct name_values *values, const char *key, size_t key_len,
    bool url, struct buf *out)
{
	const struct {
		const char *key, *value;
		bool keep_slash;
	} known[] = {
		{ "name", values->name, true },
		{ "upstream", values->upstream, false },
		{ "project", values->project, false },
		{ "repo", values->repo, false },
		{ "sha", values->sha, false },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strlen(known[i].key) != key_len ||
		    memcmp(known[i].key, key, key_len) != 0)
			continue;
		if (known[i].value == NULL)
			break;
		if (url)
			put_escaped(out, known[i].value, strlen(known[i].value),
			    known[i].keep_slash);
		else
			buf_puts(out, known[i].value);
		return ERR_OK;
	}
	return err_set(ERR_CONF,
	    "{%.*s} has no value here; known are {name}, "
	    "{upstream}, {project}, {repo} and {sha}",
	    (int)key_len, key);
}

enum err
name_fill(const char *template, const struct name_values *values, bool url,
    struct buf *out)
{
	enum err err;

	for (const char *at = template; *at != '\0';) {
		size_t plain = strcspn(at, "{}");
		size_t key_len;

		buf_add(out, at, plain);
		at += plain;
		if (*at == '\0')
			break;
		key_len = strcspn(at + 1, "{}");
		if (*at != '{' || at[1 + key_len] != '}')
			return err_set(ERR_CONF,
			    "a brace without its other "
			    "one in \"%s\"",
			    template);
		err = put_value(values, at + 1, key_len, url, out);
		if (err != ERR_OK)
			return err;
		at += key_len + 2;
	}
	return ERR_OK;
}

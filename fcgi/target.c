/* target.c: a request target taken apart: path decoded and resolved, query */
/* SPDX-License-Identifier: ISC */
#include "fcgi/target.h"

#include <string.h>

/* What a decoded NUL becomes: as illegal in a name, and no end of text. */
#define NUL_STAND_IN '\1'

static int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* The byte that "%XX" at text stands for; -1 where it is none. */
static int
escaped_byte(const char *text, size_t len)
{
	int high, low;

	if (len < 3 || text[0] != '%')
		return -1;
	high = hex_value(text[1]);
	low = hex_value(text[2]);
	return high < 0 || low < 0 ? -1 : high << 4 | low;
}

/* len is MAX_TARGET at most. */
static void
decode_path(const char *raw, size_t len, bool plain, struct target *out)
{
	char *to = out->path;

	for (size_t i = 0; i < len; i++) {
		int byte = escaped_byte(raw + i, len - i);

		if (byte >= 0) {
			i += 2;
			out->odd |= byte == '/';
		} else if (raw[i] == ';' && !plain) {
			/*
			 * Servlet containers drop path parameters (Jakarta
			 * Servlet 6.0, 3.5.2); others take them as text.
			 */
			while (i + 1 < len && raw[i + 1] != '/')
				i++;
			out->changed = true;
			continue;
		} else {
			byte = (unsigned char)raw[i];
			out->odd |= byte == '%';
		}
		*to++ = byte == '\0' ? NUL_STAND_IN : (char)byte;
	}
	*to = '\0';
}

static void
resolve_path(struct target *out)
{
	const char *from = out->path;
	char *to = out->path;

	while (*from == '/') {
		const char *segment = from + 1;
		size_t len = strcspn(segment, "/");
		bool last = segment[len] == '\0';
		bool up = len == 2 && memcmp(segment, "..", 2) == 0;
		bool here = len == 1 && segment[0] == '.';

		from = segment + len;
		if (up || here || (len == 0 && !last)) {
			out->changed = true;
			while (up && to > out->path && *--to != '/')
				;
			if (!last)
				continue;
			len = 0;
		}
		*to++ = '/';
		memmove(to, segment, len);
		to += len;
	}
	*to = '\0';
}

/* Where the path begins; NULL where text is neither a path nor a URL. */
static const char *
skip_authority(const char *text)
{
	size_t scheme = strspn(text,
	    "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");

	if (text[0] == '/')
		return text;
	if (scheme == 0 || strncmp(text + scheme, "://", 3) != 0)
		return NULL;
	text += scheme + 3;
	return text + strcspn(text, "/?#");
}

static bool
read_target(const char *text, bool plain, struct target *out)
{
	const char *path = skip_authority(text);
	size_t len;

	if (path == NULL)
		return false;
	len = strcspn(path, "?#");
	out->query = path[len] == '?' ? path + len + 1 : "";
	out->cut = strlen(path) > MAX_TARGET;
	out->odd = false;
	/* no client may send a fragment; some servers cut it, some do not */
	out->changed = strchr(path, '#') != NULL;
	if (len == 0) {
		path = "/";
		len = 1;
	}
	decode_path(path, len > MAX_TARGET ? MAX_TARGET : len, plain, out);
	resolve_path(out);
	return true;
}

bool
target_read(const char *text, struct target *out)
{
	return read_target(text, false, out);
}

bool
target_read_plain(const char *text, struct target *out)
{
	return read_target(text, true, out);
}

bool
target_means(const char *text, size_t len, const char *want)
{
	for (size_t i = 0; i < len; i++) {
		int byte = escaped_byte(text + i, len - i);

		if (byte >= 0)
			i += 2;
		else
			byte = text[i] == '+' ? ' ' : (unsigned char)text[i];
		if (byte == '\0' || byte != (unsigned char)*want++)
			return false;
	}
	return *want == '\0';
}

/* form.c: "key=value&key=value", as queries and forms have it */
/* SPDX-License-Identifier: ISC */
#include "sync/form.h"

#include <stdlib.h>
#include <string.h>

#include "conf/mem.h"

/* The value of a hex digit, or -1. */
static int
hex_value(char c)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	const char *at = c != '\0' ? strchr(digits, c) : NULL;

	if (at == NULL)
		return -1;
	return (int)(at - digits) - (at - digits > 15 ? 6 : 0);
}

static enum err
decode(const char *text, size_t len, struct buf *out)
{
	for (size_t i = 0; i < len; i++) {
		char byte = text[i];

		if (byte == '+') {
			byte = ' ';
		} else if (byte == '%') {
			int high = i + 2 < len ? hex_value(text[i + 1]) : -1;
			int low = i + 2 < len ? hex_value(text[i + 2]) : -1;

			if (high < 0 || low < 0)
				return err_set(ERR_INPUT,
				    "a \"%%\" without two hex digits");
			byte = (char)(high << 4 | low);
			i += 2;
		}
		if (byte == '\0')
			return err_set(ERR_INPUT, "a NUL in a form");
		buf_add(out, &byte, 1);
	}
	return ERR_OK;
}

/* One "key=value", or a key alone, whose value is "". */
static enum err
take_pair(const char *pair, size_t len, const char *const *keys, size_t n,
    char **values)
{
	const char *equals = memchr(pair, '=', len);
	size_t key_len = equals != NULL ? (size_t)(equals - pair) : len;
	struct buf key = { 0 }, value = { 0 };
	enum err err = decode(pair, key_len, &key);

	if (err == ERR_OK && equals != NULL)
		err = decode(equals + 1, len - key_len - 1, &value);
	for (size_t i = 0; i < n && err == ERR_OK && key.len > 0; i++) {
		if (strcmp(key.data, keys[i]) != 0)
			continue;
		if (values[i] != NULL)
			err = err_set(ERR_INPUT, "\"%s\" is there twice",
			    keys[i]);
		else
			values[i] = mem_dup(value.len > 0 ? value.data : "");
	}
	buf_free(&key);
	buf_free(&value);
	return err;
}

enum err
form_get(const char *text, size_t len, const char *const *keys, size_t n,
    char **values)
{
	char **got = mem_array(n, sizeof(*got));
	enum err err = ERR_OK;

	for (size_t at = 0; at < len && err == ERR_OK;) {
		const char *end = memchr(text + at, '&', len - at);
		size_t pair = end != NULL ? (size_t)(end - text) - at
					  : len - at;

		err = take_pair(text + at, pair, keys, n, got);
		at += pair + 1;
	}
	for (size_t i = 0; i < n; i++) {
		if (err == ERR_OK)
			values[i] = got[i];
		else
			free(got[i]);
	}
	free(got);
	return err;
}

/* legal.c: which texts are legal as URLs, paths, prefixes and templates */
/* SPDX-License-Identifier: ISC */
#include "conf/legal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/mem.h"
#include "conf/name.h"

#define ALNUM "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* [from, to) holds only bytes of set? */
static bool
only(const char *from, const char *to, const char *set)
{
	for (; from < to; from++)
		if (strchr(set, *from) == NULL)
			return false;
	return true;
}

/* ":PORT" or nothing */
static bool
legal_port(const char *at, const char *end)
{
	if (at == end)
		return true;
	return *at == ':' && end - at >= 2 && end - at <= 6 &&
	    only(at + 1, end, "0123456789") && atoi(at + 1) >= 1 &&
	    atoi(at + 1) <= 65535;
}

/* HOST[:PORT], where HOST is a name, an IPv4 or an [IPv6] address */
static bool
legal_authority(const char *at, const char *end)
{
	const char *host = at;

	if (*at == '[') {
		while (at < end && *at != ']')
			at++;
		return at - host >= 3 && at < end &&
		    only(host + 1, at, "0123456789abcdefABCDEF:.") &&
		    legal_port(at + 1, end);
	}
	while (at < end && *at != ':')
		at++;
	return at > host && only(host, at, ALNUM ".-_") && legal_port(at, end);
}

enum err
legal_url(const char *url)
{
	const char *at = strstr(url, "://"), *end;

	if (at == NULL ||
	    (strncmp(url, "http://", 7) != 0 &&
		strncmp(url, "https://", 8) != 0))
		return err_set(ERR_CONF,
		    "\"%s\" is no http or https URL; "
		    "write http://HOST:PORT",
		    url);
	if (strlen(url) > MAX_URL)
		return err_set(ERR_CONF, "a URL of %zu bytes; %d is the most",
		    strlen(url), MAX_URL);
	at += 3;
	end = at + strcspn(at, "/?#");
	if (memchr(at, '@', (size_t)(end - at)) != NULL)
		return err_set(ERR_CONF,
		    "a URL with a user or a password; "
		    "leave them out, and name a netrc(5) file by auth_file");
	if (strpbrk(url, "?#") != NULL)
		return err_set(ERR_CONF,
		    "\"%s\" has a query or a fragment; "
		    "leave them out",
		    url);
	if (!legal_authority(at, end))
		return err_set(ERR_CONF,
		    "\"%s\" has no legal host and port; "
		    "write http://HOST:PORT",
		    url);
	/* no quote, brace or dollar: it goes into web servers' files */
	if (!only(end, end + strlen(end), ALNUM "/-._~%+:@,="))
		return err_set(ERR_CONF,
		    "the path of \"%s\" has a byte that "
		    "is not taken; percent-encode it",
		    url);
	return ERR_OK;
}

enum err
legal_path(const char *path)
{
	if (path[0] != '/')
		return err_set(ERR_CONF,
		    "\"%s\" is no absolute path; write "
		    "one that starts with /",
		    path);
	return ERR_OK;
}

enum err
legal_prefix(enum route_kind kind, const char *prefix)
{
	size_t len = strlen(prefix);

	if (kind == ROUTE_REGISTRY)
		return strcmp(prefix, "/v2/") == 0
		    ? ERR_OK
		    : err_set(ERR_CONF,
			  "the prefix of a registry is always "
			  "\"/v2/\" (its clients know no other), not \"%s\"",
			  prefix);
	if (len == 0 || prefix[0] != '/' || prefix[len - 1] != '/')
		return err_set(ERR_CONF,
		    "the prefix \"%s\" must start and "
		    "end with a slash; write \"/scm/\"",
		    prefix);
	if (!only(prefix, prefix + len, ALNUM "/-._~+@"))
		return err_set(ERR_CONF,
		    "the prefix \"%s\" has a byte that "
		    "is not taken; letters, digits and -._~+@ are",
		    prefix);
	if (strstr(prefix, "//") != NULL || strstr(prefix, "/./") != NULL ||
	    strstr(prefix, "/../") != NULL)
		return err_set(ERR_CONF,
		    "the prefix \"%s\" has an empty, . "
		    "or .. segment; leave it out",
		    prefix);
	return ERR_OK;
}

enum err
legal_name(const char *name)
{
	return name_word(name)
	    ? ERR_OK
	    : err_set(ERR_CONF,
		  "the name \"%s\" is not legal; write 1 to %d "
		  "of a-z, 0-9, _ and -, a letter or a digit first",
		  name, MAX_WORD);
}

enum err
legal_upstream_name(const char *name)
{
	if (strcmp(name, UPSTREAM_HOLD) == 0 ||
	    strcmp(name, UPSTREAM_CATALOGUE) == 0)
		return err_set(ERR_CONF,
		    "the name \"%s\" is an answer of "
		    "the router's own; choose another",
		    name);
	return legal_name(name);
}

/* Expands with values that any name may have; out is appended to. */
static enum err
fill_dummies(const char *template, bool url, struct buf *out)
{
	const struct name_values dummies = { .name = "a/b", .upstream = "u" };

	return name_fill(template, &dummies, url, out);
}

enum err
legal_template(const char *template)
{
	struct buf filled = { 0 };
	enum err err = fill_dummies(template, false, &filled);

	buf_free(&filled);
	return err;
}

static enum err
legal_filled(const char *template, bool url, enum err (*legal)(const char *))
{
	struct buf filled = { 0 };
	enum err err;

	if (strstr(template, "{name}") == NULL)
		return err_set(ERR_CONF,
		    "\"%s\" is the same for every "
		    "repository; put {name} where its name goes",
		    template);
	err = fill_dummies(template, url, &filled);
	if (err == ERR_OK)
		err = legal(filled.data);
	buf_free(&filled);
	return err;
}

enum err
legal_path_template(const char *template)
{
	return legal_filled(template, false, legal_path);
}

enum err
legal_url_template(const char *template)
{
	return legal_filled(template, true, legal_url);
}

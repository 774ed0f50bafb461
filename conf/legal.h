/* legal.h: which texts are legal as URLs, paths, prefixes and templates */
/* SPDX-License-Identifier: ISC */
#ifndef CONF_LEGAL_H
#define CONF_LEGAL_H

#include "conf/conf.h"
#include "conf/err.h"

/* Longest URL and longest text of any other key, in bytes. */
#define MAX_URL 1024
#define MAX_TEXT 4095
/*
 * Longest run_dir, so that the names of the sockets below it fit into a
 * sockaddr_un (unix(7): 107 bytes).
 */
#define MAX_RUN_DIR 80

/*
 * None is empty or holds a control character: want_text() saw to that.
 * Each answers ERR_CONF with what is wrong and what to write instead; the
 * caller puts the place before it.
 */

/* http(s)://HOST[:PORT][/PATH]: no user, query, fragment or odd byte. */
MUST_USE enum err legal_url(const char *url);

/* An absolute path. */
MUST_USE enum err legal_path(const char *path);

/* "/v2/" of a registry; of git: as decoded, "/" at both ends. */
MUST_USE enum err legal_prefix(enum route_kind, const char *prefix);

/* name_word(); of an upstream, none of those that the router keeps. */
MUST_USE enum err legal_name(const char *name);
MUST_USE enum err legal_upstream_name(const char *name);

/* Braces as name_fill() takes them, {name} and {upstream} having values. */
MUST_USE enum err legal_template(const char *template);

/* The same, holding {name}, of a path and of a URL. */
MUST_USE enum err legal_path_template(const char *template);
MUST_USE enum err legal_url_template(const char *template);

#endif

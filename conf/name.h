/* name.h: which names are legal: repositories, upstreams, object ids */
/* SPDX-License-Identifier: ISC */
#ifndef CONF_NAME_H
#define CONF_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/mem.h"

/* Longest repository name in bytes, decoded and without ".git". */
#define MAX_NAME 1024
#define NAME_SIZE (MAX_NAME + 1)
/* Longest registry repository name in bytes (OCI distribution-spec). */
#define MAX_REGISTRY_NAME 255
/* Longest name of an upstream, a route or a rule. */
#define MAX_WORD 63
#define WORD_SIZE (MAX_WORD + 1)

/*
 * A git repository's printed form: 1 to MAX_NAME bytes of UTF-8 without a
 * control byte, no empty, "." or ".." segment, no slash at either end, not
 * ending in ".git".
 */
bool name_git(const char *name);

/*
 * A registry repository: 1 to 255 bytes, components
 * [a-z0-9]+((\.|_|__|-+)[a-z0-9]+)* joined by "/" (OCI distribution-spec,
 * "Pulling manifests").
 */
bool name_registry(const char *name);

/* [a-z0-9][a-z0-9_-]{0,62}: upstreams, routes. */
bool name_word(const char *name);

/* ASCII upper case to lower, in place. */
void name_fold(char *name);

/* A commit or object id: exactly 40 or 64 lower hex digits. */
bool name_oid(const char *text);

/* The values for name_fill(); a NULL one may not be asked for. */
struct name_values {
	const char *name;
	const char *upstream;
	const char *project; /* all before the last slash of name, or "-" */
	const char *repo;    /* all behind it */
	const char *sha;
};

/*
 * Expands {name}, {upstream}, {project}, {repo}, {sha} of template into out
 * (appended).  ERR_CONF for any other brace or a value that is NULL.
 * url says that each value is percent-encoded (slashes of {name} stay,
 * slashes of {project} become %2F).
 */
MUST_USE enum err name_fill(const char *template, const struct name_values *,
    bool url, struct buf *out);

#endif

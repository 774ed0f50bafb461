/* target.h: a request target taken apart: path decoded and resolved, query */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_TARGET_H
#define FCGI_TARGET_H

#include <stdbool.h>
#include <stddef.h>

/* Longest request target looked at, in bytes. */
#define MAX_TARGET 16384

struct target {
	/* starts with "/"; a decoded NUL stands there as "\1" */
	char path[MAX_TARGET + 1];
	const char *query; /* as it came, borrowed; "" for none */
	bool cut;	   /* over MAX_TARGET: path is its beginning */
	/*
	 * The resolving took out empty or dot segments, path parameters
	 * (";x") or a fragment ("#x").
	 */
	bool changed;
	bool odd; /* an encoded slash, or a "%" of nothing */
};

/*
 * Takes text apart: a path, or an absolute URL, of which scheme and host are
 * dropped.  The path is percent-decoded exactly once, then resolved (RFC
 * 3986, 5.2.4; empty segments go first, as web servers do it); a slash at
 * its end stays.  false: text is neither, and *out is not to be used.
 */
bool target_read(const char *text, struct target *out);
/* The same, but path parameters are text, as they are to web servers. */
bool target_read_plain(const char *text, struct target *out);

/* Does this piece of a query, "%XX"- and "+"-encoded, mean want? */
bool target_means(const char *text, size_t len, const char *want);

#endif

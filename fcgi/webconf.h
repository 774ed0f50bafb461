/* webconf.h: a web server's part, printed from the configuration */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_WEBCONF_H
#define FCGI_WEBCONF_H

#include <stdbool.h>

#include "conf/conf.h"
#include "conf/mem.h"

/* Where things are on this host; absolute paths, see webconf_check(). */
struct webconf {
	const struct conf *conf;
	const char *conf_file;	 /* NULL: the default one */
	const char *socket;	 /* of reproute-fcgi */
	const char *feed_socket; /* of reproute-syncd */
	const char *script;	 /* where the second file is to be put */
	const char *bin_dir, *libexec_dir;
};

/*
 * ERR_CONF for a path that a web server's file or its shell might read as
 * something else: all but letters, digits and /._-+@,= is refused.
 */
MUST_USE enum err webconf_check(const struct webconf *);

/*
 * The includable part, and the script that it names; both appended.
 * ERR_CONF for an upstream that this server cannot reach, with what to do.
 */
MUST_USE enum err webconf_lighttpd(const struct webconf *, struct buf *out);
void webconf_lighttpd_script(const struct webconf *, struct buf *out);

/* An upstream's URL in its parts. */
struct webconf_target {
	bool tls;
	char host[256]; /* an IPv6 address without its brackets */
	unsigned port;
	const char *path; /* "" or "/path"; borrowed of the upstream */
};
MUST_USE enum err webconf_target(const struct upstream *,
    struct webconf_target *out);

/* Does any route send requests there? */
bool webconf_uses(const struct conf *, const struct upstream *);

#endif

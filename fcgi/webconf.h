/* webconf.h: a web server's part, printed from the configuration */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_WEBCONF_H
#define FCGI_WEBCONF_H

#include <stdbool.h>

#include "conf/conf.h"
#include "conf/mem.h"

/* What clients are told where nobody may, or can, serve. */
#define WEBCONF_BUSY "nobody can serve this just now: try again"
/* Who vouches for an https upstream that has no ca_file. */
#define WEBCONF_CA_FILE "/etc/ssl/certs/ca-certificates.crt"

/*
 * Where things are on this host: absolute paths, see webconf_check().  Those
 * that a server does not need are NULL.
 */
struct webconf {
	const struct conf *conf;
	const char *conf_file;	 /* NULL: the default one */
	const char *command;	 /* that prints this part, for its head */
	const char *app;	 /* who starts the router: of webconf_server */
	const char *mode;	 /* how it is asked: of webconf_server */
	const char *socket;	 /* of reproute-fcgi */
	const char *address;	 /* the same, where it has to be TCP */
	const char *push_socket; /* of reproute-push, where there is no CGI */
	const char *feed_socket; /* of reproute-syncd */
	const char *script;	 /* where lighttpd's second file is put */
	const char *access_log;	 /* where routed requests are logged */
	const char *bin_dir, *sbin_dir, *libexec_dir;
};

/* One file of a server's part; ERR_CONF where the server cannot do it. */
typedef enum err webconf_print(const struct webconf *, struct buf *out);

struct webconf_part {
	const char *name; /* as --part takes it; NULL ends a list */
	const char *file; /* where it is put on Debian */
	webconf_print *print;
};

/* A web server; the first app and mode are taken where none is said. */
struct webconf_server {
	const char *name;
	/* where the site has it on Debian; NULL: where its own lines say */
	const char *access_log;
	const char *const *apps; /* ended by NULL */
	/* of the router in any app but the first; NULL: as in that one */
	const char *app_socket;
	const char *const *modes; /* ended by NULL */
	const char *mode_app;	  /* which alone has modes; NULL: all have */
	const struct webconf_part *parts;
};
extern const struct webconf_server webconf_apache, webconf_lighttpd,
    webconf_nginx;

/*
 * ERR_CONF for a path that a web server's file or its shell might read as
 * something else: all but letters, digits and /._-+@,= is refused.
 */
MUST_USE enum err webconf_check(const struct webconf *);

/*
 * Seconds without a byte, after which a read is given up that a replica has
 * taken: git says something every 5 seconds, unless a web server keeps it.
 */
#define WEBCONF_READ_S 600

/* An upstream's URL in its parts. */
struct webconf_target {
	bool tls;
	char host[256]; /* an IPv6 address without its brackets */
	unsigned port;
	const char *path; /* "" or "/path"; borrowed of the upstream */
};
MUST_USE enum err webconf_target(const struct upstream *,
    struct webconf_target *out);

bool webconf_is_tls(const struct upstream *);

/* Does any route send requests there? */
bool webconf_uses(const struct conf *, const struct upstream *);

/*
 * A pattern (PCRE, without an anchor) for every path below a route's prefix
 * after percent-decoding and the resolving of dot segments, path parameters
 * (";x"), which some backends drop, in whatever place included.
 */
void webconf_pattern(const struct route *, struct buf *out);

/* A comment for a server that sends no write on without a decision. */
void webconf_no_undecided(const struct conf *, struct buf *out);

/* A registry's error as JSON, on one line without its end; appended. */
void webconf_registry_error(const char *code, const char *message,
    struct buf *out);

#endif

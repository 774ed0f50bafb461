/* webconf_nginx.h: what the two files of nginx's part share */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_WEBCONF_NGINX_H
#define FCGI_WEBCONF_NGINX_H

#include "fcgi/webconf.h"

/* As what routes have this upstream: other is a primary, or migrate.to. */
struct webconf_nginx_part {
	bool replica, other, registry;
};
struct webconf_nginx_part webconf_nginx_part(const struct conf *,
    const struct upstream *);

/* The head comment of a file; what says what it is, in lines with "#". */
void webconf_nginx_head(const struct webconf *, const char *what,
    struct buf *out);

/* The part for http{}. */
webconf_print webconf_nginx_http;

#endif

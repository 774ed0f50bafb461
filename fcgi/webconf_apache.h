/* webconf_apache.h: what the two files of Apache's part share */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_WEBCONF_APACHE_H
#define FCGI_WEBCONF_APACHE_H

#include "fcgi/webconf.h"

/* A route's primary, then its replicas or its other side. */
#define MAX_MEMBERS (MAX_REPLICAS + 2)

/* Apache starts the router itself (mod_fcgid), one process a request. */
bool webconf_apache_starts(const struct webconf *);

/* How many there are; those in out are borrowed of the configuration. */
size_t webconf_apache_members(const struct route *,
    const struct upstream *out[MAX_MEMBERS]);
bool webconf_apache_has_tls(const struct route *);

webconf_print webconf_apache_print_server, webconf_apache_print_site;

#endif

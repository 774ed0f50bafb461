/* webconf_sample.h: a configuration of every kind of route, for webconf */
/* SPDX-License-Identifier: ISC */
#ifndef TESTS_UNIT_WEBCONF_SAMPLE_H
#define TESTS_UNIT_WEBCONF_SAMPLE_H

#include "conf/conf.h"

/*
 * Upstreams master, slave-1 (below a path), old (IPv6), new, and one that no
 * route has; routes git (/scm/), registry (/v2/, migrating), deep (of a
 * prefix that has to be quoted).  A test may change them, and put them back.
 */
extern struct upstream sample_upstreams[];
extern struct route sample_routes[];
extern struct conf sample_conf;

#endif

/* scan.h: mistakes in a configuration's bytes that libconfig hides */
/* SPDX-License-Identifier: ISC */
#ifndef CONF_SCAN_H
#define CONF_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/err.h"

/*
 * What libconfig would take silently for something else, or names badly: a
 * NUL, a number that does not fit into 32 bits (it is cut), a text or a
 * comment without an end, an @include (conf.d is there for that).  ERR_CONF
 * with "FILE:LINE: ...".  The last byte is a newline, and bytes[len] NUL.
 */
MUST_USE enum err scan_check(const char *file, const char *bytes, size_t len);

/* Closes on that line a list or an array that ends in a comma? */
bool scan_trailing_comma(const char *bytes, unsigned line);

#endif

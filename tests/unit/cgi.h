/* cgi.h: a handler is asked as a CGI program, and its answer caught */
/* SPDX-License-Identifier: ISC */
#ifndef TESTS_UNIT_CGI_H
#define TESTS_UNIT_CGI_H

#include "fcgi/gateway.h"

/*
 * One request, its meta-variables "NAME=VALUE" ending in a newline each; of
 * the last one none stay.  Borrowed until the next call.
 */
const char *cgi_ask(gateway_handler *, void *arg, const char *variables);

#endif

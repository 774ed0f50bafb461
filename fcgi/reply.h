/* reply.h: a whole answer to a request, and who asked for it */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_REPLY_H
#define FCGI_REPLY_H

#include "conf/mem.h"
#include "fcgi/gateway.h"

struct reply {
	const char *status;  /* "404 Not Found" (RFC 9110, 15) */
	const char *type;    /* its media type */
	const char *headers; /* more, each with its CRLF; or NULL */
};

/* Sends it whole (RFC 3875, 6.3); the error is gateway_send()'s. */
MUST_USE enum err reply_send(struct gateway_request *, const struct reply *,
    const char *body, size_t len);

/* The same with the body of wire_put_error(); type is JSON. */
MUST_USE enum err reply_error(struct gateway_request *, const char *status,
    const char *headers, const char *code, const char *message);

/* Asks for a bearer token (RFC 6750, 3). */
#define REPLY_CHALLENGE "WWW-Authenticate: Bearer realm=\"reproute\"\r\n"
/*
 * ERR_OK: it carries the file's first line as a bearer token (RFC 6750,
 * 2.1).  ERR_DENIED: it does not, with a sentence for the client; else the
 * error is secret_read()'s, with one for the log.
 */
MUST_USE enum err reply_authorized(const struct gateway_request *,
    const char *file);

#endif

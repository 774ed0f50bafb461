/* answer.h: a decision as CGI headers for the web server that asked */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_ANSWER_H
#define FCGI_ANSWER_H

#include "conf/mem.h"
#include "fcgi/choose.h"

enum answer_form {
	ANSWER_VARIABLES, /* AUTHORIZER: Variable-REPROUTE_... */
	ANSWER_NAME,	  /* RESPONDER: X-Reproute-... */
	ANSWER_ACCEL,	  /* RESPONDER: X-Accel-Redirect, and those */
};

/* From FCGI_ROLE and REPROUTE_ANSWER, either of which may be NULL. */
enum answer_form answer_form(const char *role, const char *answer);

/*
 * Status line, headers, empty line; no body.  token NULL: none.  Holds a
 * name from the configuration, a reason, a token: never text of a request.
 */
void answer_headers(enum answer_form, const struct decision *,
    const char *token, struct buf *out);

#endif

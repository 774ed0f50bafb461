/* answer.c: a decision as CGI headers for the web server that asked */
/* SPDX-License-Identifier: ISC */
#include "fcgi/answer.h"

#include <string.h>

/* How each form spells the fields (RFC 3875, 6.3; FastCGI 1.0, 6.3). */
static const struct {
	const char *upstream, *reason, *token;
} fields[] = {
	[ANSWER_VARIABLES] = { "Variable-REPROUTE_UPSTREAM",
	    "Variable-REPROUTE_REASON", "Variable-REPROUTE_TOKEN" },
	[ANSWER_NAME] = { "X-Reproute-Upstream", "X-Reproute-Reason",
	    "X-Reproute-Token" },
	[ANSWER_ACCEL] = { "X-Reproute-Upstream", "X-Reproute-Reason",
	    "X-Reproute-Token" },
};

enum answer_form
answer_form(const char *role, const char *answer)
{
	if (role != NULL && strcmp(role, "AUTHORIZER") == 0)
		return ANSWER_VARIABLES;
	if (answer != NULL && strcmp(answer, "name") == 0)
		return ANSWER_NAME;
	return ANSWER_ACCEL;
}

static void
put(struct buf *out, const char *field, const char *value)
{
	buf_fmt(out, "%s: %s\r\n", field, value);
}

void
answer_headers(enum answer_form form, const struct decision *decision,
    const char *token, struct buf *out)
{
	const char *upstream = decision->upstream;

	/* an authorizer's 404 denies the request, and the client sees it */
	put(out, "Status", upstream != NULL ? "200 OK" : "404 Not Found");
	if (upstream != NULL && form == ANSWER_ACCEL)
		buf_fmt(out, "X-Accel-Redirect: @%s\r\n", upstream);
	if (upstream != NULL)
		put(out, fields[form].upstream, upstream);
	put(out, fields[form].reason, reason_word(decision->reason));
	if (upstream != NULL && token != NULL)
		put(out, fields[form].token, token);
	buf_puts(out, "\r\n");
}

/* reply.c: a whole answer to a request, and who asked for it */
/* SPDX-License-Identifier: ISC */
#include "fcgi/reply.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "conf/crypto.h"
#include "sync/wire.h"

enum err
reply_send(struct gateway_request *request, const struct reply *reply,
    const char *body, size_t len)
{
	struct buf out = { 0 };
	enum err err;

	buf_fmt(&out,
	    "Status: %s\r\nContent-Type: %s\r\n"
	    "Cache-Control: no-store\r\nContent-Length: %zu\r\n%s\r\n",
	    reply->status, reply->type, len,
	    reply->headers != NULL ? reply->headers : "");
	buf_add(&out, body, len);
	err = gateway_send(request, out.data, out.len, true);
	buf_free(&out);
	return err;
}

enum err
reply_error(struct gateway_request *request, const char *status,
    const char *headers, const char *code, const char *message)
{
	const struct reply reply = { status, "application/json", headers };
	struct buf body = { 0 };
	enum err err;

	wire_put_error(code, message, &body);
	err = reply_send(request, &reply, body.data, body.len);
	buf_free(&body);
	return err;
}

static bool
has_bearer(const struct gateway_request *request, const char *secret)
{
	static const char scheme[] = "Bearer ";
	const char *said = gateway_param(request, "HTTP_AUTHORIZATION");

	if (said == NULL || strncasecmp(said, scheme, strlen(scheme)) != 0)
		return false;
	said += strlen(scheme);
	return secret_equal(said + strspn(said, " "), secret);
}

enum err
reply_authorized(const struct gateway_request *request, const char *file)
{
	char *secret;
	enum err err = secret_read(file, &secret);

	if (err != ERR_OK)
		return err;
	if (!has_bearer(request, secret))
		err = err_set(ERR_DENIED,
		    "Authorization: Bearer TOKEN is "
		    "missing or wrong");
	explicit_bzero(secret, strlen(secret));
	free(secret);
	return err;
}

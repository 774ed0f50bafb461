/* page.c: the status page: how all routes are, to whoever may read it */
/* SPDX-License-Identifier: ISC */
#include "fcgi/page.h"

#include <string.h>

#include "fcgi/overview.h"
#include "fcgi/reply.h"

static bool
param_is(const struct gateway_request *request, const char *name,
    const char *wanted)
{
	const char *value = gateway_param(request, name);

	return value != NULL && strcmp(value, wanted) == 0;
}

bool
page_wanted(const struct gateway_request *request)
{
	return param_is(request, "REPROUTE_ANSWER", "status") &&
	    !param_is(request, "FCGI_ROLE", "AUTHORIZER");
}

void
page_send(struct gateway_request *request, const struct conf *conf,
    struct table *table)
{
	bool json = param_is(request, "QUERY_STRING", "json");
	const struct reply reply = { .status = "200 OK",
		.type = json ? "application/json"
			     : "text/plain; charset=utf-8" };
	struct overview overview;
	struct buf out = { 0 };

	overview_gather(conf, table,
	    table != NULL ? NULL : "the router has not opened it yet",
	    &overview);
	if (json)
		overview_json(&overview, &out);
	else
		overview_text(&overview, &out);
	/* where the web server went away there is nobody to tell */
	(void)!reply_send(request, &reply, out.data, out.len);
	buf_free(&out);
	overview_free(&overview);
}

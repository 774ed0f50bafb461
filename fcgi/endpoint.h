/* endpoint.h: what a request to reproute-replica asks for */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_ENDPOINT_H
#define FCGI_ENDPOINT_H

#include "conf/err.h"
#include "conf/name.h"

enum endpoint_op {
	ENDPOINT_LIFE, /* the endpoint itself: is it alive? */
	ENDPOINT_HAS_COMMIT,
	ENDPOINT_REFS,
	ENDPOINT_FETCH,
	ENDPOINT_OPS
};

struct endpoint {
	enum endpoint_op op;
	char name[NAME_SIZE]; /* the repository, or "" */
	char sha[65];	      /* of has-commit, or "" */
};

/*
 * A pure function over CGI's REQUEST_URI, as it came, and SCRIPT_NAME (RFC
 * 3875, 4.1.13; NULL or "" where the web server has none), which is where
 * the endpoint is: SCRIPT/projects/P/repos/R/OPERATION/, the last slash
 * being as good as none.  P and R are as probe_endpoint_url() writes them;
 * the slashes of P may have been decoded on the way.  ERR_ABSENT: no such
 * operation; ERR_INPUT: it is not asked for in that way.
 */
MUST_USE enum err endpoint_parse(const char *script, const char *uri,
    struct endpoint *out);

#endif

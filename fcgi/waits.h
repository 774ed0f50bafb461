/* waits.h: requests that wait for a mark, and what wakes them */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_WAITS_H
#define FCGI_WAITS_H

#include <stdbool.h>

#include "fcgi/gateway.h"
#include "fcgi/request.h"
#include "fcgi/writer.h"

/* What was known of a repository's news before the table was looked at. */
struct waits_news {
	const _Atomic uint32_t *word; /* NULL: nobody will tell */
	uint32_t seen;
};
/* pulse may be NULL; also begins anew what this request had begun. */
void waits_look(struct pulse *, const struct request *, struct waits_news *out);

/*
 * Parks the request until there are news, or its route's wait_ms are over:
 * its handler then returns without an answer, and is called anew.  false: it
 * is to be answered.
 */
bool waits_begin(struct gateway_request *, struct pulse *,
    const struct request *, const struct waits_news *);

/* The thread that wakes them. */
struct waits;
MUST_USE enum err waits_start(struct writer *, struct waits **out);
/* When gateway_serve() is over, and before writer_stop(). */
void waits_stop(struct waits *);

#endif

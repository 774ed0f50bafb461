/* push_wait.h: what a request to the push endpoint waits for, by its query */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_PUSH_WAIT_H
#define FCGI_PUSH_WAIT_H

#include <stdint.h>

#include "conf/conf.h"
#include "sync/report.h"

struct push_wait {
	const struct route *route; /* NULL: it does not wait */
	unsigned replicas;
	int64_t timeout_ms;
};

/*
 * "wait=N&timeout=S", beside a report or its route.  ERR_INPUT with what to
 * write instead.
 */
MUST_USE enum err push_wait_read(const struct conf *, const char *query,
    const struct push_report *, struct push_wait *out);
/*
 * Where nothing is reported: "repository=P/R&route=ROUTE", the latter where
 * there are several git routes.  The report has no more than these.
 */
MUST_USE enum err push_wait_report(const struct conf *, const char *query,
    struct push_report *out);

#endif

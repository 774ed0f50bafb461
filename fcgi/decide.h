/* decide.h: one request from its parameters to its answer */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_DECIDE_H
#define FCGI_DECIDE_H

#include "conf/log.h"
#include "fcgi/gateway.h"
#include "fcgi/looks.h"
#include "fcgi/snapshot.h"
#include "fcgi/writer.h"
#include "sync/stamps.h"

/* What all requests share; looks_init() and zeros make a new one. */
struct decide {
	struct snapshots *conf;
	struct writer *writer;
	struct looks looks;
	_Atomic(struct stamps *) stamps; /* NULL until there are some */
	/* lines for the log, each at most once a minute */
	struct log_gate no_route, no_name, no_table, no_fence, no_place;
};

/*
 * Answers one request, or parks it, to be called for it anew; in many threads
 * at once.
 */
void decide_request(struct gateway_request *, struct decide *);

#endif

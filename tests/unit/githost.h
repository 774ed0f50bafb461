/* githost.h: a canned Git host: a primary and its replicas on one port */
/* SPDX-License-Identifier: ISC */
#ifndef TESTS_UNIT_GITHOST_H
#define TESTS_UNIT_GITHOST_H

#include <stdatomic.h>

#include "tests/unit/world.h"

#define OID_A "1111111111111111111111111111111111111111"
#define OID_B "2222222222222222222222222222222222222222"

/*
 * One upstream.  Every repository there is the same: its one branch is at
 * oid; NULL: there is none (404).  A test may change it at any time.
 */
struct githost_side {
	const char *_Atomic oid;
	atomic_uint status; /* not 0: the answer to everything */
	atomic_bool stuck;  /* says "done" to a fetch, and does nothing */
	/* so many came: of refs by url, of refs by endpoint, orders to fetch */
	atomic_uint adverts, digests, fetches;
	atomic_uint others;
	char *_Atomic bearer; /* the last order's Authorization */
};

/* Upstreams of a world, in its order: main, one, two, other. */
struct githost {
	struct server *server;
	struct githost_side main, one, two, other;
	char urls[4][64], endpoints[4][80];
	/* called in the server's thread before it answers, having counted */
	void (*event)(void *arg, const struct githost_side *);
	void *_Atomic event_arg;
};

/* Gives those upstreams their URLs and endpoints; all are at OID_A. */
void githost_start(struct githost *, struct world *);
void githost_stop(struct githost *);

#endif

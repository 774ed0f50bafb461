/* gate.h: waits until replicas have what changed: a gate for CI */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_GATE_H
#define SYNC_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "sync/table.h"

/* Who waits on one state at once, each a process or a thread; more may not. */
#define MAX_WAITERS 64
/* Nobody waits longer, */
#define MAX_WAIT_S 3600
/* and who does not say how long, so long. */
#define WAIT_S 30

/*
 * One of the MAX_WAITERS places.  It is held by a lock, which goes with its
 * process, however that ends.  ERR_BUSY: all are taken.
 */
struct gate;
MUST_USE enum err gate_enter(const char *state_dir, struct gate **out);
/* Takes NULL. */
void gate_leave(struct gate *);

struct gate_question {
	const struct route *route;
	const char *name;
	uint64_t generation; /* 0: the one at which the wait begins */
	unsigned replicas;   /* so many are wanted */
};

/* How it stood in the end. */
struct gate_answer {
	uint64_t generation; /* that was waited for */
	unsigned have;	     /* not fewer than wanted: they have it */
	bool fenced;
};

/*
 * Numbers as people write them: replicas 1 to those of the route, seconds 0
 * to MAX_WAIT_S (NULL: WAIT_S).  ERR_INPUT with what to write instead.
 */
MUST_USE enum err gate_replicas(const struct route *, const char *said,
    unsigned *out);
MUST_USE enum err gate_timeout(const char *said, int64_t *timeout_ms);

/*
 * Until so many replicas that are up have a mark of that generation, or of a
 * later one, at the present epochs; until timeout_ms are over; or until
 * ending, where not NULL, says so.  ERR_ABSENT: the repository has no row;
 * ERR_TABLE.
 */
MUST_USE enum err gate_wait(struct table *, const struct gate_question *,
    int64_t timeout_ms, bool (*ending)(void), struct gate_answer *out);

#endif

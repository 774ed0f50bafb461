/* connections.h: many connections, a few threads, and no one waits for one */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_CONNECTIONS_H
#define FCGI_CONNECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/err.h"

/*
 * A bounded set of FastCGI connections.  Threads take whole requests out of
 * it; a connection that is idle, stalled or about to close holds none.
 */
struct connections;
struct connection;

struct connections_options {
	int listener;	     /* borrowed, and made non-blocking */
	unsigned max;	     /* connections at once, besides */
	unsigned max_parked; /* so many whose requests are parked */
	size_t max_body;     /* as records.h has it */
	unsigned request_ms; /* from its first wait, until it is whole */
	unsigned linger_ms;  /* after the answer, until the peer closes */
	unsigned send_ms;    /* one write to a peer that does not read */
	/* a connection was closed, for what it sent; in any thread, or NULL */
	void (*refused)(void *arg, const char *why);
	void *arg;
};

MUST_USE enum err connections_open(const struct connections_options *,
    struct connections **out);
/* No thread may use it any more. */
void connections_close(struct connections *);

/*
 * Waits for a connection with a whole request, which is the caller's until
 * connections_done(); NULL at the end.
 */
struct connection *connections_next(struct connections *);

/* Blocking; for the answer. */
int connection_socket(const struct connection *);
unsigned connection_request_id(const struct connection *);
/* As checked by records_read(); borrowed until connections_done(). */
const void *connection_request(const struct connection *, size_t *len);

/* answered: all was sent; else it is closed at once. */
void connections_done(struct connections *, struct connection *, bool answered);

/*
 * A request may be parked, instead of connections_done(), while others are
 * served: until *word is another than seen and connections_wake() is called,
 * or for wait_ms from when it was parked first.  Then connections_next() has
 * it again.  One that may not (its time is over, or too many are parked) has
 * to be answered.
 */
bool connections_may_park(struct connections *, const struct connection *);
void connections_park(struct connections *, struct connection *,
    const _Atomic uint32_t *word, uint32_t seen, unsigned wait_ms);
bool connection_was_parked(const struct connection *);
/* all: the time of all is over, whatever their words are. */
void connections_wake(struct connections *, bool all);

/*
 * Those that have connected are the last; those of which nothing came are
 * closed; what began to come has last_ms to be whole, and then
 * connections_next() is NULL; the time of all that are parked is over.
 */
void connections_end(struct connections *, unsigned last_ms);

#endif

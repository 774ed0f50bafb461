/* gateway.h: requests as CGI or FastCGI; the only user of libfcgi */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_GATEWAY_H
#define FCGI_GATEWAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/mem.h"

/* Threads of one program, each with one request at a time. */
#define MAX_THREADS 512
/* Requests that are parked at once, each with a connection of its own. */
#define MAX_PARKED 512

/* One request; valid while its handler runs. */
struct gateway_request;

/* A CGI meta-variable (RFC 3875, 4.1), or NULL; borrowed. */
const char *gateway_param(const struct gateway_request *, const char *name);

/*
 * The whole body, appended.  ERR_LIMIT before a byte is read if
 * CONTENT_LENGTH says, and while reading if it turns out, that it is longer
 * than max; ERR_INPUT if it ends early or its length is no number.  Under
 * FastCGI there is none, unless gateway_options has a max_body.
 */
MUST_USE enum err gateway_body(struct gateway_request *, size_t max,
    struct buf *out);

/* Sends bytes at once (flush) or when the buffer is full. */
MUST_USE enum err gateway_send(struct gateway_request *, const void *bytes,
    size_t len, bool flush);

/*
 * Says that the request is to be parked, whose handler then returns without
 * an answer: it takes no thread until *word is another than seen, which
 * gateway_wake() looks at, or for wait_ms from when it was parked first; then
 * its handler is called anew.  false: it has to be answered, since its time is
 * over, too many are parked (MAX_PARKED), it is the end, or CGI.
 */
bool gateway_park(struct gateway_request *, const _Atomic uint32_t *word,
    uint32_t seen, unsigned wait_ms);
/* Was it, before this call of its handler? */
bool gateway_was_parked(const struct gateway_request *);
/* In any thread, at any time; all: the time of all that are parked is over. */
void gateway_wake(bool all);

/* Was gateway_serve() told to end?  For handlers that take their time. */
bool gateway_ending(void);

/* Handles one request; runs in many threads at once under FastCGI. */
typedef void gateway_handler(struct gateway_request *, void *arg);

/*
 * From here on SIGTERM, SIGINT, SIGUSR1 and SIGHUP wait, in this thread and
 * in those that it starts, for gateway_serve(): call it before the first
 * thread.
 */
void gateway_hold_signals(void);

struct listener; /* listener.h */

struct gateway_options {
	const struct listener *listener; /* NULL: fd 0 as inherited */
	unsigned threads;		 /* 1 to MAX_THREADS */
	gateway_handler *handler;
	void *arg;
	/*
	 * Of a request, for gateway_body() to be called with no more; 0: it
	 * is answered as soon as its parameters are there, as an authorizer
	 * must, whose stdin may have no end.
	 */
	size_t max_body;
	/* called in the main thread on SIGHUP, or NULL */
	void (*reload)(void *arg);
	/* a peer sent no request; constant text; in any thread; or NULL */
	void (*refused)(void *arg, const char *why);
	/* for tests, 0 otherwise: as struct connections_options has them */
	unsigned request_ms, linger_ms, send_ms;
};

/* Was this process started as CGI (fd 0 is no listening socket)? */
bool gateway_is_cgi(void);
/*
 * Serves the one request in the environment; of a body that the handler left
 * 1 MiB is read behind it, since a web server may lose the answer otherwise.
 */
void gateway_cgi(gateway_handler *, void *arg);
/*
 * Serves until SIGTERM, SIGINT or SIGUSR1, then lets requests under way end,
 * at most two seconds.  ERR_LIMIT: some did not, and their threads still run,
 * so that the caller may free nothing that they use.  ERR_USAGE: fd 0 does
 * not listen.
 *
 * A connection takes a thread only while a handler answers its request: a
 * peer that is idle, stalls or lies takes none, and is closed after a while,
 * or when there are too many.
 */
MUST_USE enum err gateway_serve(const struct gateway_options *);

#endif

/* server.h: a small HTTP server inside a test, on a free loopback port */
/* SPDX-License-Identifier: ISC */
#ifndef TESTS_UNIT_SERVER_H
#define TESTS_UNIT_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/mem.h"

struct server_request {
	const char *method;
	const char *target;  /* as sent, with its query */
	const char *headers; /* the lines behind the first, CRLF each */
	const char *body;
	size_t body_len;
	unsigned connection; /* from 1: which connection it came over */
};

/* Zeroed before the handler; status 0 counts as 200. */
struct server_reply {
	unsigned status;
	struct buf headers; /* "Name: value\r\n" each; length is added */
	struct buf body;
	bool silent; /* never answers, and keeps the connection */
	bool cut;    /* closes before the last byte of body */
};

/* Runs in the server's thread, one request at a time. */
typedef void server_handler(void *arg, const struct server_request *,
    struct server_reply *);

struct server;
/* Listens when this returns; ends the test where it cannot. */
struct server *server_start(server_handler *, void *arg);
/* "http://127.0.0.1:PORT", borrowed until server_stop(). */
const char *server_url(const struct server *);
/* Closes all connections, and joins the thread. */
void server_stop(struct server *);

/* The value of a header, "" where it is not there; the caller frees it. */
char *server_header(const struct server_request *, const char *name);

#endif

/* http.h: one HTTP request to an upstream; the only user of libcurl */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_HTTP_H
#define SYNC_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "conf/mem.h"

/* A client with its kept connections; one a thread. */
struct http;
struct http *http_new(void);
void http_free(struct http *);

/* Takes a piece of the body; another answer than ERR_OK ends the request. */
typedef enum err http_sink(void *arg, const char *bytes, size_t len);

struct http_request {
	const char *method; /* "GET", "POST" */
	const char *url;
	const char *const *headers; /* "Name: value"..., NULL; or NULL */
	const char *body;	    /* of a POST, or NULL */
	size_t body_len;
	const char *auth_file; /* netrc(5) form, or NULL */
	const char *ca_file;   /* or NULL: the system's */
	int64_t stall_ms;      /* no byte for so long, to a second, ends it */
	int64_t total_ms;      /* 0: no limit on the whole */
	size_t max_body;       /* more is ERR_PEER */
	http_sink *sink;       /* or NULL: into reply->body */
	void *sink_arg;
};

struct http_reply {
	unsigned status;
	char content_type[128];
	char link[2048]; /* the Link headers as one list, or "" */
	struct buf body; /* the caller's to free; of any status */
};

/*
 * Runs it.  Follows no redirect, asks no proxy.  ERR_PEER when no answer
 * came ("connection refused", a stall, too long a head or body) or whatever
 * error the sink returned; ERR_CONF or ERR_SYS for an auth_file that others may
 * read, or we may not.  Every HTTP status is ERR_OK.  Sinks see only bodies
 * of status 200; of another one at most 64 kB then go into reply->body.
 */
MUST_USE enum err http_run(struct http *, const struct http_request *,
    struct http_reply *);

/* Appends text percent-encoded; slash says that "/" stays. */
void http_escape(struct buf *out, const char *text, bool slash);

#endif

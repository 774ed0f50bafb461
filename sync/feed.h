/* feed.h: the completion feed: what a finished request's log line proves */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_FEED_H
#define SYNC_FEED_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/conf.h"
#include "conf/crypto.h"
#include "sync/table.h"

/* Longest datagram read; a longer line is cut by its sender. */
#define MAX_FEED_LINE 4096

/*
 * "reproute-feed TOKEN STATUS MICROSECONDS UPSTREAM done=MARK addr=WHO
 * served=NAME unfenced=ROUTE", with whatever a syslog put before it.  Fields
 * behind UPSTREAM may be absent.
 */
struct feed_line {
	char token[TOKEN_SIZE];	  /* "": the request had none, as reads */
	unsigned status;	  /* 0: the web server has none ("-") */
	char upstream[WORD_SIZE]; /* that the router chose, or "" */
	char done[8];		  /* "OK", "+", "-", "X", or "" */
	char addr[64];		  /* cut; unescaped; or "" */
	char served[WORD_SIZE];	  /* whose answer the client got; "": unknown */
	/* a write of that route for which the router gave no answer, or "" */
	char unfenced[WORD_SIZE];
};

enum feed_verdict {
	FEED_SETTLED,	/* R2: the request is over, and so is its effect */
	FEED_UNSETTLED, /* R3: proves nothing */
};

/* What a read tells of the upstream that was to serve it. */
enum feed_news {
	FEED_WELL,   /* nothing */
	FEED_CUT,    /* it may have died, or the client: a 2xx that broke off */
	FEED_LATE,   /* 504: it, or this one request, takes too long */
	FEED_FAILED, /* it did not serve: 502, 503, or another one did */
};

/* ERR_INPUT where there is no such line in text. */
MUST_USE enum err feed_parse(const char *text, struct feed_line *out);
bool feed_is_write(const struct feed_line *);
enum feed_verdict feed_judge(const struct feed_line *);
/* Of a write always FEED_WELL. */
enum feed_news feed_tells(const struct feed_line *);

/*
 * Applies one line: ends or breaks a fence, raises the generation, settles
 * a placement; of an unfenced write, whose repository nobody read out of its
 * path, it voids the marks of the whole route.  route and name (of NAME_SIZE,
 * "" for all) become what it was about.  ERR_ABSENT: it tells of no write, or
 * of an unfenced one that was refused; its token is unknown, or its route is
 * no more.
 */
MUST_USE enum err feed_apply(struct table *, const struct conf *,
    const struct feed_line *, const struct route **route, char *name);

#endif

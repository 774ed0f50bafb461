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
 * "reproute-feed TOKEN STATUS MICROSECONDS UPSTREAM done=MARK addr=WHO",
 * with whatever a syslog put before it.
 */
struct feed_line {
	char token[TOKEN_SIZE];
	unsigned status;	  /* 0: the web server has none ("-") */
	char upstream[WORD_SIZE]; /* or "" */
	char done[8];		  /* "OK", "+", "-", "X", or "" */
};

enum feed_verdict {
	FEED_SETTLED,	/* R2: the request is over, and so is its effect */
	FEED_UNSETTLED, /* R3: proves nothing */
};

/* ERR_INPUT where there is no such line in text. */
MUST_USE enum err feed_parse(const char *text, struct feed_line *out);
enum feed_verdict feed_judge(const struct feed_line *);

/*
 * Applies one line: ends or breaks a fence, raises the generation, settles
 * a placement.  route and name (of NAME_SIZE) become what it was about.
 * ERR_ABSENT: the token is unknown, or its route is no more.
 */
MUST_USE enum err feed_apply(struct table *, const struct conf *,
    const struct feed_line *, const struct route **route, char *name);

#endif

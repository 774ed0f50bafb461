/* inbox.h: the daemon's two sockets, each drained by a thread of its own */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_INBOX_H
#define SYNC_INBOX_H

#include "conf/conf.h"
#include "sync/health.h"
#include "sync/lanes.h"
#include "sync/look.h"
#include "sync/table.h"

/*
 * Lines of the feed that wait for the table; more are lost, as the kernel
 * would lose them.
 */
#define MAX_FEED_LINES 65536

struct inbox {
	const struct conf *conf;
	struct table *table;
	struct lanes *lanes;
	struct look *const *looks; /* by index of a git route */
	struct health *health;	   /* told of reads; they write nothing here */
	/* called when a datagram says no more than that something changed */
	void (*kick)(void *arg);
	void *kick_arg;
};

/*
 * Binds wake.sock and feed.sock in run_dir and starts their threads, which
 * run as long as the process.  inbox is borrowed for good.  ERR_BUSY:
 * another daemon has them.
 */
MUST_USE enum err inbox_start(struct inbox *);

#endif

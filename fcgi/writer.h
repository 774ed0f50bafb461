/* writer.h: table writes of many threads, in one thread of their own */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_WRITER_H
#define FCGI_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "fcgi/snapshot.h"
#include "sync/pulse.h"
#include "sync/table.h"

/*
 * A stopped process may hold the table's lock for ever, and LMDB waits for
 * it without a limit.  So one thread opens the table and writes to it, all
 * that is queued in one transaction; whoever asked waits only so long.
 */

/* Writes waiting; beyond that one is refused. */
#define MAX_WRITES 4096

struct writer;

struct writer_options {
	/*
	 * Both are called in the writer's thread, once a second until they
	 * succeed; the writer takes over what they open.  pulse comes first,
	 * with a slot for doubt, so that doubt can be raised before there is
	 * a table; NULL: none ever is.  open does what a start owes the
	 * table; its pulse is borrowed, or NULL.
	 */
	enum err (*pulse)(void *arg, struct pulse **);
	enum err (*open)(void *arg, struct pulse *, struct table **);
	/* What failed, in the writer's thread, for the log; or NULL. */
	void (*failed)(void *arg, const char *text);
	void *arg;
	/* for doubt's routes; NULL where there is no pulse */
	struct snapshots *conf;
};

/* options are copied. */
MUST_USE enum err writer_start(const struct writer_options *,
    struct writer **out);
/*
 * Writes what is queued, once, and ends.  ERR_BUSY: the table's lock did not
 * come within a second; then the thread still runs, and the process must
 * end by _exit(2), or call again.  Routes in doubt may stay so.
 */
MUST_USE enum err writer_stop(struct writer *);

/*
 * NULL until it is open; where there is a table, there is a pulse, if there
 * is to be any.  Borrowed until writer_stop().
 */
struct table *writer_table(struct writer *);
struct pulse *writer_pulse(struct writer *);
/* Waits until writer_table() is not NULL, at most so long; is it? */
bool writer_wait_open(struct writer *, int64_t wait_ms);

/* One kind of write, on data of that size. */
struct write_kind {
	size_t size;
	table_body *body;	       /* its arg is the data */
	void (*committed)(void *data); /* in the writer's thread, or NULL */
	void (*release)(void *data);   /* lets go of what data holds, or NULL */
	/* tried again once a second until committed, its caller gone or not;
	 * others are dropped unwritten when their caller is gone */
	bool keeps;
};

/*
 * Copies data in, and on ERR_OK, which says committed, back out.  ERR_TABLE:
 * not in time; ERR_LIMIT: MAX_WRITES are waiting; else what its body said.
 * wait_ms 0, for a kind that is kept: does not wait, ERR_OK says queued.
 * Whatever comes, kind->release() is called for the copy, once.
 */
MUST_USE enum err writer_run(struct writer *, const struct write_kind *,
    void *data, int64_t wait_ms);

/*
 * Puts a route in doubt until all writes that are queued now are committed
 * and the route's epoch raised.  lost: a fence could not even be queued;
 * then at least for the route's fence_s, as for a push without a word.
 * false: there is no pulse, or no slot in it.
 */
MUST_USE bool writer_doubt(struct writer *, const struct route *, bool lost);

#endif

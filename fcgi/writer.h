/* writer.h: the router's table writes, in one thread of its own */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_WRITER_H
#define FCGI_WRITER_H

#include <stdbool.h>

#include "conf/conf.h"
#include "sync/place.h"
#include "sync/pulse.h"
#include "sync/table.h"

/* A request waits at most so long for its row, in milliseconds. */
#define WRITE_WAIT_MS 500
/* Writes waiting; beyond that a request is answered as if its wait was over. */
#define MAX_WRITES 4096

struct writer;
/* table and pulse are borrowed until writer_stop(). */
MUST_USE enum err writer_start(struct table *, struct pulse *,
    struct writer **out);
void writer_stop(struct writer *);

/*
 * Raises a fence; many at once share one transaction.  ERR_TABLE: it was
 * not committed in time; then the route is in doubt from before this
 * returns until it was committed and the route's epoch raised.
 */
MUST_USE enum err writer_fence(struct writer *, const struct route *,
    const char *name, const char *token);

/* place_write(), committed.  ERR_TABLE: not in time; answer "hold". */
MUST_USE enum err writer_place(struct writer *, const struct route *,
    const char *name, const char *wanted, const char *reason,
    const char *token, bool manifest, struct placement *out);

/* Waits until nothing is queued: before a configuration is freed. */
void writer_drain(struct writer *);

#endif

/* daemon.h: makes lagging replicas converge, and keeps all promises of time */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_DAEMON_H
#define SYNC_DAEMON_H

#include <stdbool.h>

#include "conf/conf.h"
#include "sync/pulse.h"
#include "sync/table.h"

struct daemon;

/* conf, table and pulse are borrowed until daemon_stop() has returned. */
MUST_USE enum err daemon_start(const struct conf *, struct table *,
    struct pulse *, struct daemon **out);

/*
 * Runs until *stop becomes true: feed, wakes, fences, probes, lag, imports.
 * ERR_ABSENT never; an error ends the program.
 */
MUST_USE enum err daemon_run(struct daemon *, const volatile bool *stop);

/*
 * One pass over all that lags, imports included.  *lags tells whether
 * something still does.
 */
MUST_USE enum err daemon_once(struct daemon *, bool *lags);

/* Ends threads and children, and frees it. */
void daemon_stop(struct daemon *);

#endif

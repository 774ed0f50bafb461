/* daemon.h: makes lagging replicas converge, and keeps all promises of time */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_DAEMON_H
#define SYNC_DAEMON_H

#include <signal.h>
#include <stdbool.h>

#include "conf/conf.h"
#include "sync/pulse.h"
#include "sync/table.h"

struct daemon;

/*
 * daemon_start() binds the sockets and starts all threads; daemon_run() runs
 * until *stop is true (a signal handler sets it), and may be called again.
 * Threads go on, and borrow all of this, until the process ends, which it
 * may do at any instant: what counts is in the table.
 */
MUST_USE enum err daemon_start(const struct conf *, struct table *,
    struct pulse *, struct daemon **out);
void daemon_run(struct daemon *, const volatile sig_atomic_t *stop);

/*
 * One pass over all that lags, imports included; each failure is logged and
 * holds up nobody else.  *lags tells whether something lags afterwards.
 */
MUST_USE enum err daemon_once(const struct conf *, struct table *,
    struct pulse *, bool *lags);

#endif

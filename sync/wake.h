/* wake.h: datagrams on this host: wake the daemon, and the completion feed */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_WAKE_H
#define SYNC_WAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/name.h"

#define WAKE_SOCKET "wake.sock"
#define FEED_SOCKET "feed.sock"

/*
 * The daemon's end: binds run_dir/NAME, mode 0660; takes the place of a
 * socket on which nobody listens.  ERR_BUSY: somebody does.
 */
MUST_USE enum err wake_bind(const char *run_dir, const char *name, int *fd);
/*
 * One datagram into buf, NUL-terminated and cut to size; waits so long.
 * ERR_ABSENT: none came.
 */
MUST_USE enum err wake_receive(int fd, int timeout_ms, char *buf, size_t size);

/*
 * Did somebody listen at that socket (SOCK_DGRAM, SOCK_STREAM), and does
 * nobody now?  Where --once does the daemon's work, none ever did at its feed;
 * a router that ends takes its socket away, one that is killed does not.
 */
bool wake_deserted(const char *run_dir, const char *name, int type);
/* 0: somebody listens there; else why nobody is reached, as errno says it. */
int wake_try(const char *run_dir, const char *name, int type);

/*
 * Tells the daemon that something changed (route and name NULL), or that
 * somebody reads or pushed that repository, which it then takes first.
 * Never blocks; a lost one costs no more than the daemon's interval.
 */
void wake_send(const char *run_dir, const char *route, const char *name);
/* What wake_send() sent: route of WORD_SIZE, name of NAME_SIZE, "" for none. */
MUST_USE enum err wake_parse(const char *datagram, char *route, char *name);

#endif

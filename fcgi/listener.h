/* listener.h: a listening socket: inherited, unix or TCP */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_LISTENER_H
#define FCGI_LISTENER_H

#include <stdbool.h>

#include "conf/err.h"

/* In run_dir: where the router and the push endpoint listen, as services. */
#define ROUTER_SOCKET "fcgi.sock"
#define PUSH_SOCKET "push.sock"

struct listener;

/*
 * address: NULL is fd 0 as inherited, "/path" a unix socket of exactly that
 * mode, "ADDR:PORT" TCP with a numeric address ("[::1]:9000" for IPv6),
 * ":PORT" 127.0.0.1.  A second instance on one address is ERR_BUSY and
 * steals nothing; ERR_USAGE: no address, or fd 0 does not listen.
 * ERR_DENIED: an address where rights were gained (setgid): whoever started
 * it would have files made, and sockets replaced, that are not his.
 */
MUST_USE enum err listener_open(const char *address, unsigned mode,
    struct listener **out);
/* Closes it, and removes the unix socket if it was bound here; takes NULL. */
void listener_close(struct listener *);

/* NULL: fd 0. */
int listener_fd(const struct listener *);

/* Is fd a listening socket? */
bool listener_listens(int fd);

#endif

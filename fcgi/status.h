/* status.h: how a repository's fences are told */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_STATUS_H
#define FCGI_STATUS_H

#include "sync/fence.h"

/* A line each, and what it waits for. */
void status_print_fences(const struct fences *);
/* "fences": [{"token","state","age_ms"}] */
struct wire;
void status_wire_fences(struct wire *, const struct fences *);

#endif

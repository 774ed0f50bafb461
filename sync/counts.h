/* counts.h: how often each thing happened to a route's requests, since boot */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_COUNTS_H
#define SYNC_COUNTS_H

#include <stdint.h>

#include "conf/conf.h"
#include "sync/pulse.h"

/* Things that are counted; which is which, their user says. */
#define MAX_COUNTS 40

/*
 * One more, apart where its mode is to observe; nothing, where too many routes
 * are counted already.
 */
void counts_add(struct pulse *, const struct route *, unsigned what);
/* 0 also where nothing was counted. */
uint64_t counts_get(const struct pulse *, const struct route *, unsigned what);

#endif

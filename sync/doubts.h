/* doubts.h: how a route comes out of doubt: its epoch first, then the flag */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_DOUBTS_H
#define SYNC_DOUBTS_H

#include "conf/conf.h"
#include "sync/pulse.h"
#include "sync/table.h"

/*
 * Raises the epoch of each route that the router of that slot has put in
 * doubt, so that marks of before count no more.  It stays in doubt: who has
 * the slot takes it back, if nothing came meanwhile.
 */
MUST_USE enum err doubts_renew(struct table *, const struct pulse *, int slot,
    const struct conf *);

/*
 * The daemon's: ends the doubt of dead routers that is over by now_ms
 * (clock_boot_ms()).
 */
MUST_USE enum err doubts_expire(struct table *, struct pulse *,
    const struct conf *, int64_t now_ms);

#endif

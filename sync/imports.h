/* imports.h: keeps the placements what both registries' catalogues say */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_IMPORTS_H
#define SYNC_IMPORTS_H

#include "conf/conf.h"
#include "sync/table.h"

/*
 * A thread for each side of each registry route with a migration imports its
 * catalogue every import_s, and one settles expired provisional placements;
 * they run as long as the process.  Borrowed for good.
 */
MUST_USE enum err imports_start(const struct conf *, struct table *);

/* Imports what is due, side by side, settles what expired, and waits. */
void imports_once(const struct conf *, struct table *);

#endif

/* catalogue.h: imports a registry's catalogue, page by page */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_CATALOGUE_H
#define SYNC_CATALOGUE_H

#include <stdbool.h>

#include "conf/conf.h"
#include "sync/http.h"
#include "sync/place.h"
#include "sync/table.h"

/*
 * Reads GET /v2/_catalog of that side from where the import stopped, each
 * page placing its names, the last of them in one transaction with the
 * cursor; done at the last page.  A name outside the grammar counts, but is
 * not placed.  stop, where not NULL, ends it between two pages, with ERR_OK
 * and *out not complete (started_s is not 0).  *out is how far it is.  ERR_PEER: the
 * registry could not be read; what was read stays.  ERR_BUSY: the import was
 * forgotten meanwhile (modes_adopt()); the next one begins anew.
 */
MUST_USE enum err catalogue_import(struct table *, struct http *,
    const struct conf *, const struct route *, const struct upstream *side,
    bool (*stop)(void), struct import *out);

/*
 * Asks the side of an expired provisional placement for its tags: 404 drops
 * the row, 200 makes it final; anything else, and what is no registry's
 * JSON, puts it off an hour and is ERR_PEER.  A row that changed meanwhile
 * stays as it is.
 */
MUST_USE enum err catalogue_settle(struct table *, struct http *,
    const struct conf *, const struct route *, const char *name);

#endif

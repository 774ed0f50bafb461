/* mode.h: in which mode a migration was decided last (route's mode) */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_MODE_H
#define SYNC_MODE_H

#include "conf/conf.h"
#include "sync/table.h"

/*
 * For routers, before conf is in force there.  What is pushed to a migration
 * that is only observed has no place until an import finds it: where one
 * begins to serve, both catalogues count as never imported, so that what has
 * no place stays on the primary until they were read anew.
 */
MUST_USE enum err modes_adopt(struct table_txn *, const struct conf *);

#endif

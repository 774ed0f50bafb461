/* look.h: names without a row: does the primary have such a repository? */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_LOOK_H
#define SYNC_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "sync/http.h"
#include "sync/table.h"

/* Names waiting to be looked at; more are dropped: a later read asks again. */
#define MAX_LOOKS 256
/* Looks a second, so that a scanner costs the primary no more. */
#define LOOKS_A_SECOND 5
/* A "no" is remembered so long. */
#define LOOK_NO_MS 10000

/* Of one route in the daemon, so that each has its own place and pace. */
struct look;
struct look *look_new(void);
void look_free(struct look *);

/* Asks for a look; false where it is not needed or there is no room. */
bool look_put(struct look *, const struct route *, const char *name);
/*
 * The next one, of which this caller now takes care; waits.  false: closed.
 * Paces itself to LOOKS_A_SECOND.
 */
bool look_take(struct look *, const struct route **route, char *name);
void look_close(struct look *);

/* Asks the primary; makes the row where it says yes, *made then. */
MUST_USE enum err look_run(struct look *, struct table *, struct http *,
    const struct conf *, const struct route *, const char *name, bool *made);

#endif

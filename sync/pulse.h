/* pulse.h: heartbeat, doubt, and who lives: a small map shared by programs */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_PULSE_H
#define SYNC_PULSE_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"

/* Routers on one state that can raise doubt; one more cannot. */
#define MAX_ROUTERS 64

struct pulse;

/*
 * Maps run_dir/pulse, made and filled beforehand so that no later store can
 * fail for want of space.  may_create false: ERR_ABSENT where it is not
 * there, and mapped for reading only.  Never use it in a child: its locks
 * are the process's that opened it.
 */
MUST_USE enum err pulse_open(const char *run_dir, bool may_create,
    struct pulse **out);
/* Gives up what pulse_claim() and pulse_join() took; takes NULL. */
void pulse_close(struct pulse *);

/* The daemon is alive and has looked at everything due. */
void pulse_beat(struct pulse *);
/* Milliseconds since the last beat of this boot; -1: none. */
int64_t pulse_age_ms(const struct pulse *);

/*
 * Doubt sends all reads of a route, in every router, to the primary.  It is
 * a word for each route, and in it a bit for each router, which claimed a
 * slot for that before.  Only who has the slot raises its bit, and takes it
 * back; a slot is held by a lock, which goes with its process, however that
 * ends.
 *
 * Why no read is stale, whichever router dies when.  A push is let through
 * only when its fence is committed, or its router's bit is up.
 * - Dead before that: nobody let the push through.
 * - Dead later, its fence committed: every router sees it in the table.
 * - Dead with its bit up: its fence may be lost, so the bit stays, and
 *   nobody claims the slot, until that fence would be over (fence_s from
 *   the last raise: until_ms, stored before the bit).  Then the daemon
 *   raises the route's epoch and takes the bit back.  Without a daemon there
 *   is no heartbeat, and so no read on a replica.
 * - Alive: the bit is taken back by its router alone, after that has
 *   committed all its fences and raised the epoch; a stopped one's stays.
 * Who reads looks at the word first and then at the table, so that without
 * doubt it sees what was committed before the bit went down.
 */

/* Takes a slot, once.  ERR_LIMIT: MAX_ROUTERS have one, or died in doubt. */
MUST_USE enum err pulse_claim(struct pulse *);
/* false: it has no slot, and the route is in no doubt because of this. */
MUST_USE bool pulse_doubt_raise(struct pulse *, const struct route *);
bool pulse_doubt(const struct pulse *, const struct route *);
/* Takes back what this router raised, of all routes. */
void pulse_doubt_settle(struct pulse *);

/* A slot's number, -1 without; and whether its bit of a route is up. */
int pulse_slot(const struct pulse *);
bool pulse_doubt_by(const struct pulse *, int slot, const struct route *);
/*
 * The first slot above, whose router is dead and whose doubt is over by
 * now_ms (clock_boot_ms()); -1: none.  It is held until one of:
 * pulse_doubt_end(), which takes its bits back, and pulse_doubt_leave().
 */
int pulse_doubt_over(struct pulse *, int above, int64_t now_ms);
void pulse_doubt_end(struct pulse *, int slot);
void pulse_doubt_leave(struct pulse *, int slot);

/*
 * Counts this process among the routers that live, from the moment when
 * start, which does what a start owes to the table, has returned ERR_OK.
 * first: no other lives.  One at a time runs start; if it dies meanwhile,
 * the next is the first.  ERR_BUSY: another runs it for too long.
 */
typedef enum err pulse_start(void *arg, bool first);
MUST_USE enum err pulse_join(struct pulse *, pulse_start *, void *arg);
/* Does any other than this live? */
bool pulse_has_router(const struct pulse *);

#endif

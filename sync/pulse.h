/* pulse.h: the daemon's heartbeat and the doubt flags, in a small shared map */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_PULSE_H
#define SYNC_PULSE_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"

struct pulse;

/*
 * Maps run_dir/pulse, made and filled beforehand so that no later store can
 * fail for want of space.  may_create false: ERR_ABSENT where it is not
 * there, and mapped for reading only.
 */
MUST_USE enum err pulse_open(const char *run_dir, bool may_create,
    struct pulse **out);
void pulse_close(struct pulse *);

/* The daemon is alive and has looked at everything due. */
void pulse_beat(struct pulse *);
/* Milliseconds since the last beat of this boot; -1: none. */
int64_t pulse_age_ms(const struct pulse *);

/*
 * Doubt sends all reads of a route to the primary.  raise returns a number;
 * settle takes the flag back only if no later raise came meanwhile (that
 * is, if number is still pulse_doubt()'s).  Lock-free, between processes.
 */
uint32_t pulse_doubt_raise(struct pulse *, const struct route *);
/* 0: no doubt; else the number of the last raise. */
uint32_t pulse_doubt(const struct pulse *, const struct route *);
void pulse_doubt_settle(struct pulse *, const struct route *, uint32_t number);

#endif

/* damp.h: what is told of a replica, and how long it has to stay down */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_DAMP_H
#define SYNC_DAMP_H

#include <stdbool.h>
#include <stdint.h>

/* So many failed reads within so many milliseconds count unconfirmed. */
#define DAMP_READS 5
#define DAMP_READS_MS 10000

/*
 * Once down, a replica stays down so long, in milliseconds; twice as long
 * each time that it is down again before it was up for DAMP_QUIET_MS.
 */
#define DAMP_HOLD_MIN_MS 2000
#define DAMP_HOLD_MAX_MS 60000
#define DAMP_QUIET_MS 180000

/* Of one replica; { 0 } is one of which nothing is known.  Pure. */
struct damp {
	int64_t hold_ms;  /* the last hold-off; 0: it was never down */
	int64_t until_ms; /* its end; as all times: clock_boot_ms() */
	int64_t up_ms;	  /* when it came back last */
	/* the last failed reads, as a ring, and how many there ever were */
	int64_t read_ms[DAMP_READS];
	unsigned reads;
};

/*
 * One more failed read; true: there are enough, and they start anew.  None
 * counts until it was up for as long as it was down before, so that reads
 * alone keep it out for at most half of the time.
 */
bool damp_read(struct damp *, int64_t now_ms);
void damp_down(struct damp *, int64_t now_ms);
void damp_up(struct damp *, int64_t now_ms);
/* How long it still has to stay down; 0: it may come back. */
int64_t damp_left_ms(const struct damp *, int64_t now_ms);

#endif

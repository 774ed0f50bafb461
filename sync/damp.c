/* damp.c: what is told of a replica, and how long it has to stay down */
/* SPDX-License-Identifier: ISC */
#include "sync/damp.h"

bool
damp_read(struct damp *damp, int64_t now_ms)
{
	int64_t oldest_ms;

	if (damp->hold_ms > 0 && now_ms - damp->up_ms < damp->hold_ms)
		return false;
	damp->read_ms[damp->reads++ % DAMP_READS] = now_ms;
	if (damp->reads < DAMP_READS)
		return false;
	oldest_ms = damp->read_ms[damp->reads % DAMP_READS];
	if (now_ms - oldest_ms > DAMP_READS_MS)
		return false;
	damp->reads = 0;
	return true;
}

void
damp_down(struct damp *damp, int64_t now_ms)
{
	if (damp->hold_ms == 0 || now_ms - damp->up_ms >= DAMP_QUIET_MS)
		damp->hold_ms = DAMP_HOLD_MIN_MS;
	else if (damp->hold_ms < DAMP_HOLD_MAX_MS / 2)
		damp->hold_ms *= 2;
	else
		damp->hold_ms = DAMP_HOLD_MAX_MS;
	damp->until_ms = now_ms + damp->hold_ms;
	damp->reads = 0;
}

void
damp_up(struct damp *damp, int64_t now_ms)
{
	damp->up_ms = now_ms;
	damp->until_ms = 0;
}

int64_t
damp_left_ms(const struct damp *damp, int64_t now_ms)
{
	return damp->until_ms > now_ms ? damp->until_ms - now_ms : 0;
}

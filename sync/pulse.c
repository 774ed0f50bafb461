/* pulse.c: heartbeat, doubt, and who lives: a small map shared by programs */
/* SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stdatomic.h>
#include <time.h>

#include "conf/clock.h"
#include "sync/pulse_map.h"

/* A start waits so long for the one before it, looking so often. */
#define DOOR_MS 500
#define DOOR_LOOK_MS 5

void
pulse_beat(struct pulse *pulse)
{
	assert(pulse->writable);
	atomic_store(&pulse->map->beat_ms, clock_boot_ms());
}

int64_t
pulse_age_ms(const struct pulse *pulse)
{
	/* in this order, or the beat could be of after now */
	int64_t beat_ms = atomic_load(&pulse->map->beat_ms);
	int64_t now_ms = clock_boot_ms();

	return beat_ms > 0 && beat_ms <= now_ms ? now_ms - beat_ms : -1;
}

static _Atomic uint64_t *
doubt_of(const struct pulse *pulse, const struct route *route)
{
	return &pulse->map
		    ->doubts[pulse_hash(PULSE_HASH, route->name) % DOUBTS];
}

/* Slots whose bit is up anywhere. */
static uint64_t
slots_in_doubt(const struct pulse *pulse)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < DOUBTS; i++)
		bits |= atomic_load(&pulse->map->doubts[i]);
	return bits;
}

static uint64_t
bit_of(int slot)
{
	return UINT64_C(1) << slot;
}

static void
take_back(struct pulse *pulse, int slot)
{
	for (size_t i = 0; i < DOUBTS; i++)
		atomic_fetch_and(&pulse->map->doubts[i], ~bit_of(slot));
}

enum err
pulse_claim(struct pulse *pulse)
{
	assert(pulse->writable && pulse->slot == -1);
	for (int slot = 0; slot < MAX_ROUTERS; slot++) {
		if (!pulse_lock(pulse, LOCK_SLOT + slot, F_WRLCK))
			continue;
		if ((slots_in_doubt(pulse) & bit_of(slot)) == 0) {
			atomic_store(&pulse->map->until_ms[slot], 0);
			pulse->slot = slot;
			return ERR_OK;
		}
		/* a dead one's, until the daemon says that it is over */
		pulse_lock(pulse, LOCK_SLOT + slot, F_UNLCK);
	}
	return err_set(ERR_LIMIT,
	    "%d routers run on this state, or died in doubt: one more cannot "
	    "raise doubt, and holds a push whose fence is late",
	    MAX_ROUTERS);
}

bool
pulse_doubt_raise(struct pulse *pulse, const struct route *route)
{
	int64_t until_ms = clock_boot_ms() + route->fence_ms;
	_Atomic int64_t *last_ms;

	assert(pulse->writable);
	if (pulse->slot == -1)
		return false;
	last_ms = &pulse->map->until_ms[pulse->slot];
	/* nobody else stores it; before the bit: pulse_doubt_over() */
	if (until_ms > atomic_load(last_ms))
		atomic_store(last_ms, until_ms);
	atomic_fetch_or(doubt_of(pulse, route), bit_of(pulse->slot));
	return true;
}

bool
pulse_doubt(const struct pulse *pulse, const struct route *route)
{
	return atomic_load(doubt_of(pulse, route)) != 0;
}

void
pulse_doubt_settle(struct pulse *pulse)
{
	assert(pulse->writable && pulse->slot != -1);
	take_back(pulse, pulse->slot);
}

int
pulse_slot(const struct pulse *pulse)
{
	return pulse->slot;
}

bool
pulse_doubt_by(const struct pulse *pulse, int slot, const struct route *route)
{
	return (atomic_load(doubt_of(pulse, route)) & bit_of(slot)) != 0;
}

int
pulse_doubt_over(struct pulse *pulse, int above, int64_t now_ms)
{
	uint64_t bits = slots_in_doubt(pulse);

	assert(pulse->writable);
	for (int slot = above + 1; slot < MAX_ROUTERS; slot++) {
		if ((bits & bit_of(slot)) == 0 || slot == pulse->slot ||
		    !pulse_lock(pulse, LOCK_SLOT + slot, F_WRLCK))
			continue;
		if (now_ms >= atomic_load(&pulse->map->until_ms[slot]))
			return slot;
		pulse_lock(pulse, LOCK_SLOT + slot, F_UNLCK);
	}
	return -1;
}

void
pulse_doubt_end(struct pulse *pulse, int slot)
{
	take_back(pulse, slot);
	pulse_doubt_leave(pulse, slot);
}

void
pulse_doubt_leave(struct pulse *pulse, int slot)
{
	assert(slot != pulse->slot);
	pulse_lock(pulse, LOCK_SLOT + slot, F_UNLCK);
}

/* No wait without a bound: who is inside may be stopped. */
static bool
pass_door(const struct pulse *pulse)
{
	const struct timespec look = { .tv_nsec = DOOR_LOOK_MS * 1000000 };
	int64_t until_ms = clock_boot_ms() + DOOR_MS;

	while (!pulse_lock(pulse, LOCK_DOOR, F_WRLCK)) {
		if (clock_boot_ms() >= until_ms)
			return false;
		nanosleep(&look, NULL);
	}
	return true;
}

enum err
pulse_join(struct pulse *pulse, pulse_start *start, void *arg)
{
	enum err err;

	assert(pulse->writable);
	if (!pass_door(pulse))
		return err_set(ERR_BUSY,
		    "another router starts, and has not come to its end: it "
		    "waits for the table, or was stopped");
	err = start(arg, !pulse_has_router(pulse));
	if (err == ERR_OK && !pulse_lock(pulse, LOCK_LIVING, F_RDLCK))
		err = err_sys("pulse");
	pulse_lock(pulse, LOCK_DOOR, F_UNLCK);
	return err;
}

bool
pulse_has_router(const struct pulse *pulse)
{
	return pulse_is_locked(pulse, LOCK_LIVING);
}

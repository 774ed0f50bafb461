/* pulse.c: heartbeat, doubt, and who lives: a small map shared by programs */
/* SPDX-License-Identifier: ISC */
#include "sync/pulse.h"

#include <assert.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "conf/clock.h"
#include "conf/mem.h"
#include "sync/shared.h"

/* Words of doubt; routes that share one are in doubt together. */
#define DOUBTS 256

/*
 * Bytes of the file that are locked, whatever is in them, by locks of the
 * open file (F_OFD_SETLK): they end with their process, and are apart even
 * between two that one process has open.
 */
enum {
	LOCK_SLOT,		 /* the first of MAX_ROUTERS; exclusive */
	LOCK_DOOR = MAX_ROUTERS, /* exclusive, while a router starts */
	LOCK_LIVING,		 /* shared, by all that have started */
};
/* A start waits so long for the one before it, looking so often. */
#define DOOR_MS 500
#define DOOR_LOOK_MS 5

/* The file.  Between processes only lock-free atomics work. */
struct map {
	struct shared head;
	_Atomic int64_t beat_ms; /* clock_boot_ms(); 0: none yet */
	/* by slot: when what a dead one left is over (clock_boot_ms()) */
	_Atomic int64_t until_ms[MAX_ROUTERS];
	_Atomic uint64_t doubts[DOUBTS]; /* by route; a bit for each slot */
};
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "atomics without locks");
_Static_assert(MAX_ROUTERS <= 64, "a bit for each slot");

struct pulse {
	struct map *map;
	bool writable;
	int fd;	  /* whose locks are this process's */
	int slot; /* -1: none */
};

enum err
pulse_open(const char *run_dir, bool may_create, struct pulse **out)
{
	static const struct shared_kind kind = { "pulse", "reproute pulse 3",
		sizeof(struct map) };
	struct pulse *pulse;
	enum err err;
	void *map;
	int fd;

	err = shared_open(run_dir, &kind, may_create, &fd, &map);
	if (err != ERR_OK)
		return err;
	pulse = mem_zalloc(sizeof(*pulse));
	*pulse = (struct pulse){ .map = map,
		.writable = may_create,
		.fd = fd,
		.slot = -1 };
	*out = pulse;
	return ERR_OK;
}

void
pulse_close(struct pulse *pulse)
{
	if (pulse == NULL)
		return;
	munmap(pulse->map, sizeof(*pulse->map));
	close(pulse->fd);
	free(pulse);
}

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

/* type: F_RDLCK, F_WRLCK, F_UNLCK.  Does not wait. */
static bool
lock_byte(const struct pulse *pulse, int byte, short type)
{
	struct flock lock = { .l_type = type,
		.l_whence = SEEK_SET,
		.l_start = byte,
		.l_len = 1 };

	return fcntl(pulse->fd, F_OFD_SETLK, &lock) == 0;
}

/* By FNV-1a of its name, so that every process finds the same one. */
static _Atomic uint64_t *
doubt_of(const struct pulse *pulse, const struct route *route)
{
	uint32_t hash = 2166136261;

	for (const char *at = route->name; *at != '\0'; at++)
		hash = (hash ^ (unsigned char)*at) * 16777619;
	return &pulse->map->doubts[hash % DOUBTS];
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
		if (!lock_byte(pulse, LOCK_SLOT + slot, F_WRLCK))
			continue;
		if ((slots_in_doubt(pulse) & bit_of(slot)) == 0) {
			atomic_store(&pulse->map->until_ms[slot], 0);
			pulse->slot = slot;
			return ERR_OK;
		}
		/* a dead one's, until the daemon says that it is over */
		lock_byte(pulse, LOCK_SLOT + slot, F_UNLCK);
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
		    !lock_byte(pulse, LOCK_SLOT + slot, F_WRLCK))
			continue;
		if (now_ms >= atomic_load(&pulse->map->until_ms[slot]))
			return slot;
		lock_byte(pulse, LOCK_SLOT + slot, F_UNLCK);
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
	lock_byte(pulse, LOCK_SLOT + slot, F_UNLCK);
}

/* No wait without a bound: who is inside may be stopped. */
static bool
pass_door(const struct pulse *pulse)
{
	const struct timespec look = { .tv_nsec = DOOR_LOOK_MS * 1000000 };
	int64_t until_ms = clock_boot_ms() + DOOR_MS;

	while (!lock_byte(pulse, LOCK_DOOR, F_WRLCK)) {
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
	if (err == ERR_OK && !lock_byte(pulse, LOCK_LIVING, F_RDLCK))
		err = err_sys("pulse");
	lock_byte(pulse, LOCK_DOOR, F_UNLCK);
	return err;
}

bool
pulse_has_router(const struct pulse *pulse)
{
	struct flock lock = { .l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = LOCK_LIVING,
		.l_len = 1 };

	/* where nobody can tell, a start does the whole of its work */
	return fcntl(pulse->fd, F_OFD_GETLK, &lock) == 0 &&
	    lock.l_type != F_UNLCK;
}

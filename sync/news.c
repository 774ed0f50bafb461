/* news.c: whoever waits for a mark is told of it, in whatever process */
/* SPDX-License-Identifier: ISC */
#include "sync/news.h"

#include <assert.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sync/pulse_map.h"

/* FUTEX_PRIVATE_FLAG is not set: the word is in a file's map. */
static void
futex(const _Atomic uint32_t *word, int operation, uint32_t value)
{
	(void)syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

static _Atomic uint32_t *
word_of(const struct pulse *pulse, const struct route *route, const char *name)
{
	uint32_t hash = pulse_hash(PULSE_HASH, route->name);

	/* no name holds a newline */
	hash = pulse_hash(pulse_hash(hash, "\n"), name);
	return &pulse->map->news[hash % NEWS];
}

const _Atomic uint32_t *
news_of(const struct pulse *pulse, const struct route *route, const char *name)
{
	return word_of(pulse, route, name);
}

void
news_ring(struct pulse *pulse)
{
	assert(pulse->writable);
	atomic_fetch_add(&pulse->map->turns, 1);
	futex(&pulse->map->turns, FUTEX_WAKE, INT_MAX);
}

void
news_tell(struct pulse *pulse, const struct route *route, const char *name)
{
	assert(pulse->writable);
	/* in this order: who is woken looks for words that have changed */
	atomic_fetch_add(word_of(pulse, route, name), 1);
	news_ring(pulse);
}

uint32_t
news_await(const struct pulse *pulse, uint32_t turn)
{
	uint32_t now;

	while ((now = atomic_load(&pulse->map->turns)) == turn)
		futex(&pulse->map->turns, FUTEX_WAIT, turn);
	return now;
}

/* Locked by others. */
static int
locked(const struct pulse *pulse, int first, int n)
{
	int count = 0;

	for (int i = 0; i < n; i++)
		count += pulse_is_locked(pulse, first + i);
	return count;
}

/*
 * The seat first, then how many there are: of two that sit down at once both
 * may rise again, but never do both stay where one may.
 */
bool
news_sit(struct pulse *pulse)
{
	int seat = 0, others;

	while (seat < SEATS && !pulse_lock(pulse, LOCK_SEAT + seat, F_WRLCK))
		seat++;
	if (seat == SEATS)
		return false;
	atomic_store(&pulse->seat, seat);
	others = locked(pulse, LOCK_SLOT, MAX_ROUTERS);
	if (locked(pulse, LOCK_SEAT, SEATS) + 1 <= (others + 1) / 2)
		return true;
	news_rise(pulse);
	return false;
}

void
news_rise(struct pulse *pulse)
{
	int seat = atomic_exchange(&pulse->seat, -1);

	if (seat != -1)
		(void)pulse_lock(pulse, LOCK_SEAT + seat, F_UNLCK);
}

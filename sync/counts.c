/* counts.c: how often each thing happened to a route's requests, since boot */
/* SPDX-License-Identifier: ISC */
#include "sync/counts.h"

#include <assert.h>

#include "sync/pulse_map.h"

/* Of its name, and never 0; what is observed is counted apart. */
static uint64_t
key_of(const struct route *route)
{
	uint32_t high = pulse_hash(PULSE_HASH, route->name);
	const char *mode = route->mode == MODE_OBSERVE ? "\t" : "\n";
	uint32_t low = pulse_hash(pulse_hash(PULSE_HASH, mode), route->name);

	return (uint64_t)high << 32 | low | 1;
}

/* make: a free one becomes this route's; NULL: it has none. */
static struct counts *
counts_of(const struct pulse *pulse, const struct route *route, bool make)
{
	uint64_t key = key_of(route);
	size_t at = (size_t)(key >> 32) % COUNTED;

	for (size_t i = 0; i < COUNTED; i++) {
		struct counts *counts = &pulse->map->counts[(at + i) % COUNTED];
		uint64_t found = atomic_load(&counts->route);

		if (found == 0 && !make)
			return NULL;
		if (found == 0 &&
		    atomic_compare_exchange_strong(&counts->route, &found, key))
			found = key;
		if (found == key)
			return counts;
	}
	return NULL;
}

void
counts_add(struct pulse *pulse, const struct route *route, unsigned what)
{
	struct counts *counts = counts_of(pulse, route, true);

	assert(pulse->writable && what < MAX_COUNTS);
	if (counts != NULL)
		atomic_fetch_add(&counts->count[what], 1);
}

uint64_t
counts_get(const struct pulse *pulse, const struct route *route, unsigned what)
{
	const struct counts *counts = counts_of(pulse, route, false);

	return counts != NULL ? atomic_load(&counts->count[what]) : 0;
}

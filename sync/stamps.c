/* stamps.c: which repositories are read: times in a map shared by programs */
/* SPDX-License-Identifier: ISC */
#include "sync/stamps.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "conf/mem.h"
#include "sync/shared.h"

#define BUCKETS (MAX_STAMPS / STAMP_WAYS)
/* Paces, of all routes that there were since boot. */
#define PACES (4 * MAX_ROUTES)

/*
 * A place is one word, so that no half of one is ever seen: the upper half
 * of the hash, and the second since boot, from 1; 0 is an empty one.
 */
#define TAG_MASK UINT64_C(0xffffffff00000000)
#define SECOND_MASK UINT64_C(0x00000000ffffffff)

struct told {
	_Atomic uint64_t route; /* hash of its name; 0: free */
	_Atomic int64_t told_ms, bound_ms, polled;
};

/* The file.  Between processes only lock-free atomics work. */
struct map {
	struct shared head;
	struct told told[PACES];
	/* a bucket is one cache line */
	_Alignas(64) _Atomic uint64_t places[BUCKETS][STAMP_WAYS];
};
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "atomics without locks");

struct stamps {
	struct map *map;
	bool writable;
};

enum err
stamps_open(const char *run_dir, bool may_create, struct stamps **out)
{
	static const struct shared_kind kind = { "stamps", "reproute stamps 1",
		sizeof(struct map) };
	struct stamps *stamps;
	enum err err;
	void *map;
	int fd;

	err = shared_open(run_dir, &kind, may_create, &fd, &map);
	if (err != ERR_OK)
		return err;
	close(fd);
	stamps = mem_zalloc(sizeof(*stamps));
	*stamps = (struct stamps){ .map = map, .writable = may_create };
	*out = stamps;
	return ERR_OK;
}

void
stamps_close(struct stamps *stamps)
{
	if (stamps == NULL)
		return;
	munmap(stamps->map, sizeof(*stamps->map));
	free(stamps);
}

/* FNV-1a of a text and the byte that ends it. */
static uint64_t
hash_text(uint64_t hash, const char *text)
{
	do
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
	while (*text++ != '\0');
	return hash;
}

/*
 * Of every request and of every row of a walk, so not digest_64(); who makes
 * names that collide wins no more than the sweep gives him.
 */
static uint64_t
hash_of(const struct route *route, const char *name)
{
	uint64_t hash = hash_text(0xcbf29ce484222325, route->name);

	if (name != NULL)
		hash = hash_text(hash, name);
	/* all bits of FNV depend on the last bytes only by this */
	hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccd;
	return hash ^ hash >> 33;
}

void
stamps_put(struct stamps *stamps, const struct route *route, const char *name,
    int64_t now_ms)
{
	uint64_t hash = hash_of(route, name);
	uint64_t stamp = (hash & TAG_MASK) |
	    ((uint64_t)(now_ms / 1000 + 1) & SECOND_MASK);
	_Atomic uint64_t *bucket = stamps->map->places[hash % BUCKETS];
	_Atomic uint64_t *place = &bucket[0];
	uint64_t oldest = SECOND_MASK;

	assert(stamps->writable);
	for (int i = 0; i < STAMP_WAYS; i++) {
		uint64_t was = atomic_load_explicit(&bucket[i],
		    memory_order_relaxed);

		if (was == stamp)
			return;
		if (was != 0 && (was & TAG_MASK) == (hash & TAG_MASK)) {
			place = &bucket[i];
			break;
		}
		if ((was & SECOND_MASK) < oldest) {
			oldest = was & SECOND_MASK;
			place = &bucket[i];
		}
	}
	/* of two that take one place at once, one is missed until its next */
	atomic_store_explicit(place, stamp, memory_order_release);
}

int64_t
stamps_get_s(const struct stamps *stamps, const struct route *route,
    const char *name)
{
	uint64_t hash = hash_of(route, name);
	const _Atomic uint64_t *bucket = stamps->map->places[hash % BUCKETS];
	int64_t last_s = -1;

	for (int i = 0; i < STAMP_WAYS; i++) {
		uint64_t was = atomic_load_explicit(&bucket[i],
		    memory_order_acquire);
		int64_t at_s = (int64_t)(was & SECOND_MASK) - 1;

		/* two at once may have put it into two places */
		if (was != 0 && (was & TAG_MASK) == (hash & TAG_MASK) &&
		    at_s > last_s)
			last_s = at_s;
	}
	return last_s;
}

/* Its place; NULL where it has none, or, to be made, where all are taken. */
static struct told *
told_of(const struct stamps *stamps, const struct route *route, bool make)
{
	/* 0 is a free one's */
	uint64_t hash = hash_of(route, NULL) | 1;

	for (size_t i = 0; i < PACES; i++) {
		struct told *told = &stamps->map->told[i];

		if (make && told->route == 0)
			told->route = hash;
		if (told->route == hash)
			return told;
		if (told->route == 0)
			break;
	}
	return NULL;
}

void
stamps_tell(struct stamps *stamps, const struct route *route,
    const struct pace *pace)
{
	struct told *told = told_of(stamps, route, true);

	assert(stamps->writable);
	if (told == NULL)
		return;
	told->bound_ms = pace->bound_ms;
	told->polled = pace->polled;
	told->told_ms = pace->told_ms;
}

bool
stamps_told(const struct stamps *stamps, const struct route *route,
    struct pace *out)
{
	const struct told *told = told_of(stamps, route, false);

	if (told == NULL)
		return false;
	*out = (struct pace){ .told_ms = told->told_ms,
		.bound_ms = told->bound_ms,
		.polled = told->polled };
	return true;
}

/* pulse_map.h: what the shared map holds */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_PULSE_MAP_H
#define SYNC_PULSE_MAP_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sync/counts.h"
#include "sync/pulse.h"
#include "sync/shared.h"

/* Only for pulse.c, pulse_file.c, news.c and counts.c. */

/* Words of doubt; routes that share one are in doubt together. */
#define DOUBTS 256
/* Words of news; who waits for one looks for nothing when another's came. */
#define NEWS 1024
/* Who has counts; those of routes that are no more stay until the boot. */
#define COUNTED 128

#define SEATS (MAX_ROUTERS / 2)

/*
 * Bytes of the file that are locked, whatever is in them, by locks of the
 * open file (F_OFD_SETLK): they end with their process, and are apart even
 * between two that one process has open.
 */
enum {
	LOCK_SLOT,		 /* the first of MAX_ROUTERS; exclusive */
	LOCK_DOOR = MAX_ROUTERS, /* exclusive, while a router starts */
	LOCK_LIVING,		 /* shared, by all that have started */
	LOCK_SEAT,		 /* the first of SEATS; exclusive */
};

/* Of one route; they only rise. */
struct counts {
	_Atomic uint64_t route; /* by its name; 0: nobody's yet */
	_Atomic uint64_t count[MAX_COUNTS];
};

/* The file.  Between processes only lock-free atomics work. */
struct map {
	struct shared head;
	_Atomic int64_t beat_ms; /* clock_boot_ms(); 0: none yet */
	/* by slot: when what a dead one left is over (clock_boot_ms()) */
	_Atomic int64_t until_ms[MAX_ROUTERS];
	_Atomic uint64_t doubts[DOUBTS]; /* by route; a bit for each slot */
	_Atomic uint32_t turns;		 /* a futex: rises with all news */
	_Atomic uint32_t news[NEWS];	 /* by repository */
	struct counts counts[COUNTED];
};
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "atomics without locks");
_Static_assert(MAX_ROUTERS <= 64, "a bit for each slot");

struct pulse {
	struct map *map;
	bool writable;
	int fd;		  /* whose locks are this process's */
	int slot;	  /* -1: none */
	_Atomic int seat; /* as slot */
};

/* type: F_RDLCK, F_WRLCK, F_UNLCK.  Does not wait. */
bool pulse_lock(const struct pulse *, int byte, short type);
/* By anybody else? */
bool pulse_is_locked(const struct pulse *, int byte);

/* FNV-1a, of more text from there on: every process has the same. */
#define PULSE_HASH UINT32_C(2166136261)
uint32_t pulse_hash(uint32_t hash, const char *text);

#endif

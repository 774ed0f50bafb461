/* stamps.h: which repositories are read: times in a map shared by programs */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_STAMPS_H
#define SYNC_STAMPS_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"

/*
 * Repositories that have a place, 2^17, in buckets of STAMP_WAYS: a name may
 * stand in one bucket only, and takes the place of the one there that was
 * read longest ago.  So one that is read is missed only while STAMP_WAYS
 * others of its bucket were read later: of 10,000 that are read all the time
 * less than one in a million, of 30,000 one in a thousand.  Who is missed has
 * a place again at the next read, and is compared by the sweep in any case.
 * Two names are taken for one where 46 bits of their hashes are the same:
 * then one too many is compared.
 */
#define MAX_STAMPS 131072
#define STAMP_WAYS 8

struct stamps;

/*
 * Maps run_dir/stamps, made and filled beforehand so that no store can fail.
 * may_create false: ERR_ABSENT where it is not there, and mapped for reading
 * only.
 */
MUST_USE enum err stamps_open(const char *run_dir, bool may_create,
    struct stamps **out);
void stamps_close(struct stamps *); /* takes NULL */

/*
 * It is read now (clock_boot_ms()).  No lock, no system call, and a store
 * only once a second; in any number of threads and processes.
 */
void stamps_put(struct stamps *, const struct route *, const char *name,
    int64_t now_ms);
/* In which second since boot it was read last; -1: not, as far as is known. */
int64_t stamps_get_s(const struct stamps *, const struct route *,
    const char *name);

/* How the daemon's poll of a route goes, for status. */
struct pace {
	int64_t told_ms;  /* when this was written; clock_boot_ms() */
	int64_t bound_ms; /* how long a change stays unseen; 0: none was due */
	int64_t polled;	  /* repositories read lately */
};
/* The daemon's alone. */
void stamps_tell(struct stamps *, const struct route *, const struct pace *);
/* false: nothing was told since boot. */
bool stamps_told(const struct stamps *, const struct route *, struct pace *out);

#endif

/* shared.h: a small file in run_dir that programs map, whole from the start */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_SHARED_H
#define SYNC_SHARED_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/clock.h"
#include "conf/err.h"

#define SHARED_MAGIC_SIZE 20

/* What such a file begins with; the rest is zeros when it is made. */
struct shared {
	char magic[SHARED_MAGIC_SIZE];
	char boot_id[BOOT_ID_SIZE];
};

struct shared_kind {
	const char *name; /* in run_dir */
	/* stands for the layout, too: one is changed with the other */
	const char *magic;
	size_t size;
};

/*
 * Opens and maps it.  It is made beside and then put in its place, with all
 * of its space, so that no later store can fail for want of it, and anew
 * after a boot.  may_create false: ERR_ABSENT where there is none of this
 * boot, and mapped for reading only.  map and fd are the caller's.
 */
MUST_USE enum err shared_open(const char *run_dir, const struct shared_kind *,
    bool may_create, int *fd, void **map);

#endif

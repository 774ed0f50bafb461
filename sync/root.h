/* root.h: the repositories below one directory, and nothing else */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_ROOT_H
#define SYNC_ROOT_H

#include <stddef.h>

#include "conf/err.h"

/*
 * The repository NAME below root, as NAME or as NAME.git, into path.  No
 * link and no ".." is followed on the way (openat2(2), RESOLVE_BENEATH and
 * RESOLVE_NO_SYMLINKS); root itself may be a link.  ERR_ABSENT: neither is
 * there; ERR_INPUT: both are, or name is no name.
 */
MUST_USE enum err root_find(const char *root, const char *name, char *path,
    size_t size);

/*
 * Where NAME is to be made: root/NAME.git.  ERR_INPUT where a link or
 * another repository is on the way, or something is there already.
 */
MUST_USE enum err root_place(const char *root, const char *name, char *path,
    size_t size);

#endif

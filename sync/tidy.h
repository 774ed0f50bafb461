/* tidy.h: what a killed git leaves in a repository, and how it goes */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_TIDY_H
#define SYNC_TIDY_H

#include "conf/err.h"

/*
 * Removes lock files, half-written files and empty refs of a git that was
 * killed, or that lost power.  Only for one who holds the repository's fetch
 * lock (fetch.h): then no git of ours is alive in it, since each inherits
 * that lock.  For the sake of others' (an admin's gc) a file goes only when
 * it is older than any git holds it.
 */
void tidy_leftovers(const char *repository);

/* Removes path and all below it; what is not there is removed. */
MUST_USE enum err tidy_remove(const char *path);

#endif

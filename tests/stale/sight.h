/* sight.h: what a reader saw of a repository's refs */
/* SPDX-License-Identifier: ISC */
#ifndef TESTS_STALE_SIGHT_H
#define TESTS_STALE_SIGHT_H

#include <stddef.h>

#include "tests/stale/scene.h"

/*
 * Each sets values[REFS], all of them: ABSENT for what is not there.
 * ERR_INPUT: no such thing, broken off, or with refs or commits that nobody
 * pushed.
 *
 * sight_advert: a ref advertisement of protocol v0, or ls-refs of v2
 * (gitprotocol-pack(5), gitprotocol-v2(5)).  Not by sync/advert.h: what
 * misreads there must not misread here.
 */
MUST_USE enum err sight_advert(const struct scene *, const char *bytes,
    size_t len, int *values);
/* Lines of "OID REF"; HEAD is UNSEEN. */
MUST_USE enum err sight_lines(const struct scene *, const char *text,
    int *values);

#endif

/* tap.h: test results as the Test Anything Protocol */
/* SPDX-License-Identifier: ISC */
#ifndef TESTS_UNIT_TAP_H
#define TESTS_UNIT_TAP_H

#include <stdbool.h>

#include "conf/err.h"

/* One result; name says what is claimed.  Returns pass. */
bool tap_ok(bool pass, const char *name, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for text; on failure both are shown.  NULL equals NULL only. */
bool tap_str(const char *got, const char *want, const char *name, ...)
    __attribute__((format(printf, 3, 4)));
bool tap_int(long long got, long long want, const char *name, ...)
    __attribute__((format(printf, 3, 4)));
/* Ends the test unless it is ERR_OK: nothing could be claimed behind it. */
void tap_must(enum err);
/* A line for people. */
void tap_note(const char *text, ...) __attribute__((format(printf, 1, 2)));
/* Prints the plan; what main() returns. */
int tap_done(void);
/* An empty directory of this run, removed with all in it by tap_done(). */
const char *tap_dir(void);

#endif

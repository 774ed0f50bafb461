/* gained.h: a test that runs with the rights of another group */
/* SPDX-License-Identifier: ISC */
#ifndef TESTS_UNIT_GAINED_H
#define TESTS_UNIT_GAINED_H

/*
 * A copy of the running test, setgid to a group that is not ours: its path,
 * to be freed.  NULL, with a note, where that can not be shown: it needs root,
 * and a directory that is not nosuid.
 */
char *gained_copy(void);

#endif

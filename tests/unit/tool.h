/* tool.h: the built reproute, run on a world, and what it says */
/* SPDX-License-Identifier: ISC */
#ifndef TESTS_UNIT_TOOL_H
#define TESTS_UNIT_TOOL_H

#include "tests/unit/world.h"

struct tool {
	char *conf, *dir;
	/* of the last run; never NULL */
	struct buf out, errors;
	int status; /* -1: it did not exit */
};

/*
 * Writes the configuration of that world, whose table is the program's, too;
 * the sockets and the heartbeat are beside it.  migrate is what the registry
 * route says beside "to"; more are keys outside all routes.
 */
void tool_begin(struct tool *, const struct world *, const char *directory,
    const char *migrate, const char *more);
void tool_end(struct tool *);

/*
 * ./reproute with that configuration and these words, which are a shell's:
 * they may redirect its input.
 */
void tool_run(struct tool *, const char *words);
/* Is this piece in what it printed?  A claim of that name. */
bool tool_says(const struct tool *, const char *piece, const char *claim);

#endif

/* spawn.h: a child process of its own group, with a stall limit, no shell */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_SPAWN_H
#define SYNC_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/err.h"
#include "conf/mem.h"

/* More stdout than this ends the child. */
#define MAX_OUTPUT (256UL << 20)

struct spawn {
	const char *const *argv;	/* argv[0] is looked up in PATH */
	const char *const *env;		/* "NAME=value" added, or NULL */
	const char *input;		/* for its stdin, or NULL */
	size_t input_len;
	int64_t stall_ms;		/* no output for so long kills the group */
	/* called about once a second with the last line of output, or NULL */
	void (*progress)(void *arg, const char *line);
	void *progress_arg;
	/* stop was asked for when this returns true: kills the group */
	bool (*stop)(void *arg);
	void *stop_arg;
};

/*
 * Runs it to its end.  output (may be NULL) takes its stdout, appended, at
 * most MAX_OUTPUT.  ERR_PEER: it ended other than by exit 0, or stalled and
 * was killed; the sentence has the last line of its stderr, escaped.
 * The whole process group is gone when this returns.
 */
MUST_USE enum err spawn_run(const struct spawn *, struct buf *output);

#endif

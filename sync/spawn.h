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
/* Variables that one child's environment may add or take away. */
#define MAX_SPAWN_ENV 64

struct spawn {
	const char *const *argv; /* argv[0] is looked up in PATH */
	/* "NAME=value" is set, "NAME" is taken away; ends in NULL; or NULL */
	const char *const *env;
	const char *input; /* for its stdin, or NULL */
	size_t input_len;
	/*
	 * Neither output nor CPU time of the group for so long kills it: git
	 * checks connectivity for minutes without a word.
	 */
	int64_t stall_ms;
	/*
	 * Stays open in the child and in its children, as fd 3; 0: none.  A
	 * lock on it is held until the last of them is gone.
	 */
	int keep_fd;
	/*
	 * Called every second, whether there was output or not, with the last
	 * line of stderr (of stdout too where output is NULL), "" before the
	 * first; printable.  Or NULL.
	 */
	void (*progress)(void *arg, const char *line);
	void *progress_arg;
	/* stop was asked for when this returns true: kills the group */
	bool (*stop)(void *arg);
	void *stop_arg;
};

/*
 * Runs it to its end.  output (may be NULL) takes its stdout, appended.
 * ERR_PEER: it ended other than by exit 0, was stopped, or stalled; the
 * sentence has its last line, or the first that starts with "fatal: " or
 * "error: ", printable.  ERR_LIMIT: more than MAX_OUTPUT.
 * ERR_SYS: it could not be run.  The whole process group is gone when this
 * returns.  Fds 0 to 2 of the caller must be open.
 */
MUST_USE enum err spawn_run(const struct spawn *, struct buf *output);

#endif

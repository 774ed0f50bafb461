/* fetch.h: makes a local repository converge to its origin, by git fetch */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_FETCH_H
#define SYNC_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/err.h"

struct fetch {
	const char *path;      /* bare; made if it is absent */
	const char *origin;    /* http(s)://, file:// or a path */
	const char *auth_file; /* netrc(5) form, or NULL */
	const char *ca_file;   /* or NULL */
	/*
	 * HEAD's target at the origin; "": it is detached or not known, and
	 * the origin is asked.
	 */
	const char *head;
	const char *object_format;		       /* "sha1", "sha256" */
	int64_t stall_ms;			       /* as in spawn.h */
	void (*progress)(void *arg, const char *line); /* as there, or NULL */
	void *progress_arg;
	bool (*stop)(void *arg); /* as there, or NULL */
	void *stop_arg;
};

/*
 * Makes all refs, HEAD and the object format what they are at the origin.
 * ERR_BUSY: another one is fetching it (PATH.reproute-lock); ERR_INPUT: head
 * or the object format is none; ERR_PEER: git failed, was stopped or
 * stalled.  Success is no proof: compare refs.
 *
 * A new repository, or one of another object format, is filled beside
 * (PATH.reproute-new) and put in place when it is complete.  What a killed
 * git has left behind is removed first.
 */
MUST_USE enum err fetch_run(const struct fetch *);

/*
 * ERR_BUSY while a git that some fetch_run() started works on path, even one
 * that has outlived it: refs that are equal now may move in a moment.
 */
MUST_USE enum err fetch_idle(const char *path);

#endif

/* report.h: a report of a push: which repository, which phase */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_REPORT_H
#define SYNC_REPORT_H

#include "conf/crypto.h"
#include "conf/err.h"
#include "conf/name.h"

/* A report of a push, in any of its forms. */
enum push_phase { PUSH_REPORT, PUSH_BEGIN, PUSH_END };
struct push_report {
	char route[WORD_SIZE];	/* "" where not said */
	char name[NAME_SIZE];	/* without ".git" */
	char sha[65];		/* the seed's sha1, or "" */
	char token[TOKEN_SIZE]; /* or "" */
	enum push_phase phase;
};

/* What a body said, decoded but not yet checked; NULL where it did not. */
struct report_said {
	const char *route;
	const char *project, *repo, *sha1;	/* the seed's form */
	const char *repository, *phase, *token; /* the hooks' */
};

/*
 * Checks every field.  ERR_INPUT with the one that is missing or wrong, in
 * words that hold nothing of what was said.
 */
MUST_USE enum err report_make(const struct report_said *,
    struct push_report *out);

#endif

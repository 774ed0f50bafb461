/* check.h: what the check verb reports, and who may do what */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_CHECK_H
#define FCGI_CHECK_H

#include <stdbool.h>

#include "conf/mem.h"
#include "fcgi/admin.h"

enum level { LEVEL_OK, LEVEL_WARNING, LEVEL_ERROR };

struct report {
	const struct admin *admin;
	struct wire *wire; /* NULL: text */
	unsigned errors;
};

void check_say(struct report *, enum level, const char *subject,
    const char *fmt, ...) PRINTF(4, 5);

/*
 * May the programs use that directory, and nobody else?  state: it holds what
 * only they may write.  false: there is none, or no right to look into it.
 */
bool check_dir(struct report *, const char *subject, const char *path,
    bool state);
/* A program that writes the state, though the web server's user starts it. */
void check_setgid(struct report *, const char *name, const char *path);
/* The secrets and other files that the configuration names. */
void check_files(struct report *);

#endif

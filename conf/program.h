/* program.h: what every program's command line has in common */
/* SPDX-License-Identifier: ISC */
#ifndef CONF_PROGRAM_H
#define CONF_PROGRAM_H

#include <stdbool.h>

#include "conf/conf.h"

/* One option of a program's own; beside those that all have. */
struct program_option {
	const char *name;     /* without dashes */
	char letter;	      /* or 0 */
	const char *argument; /* its name in --help, or NULL: a flag */
	const char *help;
	bool *flag;	    /* of a flag */
	const char **value; /* of one with an argument */
};

struct program {
	const char *name;
	const char *synopsis; /* what stands behind the name in usage */
	const char *purpose;  /* a sentence */
	const struct program_option *options; /* to a NULL name; or NULL */
	/* takes options with neither flag nor value, each time; or NULL */
	void (*take)(const struct program_option *, const char *argument);
	const char *more; /* more text for --help, or NULL */
	bool operands;	  /* takes any; else one is a mistake */
	bool in_order;	  /* options end at the first operand */
};

/* The word that ends the options a program was given: where operands begin. */
struct program_run {
	const char *conf_file; /* -c, else $REPROUTE_CONF, else the default */
	int first;	       /* index of the first operand */
	bool trusted;	       /* no rights were gained (setgid) */
};

/*
 * In this order: fds 0-2 are there, umask 0007, options.  --help and
 * --version print and exit 0; --check-config reads the configuration,
 * and exits 0, or 78 with the first reason; a wrong option exits 64.  Where privileges were gained (setgid), the default
 * configuration is the only one: -c and the environment are not believed.
 */
void program_start(const struct program *, int argc, char **argv,
    struct program_run *out);

/*
 * The first operand of such a command line, before program_start(): a verb,
 * which says what the other words mean.  Says nothing of wrong options.
 * NULL: none.
 */
const char *program_first(const struct program *, int argc, char **argv);

/* Reads the run's configuration; exits 78 with the reason if it is wrong. */
struct conf *program_conf(const struct program_run *);

/* The line of an error, and the exit of a program that ends on it. */
_Noreturn void program_fail(enum err);

#endif

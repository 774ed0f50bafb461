/* admin.h: the verbs of the reproute command */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_ADMIN_H
#define FCGI_ADMIN_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "conf/mem.h"
#include "sync/pulse.h"
#include "sync/table.h"

/* What every verb is given: options that were not said are false or NULL. */
struct admin {
	const struct conf *conf; /* NULL for feed */
	bool json;		 /* --json: one object on one line */

	bool apply, force; /* place, forget, compare */
	bool undo;	   /* drain */
	bool test;	   /* check: the configuration only */
	/* webconf */
	bool check;
	const char *part, *app, *mode, *socket, *address, *access_log,
	    *lua_file, *bin_dir, *sbin_dir, *libexec_dir;
	const char *log;		/* feed: the site's access log */
	const char *replicas, *timeout; /* wait */
};

/*
 * A verb: argv[0] is its name, the rest are its operands (of explain, its
 * own options as well).  The result is the exit status' err (err_exit());
 * *status, 0 at first, is an exit status beside errors (explain and check
 * say 1).
 */
typedef enum err admin_verb(const struct admin *, int argc, char **argv,
    int *status);

admin_verb admin_check, admin_explain, admin_status, admin_import, admin_place,
    admin_forget, admin_compare, admin_drain, admin_off, admin_on, admin_feed,
    admin_webconf, admin_wait;

/*
 * The table of this configuration: for reading, *out is NULL where there is
 * none; for writing it is made.
 */
MUST_USE enum err admin_table(const struct admin *, bool write,
    struct table **out);
/* The same, for reading, for what makes no sense without one: ERR_TABLE. */
MUST_USE enum err admin_known_table(const struct admin *, struct table **out);

/* Which routes a verb is about. */
typedef bool admin_filter(const struct route *);
admin_filter admin_is_git, admin_is_migration, admin_is_either;
/*
 * The route of operands "[ROUTE] WANTED...", WANTED being so many words:
 * the first word, or where it is left out the only route that the filter
 * takes.  ERR_USAGE with the names of those there are.
 */
MUST_USE enum err admin_route(const struct admin *, int argc, char **argv,
    int wanted, admin_filter *, const struct route **out);

/*
 * What a person calls a repository of that route, as it is stored: without
 * ".git", folded.  ERR_USAGE: no such name can be.
 */
MUST_USE enum err admin_name(const struct route *, const char *said,
    char name[NAME_SIZE]);

/* Prints and frees. */
struct wire;
void admin_print(struct wire *);

#endif

/* admin.h: the verbs of the reproute command */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_ADMIN_H
#define FCGI_ADMIN_H

#include <stdbool.h>

#include "conf/conf.h"
#include "conf/mem.h"
#include "sync/pulse.h"
#include "sync/table.h"

/* What every verb is given. */
struct admin {
	const struct conf *conf;
	bool json;		/* --json: one object on one line */
};

/*
 * A verb: argv[0] is its name.  Options and operands in any order.  The
 * result is the exit status' err (err_exit()); *status, 0 at first, is an
 * exit status beside errors (explain and check say 1).
 */
typedef enum err admin_verb(const struct admin *, int argc, char **argv,
    int *status);

admin_verb admin_check, admin_explain, admin_status, admin_import,
    admin_place, admin_forget, admin_compare, admin_drain, admin_feed,
    admin_webconf;

/*
 * The table of this configuration: for reading, *out is NULL where there is
 * none; for writing it is made.
 */
MUST_USE enum err admin_table(const struct admin *, bool write,
    struct table **out);

#endif

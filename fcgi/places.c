/* places.c: the verbs import, place and forget: what is where */
/* SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/clock.h"
#include "conf/log.h"
#include "fcgi/admin.h"
#include "sync/catalogue.h"
#include "sync/http.h"
#include "sync/place.h"
#include "sync/probe.h"
#include "sync/row.h"
#include "sync/wire.h"

/* A line of progress so often. */
#define PROGRESS_MS 2000

enum has { HAS_IT, HAS_NOT, HAS_UNKNOWN };
static const char *const has_words[] = { "has it", "does not have it",
	"cannot tell" };

/* One repository, what the sides and the table say, and what shall be. */
struct change {
	const struct admin *admin;
	const struct route *route;
	char name[NAME_SIZE];
	const struct upstream *to; /* NULL: forget */

	enum has has[2]; /* the route's primary, and its to */
	char *why[2];	 /* of HAS_UNKNOWN */
	bool known;	 /* a placement, or a git row */
	struct placement before;
	const char *refused; /* or NULL */
	bool applied;
};

static enum has
ask(struct http *http, const struct change *change, const struct upstream *side,
    char **why)
{
	unsigned status;

	if (probe_tags(http, change->admin->conf, side, change->name,
		&status) != ERR_OK)
		*why = mem_dup(err_text());
	else if (status == 200)
		return HAS_IT;
	else if (status == 404)
		return HAS_NOT;
	else
		*why = mem_fmt("HTTP %u", status);
	return HAS_UNKNOWN;
}

static void
ask_both(struct change *change)
{
	struct http *http = http_new();

	for (int i = 0; i < 2; i++)
		change->has[i] = ask(http, change, conf_side(change->route, i),
		    &change->why[i]);
	http_free(http);
}

static enum err
read_before(struct table_txn *txn, void *arg)
{
	struct change *change = arg;
	struct row row;
	enum err err = admin_is_git(change->route)
	    ? row_get(txn, change->route, change->name, &row)
	    : place_get(txn, change->route, change->name, &change->before);

	change->known = err == ERR_OK;
	return err == ERR_ABSENT ? ERR_OK : err;
}

static enum err
write_change(struct table_txn *txn, void *arg)
{
	const struct change *change = arg;

	if (change->to != NULL)
		return place_set(txn, change->route, change->name,
		    change->to->name);
	if (admin_is_git(change->route))
		return row_drop(txn, change->route, change->name);
	return place_drop(txn, change->route, change->name);
}

/*
 * A repository must not be sent to where it is not while it is elsewhere;
 * one that is nowhere yet may be placed beforehand.
 */
static const char *
why_refused(const struct change *change)
{
	int target = change->to == conf_side(change->route, 0) ? 0 : 1;

	if (change->to == NULL || change->admin->force ||
	    change->has[target] == HAS_IT ||
	    (change->has[0] == HAS_NOT && change->has[1] == HAS_NOT))
		return NULL;
	return "that side is not known to have it, and the other one may: "
	       "copy it first, or say --force";
}

static void
print_before(const struct change *change, const char *name)
{
	const struct route *route = change->route;

	if (admin_is_git(route))
		printf("%s: %s: %s\n", route->name, name,
		    change->known ? "has a row" : "has no row");
	else if (!change->known)
		printf("%s: %s: not placed\n", route->name, name);
	else
		printf("%s: %s: placed on %s, %s, by %s\n", route->name, name,
		    change->before.upstream,
		    change->before.state == PLACE_FINAL ? "final"
							: "provisional",
		    change->before.reason);
	for (int i = 0; i < 2 && !admin_is_git(route); i++)
		printf("  %-14s %s%s%s\n", conf_side(route, i)->name,
		    has_words[change->has[i]], change->why[i] ? ": " : "",
		    change->why[i] ? change->why[i] : "");
}

static void
print_text(const struct change *change)
{
	const char *will = change->applied ? "done" : "would be done";
	char name[NAME_SIZE * 4];

	print_before(change, log_escape(name, sizeof(name), change->name));
	if (change->refused != NULL)
		printf("refused: %s\n", change->refused);
	else if (change->to != NULL)
		printf("%s: placed on %s, finally\n", will, change->to->name);
	else if (!change->known)
		printf("nothing to forget\n");
	else if (admin_is_git(change->route))
		printf("%s: its row is dropped, and learnt anew when it is "
		       "read\n",
		    will);
	else
		printf("%s: its placement is dropped; the rules decide, until "
		       "a write or an import places it again\n",
		    will);
	if (!change->applied && change->refused == NULL &&
	    (change->to != NULL || change->known))
		printf("nothing was changed: say --apply\n");
}

static void
print_json(const struct change *change)
{
	static const char *const words[] = { "yes", "no", "unknown" };
	struct wire *wire = wire_new();

	wire_text(wire, "route", change->route->name);
	wire_text(wire, "repository", change->name);
	wire_bool(wire, "known", change->known);
	if (!admin_is_git(change->route)) {
		wire_text(wire, "before",
		    change->known ? change->before.upstream : NULL);
		wire_text(wire, "after",
		    change->to != NULL ? change->to->name : NULL);
		wire_begin_array(wire, "sides");
		for (int i = 0; i < 2; i++) {
			wire_begin_object(wire, NULL);
			wire_text(wire, "upstream",
			    conf_side(change->route, i)->name);
			wire_text(wire, "has", words[change->has[i]]);
			wire_text(wire, "why", change->why[i]);
			wire_end(wire);
		}
		wire_end(wire);
	}
	wire_text(wire, "refused", change->refused);
	wire_bool(wire, "applied", change->applied);
	admin_print(wire);
}

static enum err
apply(struct change *change)
{
	struct table *table;
	enum err err = admin_table(change->admin, true, &table);

	if (err != ERR_OK)
		return err;
	err = table_write(table, write_change, change);
	table_close(table);
	change->applied = err == ERR_OK;
	return err;
}

static enum err
run_change(struct change *change, int *status)
{
	struct table *table;
	enum err err = admin_table(change->admin, false, &table);

	if (err == ERR_OK && table != NULL) {
		err = table_read(table, read_before, change);
		table_close(table);
	}
	if (err != ERR_OK)
		return err;
	if (!admin_is_git(change->route))
		ask_both(change);
	change->refused = why_refused(change);
	if (change->admin->apply && change->refused == NULL &&
	    (change->to != NULL || change->known))
		err = apply(change);
	if (err == ERR_OK && change->admin->json)
		print_json(change);
	else if (err == ERR_OK)
		print_text(change);
	*status = change->refused != NULL;
	for (int i = 0; i < 2; i++)
		free(change->why[i]);
	return err;
}

enum err
admin_place(const struct admin *admin, int argc, char **argv, int *status)
{
	struct change change = { .admin = admin };
	enum err err = admin_route(admin, argc, argv, 2, admin_is_migration,
	    &change.route);

	if (err == ERR_OK)
		err = admin_name(change.route, argv[argc - 2], change.name);
	if (err != ERR_OK)
		return err;
	for (int i = 0; i < 2; i++) {
		const struct upstream *side = conf_side(change.route, i);

		if (strcmp(side->name, argv[argc - 1]) == 0)
			change.to = side;
	}
	if (change.to == NULL)
		return err_set(ERR_USAGE, "route %s has the sides %s and %s",
		    change.route->name, change.route->primary->name,
		    change.route->to->name);
	return run_change(&change, status);
}

enum err
admin_forget(const struct admin *admin, int argc, char **argv, int *status)
{
	struct change change = { .admin = admin };
	enum err err = admin_route(admin, argc, argv, 1, admin_is_either,
	    &change.route);

	if (err == ERR_OK)
		err = admin_name(change.route, argv[argc - 1], change.name);
	if (err != ERR_OK)
		return err;
	return run_change(&change, status);
}

/* Which imports are wanted; NULL stands for all. */
struct wanted {
	const struct route *route;
	const struct upstream *side;
};

static enum err
read_wanted(const struct admin *admin, int argc, char **argv,
    struct wanted *out)
{
	const struct route *route = NULL;
	const struct upstream *side = NULL;

	if (argc > 3)
		return err_set(ERR_USAGE, "a route and a side at most");
	for (int i = 1; i < argc; i++) {
		char said[WORD_SIZE];

		if (i == 1 &&
		    (route = conf_route(admin->conf, argv[i])) != NULL &&
		    admin_is_migration(route))
			continue;
		side = conf_upstream(admin->conf, argv[i]);
		if (side == NULL || i + 1 < argc)
			return err_set(ERR_USAGE,
			    "\"%s\" is neither a route "
			    "that migrates nor a side of one",
			    log_escape(said, sizeof(said), argv[i]));
	}
	*out = (struct wanted){ route, side };
	return ERR_OK;
}

static void
print_import(const struct route *route, const struct upstream *side,
    const struct import *import, struct wire *wire)
{
	if (wire == NULL) {
		printf("%s: %s: %ju names, %ju conflicts\n", route->name,
		    side->name, (uintmax_t)import->names,
		    (uintmax_t)import->conflicts);
		return;
	}
	wire_begin_object(wire, NULL);
	wire_text(wire, "route", route->name);
	wire_text(wire, "upstream", side->name);
	wire_number(wire, "names", (int64_t)import->names);
	wire_number(wire, "conflicts", (int64_t)import->conflicts);
	wire_number(wire, "completed", import->completed_s);
	wire_end(wire);
}

/* The import under way, for show_progress(), which is given nothing. */
static struct {
	struct table *table;
	const struct route *route;
	const struct upstream *side;
	int64_t next_ms;
} under_way;

static enum err
read_progress(struct table_txn *txn, void *arg)
{
	return import_get(txn, under_way.route, under_way.side, arg);
}

/* Called between two pages; never stops it. */
static bool
show_progress(void)
{
	struct import import;

	if (clock_boot_ms() < under_way.next_ms ||
	    table_read(under_way.table, read_progress, &import) != ERR_OK)
		return false;
	log_msg(LOG_INFO, "%s: %s: %ju names so far", under_way.route->name,
	    under_way.side->name, (uintmax_t)import.names);
	under_way.next_ms = clock_boot_ms() + PROGRESS_MS;
	return false;
}

static enum err
import_one(const struct admin *admin, struct http *http, struct table *table,
    const struct route *route, const struct upstream *side, struct wire *wire)
{
	struct import import;
	enum err err;

	under_way.table = table;
	under_way.route = route;
	under_way.side = side;
	under_way.next_ms = clock_boot_ms() + PROGRESS_MS;
	log_msg(LOG_INFO, "%s: %s: reading its catalogue", route->name,
	    side->name);
	err = catalogue_import(table, http, admin->conf, route, side,
	    show_progress, &import);
	if (err == ERR_OK) {
		print_import(route, side, &import, wire);
		return ERR_OK;
	}
	err = err_prefix(err, "%s: %s", route->name, side->name);
	log_msg(LOG_ERR, "%s", err_text());
	return err;
}

/* One that fails does not hold up the others. */
static enum err
import_all(const struct admin *admin, const struct wanted *wanted,
    struct table *table, struct wire *wire)
{
	struct http *http = http_new();
	enum err failed = ERR_OK;
	unsigned n = 0;

	for (size_t i = 0; i < 2 * admin->conf->n_routes; i++) {
		const struct route *route = &admin->conf->routes[i / 2];
		const struct upstream *side = conf_side(route, i % 2);
		enum err err;

		if (!admin_is_migration(route) ||
		    (wanted->route != NULL && wanted->route != route) ||
		    (wanted->side != NULL && wanted->side != side))
			continue;
		n++;
		err = import_one(admin, http, table, route, side, wire);
		if (err != ERR_OK)
			failed = err;
	}
	http_free(http);
	if (n == 0)
		return err_set(ERR_USAGE, "no route migrates from or to that");
	return failed == ERR_OK
	    ? ERR_OK
	    : err_set(failed,
		  "not every "
		  "catalogue could be read; the next import goes on from there");
}

enum err
admin_import(const struct admin *admin, int argc, char **argv, int *status)
{
	struct wanted wanted = { NULL, NULL };
	struct wire *wire = NULL;
	struct table *table;
	enum err err;

	(void)status;
	if ((err = read_wanted(admin, argc, argv, &wanted)) != ERR_OK ||
	    (err = admin_table(admin, true, &table)) != ERR_OK)
		return err;
	if (admin->json) {
		wire = wire_new();
		wire_begin_array(wire, "imports");
	}
	err = import_all(admin, &wanted, table, wire);
	if (wire != NULL) {
		wire_end(wire);
		admin_print(wire);
	}
	table_close(table);
	return err;
}

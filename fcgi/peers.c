/* peers.c: the verbs compare, drain, off, on: a person's word on replicas */
/* SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/log.h"
#include "fcgi/admin.h"
#include "fcgi/status.h"
#include "sync/http.h"
#include "sync/peer.h"
#include "sync/proof.h"
#include "sync/wake.h"
#include "sync/wire.h"

/* One repository that is compared. */
struct comparison {
	const struct admin *admin;
	const struct route *route;
	char name[NAME_SIZE];
	struct fences fences; /* that stand */
	struct wire *wire;    /* NULL: text */
	unsigned unequal;
};

static enum err
read_fences(struct table_txn *txn, void *arg)
{
	struct comparison *comparison = arg;

	return fences_get(txn, comparison->route, comparison->name,
	    &comparison->fences);
}

static enum err
end_fences(struct table_txn *txn, void *arg)
{
	const struct comparison *comparison = arg;

	return fences_end_all(txn, comparison->route, comparison->name);
}

static const char *
outcome_word(enum proof_outcome outcome)
{
	static const char *const words[] = {
		[PROOF_MARKED] = "equal, marked",
		[PROOF_SUPERSEDED] = "equal, but it changed meanwhile: no "
				     "mark",
		[PROOF_FENCED] = "not compared: a fence is up",
		[PROOF_UNREPORTED] = "not compared: no commit was reported",
		[PROOF_DIFFERS] = "differs",
		[PROOF_GONE] = "the primary has no such repository: all marks "
			       "are void",
		[PROOF_UNVERIFIED] = "equal, but its upload-pack offers less: "
				     "no mark",
	};

	return words[outcome];
}

static void
print_refs(const char *whose, const struct refs_digest *refs)
{
	if (refs->digest[0] != '\0')
		printf("    %-8s %zu refs, %.16s..., HEAD %s\n", whose,
		    refs->refs, refs->digest,
		    refs->head[0] != '\0' ? refs->head : "-");
	else
		printf("    %-8s no such repository\n", whose);
}

static void
print_result(const struct upstream *replica, const struct proof_result *result,
    enum err err)
{
	if (err != ERR_OK) {
		printf("  %-14s not compared: %s\n", replica->name, err_text());
		return;
	}
	printf("  %-14s %s, at generation %ju%s%s\n", replica->name,
	    outcome_word(result->outcome), (uintmax_t)result->generation,
	    result->note[0] != '\0' ? "; " : "", result->note);
	if (result->outcome == PROOF_DIFFERS ||
	    result->outcome == PROOF_MARKED) {
		print_refs("primary", &result->primary);
		print_refs("replica", &result->replica);
	}
}

static void
wire_refs(struct wire *wire, const char *whose, const struct refs_digest *refs)
{
	wire_begin_object(wire, whose);
	wire_text(wire, "digest",
	    refs->digest[0] != '\0' ? refs->digest : NULL);
	wire_number(wire, "refs", (int64_t)refs->refs);
	wire_text(wire, "head", refs->head[0] != '\0' ? refs->head : NULL);
	wire_end(wire);
}

static void
wire_result(struct wire *wire, const struct upstream *replica,
    const struct proof_result *result, enum err err)
{
	static const char *const words[] = {
		[PROOF_MARKED] = "marked",
		[PROOF_SUPERSEDED] = "superseded",
		[PROOF_FENCED] = "fenced",
		[PROOF_UNREPORTED] = "unreported",
		[PROOF_DIFFERS] = "differs",
		[PROOF_GONE] = "gone",
		[PROOF_UNVERIFIED] = "unverified",
	};

	wire_begin_object(wire, NULL);
	wire_text(wire, "upstream", replica->name);
	if (err != ERR_OK) {
		wire_text(wire, "outcome", "error");
		wire_text(wire, "note", err_text());
	} else {
		wire_text(wire, "outcome", words[result->outcome]);
		wire_number(wire, "generation", (int64_t)result->generation);
		wire_text(wire, "note",
		    result->note[0] != '\0' ? result->note : NULL);
		wire_refs(wire, "primary", &result->primary);
		wire_refs(wire, "replica", &result->replica);
	}
	wire_end(wire);
}

/* The result is ERR_ABSENT where the repository has no row. */
static enum err
compare_replicas(struct comparison *comparison, struct table *table)
{
	const struct route *route = comparison->route;
	struct proof_result *result = mem_zalloc(sizeof(*result));
	struct http *http = http_new();
	enum err err = ERR_OK;

	for (size_t i = 0; i < route->n_replicas && err == ERR_OK; i++) {
		const struct upstream *replica = route->replicas[i];
		bool raised;
		enum err one = proof_run(table, http, comparison->admin->conf,
		    route, replica, comparison->name, result);

		if (one == ERR_OK)
			one = proof_unreported(table, route, replica,
			    comparison->name, result, &raised);
		comparison->unequal += one != ERR_OK ||
		    result->outcome != PROOF_MARKED;
		if (one == ERR_ABSENT || one == ERR_TABLE)
			err = one;
		else if (comparison->wire != NULL)
			wire_result(comparison->wire, replica, result, one);
		else
			print_result(replica, result, one);
	}
	http_free(http);
	free(result);
	return err;
}

static enum err
run_comparison(struct comparison *comparison, struct table *table)
{
	const struct admin *admin = comparison->admin;
	struct wire *wire = comparison->wire;
	char name[NAME_SIZE * 4];
	enum err err;

	if (wire == NULL)
		printf("%s: %s\n", comparison->route->name,
		    log_escape(name, sizeof(name), comparison->name));
	if ((err = table_read(table, read_fences, comparison)) != ERR_OK)
		return err;
	if (wire == NULL)
		status_print_fences(&comparison->fences);
	else
		status_wire_fences(wire, &comparison->fences);
	if (admin->force && comparison->fences.n > 0) {
		err = table_write(table, end_fences, comparison);
		if (err != ERR_OK)
			return err;
		if (wire == NULL)
			printf("  ended by --force: %u fence%s\n",
			    comparison->fences.n,
			    comparison->fences.n == 1 ? "" : "s");
	}
	if (wire != NULL) {
		wire_bool(wire, "ended",
		    admin->force && comparison->fences.n > 0);
		wire_begin_array(wire, "replicas");
	}
	err = compare_replicas(comparison, table);
	if (wire != NULL)
		wire_end(wire);
	/* what differs is the daemon's to cure */
	if (err == ERR_OK && comparison->unequal > 0)
		wake_send(admin->conf->run_dir, comparison->route->name,
		    comparison->name);
	return err;
}

enum err
admin_compare(const struct admin *admin, int argc, char **argv, int *status)
{
	struct comparison comparison = { .admin = admin };
	struct table *table;
	enum err err = admin_route(admin, argc, argv, 1, admin_is_git,
	    &comparison.route);

	if (err == ERR_OK)
		err = admin_name(comparison.route, argv[argc - 1],
		    comparison.name);
	if (err == ERR_OK)
		err = admin_known_table(admin, &table);
	if (err != ERR_OK)
		return err;
	if (admin->json) {
		comparison.wire = wire_new();
		wire_text(comparison.wire, "route", comparison.route->name);
		wire_text(comparison.wire, "repository", comparison.name);
	}
	err = run_comparison(&comparison, table);
	if (comparison.wire != NULL)
		admin_print(comparison.wire);
	table_close(table);
	*status = comparison.unequal > 0;
	return err == ERR_ABSENT
	    ? err_set(err,
		  "the repository has no row: "
		  "read it once through the web server, or report a push")
	    : err;
}

/* What a person said, once it is in the table. */
struct said {
	const char *noun, *name; /* of what */
	const char *state;	 /* that it is in, or not */
	bool is;
	const char *text; /* for people */
};

static enum err
write_and_say(const struct admin *admin, table_body *body, void *arg,
    const struct said *said)
{
	struct table *table;
	enum err err = admin_table(admin, true, &table);

	if (err != ERR_OK)
		return err;
	err = table_write(table, body, arg);
	table_close(table);
	if (err != ERR_OK)
		return err;
	if (admin->json) {
		struct wire *wire = wire_new();

		wire_text(wire, said->noun, said->name);
		wire_bool(wire, said->state, said->is);
		admin_print(wire);
	} else {
		printf("%s: %s\n", said->name, said->text);
	}
	return ERR_OK;
}

struct drain {
	const struct upstream *upstream;
	bool drained;
};

static enum err
write_drain(struct table_txn *txn, void *arg)
{
	const struct drain *drain = arg;

	return peer_drain(txn, drain->upstream->name, drain->drained);
}

enum err
admin_drain(const struct admin *admin, int argc, char **argv, int *status)
{
	struct drain drain = { .drained = !admin->undo };
	char word[WORD_SIZE];
	char until[WORD_SIZE + 64];
	bool replica = false;

	(void)status;
	if (argc != 2)
		return err_set(ERR_USAGE, "one upstream is wanted");
	log_escape(word, sizeof(word), argv[1]);
	drain.upstream = conf_upstream(admin->conf, argv[1]);
	if (drain.upstream == NULL)
		return err_set(ERR_USAGE, "no such upstream: \"%s\"", word);
	for (size_t i = 0; i < admin->conf->n_routes; i++)
		replica |= admin_is_git(&admin->conf->routes[i]) &&
		    conf_is_replica(&admin->conf->routes[i], drain.upstream,
			NULL);
	if (!replica)
		return err_set(ERR_USAGE,
		    "%s is no replica of any route: only "
		    "replicas can be drained",
		    word);
	snprintf(until, sizeof(until),
	    "drained: no more reads go there, until \"reproute drain %s "
	    "--undo\"",
	    drain.upstream->name);
	return write_and_say(admin, write_drain, &drain,
	    &(struct said){ .noun = "upstream",
		.name = drain.upstream->name,
		.state = "drained",
		.is = drain.drained,
		.text = drain.drained ? until : "takes reads again" });
}

struct turning {
	const struct route *route;
	bool off;
};

static enum err
write_off(struct table_txn *txn, void *arg)
{
	const struct turning *turning = arg;

	return route_off_set(txn, turning->route, turning->off);
}

static enum err
turn_route(const struct admin *admin, int argc, char **argv, bool off)
{
	struct turning turning = { .off = off };
	enum err err = admin_route(admin, argc, argv, 0, admin_is_git,
	    &turning.route);

	if (err != ERR_OK)
		return err;
	return write_and_say(admin, write_off, &turning,
	    &(struct said){ .noun = "route",
		.name = turning.route->name,
		.state = "off",
		.is = off,
		.text = off ? "off: all reads go to the primary, until "
			      "\"reproute on\""
			    : "on: replicas serve what they have" });
}

enum err
admin_off(const struct admin *admin, int argc, char **argv, int *status)
{
	(void)status;
	return turn_route(admin, argc, argv, true);
}

enum err
admin_on(const struct admin *admin, int argc, char **argv, int *status)
{
	(void)status;
	return turn_route(admin, argc, argv, false);
}

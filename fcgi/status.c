/* status.c: the status verb: how the routes are, or one repository */
/* SPDX-License-Identifier: ISC */
#include "fcgi/status.h"

#include <stdio.h>
#include <stdlib.h>

#include "conf/clock.h"
#include "conf/log.h"
#include "fcgi/admin.h"
#include "fcgi/overview.h"
#include "sync/row.h"
#include "sync/wire.h"

/* What one route knows of one repository. */
struct known {
	const struct route *route;
	char name[NAME_SIZE];

	/* git */
	bool has_row;
	struct row row;
	struct fences fences;
	struct {
		struct epochs epochs;
		struct peer peer;
		struct lag lag; /* zeroes where it does not lag */
	} replicas[MAX_REPLICAS];

	/* registry */
	bool placed;
	struct placement placement;
};

static const char *
fence_word(enum fence_state state)
{
	static const char *const words[] = {
		[FENCE_UP] = "up",
		[FENCE_BROKEN] = "broken off",
		[FENCE_WATCH] = "watched",
	};

	return words[state];
}

/* What has to happen before it ends. */
static const char *
fence_wait(enum fence_state state)
{
	static const char *const words[] = {
		[FENCE_UP] = "waits for its hook, its line, or fence_s",
		[FENCE_BROKEN] = "its line does not say that it is over; waits "
				 "for its hook, or fence_s",
		[FENCE_WATCH] = "replicas serve, compared every watch_s, until "
				"push_max_s",
	};

	return words[state];
}

void
status_print_fences(const struct fences *fences)
{
	int64_t now_ms = clock_boot_ms();
	char span[32];

	for (unsigned i = 0; i < fences->n; i++) {
		const struct fence *fence = &fences->fence[i];

		printf("  fence %s: %s, %s old; %s\n",
		    fence->token[0] != '\0' ? fence->token : "(common)",
		    fence_word(fence->state),
		    clock_span((now_ms - fence->begun_ms) / 1000, span),
		    fence_wait(fence->state));
	}
}

void
status_wire_fences(struct wire *wire, const struct fences *fences)
{
	int64_t now_ms = clock_boot_ms();

	wire_begin_array(wire, "fences");
	for (unsigned i = 0; i < fences->n; i++) {
		const struct fence *fence = &fences->fence[i];

		wire_begin_object(wire, NULL);
		wire_text(wire, "token", fence->token);
		wire_text(wire, "state", fence_word(fence->state));
		wire_number(wire, "age_ms", now_ms - fence->begun_ms);
		wire_end(wire);
	}
	wire_end(wire);
}

static enum err
read_git(struct table_txn *txn, struct known *known)
{
	const struct route *route = known->route;
	enum err err = row_get(txn, route, known->name, &known->row);

	known->has_row = err == ERR_OK;
	if (err != ERR_OK && err != ERR_ABSENT)
		return err;
	if ((err = fences_get(txn, route, known->name, &known->fences)) !=
	    ERR_OK)
		return err;
	for (size_t i = 0; i < route->n_replicas; i++) {
		const struct upstream *replica = route->replicas[i];

		known->replicas[i].lag = (struct lag){ .since_s = 0 };
		err = epochs_get(txn, route, replica,
		    &known->replicas[i].epochs);
		if (err == ERR_OK)
			err = peer_get(txn, replica->name,
			    &known->replicas[i].peer);
		if (err == ERR_OK)
			err = lag_get(txn, route, known->name, replica,
			    &known->replicas[i].lag);
		if (err != ERR_OK && err != ERR_ABSENT)
			return err;
	}
	return ERR_OK;
}

static enum err
read_known(struct table_txn *txn, void *arg)
{
	struct known *known = arg;
	enum err err;

	if (admin_is_git(known->route))
		return read_git(txn, known);
	err = place_get(txn, known->route, known->name, &known->placement);
	known->placed = err == ERR_OK;
	return err == ERR_ABSENT ? ERR_OK : err;
}

static void
print_replica(const struct known *known, size_t index)
{
	const struct upstream *replica = known->route->replicas[index];
	const struct mark *mark = row_mark_of(&known->row, replica);
	const struct peer *peer = &known->replicas[index].peer;
	char span[32];

	printf("  %-14s ", replica->name);
	if (row_is_current(&known->row, replica,
		&known->replicas[index].epochs))
		printf("current");
	else
		printf("lags");
	if (mark != NULL)
		printf(", seen equal at generation %ju, %s ago",
		    (uintmax_t)mark->generation,
		    clock_span(clock_real_s() - mark->at_s, span));
	else
		printf(", never seen equal");
	if (peer->down)
		printf("; down: %s", peer->why);
	puts(peer->drained ? "; drained" : "");
	if (known->replicas[index].lag.why[0] != '\0')
		printf("  %-14s   %s\n", "", known->replicas[index].lag.why);
}

static void
print_git(const struct known *known)
{
	char span[32];

	if (known->has_row)
		printf("  generation %ju, since %s\n",
		    (uintmax_t)known->row.generation,
		    clock_span(clock_real_s() - known->row.changed_s, span));
	else
		printf("  no row yet\n");
	for (size_t i = 0; known->has_row && i < known->route->n_replicas; i++)
		print_replica(known, i);
	status_print_fences(&known->fences);
}

static const char *
place_word(enum place_state state)
{
	static const char *const words[] = {
		[PLACE_PROVISIONAL] = "provisional",
		[PLACE_MANIFEST] = "manifest sent",
		[PLACE_FINAL] = "final",
	};

	return words[state];
}

static void
print_placement(const struct placement *placement)
{
	char span[32];
	int64_t now_s = clock_real_s();

	printf("  on %s: %s, by %s, since %s", placement->upstream,
	    place_word(placement->state), placement->reason,
	    clock_span(now_s - placement->made_s, span));
	if (placement->state == PLACE_PROVISIONAL)
		printf("; without a manifest, its registry is asked in %s",
		    clock_span(placement->expires_s - now_s, span));
	putchar('\n');
}

static void
wire_git(struct wire *wire, const struct known *known)
{
	const struct route *route = known->route;

	if (known->has_row) {
		wire_number(wire, "generation", (int64_t)known->row.generation);
		wire_number(wire, "changed", known->row.changed_s);
	} else {
		wire_text(wire, "generation", NULL);
	}
	wire_begin_array(wire, "replicas");
	for (size_t i = 0; known->has_row && i < route->n_replicas; i++) {
		const struct mark *mark = row_mark_of(&known->row,
		    route->replicas[i]);

		wire_begin_object(wire, NULL);
		wire_text(wire, "upstream", route->replicas[i]->name);
		wire_bool(wire, "current",
		    row_is_current(&known->row, route->replicas[i],
			&known->replicas[i].epochs));
		wire_number(wire, "generation",
		    mark != NULL ? (int64_t)mark->generation : 0);
		wire_number(wire, "at", mark != NULL ? mark->at_s : 0);
		wire_bool(wire, "down", known->replicas[i].peer.down);
		wire_bool(wire, "drained", known->replicas[i].peer.drained);
		wire_text(wire, "failure",
		    known->replicas[i].lag.why[0] != '\0'
			? known->replicas[i].lag.why
			: NULL);
		wire_end(wire);
	}
	wire_end(wire);
	status_wire_fences(wire, &known->fences);
}

static void
wire_placement(struct wire *wire, const struct placement *placement)
{
	wire_text(wire, "upstream", placement->upstream);
	wire_text(wire, "state", place_word(placement->state));
	wire_text(wire, "reason", placement->reason);
	wire_number(wire, "made", placement->made_s);
	if (placement->state == PLACE_PROVISIONAL)
		wire_number(wire, "expires", placement->expires_s);
}

static void
tell(const struct known *known, struct wire *wire)
{
	char name[NAME_SIZE * 4];

	if (wire != NULL) {
		wire_begin_object(wire, NULL);
		wire_text(wire, "route", known->route->name);
		wire_text(wire, "repository", known->name);
		if (known->placed)
			wire_placement(wire, &known->placement);
		else
			wire_git(wire, known);
		wire_end(wire);
		return;
	}
	printf("%s: %s\n", known->route->name,
	    log_escape(name, sizeof(name), known->name));
	if (known->placed)
		print_placement(&known->placement);
	else
		print_git(known);
}

/* Of that route, or (NULL) of each that knows it; *found counts them. */
static enum err
tell_name(const struct admin *admin, struct table *table,
    const struct route *only, const char *said, struct wire *wire, int *found)
{
	struct known *known = mem_zalloc(sizeof(*known));
	bool legal = false;
	enum err err = ERR_OK;

	for (size_t i = 0; i < admin->conf->n_routes && err == ERR_OK; i++) {
		const struct route *route = &admin->conf->routes[i];

		*known = (struct known){ .route = route };
		if ((only != NULL && only != route) ||
		    !admin_is_either(route) ||
		    admin_name(route, said, known->name) != ERR_OK)
			continue;
		legal = true;
		if (table != NULL)
			err = table_read(table, read_known, known);
		if (err != ERR_OK ||
		    (!known->has_row && !known->placed && known->fences.n == 0))
			continue;
		tell(known, wire);
		++*found;
	}
	free(known);
	/* the sentence is admin_name()'s */
	return err == ERR_OK && !legal ? ERR_USAGE : err;
}

static enum err
status_name(const struct admin *admin, const struct route *only,
    const char *said, int *status)
{
	struct wire *wire = NULL;
	struct table *table;
	int found = 0;
	enum err err;

	if ((err = admin_table(admin, false, &table)) != ERR_OK)
		return err;
	if (admin->json) {
		wire = wire_new();
		wire_begin_array(wire, "routes");
	}
	err = tell_name(admin, table, only, said, wire, &found);
	if (table != NULL)
		table_close(table);
	if (wire != NULL) {
		wire_end(wire);
		admin_print(wire);
	} else if (err == ERR_OK && found == 0) {
		printf("no route knows that repository yet\n");
	}
	*status = found == 0;
	return err;
}

static void
status_all(const struct admin *admin, int *status)
{
	struct table *table = NULL;
	enum err err = admin_table(admin, false, &table);
	struct overview overview;
	struct buf out = { 0 };

	overview_gather(admin->conf, table, err != ERR_OK ? err_text() : NULL,
	    &overview);
	if (admin->json)
		overview_json(&overview, &out);
	else
		overview_text(&overview, &out);
	fwrite(out.data, 1, out.len, stdout);
	*status = overview.red;
	buf_free(&out);
	overview_free(&overview);
	if (table != NULL)
		table_close(table);
}

enum err
admin_status(const struct admin *admin, int argc, char **argv, int *status)
{
	const struct route *only = NULL;
	enum err err;

	if (argc == 1) {
		status_all(admin, status);
		return ERR_OK;
	}
	if (argc > 2 &&
	    (err = admin_route(admin, argc, argv, 1, admin_is_either, &only)) !=
		ERR_OK)
		return err;
	return status_name(admin, only, argv[argc - 1], status);
}

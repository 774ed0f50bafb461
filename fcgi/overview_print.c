/* overview_print.c: how all routes are, for people and for programs */
/* SPDX-License-Identifier: ISC */
#include "fcgi/overview.h"

#include <stdio.h>
#include <string.h>

#include "conf/clock.h"
#include "conf/log.h"
#include "fcgi/listener.h"
#include "sync/wire.h"

static void
print_head(const struct overview *overview, struct buf *out)
{
	const struct conf *conf = overview->conf;
	char span[32];

	buf_fmt(out, "%-10s %s\n", "state",
	    overview->red	   ? "red"
		: overview->yellow ? "yellow"
				   : "green");
	if (overview->silent != NULL)
		buf_fmt(out, "%-10s %s\n", "daemon", overview->silent);
	else if (overview->beat_ms < 0)
		buf_fmt(out,
		    "%-10s no heartbeat since boot: start reproute-syncd; "
		    "all reads go to the primary\n",
		    "daemon");
	else
		buf_fmt(out, "%-10s heartbeat %s ago%s\n", "daemon",
		    clock_span(overview->beat_ms / 1000, span),
		    overview->beat_ms > conf->sync.valid_ms
			? ": is "
			  "reproute-syncd alive?  All reads go to the primary"
			: "");
	if (overview->deserted)
		buf_fmt(out,
		    "%-10s reproute-syncd runs no more: start it; without, "
		    "all reads go to the primary once that is %lld s old\n",
		    "", (long long)conf->sync.valid_ms / 1000);
	if (overview->undecided)
		buf_fmt(out,
		    "%-10s nobody listens at %s/" ROUTER_SOCKET
		    ": start reproute-fcgi; without, pushes are refused\n",
		    "router", conf->run_dir);
	if (overview->broken != NULL)
		buf_fmt(out, "%-10s %s\n", "table", overview->broken);
	else if (!overview->has_table)
		buf_fmt(out, "%-10s none yet\n", "table");
	else
		buf_fmt(out, "%-10s %zu of %zu KiB, %u reader slots\n", "table",
		    overview->size.used >> 10, overview->size.map >> 10,
		    overview->size.readers);
}

static void
print_fenced(const struct fenced *fenced, int64_t now_ms, struct buf *out)
{
	char name[NAME_SIZE * 4], span[32];

	buf_fmt(out, "    %-30s %u up, %u broken off, %u watched, oldest %s\n",
	    fenced->name[0] != '\0'
		? log_escape(name, sizeof(name), fenced->name)
		: "(names without a row)",
	    fenced->n_up, fenced->n_broken, fenced->n_watched,
	    clock_span((now_ms - fenced->begun_ms) / 1000, span));
}

static void
print_replica(const struct upstream *replica,
    const struct replica_status *status, struct buf *out)
{
	char name[256], span[32];

	buf_fmt(out, "  %-14s %s%s, lags in %zu", replica->name,
	    status->peer.down ? "down" : "up",
	    status->peer.drained ? ", drained" : "", status->lagging);
	if (status->peer.down)
		buf_fmt(out, "; since %s: %s",
		    clock_span(clock_real_s() - status->peer.since_s, span),
		    status->peer.why);
	buf_puts(out, "\n");
	if (status->failing.name[0] != '\0')
		buf_fmt(out, "  %-14s   %s: %s\n", "",
		    log_escape(name, sizeof(name), status->failing.name),
		    status->failing.why);
}

static void
print_git(const struct overview *overview, size_t index, struct buf *out)
{
	const struct route_status *status = &overview->routes[index];
	const struct route *route = status->route;
	const struct git_status *git = &status->git;
	int64_t now_ms = clock_boot_ms();
	char span[32];

	if (git->off_since_s != 0)
		buf_fmt(out,
		    "  switched off since %s: all reads go to the primary "
		    "until \"reproute on %s\"\n",
		    clock_span(clock_real_s() - git->off_since_s, span),
		    route->name);
	if (overview->doubt[index])
		buf_fmt(out,
		    "  in doubt: a fence could not be written; all reads go "
		    "to the primary\n");
	buf_fmt(out, "  %-14s %zu repositories known, %zu fenced\n",
	    route->primary->name, git->known, git->fenced);
	fresh_text(overview->conf, route, &overview->fresh[index], out);
	for (size_t i = 0; i < route->n_replicas; i++)
		print_replica(route->replicas[i], &git->replicas[i], out);
	for (size_t i = 0; i < git->fenced && i < MAX_SHOWN; i++)
		print_fenced(&git->shown[i], now_ms, out);
	if (git->fenced > MAX_SHOWN)
		buf_fmt(out, "    and %zu more\n", git->fenced - MAX_SHOWN);
}

static void
print_side(const struct upstream *upstream, const struct side_status *side,
    struct buf *out)
{
	const struct import *import = &side->import;
	char span[32];

	buf_fmt(out, "  %-14s %zu placed, %zu provisional; ", upstream->name,
	    side->placed[PLACE_FINAL],
	    side->placed[PLACE_PROVISIONAL] + side->placed[PLACE_MANIFEST]);
	if (import->completed_s != 0)
		buf_fmt(out, "imported %s ago",
		    clock_span(clock_real_s() - import->completed_s, span));
	else
		buf_fmt(out, "never imported completely");
	if (import->started_s != 0)
		buf_fmt(out, ", again since %s",
		    clock_span(clock_real_s() - import->started_s, span));
	buf_fmt(out, ": %ju names, %ju conflicts\n", (uintmax_t)import->names,
	    (uintmax_t)import->conflicts);
}

/* Of what could go elsewhere: pushes, and what is no repository, cannot. */
static void
print_share(const struct route *route, const struct tally *tally,
    struct buf *out)
{
	const char *who = route->to != NULL ? route->to->name : "replicas";
	uint64_t all = 0, elsewhere = tally->event[TALLY_ELSEWHERE];

	for (unsigned i = 0; i < REASONS; i++)
		if (i != REASON_OTHER && i != REASON_WRITE && i != REASON_HELD)
			all += tally->reason[i];
	if (all > 0 && (route->to != NULL || route->n_replicas > 0))
		buf_fmt(out, "  %-14s %s %ju of %ju, %ju %%\n", who,
		    route->mode == MODE_OBSERVE ? "would have served"
						: "served",
		    (uintmax_t)elsewhere, (uintmax_t)all,
		    (uintmax_t)(elsewhere * 100 / all));
}

/* How many requests were decided, and why, in the order of the reasons. */
static void
print_tally(const struct route *route, const struct tally *tally,
    struct buf *out)
{
	bool any = false;

	for (unsigned i = 0; i < REASONS; i++) {
		if (tally->reason[i] == 0)
			continue;
		buf_fmt(out, any ? ", %s %ju" : "  decided        %s %ju",
		    reason_word(i), (uintmax_t)tally->reason[i]);
		any = true;
	}
	if (any)
		buf_puts(out, "\n");
	print_share(route, tally, out);
	if (route->kind == ROUTE_GIT && tally->event[TALLY_WAITED] > 0)
		buf_fmt(out,
		    "  waited         %ju for a mark: replicas served %ju, "
		    "none came in time for %ju\n",
		    (uintmax_t)tally->event[TALLY_WAITED],
		    (uintmax_t)tally->event[TALLY_SERVED],
		    (uintmax_t)tally->event[TALLY_LATE]);
}

static void
print_route(const struct overview *overview, size_t index, struct buf *out)
{
	const struct route_status *status = &overview->routes[index];
	const struct route *route = status->route;

	buf_fmt(out, "\n%s (%s, %s%s)\n", route->name,
	    route->kind == ROUTE_GIT ? "git" : "registry", route->prefix,
	    route->mode == MODE_OBSERVE ? ", only observed" : "");
	if (route->kind == ROUTE_GIT) {
		print_git(overview, index, out);
	} else if (route->to != NULL) {
		if (!status->registry.imported)
			buf_fmt(out,
			    "  both catalogues were not imported yet: what "
			    "has no place stays on %s\n",
			    route->primary->name);
		for (int i = 0; i < 2; i++)
			print_side(conf_side(route, i),
			    &status->registry.sides[i], out);
	} else {
		buf_fmt(out, "  %-14s all of it\n", route->primary->name);
	}
	print_tally(route, &status->tally, out);
}

static void
wire_git(struct wire *wire, const struct overview *overview, size_t index)
{
	const struct route_status *status = &overview->routes[index];
	const struct route *route = status->route;
	const struct git_status *git = &status->git;
	int64_t now_ms = clock_boot_ms();

	wire_bool(wire, "doubt", overview->doubt[index]);
	wire_bool(wire, "off", git->off_since_s != 0);
	wire_number(wire, "epoch", (int64_t)git->epoch);
	wire_number(wire, "known", (int64_t)git->known);
	fresh_json(overview->conf, route, &overview->fresh[index], wire);
	wire_begin_array(wire, "replicas");
	for (size_t i = 0; i < route->n_replicas; i++) {
		const struct replica_status *replica = &git->replicas[i];

		wire_begin_object(wire, NULL);
		wire_text(wire, "upstream", route->replicas[i]->name);
		wire_bool(wire, "down", replica->peer.down);
		wire_text(wire, "why",
		    replica->peer.down ? replica->peer.why : NULL);
		wire_number(wire, "since", replica->peer.since_s);
		wire_bool(wire, "drained", replica->peer.drained);
		wire_number(wire, "epoch", (int64_t)replica->epoch);
		wire_number(wire, "lagging", (int64_t)replica->lagging);
		wire_text(wire, "failing",
		    replica->failing.name[0] != '\0' ? replica->failing.name
						     : NULL);
		wire_text(wire, "failure",
		    replica->failing.name[0] != '\0' ? replica->failing.why
						     : NULL);
		wire_end(wire);
	}
	wire_end(wire);
	wire_number(wire, "fenced", (int64_t)git->fenced);
	wire_begin_array(wire, "fences");
	for (size_t i = 0; i < git->fenced && i < MAX_SHOWN; i++) {
		wire_begin_object(wire, NULL);
		wire_text(wire, "repository", git->shown[i].name);
		wire_number(wire, "up", git->shown[i].n_up);
		wire_number(wire, "broken_off", git->shown[i].n_broken);
		wire_number(wire, "watched", git->shown[i].n_watched);
		wire_number(wire, "oldest_ms", now_ms - git->shown[i].begun_ms);
		wire_end(wire);
	}
	wire_end(wire);
}

static void
wire_registry(struct wire *wire, const struct route_status *status)
{
	wire_bool(wire, "imported", status->registry.imported);
	wire_begin_array(wire, "sides");
	for (int i = 0; i < 2; i++) {
		const struct side_status *side = &status->registry.sides[i];

		wire_begin_object(wire, NULL);
		wire_text(wire, "upstream", conf_side(status->route, i)->name);
		wire_number(wire, "placed", (int64_t)side->placed[PLACE_FINAL]);
		wire_number(wire, "provisional",
		    (int64_t)(side->placed[PLACE_PROVISIONAL] +
			side->placed[PLACE_MANIFEST]));
		wire_number(wire, "completed", side->import.completed_s);
		wire_number(wire, "started", side->import.started_s);
		wire_number(wire, "names", (int64_t)side->import.names);
		wire_number(wire, "conflicts", (int64_t)side->import.conflicts);
		wire_end(wire);
	}
	wire_end(wire);
}

static void
wire_tally(struct wire *wire, const struct route *route,
    const struct tally *tally)
{
	static const char *const events[TALLY_EVENTS] = {
		[TALLY_WAITED] = "waited",
		[TALLY_SERVED] = "waited_served",
		[TALLY_LATE] = "waited_late",
		[TALLY_ELSEWHERE] = "elsewhere",
	};

	wire_begin_object(wire, "decided");
	for (unsigned i = 0; i < REASONS; i++)
		if (tally->reason[i] > 0)
			wire_number(wire, reason_word(i),
			    (int64_t)tally->reason[i]);
	wire_end(wire);
	for (unsigned i = 0; i < TALLY_EVENTS; i++)
		if (route->kind == ROUTE_GIT || i == TALLY_ELSEWHERE)
			wire_number(wire, events[i], (int64_t)tally->event[i]);
}

void
overview_json(const struct overview *overview, struct buf *out)
{
	const struct conf *conf = overview->conf;
	struct wire *wire = wire_new();

	wire_bool(wire, "red", overview->red);
	wire_bool(wire, "yellow", overview->yellow);
	wire_number(wire, "heartbeat_ms", overview->beat_ms);
	wire_text(wire, "heartbeat_error", overview->silent);
	wire_text(wire, "table_error", overview->broken);
	wire_bool(wire, "daemon_gone", overview->deserted);
	wire_bool(wire, "router_gone", overview->undecided);
	wire_number(wire, "table_used", (int64_t)overview->size.used);
	wire_number(wire, "table_map", (int64_t)overview->size.map);
	wire_number(wire, "table_readers", overview->size.readers);
	wire_begin_array(wire, "routes");
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct route *route = &conf->routes[i];

		wire_begin_object(wire, NULL);
		wire_text(wire, "route", route->name);
		wire_text(wire, "kind",
		    route->kind == ROUTE_GIT ? "git" : "registry");
		wire_text(wire, "prefix", route->prefix);
		wire_text(wire, "mode",
		    route->mode == MODE_OBSERVE ? "observe" : "serve");
		wire_text(wire, "primary", route->primary->name);
		if (overview->broken == NULL && route->kind == ROUTE_GIT)
			wire_git(wire, overview, i);
		else if (overview->broken == NULL && route->to != NULL)
			wire_registry(wire, &overview->routes[i]);
		wire_tally(wire, route, &overview->routes[i].tally);
		wire_end(wire);
	}
	wire_end(wire);
	wire_finish(wire, out);
}

void
overview_text(const struct overview *overview, struct buf *out)
{
	const struct conf *conf = overview->conf;

	print_head(overview, out);
	for (size_t i = 0; i < conf->n_routes && overview->broken == NULL; i++)
		print_route(overview, i, out);
}

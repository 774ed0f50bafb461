/* choose_test.c: both decision tables, row by row, and the spread of reads */
/* SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/choose.h"
#include "tests/unit/tap.h"

static struct upstream primary = { .name = "master", .weight = 1 };
static struct upstream new_side = { .name = "new", .weight = 1 };
static struct upstream replicas[] = {
	{ .name = "slave1", .weight = 1 },
	{ .name = "slave2", .weight = 1 },
	{ .name = "slave3", .weight = 1 },
};
#define N_REPLICAS 3

static struct route git = {
	.name = "stash",
	.kind = ROUTE_GIT,
	.prefix = "/scm/",
	.primary = &primary,
	.n_replicas = N_REPLICAS,
	.replicas = { &replicas[0], &replicas[1], &replicas[2] },
	.replica_share = 100,
};
static struct route registry = {
	.name = "registry",
	.kind = ROUTE_REGISTRY,
	.prefix = "/v2/",
	.primary = &primary,
	.to = &new_side,
};

static struct request
request_of(const struct route *route, enum op op, const char *name)
{
	struct request request = { .route = route,
		.op = op,
		.canonical = true };

	snprintf(request.name, sizeof(request.name), "%s", name);
	return request;
}

/* A view in which nothing stands against any replica. */
static struct git_view
good_view(void)
{
	struct git_view view = { .known = true, .generation = 7 };

	for (size_t i = 0; i < N_REPLICAS; i++)
		view.replicas[i].current = true;
	return view;
}

/* "slave2 slave1 master", for comparing */
static const char *
candidates(const struct decision *decision)
{
	static char text[256];
	size_t len = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < decision->n_candidates; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
		    i > 0 ? " " : "", decision->candidates[i]->name);
	return text;
}

static const struct client someone = { "192.0.2.1", "40000" };

/* Rows 1 and 2 rest on the request alone: the view is never looked at. */
static void
test_git_requests(void)
{
	static const struct {
		const char *claim;
		enum op op;
		const char *name;
		bool canonical;
		const char *reason;
		bool raises_fence, needs_view;
	} rows[] = {
		{ "other", OP_OTHER, "", true, "other", false, false },
		{ "archive", OP_GIT_ARCHIVE, "r", true, "other", false, false },
		{ "lfs", OP_GIT_LFS, "r", true, "other", false, false },
		{ "dumb", OP_GIT_DUMB, "r", true, "other", false, false },
		{ "refs, not canonical", OP_GIT_REFS, "r", false, "other",
		    false, false },
		{ "upload-pack, not canonical", OP_GIT_UPLOAD_PACK, "r", false,
		    "other", false, false },
		{ "refs of nothing", OP_GIT_REFS, "", true, "other", false,
		    false },
		{ "write-refs", OP_GIT_WRITE_REFS, "r", true, "write", false,
		    false },
		{ "receive-pack", OP_GIT_RECEIVE_PACK, "r", true, "write", true,
		    false },
		{ "receive-pack, not canonical", OP_GIT_RECEIVE_PACK, "r",
		    false, "write", true, false },
		{ "receive-pack of nothing", OP_GIT_RECEIVE_PACK, "", true,
		    "write", false, false },
		{ "refs", OP_GIT_REFS, "r", true, "replica", false, true },
		{ "upload-pack", OP_GIT_UPLOAD_PACK, "r", true, "replica",
		    false, true },
	};
	struct git_view view = good_view();

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct request request = request_of(&git, rows[i].op,
		    rows[i].name);
		struct decision with, without;

		request.canonical = rows[i].canonical;
		choose_git(&request, &someone, &view, &with);
		choose_git(&request, &someone, NULL, &without);
		tap_str(reason_word(with.reason), rows[i].reason,
		    "git %s: reason", rows[i].claim);
		tap_int(with.raises_fence, rows[i].raises_fence,
		    "git %s: fence", rows[i].claim);
		tap_int(choose_needs_view(&request), rows[i].needs_view,
		    "git %s: needs a view", rows[i].claim);
		tap_str(reason_word(without.reason),
		    rows[i].needs_view ? "doubt" : rows[i].reason,
		    "git %s: without a table", rows[i].claim);
		tap_int(without.raises_fence, rows[i].raises_fence,
		    "git %s: fence without a table", rows[i].claim);
		tap_str(without.upstream, "master",
		    "git %s: upstream without a table", rows[i].claim);
		tap_ok(!with.places && !without.places, "git %s: no place",
		    rows[i].claim);
		if (!rows[i].needs_view)
			tap_str(candidates(&with), "master",
			    "git %s: candidates", rows[i].claim);
	}
}

/*
 * A word of letters: "c" current, "d" down, "x" drained, "0" weight 0, "l"
 * lags in something, "f" failed to converge, "n" never had it.
 */
static void
set_replica(struct git_view *view, size_t i, const char *letters)
{
	view->replicas[i].current = strchr(letters, 'c');
	view->replicas[i].down = strchr(letters, 'd');
	view->replicas[i].drained = strchr(letters, 'x');
	view->replicas[i].lags = strchr(letters, 'l');
	view->replicas[i].fails = strchr(letters, 'f');
	view->replicas[i].generation = strchr(letters, 'n') ? 0 : 1;
	replicas[i].weight = strchr(letters, '0') ? 0 : 1;
}

/* Rows 3 to 9.  Each replica is such a word. */
static void
test_git_views(void)
{
	static const struct {
		const char *claim;
		bool doubt, unknown;
		unsigned fences;
		enum scope scope;
		const char *replica[N_REPLICAS];
		const char *reason;
		const char *serves; /* the one replica, or "master" */
		unsigned n_candidates;
		bool wants_look;
	} rows[] = {
		{ "all well", false, false, 0, SCOPE_REPOSITORY,
		    { "c", "c", "c" }, "replica", NULL, 4, false },
		{ "doubt", true, false, 0, SCOPE_REPOSITORY, { "c", "c", "c" },
		    "doubt", "master", 1, false },
		{ "doubt comes before unknown", true, true, 1, SCOPE_REPOSITORY,
		    { "", "", "" }, "doubt", "master", 1, false },
		{ "unknown", false, true, 0, SCOPE_REPOSITORY, { "", "", "" },
		    "unknown", "master", 1, true },
		{ "unknown comes before fenced", false, true, 1,
		    SCOPE_REPOSITORY, { "", "", "" }, "unknown", "master", 1,
		    true },
		{ "fenced", false, false, 1, SCOPE_REPOSITORY,
		    { "c", "c", "c" }, "fenced", "master", 1, false },
		{ "fenced comes before lagging", false, false, 64,
		    SCOPE_REPOSITORY, { "", "", "" }, "fenced", "master", 1,
		    false },
		{ "none current", false, false, 0, SCOPE_REPOSITORY,
		    { "", "", "" }, "lagging", "master", 1, true },
		{ "none current, all down", false, false, 0, SCOPE_REPOSITORY,
		    { "d", "d", "d" }, "lagging", "master", 1, true },
		{ "one current", false, false, 0, SCOPE_REPOSITORY,
		    { "", "c", "" }, "replica", "slave2", 2, false },
		{ "one current, and down", false, false, 0, SCOPE_REPOSITORY,
		    { "", "cd", "" }, "down", "master", 1, false },
		{ "one current, and drained", false, false, 0, SCOPE_REPOSITORY,
		    { "", "", "cx" }, "down", "master", 1, false },
		{ "one current, of weight 0", false, false, 0, SCOPE_REPOSITORY,
		    { "c0", "", "" }, "down", "master", 1, false },
		{ "all current, each with something", false, false, 0,
		    SCOPE_REPOSITORY, { "cd", "cx", "c0" }, "down", "master", 1,
		    false },
		{ "the one that is left", false, false, 0, SCOPE_REPOSITORY,
		    { "cd", "cx", "c" }, "replica", "slave3", 2, false },
		{ "down and not current", false, false, 0, SCOPE_REPOSITORY,
		    { "d", "c", "x" }, "replica", "slave2", 2, false },
		{ "lags elsewhere, by repository", false, false, 0,
		    SCOPE_REPOSITORY, { "cl", "", "" }, "replica", "slave1", 2,
		    false },
		{ "lags elsewhere, by host", false, false, 0, SCOPE_HOST,
		    { "cl", "", "" }, "lagging", "master", 1, true },
		{ "one lags in nothing, by host", false, false, 0, SCOPE_HOST,
		    { "cl", "c", "l" }, "replica", "slave2", 2, false },
		{ "lags in nothing but is down, by host", false, false, 0,
		    SCOPE_HOST, { "cl", "cd", "" }, "down", "master", 1,
		    false },
	};
	struct request request = request_of(&git, OP_GIT_REFS, "p/r");

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct git_view view = { .doubt = rows[i].doubt,
			.known = !rows[i].unknown,
			.fences = rows[i].fences };
		struct decision out;

		git.scope = rows[i].scope;
		for (size_t k = 0; k < N_REPLICAS; k++)
			set_replica(&view, k, rows[i].replica[k]);
		choose_git(&request, &someone, &view, &out);
		tap_str(reason_word(out.reason), rows[i].reason, "%s: reason",
		    rows[i].claim);
		if (rows[i].serves != NULL)
			tap_str(out.upstream, rows[i].serves, "%s: upstream",
			    rows[i].claim);
		else
			tap_ok(strncmp(out.upstream, "slave", 5) == 0,
			    "%s: a replica", rows[i].claim);
		tap_int(out.n_candidates, rows[i].n_candidates,
		    "%s: candidates", rows[i].claim);
		tap_str(out.candidates[out.n_candidates - 1]->name, "master",
		    "%s: the primary comes last", rows[i].claim);
		tap_str(out.candidates[0]->name, out.upstream,
		    "%s: the first serves", rows[i].claim);
		tap_int(out.wants_look, rows[i].wants_look, "%s: look",
		    rows[i].claim);
		tap_ok(!out.raises_fence && !out.places, "%s: commits nothing",
		    rows[i].claim);
	}
	git.scope = SCOPE_REPOSITORY;
	for (size_t k = 0; k < N_REPLICAS; k++)
		replicas[k].weight = 1;
}

/* Of the replicas, as above: is a mark of one worth waiting for? */
static void
test_waits(void)
{
	static const struct {
		const char *claim;
		unsigned wait_ms;
		bool doubt, unknown;
		unsigned fences;
		enum scope scope;
		const char *replica[N_REPLICAS];
		bool may_wait;
	} rows[] = {
		{ "none current", 1, false, false, 0, SCOPE_REPOSITORY,
		    { "", "", "" }, true },
		{ "none current, two cannot serve", 1, false, false, 0,
		    SCOPE_REPOSITORY, { "d", "", "x" }, true },
		{ "by host, one lags elsewhere", 1, false, false, 0, SCOPE_HOST,
		    { "cl", "d", "d" }, true },
		{ "one converges, one failed", 1, false, false, 0,
		    SCOPE_REPOSITORY, { "f", "", "d" }, true },
		{ "one had it, another never", 1, false, false, 0,
		    SCOPE_REPOSITORY, { "n", "", "d" }, true },
		{ "none that could serve had it", 1, false, false, 0,
		    SCOPE_REPOSITORY, { "n", "d", "n" }, false },
		{ "all that could serve failed", 1, false, false, 0,
		    SCOPE_REPOSITORY, { "f", "d", "f" }, false },
		{ "wait_ms is 0", 0, false, false, 0, SCOPE_REPOSITORY,
		    { "", "", "" }, false },
		{ "none can serve", 1, false, false, 0, SCOPE_REPOSITORY,
		    { "d", "0", "x" }, false },
		{ "one current", 1, false, false, 0, SCOPE_REPOSITORY,
		    { "", "c", "" }, false },
		{ "one current, and down", 1, false, false, 0, SCOPE_REPOSITORY,
		    { "", "cd", "" }, false },
		{ "doubt", 1, true, false, 0, SCOPE_REPOSITORY, { "", "", "" },
		    false },
		{ "unknown", 1, false, true, 0, SCOPE_REPOSITORY,
		    { "", "", "" }, false },
		{ "fenced", 1, false, false, 1, SCOPE_REPOSITORY,
		    { "", "", "" }, false },
	};
	struct request request = request_of(&git, OP_GIT_REFS, "p/r");

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct git_view view = { .doubt = rows[i].doubt,
			.known = !rows[i].unknown,
			.fences = rows[i].fences };
		struct decision out;

		git.scope = rows[i].scope;
		git.wait_ms = rows[i].wait_ms;
		for (size_t k = 0; k < N_REPLICAS; k++)
			set_replica(&view, k, rows[i].replica[k]);
		choose_git(&request, &someone, &view, &out);
		tap_int(out.may_wait, rows[i].may_wait, "%s: waits",
		    rows[i].claim);
	}
	git.scope = SCOPE_REPOSITORY;
	git.wait_ms = 0;
	for (size_t k = 0; k < N_REPLICAS; k++)
		replicas[k].weight = 1;
}

/* Clients by address: who may use replicas at a share of so many percent. */
#define ADDRESSES 2000
static unsigned
take_share(const struct route *route, unsigned share, bool in[ADDRESSES])
{
	struct request request = request_of(route, OP_GIT_REFS, "p/r");
	struct git_view view = good_view();
	unsigned n = 0;

	git.replica_share = share;
	for (unsigned i = 0; i < ADDRESSES; i++) {
		char addr[32], port[8];
		struct client client = { addr, port };
		struct decision out;

		snprintf(addr, sizeof(addr), "2001:db8::%x", i);
		snprintf(port, sizeof(port), "%u", 40000 + share);
		choose_git(&request, &client, &view, &out);
		in[i] = out.reason == REASON_REPLICA;
		n += in[i];
		if (!in[i] &&
		    (out.reason != REASON_SHARE || out.may_wait ||
			out.n_candidates != 1 ||
			strcmp(out.upstream, "master") != 0))
			tap_ok(false, "%s is sent elsewhere", addr);
	}
	return n;
}

static void
test_share(void)
{
	static const unsigned shares[] = { 0, 1, 10, 50, 90, 100 };
	bool before[ADDRESSES] = { false }, in[ADDRESSES];

	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		unsigned n = take_share(&git, shares[i], in), lost = 0;
		unsigned want = ADDRESSES * shares[i] / 100;
		/* three deviations of a coin */
		unsigned slack = shares[i] % 100 == 0 ? 0 : 67;

		tap_ok(n + slack >= want && n <= want + slack,
		    "share %u: %u of %d clients", shares[i], n, ADDRESSES);
		for (unsigned k = 0; k < ADDRESSES; k++)
			lost += before[k] && !in[k];
		tap_int(lost, 0, "share %u: nobody is lost", shares[i]);
		memcpy(before, in, sizeof(in));
	}
}

/* What comes before, and what is no better for being outside. */
static void
test_outside(void)
{
	struct request request = request_of(&git, OP_GIT_REFS, "p/r");
	struct git_view view = good_view();
	struct decision out;

	git.replica_share = 0;
	git.wait_ms = 1000;
	for (size_t k = 0; k < N_REPLICAS; k++)
		view.replicas[k].down = true;
	choose_git(&request, &someone, &view, &out);
	tap_str(reason_word(out.reason), "down", "outside: down comes first");
	view = (struct git_view){ .known = true };
	set_replica(&view, 0, "");
	choose_git(&request, &someone, &view, &out);
	tap_str(reason_word(out.reason), "lagging", "outside: so does lagging");
	tap_ok(!out.may_wait, "outside: nobody waits");
	git.replica_share = 100;
	choose_git(&request, &someone, &view, &out);
	tap_ok(out.may_wait, "inside: it does");
	git.wait_ms = 0;
}

/* All is as it would be, but the primary is answered. */
static void
test_observed(void)
{
	static const struct {
		const char *claim;
		enum op op;
		bool current;
		const char *reason, *observed;
		bool raises_fence, wants_look;
	} rows[] = {
		{ "a replica", OP_GIT_REFS, true, "replica", "slave", false,
		    false },
		{ "lagging", OP_GIT_REFS, false, "lagging", "master", false,
		    true },
		{ "a push", OP_GIT_RECEIVE_PACK, true, "write", "master", true,
		    false },
	};

	git.mode = MODE_OBSERVE;
	git.wait_ms = 1000;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct request request = request_of(&git, rows[i].op, "p/r");
		struct git_view view = good_view();
		struct decision out;

		for (size_t k = 0; k < N_REPLICAS; k++)
			view.replicas[k].current = rows[i].current;
		choose_git(&request, &someone, &view, &out);
		tap_str(out.upstream, "master", "observed, %s: upstream",
		    rows[i].claim);
		tap_str(reason_word(out.reason), rows[i].reason,
		    "observed, %s: reason", rows[i].claim);
		tap_ok(strncmp(out.observed, rows[i].observed,
			   strlen(rows[i].observed)) == 0,
		    "observed, %s: who would serve", rows[i].claim);
		tap_ok(out.raises_fence == rows[i].raises_fence &&
			out.wants_look == rows[i].wants_look && !out.may_wait,
		    "observed, %s: what goes on", rows[i].claim);
	}
	git.mode = MODE_SERVE;
	git.wait_ms = 0;
}

static void
test_no_replicas(void)
{
	static const struct route alone = { .name = "alone",
		.kind = ROUTE_GIT,
		.prefix = "/a/",
		.primary = &primary };
	struct request request = request_of(&alone, OP_GIT_REFS, "p/r");
	struct git_view view = { .known = true };
	struct decision out;

	choose_git(&request, &someone, &view, &out);
	tap_str(reason_word(out.reason), "lagging",
	    "no replicas: none has a mark");
	tap_str(out.upstream, "master", "no replicas: the primary");
	tap_ok(!out.wants_look, "no replicas: nobody need look");
	view.known = false;
	choose_git(&request, &someone, &view, &out);
	tap_str(reason_word(out.reason), "unknown", "no replicas: unknown");
	tap_ok(!out.wants_look, "no replicas, unknown: nobody need look");
}

static void
test_no_route(void)
{
	struct request request = request_of(NULL, OP_NONE, "");
	struct decision out;

	choose_git(&request, &someone, NULL, &out);
	tap_ok(out.upstream == NULL && out.n_candidates == 0,
	    "no route: no upstream (git)");
	tap_str(reason_word(out.reason), "no-route", "no route: reason (git)");
	choose_registry(&request, NULL, &out);
	tap_ok(out.upstream == NULL && out.n_candidates == 0,
	    "no route: no upstream (registry)");
	tap_str(reason_word(out.reason), "no-route",
	    "no route: reason (registry)");
	tap_ok(!choose_needs_view(&request), "no route: no view");
}

#define CLIENTS 150

/* How many of CLIENTS connections from one address each replica serves. */
static void
count_reads(const struct git_view *view, const char *name,
    unsigned counts[N_REPLICAS], const char *who[CLIENTS])
{
	struct request request = request_of(&git, OP_GIT_UPLOAD_PACK, name);

	memset(counts, 0, N_REPLICAS * sizeof(counts[0]));
	for (unsigned i = 0; i < CLIENTS; i++) {
		char port[8];
		struct client client = { "198.51.100.7", port };
		struct decision out;

		snprintf(port, sizeof(port), "%u", 40000 + 2 * i);
		choose_git(&request, &client, view, &out);
		who[i] = out.upstream;
		for (size_t k = 0; k < N_REPLICAS; k++)
			counts[k] += strcmp(out.upstream, replicas[k].name) ==
			    0;
	}
}

/* The same over many repositories. */
#define NAMES 200
static void
sum_reads(const struct git_view *view, unsigned sums[N_REPLICAS])
{
	const char *who[CLIENTS];
	unsigned counts[N_REPLICAS];

	memset(sums, 0, N_REPLICAS * sizeof(sums[0]));
	for (int i = 0; i < NAMES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "p/%d", i);
		count_reads(view, name, counts, who);
		for (size_t k = 0; k < N_REPLICAS; k++)
			sums[k] += counts[k];
	}
}

static bool
is_within(unsigned got, unsigned want, unsigned percent)
{
	return got * 100 >= want * (100 - percent) &&
	    got * 100 <= want * (100 + percent);
}

/* A farm behind one address: every connection has its own port. */
static void
test_spread(void)
{
	struct git_view view = good_view();
	unsigned counts[N_REPLICAS], sums[N_REPLICAS];
	const char *who[CLIENTS], *again[CLIENTS];

	count_reads(&view, "p/r", counts, who);
	sum_reads(&view, sums);
	for (size_t k = 0; k < N_REPLICAS; k++) {
		tap_ok(is_within(counts[k], CLIENTS / 3, 20),
		    "%s serves %u of %d clients of one repository",
		    replicas[k].name, counts[k], CLIENTS);
		tap_ok(is_within(sums[k], CLIENTS * NAMES / 3, 5),
		    "%s serves %u of %d", replicas[k].name, sums[k],
		    CLIENTS * NAMES);
	}
	count_reads(&view, "p/r", counts, again);
	tap_ok(memcmp(who, again, sizeof(who)) == 0,
	    "a connection stays where it is");
}

static void
test_disruption(void)
{
	struct git_view view = good_view();
	unsigned counts[N_REPLICAS], moved = 0, wrong = 0;
	const char *before[CLIENTS], *after[CLIENTS];

	count_reads(&view, "p/r", counts, before);
	view.replicas[1].down = true;
	count_reads(&view, "p/r", counts, after);
	for (unsigned i = 0; i < CLIENTS; i++) {
		if (strcmp(before[i], "slave2") == 0)
			moved += strcmp(after[i], "slave2") != 0;
		else
			wrong += strcmp(before[i], after[i]) != 0;
	}
	tap_int(wrong, 0, "when slave2 goes, nobody else moves");
	tap_int(counts[1], 0, "when slave2 goes, nobody stays there");
	tap_ok(counts[0] + counts[2] == CLIENTS && moved > 0 &&
		counts[0] > 50 && counts[2] > 50,
	    "when slave2 goes, the others share its %u", moved);
}

static void
test_weights(void)
{
	struct git_view view = good_view();
	unsigned sums[N_REPLICAS];

	replicas[0].weight = 3;
	replicas[1].weight = 2;
	sum_reads(&view, sums);
	for (size_t k = 0; k < N_REPLICAS; k++)
		tap_ok(is_within(sums[k],
			   CLIENTS * NAMES / 6 * replicas[k].weight, 5),
		    "weight %u serves %u of %d", replicas[k].weight, sums[k],
		    CLIENTS * NAMES);
	replicas[0].weight = replicas[1].weight = 1;
}

/* The first component of a name decides in these. */
static void
add_rules(void)
{
	bool good;

	registry.rules = rules_new("salt", 100, false);
	good = rules_add(registry.rules, RULES_INCLUDE, "wave one", "^a/") ==
	    ERR_OK;
	good &= rules_add(registry.rules, RULES_INCLUDE, NULL, "^b/") == ERR_OK;
	good &= rules_add(registry.rules, RULES_EXCLUDE, "not yet", "^a/x$") ==
	    ERR_OK;
	tap_ok(good, "the rules are taken");
}

enum placed { NOT_PLACED, OLD, NEW, ELSEWHERE };

static struct registry_view
registry_view_of(bool imported, enum placed placed, enum place_state state)
{
	static const char *const sides[] = { "", "master", "new", "older" };
	struct registry_view view = { .imported = imported,
		.placed = placed != NOT_PLACED };

	view.placement.state = state;
	snprintf(view.placement.upstream, sizeof(view.placement.upstream), "%s",
	    sides[placed]);
	return view;
}

static void
test_registry(void)
{
	static const struct {
		const char *claim;
		enum op op;
		const char *name;
		bool imported;
		enum placed placed;
		enum place_state state;
		const char *upstream, *reason, *rule;
		bool places;
	} rows[] = {
		{ "catalogue", OP_REG_CATALOGUE, "", true, NOT_PLACED, 0,
		    "master", "other", NULL, false },
		{ "base", OP_REG_BASE, "", true, NOT_PLACED, 0, "master",
		    "other", NULL, false },
		{ "other", OP_OTHER, "", true, NOT_PLACED, 0, "master", "other",
		    NULL, false },
		{ "a placed read", OP_REG_TAGS, "a/r", true, OLD, PLACE_FINAL,
		    "master", "placed", NULL, false },
		{ "a placed read on the new side", OP_REG_BLOB_GET, "c/r", true,
		    NEW, PLACE_FINAL, "new", "placed", NULL, false },
		{ "placed comes before not imported", OP_REG_MANIFEST_GET,
		    "a/r", false, NEW, PLACE_FINAL, "new", "placed", NULL,
		    false },
		{ "placed comes before excluded", OP_REG_MANIFEST_GET, "a/x",
		    true, NEW, PLACE_FINAL, "new", "placed", NULL, false },
		{ "placed on a third upstream", OP_REG_UPLOAD_START, "a/r",
		    true, ELSEWHERE, PLACE_FINAL, "older", "placed", NULL,
		    false },
		{ "a final write", OP_REG_UPLOAD_START, "a/r", true, OLD,
		    PLACE_FINAL, "master", "placed", NULL, false },
		{ "a provisional write", OP_REG_UPLOAD_START, "a/r", true, OLD,
		    PLACE_PROVISIONAL, "master", "placed", NULL, true },
		{ "a manifest on a provisional row", OP_REG_MANIFEST_PUT, "a/r",
		    true, NEW, PLACE_PROVISIONAL, "new", "placed", NULL, true },
		{ "a manifest beside another", OP_REG_MANIFEST_PUT, "a/r", true,
		    NEW, PLACE_MANIFEST, "new", "placed", NULL, true },
		{ "a provisional read", OP_REG_BLOB_GET, "a/r", true, NEW,
		    PLACE_PROVISIONAL, "new", "placed", NULL, false },
		{ "a provisional cancel", OP_REG_UPLOAD_CANCEL, "a/r", true,
		    NEW, PLACE_PROVISIONAL, "new", "placed", NULL, false },
		{ "not imported, read", OP_REG_TAGS, "a/r", false, NOT_PLACED,
		    0, "master", "not-imported", NULL, false },
		{ "not imported, write", OP_REG_UPLOAD_START, "a/r", false,
		    NOT_PLACED, 0, "master", "not-imported", NULL, true },
		{ "excluded, read", OP_REG_TAGS, "a/x", true, NOT_PLACED, 0,
		    "master", "excluded", "not yet", false },
		{ "excluded, write", OP_REG_MANIFEST_PUT, "a/x", true,
		    NOT_PLACED, 0, "master", "excluded", "not yet", true },
		{ "not included, read", OP_REG_TAGS, "c/r", true, NOT_PLACED, 0,
		    "master", "not-included", NULL, false },
		{ "not included, write", OP_REG_UPLOAD_WRITE, "c/r", true,
		    NOT_PLACED, 0, "master", "not-included", NULL, true },
		{ "included, read", OP_REG_MANIFEST_GET, "a/r", true,
		    NOT_PLACED, 0, "new", "included", "wave one", false },
		{ "included, status", OP_REG_UPLOAD_STATUS, "a/r", true,
		    NOT_PLACED, 0, "new", "included", "wave one", false },
		{ "included, referrers", OP_REG_REFERRERS, "a/r", true,
		    NOT_PLACED, 0, "new", "included", "wave one", false },
		{ "included, start", OP_REG_UPLOAD_START, "a/r", true,
		    NOT_PLACED, 0, "new", "included", "wave one", true },
		{ "included, session", OP_REG_UPLOAD_WRITE, "a/r", true,
		    NOT_PLACED, 0, "new", "included", "wave one", true },
		{ "included, manifest", OP_REG_MANIFEST_PUT, "b/r", true,
		    NOT_PLACED, 0, "new", "included", "^b/", true },
		{ "included, delete", OP_REG_MANIFEST_DELETE, "a/r", true,
		    NOT_PLACED, 0, "new", "included", "wave one", false },
		{ "included, delete of a tag", OP_REG_TAG_DELETE, "a/r", true,
		    NOT_PLACED, 0, "new", "included", "wave one", false },
		{ "included, delete of a blob", OP_REG_BLOB_DELETE, "a/r", true,
		    NOT_PLACED, 0, "new", "included", "wave one", false },
		{ "included, cancel", OP_REG_UPLOAD_CANCEL, "a/r", true,
		    NOT_PLACED, 0, "new", "included", "wave one", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct request request = request_of(&registry, rows[i].op,
		    rows[i].name);
		struct registry_view view = registry_view_of(rows[i].imported,
		    rows[i].placed, rows[i].state);
		bool named = rows[i].name[0] != '\0';
		struct decision out;

		choose_registry(&request, &view, &out);
		tap_str(out.upstream, rows[i].upstream, "%s: upstream",
		    rows[i].claim);
		tap_str(reason_word(out.reason), rows[i].reason, "%s: reason",
		    rows[i].claim);
		tap_str(out.rule, rows[i].rule, "%s: rule", rows[i].claim);
		tap_int(out.places, rows[i].places, "%s: places",
		    rows[i].claim);
		tap_int(choose_needs_view(&request), named, "%s: needs a view",
		    rows[i].claim);
		choose_registry(&request, NULL, &out);
		tap_str(out.upstream, named ? "hold" : rows[i].upstream,
		    "%s: upstream without a table", rows[i].claim);
		tap_str(reason_word(out.reason),
		    named ? "held" : rows[i].reason,
		    "%s: reason without a table", rows[i].claim);
		tap_ok(!out.places && !out.raises_fence,
		    "%s: commits nothing without a table", rows[i].claim);
	}
}

static void
test_percent(void)
{
	struct request request = request_of(&registry, OP_REG_UPLOAD_START,
	    "a/r");
	struct registry_view view = { .imported = true };
	struct rules *rules = registry.rules;
	struct decision out;

	registry.rules = rules_new("salt", 0, false);
	choose_registry(&request, &view, &out);
	tap_str(out.upstream, "master", "percent 0: upstream");
	tap_str(reason_word(out.reason), "percent", "percent 0: reason");
	tap_ok(out.places, "percent 0: a write is placed all the same");
	rules_free(registry.rules);
	registry.rules = rules_new("salt", 100, false);
	choose_registry(&request, &view, &out);
	tap_str(out.upstream, "new", "no rules: every new name migrates");
	tap_str(candidates(&out), "new", "no rules: candidates");
	rules_free(registry.rules);
	registry.rules = rules;
}

/* "xyxy...xy/-prod/x", on which that rule would take for ever */
static void
test_rule_error(void)
{
	static const char rule[] = "^((xy)+)+-prod$";
	struct request request = request_of(&registry, OP_REG_MANIFEST_PUT, "");
	struct registry_view view = { .imported = true };
	struct rules *rules = registry.rules;
	struct decision out;

	for (size_t i = 0; i < 240; i++)
		request.name[i] = "xy"[i % 2];
	strcpy(request.name + 240, "/-prod/x");
	registry.rules = rules_new("salt", 100, false);
	tap_int(rules_add(registry.rules, RULES_INCLUDE, NULL, rule), ERR_OK,
	    "rule error: the rule is taken");
	choose_registry(&request, &view, &out);
	tap_str(out.upstream, "master", "rule error: upstream");
	tap_str(reason_word(out.reason), "rule-error", "rule error: reason");
	tap_str(out.rule, rule, "rule error: rule");
	tap_ok(out.places, "rule error: a write is placed all the same");
	rules_free(registry.rules);
	registry.rules = rules;
}

static void
test_no_migration(void)
{
	static const struct route plain = { .name = "plain",
		.kind = ROUTE_REGISTRY,
		.prefix = "/v2/",
		.primary = &primary };
	static const enum op asked[] = { OP_REG_CATALOGUE, OP_REG_BASE,
		OP_REG_TAGS, OP_REG_UPLOAD_START, OP_REG_MANIFEST_PUT,
		OP_REG_BLOB_DELETE };

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		struct request request = request_of(&plain, asked[i], "a/r");
		struct decision out;

		choose_registry(&request, NULL, &out);
		tap_str(out.upstream, "master", "no migration, %s: upstream",
		    request_op_word(asked[i]));
		tap_str(reason_word(out.reason), "other",
		    "no migration, %s: reason", request_op_word(asked[i]));
		tap_ok(!out.places && !choose_needs_view(&request),
		    "no migration, %s: no table", request_op_word(asked[i]));
	}
}

int
main(void)
{
	add_rules();
	test_git_requests();
	test_git_views();
	test_waits();
	test_share();
	test_outside();
	test_observed();
	test_no_replicas();
	test_no_route();
	test_spread();
	test_disruption();
	test_weights();
	test_registry();
	test_percent();
	test_rule_error();
	test_no_migration();
	rules_free(registry.rules);
	return tap_done();
}

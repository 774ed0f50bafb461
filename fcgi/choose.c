/* choose.c: which upstream: both decision tables, over values */
/* SPDX-License-Identifier: ISC */
#include "fcgi/choose.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "conf/crypto.h"

/* Clients are parted into so many before a share of them is taken. */
#define SHARE_BUCKETS 10000

static const char *const reasons[] = {
	[REASON_NO_ROUTE] = "no-route",
	[REASON_OTHER] = "other",
	[REASON_WRITE] = "write",
	[REASON_DOUBT] = "doubt",
	[REASON_UNKNOWN] = "unknown",
	[REASON_FENCED] = "fenced",
	[REASON_LAGGING] = "lagging",
	[REASON_DOWN] = "down",
	[REASON_SHARE] = "share",
	[REASON_REPLICA] = "replica",
	[REASON_PLACED] = "placed",
	[REASON_NOT_IMPORTED] = "not-imported",
	[REASON_EXCLUDED] = "excluded",
	[REASON_NOT_INCLUDED] = "not-included",
	[REASON_RULE_ERROR] = "rule-error",
	[REASON_PERCENT] = "percent",
	[REASON_INCLUDED] = "included",
	[REASON_HELD] = "held",
};

const char *
reason_word(enum reason reason)
{
	return reasons[reason];
}

/* One upstream of the configuration, and no other. */
static void
decide(struct decision *out, const struct upstream *upstream,
    enum reason reason)
{
	out->upstream = upstream->name;
	out->reason = reason;
	out->candidates[0] = upstream;
	out->n_candidates = 1;
}

/* "hold", or a name of the table: no upstream to try. */
static void
decide_name(struct decision *out, const char *name, enum reason reason)
{
	out->upstream = name;
	out->reason = reason;
}

bool
choose_needs_view(const struct request *request)
{
	const struct route *route = request->route;
	enum op_class class = request_op_class(request->op);

	if (route == NULL || request->name[0] == '\0' || class == CLASS_OTHER)
		return false;
	if (route->kind == ROUTE_GIT)
		return class == CLASS_READ && request->canonical;
	return route->to != NULL;
}

/*
 * Weighted rendezvous hashing: the highest of -weight / ln(u) wins, u being
 * a number in (0, 1) from the hash of who reads what at whom.  A replica that
 * goes or comes moves only its own share.
 */
static double
rendezvous(const struct client *client, const char *name,
    const struct upstream *upstream)
{
	char key[NAME_SIZE + WORD_SIZE + 128];
	double u;

	/* no name holds a newline */
	snprintf(key, sizeof(key), "%.80s\n%.16s\n%s\n%s", client->addr,
	    client->port, name, upstream->name);
	u = ((double)(digest_64(key, strlen(key)) >> 11) + 0.5) * 0x1p-53;
	return -(double)upstream->weight / log(u);
}

/* Puts a replica among the candidates, which stand by falling score. */
static void
rank(struct decision *out, double *scores, const struct upstream *upstream,
    double score)
{
	unsigned at = out->n_candidates++;

	for (; at > 0 && scores[at - 1] < score; at--) {
		scores[at] = scores[at - 1];
		out->candidates[at] = out->candidates[at - 1];
	}
	scores[at] = score;
	out->candidates[at] = upstream;
}

static bool
serves(const struct git_view *view, const struct route *route, size_t i)
{
	return !view->replicas[i].down && !view->replicas[i].drained &&
	    route->replicas[i]->weight > 0;
}

/*
 * Is the client among those who may use replicas?  By its address alone, so
 * that whoever is stays so as the share rises; of each route others are.
 */
static bool
in_share(const struct route *route, const struct client *client)
{
	char key[WORD_SIZE + 128];

	snprintf(key, sizeof(key), "%s\n%.80s", route->name, client->addr);
	return digest_64(key, strlen(key)) % SHARE_BUCKETS <
	    route->replica_share * (SHARE_BUCKETS / 100);
}

/*
 * Row 7: some replica would serve it with a mark, and is about to have it: a
 * first copy takes longer than anybody would wait.
 */
static bool
may_wait(const struct git_view *view, const struct route *route)
{
	for (size_t i = 0; route->wait_ms > 0 && i < route->n_replicas; i++)
		if (serves(view, route, i) && !view->replicas[i].fails &&
		    view->replicas[i].generation > 0)
			return true;
	return false;
}

/* Rows 7 to 9; without replicas none has a mark. */
static void
choose_replica(const struct request *request, const struct client *client,
    const struct git_view *view, struct decision *out)
{
	const struct route *route = request->route;
	double scores[MAX_REPLICAS];
	bool fresh = false;

	for (size_t i = 0; i < route->n_replicas; i++) {
		const struct upstream *upstream = route->replicas[i];

		if (!view->replicas[i].current ||
		    (route->scope == SCOPE_HOST && view->replicas[i].lags))
			continue;
		fresh = true;
		if (serves(view, route, i))
			rank(out, scores, upstream,
			    rendezvous(client, request->name, upstream));
	}
	if (out->n_candidates == 0) {
		decide(out, route->primary,
		    fresh ? REASON_DOWN : REASON_LAGGING);
		out->may_wait = !fresh && in_share(route, client) &&
		    may_wait(view, route);
		return;
	}
	if (!in_share(route, client)) {
		decide(out, route->primary, REASON_SHARE);
		return;
	}
	out->upstream = out->candidates[0]->name;
	out->reason = REASON_REPLICA;
	out->candidates[out->n_candidates++] = route->primary;
}

/* The rest of the decision is told as it is; it just is not carried out. */
static void
observe(const struct route *route, struct decision *out)
{
	if (route->mode != MODE_OBSERVE)
		return;
	out->observed = out->upstream;
	out->upstream = route->primary->name;
	out->places = out->may_wait = false;
}

void
choose_git(const struct request *request, const struct client *client,
    const struct git_view *view, struct decision *out)
{
	const struct route *route = request->route;

	*out = (struct decision){ .reason = REASON_NO_ROUTE };
	if (route == NULL)
		return;
	if (request_op_class(request->op) == CLASS_WRITE) {
		decide(out, route->primary, REASON_WRITE);
		out->raises_fence = request->op == OP_GIT_RECEIVE_PACK &&
		    request->name[0] != '\0';
	} else if (!choose_needs_view(request)) {
		decide(out, route->primary, REASON_OTHER);
	} else if (view == NULL || view->doubt) {
		decide(out, route->primary, REASON_DOUBT);
	} else if (!view->known) {
		decide(out, route->primary, REASON_UNKNOWN);
	} else if (view->fences > 0) {
		decide(out, route->primary, REASON_FENCED);
	} else {
		choose_replica(request, client, view, out);
	}
	out->wants_look = route->n_replicas > 0 &&
	    (out->reason == REASON_UNKNOWN || out->reason == REASON_LAGGING);
	observe(route, out);
}

/* Row 4: the row's word holds, also for an upstream of earlier rules. */
static void
choose_placed(const struct route *route, const struct placement *placement,
    struct decision *out)
{
	if (strcmp(placement->upstream, route->primary->name) == 0)
		decide(out, route->primary, REASON_PLACED);
	else if (strcmp(placement->upstream, route->to->name) == 0)
		decide(out, route->to, REASON_PLACED);
	else
		decide_name(out, placement->upstream, REASON_PLACED);
}

/* Rows 6 to 10. */
static void
choose_by_rules(const struct request *request, struct decision *out)
{
	static const enum reason said[] = {
		[RULE_EXCLUDED] = REASON_EXCLUDED,
		[RULE_NOT_INCLUDED] = REASON_NOT_INCLUDED,
		[RULE_ERROR] = REASON_RULE_ERROR,
		[RULE_PERCENT] = REASON_PERCENT,
		[RULE_INCLUDED] = REASON_INCLUDED,
	};
	const struct route *route = request->route;
	enum rule_verdict verdict = rules_judge(route->rules, request->name,
	    &out->rule);

	decide(out, verdict == RULE_INCLUDED ? route->to : route->primary,
	    said[verdict]);
}

/* All rows, as they are carried out in mode "serve". */
static void
choose_side(const struct request *request, const struct registry_view *view,
    struct decision *out)
{
	const struct route *route = request->route;

	if (!choose_needs_view(request)) {
		decide(out, route->primary, REASON_OTHER);
		return;
	}
	if (view == NULL) {
		decide_name(out, UPSTREAM_HOLD, REASON_HELD);
		return;
	}
	out->places = request_op_class(request->op) == CLASS_WRITE &&
	    (!view->placed || view->placement.state != PLACE_FINAL);
	if (view->placed)
		choose_placed(route, &view->placement, out);
	else if (!view->imported)
		decide(out, route->primary, REASON_NOT_IMPORTED);
	else
		choose_by_rules(request, out);
}

void
choose_registry(const struct request *request, const struct registry_view *view,
    struct decision *out)
{
	*out = (struct decision){ .reason = REASON_NO_ROUTE };
	if (request->route == NULL)
		return;
	choose_side(request, view, out);
	observe(request->route, out);
}

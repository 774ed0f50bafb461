/* decide.c: one request from its parameters to its answer */
/* SPDX-License-Identifier: ISC */
#include "fcgi/decide.h"

#include <string.h>

#include "conf/clock.h"
#include "conf/crypto.h"
#include "fcgi/answer.h"
#include "fcgi/choose.h"
#include "fcgi/request.h"
#include "fcgi/tally.h"
#include "fcgi/waits.h"
#include "fcgi/writes.h"
#include "sync/news.h"
#include "sync/view.h"
#include "sync/wake.h"

/* Of a request's text, in a line of the log. */
#define MAX_SHOWN 256

/* What the table says of it: the decision may borrow from here. */
union view {
	struct git_view git;
	struct registry_view registry;
};

/* One request under way. */
struct turn {
	struct decide *decide;
	struct snapshot *snapshot;
	struct pulse *pulse;	     /* NULL: none is open yet */
	const char *method, *target; /* NULL: the web server sent none */
	struct request request;
	union view view;
	struct waits_news news;
	struct decision decision;
	char token[TOKEN_SIZE]; /* "" where none is handed out */
};

static const char *
param_or(const struct gateway_request *gateway, const char *name,
    const char *otherwise)
{
	const char *value = gateway_param(gateway, name);

	return value != NULL ? value : otherwise;
}

/* False: it cannot be read, so that nobody knows what it says. */
static bool
read_view(struct turn *turn)
{
	struct table *table = writer_table(turn->decide->writer);
	const struct request *request = &turn->request;
	enum err err;

	if (table == NULL)
		return false;
	if (request->route->kind == ROUTE_GIT)
		/* where there is a table, there is a pulse by now */
		err = view_git(table, writer_pulse(turn->decide->writer),
		    turn->snapshot->conf, request->route, request->name,
		    &turn->view.git);
	else
		err = view_registry(table, request->route, request->name,
		    &turn->view.registry);
	if (err != ERR_OK)
		log_gated(&turn->decide->no_table, LOG_ERR,
		    "%s: git reads "
		    "go to the primary, registries wait: %s",
		    request->route->name, err_text());
	return err == ERR_OK;
}

/* Of what is read, the daemon compares primary and replicas more often. */
static void
stamp(const struct turn *turn)
{
	const struct request *request = &turn->request;
	struct stamps *stamps = turn->decide->stamps;

	if (stamps != NULL && request->route->kind == ROUTE_GIT &&
	    request->route->n_replicas > 0 && turn->view.git.known)
		stamps_put(stamps, request->route, request->name,
		    clock_boot_ms());
}

static void
choose(struct turn *turn, const struct client *client)
{
	const struct request *request = &turn->request;
	bool needed = choose_needs_view(request), known;

	/* before the table: what is told later may be news */
	if (needed && request->route->kind == ROUTE_GIT)
		waits_look(turn->pulse, request, &turn->news);
	known = needed && read_view(turn);
	if (known)
		stamp(turn);
	if (request->route == NULL || request->route->kind == ROUTE_GIT)
		choose_git(request, client, known ? &turn->view.git : NULL,
		    &turn->decision);
	else
		choose_registry(request, known ? &turn->view.registry : NULL,
		    &turn->decision);
}

static void
hold(struct decision *decision)
{
	*decision = (struct decision){ .upstream = UPSTREAM_HOLD,
		.reason = REASON_HELD };
}

/* Its token is handed out, committed or not: hook and line name it. */
static void
raise_fence(struct turn *turn)
{
	const struct request *request = &turn->request;
	bool observed = turn->decision.observed != NULL, guarded;

	token_new(turn->token);
	if (write_fence(turn->decide->writer, turn->snapshot, request->route,
		request->name, turn->token, &guarded) != ERR_OK)
		log_gated(&turn->decide->no_fence, LOG_ERR, "%s: %s: %s",
		    request->route->name,
		    guarded ? "all reads go to the primary until a fence is "
			      "committed"
			: observed ? "pushes go without a fence"
				   : "pushes are held until a fence can be "
				     "committed",
		    err_text());
	if (!guarded) {
		turn->token[0] = '\0';
		if (!observed)
			hold(&turn->decision);
	}
	wake_send(turn->snapshot->conf->run_dir, request->route->name,
	    request->name);
	/* who waits for a mark waits in vain */
	if (turn->pulse != NULL)
		news_tell(turn->pulse, request->route, request->name);
}

/* The write goes where its row says, whoever made that. */
static void
follow(struct turn *turn, const char *placed)
{
	const struct upstream *upstream = conf_upstream(turn->snapshot->conf,
	    placed);
	struct decision *decision = &turn->decision;

	if (upstream == NULL) {
		hold(decision);
	} else if (strcmp(decision->upstream, upstream->name) != 0) {
		*decision = (struct decision){ .upstream = upstream->name,
			.reason = REASON_PLACED,
			.candidates = { upstream },
			.n_candidates = 1 };
	}
}

static void
place(struct turn *turn)
{
	const struct request *request = &turn->request;
	struct placement placement;
	struct place_order order = {
		.route = request->route,
		.name = request->name,
		.wanted = turn->decision.upstream,
		.reason = reason_word(turn->decision.reason),
		.token = turn->token,
		.manifest = request->op == OP_REG_MANIFEST_PUT,
	};

	if (write_place(turn->decide->writer, turn->snapshot, &order,
		&placement) == ERR_OK) {
		follow(turn, placement.upstream);
		return;
	}
	log_gated(&turn->decide->no_place, LOG_ERR,
	    "%s: writes of new "
	    "repositories are held: %s",
	    request->route->name, err_text());
	hold(&turn->decision);
}

/* What has to be in the table before the answer is sent. */
static void
commit(struct turn *turn)
{
	const struct request *request = &turn->request;
	struct decision *decision = &turn->decision;

	if (decision->raises_fence)
		raise_fence(turn);
	if (request->route == NULL || request->route->kind != ROUTE_REGISTRY ||
	    decision->observed)
		return;
	if (decision->reason == REASON_PLACED)
		follow(turn, decision->upstream);
	if (request_op_class(request->op) == CLASS_WRITE)
		token_new(turn->token);
	if (decision->places && decision->reason != REASON_HELD)
		place(turn);
	if (decision->reason == REASON_HELD)
		turn->token[0] = '\0';
}

static void
ask_for_look(struct turn *turn)
{
	const struct request *request = &turn->request;

	if (turn->decision.wants_look &&
	    looks_take(&turn->decide->looks, request->route->name,
		request->name, clock_boot_ms()))
		wake_send(turn->snapshot->conf->run_dir, request->route->name,
		    request->name);
}

static void
complain(struct turn *turn)
{
	const struct request *request = &turn->request;
	struct decide *decide = turn->decide;
	char shown[MAX_SHOWN];

	if (turn->method == NULL || turn->target == NULL)
		log_gated(&decide->no_route, LOG_ERR,
		    "the web server sends "
		    "no %s: have it send all CGI parameters",
		    turn->method == NULL ? "REQUEST_METHOD" : "REQUEST_URI");
	else if (request->route == NULL)
		log_gated(&decide->no_route, LOG_WARNING,
		    "%s: outside every "
		    "route: the web server should not ask for it",
		    log_escape(shown, sizeof(shown), turn->target));
	else if (request->op == OP_GIT_RECEIVE_PACK && request->name[0] == '\0')
		log_gated(&decide->no_name, LOG_WARNING,
		    "%s: a push to no "
		    "legal name: goes to the primary without a fence",
		    log_escape(shown, sizeof(shown), turn->target));
}

/* Row 7: true: it is parked, and will be decided anew. */
static bool
wait_for_mark(const struct turn *turn, struct gateway_request *gateway)
{
	const struct request *request = &turn->request;
	bool again = gateway_was_parked(gateway);

	if (!turn->decision.may_wait ||
	    !waits_begin(gateway, turn->pulse, request, &turn->news))
		return false;
	if (!again)
		tally_event(turn->pulse, request->route, TALLY_WAITED);
	return true;
}

static void
count(const struct turn *turn, const struct gateway_request *gateway)
{
	const struct route *route = turn->request.route;

	tally_decision(turn->pulse, route, &turn->decision);
	if (!gateway_was_parked(gateway))
		return;
	if (turn->decision.reason == REASON_REPLICA)
		tally_event(turn->pulse, route, TALLY_SERVED);
	else if (turn->decision.reason == REASON_LAGGING)
		tally_event(turn->pulse, route, TALLY_LATE);
}

static void
send_answer(struct gateway_request *gateway, const struct turn *turn)
{
	struct buf out = { 0 };
	enum answer_form form = answer_form(gateway_param(gateway, "FCGI_ROLE"),
	    gateway_param(gateway, "REPROUTE_ANSWER"));

	answer_headers(form, &turn->decision,
	    turn->token[0] != '\0' ? turn->token : NULL, &out);
	/* where the web server went away there is nobody to tell */
	(void)!gateway_send(gateway, out.data, out.len, false);
	buf_free(&out);
}

/* The request's body is never read: as an authorizer it has no end. */
void
decide_request(struct gateway_request *gateway, struct decide *decide)
{
	struct turn turn = {
		.decide = decide,
		.snapshot = snapshot_now(decide->conf),
		.pulse = writer_pulse(decide->writer),
		.method = gateway_param(gateway, "REQUEST_METHOD"),
		.target = gateway_param(gateway, "REQUEST_URI"),
	};
	struct client client = {
		.addr = param_or(gateway, "REMOTE_ADDR", ""),
		.port = param_or(gateway, "REMOTE_PORT", ""),
	};

	request_parse(turn.snapshot->conf, turn.method, turn.target,
	    &turn.request);
	choose(&turn, &client);
	complain(&turn);
	ask_for_look(&turn);
	if (!wait_for_mark(&turn, gateway)) {
		commit(&turn);
		count(&turn, gateway);
		send_answer(gateway, &turn);
	}
	snapshot_release(turn.snapshot);
}

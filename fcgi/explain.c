/* explain.c: reproute explain: where a request would go, and why; a dry run */
/* SPDX-License-Identifier: ISC */
#include <arpa/inet.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/admin.h"
#include "fcgi/choose.h"
#include "fcgi/request.h"
#include "fcgi/target.h"
#include "sync/view.h"
#include "sync/wire.h"

#define USAGE                                                                  \
	"usage: reproute explain [--json] [--client ADDR:PORT] "               \
	"METHOD URL [-H 'Name: value']..."

/* RFC 9110, 5.6.2: what a method or a header's name is made of */
#define TCHAR                                                                  \
	"!#$%&'*+-.^_`|~0123456789"                                            \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* What the command line asks about. */
struct question {
	const char *method, *url;
	/* of --client, or "" */
	char addr[INET6_ADDRSTRLEN], port[8];
};

/* What is told: a decision, and what it was made of. */
struct finding {
	struct request request;
	struct decision decision;
	struct git_view git;
	struct registry_view registry;
	bool has_generation;
	struct buf note; /* "" where there is nothing to add */
};

static const char *const sentences[] = {
	[REASON_NO_ROUTE] = "No route of the configuration has this path.",
	[REASON_OTHER] = "This is no read or write of a repository that could "
			 "go elsewhere: the primary serves it.",
	[REASON_WRITE] = "Pushes go to the primary; one begins a fence first.",
	[REASON_DOUBT] = "It is in doubt what the replicas have: the primary "
			 "serves all reads of this route.",
	[REASON_UNKNOWN] =
	    "The repository has no row in the table yet: the "
	    "primary serves it until the daemon has looked at it.",
	[REASON_FENCED] = "A push may be under way: the primary serves the "
			  "repository until its fence is down.",
	[REASON_LAGGING] = "No replica was seen to have what the primary has: "
			   "the primary serves the repository until one is.",
	[REASON_DOWN] = "The replicas that have what the primary has are all "
			"down, drained or of weight 0: the primary serves it.",
	[REASON_SHARE] = "The client is outside the share of those who may use "
			 "replicas: the primary serves it.",
	[REASON_REPLICA] = "This replica was seen to have what the primary "
			   "has, and comes first for this client.",
	[REASON_PLACED] = "The repository has its place, whatever the rules "
			  "say.",
	[REASON_NOT_IMPORTED] =
	    "The catalogues of both registries were not "
	    "imported yet: what has no place stays on the old side.",
	[REASON_EXCLUDED] = "An exclude rule takes the name: it stays on the "
			    "old side.",
	[REASON_NOT_INCLUDED] = "No include rule takes the name: it stays on "
				"the old side.",
	[REASON_RULE_ERROR] =
	    "A rule's pattern hit its match limit on this "
	    "name, which is no match: it stays on the old side.",
	[REASON_PERCENT] = "The name is outside the share that migrates: it "
			   "stays on the old side.",
	[REASON_INCLUDED] = "The name migrates: its first write places it on "
			    "the new side.",
	[REASON_HELD] = "The repository's place cannot be told just now.",
};

/* "192.0.2.1:443" or "[2001:db8::1]:443" */
static bool
read_client(const char *text, struct question *out)
{
	const char *colon = strrchr(text, ':');
	const char *addr = text, *end = colon;
	struct in6_addr binary;
	int family = AF_INET;
	size_t digits;

	if (colon == NULL)
		return false;
	if (text[0] == '[' && colon > text && colon[-1] == ']') {
		family = AF_INET6;
		addr = text + 1;
		end = colon - 1;
	}
	digits = strspn(colon + 1, "0123456789");
	if (digits == 0 || digits > 5 || colon[1 + digits] != '\0' ||
	    atol(colon + 1) > 65535 || end - addr >= (long)sizeof(out->addr))
		return false;
	memcpy(out->addr, addr, (size_t)(end - addr));
	out->addr[end - addr] = '\0';
	memcpy(out->port, colon + 1, digits + 1);
	return inet_pton(family, out->addr, &binary) == 1;
}

static enum err
take_client(const char *text, struct question *out)
{
	if (!read_client(text, out))
		return err_set(ERR_USAGE,
		    "explain: --client is ADDR:PORT, "
		    "as in 192.0.2.1:40000 or [2001:db8::1]:40000");
	return ERR_OK;
}

static bool
is_printable(const char *text, unsigned char from)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < from || *text == 0x7f)
			return false;
	return true;
}

/* Headers decide nothing, but a command line may hold those of a client. */
static enum err
check_header(const char *text)
{
	size_t name = strspn(text, TCHAR);

	if (name == 0 || text[name] != ':' || !is_printable(text, ' '))
		return err_set(ERR_USAGE,
		    "explain: -H takes a header as 'Name: value'");
	return ERR_OK;
}

static enum err
check_operands(int count, char **operands, struct question *out)
{
	struct target target;

	if (count != 2)
		return err_set(ERR_USAGE,
		    "explain: it takes a method and a "
		    "URL; " USAGE);
	out->method = operands[0];
	out->url = operands[1];
	if (out->method[0] == '\0' ||
	    out->method[strspn(out->method, TCHAR)] != '\0')
		return err_set(ERR_USAGE,
		    "explain: a method is a word such "
		    "as GET or POST; " USAGE);
	if (!is_printable(out->url, '!') || !target_read(out->url, &target))
		return err_set(ERR_USAGE,
		    "explain: a URL is a whole one or a "
		    "path that begins with \"/\", without blanks and control "
		    "bytes");
	return ERR_OK;
}

static enum err
parse_question(int argc, char **argv, struct question *out)
{
	static const struct option longs[] = {
		{ "client", required_argument, NULL, 'C' },
		{ 0 },
	};
	enum err err = ERR_OK;
	int opt;

	/* begin anew: the global options were parsed before */
	optind = 0;
	opterr = 0;
	while (err == ERR_OK &&
	    (opt = getopt_long(argc, argv, "H:", longs, NULL)) != -1) {
		if (opt == 'C')
			err = take_client(optarg, out);
		else if (opt == 'H')
			err = check_header(optarg);
		else
			err = err_set(ERR_USAGE,
			    "explain: \"%s\" is no "
			    "option, or lacks its value; " USAGE,
			    argv[optind - 1]);
	}
	if (err == ERR_OK)
		err = check_operands(argc - optind, argv + optind, out);
	return err;
}

/* Where the next remark is to be written. */
static struct buf *
next_note(struct finding *out)
{
	if (out->note.len > 0)
		buf_puts(&out->note, "; ");
	return &out->note;
}

/*
 * A missing heartbeat is only told, so that this needs no daemon; a doubt
 * flag is what the router sees, too.
 */
static void
look_at_pulse(const struct conf *conf, struct finding *out)
{
	struct pulse *pulse;
	enum err err = pulse_open(conf->run_dir, false, &pulse);
	int64_t age_ms;

	if (err == ERR_ABSENT)
		buf_puts(next_note(out),
		    "there is no heartbeat of the daemon; "
		    "decided as if there were one");
	else if (err != ERR_OK)
		buf_fmt(next_note(out),
		    "%s; decided as if the daemon's heart "
		    "beat",
		    err_text());
	if (err != ERR_OK)
		return;
	age_ms = pulse_age_ms(pulse);
	if (age_ms < 0)
		buf_puts(next_note(out),
		    "the daemon has not run since boot; "
		    "decided as if its heart beat");
	else if (age_ms > conf->sync.valid_ms)
		buf_fmt(next_note(out),
		    "the daemon's heartbeat is %jd s old; "
		    "decided as if it were fresh",
		    (intmax_t)age_ms / 1000);
	if (pulse_doubt(pulse, out->request.route)) {
		out->git.doubt = true;
		buf_puts(next_note(out), "the route's doubt flag is up");
	}
	pulse_close(pulse);
}

static enum err
decide_git(const struct admin *admin, struct table *table,
    const struct question *question, struct finding *out)
{
	const struct client client = { question->addr, question->port };
	const struct request *request = &out->request;
	enum err err;

	if (request->name[0] != '\0') {
		err = view_git(table, NULL, admin->conf, request->route,
		    request->name, &out->git);
		if (err != ERR_OK)
			return err;
		out->has_generation = out->git.known;
		if (out->git.doubt_why != NULL)
			buf_fmt(next_note(out), "the route is in doubt: %s",
			    out->git.doubt_why);
	}
	if (choose_needs_view(request))
		look_at_pulse(admin->conf, out);
	choose_git(request, &client, &out->git, &out->decision);
	if (choose_needs_view(request) && request->route->replica_share < 100 &&
	    question->addr[0] == '\0')
		buf_fmt(next_note(out),
		    "replica_share is %u, and nobody said by --client who asks",
		    request->route->replica_share);
	if (out->decision.may_wait)
		buf_fmt(next_note(out),
		    "a request waits for a mark first, up to %u ms",
		    request->route->wait_ms);
	if (request->op == OP_GIT_RECEIVE_PACK && request->name[0] == '\0')
		buf_puts(next_note(out), "no legal name, so no fence");
	return ERR_OK;
}

static enum err
decide_registry(struct table *table, struct finding *out)
{
	static const char *const states[] = {
		[PLACE_PROVISIONAL] = "provisional",
		[PLACE_MANIFEST] = "provisional, a manifest was sent",
		[PLACE_FINAL] = "final",
	};
	const struct request *request = &out->request;
	const struct placement *placement = &out->registry.placement;
	enum err err;

	if (choose_needs_view(request)) {
		err = view_registry(table, request->route, request->name,
		    &out->registry);
		if (err != ERR_OK)
			return err;
	}
	choose_registry(request, &out->registry, &out->decision);
	if (out->registry.placed)
		buf_fmt(next_note(out), "placed by %s, %s", placement->reason,
		    states[placement->state]);
	return ERR_OK;
}

static void
note_observed(struct finding *out)
{
	const struct decision *decision = &out->decision;

	if (decision->observed == NULL)
		return;
	buf_fmt(next_note(out),
	    strcmp(decision->observed, decision->upstream) == 0
		? "the route is only observed"
		: "the route is only observed: %s would be answered",
	    decision->observed);
}

static enum err
find_out(const struct admin *admin, const struct question *question,
    struct finding *out)
{
	struct table *table;
	enum err err;

	request_parse(admin->conf, question->method, question->url,
	    &out->request);
	if (out->request.route == NULL)
		return ERR_OK;
	err = admin_table(admin, false, &table);
	if (err != ERR_OK)
		return err;
	if (out->request.route->kind == ROUTE_GIT)
		err = decide_git(admin, table, question, out);
	else
		err = decide_registry(table, out);
	note_observed(out);
	if (table != NULL)
		table_close(table);
	return err;
}

static const char *
or_null(const char *text)
{
	return text[0] != '\0' ? text : NULL;
}

static void
print_json(const struct finding *finding)
{
	const struct decision *decision = &finding->decision;
	const struct request *request = &finding->request;
	const struct route *route = request->route;
	struct wire *wire = wire_new();
	struct buf out = { 0 };

	wire_text(wire, "upstream", decision->upstream);
	wire_text(wire, "reason", reason_word(decision->reason));
	wire_text(wire, "route", route ? route->name : NULL);
	wire_text(wire, "repository", or_null(request->name));
	wire_text(wire, "operation",
	    route ? request_op_word(request->op) : NULL);
	wire_text(wire, "rule", decision->rule);
	if (finding->has_generation)
		wire_number(wire, "generation",
		    (int64_t)finding->git.generation);
	else
		wire_text(wire, "generation", NULL);
	wire_begin_array(wire, "candidates");
	for (unsigned i = 0; i < decision->n_candidates; i++)
		wire_text(wire, NULL, decision->candidates[i]->name);
	wire_end(wire);
	wire_text(wire, "note", finding->note.data);
	wire_finish(wire, &out);
	fputs(out.data, stdout);
	buf_free(&out);
}

static void
print_line(const char *key, const char *value)
{
	printf("%-11s %s\n", key, value != NULL ? value : "-");
}

static void
print_text(const struct finding *finding)
{
	const struct decision *decision = &finding->decision;
	const struct request *request = &finding->request;
	const struct route *route = request->route;
	struct buf list = { 0 };

	print_line("upstream", decision->upstream);
	print_line("reason", reason_word(decision->reason));
	print_line("route", route ? route->name : NULL);
	print_line("repository", or_null(request->name));
	print_line("operation", route ? request_op_word(request->op) : NULL);
	print_line("rule", decision->rule);
	if (finding->has_generation)
		buf_fmt(&list, "%ju", (uintmax_t)finding->git.generation);
	print_line("generation", list.data);
	buf_free(&list);
	for (unsigned i = 0; i < decision->n_candidates; i++)
		buf_fmt(&list, "%s%s", i > 0 ? " " : "",
		    decision->candidates[i]->name);
	print_line("candidates", list.data);
	buf_free(&list);
	print_line("note", finding->note.data);
	puts(sentences[decision->reason]);
}

enum err
admin_explain(const struct admin *admin, int argc, char **argv, int *status)
{
	struct question question = { 0 };
	struct finding *finding = mem_zalloc(sizeof(*finding));
	enum err err = parse_question(argc, argv, &question);

	if (err == ERR_OK)
		err = find_out(admin, &question, finding);
	if (err == ERR_OK) {
		if (admin->json)
			print_json(finding);
		else
			print_text(finding);
		if (finding->decision.upstream == NULL)
			*status = 1;
	}
	buf_free(&finding->note);
	free(finding);
	return err;
}

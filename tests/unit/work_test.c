/* work_test.c: one repository at one replica: marked, or what else and why */
/* SPDX-License-Identifier: ISC */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sync/fence.h"
#include "sync/row.h"
#include "sync/view.h"
#include "sync/work.h"
#include "tests/unit/githost.h"
#include "tests/unit/tap.h"

#define TOKEN "00112233445566778899aabbccddeeff"
#define SECRET "a-secret-of-some-length"

static struct world world;
static struct githost host;

enum before { NO_ROW, LAGS, MARKED, FENCED };
/* What happens to the row, while the replica is asked or while it fetches. */
enum event { NOTHING, RAISE, RAISE_IN_FETCH, FENCE_IN_FETCH, DROP_IN_FETCH };

/*
 * State: "GENERATION ONE TWO", of each replica "c" where its mark counts, "~"
 * where it has one that does not, "-" without; "one" is worked at, "two" was
 * marked before.  The primary is at OID_A.
 */
struct run {
	const char *claim;
	enum before before;
	unsigned main_status;
	const char *oid; /* of the replica */
	unsigned status;
	bool stuck;
	enum event event;
	enum work_outcome want;
	bool raised;
	unsigned fetches;
	const char *state;
	const char *text; /* a part of err_text(), or NULL */
};

static const struct run runs[] = {
	{ .claim = "equal",
	    .before = LAGS,
	    .oid = OID_A,
	    .want = WORK_MARKED,
	    .state = "1 c c" },
	{ .claim = "equal and marked",
	    .before = MARKED,
	    .oid = OID_A,
	    .want = WORK_MARKED,
	    .state = "1 c c" },
	{ .claim = "behind",
	    .before = LAGS,
	    .oid = OID_B,
	    .want = WORK_MARKED,
	    .fetches = 1,
	    .state = "1 c c" },
	{ .claim = "not there yet",
	    .before = LAGS,
	    .oid = NULL,
	    .want = WORK_MARKED,
	    .fetches = 1,
	    .state = "1 c c" },
	{ .claim = "differs though marked: nobody reported it",
	    .before = MARKED,
	    .oid = OID_B,
	    .want = WORK_MARKED,
	    .raised = true,
	    .fetches = 1,
	    .state = "2 c ~" },
	{ .claim = "and it does not fetch",
	    .before = MARKED,
	    .oid = OID_B,
	    .stuck = true,
	    .want = WORK_FAILED,
	    .raised = true,
	    .fetches = 1,
	    .state = "2 ~ ~",
	    .text = "refs differ from the primary's" },
	{ .claim = "a fetch without effect",
	    .before = LAGS,
	    .oid = OID_B,
	    .stuck = true,
	    .want = WORK_FAILED,
	    .fetches = 1,
	    .state = "1 - c",
	    .text = "refs differ from the primary's" },
	{ .claim = "a fetch that makes nothing",
	    .before = LAGS,
	    .oid = NULL,
	    .stuck = true,
	    .want = WORK_FAILED,
	    .fetches = 1,
	    .state = "1 - c",
	    .text = "no such repository yet" },

	{ .claim = "changed while it was compared",
	    .before = LAGS,
	    .oid = OID_A,
	    .event = RAISE,
	    .want = WORK_MOVED,
	    .state = "2 ~ ~" },
	{ .claim = "changed during the fetch",
	    .before = LAGS,
	    .oid = OID_B,
	    .event = RAISE_IN_FETCH,
	    .want = WORK_MARKED,
	    .fetches = 1,
	    .state = "2 c ~" },
	{ .claim = "fenced during the fetch",
	    .before = LAGS,
	    .oid = OID_B,
	    .event = FENCE_IN_FETCH,
	    .want = WORK_WAITS,
	    .fetches = 1,
	    .state = "2 - ~" },
	{ .claim = "forgotten during the fetch",
	    .before = LAGS,
	    .oid = OID_B,
	    .event = DROP_IN_FETCH,
	    .want = WORK_DROPPED,
	    .fetches = 1,
	    .state = "none" },

	{ .claim = "a fence is up",
	    .before = FENCED,
	    .oid = OID_B,
	    .want = WORK_WAITS,
	    .state = "2 - ~" },
	{ .claim = "the primary has it no more",
	    .before = LAGS,
	    .main_status = 404,
	    .oid = OID_A,
	    .want = WORK_DROPPED,
	    .state = "none" },
	{ .claim = "nor is it served",
	    .before = MARKED,
	    .main_status = 410,
	    .oid = OID_A,
	    .want = WORK_DROPPED,
	    .state = "none" },
	{ .claim = "there is no row",
	    .before = NO_ROW,
	    .oid = OID_A,
	    .want = WORK_DROPPED,
	    .state = "none" },

	{ .claim = "made private",
	    .before = MARKED,
	    .main_status = 403,
	    .oid = OID_A,
	    .want = WORK_FAILED,
	    .state = "2 - -",
	    .text = "primary main" },
	{ .claim = "the replica fails",
	    .before = LAGS,
	    .oid = OID_A,
	    .status = 500,
	    .want = WORK_FAILED,
	    .state = "1 - c",
	    .text = "replica one: " },
};

static enum err
prepare(struct table_txn *txn, void *arg)
{
	const char *name = arg;

	return fence_begin(txn, world.code, name, TOKEN, 1);
}

struct happening {
	enum event event;
	const char *name;
	bool happened;
	enum err err;
};

static enum err
happen(struct table_txn *txn, void *arg)
{
	struct happening *happening = arg;
	uint64_t generation;

	switch (happening->event) {
	case NOTHING:
		break;
	case RAISE:
	case RAISE_IN_FETCH:
		return row_raise(txn, world.code, happening->name, NULL,
		    &generation);
	case FENCE_IN_FETCH:
		return fence_begin(txn, world.code, happening->name, TOKEN, 1);
	case DROP_IN_FETCH:
		return row_drop(txn, world.code, happening->name);
	}
	return ERR_OK;
}

static void
on_request(void *arg, const struct githost_side *side)
{
	struct happening *happening = arg;

	if (happening->happened || side != &host.one ||
	    (happening->event != RAISE && side->fetches == 0))
		return;
	happening->happened = true;
	happening->err = table_write(world.table, happen, happening);
}

static void
see(const char *name, char *out)
{
	struct git_view view;
	char marks[2];

	if (view_git(world.table, NULL, &world.conf, world.code, name, &view) !=
	    ERR_OK) {
		strcpy(out, "no view");
		return;
	}
	for (int i = 0; i < 2; i++)
		marks[i] = view.replicas[i].current ? 'c'
		    : view.replicas[i].generation   ? '~'
						    : '-';
	if (view.known)
		sprintf(out, "%d %c %c", (int)view.generation, marks[0],
		    marks[1]);
	else
		strcpy(out, "none");
}

static void
put_up(const struct run *run, const char *name)
{
	if (run->before == NO_ROW)
		return;
	world_learn(&world, world.code, name);
	world_mark(&world, world.code, world.two, name);
	if (run->before == MARKED)
		world_mark(&world, world.code, world.one, name);
	if (run->before == FENCED)
		tap_int(table_write(world.table, prepare, (void *)name), ERR_OK,
		    "%s: fenced", run->claim);
}

static void
work(const struct run *run, struct http *http, const char *name)
{
	struct happening happening = { run->event, name, false, ERR_OK };
	bool raised = !run->raised;
	char state[64];

	put_up(run, name);
	host.main.status = run->main_status;
	host.one.oid = run->oid;
	host.one.status = run->status;
	host.one.stuck = run->stuck;
	host.one.fetches = 0;
	host.event = on_request;
	host.event_arg = &happening;
	(void)err_set(ERR_OK, "nothing was said");
	tap_int(work_run(world.table, http, &world.conf, world.code, world.one,
		    name, &raised),
	    run->want, "%s: outcome", run->claim);
	if (run->text != NULL &&
	    !tap_ok(strstr(err_text(), run->text) != NULL, "%s: says \"%s\"",
		run->claim, run->text))
		tap_note("%s", err_text());
	tap_int(happening.err, ERR_OK, "%s: what happened, did", run->claim);
	tap_int(raised, run->raised, "%s: raised", run->claim);
	tap_int(host.one.fetches, run->fetches, "%s: orders to fetch",
	    run->claim);
	see(name, state);
	tap_str(state, run->state, "%s: state", run->claim);
	host.main.status = 0;
}

/* Each in a route of its own, where no row was dropped before. */
static void
work_all(struct http *http)
{
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		char name[32];

		snprintf(name, sizeof(name), "code%zu", i);
		world.code->name = name;
		work(&runs[i], http, "group/repo");
		world.code->name = "code";
	}
	tap_str(host.one.bearer, "Bearer " SECRET, "orders bear the secret");
	tap_int(host.two.adverts + host.two.digests + host.two.fetches, 0,
	    "the other replica is left alone");
}

static void
unreachable(struct http *http)
{
	static const struct run one = { .claim = "the primary is away",
		.before = MARKED,
		.oid = OID_A,
		.want = WORK_FAILED,
		.state = "1 c c",
		.text = "primary main" };
	static const struct run other = { .claim = "the replica is away",
		.before = LAGS,
		.oid = OID_A,
		.want = WORK_FAILED,
		.state = "1 - c",
		.text = "replica one" };
	/* nobody listens there: the port is reserved (tcpmux) */
	static char nowhere[] = "http://127.0.0.1:1";

	world.main->url = nowhere;
	work(&one, http, "away/one");
	world.main->url = host.urls[0];
	world.one->endpoint = nowhere;
	work(&other, http, "away/other");
	world.one->endpoint = host.endpoints[1];
}

static void
not_allowed(struct http *http)
{
	static const struct run secret = { .claim = "no secret to order with",
		.before = LAGS,
		.oid = OID_B,
		.want = WORK_FAILED,
		.state = "1 - c",
		.text = "push.token_file" };
	static const struct run none = { .claim = "somebody else's business",
		.before = MARKED,
		.oid = OID_B,
		.want = WORK_FAILED,
		.raised = true,
		.state = "2 ~ ~",
		.text = "somebody else" };

	world.conf.push.token_file = NULL;
	work(&secret, http, "not/allowed");
	world.code->converge = CONVERGE_NONE;
	work(&none, http, "not/ours");
}

static char *
make_secret(void)
{
	char *path = mem_fmt("%s/secret", tap_dir());
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	if (fd == -1 ||
	    write(fd, SECRET "\n", strlen(SECRET) + 1) !=
		(ssize_t)strlen(SECRET) + 1) {
		puts("Bail out! no secret");
		exit(1);
	}
	close(fd);
	return path;
}

int
main(void)
{
	struct http *http = http_new();
	char *secret = make_secret();

	world_open(&world, "work");
	githost_start(&host, &world);
	world.conf.push.token_file = secret;
	work_all(http);
	unreachable(http);
	not_allowed(http);
	githost_stop(&host);
	world_close(&world);
	free(secret);
	http_free(http);
	return tap_done();
}

/* proof_test.c: a mark says what was noted before comparing, or nothing */
/* SPDX-License-Identifier: ISC */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "sync/fence.h"
#include "sync/proof.h"
#include "sync/row.h"
#include "sync/view.h"
#include "sync/wire.h"
#include "tests/unit/server.h"
#include "tests/unit/tap.h"
#include "tests/unit/world.h"

#define TOKEN "00112233445566778899aabbccddeeff"
#define A "1111111111111111111111111111111111111111"
#define B "2222222222222222222222222222222222222222"
#define ZERO "0000000000000000000000000000000000000000"
#define CAPS "multi_ack side-band-64k shallow agent=git/2.39"

static struct world world;
static struct http *http;

/* What happens to the repository while somebody is asked. */
enum event {
	NOTHING,
	RAISE,
	FENCE,
	FENCE_AND_END,
	ROUTE_EPOCH,
	REPLICA_EPOCH,
	DROP,
	DROP_AND_LEARN,
	MARK_ONE,	    /* another comparison did */
	RAISE_AND_MARK_ONE, /* of a change that was reported */
};

enum before { PLAIN, FENCED, ONE_MARKED, UNKNOWN, COMMIT_REPORTED };

/* What a server says; oid NULL: an empty repository, "" bytes that are none. */
struct canned {
	unsigned status; /* 0: 200 */
	const char *oid;
	const char *caps;
	unsigned times; /* so many answers, then better; 0: always */
	enum event event;
	bool lacks_commit;
};

/*
 * State: "GENERATION ONE TWO", of each replica "c" where its mark counts, "~"
 * where it has one that does not, "-" without; "one" is compared, "two" was
 * marked before.
 */
struct row_of_test {
	const char *claim;
	enum before before;
	struct canned primary, replica;
	enum err want;
	enum proof_outcome outcome;
	const char *state;
	const char *note; /* a part of it */
};

static const struct row_of_test by_refs[] = {
	{ "equal", PLAIN, { .oid = A }, { .oid = A }, ERR_OK, PROOF_MARKED,
	    "1 c c", "" },
	{ "another oid", PLAIN, { .oid = A }, { .oid = B }, ERR_OK,
	    PROOF_DIFFERS, "1 - c", "" },
	{ "both empty", PLAIN, { .oid = NULL }, { .oid = NULL }, ERR_OK,
	    PROOF_MARKED, "1 c c", "" },
	{ "both empty, another object format", PLAIN,
	    { .oid = NULL, .caps = CAPS " object-format=sha256" },
	    { .oid = NULL }, ERR_OK, PROOF_DIFFERS, "1 - c", "" },
	{ "the replica has no repository", PLAIN, { .oid = A },
	    { .status = 404 }, ERR_OK, PROOF_DIFFERS, "1 - c",
	    "no such repository yet" },

	{ "a raise while the primary is asked", PLAIN,
	    { .oid = A, .event = RAISE }, { .oid = A }, ERR_OK,
	    PROOF_SUPERSEDED, "2 ~ ~", "" },
	{ "a raise while the replica is asked", PLAIN, { .oid = A },
	    { .oid = A, .event = RAISE }, ERR_OK, PROOF_SUPERSEDED, "2 ~ ~",
	    "" },
	{ "a fence goes up meanwhile", PLAIN, { .oid = A },
	    { .oid = A, .event = FENCE }, ERR_OK, PROOF_SUPERSEDED, "2 ~ ~",
	    "" },
	{ "a fence comes and goes meanwhile", PLAIN, { .oid = A },
	    { .oid = A, .event = FENCE_AND_END }, ERR_OK, PROOF_SUPERSEDED,
	    "3 ~ ~", "" },
	{ "the route's epoch rises meanwhile", PLAIN, { .oid = A },
	    { .oid = A, .event = ROUTE_EPOCH }, ERR_OK, PROOF_SUPERSEDED,
	    "1 ~ ~", "" },
	{ "the replica's epoch rises meanwhile", PLAIN,
	    { .oid = A, .event = REPLICA_EPOCH }, { .oid = A }, ERR_OK,
	    PROOF_SUPERSEDED, "1 ~ ~", "" },
	{ "the row goes meanwhile", PLAIN, { .oid = A, .event = DROP },
	    { .oid = A }, ERR_ABSENT, PROOF_MARKED, "none", NULL },
	{ "the row goes and comes back meanwhile", PLAIN,
	    { .oid = A, .event = DROP_AND_LEARN }, { .oid = A }, ERR_OK,
	    PROOF_SUPERSEDED, "2 ~ -", "" },

	{ "a fence is up before", FENCED, { .oid = A }, { .oid = A }, ERR_OK,
	    PROOF_FENCED, "2 - ~", "" },
	{ "there is no row", UNKNOWN, { .oid = A }, { .oid = A }, ERR_ABSENT,
	    PROOF_MARKED, "none", NULL },

	{ "the primary has it no more", ONE_MARKED, { .status = 404 },
	    { .oid = A }, ERR_OK, PROOF_GONE, "2 - -",
	    "no such repository (status 404)" },
	{ "gone, it says", PLAIN, { .status = 410 }, { .oid = A }, ERR_OK,
	    PROOF_GONE, "2 - -", "no such repository (status 410)" },
	{ "made private", ONE_MARKED, { .status = 401 }, { .oid = A }, ERR_PEER,
	    PROOF_MARKED, "2 - -", NULL },
	{ "forbidden", ONE_MARKED, { .status = 403 }, { .oid = A }, ERR_PEER,
	    PROOF_MARKED, "2 - -", NULL },
	{ "forbidden once only", ONE_MARKED,
	    { .status = 403, .oid = A, .times = 1 }, { .oid = A }, ERR_OK,
	    PROOF_MARKED, "1 c c", "" },
	{ "overloaded: replicas go on", ONE_MARKED, { .status = 503 },
	    { .oid = A }, ERR_PEER, PROOF_MARKED, "1 c c", NULL },
	{ "told to come later: replicas go on", ONE_MARKED, { .status = 429 },
	    { .oid = A }, ERR_PEER, PROOF_MARKED, "1 c c", NULL },
	{ "moved: no redirect is followed", PLAIN, { .status = 302 },
	    { .oid = A }, ERR_PEER, PROOF_MARKED, "2 - -", NULL },
	{ "the primary sends no advertisement", PLAIN, { .oid = "" },
	    { .oid = A }, ERR_PEER, PROOF_MARKED, "1 - c", NULL },
	{ "the replica fails", ONE_MARKED, { .oid = A }, { .status = 500 },
	    ERR_PEER, PROOF_MARKED, "1 - c", NULL },
	{ "it fails once only", ONE_MARKED, { .oid = A },
	    { .status = 500, .oid = A, .times = 1 }, ERR_OK, PROOF_MARKED,
	    "1 c c", "" },
	{ "it is too busy", ONE_MARKED, { .oid = A }, { .status = 503 },
	    ERR_PEER, PROOF_MARKED, "1 c c", NULL },
	{ "it shows it no more", ONE_MARKED, { .oid = A }, { .status = 403 },
	    ERR_PEER, PROOF_MARKED, "1 - c", NULL },
	{ "it shows something else", ONE_MARKED, { .oid = A }, { .oid = "" },
	    ERR_PEER, PROOF_MARKED, "1 - c", NULL },
	{ "the replica forbids it", PLAIN, { .oid = A }, { .status = 403 },
	    ERR_PEER, PROOF_MARKED, "1 - c", NULL },
	{ "the replica sends no advertisement", PLAIN, { .oid = A },
	    { .oid = "" }, ERR_PEER, PROOF_MARKED, "1 - c", NULL },

	{ "a ref is being deleted at the primary", PLAIN,
	    { .oid = ZERO, .times = 2 }, { .oid = A }, ERR_OK, PROOF_MARKED,
	    "1 c c", "" },
	{ "and at the replica", PLAIN, { .oid = A },
	    { .oid = ZERO, .times = 1 }, ERR_OK, PROOF_MARKED, "1 c c", "" },
	{ "it goes on for too long", PLAIN, { .oid = ZERO }, { .oid = A },
	    ERR_PEER, PROOF_MARKED, "1 - c", NULL },

	{ "the replica offers less", PLAIN,
	    { .oid = A, .caps = CAPS " filter" }, { .oid = A }, ERR_OK,
	    PROOF_UNVERIFIED, "1 - c", "uploadpack.allowFilter=true" },
	{ "it was marked before", ONE_MARKED,
	    { .oid = A, .caps = CAPS " allow-tip-sha1-in-want" }, { .oid = A },
	    ERR_OK, PROOF_UNVERIFIED, "1 - c",
	    "uploadpack.allowTipSHA1InWant=true" },
	{ "what only a newer git has", PLAIN, { .oid = A },
	    { .oid = A, .caps = "multi_ack" }, ERR_OK, PROOF_UNVERIFIED,
	    "1 - c", "a git as new as" },
	{ "the replica offers more", PLAIN, { .oid = A },
	    { .oid = A, .caps = CAPS " filter" }, ERR_OK, PROOF_MARKED, "1 c c",
	    "" },
};

static const struct row_of_test by_endpoint[] = {
	{ "endpoint: equal", PLAIN, { .oid = A }, { .oid = A }, ERR_OK,
	    PROOF_MARKED, "1 c c", "" },
	{ "endpoint: its url offers less", ONE_MARKED,
	    { .oid = A, .caps = CAPS " filter" }, { .oid = A }, ERR_OK,
	    PROOF_UNVERIFIED, "1 - c", "uploadpack.allowFilter=true" },
	{ "endpoint: another oid", PLAIN, { .oid = A }, { .oid = B }, ERR_OK,
	    PROOF_DIFFERS, "1 - c", "" },
	{ "endpoint: no repository", PLAIN, { .oid = A }, { .status = 404 },
	    ERR_OK, PROOF_DIFFERS, "1 - c", "no such repository yet" },
	{ "endpoint: a raise meanwhile", PLAIN, { .oid = A },
	    { .oid = A, .event = RAISE }, ERR_OK, PROOF_SUPERSEDED, "2 ~ ~",
	    "" },
	{ "endpoint: it fails", PLAIN, { .oid = A }, { .status = 500 },
	    ERR_PEER, PROOF_MARKED, "1 - c", NULL },
};

static const struct row_of_test by_commit[] = {
	{ "commit: none was reported", PLAIN, { .status = 500 },
	    { .status = 500 }, ERR_OK, PROOF_UNREPORTED, "1 - c",
	    "no commit was reported" },
	{ "commit: both have it", COMMIT_REPORTED, { .oid = A }, { .oid = A },
	    ERR_OK, PROOF_MARKED, "2 c ~", "" },
	{ "commit: the replica has not", COMMIT_REPORTED, { .oid = A },
	    { .lacks_commit = true }, ERR_OK, PROOF_DIFFERS, "2 - ~",
	    "no commit " B },
	{ "commit: the primary has not, so it is not required", COMMIT_REPORTED,
	    { .lacks_commit = true }, { .lacks_commit = true }, ERR_OK,
	    PROOF_MARKED, "2 c ~", "not required" },
	{ "commit: a raise meanwhile", COMMIT_REPORTED, { .oid = A },
	    { .oid = A, .event = RAISE }, ERR_OK, PROOF_SUPERSEDED, "3 ~ ~",
	    "" },
	{ "commit: the replica has no repository", COMMIT_REPORTED,
	    { .oid = A }, { .status = 404 }, ERR_OK, PROOF_DIFFERS, "2 - ~",
	    "no commit " B },
	{ "commit: the primary has no endpoint", COMMIT_REPORTED,
	    { .status = 404 }, { .oid = A }, ERR_PEER, PROOF_MARKED, "2 - ~",
	    NULL },
	{ "commit: the primary fails", COMMIT_REPORTED, { .status = 500 },
	    { .oid = A }, ERR_PEER, PROOF_MARKED, "2 - ~", NULL },
	{ "commit: the replica fails", COMMIT_REPORTED, { .oid = A },
	    { .status = 500 }, ERR_PEER, PROOF_MARKED, "2 - ~", NULL },
};

/* One row under way; the server's thread reads it and runs its events. */
struct run {
	const struct row_of_test *row;
	char name[32];
	unsigned asked[2]; /* the primary, the replica */
	bool happened[2];
	enum err event_err;
};
static struct run run;
static struct proof_result last;

static enum err
mark_at(struct table_txn *txn, const struct upstream *replica,
    uint64_t generation)
{
	struct epochs epochs;
	bool current;
	enum err err = epochs_get(txn, world.code, replica, &epochs);

	return err == ERR_OK ? row_mark(txn, world.code, run.name, replica,
				   generation, &epochs, &current)
			     : err;
}

static enum err
happen(struct table_txn *txn, void *arg)
{
	const enum event *event = arg;
	uint64_t generation;
	enum err err;

	switch (*event) {
	case NOTHING:
		return ERR_OK;
	case RAISE:
		return row_raise(txn, world.code, run.name, NULL, &generation);
	case FENCE:
		return fence_begin(txn, world.code, run.name, TOKEN, 1);
	case FENCE_AND_END:
		err = fence_begin(txn, world.code, run.name, TOKEN, 1);
		return err == ERR_OK
		    ? fence_end(txn, world.code, run.name, TOKEN, NULL)
		    : err;
	case ROUTE_EPOCH:
		return epoch_raise(txn, world.code, NULL);
	case REPLICA_EPOCH:
		err = epoch_raise(txn, world.code, world.two);
		return err == ERR_OK ? epoch_raise(txn, world.code, world.one)
				     : err;
	case DROP:
		return row_drop(txn, world.code, run.name);
	case DROP_AND_LEARN:
		err = row_drop(txn, world.code, run.name);
		return err == ERR_OK
		    ? row_learn(txn, world.code, run.name, NULL)
		    : err;
	case MARK_ONE:
		return mark_at(txn, world.one, 1);
	case RAISE_AND_MARK_ONE:
		err = row_raise(txn, world.code, run.name, NULL, &generation);
		return err == ERR_OK ? mark_at(txn, world.one, generation)
				     : err;
	}
	return ERR_USAGE;
}

/* A pkt-line (gitprotocol-common(5)); len is of text. */
static void
put_pkt(struct buf *out, const char *text, size_t len)
{
	buf_fmt(out, "%04zx", len + 4);
	buf_add(out, text, len);
}

/* An advertisement of protocol v0 (gitprotocol-pack(5)). */
static void
put_advert(const char *oid, const char *caps, struct buf *out)
{
	struct buf line = { 0 };

	put_pkt(out, "# service=git-upload-pack\n", 26);
	buf_puts(out, "0000");
	buf_fmt(&line, "%s %s", oid != NULL ? oid : ZERO,
	    oid != NULL ? "refs/heads/main" : "capabilities^{}");
	buf_add(&line, "", 1);
	buf_fmt(&line, "%s\n", caps != NULL ? caps : CAPS);
	put_pkt(out, line.data, line.len);
	buf_puts(out, "0000");
	buf_free(&line);
}

/* What reproute-replica answers of the same refs. */
static void
put_digest(const char *oid, struct buf *out)
{
	struct refs *refs = refs_new();
	struct refs_digest digest;

	if (refs_add(refs, oid, "refs/heads/main") == ERR_OK &&
	    refs_end(refs, "sha1", &digest) == ERR_OK)
		wire_put_refs(&digest, out);
}

static void
answer(void *arg, const struct server_request *request,
    struct server_reply *reply)
{
	const bool of_replica = strncmp(request->target, "/one", 4) == 0;
	const struct canned *canned = of_replica ? &run.row->replica
						 : &run.row->primary;
	const unsigned nth = ++run.asked[of_replica];
	const bool better = canned->times != 0 && nth > canned->times;
	enum event event = canned->event;

	(void)arg;
	if (!run.happened[of_replica])
		run.event_err = table_write(world.table, happen, &event);
	run.happened[of_replica] = true;
	if (canned->status != 0 && !better) {
		reply->status = canned->status;
	} else if (strstr(request->target, "/has-commit/") != NULL) {
		buf_puts(&reply->headers, "Content-Type: application/json\r\n");
		buf_puts(&reply->body, canned->lacks_commit ? "false" : "true");
	} else if (strstr(request->target, "/info/refs?") == NULL) {
		buf_puts(&reply->headers, "Content-Type: application/json\r\n");
		put_digest(canned->oid, &reply->body);
	} else {
		buf_puts(&reply->headers,
		    "Content-Type: "
		    "application/x-git-upload-pack-advertisement\r\n");
		if (canned->oid != NULL && canned->oid[0] == '\0')
			buf_puts(&reply->body, "<html>Log in</html>");
		else
			put_advert(better ? A : canned->oid, canned->caps,
			    &reply->body);
	}
}

static enum err
prepare(struct table_txn *txn, void *arg)
{
	const enum before before = run.row->before;
	uint64_t generation;
	enum err err;

	(void)arg;
	if (before == UNKNOWN)
		return ERR_OK;
	err = row_learn(txn, world.code, run.name, NULL);
	if (err == ERR_OK)
		err = mark_at(txn, world.two, 1);
	if (err == ERR_OK && before == ONE_MARKED)
		err = mark_at(txn, world.one, 1);
	if (err == ERR_OK && before == FENCED)
		err = fence_begin(txn, world.code, run.name, TOKEN, 1);
	if (err == ERR_OK && before == COMMIT_REPORTED)
		err = row_raise(txn, world.code, run.name, B, &generation);
	return err;
}

static void
see(char *out)
{
	struct git_view view;

	if (view_git(world.table, NULL, &world.conf, world.code, run.name,
		&view) != ERR_OK)
		strcpy(out, "no view");
	else if (!view.known)
		strcpy(out, "none");
	else
		sprintf(out, "%d %s %s", (int)view.generation,
		    view.replicas[0].current	      ? "c"
			: view.replicas[0].generation ? "~"
						      : "-",
		    view.replicas[1].current	      ? "c"
			: view.replicas[1].generation ? "~"
						      : "-");
}

static void
test_row(const struct row_of_test *row, size_t number)
{
	struct proof_result result = { .outcome = PROOF_GONE };
	char state[64];
	enum err err;

	run = (struct run){ .row = row };
	snprintf(run.name, sizeof(run.name), "group/repo%zu", number);
	tap_int(table_write(world.table, prepare, NULL), ERR_OK, "%s: prepared",
	    row->claim);
	err = proof_run(world.table, http, &world.conf, world.code, world.one,
	    run.name, &result);
	tap_int(err, row->want, "%s: returns", row->claim);
	if (err != row->want)
		tap_note("%s", err_text());
	tap_int(run.event_err, ERR_OK, "%s: what happened, did", row->claim);
	see(state);
	tap_str(state, row->state, "%s: state", row->claim);
	if (row->want != ERR_OK || err != ERR_OK)
		return;
	last = result;
	tap_int(result.outcome, row->outcome, "%s: outcome", row->claim);
	tap_ok(row->note[0] == '\0' ? result.note[0] == '\0'
				    : strstr(result.note, row->note) != NULL,
	    "%s: note \"%s\"", row->claim, result.note);
	if (row->outcome == PROOF_FENCED)
		tap_int(run.asked[0] + run.asked[1], 0, "%s: nobody is asked",
		    row->claim);
	if (row->outcome == PROOF_GONE)
		tap_int(result.primary_status, row->primary.status,
		    "%s: status", row->claim);
	if (row->outcome == PROOF_MARKED && world.code->proof == PROOF_REFS)
		tap_str(result.primary.digest, result.replica.digest,
		    "%s: digests", row->claim);
}

static void
test_rows(const struct row_of_test *rows, size_t n, size_t *number)
{
	for (size_t i = 0; i < n; i++) {
		char name[32];

		/* a route of its own, where no row was dropped before */
		snprintf(name, sizeof(name), "code%zu", *number);
		world.code->name = name;
		test_row(&rows[i], (*number)++);
		world.code->name = "code";
	}
}

/* The two differ; was that a change that nobody reported? */
static const struct unreported {
	struct row_of_test row;
	bool raised;
	const char *state; /* afterwards */
} unreported[] = {
	{ { "a mark that counts", ONE_MARKED, { .oid = A }, { .oid = B },
	      ERR_OK, PROOF_DIFFERS, "1 c c", "" },
	    true, "2 ~ ~" },
	{ { "no mark", PLAIN, { .oid = A }, { .oid = B }, ERR_OK, PROOF_DIFFERS,
	      "1 - c", "" },
	    false, "1 - c" },
	{ { "one that was made meanwhile", PLAIN, { .oid = A },
	      { .oid = B, .event = MARK_ONE }, ERR_OK, PROOF_DIFFERS, "1 c c",
	      "" },
	    false, "1 c c" },
	{ { "a report meanwhile", ONE_MARKED, { .oid = A },
	      { .oid = B, .event = RAISE }, ERR_OK, PROOF_DIFFERS, "2 ~ ~",
	      "" },
	    false, "2 ~ ~" },
	{ { "a report, and marked anew", ONE_MARKED, { .oid = A },
	      { .oid = B, .event = RAISE_AND_MARK_ONE }, ERR_OK, PROOF_DIFFERS,
	      "2 c ~", "" },
	    false, "2 c ~" },
	{ { "an epoch that rose meanwhile", ONE_MARKED, { .oid = A },
	      { .oid = B, .event = ROUTE_EPOCH }, ERR_OK, PROOF_DIFFERS,
	      "1 ~ ~", "" },
	    false, "1 ~ ~" },
};

static void
test_unreported(const struct unreported *test, size_t number)
{
	char state[64], name[32];
	bool raised = !test->raised;

	snprintf(name, sizeof(name), "code%zu", number);
	world.code->name = name;
	test_row(&test->row, number);
	tap_int(proof_unreported(world.table, world.code, world.one, run.name,
		    &last, &raised),
	    ERR_OK, "%s: asked", test->row.claim);
	tap_int(raised, test->raised, "%s: raised", test->row.claim);
	see(state);
	tap_str(state, test->state, "%s: state then", test->row.claim);
	world.code->name = "code";
}

static void
test_unreachable(size_t number)
{
	static const struct row_of_test row = { "the primary does not answer",
		ONE_MARKED, { .oid = A }, { .oid = A }, ERR_PEER, PROOF_MARKED,
		"1 c c", NULL };
	char *url = world.main->url;

	/* nobody listens there: the port is reserved (tcpmux) */
	world.main->url = "http://127.0.0.1:1";
	world.code->converge = CONVERGE_NONE;
	world.code->proof = PROOF_REFS;
	test_row(&row, number);
	tap_int(run.asked[1], 0, "then the replica is not asked");
	world.main->url = url;
}

/* A fetch that has outlived its daemon will move refs that are equal now. */
static void
test_fetching(size_t number)
{
	static const struct row_of_test row = { "the replica is fetching",
		PLAIN, { .oid = A }, { .oid = A }, ERR_PEER, PROOF_MARKED,
		"1 - c", NULL };
	char *path = mem_fmt("%s/copy.git", tap_dir());
	char *lock = mem_fmt("%s.reproute-lock", path);
	int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	world.code->converge = CONVERGE_LOCAL;
	world.one->path = path;
	flock(fd, LOCK_EX);
	test_row(&row, number);
	tap_int(run.asked[0] + run.asked[1], 0, "then nobody is asked");
	tap_ok(strstr(err_text(), "a fetch is under way") != NULL, "%s",
	    err_text());
	close(fd);
	world.one->path = NULL;
	free(lock);
	free(path);
}

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

int
main(void)
{
	char main_url[128], one_url[128];
	struct server *server;
	size_t number = 0;

	world_open(&world, "proof");
	server = server_start(answer, NULL);
	http = http_new();
	snprintf(main_url, sizeof(main_url), "%s/main", server_url(server));
	snprintf(one_url, sizeof(one_url), "%s/one", server_url(server));
	world.main->url = world.main->endpoint = main_url;
	world.one->url = world.one->endpoint = one_url;

	world.code->converge = CONVERGE_NONE;
	test_rows(by_refs, COUNT(by_refs), &number);
	for (size_t i = 0; i < COUNT(unreported); i++)
		test_unreported(&unreported[i], number++);
	world.code->converge = CONVERGE_ENDPOINT;
	test_rows(by_endpoint, COUNT(by_endpoint), &number);
	test_fetching(number++);
	world.code->converge = CONVERGE_ENDPOINT;
	world.code->proof = PROOF_COMMIT;
	test_rows(by_commit, COUNT(by_commit), &number);
	test_unreachable(number);

	http_free(http);
	server_stop(server);
	world_close(&world);
	return tap_done();
}

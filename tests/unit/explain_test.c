/* explain_test.c: each row of both decision tables, told and not done */
/* SPDX-License-Identifier: ISC */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/crypto.h"
#include "sync/fence.h"
#include "sync/peer.h"
#include "sync/place.h"
#include "sync/pulse.h"
#include "tests/unit/tap.h"
#include "tests/unit/tool.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define TOKEN "0123456789abcdef0123456789abcdef"
#define FETCH "/info/refs?service=git-upload-pack"
#define TEN "xyxyxyxyxy"
#define FORTY TEN TEN TEN TEN
/* It takes more than a match may on this name, and on few others. */
#define HARD "((xy)+)+-prod$"
#define HARD_NAME FORTY FORTY FORTY FORTY FORTY FORTY "/d"
#define RULES                                                                  \
	"include = ({ name = \"team\"; pattern = \"^team/\"; }, "              \
	"{ name = \"hard\"; pattern = \"^" HARD "\"; }); "                     \
	"exclude = ({ name = \"legacy\"; pattern = \"^team/legacy/\"; });"

/* So many claims about one run: what JSON says, but for the note. */
struct row {
	const char *words;
	const char *upstream, *reason, *route, *repository, *operation, *rule;
	const char *generation;
	const char *candidates; /* as JSON has them */
	int status;
};

/* "KEY":"VALUE", or null */
static void
put_text(struct buf *out, const char *key, const char *value)
{
	if (value != NULL)
		buf_fmt(out, "\"%s\":\"%s\",", key, value);
	else
		buf_fmt(out, "\"%s\":null,", key);
}

static void
explain_row(struct tool *tool, const struct row *row)
{
	char *words = mem_fmt("explain --json %s", row->words);
	struct buf want = { 0 };
	const char *note;

	buf_puts(&want, "{");
	put_text(&want, "upstream", row->upstream);
	put_text(&want, "reason", row->reason);
	put_text(&want, "route", row->route);
	put_text(&want, "repository", row->repository);
	put_text(&want, "operation", row->operation);
	put_text(&want, "rule", row->rule);
	buf_fmt(&want, "\"generation\":%s,\"candidates\":[%s],",
	    row->generation != NULL ? row->generation : "null",
	    row->candidates);
	tool_run(tool, words);
	if ((note = strstr(tool->out.data, "\"note\":")) != NULL)
		tool->out.data[note - tool->out.data] = '\0';
	tap_str(tool->out.data, want.data, "%.100s", row->words);
	tap_int(tool->status, row->status, "%.100s: exit status", row->words);
	buf_free(&want);
	free(words);
}

static const struct row git_rows[] = {
	/* outside every route */
	{ "GET /elsewhere", NULL, "no-route", NULL, NULL, NULL, NULL, NULL, "",
	    1 },
	/* 1: other */
	{ "GET /git/p/fresh", "main", "other", "code", NULL, "other", NULL,
	    NULL, "\"main\"", 0 },
	{ "GET /git/p/fresh/info/lfs/objects/batch", "main", "other", "code",
	    "p/fresh", "lfs", NULL, "1", "\"main\"", 0 },
	{ "GET /git/p/fresh/objects/info/packs", "main", "other", "code",
	    "p/fresh", "dumb", NULL, "1", "\"main\"", 0 },
	{ "POST /git/p/fresh/git-upload-archive", "main", "other", "code",
	    "p/fresh", "archive", NULL, "1", "\"main\"", 0 },
	{ "GET '/git/p%2Ffresh" FETCH "'", "main", "other", "code", "p/fresh",
	    "refs", NULL, "1", "\"main\"", 0 },
	/* 2: write, fenced or not */
	{ "GET '/git/p/fresh/info/refs?service=git-receive-pack'", "main",
	    "write", "code", "p/fresh", "write-refs", NULL, "1", "\"main\"",
	    0 },
	{ "POST /git/p/up/git-receive-pack", "main", "write", "code", "p/up",
	    "receive-pack", NULL, "2", "\"main\"", 0 },
	/* 4: unknown */
	{ "GET '/git/p/new" FETCH "'", "main", "unknown", "code", "p/new",
	    "refs", NULL, NULL, "\"main\"", 0 },
	/* 5: fenced */
	{ "POST /git/p/up/git-upload-pack", "main", "fenced", "code", "p/up",
	    "upload-pack", NULL, "2", "\"main\"", 0 },
	/* 7: lagging */
	{ "GET '/git/p/lags" FETCH "'", "main", "lagging", "code", "p/lags",
	    "refs", NULL, "2", "\"main\"", 0 },
	/* 8: down; "two" is drained */
	{ "GET '/git/p/drained" FETCH "'", "main", "down", "code", "p/drained",
	    "refs", NULL, "1", "\"main\"", 0 },
	/* 9: a replica; whatever its spelling */
	{ "GET '/git/p/fresh" FETCH "'", "one", "replica", "code", "p/fresh",
	    "refs", NULL, "1", "\"one\",\"main\"", 0 },
	{ "POST https://host.example/git/p/fresh.git/git-upload-pack", "one",
	    "replica", "code", "p/fresh", "upload-pack", NULL, "1",
	    "\"one\",\"main\"", 0 },
	/* options anywhere */
	{ "GET -H 'Accept: text/html' '/git/p/fresh" FETCH
	  "' --client 192.0.2.1:4000 -H 'Git-Protocol: version=2'",
	    "one", "replica", "code", "p/fresh", "refs", NULL, "1",
	    "\"one\",\"main\"", 0 },
};

static const struct row registry_rows[] = {
	/* 2: other */
	{ "GET /v2/", "old", "other", "images", NULL, "base", NULL, NULL,
	    "\"old\"", 0 },
	{ "GET /v2/_catalog", "old", "other", "images", NULL, "catalogue", NULL,
	    NULL, "\"old\"", 0 },
	{ "GET /v2/Team/x/tags/list", "old", "other", "images", NULL, "other",
	    NULL, NULL, "\"old\"", 0 },
	/* 4: placed, before all rules */
	{ "GET /v2/team/legacy/kept/tags/list", "new", "placed", "images",
	    "team/legacy/kept", "tags", NULL, NULL, "\"new\"", 0 },
	{ "PUT /v2/team/lost/manifests/v1", "gone", "placed", "images",
	    "team/lost", "manifest-put", NULL, NULL, "", 0 },
	/* 6: excluded */
	{ "POST /v2/team/legacy/a/blobs/uploads/", "old", "excluded", "images",
	    "team/legacy/a", "upload-start", "legacy", NULL, "\"old\"", 0 },
	/* 7: not included */
	{ "DELETE /v2/else/a/manifests/v1", "old", "not-included", "images",
	    "else/a", "manifest-delete", NULL, NULL, "\"old\"", 0 },
	/* 8: a rule that gives up */
	{ "GET /v2/" HARD_NAME "/tags/list", "old", "rule-error", "images",
	    HARD_NAME, "tags", "hard", NULL, "\"old\"", 0 },
	/* 10: included */
	{ "PUT /v2/team/a/manifests/v1", "new", "included", "images", "team/a",
	    "manifest-put", "team", NULL, "\"new\"", 0 },
};

/* 5: nothing was imported; the table may be absent altogether. */
static const struct row empty_rows[] = {
	{ "PUT /v2/team/a/manifests/v1", "old", "not-imported", "images",
	    "team/a", "manifest-put", NULL, NULL, "\"old\"", 0 },
	{ "GET '/git/p/fresh" FETCH "'", "main", "unknown", "code", "p/fresh",
	    "refs", NULL, NULL, "\"main\"", 0 },
	{ "POST /git/p/fresh/git-receive-pack", "main", "write", "code",
	    "p/fresh", "receive-pack", NULL, NULL, "\"main\"", 0 },
};

/* 9: percent is 0 */
static const struct row percent_rows[] = {
	{ "PUT /v2/team/a/manifests/v1", "old", "percent", "images", "team/a",
	    "manifest-put", NULL, NULL, "\"old\"", 0 },
	{ "GET /v2/team/legacy/kept/tags/list", "new", "placed", "images",
	    "team/legacy/kept", "tags", NULL, NULL, "\"new\"", 0 },
};

/* 3: in doubt; what is no read of a repository is not */
static const struct row doubt_rows[] = {
	{ "GET '/git/p/fresh" FETCH "'", "main", "doubt", "code", "p/fresh",
	    "refs", NULL, "1", "\"main\"", 0 },
	{ "GET '/git/p/new" FETCH "'", "main", "doubt", "code", "p/new", "refs",
	    NULL, NULL, "\"main\"", 0 },
	{ "POST /git/p/fresh/git-receive-pack", "main", "write", "code",
	    "p/fresh", "receive-pack", NULL, "1", "\"main\"", 0 },
	{ "GET '/more/p/r" FETCH "'", "two", "replica", "more", "p/r", "refs",
	    NULL, "1", "\"two\",\"other\"", 0 },
};

static enum err
fill_body(struct table_txn *txn, void *arg)
{
	const struct import import = { .completed_s = 1 };
	const struct world *world = arg;
	const struct route *images = world->images;
	enum err err;

	if ((err = fence_begin(txn, world->code, "p/up", TOKEN, 1)) != ERR_OK ||
	    (err = import_set(txn, images, images->primary, &import)) !=
		ERR_OK ||
	    (err = import_set(txn, images, images->to, &import)) != ERR_OK ||
	    (err = place_set(txn, images, "team/legacy/kept", "new")) != ERR_OK)
		return err;
	return place_set(txn, images, "team/lost", "gone");
}

static enum err
drain_body(struct table_txn *txn, void *arg)
{
	(void)arg;
	return peer_drain(txn, "two", true);
}

static enum err
undrain_body(struct table_txn *txn, void *arg)
{
	(void)arg;
	return peer_drain(txn, "two", false);
}

static void
fill(struct world *world)
{
	world_learn(world, world->code, "p/fresh p/lags p/up p/drained");
	world_learn(world, world->more, "p/r");
	world_mark(world, world->code, world->one, "p/fresh");
	world_mark(world, world->code, world->two, "p/drained");
	world_mark(world, world->more, world->two, "p/r");
	world_outdate(world, world->code, world->one, "p/lags");
	tap_must(table_write(world->table, fill_body, world));
	tap_must(table_write(world->table, drain_body, NULL));
}

/* Of the table's bytes; the lock file beside it is LMDB's. */
static void
digest_table(const struct tool *tool, char out[DIGEST_HEX_SIZE])
{
	char *path = mem_fmt("%s/" TABLE_FILE, tool->dir);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct digest *digest = digest_new();
	uint8_t bytes[65536], sum[DIGEST_SIZE];
	ssize_t len;

	if (fd == -1)
		tap_must(err_sys("%s", path));
	while ((len = read(fd, bytes, sizeof(bytes))) > 0)
		digest_add(digest, bytes, (size_t)len);
	close(fd);
	digest_end(digest, sum);
	digest_hex(sum, out);
	free(path);
}

static void
explain_rows(struct tool *tool, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		explain_row(tool, &rows[i]);
}

static void
test_rows(void)
{
	char before[DIGEST_HEX_SIZE], after[DIGEST_HEX_SIZE];
	struct world world;
	struct tool tool;

	world_open(&world, "rows");
	fill(&world);
	tool_begin(&tool, &world, "rows", RULES, "");
	digest_table(&tool, before);
	explain_rows(&tool, git_rows, COUNT(git_rows));
	explain_rows(&tool, registry_rows, COUNT(registry_rows));
	digest_table(&tool, after);
	tap_str(after, before, "not a byte of the table changed");
	tool_end(&tool);
	tool_begin(&tool, &world, "rows", "percent = 0;", "");
	explain_rows(&tool, percent_rows, COUNT(percent_rows));
	tool_end(&tool);
	world_close(&world);
}

static void
test_empty(void)
{
	struct world world;
	struct tool tool;
	char *path;

	world_open(&world, "empty");
	tool_begin(&tool, &world, "empty", RULES, "");
	explain_rows(&tool, empty_rows, COUNT(empty_rows));
	world_close(&world);
	path = mem_fmt("%s/" TABLE_FILE, tool.dir);
	tap_int(unlink(path), 0, "the table goes away");
	explain_rows(&tool, empty_rows, COUNT(empty_rows));
	tap_ok(access(path, F_OK) == -1, "an absent table is not made");
	free(path);
	tool_end(&tool);
}

/* What it says of the heartbeat, and of the doubt flag. */
static void
test_pulse(void)
{
	static const char words[] = "explain GET '/git/p/fresh" FETCH "'";
	struct world world;
	struct tool tool;
	struct pulse *pulse;
	char *path;

	world_open(&world, "pulse");
	fill(&world);
	tap_must(table_write(world.table, undrain_body, NULL));
	tool_begin(&tool, &world, "pulse", RULES, "");
	tool_run(&tool, words);
	tool_says(&tool, "no heartbeat of the daemon; decided as if",
	    "no pulse: it says so");
	tool_says(&tool, "\nreason      replica\n", "no pulse: decides");
	tap_must(pulse_open(tool.dir, true, &pulse));
	tool_run(&tool, words);
	tool_says(&tool, "has not run since boot", "no beat: it says so");
	tool_says(&tool, "\nreason      replica\n", "no beat: decides");
	pulse_beat(pulse);
	tool_run(&tool, words);
	tool_says(&tool, "\nnote        -\n", "a beat: nothing to add");
	tool_run(&tool, "explain GET /v2/");
	tool_says(&tool, "\nnote        -\n", "nor of a registry");
	tap_must(pulse_claim(pulse));
	(void)!pulse_doubt_raise(pulse, world.code);
	explain_rows(&tool, doubt_rows, COUNT(doubt_rows));
	tool_run(&tool, words);
	tool_says(&tool, "the route's doubt flag is up", "doubt: it says so");
	pulse_close(pulse);
	path = mem_fmt("%s/pulse", tool.dir);
	/* what root cannot open either */
	if (unlink(path) == -1 || symlink("pulse", path) == -1)
		tap_must(err_sys("%s", path));
	tool_run(&tool, words);
	tool_says(&tool, "Too many levels of symbolic links; decided as if",
	    "another error is told as what it is");
	free(path);
	tool_end(&tool);
	world_close(&world);
}

/* The same as text. */
static void
test_text(void)
{
	struct world world;
	struct tool tool;

	world_open(&world, "text");
	fill(&world);
	tap_must(table_write(world.table, undrain_body, NULL));
	world_mark(&world, world.code, world.two, "p/fresh");
	tool_begin(&tool, &world, "text", RULES, "");
	tool_run(&tool, "explain PUT /v2/team/a/manifests/v1");
	tap_str(tool.out.data,
	    "upstream    new\n"
	    "reason      included\n"
	    "route       images\n"
	    "repository  team/a\n"
	    "operation   manifest-put\n"
	    "rule        team\n"
	    "generation  -\n"
	    "candidates  new\n"
	    "note        -\n"
	    "The name migrates: its first write places it on the new side.\n",
	    "text, whole");
	tool_run(&tool, "explain GET /v2/team/legacy/kept/tags/list");
	tool_says(&tool, "\nnote        placed by admin, final\n",
	    "text: who placed it");
	tool_run(&tool, "explain POST /git/a%0ab/git-receive-pack");
	tool_says(&tool, "\nnote        no legal name, so no fence\n",
	    "text: a push without a fence");
	world.code->wait_ms = 1234;
	world.more->replica_share = 0;
	world.images->mode = MODE_OBSERVE;
	tool_end(&tool);
	tool_begin(&tool, &world, "text", RULES, "");
	tool_run(&tool, "explain GET '/git/p/lags" FETCH "'");
	tool_says(&tool, "; a request waits for a mark first, up to 1234 ms\n",
	    "text: that a request would wait");
	tool_run(&tool, "explain PUT /v2/team/a/manifests/v1");
	tool_says(&tool, "upstream    old\nreason      included\n",
	    "text: an observed route");
	tool_says(&tool,
	    "\nnote        the route is only observed: new would be "
	    "answered\n",
	    "text: who would be answered");
	tool_run(&tool, "explain GET '/more/p/r" FETCH "'");
	tool_says(&tool,
	    "; replica_share is 0, and nobody said by --client "
	    "who asks\n",
	    "text: that a client is needed");
	tool_run(&tool,
	    "explain --client 192.0.2.1:9 GET '/more/p/r" FETCH "'");
	tool_says(&tool, "reason      share\n", "text: one outside the share");
	tap_ok(strstr(tool.out.data, "who asks") == NULL,
	    "text: no client is needed");
	tool_run(&tool,
	    "explain --client '[2001:db8::1]:9' GET '/git/p/fresh" FETCH "'");
	tap_ok(strstr(tool.out.data, "candidates  one two main\n") != NULL ||
		strstr(tool.out.data, "candidates  two one main\n") != NULL,
	    "text: all candidates, the primary last");
	tool_end(&tool);
	world_close(&world);
}

static const struct {
	const char *words;
	int status;
	const char *says;
} mistakes[] = {
	{ "explain", 64, "a method and a URL" },
	{ "explain GET", 64, "a method and a URL" },
	{ "explain GET /v2/ more", 64, "a method and a URL" },
	{ "explain '' /v2/", 64, "a method is a word" },
	{ "explain 'G T' /v2/", 64, "a method is a word" },
	{ "explain GET v2/", 64, "begins with \"/\"" },
	{ "explain GET ''", 64, "begins with \"/\"" },
	{ "explain GET '/v2/ x'", 64, "without blanks" },
	{ "explain GET /v2/ --client 192.0.2.1", 64, "ADDR:PORT" },
	{ "explain GET /v2/ --client 192.0.2.1:65536", 64, "ADDR:PORT" },
	{ "explain GET /v2/ --client 192.0.2.1:", 64, "ADDR:PORT" },
	{ "explain GET /v2/ --client 2001:db8::1:9", 64, "ADDR:PORT" },
	{ "explain GET /v2/ --client host:9", 64, "ADDR:PORT" },
	{ "explain GET /v2/ -H nothing", 64, "'Name: value'" },
	{ "explain GET /v2/ -H 'a b: c'", 64, "'Name: value'" },
	{ "explain GET /v2/ --no-such-option", 64, "option" },
	{ "-c /nonexistent explain GET /v2/", 78, "/nonexistent" },
};

static void
test_mistakes(void)
{
	struct world world;
	struct tool tool;

	world_open(&world, "mistakes");
	tool_begin(&tool, &world, "mistakes", RULES, "");
	for (size_t i = 0; i < COUNT(mistakes); i++) {
		tool_run(&tool, mistakes[i].words);
		tap_int(tool.status, mistakes[i].status, "%s: exit status",
		    mistakes[i].words);
		if (!tap_ok(strstr(tool.errors.data, mistakes[i].says) != NULL,
			"%s: says why", mistakes[i].words))
			tap_note("%s", tool.errors.data);
		tap_str(tool.out.data, "", "%s: no answer", mistakes[i].words);
	}
	tool_end(&tool);
	world_close(&world);
}

int
main(void)
{
	test_rows();
	test_empty();
	test_pulse();
	test_text();
	test_mistakes();
	return tap_done();
}

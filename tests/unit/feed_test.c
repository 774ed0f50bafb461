/* feed_test.c: lines of all web servers, what they prove, and what they do */
/* SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>

#include "sync/feed.h"
#include "sync/fence.h"
#include "sync/place.h"
#include "sync/row.h"
#include "sync/token.h"
#include "tests/unit/tap.h"
#include "tests/unit/world.h"

#define T "00112233445566778899aabbccddeeff"
#define LONG_64                                                                \
	"a1234567890123456789012345678901"                                     \
	"23456789012345678901234567890123"

static struct world world;

static const struct {
	const char *text;
	const char *want; /* "STATUS UPSTREAM MARK", NULL: ERR_INPUT */
} lines[] = {
	/* as they arrive: nginx, logger(1), the pipe program */
	{ "<190>Nov 29 23:57:58 reproute: reproute-feed " T " 200 0052000 "
	  "main done=OK addr=127.0.0.1:25013",
	    "200 main OK" },
	{ "<13>Nov 29 23:57:58 front reproute: reproute-feed " T " 200 41222 "
	  "slave1 done=+ addr=http://10.0.0.1:80 route=lig",
	    "200 slave1 +" },
	{ "reproute-feed " T " 403 900 main done=X\n", "403 main X" },
	{ "reproute-feed " T " 403 900 main done=-\r\n", "403 main -" },
	/* nginx: empty mark of a broken request; several upstreams tried */
	{ "reproute-feed " T " 499 0000000 main done= addr=127.0.0.1:1, "
	  "127.0.0.1:2",
	    "499 main " },
	{ "reproute-feed " T " 499 0000000 main done=", "499 main " },
	{ "reproute-feed " T " 000 0000000 main done=OK", "0 main OK" },
	/* unset values: "-" and nothing at all */
	{ "reproute-feed " T " - - - done=-", "0  -" },
	{ "reproute-feed " T " 200 5  done=OK addr=x", "200  OK" },
	/* fields unknown to us; the first mark counts */
	{ "reproute-feed " T " 200 5 main x=y z done=+ done=X", "200 main +" },
	{ "reproute-feed " T " 200 5 main xdone=+", "200 main " },
	{ "reproute-feed " T " 200 5 main", "200 main " },
	/* a host, or a tag, of our word */
	{ "<13>Nov 29 23:57:58 reproute-feed reproute: reproute-feed " T
	  " 200 5 main done=OK",
	    "200 main OK" },
	{ "reproute-feed reproute-feed " T " 200 5 main done=OK",
	    "200 main OK" },
	/* a second line in one datagram is no field of the first */
	{ "reproute-feed " T " 200 5 main\nreproute-feed done=OK",
	    "200 main " },
	{ "", NULL },
	{ "reproute-feed", NULL },
	{ "reproute-feed ", NULL },
	{ "reproute-feed " T, NULL },
	{ "reproute-feed " T " 200", NULL },
	{ "reproute-feed " T " 200 5", NULL },
	{ "reproute-feed " T "\n200 5 main done=OK", NULL },
	{ "reproute-feed " T "0 200 5 main done=OK", NULL },
	{ "reproute-feed 00112233445566778899AABBCCDDEEFF 200 5 main done=OK",
	    NULL },
	{ "reproute-feed 00112233445566778899aabbccddeef 200 5 main done=OK",
	    NULL },
	{ "reproute-feed  " T " 200 5 main done=OK", NULL },
	{ "reproute-feed\t" T " 200 5 main done=OK", NULL },
	{ "reproute-feed " T " 20 5 main done=OK", NULL },
	{ "reproute-feed " T " 2000 5 main done=OK", NULL },
	{ "reproute-feed " T " +20 5 main done=OK", NULL },
	{ "reproute-feed " T " 200 -5 main done=OK", NULL },
	{ "reproute-feed " T " 200 5s main done=OK", NULL },
	{ "reproute-feed " T " 200  main done=OK", NULL },
	{ "reproute-feed " T " 200 123456789012345678901234 main done=OK",
	    NULL },
	{ "reproute-feed " T " 200 5 Main done=OK", NULL },
	{ "reproute-feed " T " 200 5 " LONG_64 " done=OK", NULL },
	{ "reproute-feed " T " 200 5 ma%in done=OK", NULL },
	{ "reproute-feed " T " 200 5 main done=ok", NULL },
	{ "reproute-feed " T " 200 5 main done=OKOKOKOK", NULL },
	{ "reproute-feeder " T " 200 5 main done=OK", NULL },
};

static void
test_parse(void)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct feed_line line = { .status = 1, .token = "untouched" };
		char got[128];
		enum err err = feed_parse(lines[i].text, &line);

		if (lines[i].want == NULL) {
			tap_int(err, ERR_INPUT, "line %zu is none", i);
			tap_str(line.token, "untouched",
			    "line %zu: nothing is written", i);
			continue;
		}
		tap_int(err, ERR_OK, "line %zu is one", i);
		snprintf(got, sizeof(got), "%u %s %s", line.status,
		    line.upstream, line.done);
		tap_str(got, lines[i].want, "line %zu: its fields", i);
		tap_str(line.token, T, "line %zu: its token", i);
	}
}

/* Lines with and without what came later, and what they tell of slave1. */
static const struct {
	const char *text;
	const char *want; /* "TOKEN|ADDR|SERVED" */
	enum feed_news news;
} tellings[] = {
	{ "- 200 5 slave1 done=OK addr=::1 served=slave1", "|::1|slave1",
	    FEED_WELL },
	{ "- 200 5 slave1 done=+", "||", FEED_WELL },
	{ "- 200 5 slave1", "||", FEED_WELL },
	{ "- 404 5 slave1 done=- addr=::1", "|::1|", FEED_WELL },
	{ "- 500 5 slave1 done=+ addr=::1", "|::1|", FEED_WELL },
	{ "- 499 5 slave1 done= addr=::1", "|::1|", FEED_WELL },
	{ "- 502 5 slave1 done=+ addr=::1", "|::1|", FEED_FAILED },
	{ "- 503 5 slave1 done=OK addr=::1 served=-", "|::1|", FEED_FAILED },
	{ "- 503 5 slave1 done=OK addr=::1 served=", "|::1|", FEED_FAILED },
	{ "- 200 5 slave1 done=OK served=main addr=h", "|h|main", FEED_FAILED },
	{ "- 504 5 slave1 done=OK addr=::1", "|::1|", FEED_LATE },
	{ "- 504 5 slave1 done=OK served=main", "||main", FEED_FAILED },
	{ "- 200 5 slave1 done=X addr=::1", "|::1|", FEED_CUT },
	{ "- 206 5 slave1 done=- addr=::1", "|::1|", FEED_CUT },
	/* no upstream was chosen; no name; the first one counts */
	{ "- 503 5 - done=+ addr=::1 served=main", "|::1|main", FEED_WELL },
	{ "- 200 5 slave1 done=+ served=Ma%in", "||", FEED_WELL },
	{ "- 200 5 slave1 served=slave1 served=main", "||slave1", FEED_WELL },
	{ "- 200 5 slave1 xserved=main", "||", FEED_WELL },
	{ "- 200 5 slave1 addr=" LONG_64 LONG_64,
	    "|a1234567890123456789012345678901"
	    "2345678901234567890123456789012|",
	    FEED_WELL },
	/* a write is no read */
	{ "- 503 5 slave1 done=OK unfenced=git", "||", FEED_WELL },
	{ "- 503 5 slave1 done=OK unfenced=-", "||", FEED_FAILED },
	{ T " 503 5 slave1 done=+ served=main", T "||main", FEED_WELL },
	{ T " 200 5 slave1 done=X", T "||", FEED_WELL },
};

static void
test_tells(void)
{
	for (size_t i = 0; i < sizeof(tellings) / sizeof(tellings[0]); i++) {
		struct feed_line line;
		char text[256], got[256];

		snprintf(text, sizeof(text), "reproute-feed %s",
		    tellings[i].text);
		tap_int(feed_parse(text, &line), ERR_OK, "%s: a line",
		    tellings[i].text);
		snprintf(got, sizeof(got), "%s|%s|%s", line.token, line.addr,
		    line.served);
		tap_str(got, tellings[i].want, "%s: its fields",
		    tellings[i].text);
		tap_int(feed_tells(&line), tellings[i].news, "%s: tells",
		    tellings[i].text);
	}
}

/* By status: which of "OK", "+", "-", "X" and "" settle. */
static const struct {
	unsigned status;
	const char *settles;
} verdicts[] = {
	{ 200, "OK +" },
	{ 201, "OK +" },
	{ 202, "OK +" },
	{ 204, "OK +" },
	{ 299, "OK +" },
	{ 401, "OK + -" },
	{ 403, "OK + -" },
	{ 404, "OK + -" },
	{ 413, "OK + -" },
	{ 429, "OK + -" },
	{ 0, "" },
	{ 100, "" },
	{ 199, "" },
	{ 300, "" },
	{ 301, "" },
	{ 304, "" },
	{ 400, "" },
	{ 402, "" },
	{ 405, "" },
	{ 408, "" },
	{ 409, "" },
	{ 411, "" },
	{ 499, "" },
	{ 500, "" },
	{ 502, "" },
	{ 503, "" },
	{ 504, "" },
	{ 999, "" },
};

static void
test_judge(void)
{
	static const char *const marks[] = { "OK", "+", "-", "X", "" };

	for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
		struct feed_line line = { .status = verdicts[i].status };
		char got[32] = "";

		for (size_t j = 0; j < sizeof(marks) / sizeof(marks[0]); j++) {
			strcpy(line.done, marks[j]);
			if (feed_judge(&line) != FEED_SETTLED)
				continue;
			if (got[0] != '\0')
				strcat(got, " ");
			/* an empty mark that settled must show */
			strcat(got, marks[j][0] ? marks[j] : "(none)");
		}
		tap_str(got, verdicts[i].settles, "status %u is settled by",
		    verdicts[i].status);
	}
}

#define PUSH "11111111111111111111111111111111"
#define OTHER "22222222222222222222222222222222"
#define GONE "33333333333333333333333333333333"
#define WRONG "44444444444444444444444444444444"
#define PLACE "55555555555555555555555555555555"
#define MANIFEST "66666666666666666666666666666666"
#define CROSSED "77777777777777777777777777777777"

static enum err
prepare(struct table_txn *txn, void *arg)
{
	struct placement placement;
	enum err err;

	(void)arg;
	err = row_learn(txn, world.code, "repo", NULL);
	if (err == ERR_OK)
		err = fence_begin(txn, world.code, "repo", PUSH, 1);
	if (err == ERR_OK)
		err = fence_begin(txn, world.code, "repo", OTHER, 1);
	if (err == ERR_OK)
		err = token_put(txn, GONE, TOKEN_PUSH, "removed", "repo");
	if (err == ERR_OK)
		err = token_put(txn, WRONG, TOKEN_PUSH, "images", "repo");
	if (err == ERR_OK)
		err = token_put(txn, CROSSED, TOKEN_PLACE, "code", "repo");
	if (err == ERR_OK)
		err = place_write(txn, world.images, "app", "new", "included",
		    PLACE, false, &placement);
	if (err == ERR_OK)
		err = place_write(txn, world.images, "web", "new", "included",
		    MANIFEST, true, &placement);
	return err;
}

static const struct {
	const char *claim;
	const char *line;
	enum err want;
	const char *about; /* "ROUTE NAME" */
	const char *state; /* "eEPOCH gGENERATION TOKEN-AND-STATE... */
} applied[] = {
	{ "none", "- 503 1 main done=OK", ERR_ABSENT, "", "g3 1U2U" },
	{ "unfenced, of no route", "- 200 1 main done=OK unfenced=removed",
	    ERR_ABSENT, "", "g3 1U2U" },
	{ "unfenced, of another kind", "- 200 1 main done=OK unfenced=images",
	    ERR_ABSENT, "", "g3 1U2U" },
	{ "unfenced, and refused", "- 401 1 main done=OK unfenced=code",
	    ERR_ABSENT, "", "g3 1U2U" },
	{ "unknown token", T " 200 1 main done=OK", ERR_ABSENT, "", "g3 1U2U" },
	{ "a route that is gone", GONE " 200 1 main done=OK", ERR_ABSENT, "",
	    "g3 1U2U" },
	{ "a route of another kind", WRONG " 200 1 main done=OK", ERR_ABSENT,
	    "", "g3 1U2U" },
	{ "the other way round", CROSSED " 200 1 main done=OK", ERR_ABSENT, "",
	    "g3 1U2U" },
	{ "unsettled", PUSH " 200 1 main done=X", ERR_OK, "code repo",
	    "g4 1B2U" },
	{ "settled", PUSH " 200 1 main done=OK", ERR_OK, "code repo", "g5 2U" },
	{ "late, of a fence that is over", PUSH " 200 1 main done=OK", ERR_OK,
	    "code repo", "g6 2U" },
	{ "late and unsettled", PUSH " 500 1 main done=", ERR_OK, "code repo",
	    "g7 2U" },
	{ "refused", OTHER " 401 1 main done=-", ERR_OK, "code repo", "g8 " },
	{ "unfenced, however it ended", "- 200 1 main done=X unfenced=code",
	    ERR_OK, "code ", "e1 g8 " },
	{ "unfenced, refused or broken off",
	    "- 403 1 main done=X unfenced=code", ERR_OK, "code ", "e2 g8 " },
	{ "a placement's 404", PLACE " 404 1 new done=OK", ERR_OK, "images app",
	    "e2 g8 " },
	{ "a manifest's 201", MANIFEST " 201 1 new done=OK", ERR_OK,
	    "images web", "e2 g8 " },
};

static enum err
see(struct table_txn *txn, void *arg)
{
	static const char states[] = "UBW";
	struct epochs epochs = { 0 };
	struct fences fences;
	struct row row;
	char *out = arg;
	enum err err;

	err = epochs_get(txn, world.code, NULL, &epochs);
	if (err == ERR_OK)
		err = row_get(txn, world.code, "repo", &row);
	if (err == ERR_OK)
		err = fences_get(txn, world.code, "repo", &fences);
	if (err != ERR_OK)
		return err;
	if (epochs.route > 0)
		out += sprintf(out, "e%d ", (int)epochs.route);
	out += sprintf(out, "g%d ", (int)row.generation);
	for (unsigned i = 0; i < fences.n; i++)
		out += sprintf(out, "%c%c", fences.fence[i].token[0],
		    states[fences.fence[i].state]);
	return ERR_OK;
}

static void
test_apply(void)
{
	tap_int(table_write(world.table, prepare, NULL), ERR_OK,
	    "two pushes and two placements are under way");
	for (size_t i = 0; i < sizeof(applied) / sizeof(applied[0]); i++) {
		char text[256], state[256] = "", about[NAME_SIZE + 80] = "";
		const struct route *route = NULL;
		struct feed_line line;
		char name[NAME_SIZE] = "";

		snprintf(text, sizeof(text), "reproute-feed %s",
		    applied[i].line);
		tap_int(feed_parse(text, &line), ERR_OK, "%s: is a line",
		    applied[i].claim);
		tap_int(feed_apply(world.table, &world.conf, &line, &route,
			    name),
		    applied[i].want, "%s: returns", applied[i].claim);
		if (route != NULL)
			snprintf(about, sizeof(about), "%s %s", route->name,
			    name);
		tap_str(about, applied[i].about, "%s: is about",
		    applied[i].claim);
		tap_int(table_read(world.table, see, state), ERR_OK,
		    "%s: is seen", applied[i].claim);
		tap_str(state, applied[i].state, "%s: state", applied[i].claim);
	}
}

static enum err
see_places(struct table_txn *txn, void *arg)
{
	struct placement placement;
	enum err *seen = arg;

	seen[0] = place_get(txn, world.images, "app", &placement);
	seen[1] = place_get(txn, world.images, "web", &placement);
	tap_int(placement.state, PLACE_FINAL, "the manifest made it final");
	return ERR_OK;
}

int
main(void)
{
	enum err seen[2] = { ERR_OK, ERR_OK };

	test_parse();
	test_tells();
	test_judge();
	world_open(&world, "feed");
	test_apply();
	tap_int(table_read(world.table, see_places, seen), ERR_OK,
	    "placements are seen");
	tap_int(seen[0], ERR_ABSENT, "the refused write left no placement");
	tap_int(seen[1], ERR_OK, "the manifest did");
	world_close(&world);
	return tap_done();
}

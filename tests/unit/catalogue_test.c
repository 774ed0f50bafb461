/* catalogue_test.c: catalogues of several pages, broken ones, and expiry */
/* SPDX-License-Identifier: ISC */
#include "sync/catalogue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/unit/server.h"
#include "tests/unit/tap.h"
#include "tests/unit/world.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define TOKEN "00112233445566778899aabbccddeeff"

/* One answer: to "/v2/_catalog?" and exactly this query. */
struct page {
	const char *query;
	unsigned status; /* 0: 200 */
	const char *body;
	const char *link;
};

static const struct story {
	const char *what;
	struct page pages[5];
	const char *says;   /* NULL: complete; else part of the sentence */
	const char *placed; /* "NAME=UPSTREAM " of each, in their order */
	unsigned names, conflicts;
} stories[] = {
	{ "one page",
	    { { "n=1000", 0, "{\"repositories\":[\"a\",\"b/c\"]}", NULL } },
	    NULL, "a=old b/c=old ", 2, 0 },
	{ "nothing", { { "n=1000", 0, "{\"repositories\":[]}", NULL } }, NULL,
	    "", 0, 0 },
	{ "three pages, Links relative and absolute",
	    { { "n=1000", 0, "{\"repositories\":[\"a\"]}",
		  "</v2/_catalog?last=a&n=1000>; rel=\"next\"" },
		{ "n=1000&last=a", 0, "{\"repositories\":[\"b/c\"]}",
		    "<https://elsewhere.example/v2/_catalog?n=1000&last=b%2Fc>; "
		    "rel=next" },
		{ "n=1000&last=b%2Fc", 0, "{\"repositories\":[\"d\"]}",
		    NULL } },
	    NULL, "a=old b/c=old d=old ", 3, 0 },
	{ "a registry whose pages are smaller",
	    { { "n=1000", 0, "{\"repositories\":[\"a\"]}",
		  "</v2/_catalog?last=a&n=1>; rel=\"next\"" },
		{ "n=1&last=a", 0, "{\"repositories\":[\"b\"]}", NULL } },
	    NULL, "a=old b=old ", 2, 0 },
	{ "a registry that refuses 1,000",
	    { { "n=1000", 400, "{\"errors\":[]}", NULL },
		{ "n=100", 0, "{\"repositories\":[\"a\"]}",
		    "</v2/_catalog?last=a&n=100>; rel=\"next\"" },
		{ "n=100&last=a", 0, "{\"repositories\":[\"b\"]}", NULL } },
	    NULL, "a=old b=old ", 2, 0 },
	{ "an empty page, and a Link to something else",
	    { { "n=1000", 0, "{\"repositories\":null}",
		  "</first>; rel=\"first\", </v2/_catalog?last=q>; rel=\"next\"" },
		{ "n=1000&last=q", 0, "{\"repositories\":[\"r\"]}",
		    "</v2/_catalog?last=a>; rel=\"prev\"" } },
	    NULL, "r=old ", 1, 0 },
	{ "names outside the grammar count, and are not placed",
	    { { "n=1000", 0,
		"{\"repositories\":[\"A\",\"a\",\"../x\",\"a//b\",\"\"]}",
		NULL } },
	    NULL, "a=old ", 5, 0 },
	{ "a name that is placed elsewhere",
	    { { "n=1000", 0, "{\"repositories\":[\"a\",\"on-new\"]}", NULL } },
	    NULL, "a=old on-new=new ", 2, 1 },

	{ "the same page again",
	    { { "n=1000", 0, "{\"repositories\":[\"a\"]}",
		  "</v2/_catalog?last=a>; rel=\"next\"" },
		{ "n=1000&last=a", 0, "{\"repositories\":[\"b\"]}",
		    "</v2/_catalog?last=a>; rel=\"next\"" } },
	    "comes back", "a=old b=old ", 0, 0 },
	{ "two pages in turn",
	    { { "n=1000", 0, "{\"repositories\":[\"a\"]}",
		  "</v2/_catalog?last=a>; rel=\"next\"" },
		{ "n=1000&last=a", 0, "{\"repositories\":[\"b\"]}",
		    "</v2/_catalog?last=b>; rel=\"next\"" },
		{ "n=1000&last=b", 0, "{\"repositories\":[\"c\"]}",
		    "</v2/_catalog?last=a>; rel=\"next\"" } },
	    "comes back", "a=old b=old c=old ", 0, 0 },
	{ "two pages in turn behind others",
	    { { "n=1000", 0, "{\"repositories\":[\"a\"]}",
		  "</v2/_catalog?last=a>; rel=\"next\"" },
		{ "n=1000&last=a", 0, "{\"repositories\":[\"b\"]}",
		    "</v2/_catalog?last=b>; rel=\"next\"" },
		{ "n=1000&last=b", 0, "{\"repositories\":[\"c\"]}",
		    "</v2/_catalog?last=c>; rel=\"next\"" },
		{ "n=1000&last=c", 0, "{\"repositories\":[\"d\"]}",
		    "</v2/_catalog?last=b>; rel=\"next\"" } },
	    "comes back", "a=old b=old c=old d=old ", 0, 0 },
	{ "a Link without a query",
	    { { "n=1000", 0, "{\"repositories\":[\"a\"]}",
		"</v2/_catalog>; rel=\"next\"" } },
	    "without a query", "", 0, 0 },
	{ "a Link without last",
	    { { "n=1000", 0, "{\"repositories\":[\"a\"]}",
		"</v2/_catalog?n=5>; rel=\"next\"" } },
	    "without a \"last\"", "", 0, 0 },
	{ "a Link with last twice",
	    { { "n=1000", 0, "{\"repositories\":[\"a\"]}",
		"</v2/_catalog?last=a&last=b>; rel=\"next\"" } },
	    "twice", "", 0, 0 },
	{ "who must sign in", { { "n=1000", 401, "{}", NULL } }, "auth_file",
	    "", 0, 0 },
	{ "no catalogue", { { "n=1000", 404, "{}", NULL } }, "enable it", "", 0,
	    0 },
	{ "an error", { { "n=1000", 502, "<html>", NULL } }, "HTTP 502", "", 0,
	    0 },
	{ "HTML", { { "n=1000", 0, "<html>", NULL } }, "not one JSON object",
	    "", 0, 0 },
	{ "the second page fails, and the first stays",
	    { { "n=1000", 0, "{\"repositories\":[\"a\"]}",
		  "</v2/_catalog?last=a>; rel=\"next\"" },
		{ "n=1000&last=a", 503, "{}", NULL } },
	    "HTTP 503", "a=old ", 0, 0 },
};

static const struct page *pages;
static unsigned tags_status;
static const char *tags_type;
static struct world *present;
static bool push_while_asked;

/* A write passes while the side is asked. */
static enum err
write_now(struct table_txn *txn, void *arg)
{
	struct placement place;

	(void)arg;
	return place_write(txn, present->images, "p", "old", "included",
	    "ffffffffffffffffffffffffffffffff", false, &place);
}

static void
answer(void *arg, const struct server_request *request,
    struct server_reply *reply)
{
	static const char catalogue[] = "/v2/_catalog?";
	const char *query = request->target + sizeof(catalogue) - 1;

	(void)arg;
	reply->status = 418;
	if (strcmp(request->target, "/v2/p/tags/list?n=1") == 0) {
		reply->status = tags_status;
		buf_fmt(&reply->headers, "Content-Type: %s\r\n", tags_type);
		if (push_while_asked &&
		    table_write(present->table, write_now, NULL) != ERR_OK)
			reply->status = 418;
		return;
	}
	if (strncmp(request->target, catalogue, sizeof(catalogue) - 1) != 0)
		return;
	for (const struct page *page = pages; page->query != NULL; page++) {
		if (strcmp(page->query, query) != 0)
			continue;
		reply->status = page->status;
		buf_puts(&reply->body, page->body);
		if (page->link != NULL)
			buf_fmt(&reply->headers, "Link: %s\r\n", page->link);
		return;
	}
}

static enum err
put_on_new(struct table_txn *txn, void *arg)
{
	struct world *world = arg;

	return place_set(txn, world->images, "on-new", "new");
}

static enum err
list_placed(struct table_txn *txn, void *arg)
{
	struct buf *out = arg;
	char name[NAME_SIZE] = "", next[NAME_SIZE];
	struct placement place;
	enum err err;

	buf_reset(out);
	while ((err = place_next(txn, present->images, name, next, &place)) ==
	    ERR_OK) {
		buf_fmt(out, "%s=%s%s ", next, place.upstream,
		    place.state == PLACE_FINAL ? "" : "?");
		strcpy(name, next);
	}
	return err == ERR_ABSENT ? ERR_OK : err;
}

static void
check_placed(const char *want, const char *what)
{
	struct buf placed = { 0 };

	buf_puts(&placed, "");
	tap_ok(table_read(present->table, list_placed, &placed) == ERR_OK,
	    "placements are listed");
	tap_str(placed.data, want, "%s", what);
	buf_free(&placed);
}

static void
tell(const struct story *story, struct http *http, const char *url,
    unsigned number)
{
	struct world world;
	struct import import = { .names = 99 };
	char directory[32];
	enum err err;

	snprintf(directory, sizeof(directory), "story%u", number);
	world_open(&world, directory);
	present = &world;
	world.upstreams[4].url = (char *)url;
	pages = story->pages;
	if (story->conflicts > 0 &&
	    table_write(world.table, put_on_new, &world) != ERR_OK)
		tap_note("%s", err_text());
	err = catalogue_import(world.table, http, &world.conf, world.images,
	    world.images->primary, NULL, &import);
	if (story->says == NULL) {
		tap_int(err, ERR_OK, "%s", story->what);
		tap_int((long long)import.names, story->names, "its names");
		tap_int((long long)import.conflicts, story->conflicts,
		    "its conflicts");
		tap_ok(import.completed_s > 0 && import.started_s == 0 &&
			import.last[0] == '\0',
		    "it is complete");
	} else {
		tap_ok(err == ERR_PEER &&
			strstr(err_text(), story->says) != NULL,
		    "%s: %s", story->what, err_text());
		tap_int((long long)import.names, 99, "out is untouched");
	}
	check_placed(story->placed, "what is placed");
	world_close(&world);
}

static unsigned stops;

static bool
stop_at_third(void)
{
	return ++stops > 2;
}

static enum err
forget(struct table_txn *txn, void *arg)
{
	const struct import never = { .completed_s = 0 };
	const struct world *world = arg;

	return import_set(txn, world->images, world->images->primary, &never);
}

/* Behind the first page, what was imported counts no more. */
static bool
forget_at_second(void)
{
	if (++stops == 2)
		tap_must(table_write(present->table, forget, present));
	return false;
}

/* Its pages are from before: it must not be complete by the rest of them. */
static void
forgotten(struct http *http, const char *url)
{
	static const struct page both[] = {
		{ "n=1000", 0, "{\"repositories\":[\"a\"]}",
		    "</v2/_catalog?last=a>; rel=\"next\"" },
		{ "n=1000&last=a", 0, "{\"repositories\":[\"b\"]}", NULL },
		{ NULL, 0, NULL, NULL },
	};
	struct world world;
	struct import import = { .names = 0 };

	world_open(&world, "forgotten");
	present = &world;
	world.upstreams[4].url = (char *)url;
	pages = both;
	stops = 0;
	tap_int(catalogue_import(world.table, http, &world.conf, world.images,
		    world.images->primary, forget_at_second, &import),
	    ERR_BUSY, "an import that was forgotten does not go on");
	tap_int(catalogue_import(world.table, http, &world.conf, world.images,
		    world.images->primary, NULL, &import),
	    ERR_OK, "it begins anew");
	tap_int((long long)import.names, 2, "with all names");
	world_close(&world);
}

/* Ended and failed imports go on where they were, and count on. */
static void
resumes(struct http *http, const char *url)
{
	static const struct page first[] = {
		{ "n=1000", 0, "{\"repositories\":[\"a\"]}",
		    "</v2/_catalog?last=a>; rel=\"next\"" },
		{ "n=1000&last=a", 0, "{\"repositories\":[\"b\"]}",
		    "</v2/_catalog?last=b>; rel=\"next\"" },
		{ NULL, 0, NULL, NULL },
	};
	static const struct page rest[] = {
		{ "n=1000&last=b", 0, "{\"repositories\":[\"c\"]}", NULL },
		{ NULL, 0, NULL, NULL },
	};
	struct world world;
	struct import import = { .names = 0 };

	world_open(&world, "resumes");
	present = &world;
	world.upstreams[4].url = (char *)url;
	pages = first;
	tap_int(catalogue_import(world.table, http, &world.conf, world.images,
		    world.images->primary, stop_at_third, &import),
	    ERR_OK, "stopped behind two pages");
	tap_ok(import.started_s > 0 && import.completed_s == 0,
	    "it is not complete");
	tap_str(import.last, "b", "it stands behind b");
	tap_int(catalogue_import(world.table, http, &world.conf, world.images,
		    world.images->primary, NULL, &import),
	    ERR_PEER, "the third page fails");
	pages = rest;
	tap_int(catalogue_import(world.table, http, &world.conf, world.images,
		    world.images->primary, NULL, &import),
	    ERR_OK, "and then comes");
	tap_int((long long)import.names, 3, "all names are counted");
	check_placed("a=old b=old c=old ", "all names are placed");
	pages = (const struct page[]){ { "n=1000", 0,
					   "{\"repositories\":[\"z\"]}", NULL },
		{ NULL, 0, NULL, NULL } };
	tap_int(catalogue_import(world.table, http, &world.conf, world.images,
		    world.images->primary, NULL, &import),
	    ERR_OK, "the next import begins anew");
	tap_int((long long)import.names, 1, "and counts anew");
	world_close(&world);
}

static enum err
write_once(struct table_txn *txn, void *arg)
{
	struct world *world = arg;
	struct placement place;

	return place_write(txn, world->images, "p", "old", "included", TOKEN,
	    false, &place);
}

static enum err
find_expired(struct table_txn *txn, void *arg)
{
	char route[WORD_SIZE], name[NAME_SIZE];

	return place_expired(txn, *(int64_t *)arg, route, name);
}

static const struct {
	const char *what;
	unsigned status;
	const char *type;
	bool push;
	enum err err;
	const char *placed;
	bool expired; /* is it still to be settled now? */
} settlings[] = {
	{ "tags: final", 200, "application/json", false, ERR_OK, "p=old ",
	    false },
	{ "404 of a registry: dropped", 404, "application/json; charset=utf-8",
	    false, ERR_OK, "", false },
	{ "404 of something else: put off", 404, "text/html", false, ERR_PEER,
	    "p=old? ", false },
	{ "200 of something else: put off", 200, "text/html", false, ERR_PEER,
	    "p=old? ", false },
	{ "503: put off", 503, "application/json", false, ERR_PEER, "p=old? ",
	    false },
	{ "404, but a write came meanwhile: stays", 404, "application/json",
	    true, ERR_OK, "p=old? ", true },
};

static void
settles(struct http *http, const char *url)
{
	for (size_t i = 0; i < COUNT(settlings); i++) {
		struct world world;
		char directory[32];
		int64_t soon_s;
		enum err err;

		snprintf(directory, sizeof(directory), "settles%zu", i);
		world_open(&world, directory);
		present = &world;
		world.upstreams[4].url = (char *)url;
		world.images->provisional_s = -10;
		tags_status = settlings[i].status;
		tags_type = settlings[i].type;
		push_while_asked = settlings[i].push;
		tap_int(table_write(world.table, write_once, &world), ERR_OK,
		    "a placement expired");
		err = catalogue_settle(world.table, http, &world.conf,
		    world.images, "p");
		tap_int(err, settlings[i].err, "%s", settlings[i].what);
		check_placed(settlings[i].placed, "what is placed");
		soon_s = 5 + (int64_t)time(NULL);
		tap_int(table_read(world.table, find_expired, &soon_s),
		    settlings[i].expired ? ERR_OK : ERR_ABSENT,
		    "what is to be settled now");
		tap_int(catalogue_settle(world.table, http, &world.conf,
			    world.images, "unknown"),
		    ERR_OK, "a row that is none");
		world_close(&world);
	}
}

int
main(void)
{
	struct server *server = server_start(answer, NULL);
	struct http *http = http_new();

	for (size_t i = 0; i < COUNT(stories); i++)
		tell(&stories[i], http, server_url(server), (unsigned)i);
	resumes(http, server_url(server));
	forgotten(http, server_url(server));
	settles(http, server_url(server));
	http_free(http);
	server_stop(server);
	return tap_done();
}

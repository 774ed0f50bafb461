/* catalogue.c: imports a registry's catalogue, page by page */
/* SPDX-License-Identifier: ISC */
#include "sync/catalogue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "conf/clock.h"
#include "conf/mem.h"
#include "conf/name.h"
#include "sync/form.h"
#include "sync/probe.h"
#include "sync/wire.h"

/* Names asked for in one page; docker-registry's own bound is the same. */
#define PAGE_NAMES 1000
/* A registry with a lower bound answers 400 to that. */
#define SMALL_PAGE_NAMES 100
/* A page may hold so many names, whatever was asked for. */
#define MAX_PAGE_NAMES 100000
/* Names placed in one transaction, so that nobody waits long for the table. */
#define BATCH 500
/* How long a placement is put off whose side cannot be asked, in seconds. */
#define POSTPONE_S 3600
/* An answer that trickles in is ended after so many stall limits. */
#define STALLS_IN_ALL 10

struct job {
	struct table *table;
	struct http *http;
	const struct conf *conf;
	const struct route *route;
	const struct upstream *side;
	unsigned page_names;
	struct import import; /* what stands in the table, or stood there */
	struct import made;   /* of it, by the batch under way */
	/* the page under way: legal names, and how many there were in all */
	char **names;
	size_t n_names, found;
	size_t from, to;      /* of names: the batch under way */
	char next[NAME_SIZE]; /* cursor of the page behind it, or "" */
};

static void
drop_page(struct job *job)
{
	for (size_t i = 0; i < job->n_names; i++)
		free(job->names[i]);
	free(job->names);
	job->names = NULL;
	job->n_names = 0;
}

static enum err
take_name(void *arg, const char *name)
{
	struct job *job = arg;

	if (!name_registry(name))
		return ERR_OK;
	if (job->n_names == MAX_PAGE_NAMES)
		return err_set(ERR_PEER, "a page of more than %d names",
		    MAX_PAGE_NAMES);
	job->names = mem_more(job->names, job->n_names, sizeof(*job->names));
	job->names[job->n_names++] = mem_dup(name);
	return ERR_OK;
}

/*
 * The target of the link whose relation is "next" (RFC 8288, 3), which may
 * be relative or absolute; *len 0 where there is none.
 */
static const char *
next_link(const char *link, size_t *len)
{
	for (const char *at = link; (at = strchr(at, '<')) != NULL;) {
		const char *end = strchr(++at, '>');
		const char *tail, *rel;
		size_t tail_len;

		if (end == NULL)
			break;
		tail = end + 1;
		tail_len = strcspn(tail, "<");
		rel = strcasestr(tail, "rel=");
		if (rel != NULL && rel < tail + tail_len) {
			rel += 4 + (rel[4] == '"');
			if (strncasecmp(rel, "next", 4) == 0) {
				*len = (size_t)(end - at);
				return at;
			}
		}
		at = tail;
	}
	*len = 0;
	return NULL;
}

/*
 * Of the next page's URL only the query's "last" and "n" are used: whatever
 * host it names, we stay where we are.
 */
static enum err
read_link(struct job *job, const char *link)
{
	static const char *const keys[] = { "last", "n" };
	size_t len;
	const char *url = next_link(link, &len);
	const char *query = len > 0 ? memchr(url, '?', len) : NULL;
	char *values[2] = { NULL, NULL };
	enum err err;

	job->next[0] = '\0';
	if (len == 0)
		return ERR_OK;
	if (query == NULL)
		return err_set(ERR_PEER,
		    "a Link to a next page without "
		    "a query");
	err = form_get(query + 1, len - (size_t)(query + 1 - url), keys, 2,
	    values);
	if (err != ERR_OK)
		return err_prefix(ERR_PEER, "a Link to a next page");
	if (values[0] == NULL || values[0][0] == '\0' ||
	    strlen(values[0]) >= sizeof(job->next))
		err = err_set(ERR_PEER,
		    "a Link to a next page without a "
		    "\"last\" of 1 to %d bytes",
		    MAX_NAME);
	else
		strcpy(job->next, values[0]);
	if (err == ERR_OK && values[1] != NULL) {
		unsigned long n = strtoul(values[1], NULL, 10);

		if (n > 0 && n < job->page_names)
			job->page_names = (unsigned)n;
	}
	free(values[0]);
	free(values[1]);
	return err;
}

static enum err
refused(const struct upstream *side, const char *url, unsigned status)
{
	if (status == 401 || status == 403)
		return err_set(ERR_PEER,
		    "%s: HTTP %u: give upstream %s an "
		    "auth_file whose user may list the catalogue",
		    url, status, side->name);
	if (status == 404)
		return err_set(ERR_PEER,
		    "%s: HTTP 404: the registry shows no "
		    "catalogue; enable it there: without it no new name "
		    "migrates",
		    url);
	return err_set(ERR_PEER, "%s: HTTP %u", url, status);
}

static enum err
get(struct job *job, const char *url, struct http_reply *reply)
{
	const char *const headers[] = { "Accept: application/json", NULL };
	const struct http_request request = { .method = "GET",
		.url = url,
		.headers = headers,
		.auth_file = job->side->auth_file,
		.ca_file = job->side->ca_file,
		.stall_ms = job->conf->sync.stall_ms,
		.total_ms = job->conf->sync.stall_ms * STALLS_IN_ALL,
		.max_body = MAX_CATALOGUE_BODY };

	return http_run(job->http, &request, reply);
}

static char *
page_url(const struct job *job)
{
	struct buf url = { 0 };

	buf_fmt(&url, "%s/v2/_catalog?n=%u", job->side->url, job->page_names);
	if (job->import.last[0] != '\0') {
		buf_puts(&url, "&last=");
		http_escape(&url, job->import.last, false);
	}
	return url.data;
}

static enum err
parse_page(struct job *job, const struct http_reply *reply)
{
	enum err err = wire_get_catalogue(reply->body.data, reply->body.len,
	    take_name, job, &job->found);

	if (err == ERR_OK)
		err = read_link(job, reply->link);
	return err;
}

/* The page behind import.last, into names and next. */
static enum err
read_page(struct job *job)
{
	struct http_reply reply = { 0 };
	char *url = page_url(job);
	enum err err = get(job, url, &reply);

	if (err == ERR_OK && reply.status == 400 &&
	    job->page_names > SMALL_PAGE_NAMES) {
		buf_free(&reply.body);
		free(url);
		job->page_names = SMALL_PAGE_NAMES;
		url = page_url(job);
		err = get(job, url, &reply);
	}
	if (err != ERR_OK)
		goto out;
	if (reply.status != 200)
		err = refused(job->side, url, reply.status);
	else if (parse_page(job, &reply) != ERR_OK)
		err = err_prefix(ERR_PEER, "%s", url);
out:
	buf_free(&reply.body);
	free(url);
	return err;
}

/* Runs again where the map was grown. */
static enum err
place_batch(struct table_txn *txn, void *arg)
{
	struct job *job = arg;
	struct import import = job->import, stored;
	enum err err = import_get(txn, job->route, job->side, &stored);

	if (err == ERR_OK && stored.started_s != import.started_s)
		err = err_set(ERR_BUSY, "%s: the import begins anew",
		    job->side->name);
	for (size_t i = job->from; i < job->to && err == ERR_OK; i++) {
		bool conflict = false;

		err = place_import(txn, job->route, job->names[i],
		    job->side->name, &conflict);
		import.conflicts += conflict;
	}
	if (job->to == job->n_names) {
		import.names += job->found;
		strcpy(import.last, job->next);
	}
	if (job->to == job->n_names && job->next[0] == '\0') {
		import.started_s = 0;
		import.completed_s = clock_real_s();
	}
	job->made = import;
	return err == ERR_OK ? import_set(txn, job->route, job->side, &import)
			     : err;
}

/*
 * What a batch made is not read again: what was forgotten meanwhile would
 * be taken for what it made.  The cursor moves with a page's last batch.
 */
static enum err
take_page(struct job *job)
{
	enum err err = read_page(job);

	job->to = 0;
	do {
		job->from = job->to;
		job->to += BATCH;
		if (job->to > job->n_names)
			job->to = job->n_names;
		if (err == ERR_OK)
			err = table_write(job->table, place_batch, job);
		if (err == ERR_OK)
			job->import = job->made;
	} while (err == ERR_OK && job->to < job->n_names);
	drop_page(job);
	return err;
}

/*
 * Cursors that come again would never end.  The one at each power of two is
 * kept, and any cycle comes by it (R. Brent, 1980).
 */
static enum err
take_pages(struct job *job, bool (*stop)(void))
{
	char kept[NAME_SIZE];
	unsigned long pages = 0, power = 1;
	enum err err;

	strcpy(kept, job->import.last);
	while (job->import.started_s != 0 && (stop == NULL || !stop())) {
		if ((err = take_page(job)) != ERR_OK)
			return err;
		if (job->import.started_s != 0 &&
		    strcmp(job->import.last, kept) == 0)
			return err_set(ERR_PEER,
			    "%s: its catalogue comes "
			    "back to where it was; its Link headers are wrong",
			    job->side->url);
		if (++pages == power) {
			strcpy(kept, job->import.last);
			power *= 2;
		}
	}
	return ERR_OK;
}

/* Noted before anything is asked: imports may be forgotten meanwhile. */
static enum err
begin_import(struct table_txn *txn, void *arg)
{
	struct job *job = arg;
	enum err err = import_get(txn, job->route, job->side, &job->import);

	if (err != ERR_OK || job->import.started_s != 0)
		return err;
	job->import.started_s = clock_real_s();
	job->import.names = job->import.conflicts = 0;
	job->import.last[0] = '\0';
	return import_set(txn, job->route, job->side, &job->import);
}

enum err
catalogue_import(struct table *table, struct http *http,
    const struct conf *conf, const struct route *route,
    const struct upstream *side, bool (*stop)(void), struct import *out)
{
	struct job job = { .table = table,
		.http = http,
		.conf = conf,
		.route = route,
		.side = side,
		.page_names = PAGE_NAMES };
	enum err err = table_write(table, begin_import, &job);

	if (err == ERR_OK)
		err = take_pages(&job, stop);
	if (err == ERR_OK)
		*out = job.import;
	return err;
}

/* An expired placement, and what its side said. */
struct settling {
	const struct route *route;
	const char *name;
	struct placement before;
	unsigned status; /* 0: no answer */
};

static enum err
read_placement(struct table_txn *txn, void *arg)
{
	struct settling *settling = arg;

	return place_get(txn, settling->route, settling->name,
	    &settling->before);
}

static bool
is_unchanged(const struct placement *before, const struct placement *now)
{
	return now->state == PLACE_PROVISIONAL &&
	    strcmp(now->upstream, before->upstream) == 0 &&
	    strcmp(now->token, before->token) == 0 &&
	    now->shared == before->shared && now->made_s == before->made_s &&
	    now->expires_s == before->expires_s;
}

static enum err
settle(struct table_txn *txn, void *arg)
{
	const struct settling *settling = arg;
	struct placement now;
	enum err err = place_get(txn, settling->route, settling->name, &now);

	if (err == ERR_ABSENT)
		return ERR_OK;
	if (err != ERR_OK || !is_unchanged(&settling->before, &now))
		return err;
	if (settling->status == 404)
		return place_drop(txn, settling->route, settling->name);
	if (settling->status == 200)
		return place_confirm(txn, settling->route, settling->name);
	return place_postpone(txn, settling->route, settling->name,
	    clock_real_s() + POSTPONE_S);
}

/* Leaves a sentence where the status decides nothing. */
static void
ask_side(struct settling *settling, struct http *http, const struct conf *conf)
{
	const struct upstream *side = conf_upstream(conf,
	    settling->before.upstream);

	if (side == NULL)
		(void)err_set(ERR_PEER,
		    "upstream %s is not in the "
		    "configuration",
		    settling->before.upstream);
	else if (probe_tags(http, conf, side, settling->name,
		     &settling->status) == ERR_OK)
		(void)err_set(ERR_PEER, "%s/v2/%s/tags/list: HTTP %u",
		    side->url, settling->name, settling->status);
}

enum err
catalogue_settle(struct table *table, struct http *http,
    const struct conf *conf, const struct route *route, const char *name)
{
	struct settling settling = { .route = route, .name = name };
	char why[512];
	enum err err = table_read(table, read_placement, &settling);

	if (err == ERR_ABSENT ||
	    (err == ERR_OK && settling.before.state != PLACE_PROVISIONAL))
		return ERR_OK;
	if (err != ERR_OK)
		return err;
	ask_side(&settling, http, conf);
	snprintf(why, sizeof(why), "%s", err_text());
	err = table_write(table, settle, &settling);
	if (err != ERR_OK || settling.status == 200 || settling.status == 404)
		return err;
	return err_set(ERR_PEER, "%s", why);
}

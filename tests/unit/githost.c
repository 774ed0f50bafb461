/* githost.c: a canned Git host: a primary and its replicas on one port */
/* SPDX-License-Identifier: ISC */
#include "tests/unit/githost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sync/refs.h"
#include "sync/wire.h"
#include "tests/unit/server.h"

#define SIDES 4

static struct githost_side *
side_of(struct githost *host, size_t i)
{
	struct githost_side *const sides[SIDES] = { &host->main, &host->one,
		&host->two, &host->other };

	return sides[i];
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
put_advert(const char *oid, struct server_reply *reply)
{
	static const char caps[] = "multi_ack agent=git/2.39\n";
	struct buf line = { 0 };

	buf_puts(&reply->headers,
	    "Content-Type: "
	    "application/x-git-upload-pack-advertisement\r\n");
	put_pkt(&reply->body, "# service=git-upload-pack\n", 26);
	buf_puts(&reply->body, "0000");
	buf_fmt(&line, "%s refs/heads/main", oid);
	buf_add(&line, "", 1);
	buf_puts(&line, caps);
	put_pkt(&reply->body, line.data, line.len);
	buf_puts(&reply->body, "0000");
	buf_free(&line);
}

static void
put_digest(const char *oid, struct server_reply *reply)
{
	struct refs *refs = refs_new();
	struct refs_digest digest;

	if (refs_add(refs, oid, "refs/heads/main") == ERR_OK &&
	    refs_end(refs, "sha1", &digest) == ERR_OK)
		wire_put_refs(&digest, &reply->body);
}

static void
fetch(struct githost *host, struct githost_side *side,
    const struct server_request *request, struct server_reply *reply)
{
	free(atomic_exchange(&side->bearer,
	    server_header(request, "Authorization")));
	if (!side->stuck)
		side->oid = host->main.oid;
	buf_puts(&reply->body, "done\n");
}

static void
answer(void *arg, const struct server_request *request,
    struct server_reply *reply)
{
	static const char *const names[SIDES] = { "/main/", "/one/", "/two/",
		"/other/" };
	struct githost *host = arg;
	struct githost_side *side = &host->main;
	bool advert = strstr(request->target, "/info/refs?") != NULL;
	bool digest = strstr(request->target, "/refs/") != NULL;
	bool order = strcmp(request->method, "POST") == 0 &&
	    strstr(request->target, "/fetch/") != NULL;
	const char *oid;

	for (size_t i = 0; i < SIDES; i++)
		if (strncmp(request->target, names[i], strlen(names[i])) == 0)
			side = side_of(host, i);
	oid = side->oid;
	side->adverts += advert;
	side->digests += digest;
	side->fetches += order;
	side->others += !advert && !digest && !order;
	if (host->event != NULL)
		host->event(host->event_arg, side);
	if (side->status != 0)
		reply->status = side->status;
	else if (order)
		fetch(host, side, request, reply);
	else if (!advert && !digest)
		reply->status = 200;
	else if (oid == NULL)
		reply->status = 404;
	else if (advert)
		put_advert(oid, reply);
	else
		put_digest(oid, reply);
}

void
githost_start(struct githost *host, struct world *world)
{
	const char *url;

	memset(host, 0, sizeof(*host));
	host->server = server_start(answer, host);
	url = server_url(host->server);
	for (size_t i = 0; i < SIDES; i++) {
		struct upstream *upstream = &world->upstreams[i];

		side_of(host, i)->oid = OID_A;
		snprintf(host->urls[i], sizeof(host->urls[i]), "%s/%s", url,
		    upstream->name);
		snprintf(host->endpoints[i], sizeof(host->endpoints[i]),
		    "%s/reproute", host->urls[i]);
		upstream->url = host->urls[i];
		upstream->endpoint = host->endpoints[i];
	}
}

void
githost_stop(struct githost *host)
{
	server_stop(host->server);
	for (size_t i = 0; i < SIDES; i++)
		free(side_of(host, i)->bearer);
}

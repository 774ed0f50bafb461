/* writes.c: what the router writes: a fence, a placement */
/* SPDX-License-Identifier: ISC */
#include "fcgi/writes.h"

#include <stdio.h>

#include "conf/clock.h"
#include "sync/fence.h"

struct fence_write {
	struct snapshot *snapshot; /* held: route is of its conf */
	const struct route *route;
	char name[NAME_SIZE];
	char token[TOKEN_SIZE];
	int64_t now_ms;
};

static enum err
fence_body(struct table_txn *txn, void *data)
{
	const struct fence_write *write = data;

	return fence_begin(txn, write->route, write->name, write->token,
	    write->now_ms);
}

static void
fence_release(void *data)
{
	snapshot_release(((struct fence_write *)data)->snapshot);
}

static const struct write_kind fence_kind = {
	.size = sizeof(struct fence_write),
	.body = fence_body,
	.release = fence_release,
	.keeps = true,
};

enum err
write_fence(struct writer *writer, struct snapshot *snapshot,
    const struct route *route, const char *name, const char *token,
    bool *guarded)
{
	struct fence_write write = { .snapshot = snapshot_hold(snapshot),
		.route = route,
		.now_ms = clock_boot_ms() };
	enum err err;

	snprintf(write.name, sizeof(write.name), "%s", name);
	snprintf(write.token, sizeof(write.token), "%s", token);
	err = writer_run(writer, &fence_kind, &write, WRITE_WAIT_MS);
	/* before anybody is told that the fence is late */
	*guarded = err == ERR_OK ||
	    writer_doubt(writer, route, err == ERR_LIMIT);
	return err;
}

struct placing {
	struct snapshot *snapshot; /* held: route is of its conf */
	const struct route *route;
	char name[NAME_SIZE];
	char wanted[WORD_SIZE], reason[WORD_SIZE];
	char token[TOKEN_SIZE];
	bool manifest;
	struct placement placement;
};

static enum err
place_body(struct table_txn *txn, void *data)
{
	struct placing *order = data;

	return place_write(txn, order->route, order->name, order->wanted,
	    order->reason, order->token, order->manifest, &order->placement);
}

static void
place_release(void *data)
{
	snapshot_release(((struct placing *)data)->snapshot);
}

static const struct write_kind place_kind = {
	.size = sizeof(struct placing),
	.body = place_body,
	.release = place_release,
};

enum err
write_place(struct writer *writer, struct snapshot *snapshot,
    const struct place_order *asked, struct placement *out)
{
	struct placing order = { .snapshot = snapshot_hold(snapshot),
		.route = asked->route,
		.manifest = asked->manifest };
	enum err err;

	snprintf(order.name, sizeof(order.name), "%s", asked->name);
	snprintf(order.wanted, sizeof(order.wanted), "%s", asked->wanted);
	snprintf(order.reason, sizeof(order.reason), "%s", asked->reason);
	snprintf(order.token, sizeof(order.token), "%s", asked->token);
	err = writer_run(writer, &place_kind, &order, WRITE_WAIT_MS);
	if (err == ERR_OK)
		*out = order.placement;
	return err;
}

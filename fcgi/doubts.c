/* doubts.c: routes in doubt, and how they come out of it */
/* SPDX-License-Identifier: ISC */
#include "fcgi/doubts.h"

#include "conf/clock.h"
#include "sync/peer.h"

void
doubts_note(struct doubts *doubts, struct pulse *pulse,
    struct snapshots *snapshots)
{
	const struct conf *conf;

	*doubts = (struct doubts){ .snapshot = NULL };
	if (pulse == NULL)
		return;
	doubts->snapshot = snapshot_now(snapshots);
	conf = doubts->snapshot->conf;
	for (size_t i = 0; i < conf->n_routes; i++) {
		if (conf->routes[i].kind == ROUTE_GIT)
			doubts->number[i] = pulse_doubt(pulse,
			    &conf->routes[i]);
		doubts->n += doubts->number[i] != 0;
	}
}

void
doubts_end(struct doubts *doubts)
{
	snapshot_release(doubts->snapshot);
	doubts->snapshot = NULL;
}

static enum err
raise_epochs(struct table_txn *txn, void *arg)
{
	const struct doubts *doubts = arg;
	const struct conf *conf = doubts->snapshot->conf;
	enum err err = ERR_OK;

	for (size_t i = 0; i < conf->n_routes && err == ERR_OK; i++)
		if (doubts->number[i] != 0)
			err = epoch_raise(txn, &conf->routes[i], NULL);
	return err;
}

enum err
doubts_settle(struct doubts *doubts, struct table *table, struct pulse *pulse)
{
	enum err err = table_write(table, raise_epochs, doubts);
	const struct conf *conf = doubts->snapshot->conf;

	for (size_t i = 0; i < conf->n_routes && err == ERR_OK; i++)
		if (doubts->number[i] != 0)
			pulse_doubt_settle(pulse, &conf->routes[i],
			    doubts->number[i]);
	return err;
}

int64_t
doubts_adopt(struct pulse *pulse, struct snapshots *snapshots, bool all)
{
	struct snapshot *snapshot = snapshot_now(snapshots);
	const struct conf *conf = snapshot->conf;
	int64_t until_ms = 0, now_ms = clock_boot_ms();

	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct route *route = &conf->routes[i];

		if (route->kind != ROUTE_GIT)
			continue;
		if (pulse_doubt(pulse, route) != 0 &&
		    now_ms + route->fence_ms > until_ms)
			until_ms = now_ms + route->fence_ms;
		if (all)
			(void)pulse_doubt_raise(pulse, route);
	}
	snapshot_release(snapshot);
	return until_ms;
}

/* doubts.c: how a route comes out of doubt: its epoch first, then the flag */
/* SPDX-License-Identifier: ISC */
#include "sync/doubts.h"

#include "sync/peer.h"

struct renewal {
	const struct pulse *pulse;
	int slot;
	const struct conf *conf;
};

static enum err
raise_epochs(struct table_txn *txn, void *arg)
{
	const struct renewal *renewal = arg;
	const struct conf *conf = renewal->conf;
	enum err err = ERR_OK;

	for (size_t i = 0; i < conf->n_routes && err == ERR_OK; i++)
		if (conf->routes[i].kind == ROUTE_GIT &&
		    pulse_doubt_by(renewal->pulse, renewal->slot,
			&conf->routes[i]))
			err = epoch_raise(txn, &conf->routes[i], NULL);
	return err;
}

enum err
doubts_renew(struct table *table, const struct pulse *pulse, int slot,
    const struct conf *conf)
{
	struct renewal renewal = { pulse, slot, conf };

	return table_write(table, raise_epochs, &renewal);
}

enum err
doubts_expire(struct table *table, struct pulse *pulse, const struct conf *conf,
    int64_t now_ms)
{
	int slot = -1;
	enum err err;

	while ((slot = pulse_doubt_over(pulse, slot, now_ms)) != -1) {
		err = doubts_renew(table, pulse, slot, conf);
		if (err != ERR_OK) {
			pulse_doubt_leave(pulse, slot);
			return err;
		}
		pulse_doubt_end(pulse, slot);
	}
	return ERR_OK;
}

/* mode.c: in which mode a migration was decided last (route's mode) */
/* SPDX-License-Identifier: ISC */
#include "sync/mode.h"

#include "sync/pack.h"
#include "sync/place.h"

#define KEY_OBSERVED "observed" /* route; an absent one serves */

static enum err
forget_imports(struct table_txn *txn, const struct route *route)
{
	const struct import never = { .completed_s = 0 };
	enum err err = ERR_OK;

	for (int i = 0; i < 2 && err == ERR_OK; i++)
		err = import_set(txn, route, conf_side(route, i), &never);
	return err;
}

static enum err
adopt_mode(struct table_txn *txn, const struct route *route)
{
	struct key key = key_of(KEY_OBSERVED, route->name, NULL);
	struct pack none = { 0 };
	struct table_bytes value;
	enum err err;

	if (route->mode == MODE_OBSERVE)
		return table_put(txn, TABLE_PEERS, key_bytes(&key),
		    pack_bytes(&none));
	err = table_get(txn, TABLE_PEERS, key_bytes(&key), &value);
	if (err != ERR_OK)
		return err == ERR_ABSENT ? ERR_OK : err;
	err = table_del(txn, TABLE_PEERS, key_bytes(&key));
	return err == ERR_OK ? forget_imports(txn, route) : err;
}

enum err
modes_adopt(struct table_txn *txn, const struct conf *conf)
{
	enum err err = ERR_OK;

	for (size_t i = 0; i < conf->n_routes && err == ERR_OK; i++)
		if (conf->routes[i].to != NULL)
			err = adopt_mode(txn, &conf->routes[i]);
	return err;
}

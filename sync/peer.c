/* peer.c: what the table knows of upstreams and routes: epochs, health, off */
/* SPDX-License-Identifier: ISC */
#include "sync/peer.h"

#include <stdio.h>
#include <string.h>

#include "conf/clock.h"
#include "conf/log.h"
#include "sync/pack.h"

/* The first words of the keys in TABLE_PEERS that are read and written here. */
#define KEY_EPOCH "epoch"	/* route, replica or "" */
#define KEY_REQUEUED "requeued" /* route, replica */
#define KEY_PEER "peer"		/* upstream */
#define KEY_OFF "off"		/* route; an absent one is on */

/* An epoch, and the fingerprint of what it stands for. */
struct note {
	uint64_t epoch;
	bool noted; /* is there a fingerprint? */
	uint64_t fingerprint;
	char route[WORD_SIZE];
	char replica[WORD_SIZE]; /* "" of the route itself */
};

static enum err
note_read(struct table_bytes value, struct note *out)
{
	struct unpack in = unpack_of(value);
	struct note note = { 0 };

	note.epoch = unpack_u64(&in);
	note.noted = unpack_u8(&in) != 0;
	note.fingerprint = unpack_u64(&in);
	unpack_text(&in, note.route, sizeof(note.route));
	unpack_text(&in, note.replica, sizeof(note.replica));
	if (!unpack_whole(&in))
		return unpack_failed("epoch", note.route);
	*out = note;
	return ERR_OK;
}

static enum err
note_get(struct table_txn *txn, const char *route, const char *replica,
    struct note *out)
{
	struct key key = key_of(KEY_EPOCH, route, replica, NULL);
	struct table_bytes value;
	struct note note = { 0 };
	enum err err;

	err = table_get(txn, TABLE_PEERS, key_bytes(&key), &value);
	if (err == ERR_OK)
		return note_read(value, out);
	if (err != ERR_ABSENT)
		return err;
	snprintf(note.route, sizeof(note.route), "%s", route);
	snprintf(note.replica, sizeof(note.replica), "%s", replica);
	*out = note;
	return ERR_OK;
}

static enum err
note_put(struct table_txn *txn, const struct note *note)
{
	struct key key = key_of(KEY_EPOCH, note->route, note->replica, NULL);
	struct pack out = { 0 };

	pack_u64(&out, note->epoch);
	pack_u8(&out, note->noted);
	pack_u64(&out, note->fingerprint);
	pack_text(&out, note->route);
	pack_text(&out, note->replica);
	return table_put(txn, TABLE_PEERS, key_bytes(&key), pack_bytes(&out));
}

enum err
epochs_get(struct table_txn *txn, const struct route *route,
    const struct upstream *replica, struct epochs *out)
{
	struct note of_route, of_replica;
	enum err err;

	if ((err = note_get(txn, route->name, "", &of_route)) != ERR_OK)
		return err;
	if (replica != NULL) {
		err = note_get(txn, route->name, replica->name, &of_replica);
		if (err != ERR_OK)
			return err;
		out->replica = of_replica.epoch;
	}
	out->route = of_route.epoch;
	return ERR_OK;
}

enum err
epoch_raise(struct table_txn *txn, const struct route *route,
    const struct upstream *replica)
{
	struct note note;
	enum err err;

	err = note_get(txn, route->name, replica ? replica->name : "", &note);
	if (err != ERR_OK)
		return err;
	note.epoch++;
	return note_put(txn, &note);
}

static enum err
adopt_one(struct table_txn *txn, const char *route, const char *replica,
    uint64_t fingerprint, unsigned *changed)
{
	struct note note;
	enum err err;

	if ((err = note_get(txn, route, replica, &note)) != ERR_OK)
		return err;
	if (note.noted && note.fingerprint == fingerprint)
		return ERR_OK;
	note.epoch++;
	note.noted = true;
	note.fingerprint = fingerprint;
	(*changed)++;
	return note_put(txn, &note);
}

static enum err
agree(struct table_txn *txn, const struct route *route, const char *replica,
    uint64_t fingerprint)
{
	struct note note;
	enum err err = note_get(txn, route->name, replica, &note);

	if (err == ERR_OK && note.noted && note.fingerprint != fingerprint)
		return err_set(ERR_BUSY,
		    "route %s: the table follows another "
		    "configuration; reload this one",
		    route->name);
	return err;
}

enum err
epochs_agree(struct table_txn *txn, const struct route *route,
    const struct upstream *replica)
{
	enum err err = agree(txn, route, "", route_fingerprint(route));

	return err == ERR_OK ? agree(txn, route, replica->name,
				   replica_fingerprint(route, replica))
			     : err;
}

static bool
in_force(const struct conf *conf, const struct note *note)
{
	const struct route *route = conf_route(conf, note->route);
	const struct upstream *replica = conf_upstream(conf, note->replica);

	if (route == NULL || route->kind != ROUTE_GIT)
		return false;
	return note->replica[0] == '\0' ||
	    (replica != NULL && conf_is_replica(route, replica, NULL));
}

/*
 * Whatever left the configuration loses its fingerprint: nobody watched it
 * from then on, so that its marks must not count when it comes back.
 */
static enum err
forget_absent(struct table_txn *txn, const struct conf *conf)
{
	struct key all = key_of(KEY_EPOCH, NULL), at = all;
	struct table_bytes value;
	struct note note;
	enum err err;

	while (
	    (err = key_next(txn, TABLE_PEERS, &all, &at, &value)) == ERR_OK) {
		if ((err = note_read(value, &note)) != ERR_OK)
			return err;
		at = key_of(KEY_EPOCH, note.route, note.replica, NULL);
		if (!note.noted || in_force(conf, &note))
			continue;
		note.noted = false;
		if ((err = note_put(txn, &note)) != ERR_OK)
			return err;
	}
	return err == ERR_ABSENT ? ERR_OK : err;
}

static enum err
adopt_route(struct table_txn *txn, const struct route *route, unsigned *changed)
{
	enum err err;

	err = adopt_one(txn, route->name, "", route_fingerprint(route),
	    changed);
	for (size_t i = 0; err == ERR_OK && i < route->n_replicas; i++)
		err = adopt_one(txn, route->name, route->replicas[i]->name,
		    replica_fingerprint(route, route->replicas[i]), changed);
	return err;
}

enum err
epochs_adopt(struct table_txn *txn, const struct conf *conf, unsigned *changed)
{
	unsigned count = 0;
	enum err err;

	if ((err = forget_absent(txn, conf)) != ERR_OK)
		return err;
	for (size_t i = 0; i < conf->n_routes; i++) {
		if (conf->routes[i].kind != ROUTE_GIT)
			continue;
		err = adopt_route(txn, &conf->routes[i], &count);
		if (err != ERR_OK)
			return err;
	}
	*changed = count;
	return ERR_OK;
}

enum err
epochs_requeued(struct table_txn *txn, const struct route *route,
    const struct upstream *replica, struct epochs *out)
{
	struct key key = key_of(KEY_REQUEUED, route->name, replica->name, NULL);
	struct table_bytes value;
	struct epochs epochs = { 0 };
	struct unpack in;
	enum err err;

	err = table_get(txn, TABLE_PEERS, key_bytes(&key), &value);
	if (err == ERR_OK) {
		in = unpack_of(value);
		epochs.route = unpack_u64(&in);
		epochs.replica = unpack_u64(&in);
		if (!unpack_whole(&in))
			return unpack_failed("requeued epochs", route->name);
	} else if (err != ERR_ABSENT) {
		return err;
	}
	*out = epochs;
	return ERR_OK;
}

enum err
epochs_note_requeued(struct table_txn *txn, const struct route *route,
    const struct upstream *replica, const struct epochs *epochs)
{
	struct key key = key_of(KEY_REQUEUED, route->name, replica->name, NULL);
	struct pack out = { 0 };

	pack_u64(&out, epochs->route);
	pack_u64(&out, epochs->replica);
	return table_put(txn, TABLE_PEERS, key_bytes(&key), pack_bytes(&out));
}

enum err
peer_get(struct table_txn *txn, const char *upstream, struct peer *out)
{
	struct key key = key_of(KEY_PEER, upstream, NULL);
	struct table_bytes value;
	struct peer peer = { 0 };
	struct unpack in;
	enum err err;

	err = table_get(txn, TABLE_PEERS, key_bytes(&key), &value);
	if (err == ERR_OK) {
		in = unpack_of(value);
		peer.down = unpack_u8(&in) != 0;
		peer.drained = unpack_u8(&in) != 0;
		peer.since_s = (int64_t)unpack_u64(&in);
		unpack_text(&in, peer.why, sizeof(peer.why));
		if (!unpack_whole(&in))
			return unpack_failed("health", upstream);
	} else if (err != ERR_ABSENT) {
		return err;
	}
	*out = peer;
	return ERR_OK;
}

static enum err
peer_put(struct table_txn *txn, const char *upstream, const struct peer *peer)
{
	struct key key = key_of(KEY_PEER, upstream, NULL);
	struct pack out = { 0 };

	pack_u8(&out, peer->down);
	pack_u8(&out, peer->drained);
	pack_u64(&out, (uint64_t)peer->since_s);
	pack_text(&out, peer->why);
	return table_put(txn, TABLE_PEERS, key_bytes(&key), pack_bytes(&out));
}

enum err
peer_set_down(struct table_txn *txn, const struct upstream *upstream,
    const char *why, bool *changed)
{
	struct peer peer;
	enum err err;

	if ((err = peer_get(txn, upstream->name, &peer)) != ERR_OK)
		return err;
	*changed = false;
	if (peer.down)
		return ERR_OK;
	peer.down = true;
	peer.since_s = clock_real_s();
	log_escape(peer.why, sizeof(peer.why), why);
	if ((err = peer_put(txn, upstream->name, &peer)) == ERR_OK)
		*changed = true;
	return err;
}

enum err
peer_set_up(struct table_txn *txn, const struct conf *conf,
    const struct upstream *upstream, bool *changed)
{
	const struct route *route;
	struct peer peer;
	enum err err;

	if ((err = peer_get(txn, upstream->name, &peer)) != ERR_OK)
		return err;
	*changed = false;
	if (!peer.down)
		return ERR_OK;
	for (size_t i = 0; i < conf->n_routes; i++) {
		route = &conf->routes[i];
		if (route->kind != ROUTE_GIT ||
		    !conf_is_replica(route, upstream, NULL))
			continue;
		if ((err = epoch_raise(txn, route, upstream)) != ERR_OK)
			return err;
	}
	peer.down = false;
	peer.since_s = clock_real_s();
	peer.why[0] = '\0';
	if ((err = peer_put(txn, upstream->name, &peer)) == ERR_OK)
		*changed = true;
	return err;
}

enum err
peer_drain(struct table_txn *txn, const char *upstream, bool drained)
{
	struct peer peer;
	enum err err;

	if ((err = peer_get(txn, upstream, &peer)) != ERR_OK)
		return err;
	peer.drained = drained;
	return peer_put(txn, upstream, &peer);
}

enum err
route_off_get(struct table_txn *txn, const struct route *route,
    int64_t *since_s)
{
	struct key key = key_of(KEY_OFF, route->name, NULL);
	struct table_bytes value;
	struct unpack in;
	enum err err = table_get(txn, TABLE_PEERS, key_bytes(&key), &value);

	*since_s = 0;
	if (err != ERR_OK)
		return err == ERR_ABSENT ? ERR_OK : err;
	in = unpack_of(value);
	*since_s = (int64_t)unpack_u64(&in);
	return unpack_whole(&in) ? ERR_OK : unpack_failed("off", route->name);
}

enum err
route_off_set(struct table_txn *txn, const struct route *route, bool off)
{
	struct key key = key_of(KEY_OFF, route->name, NULL);
	struct pack out = { 0 };
	int64_t since_s;
	enum err err = route_off_get(txn, route, &since_s);

	if (err != ERR_OK || off == (since_s != 0))
		return err;
	if (!off)
		return table_del(txn, TABLE_PEERS, key_bytes(&key));
	pack_u64(&out, (uint64_t)clock_real_s());
	return table_put(txn, TABLE_PEERS, key_bytes(&key), pack_bytes(&out));
}

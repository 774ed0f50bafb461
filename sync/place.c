/* place.c: placements: to which registry a repository belongs */
/* SPDX-License-Identifier: ISC */
#include "sync/place.h"

#include <assert.h>
#include <string.h>

#include "conf/clock.h"
#include "sync/pack.h"
#include "sync/token.h"

/* Reasons of placements that no decision made. */
#define REASON_IMPORT "import"
#define REASON_ADMIN "admin"

static void
copy_word(char out[WORD_SIZE], const char *word)
{
	assert(strlen(word) < WORD_SIZE);
	strcpy(out, word);
}

/* name, of NAME_SIZE, becomes whose it is. */
static enum err
placement_read(struct table_bytes value, char *name, struct placement *out)
{
	struct unpack in = unpack_of(value);
	struct placement place;
	uint8_t state, shared;

	unpack_text(&in, name, NAME_SIZE);
	unpack_text(&in, place.upstream, sizeof(place.upstream));
	unpack_text(&in, place.reason, sizeof(place.reason));
	state = unpack_u8(&in);
	shared = unpack_u8(&in);
	unpack_text(&in, place.token, sizeof(place.token));
	place.made_s = (int64_t)unpack_u64(&in);
	place.expires_s = (int64_t)unpack_u64(&in);
	if (!unpack_whole(&in) || state > PLACE_FINAL || shared > 1)
		return unpack_failed("placement", name);
	place.state = state;
	place.shared = shared;
	*out = place;
	return ERR_OK;
}

static struct key
index_key(const struct route *route, const char *name,
    const struct placement *place)
{
	char word[TIME_WORD_SIZE];

	time_word(place->expires_s, word);
	return key_of(word, route->name, name, NULL);
}

static enum err
index_put(struct table_txn *txn, const struct route *route, const char *name,
    const struct placement *place)
{
	struct key key = index_key(route, name, place);
	struct pack pack = { .len = 0 };

	pack_text(&pack, name);
	pack_text(&pack, route->name);
	return table_put(txn, TABLE_PROVISIONAL, key_bytes(&key),
	    pack_bytes(&pack));
}

static enum err
index_del(struct table_txn *txn, const struct route *route, const char *name,
    const struct placement *place)
{
	struct key key = index_key(route, name, place);

	return table_del(txn, TABLE_PROVISIONAL, key_bytes(&key));
}

static enum err
placement_write(struct table_txn *txn, const struct route *route,
    const char *name, const struct placement *place)
{
	struct key key = key_of(route->name, name, NULL);
	struct pack pack = { .len = 0 };

	pack_text(&pack, name);
	pack_text(&pack, place->upstream);
	pack_text(&pack, place->reason);
	pack_u8(&pack, (uint8_t)place->state);
	pack_u8(&pack, place->shared);
	pack_text(&pack, place->token);
	pack_u64(&pack, (uint64_t)place->made_s);
	pack_u64(&pack, (uint64_t)place->expires_s);
	return table_put(txn, TABLE_PLACEMENTS, key_bytes(&key),
	    pack_bytes(&pack));
}

/*
 * The one way in which a placement changes: old (NULL: none) becomes new
 * (NULL: none), and the index of provisional ones with it.
 */
static enum err
change(struct table_txn *txn, const struct route *route, const char *name,
    const struct placement *old, const struct placement *new)
{
	struct key key = key_of(route->name, name, NULL);
	enum err err = ERR_OK;

	if (old != NULL && old->state == PLACE_PROVISIONAL)
		err = index_del(txn, route, name, old);
	if (err == ERR_OK && new != NULL &&new->state == PLACE_PROVISIONAL)
		err = index_put(txn, route, name, new);
	if (err != ERR_OK)
		return err;
	return new != NULL ? placement_write(txn, route, name, new)
			   : table_del(txn, TABLE_PLACEMENTS, key_bytes(&key));
}

enum err
place_get(struct table_txn *txn, const struct route *route, const char *name,
    struct placement *out)
{
	struct key key = key_of(route->name, name, NULL);
	char stored[NAME_SIZE];
	struct table_bytes value;
	enum err err = table_get(txn, TABLE_PLACEMENTS, key_bytes(&key),
	    &value);

	return err != ERR_OK ? err : placement_read(value, stored, out);
}

static enum err
insert(struct table_txn *txn, const struct route *route, const char *name,
    const char *token, bool manifest, struct placement *place)
{
	enum err err;

	place->state = manifest ? PLACE_MANIFEST : PLACE_PROVISIONAL;
	strcpy(place->token, token);
	place->made_s = clock_real_s();
	place->expires_s = place->made_s + route->provisional_s;
	err = change(txn, route, name, NULL, place);
	return err != ERR_OK
	    ? err
	    : token_put(txn, token, manifest ? TOKEN_MANIFEST : TOKEN_PLACE,
		  route->name, name);
}

/* Another write, under the same token or another, while it is not final. */
static enum err
join(struct table_txn *txn, const struct route *route, const char *name,
    const char *token, bool manifest, struct placement *place)
{
	const struct placement old = *place;
	bool other = strcmp(old.token, token) != 0;
	enum err err = ERR_OK;

	place->shared = old.shared || other;
	if (manifest && old.state == PLACE_PROVISIONAL) {
		place->state = PLACE_MANIFEST;
		strcpy(place->token, token);
	} else if (manifest && other) {
		/* no single one of them can take its word back */
		place->token[0] = '\0';
	}
	if (place->shared != old.shared || place->state != old.state ||
	    strcmp(place->token, old.token) != 0)
		err = change(txn, route, name, &old, place);
	if (err == ERR_OK && manifest)
		err = token_put(txn, token, TOKEN_MANIFEST, route->name, name);
	return err;
}

enum err
place_write(struct table_txn *txn, const struct route *route, const char *name,
    const char *wanted, const char *reason, const char *token, bool manifest,
    struct placement *out)
{
	struct placement place = { .made_s = 0 };
	enum err err = place_get(txn, route, name, &place);

	assert(strlen(token) < TOKEN_SIZE);
	if (err == ERR_ABSENT) {
		copy_word(place.upstream, wanted);
		copy_word(place.reason, reason);
		err = insert(txn, route, name, token, manifest, &place);
	} else if (err == ERR_OK && place.state != PLACE_FINAL) {
		err = join(txn, route, name, token, manifest, &place);
	}
	if (err == ERR_OK)
		*out = place;
	return err;
}

static enum err
make_final(struct table_txn *txn, const struct route *route, const char *name,
    const struct placement *old)
{
	struct placement new = *old;

	new.state = PLACE_FINAL;
	new.token[0] = '\0';
	new.expires_s = 0;
	return change(txn, route, name, old, &new);
}

enum err
place_settle(struct table_txn *txn, const struct route *route, const char *name,
    const char *token, bool manifest, unsigned status)
{
	bool refused = status == 401 || status == 403 || status == 404;
	struct placement old, new;
	enum err err = place_get(txn, route, name, &old);

	if (err == ERR_ABSENT || (err == ERR_OK && old.state == PLACE_FINAL))
		return ERR_OK;
	if (err != ERR_OK)
		return err;
	if (manifest && status / 100 == 2)
		return make_final(txn, route, name, &old);
	/* from here on, a token can only take back what it did itself */
	if (strcmp(old.token, token) != 0 ||
	    old.state != (manifest ? PLACE_MANIFEST : PLACE_PROVISIONAL))
		return ERR_OK;
	if (refused && !old.shared)
		return change(txn, route, name, &old, NULL);
	if (!manifest || status / 100 != 4)
		return ERR_OK;
	new = old;
	new.state = PLACE_PROVISIONAL;
	new.expires_s = clock_real_s() + route->provisional_s;
	return change(txn, route, name, &old, &new);
}

/* Final there, by that reason, whatever old (NULL: nothing) was. */
static enum err
put_final(struct table_txn *txn, const struct route *route, const char *name,
    const struct placement *old, const char *upstream, const char *reason)
{
	struct placement new = { .state = PLACE_FINAL };

	copy_word(new.upstream, upstream);
	copy_word(new.reason, reason);
	new.made_s = clock_real_s();
	return change(txn, route, name, old, &new);
}

enum err
place_import(struct table_txn *txn, const struct route *route, const char *name,
    const char *upstream, bool *conflict)
{
	struct placement old;
	bool there, differs = false;
	enum err err = place_get(txn, route, name, &old);

	if (err != ERR_OK && err != ERR_ABSENT)
		return err;
	there = err == ERR_OK && strcmp(old.upstream, upstream) == 0;
	if (err == ERR_ABSENT)
		err = put_final(txn, route, name, NULL, upstream,
		    REASON_IMPORT);
	else if (there && old.state != PLACE_FINAL)
		err = make_final(txn, route, name, &old);
	else if (!there && old.state == PLACE_PROVISIONAL)
		err = put_final(txn, route, name, &old, upstream,
		    REASON_IMPORT);
	else
		differs = !there;
	if (err == ERR_OK)
		*conflict = differs;
	return err;
}

enum err
place_set(struct table_txn *txn, const struct route *route, const char *name,
    const char *upstream)
{
	struct placement old;
	enum err err = place_get(txn, route, name, &old);

	if (err != ERR_OK && err != ERR_ABSENT)
		return err;
	return put_final(txn, route, name, err == ERR_OK ? &old : NULL,
	    upstream, REASON_ADMIN);
}

enum err
place_drop(struct table_txn *txn, const struct route *route, const char *name)
{
	struct placement old;
	enum err err = place_get(txn, route, name, &old);

	if (err == ERR_ABSENT)
		return ERR_OK;
	return err != ERR_OK ? err : change(txn, route, name, &old, NULL);
}

enum err
place_confirm(struct table_txn *txn, const struct route *route,
    const char *name)
{
	struct placement old;
	enum err err = place_get(txn, route, name, &old);

	if (err == ERR_ABSENT ||
	    (err == ERR_OK && old.state != PLACE_PROVISIONAL))
		return ERR_OK;
	return err != ERR_OK ? err : make_final(txn, route, name, &old);
}

enum err
place_postpone(struct table_txn *txn, const struct route *route,
    const char *name, int64_t until_s)
{
	struct placement old, new;
	enum err err = place_get(txn, route, name, &old);

	if (err == ERR_ABSENT ||
	    (err == ERR_OK && old.state != PLACE_PROVISIONAL))
		return ERR_OK;
	if (err != ERR_OK)
		return err;
	new = old;
	new.expires_s = until_s;
	return change(txn, route, name, &old, &new);
}

enum err
place_next(struct table_txn *txn, const struct route *route, const char *name,
    char *next, struct placement *out)
{
	struct key all = key_of(route->name, NULL);
	struct key at = key_of(route->name, name, NULL);
	char stored[NAME_SIZE];
	struct table_bytes value;
	struct placement place;
	enum err err = key_next(txn, TABLE_PLACEMENTS, &all, &at, &value);

	if (err == ERR_OK)
		err = placement_read(value, stored, &place);
	if (err != ERR_OK)
		return err;
	strcpy(next, stored);
	if (out != NULL)
		*out = place;
	return ERR_OK;
}

enum err
place_expired(struct table_txn *txn, int64_t now_s, char *route, char *name)
{
	char word[TIME_WORD_SIZE], its_name[NAME_SIZE], its_route[WORD_SIZE];
	struct table_bytes found, value, all = { "", 0 };
	struct unpack in;
	struct key now;
	enum err err = table_seek(txn, TABLE_PROVISIONAL, all, false, &found,
	    &value);

	if (err != ERR_OK)
		return err;
	time_word(now_s, word);
	now = key_of(word, NULL);
	if (!key_before(found, &now))
		return ERR_ABSENT;
	in = unpack_of(value);
	unpack_text(&in, its_name, sizeof(its_name));
	unpack_text(&in, its_route, sizeof(its_route));
	if (!unpack_whole(&in))
		return unpack_failed("expiry", its_name);
	strcpy(route, its_route);
	strcpy(name, its_name);
	return ERR_OK;
}

enum err
place_orphan(struct table_txn *txn, const struct conf *conf, char *upstream,
    char *name)
{
	struct table_bytes found = { "", 0 }, value;
	struct placement place = { .made_s = 0 };
	char stored[NAME_SIZE], legal[WORD_SIZE] = "";
	enum err err;

	for (;;) {
		err = table_seek(txn, TABLE_PLACEMENTS, found, true, &found,
		    &value);
		if (err == ERR_OK)
			err = placement_read(value, stored, &place);
		if (err != ERR_OK)
			return err;
		/* there are many placements, and few upstreams */
		if (strcmp(place.upstream, legal) == 0)
			continue;
		if (conf_upstream(conf, place.upstream) == NULL)
			break;
		strcpy(legal, place.upstream);
	}
	strcpy(upstream, place.upstream);
	strcpy(name, stored);
	return ERR_OK;
}

enum err
import_get(struct table_txn *txn, const struct route *route,
    const struct upstream *side, struct import *out)
{
	struct key key = key_of(route->name, side->name, NULL);
	struct import import = { .names = 0 };
	struct table_bytes value;
	struct unpack in;
	enum err err = table_get(txn, TABLE_IMPORTS, key_bytes(&key), &value);

	if (err == ERR_OK) {
		in = unpack_of(value);
		import.completed_s = (int64_t)unpack_u64(&in);
		import.started_s = (int64_t)unpack_u64(&in);
		import.names = unpack_u64(&in);
		import.conflicts = unpack_u64(&in);
		unpack_text(&in, import.last, sizeof(import.last));
		if (!unpack_whole(&in))
			return unpack_failed("import", side->name);
	} else if (err != ERR_ABSENT) {
		return err;
	}
	*out = import;
	return ERR_OK;
}

enum err
import_set(struct table_txn *txn, const struct route *route,
    const struct upstream *side, const struct import *import)
{
	struct key key = key_of(route->name, side->name, NULL);
	struct pack pack = { .len = 0 };

	pack_u64(&pack, (uint64_t)import->completed_s);
	pack_u64(&pack, (uint64_t)import->started_s);
	pack_u64(&pack, import->names);
	pack_u64(&pack, import->conflicts);
	pack_text(&pack, import->last);
	return table_put(txn, TABLE_IMPORTS, key_bytes(&key),
	    pack_bytes(&pack));
}

enum err
imports_complete(struct table_txn *txn, const struct route *route,
    bool *complete)
{
	struct import primary, to = { .completed_s = 0 };
	enum err err = import_get(txn, route, route->primary, &primary);

	if (err == ERR_OK && route->to != NULL)
		err = import_get(txn, route, route->to, &to);
	if (err == ERR_OK)
		*complete = primary.completed_s != 0 && to.completed_s != 0;
	return err;
}

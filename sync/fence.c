/* fence.c: fences: a change of a repository may be under way */
/* SPDX-License-Identifier: ISC */
#include "sync/fence.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "conf/clock.h"
#include "sync/pack.h"
#include "sync/row.h"
#include "sync/token.h"

/* In TABLE_PEERS: the boot whose clock the fences' times are of. */
#define KEY_BOOT "boot"
/*
 * A route that conf does not know, yet or any more, keeps its fences so
 * long: another program may have read a newer configuration.
 */
#define GONE_MS (24 * 3600 * INT64_C(1000))
/* Added to a fence's state, as stored: a hook began it. */
#define HOOKED 0x80

/* All fences of one repository, as stored. */
struct record {
	char name[NAME_SIZE]; /* "" is the route's common fence */
	char route[WORD_SIZE];
	int64_t watch_ms; /* when to compare next what is watched */
	struct fences set;
};

static enum err
record_read(struct table_bytes value, struct record *out)
{
	struct unpack in = unpack_of(value);
	struct fences *set = &out->set;
	unsigned state;

	*out = (struct record){ .watch_ms = 0 };
	unpack_text(&in, out->name, sizeof(out->name));
	unpack_text(&in, out->route, sizeof(out->route));
	out->watch_ms = (int64_t)unpack_u64(&in);
	set->n = unpack_u8(&in);
	for (unsigned i = 0; i < set->n && i <= MAX_FENCES; i++) {
		struct fence *fence = &set->fence[i];

		unpack_text(&in, fence->token, sizeof(fence->token));
		state = unpack_u8(&in);
		fence->state = (enum fence_state)(state & ~HOOKED);
		fence->hooked = (state & HOOKED) != 0;
		fence->begun_ms = (int64_t)unpack_u64(&in);
		set->n_up += fence->state != FENCE_WATCH;
	}
	if (!unpack_whole(&in) || set->n > MAX_FENCES + 1)
		return unpack_failed("set of fences", out->name);
	return ERR_OK;
}

static enum err
record_get(struct table_txn *txn, const char *route, const char *name,
    struct record *out)
{
	struct key key = key_of(route, name, NULL);
	struct table_bytes value;
	enum err err;

	err = table_get(txn, TABLE_FENCES, key_bytes(&key), &value);
	if (err == ERR_OK)
		return record_read(value, out);
	if (err != ERR_ABSENT)
		return err;
	*out = (struct record){ .watch_ms = 0 };
	snprintf(out->route, sizeof(out->route), "%s", route);
	snprintf(out->name, sizeof(out->name), "%s", name);
	return ERR_OK;
}

/* Where no fence is left, no record is. */
static enum err
record_put(struct table_txn *txn, const struct record *record)
{
	struct key key = key_of(record->route, record->name, NULL);
	struct pack out = { 0 };

	if (record->set.n == 0)
		return table_del(txn, TABLE_FENCES, key_bytes(&key));
	pack_text(&out, record->name);
	pack_text(&out, record->route);
	pack_u64(&out, (uint64_t)record->watch_ms);
	pack_u8(&out, (uint8_t)record->set.n);
	for (unsigned i = 0; i < record->set.n; i++) {
		const struct fence *fence = &record->set.fence[i];

		pack_text(&out, fence->token);
		pack_u8(&out,
		    (uint8_t)(fence->state | (fence->hooked ? HOOKED : 0)));
		pack_u64(&out, (uint64_t)fence->begun_ms);
	}
	return table_put(txn, TABLE_FENCES, key_bytes(&key), pack_bytes(&out));
}

/* Puts the record, and raises the generation if there is a row. */
static enum err
put_and_raise(struct table_txn *txn, const struct route *route,
    const struct record *record, const char *name)
{
	uint64_t generation;
	enum err err;

	if ((err = record_put(txn, record)) != ERR_OK)
		return err;
	err = row_raise(txn, route, name, NULL, &generation);
	return err == ERR_ABSENT ? ERR_OK : err;
}

static struct fence *
find(struct fences *set, const char *token)
{
	for (unsigned i = 0; i < set->n; i++)
		if (strcmp(set->fence[i].token, token) == 0)
			return &set->fence[i];
	return NULL;
}

static void
take_out(struct fences *set, struct fence *fence)
{
	*fence = set->fence[--set->n];
}

static void
put_up(struct fences *set, const char *token, bool hooked, int64_t now_ms)
{
	struct fence *fence = find(set, token);

	if (fence == NULL && set->n >= MAX_FENCES) {
		token = "";
		fence = find(set, token);
	}
	if (fence == NULL)
		fence = &set->fence[set->n++];
	*fence = (struct fence){ .state = FENCE_UP,
		.hooked = hooked && token[0] != '\0',
		.begun_ms = now_ms };
	snprintf(fence->token, sizeof(fence->token), "%s", token);
}

enum err
fences_get(struct table_txn *txn, const struct route *route, const char *name,
    struct fences *out)
{
	struct record record;
	enum err err = record_get(txn, route->name, name, &record);

	if (err == ERR_OK)
		*out = record.set;
	return err;
}

/* May one more repository have fences of its own? */
static enum err
has_room(struct table_txn *txn, const struct route *route, const char *name,
    bool *room)
{
	struct row row;
	size_t fenced;
	enum err err;

	if ((err = table_count(txn, TABLE_FENCES, &fenced)) != ERR_OK)
		return err;
	*room = fenced < MAX_FENCED;
	if (*room)
		return ERR_OK;
	err = row_get(txn, route, name, &row);
	*room = err == ERR_OK;
	return err == ERR_ABSENT ? ERR_OK : err;
}

static enum err
begin(struct table_txn *txn, const struct route *route, const char *name,
    const char *token, bool hooked, int64_t now_ms)
{
	struct record record;
	bool room = true;
	enum err err;

	assert(token_legal(token));
	err = token_put(txn, token, TOKEN_PUSH, route->name, name);
	if (err == ERR_OK)
		err = record_get(txn, route->name, name, &record);
	if (err == ERR_OK && record.set.n == 0)
		err = has_room(txn, route, name, &room);
	if (err == ERR_OK && !room) {
		token = "";
		err = record_get(txn, route->name, "", &record);
	}
	if (err != ERR_OK)
		return err;
	put_up(&record.set, token, hooked, now_ms);
	return put_and_raise(txn, route, &record, name);
}

enum err
fence_begin(struct table_txn *txn, const struct route *route, const char *name,
    const char *token, int64_t now_ms)
{
	return begin(txn, route, name, token, false, now_ms);
}

enum err
fence_begin_hook(struct table_txn *txn, const struct route *route,
    const char *name, const char *token, int64_t now_ms)
{
	return begin(txn, route, name, token, true, now_ms);
}

enum err
fence_end(struct table_txn *txn, const struct route *route, const char *name,
    const char *token, bool *was)
{
	struct record record;
	struct fence *fence;
	enum err err;

	assert(token_legal(token));
	err = record_get(txn, route->name, name, &record);
	if (err != ERR_OK)
		return err;
	if ((fence = find(&record.set, token)) != NULL)
		take_out(&record.set, fence);
	err = put_and_raise(txn, route, &record, name);
	if (err == ERR_OK && was != NULL)
		*was = fence != NULL;
	return err;
}

enum err
fence_broken(struct table_txn *txn, const struct route *route, const char *name,
    const char *token)
{
	struct record record;
	struct fence *fence;
	enum err err;

	assert(token_legal(token));
	err = record_get(txn, route->name, name, &record);
	if (err != ERR_OK)
		return err;
	fence = find(&record.set, token);
	if (fence != NULL && route->hooks == HOOKS_STRICT && !fence->hooked)
		take_out(&record.set, fence);
	else if (fence != NULL && fence->state == FENCE_UP)
		fence->state = FENCE_BROKEN;
	return put_and_raise(txn, route, &record, name);
}

enum err
fences_end_all(struct table_txn *txn, const struct route *route,
    const char *name)
{
	struct record record;
	enum err err = record_get(txn, route->name, name, &record);

	if (err != ERR_OK)
		return err;
	record.set.n = 0;
	return put_and_raise(txn, route, &record, name);
}

/* What a fence's age makes of it: stays, watches, or goes (false). */
static bool
ages(struct fence *fence, const struct route *route, int64_t now_ms)
{
	int64_t age_ms = now_ms - fence->begun_ms;

	if (route == NULL)
		return age_ms < GONE_MS;
	if (age_ms >= route->fence_ms)
		fence->state = FENCE_WATCH;
	return fence->state != FENCE_WATCH || age_ms < route->push_max_ms;
}

/* Lets time pass for one repository; did anything change, or fall due? */
static bool
age_record(struct record *record, const struct route *route, int64_t now_ms)
{
	struct fences *set = &record->set;
	bool changed = false, watches = false;
	unsigned i = 0;

	while (i < set->n) {
		struct fence *fence = &set->fence[i];
		enum fence_state before = fence->state;

		if (!ages(fence, route, now_ms)) {
			take_out(set, fence);
			changed = true;
			continue;
		}
		changed |= fence->state != before;
		watches |= fence->state == FENCE_WATCH;
		i++;
	}
	if (route != NULL && watches &&
	    (changed || now_ms >= record->watch_ms)) {
		record->watch_ms = now_ms + route->watch_ms;
		changed = true;
	}
	return changed;
}

/* When age_record() has to look again. */
static int64_t
next_event(const struct record *record, const struct route *route)
{
	int64_t next_ms = INT64_MAX;

	for (unsigned i = 0; i < record->set.n; i++) {
		const struct fence *fence = &record->set.fence[i];
		bool watch = fence->state == FENCE_WATCH;
		int64_t end_ms = fence->begun_ms +
		    (route == NULL  ? GONE_MS
			    : watch ? route->push_max_ms
				    : route->fence_ms);

		if (route != NULL && watch && record->watch_ms < end_ms)
			end_ms = record->watch_ms;
		if (end_ms < next_ms)
			next_ms = end_ms;
	}
	return next_ms;
}

static const struct route *
git_route(const struct conf *conf, const char *name)
{
	const struct route *route = conf_route(conf, name);

	return route != NULL && route->kind == ROUTE_GIT ? route : NULL;
}

/*
 * The first record behind the key, which moves there; the empty key is
 * before all.  ERR_ABSENT at the end.
 */
static enum err
walk(struct table_txn *txn, struct key *at, struct record *out)
{
	struct table_bytes found, value;
	enum err err;

	err = table_seek(txn, TABLE_FENCES, key_bytes(at), true, &found,
	    &value);
	if (err == ERR_OK)
		err = record_read(value, out);
	if (err == ERR_OK)
		*at = key_of(out->route, out->name, NULL);
	return err;
}

enum err
fences_expire(struct table_txn *txn, const struct conf *conf, int64_t now_ms,
    int64_t *next_ms, unsigned *changed)
{
	struct key at = { .len = 0 };
	int64_t next = INT64_MAX, event;
	const struct route *route;
	struct record record;
	unsigned count = 0;
	enum err err;

	while ((err = walk(txn, &at, &record)) == ERR_OK) {
		route = git_route(conf, record.route);
		if (age_record(&record, route, now_ms)) {
			err = route == NULL
			    ? record_put(txn, &record)
			    : put_and_raise(txn, route, &record, record.name);
			if (err != ERR_OK)
				return err;
			count++;
		}
		event = next_event(&record, route);
		if (event < next)
			next = event;
	}
	if (err != ERR_ABSENT)
		return err;
	*next_ms = next;
	*changed = count;
	return ERR_OK;
}

static enum err
begin_anew(struct table_txn *txn, int64_t now_ms)
{
	struct key at = { .len = 0 };
	struct record record;
	enum err err;

	while ((err = walk(txn, &at, &record)) == ERR_OK) {
		for (unsigned i = 0; i < record.set.n; i++)
			record.set.fence[i].begun_ms = now_ms;
		record.watch_ms = now_ms;
		if ((err = record_put(txn, &record)) != ERR_OK)
			return err;
	}
	return err == ERR_ABSENT ? ERR_OK : err;
}

enum err
fences_adopt(struct table_txn *txn, int64_t now_ms)
{
	struct key key = key_of(KEY_BOOT, NULL);
	struct pack out = { 0 };
	char boot[BOOT_ID_SIZE], noted[BOOT_ID_SIZE] = "";
	struct table_bytes value;
	struct unpack in;
	enum err err;

	clock_boot_id(boot);
	err = table_get(txn, TABLE_PEERS, key_bytes(&key), &value);
	if (err == ERR_OK) {
		in = unpack_of(value);
		unpack_text(&in, noted, sizeof(noted));
	} else if (err != ERR_ABSENT) {
		return err;
	}
	if (strcmp(boot, noted) == 0)
		return ERR_OK;
	if ((err = begin_anew(txn, now_ms)) != ERR_OK)
		return err;
	pack_text(&out, boot);
	return table_put(txn, TABLE_PEERS, key_bytes(&key), pack_bytes(&out));
}

enum err
fences_next(struct table_txn *txn, const struct route *route, const char *name,
    char *next, struct fences *out)
{
	struct key all = key_of(route->name, NULL);
	struct key at = key_of(route->name, name, NULL);
	struct table_bytes value;
	struct record record;
	enum err err = key_next(txn, TABLE_FENCES, &all, &at, &value);

	if (err == ERR_OK)
		err = record_read(value, &record);
	if (err != ERR_OK)
		return err;
	strcpy(next, record.name);
	*out = record.set;
	return ERR_OK;
}

/* row.c: a git repository's row: its generation, and who has which mark */
/* SPDX-License-Identifier: ISC */
#include "sync/row.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "conf/clock.h"
#include "sync/fence.h"
#include "sync/pack.h"

/*
 * In TABLE_PEERS, of a route: the highest generation of a row that was
 * dropped.  A row that is learnt starts above it, so that no comparison
 * begun with the old row can mark the new one.
 */
#define KEY_DROPPED "dropped"

static enum err
row_read(struct table_bytes value, char *name, struct row *out)
{
	struct unpack in = unpack_of(value);
	struct row row = { 0 };

	unpack_text(&in, name, NAME_SIZE);
	row.generation = unpack_u64(&in);
	row.changed_s = (int64_t)unpack_u64(&in);
	unpack_text(&in, row.sha, sizeof(row.sha));
	row.n_marks = unpack_u8(&in);
	if (row.n_marks > MAX_REPLICAS)
		return unpack_failed("row", name);
	for (unsigned i = 0; i < row.n_marks; i++) {
		struct mark *mark = &row.marks[i];

		unpack_text(&in, mark->upstream, sizeof(mark->upstream));
		mark->generation = unpack_u64(&in);
		mark->epochs.route = unpack_u64(&in);
		mark->epochs.replica = unpack_u64(&in);
		mark->at_s = (int64_t)unpack_u64(&in);
	}
	if (!unpack_whole(&in))
		return unpack_failed("row", name);
	*out = row;
	return ERR_OK;
}

static bool
is_replica(const struct route *route, const char *upstream)
{
	for (size_t i = 0; i < route->n_replicas; i++)
		if (strcmp(route->replicas[i]->name, upstream) == 0)
			return true;
	return false;
}

/* Drops the marks of what is no replica any more: MAX_REPLICAS holds. */
static void
prune(struct row *row, const struct route *route)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < row->n_marks; i++)
		if (is_replica(route, row->marks[i].upstream))
			row->marks[kept++] = row->marks[i];
	row->n_marks = kept;
}

static enum err
row_write(struct table_txn *txn, const struct route *route, const char *name,
    struct row *row)
{
	struct key key = key_of(route->name, name, NULL);
	struct pack out = { 0 };

	prune(row, route);
	pack_text(&out, name);
	pack_u64(&out, row->generation);
	pack_u64(&out, (uint64_t)row->changed_s);
	pack_text(&out, row->sha);
	pack_u8(&out, (uint8_t)row->n_marks);
	for (unsigned i = 0; i < row->n_marks; i++) {
		const struct mark *mark = &row->marks[i];

		pack_text(&out, mark->upstream);
		pack_u64(&out, mark->generation);
		pack_u64(&out, mark->epochs.route);
		pack_u64(&out, mark->epochs.replica);
		pack_u64(&out, (uint64_t)mark->at_s);
	}
	return table_put(txn, TABLE_ROWS, key_bytes(&key), pack_bytes(&out));
}

enum err
row_get(struct table_txn *txn, const struct route *route, const char *name,
    struct row *out)
{
	struct key key = key_of(route->name, name, NULL);
	struct table_bytes value;
	char stored[NAME_SIZE];
	enum err err;

	err = table_get(txn, TABLE_ROWS, key_bytes(&key), &value);
	return err == ERR_OK ? row_read(value, stored, out) : err;
}

static enum err
lag_read(struct table_bytes value, struct lag *out)
{
	struct unpack in = unpack_of(value);
	struct lag lag;

	unpack_text(&in, lag.name, sizeof(lag.name));
	lag.since_s = (int64_t)unpack_u64(&in);
	unpack_text(&in, lag.why, sizeof(lag.why));
	if (!unpack_whole(&in))
		return unpack_failed("lag", lag.name);
	*out = lag;
	return ERR_OK;
}

static enum err
lag_write(struct table_txn *txn, const struct route *route,
    const struct upstream *replica, const struct lag *lag)
{
	struct key key = key_of(route->name, replica->name, lag->name, NULL);
	struct pack out = { 0 };

	pack_text(&out, lag->name);
	pack_u64(&out, (uint64_t)lag->since_s);
	pack_text(&out, lag->why);
	return table_put(txn, TABLE_LAG, key_bytes(&key), pack_bytes(&out));
}

enum err
lag_get(struct table_txn *txn, const struct route *route, const char *name,
    const struct upstream *replica, struct lag *out)
{
	struct key key = key_of(route->name, replica->name, name, NULL);
	struct table_bytes value;
	enum err err = table_get(txn, TABLE_LAG, key_bytes(&key), &value);

	return err == ERR_OK ? lag_read(value, out) : err;
}

enum err
lag_put(struct table_txn *txn, const struct route *route, const char *name,
    const struct upstream *replica)
{
	struct lag lag;
	enum err err = lag_get(txn, route, name, replica, &lag);

	/* who lags already, lags since then */
	if (err != ERR_ABSENT)
		return err;
	lag = (struct lag){ .since_s = clock_real_s() };
	snprintf(lag.name, sizeof(lag.name), "%s", name);
	return lag_write(txn, route, replica, &lag);
}

enum err
lag_note(struct table_txn *txn, const struct route *route, const char *name,
    const struct upstream *replica, const char *why)
{
	struct lag lag;
	enum err err = lag_get(txn, route, name, replica, &lag);

	if (err != ERR_OK)
		return err == ERR_ABSENT ? ERR_OK : err;
	if (strncmp(lag.why, why, sizeof(lag.why) - 1) == 0)
		return ERR_OK;
	snprintf(lag.why, sizeof(lag.why), "%s", why);
	return lag_write(txn, route, replica, &lag);
}

static enum err
lag_del(struct table_txn *txn, const struct route *route, const char *name,
    const struct upstream *replica)
{
	struct key key = key_of(route->name, replica->name, name, NULL);

	return table_del(txn, TABLE_LAG, key_bytes(&key));
}

/* Writes a row that lags at every replica from now on. */
static enum err
write_lagging(struct table_txn *txn, const struct route *route,
    const char *name, struct row *row)
{
	enum err err = row_write(txn, route, name, row);

	for (size_t i = 0; err == ERR_OK && i < route->n_replicas; i++)
		err = lag_put(txn, route, name, route->replicas[i]);
	return err;
}

static enum err
dropped_get(struct table_txn *txn, const struct route *route, uint64_t *out)
{
	struct key key = key_of(KEY_DROPPED, route->name, NULL);
	struct table_bytes value;
	struct unpack in;
	uint64_t generation;
	enum err err;

	err = table_get(txn, TABLE_PEERS, key_bytes(&key), &value);
	if (err == ERR_ABSENT) {
		*out = 0;
		return ERR_OK;
	}
	if (err != ERR_OK)
		return err;
	in = unpack_of(value);
	generation = unpack_u64(&in);
	if (!unpack_whole(&in))
		return unpack_failed("dropped generation", route->name);
	*out = generation;
	return ERR_OK;
}

static enum err
dropped_raise(struct table_txn *txn, const struct route *route,
    uint64_t generation)
{
	struct key key = key_of(KEY_DROPPED, route->name, NULL);
	struct pack out = { 0 };
	uint64_t highest;
	enum err err;

	err = dropped_get(txn, route, &highest);
	if (err != ERR_OK || highest >= generation)
		return err;
	pack_u64(&out, generation);
	return table_put(txn, TABLE_PEERS, key_bytes(&key), pack_bytes(&out));
}

enum err
row_learn(struct table_txn *txn, const struct route *route, const char *name,
    bool *made)
{
	struct fences common;
	struct row row = { 0 };
	uint64_t dropped;
	enum err err;

	err = row_get(txn, route, name, &row);
	if (err == ERR_OK) {
		if (made != NULL)
			*made = false;
		return ERR_OK;
	}
	if (err != ERR_ABSENT)
		return err;
	if ((err = fences_get(txn, route, "", &common)) != ERR_OK)
		return err;
	if (common.n > 0)
		return err_set(ERR_BUSY,
		    "route %s: more than %d repositories "
		    "have fences; no new one is learnt until they are over",
		    route->name, MAX_FENCED);
	if ((err = dropped_get(txn, route, &dropped)) != ERR_OK)
		return err;
	row.generation = dropped + 1;
	row.changed_s = clock_real_s();
	err = write_lagging(txn, route, name, &row);
	if (err == ERR_OK && made != NULL)
		*made = true;
	return err;
}

enum err
row_raise(struct table_txn *txn, const struct route *route, const char *name,
    const char *sha, uint64_t *generation)
{
	struct row row;
	enum err err;

	if ((err = row_get(txn, route, name, &row)) != ERR_OK)
		return err;
	row.generation++;
	row.changed_s = clock_real_s();
	if (sha != NULL)
		snprintf(row.sha, sizeof(row.sha), "%s", sha);
	err = write_lagging(txn, route, name, &row);
	if (err == ERR_OK)
		*generation = row.generation;
	return err;
}

const struct mark *
row_mark_of(const struct row *row, const struct upstream *replica)
{
	for (unsigned i = 0; i < row->n_marks; i++)
		if (strcmp(row->marks[i].upstream, replica->name) == 0)
			return &row->marks[i];
	return NULL;
}

bool
row_is_current(const struct row *row, const struct upstream *replica,
    const struct epochs *epochs)
{
	const struct mark *mark = row_mark_of(row, replica);

	return mark != NULL && mark->generation == row->generation &&
	    mark->epochs.route == epochs->route &&
	    mark->epochs.replica == epochs->replica;
}

/* upstream NULL: all */
static void
remove_marks(struct row *row, const char *upstream)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < row->n_marks; i++)
		if (upstream != NULL &&
		    strcmp(row->marks[i].upstream, upstream) != 0)
			row->marks[kept++] = row->marks[i];
	row->n_marks = kept;
}

static void
set_mark(struct row *row, const struct mark *mark)
{
	remove_marks(row, mark->upstream);
	assert(row->n_marks < MAX_REPLICAS);
	row->marks[row->n_marks++] = *mark;
}

enum err
row_mark(struct table_txn *txn, const struct route *route, const char *name,
    const struct upstream *replica, uint64_t generation,
    const struct epochs *epochs, bool *current)
{
	struct mark mark = { .generation = generation,
		.epochs = *epochs,
		.at_s = clock_real_s() };
	struct epochs present;
	struct row row;
	bool holds;
	enum err err;

	assert(is_replica(route, replica->name));
	if ((err = row_get(txn, route, name, &row)) != ERR_OK)
		return err;
	prune(&row, route);
	err = epochs_agree(txn, route, replica);
	if (err == ERR_OK)
		err = epochs_get(txn, route, replica, &present);
	if (err != ERR_OK)
		return err;
	/* an older comparison that ends late takes nothing from a newer one */
	if (!row_is_current(&row, replica, &present)) {
		snprintf(mark.upstream, sizeof(mark.upstream), "%s",
		    replica->name);
		set_mark(&row, &mark);
		err = row_write(txn, route, name, &row);
	}
	holds = row_is_current(&row, replica, &present);
	if (err == ERR_OK && holds)
		err = lag_del(txn, route, name, replica);
	if (err == ERR_OK)
		*current = holds;
	return err;
}

enum err
row_void(struct table_txn *txn, const struct route *route, const char *name,
    const struct upstream *replica)
{
	struct row row;
	enum err err;

	if ((err = row_get(txn, route, name, &row)) != ERR_OK)
		return err;
	remove_marks(&row, replica != NULL ? replica->name : NULL);
	if (replica == NULL) {
		row.generation++;
		row.changed_s = clock_real_s();
		return write_lagging(txn, route, name, &row);
	}
	err = row_write(txn, route, name, &row);
	return err == ERR_OK ? lag_put(txn, route, name, replica) : err;
}

enum err
row_drop(struct table_txn *txn, const struct route *route, const char *name)
{
	struct key key = key_of(route->name, name, NULL);
	struct row row;
	enum err err;

	err = row_get(txn, route, name, &row);
	if (err == ERR_OK)
		err = dropped_raise(txn, route, row.generation);
	else if (err == ERR_ABSENT)
		err = ERR_OK;
	if (err == ERR_OK)
		err = table_del(txn, TABLE_ROWS, key_bytes(&key));
	for (size_t i = 0; err == ERR_OK && i < route->n_replicas; i++)
		err = lag_del(txn, route, name, route->replicas[i]);
	return err;
}

enum err
row_next(struct table_txn *txn, const struct route *route, const char *name,
    char *next)
{
	struct key all = key_of(route->name, NULL);
	struct key at = key_of(route->name, name, NULL);
	struct table_bytes value;
	char stored[NAME_SIZE];
	struct unpack in;
	enum err err = key_next(txn, TABLE_ROWS, &all, &at, &value);

	if (err != ERR_OK)
		return err;
	in = unpack_of(value);
	unpack_text(&in, stored, sizeof(stored));
	if (in.broken)
		return unpack_failed("row after", name);
	strcpy(next, stored);
	return ERR_OK;
}

/* As lag_next(), whether there is a row or not. */
static enum err
lag_entry(struct table_txn *txn, const struct route *route,
    const struct upstream *replica, const char *name, struct lag *next)
{
	struct key all = key_of(route->name, replica->name, NULL);
	struct key at = key_of(route->name, replica->name, name, NULL);
	struct table_bytes value;
	enum err err = key_next(txn, TABLE_LAG, &all, &at, &value);

	return err == ERR_OK ? lag_read(value, next) : err;
}

enum err
lag_next(struct table_txn *txn, const struct route *route,
    const struct upstream *replica, const char *name, struct lag *next)
{
	struct lag lag;
	struct row row;
	enum err err;

	for (;;) {
		err = lag_entry(txn, route, replica, name, &lag);
		if (err != ERR_OK)
			return err;
		/* dropped while the replica was away: nothing to look at */
		err = row_get(txn, route, lag.name, &row);
		if (err == ERR_OK)
			*next = lag;
		if (err != ERR_ABSENT)
			return err;
		name = lag.name;
	}
}

enum err
lag_any(struct table_txn *txn, const struct route *route,
    const struct upstream *replica, bool *any)
{
	struct lag lag;
	enum err err = lag_next(txn, route, replica, "", &lag);

	if (err != ERR_OK && err != ERR_ABSENT)
		return err;
	*any = err == ERR_OK;
	return ERR_OK;
}

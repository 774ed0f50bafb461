/* row.h: a git repository's row: its generation, and who has which mark */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_ROW_H
#define SYNC_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "sync/peer.h"
#include "sync/table.h"

/* At which generation and epochs a replica had the primary's refs. */
struct mark {
	char upstream[WORD_SIZE];
	uint64_t generation;
	struct epochs epochs;
	int64_t at_s; /* real time, for people */
};

struct row {
	uint64_t generation; /* from 1; above any dropped row's */
	int64_t changed_s;   /* real time of the last raise, for people */
	char sha[65];	     /* last reported commit, or "" */
	unsigned n_marks;
	struct mark marks[MAX_REPLICAS];
};

/* ERR_ABSENT: no row. */
MUST_USE enum err row_get(struct table_txn *, const struct route *,
    const char *name, struct row *out);

/*
 * Makes the row, at its first generation and lagging everywhere, if there is
 * none; *made tells (may be NULL).  ERR_BUSY: the route's common fence
 * stands (MAX_FENCED), so that nobody knows whether this one has a fence.
 */
MUST_USE enum err row_learn(struct table_txn *, const struct route *,
    const char *name, bool *made);

/*
 * Generation + 1 and lagging at every replica.  ERR_ABSENT: no row, and
 * nothing was written.  sha, where not NULL, is noted as reported.
 */
MUST_USE enum err row_raise(struct table_txn *, const struct route *,
    const char *name, const char *sha, uint64_t *generation);

/*
 * Sets the mark of one replica, as noted before the comparison began.
 * Whoever holds the row's generation and the present epochs stops lagging
 * there; *current tells whether it does.  ERR_ABSENT: the row went away.
 * ERR_BUSY: see epochs_agree().
 */
MUST_USE enum err row_mark(struct table_txn *, const struct route *,
    const char *name, const struct upstream *replica, uint64_t generation,
    const struct epochs *, bool *current);

/*
 * Drops the mark of one replica, and lags there.  replica NULL: of all, and
 * the generation rises, so that no comparison under way counts.
 */
MUST_USE enum err row_void(struct table_txn *, const struct route *,
    const char *name, const struct upstream *replica);

/* Forgets row and lag; fences stay. */
MUST_USE enum err row_drop(struct table_txn *, const struct route *,
    const char *name);

/* The mark of that replica, of whatever generation; borrowed of row, or NULL. */
const struct mark *row_mark_of(const struct row *,
    const struct upstream *replica);
/* Has row a mark of that replica at its generation and these epochs? */
bool row_is_current(const struct row *, const struct upstream *replica,
    const struct epochs *);

/*
 * The next repository of a route after name ("" to begin): into next, of
 * NAME_SIZE.  ERR_ABSENT at the end.  Order is the table's.
 */
MUST_USE enum err row_next(struct table_txn *, const struct route *,
    const char *name, char *next);

/* The lag index: what a pass has to look at, and no more. */
struct lag {
	char name[NAME_SIZE];
	int64_t since_s; /* real time */
	char why[256];	 /* what failed last, printable, or "" */
};
/* As row_next(), for one replica. */
MUST_USE enum err lag_next(struct table_txn *, const struct route *,
    const struct upstream *replica, const char *name, struct lag *next);
/* Does the replica lag in anything?  Costs one look. */
MUST_USE enum err lag_any(struct table_txn *, const struct route *,
    const struct upstream *replica, bool *any);
/* One entry.  ERR_ABSENT: it does not lag there. */
MUST_USE enum err lag_get(struct table_txn *, const struct route *,
    const char *name, const struct upstream *replica, struct lag *out);
/* Notes what failed, printable, for people; nothing where it does not lag. */
MUST_USE enum err lag_note(struct table_txn *, const struct route *,
    const char *name, const struct upstream *replica, const char *why);
/* Puts a repository (a row that is there) into the index of one replica. */
MUST_USE enum err lag_put(struct table_txn *, const struct route *,
    const char *name, const struct upstream *replica);

#endif

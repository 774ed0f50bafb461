/* peer.h: what the table knows of upstreams and routes: epochs, health, off */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_PEER_H
#define SYNC_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "sync/table.h"

/*
 * An epoch is a number that every mark carries; raising it voids all marks
 * of a route, or of one replica of it, with one key and no rewriting.
 */
struct epochs {
	uint64_t route;
	uint64_t replica;
};

/* An absent epoch is 0.  replica may be NULL: then only .route is set. */
MUST_USE enum err epochs_get(struct table_txn *, const struct route *,
    const struct upstream *replica, struct epochs *out);
/* replica NULL raises the route's. */
MUST_USE enum err epoch_raise(struct table_txn *, const struct route *,
    const struct upstream *replica);
/*
 * Raises every epoch of whatever changed its fingerprint since it was last
 * noted, or has none noted, and notes the new ones.  *changed counts them.
 * What conf has no more is noted no more: when it is back, its epoch rises.
 */
MUST_USE enum err epochs_adopt(struct table_txn *, const struct conf *,
    unsigned *changed);

/*
 * ERR_BUSY where the table follows another configuration of this route or
 * replica than the caller has, until that is read again: two programs that
 * are told to reload do so one after the other, and what the one compares
 * by the old must not count by the new.
 */
MUST_USE enum err epochs_agree(struct table_txn *, const struct route *,
    const struct upstream *replica);

/*
 * The epochs for which the rows of a route were last put into the lag index
 * of a replica; when they differ from epochs_get(), it is to be done again.
 */
MUST_USE enum err epochs_requeued(struct table_txn *, const struct route *,
    const struct upstream *replica, struct epochs *out);
MUST_USE enum err epochs_note_requeued(struct table_txn *, const struct route *,
    const struct upstream *replica, const struct epochs *);

/* An upstream's health and drain, an absent one being up and not drained. */
struct peer {
	bool down;
	bool drained;
	int64_t since_s; /* real time of the last change of down */
	char why[256];	 /* of down; printable */
};
MUST_USE enum err peer_get(struct table_txn *, const char *upstream,
    struct peer *out);
/*
 * Down: from now on no read goes there.  Up again: the epoch of the replica
 * rises in every route of conf that has it, in the same transaction.
 * *changed tells whether it was news.
 */
MUST_USE enum err peer_set_down(struct table_txn *, const struct upstream *,
    const char *why, bool *changed);
MUST_USE enum err peer_set_up(struct table_txn *, const struct conf *,
    const struct upstream *, bool *changed);
MUST_USE enum err peer_drain(struct table_txn *, const char *upstream,
    bool drained);

/*
 * A person's word on a route: off, all of its reads go to the primary, and
 * all else goes on.  *since_s: real time, or 0 while it is on.
 */
MUST_USE enum err route_off_get(struct table_txn *, const struct route *,
    int64_t *since_s);
MUST_USE enum err route_off_set(struct table_txn *, const struct route *,
    bool off);

#endif

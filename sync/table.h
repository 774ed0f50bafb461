/* table.h: the commit table's storage: keys, values, transactions on LMDB */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_TABLE_H
#define SYNC_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/err.h"

/*
 * The only user of LMDB.  What the bytes mean is told by the nouns that
 * stand on it: row.h, fence.h, place.h, peer.h.  No pointer into the map
 * leaves a transaction, and no transaction spans a network call.
 *
 * Errors: ERR_ABSENT where there is no such key (or, from table_open(), no
 * table); ERR_TABLE for everything that the storage cannot do, with the
 * sentence for the log.
 */

/* In state_dir; LMDB's lock file beside it has "-lock" behind its name. */
#define TABLE_FILE "table.mdb"
/* Raised when the meaning of stored bytes changes; another one is refused. */
#define TABLE_FORMAT 1
/* Longest key in bytes (LMDB's bound is 511); a longer one is hashed. */
#define MAX_KEY 480

/* The rooms of the table; values of those keyed by a name begin with it. */
enum table_db {
	TABLE_ROWS,	   /* route, name -> generation and marks */
	TABLE_LAG,	   /* route, replica, name -> since when */
	TABLE_FENCES,	   /* route, name -> set of fences */
	TABLE_TOKENS,	   /* token -> what it was handed out for */
	TABLE_PLACEMENTS,  /* route, name -> upstream */
	TABLE_PROVISIONAL, /* expiry, route, name -> route */
	TABLE_PEERS,	   /* epochs, health, drains, routes that are off */
	TABLE_IMPORTS,	   /* route, side -> progress of an import */
	TABLE_DBS
};

struct table;
struct table_txn;

struct table_bytes {
	const void *data;
	size_t len;
};

/*
 * Opens the table in state_dir, files 0660 as far as the umask allows.
 * may_create makes it (the directory must be there); without it an absent
 * table is ERR_ABSENT.  Clears the slots of readers that died.  One struct
 * table serves all threads of a process; never open it twice in one, nor
 * use it in a child.
 */
MUST_USE enum err table_open(const char *state_dir, bool may_create,
    struct table **out);
void table_close(struct table *);

/*
 * Runs body in a transaction over one snapshot, and returns what it
 * returned; a write is committed, durably, exactly if body returned ERR_OK.
 * body may run more than once (the map is grown when full, or adopted when
 * another process grew it), so it must start from its arguments each time.
 * A failure of the storage inside it cannot be ignored: it is ERR_TABLE.
 * One transaction a thread at a time.
 */
typedef enum err table_body(struct table_txn *, void *arg);
MUST_USE enum err table_read(struct table *, table_body *, void *arg);
MUST_USE enum err table_write(struct table *, table_body *, void *arg);

/* Value bytes are borrowed until the transaction's next call. */
MUST_USE enum err table_get(struct table_txn *, enum table_db,
    struct table_bytes key, struct table_bytes *value);
MUST_USE enum err table_put(struct table_txn *, enum table_db,
    struct table_bytes key, struct table_bytes value);
/* ERR_OK also where there was none. */
MUST_USE enum err table_del(struct table_txn *, enum table_db,
    struct table_bytes key);
/*
 * The first entry whose key is at or after (above: after) key, which may be
 * empty; both out values are borrowed until the transaction's next call.
 * ERR_ABSENT at the end.
 */
MUST_USE enum err table_seek(struct table_txn *, enum table_db,
    struct table_bytes key, bool above, struct table_bytes *found,
    struct table_bytes *value);
/* How many entries there are. */
MUST_USE enum err table_count(struct table_txn *, enum table_db, size_t *count);

/* For status: bytes of the file and of the map, and reader slots in use. */
struct table_size {
	size_t used, map;
	unsigned readers;
};
MUST_USE enum err table_measure(struct table *, struct table_size *out);
/* Clears the slots of readers that died; how many. */
unsigned table_clear_readers(struct table *);

#endif

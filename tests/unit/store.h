/* store.h: a bare table for a test: one entry, or many large ones, at a time */
/* SPDX-License-Identifier: ISC */
#ifndef TESTS_UNIT_STORE_H
#define TESTS_UNIT_STORE_H

#include <stddef.h>
#include <sys/types.h>

#include "sync/table.h"

/* The first map of a new table, in bytes. */
#define FIRST_MAP (16UL << 20)
/* So many entries of put_bulk(), a page each, pass it. */
#define BULK (unsigned)(FIRST_MAP / 4096 + 1000)

struct table_bytes bytes(const char *text);
/* A directory of that name in tap_dir(), for the caller to free. */
char *new_dir(const char *name);
/* Ends the test where it cannot. */
struct table *open_new(const char *dir);
/* Waits for a child; its status. */
int finish(pid_t pid);

/* One entry put, read or counted, for tests in which that is enough. */
enum err put(struct table *, enum table_db, const char *key, const char *value);
/* Borrowed until the next call; NULL for none, or for a failure. */
const char *get(struct table *, enum table_db, const char *key);
/* SIZE_MAX for a failure. */
size_t count(struct table *, enum table_db);

/* Bodies that put, and count the good ones of, many entries in TABLE_ROWS. */
struct bulk {
	unsigned from, to;
	unsigned runs; /* of the body so far */
	unsigned good;
};
enum err put_bulk(struct table_txn *, void *bulk);
enum err check_bulk(struct table_txn *, void *bulk);

#endif

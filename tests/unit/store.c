/* store.c: a bare table for a test: one entry, or many large ones, at a time */
/* SPDX-License-Identifier: ISC */
#include "tests/unit/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "conf/mem.h"
#include "tests/unit/tap.h"

/* A value larger than half a page: it takes one of its own. */
#define BIG 4000

struct entry {
	enum table_db db;
	const char *key;
	const char *value;
	char got[64];
	size_t count;
};

struct table_bytes
bytes(const char *text)
{
	return (struct table_bytes){ text, strlen(text) };
}

char *
new_dir(const char *name)
{
	char *dir = mem_fmt("%s/%s", tap_dir(), name);

	mkdir(dir, 0770);
	return dir;
}

struct table *
open_new(const char *dir)
{
	struct table *table = NULL;

	if (table_open(dir, true, &table) != ERR_OK) {
		printf("Bail out! %s\n", err_text());
		exit(1);
	}
	return table;
}

static enum err
put_entry(struct table_txn *txn, void *arg)
{
	struct entry *entry = arg;

	return table_put(txn, entry->db, bytes(entry->key),
	    bytes(entry->value));
}

static enum err
get_entry(struct table_txn *txn, void *arg)
{
	struct entry *entry = arg;
	struct table_bytes value;
	enum err err = table_get(txn, entry->db, bytes(entry->key), &value);

	if (err == ERR_OK)
		snprintf(entry->got, sizeof(entry->got), "%.*s", (int)value.len,
		    (const char *)value.data);
	return err;
}

static enum err
count_entries(struct table_txn *txn, void *arg)
{
	struct entry *entry = arg;

	return table_count(txn, entry->db, &entry->count);
}

enum err
put(struct table *table, enum table_db db, const char *key, const char *value)
{
	struct entry entry = { .db = db, .key = key, .value = value };

	return table_write(table, put_entry, &entry);
}

const char *
get(struct table *table, enum table_db db, const char *key)
{
	static struct entry entry;

	entry = (struct entry){ .db = db, .key = key };
	return table_read(table, get_entry, &entry) == ERR_OK ? entry.got
							      : NULL;
}

size_t
count(struct table *table, enum table_db db)
{
	struct entry entry = { .db = db };

	return table_read(table, count_entries, &entry) == ERR_OK ? entry.count
								  : SIZE_MAX;
}

int
finish(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	return status;
}

static void
bulk_entry(unsigned i, char key[16], uint8_t value[BIG])
{
	snprintf(key, 16, "k%08u", i);
	memset(value, (int)(i & 0xff), BIG);
}

enum err
put_bulk(struct table_txn *txn, void *arg)
{
	struct bulk *bulk = arg;
	uint8_t value[BIG];
	char key[16];
	enum err err = ERR_OK;

	bulk->runs++;
	for (unsigned i = bulk->from; i < bulk->to && err == ERR_OK; i++) {
		bulk_entry(i, key, value);
		err = table_put(txn, TABLE_ROWS, bytes(key),
		    (struct table_bytes){ value, BIG });
	}
	return err;
}

enum err
check_bulk(struct table_txn *txn, void *arg)
{
	struct bulk *bulk = arg;
	struct table_bytes found;
	uint8_t value[BIG];
	char key[16];

	bulk->good = 0;
	for (unsigned i = bulk->from; i < bulk->to; i++) {
		bulk_entry(i, key, value);
		if (table_get(txn, TABLE_ROWS, bytes(key), &found) == ERR_OK &&
		    found.len == BIG && memcmp(found.data, value, BIG) == 0)
			bulk->good++;
	}
	return ERR_OK;
}

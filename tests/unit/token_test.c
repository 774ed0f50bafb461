/* token_test.c: what the table remembers of the tokens handed out */
/* SPDX-License-Identifier: ISC */
#include "sync/token.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "conf/clock.h"
#include "sync/pack.h"
#include "tests/unit/tap.h"

#define FIRST "00000000000000000000000000000001"
#define SECOND "a0000000000000000000000000000002"
/* More than one call of tokens_expire() drops. */
#define MANY 12345
/* Entries of a full table, so many a transaction. */
#define FULL (2 * MAX_TOKENS)
#define FILL (FULL / 10)

struct work {
	const char *token;
	struct token record; /* in and out */
	int64_t before_s;
	unsigned dropped, from;
	size_t entries;
};

static enum err
put_body(struct table_txn *txn, void *arg)
{
	struct work *work = arg;

	return token_put(txn, work->token, work->record.use, work->record.route,
	    work->record.name);
}

static enum err
get_body(struct table_txn *txn, void *arg)
{
	struct work *work = arg;

	return token_get(txn, work->token, &work->record);
}

static enum err
drop_body(struct table_txn *txn, void *arg)
{
	struct work *work = arg;

	return token_drop(txn, work->token);
}

static enum err
expire_body(struct table_txn *txn, void *arg)
{
	struct work *work = arg;

	return tokens_expire(txn, work->before_s, &work->dropped);
}

static enum err
count_body(struct table_txn *txn, void *arg)
{
	struct work *work = arg;

	return table_count(txn, TABLE_TOKENS, &work->entries);
}

static enum err
put(struct table *table, const char *token, enum token_use use,
    const char *route, const char *name)
{
	struct work work = { .token = token, .record.use = use };

	strcpy(work.record.route, route);
	strcpy(work.record.name, name);
	return table_write(table, put_body, &work);
}

static enum err
get(struct table *table, const char *token)
{
	struct work work = { .token = token };

	return table_read(table, get_body, &work);
}

static long long
entries(struct table *table)
{
	struct work work = { .entries = 0 };

	return table_read(table, count_body, &work) == ERR_OK
	    ? (long long)work.entries
	    : -1;
}

/* name "a", route "r", use, time */
#define SOUND "\0\1a\0\1r\0\0\0\0\0\0\0\0\1"

static enum err
damage_body(struct table_txn *txn, void *arg)
{
	struct key of = key_of("of", FIRST, NULL);
	const struct table_bytes *bytes = arg;

	return table_put(txn, TABLE_TOKENS, key_bytes(&of), *bytes);
}

/* A token of long ago. */
static enum err
put_old(struct table_txn *txn, void *arg)
{
	struct key at = key_of("at", "0000000000000001", FIRST, NULL);
	struct table_bytes sound = { SOUND, 15 };
	enum err err = damage_body(txn, &sound);

	(void)arg;
	return err != ERR_OK ? err
			     : table_put(txn, TABLE_TOKENS, key_bytes(&at),
				   (struct table_bytes){ "\0\40" FIRST, 34 });
}

static void
test_put(struct table *table)
{
	struct work work = { .token = FIRST };
	int64_t now_s = clock_real_s();
	char longest[NAME_SIZE];

	memset(longest, 'n', MAX_NAME);
	longest[MAX_NAME] = '\0';
	tap_int(get(table, FIRST), ERR_ABSENT, "an unknown token");
	tap_int(get(table, ""), ERR_ABSENT, "no token at all");
	tap_int(put(table, FIRST, TOKEN_PLACE, "reg", longest), ERR_OK, "put");
	tap_int(table_read(table, get_body, &work), ERR_OK, "got");
	tap_int(work.record.use, TOKEN_PLACE, "its use");
	tap_str(work.record.route, "reg", "its route");
	tap_str(work.record.name, longest, "its name");
	tap_ok(work.record.at_s >= now_s, "its time");

	tap_int(put(table, FIRST, TOKEN_MANIFEST, "reg", "a"), ERR_OK,
	    "put again");
	tap_int(table_read(table, get_body, &work), ERR_OK, "got");
	tap_int(work.record.use, TOKEN_MANIFEST, "the last use counts");
	tap_int(entries(table), 2, "and leaves nothing behind");

	tap_int(table_write(table, drop_body, &work), ERR_OK, "dropped");
	tap_int(table_write(table, put_old, NULL), ERR_OK, "an old one");
	tap_int(put(table, FIRST, TOKEN_PUSH, "reg", "a"), ERR_OK,
	    "is put again");
	tap_int(entries(table), 2, "only the new one is there");
	tap_int(put(table, SECOND, TOKEN_PUSH, "stash", "p/r"), ERR_OK,
	    "another one");
	tap_int(table_write(table, drop_body, &work), ERR_OK, "one is dropped");
	tap_int(get(table, FIRST), ERR_ABSENT, "it is gone");
	tap_int(get(table, SECOND), ERR_OK, "the other is not");
	tap_int(table_write(table, drop_body, &work), ERR_OK,
	    "dropped once more");
	tap_int(entries(table), 2, "no entry is left behind");
}

static enum err
put_many(struct table_txn *txn, void *arg)
{
	enum err err = ERR_OK;
	char token[TOKEN_SIZE];

	(void)arg;
	for (unsigned i = 0; i < MANY && err == ERR_OK; i++) {
		snprintf(token, sizeof(token), "%08x%024x", i * 2654435761u, i);
		err = token_put(txn, token, TOKEN_PLACE, "reg", "a");
	}
	return err;
}

static void
test_expire(struct table *table)
{
	struct work work = { .before_s = clock_real_s() - 3600 };

	tap_int(table_write(table, put_many, NULL), ERR_OK, "many are put");
	tap_int(entries(table), 2 * MANY + 2, "they are there");
	tap_int(table_write(table, expire_body, &work), ERR_OK,
	    "none is older than an hour");
	tap_int(work.dropped, 0, "and none goes");
	work.before_s = clock_real_s() + 3600;
	tap_int(table_write(table, expire_body, &work), ERR_OK,
	    "all are older than a time to come");
	tap_int(work.dropped, 10000, "so many go in one call");
	tap_int(table_write(table, expire_body, &work), ERR_OK, "once more");
	tap_int(work.dropped, MANY + 1 - 10000, "and the rest goes");
	tap_int(entries(table), 0, "nothing is left behind");
	tap_int(table_write(table, expire_body, &work), ERR_OK, "once more");
	tap_int(work.dropped, 0, "and there is none");
}

/* Short entries below all tokens' keys, as many as a full table has. */
static enum err
fill_body(struct table_txn *txn, void *arg)
{
	struct work *work = arg;
	enum err err = ERR_OK;

	for (unsigned i = 0; i < FILL && err == ERR_OK; i++) {
		unsigned n = work->from + i;
		uint8_t key[4] = { (uint8_t)(n >> 24), (uint8_t)(n >> 16),
			(uint8_t)(n >> 8), (uint8_t)n };

		err = table_put(txn, TABLE_TOKENS,
		    (struct table_bytes){ key, 4 },
		    (struct table_bytes){ "", 0 });
	}
	return err;
}

static void
test_full(struct table *table)
{
	struct work work = { .from = 0 };
	enum err err = ERR_OK;

	for (; work.from < FULL && err == ERR_OK; work.from += FILL)
		err = table_write(table, fill_body, &work);
	tap_int(err, ERR_OK, "the table is full");
	tap_int(put(table, SECOND, TOKEN_PUSH, "stash", "p/r"), ERR_OK,
	    "one more is no error");
	tap_int(get(table, SECOND), ERR_ABSENT, "but unknown");
}

static const struct {
	const char *what;
	struct table_bytes bytes;
	enum err err;
} damages[] = {
	{ "sound", { SOUND, 15 }, ERR_OK },
	{ "empty", { "", 0 }, ERR_TABLE },
	{ "too short", { SOUND, 14 }, ERR_TABLE },
	{ "too long", { SOUND "x", 16 }, ERR_TABLE },
	{ "of no use", { "\0\1a\0\1r\3\0\0\0\0\0\0\0\1", 15 }, ERR_TABLE },
	{ "full of lies", { "\xff\xff" SOUND, 17 }, ERR_TABLE },
};

static void
test_damage(struct table *table)
{
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		if (table_write(table, damage_body,
			(void *)&damages[i].bytes) != ERR_OK)
			exit(1);
		tap_int(get(table, FIRST), damages[i].err,
		    "a record that is %s", damages[i].what);
	}
	tap_ok(strstr(err_text(), "damaged") != NULL, "says %s", err_text());
}

int
main(void)
{
	struct table *table;

	umask(0007);
	if (table_open(tap_dir(), true, &table) != ERR_OK)
		return 1;
	test_put(table);
	test_expire(table);
	test_damage(table);
	test_full(table);
	table_close(table);
	return tap_done();
}

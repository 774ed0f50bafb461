/* token.c: tokens handed out, and for what: the completion feed's memory */
/* SPDX-License-Identifier: ISC */
#include "sync/token.h"

#include <assert.h>
#include <string.h>

#include "conf/clock.h"
#include "sync/pack.h"

/* Tokens that one call of tokens_expire() drops. */
#define MAX_EXPIRE 10000

/*
 * A token has two entries: "of", token -> what it was handed out for; and
 * "at", time, token -> token, by which those too old are found.
 */
#define KEY_OF "of"
#define KEY_AT "at"

static struct key
key_at(int64_t at_s, const char *token)
{
	char word[TIME_WORD_SIZE];

	time_word(at_s, word);
	return key_of(KEY_AT, word, token, NULL);
}

static enum err
drop_both(struct table_txn *txn, const char *token, int64_t at_s)
{
	struct key at = key_at(at_s, token), of = key_of(KEY_OF, token, NULL);
	enum err err = table_del(txn, TABLE_TOKENS, key_bytes(&at));

	return err != ERR_OK ? err
			     : table_del(txn, TABLE_TOKENS, key_bytes(&of));
}

static enum err
put_both(struct table_txn *txn, const char *token, const struct token *record)
{
	struct key at = key_at(record->at_s, token);
	struct key of = key_of(KEY_OF, token, NULL);
	struct pack index = { .len = 0 }, pack = { .len = 0 };
	enum err err;

	pack_text(&index, token);
	pack_text(&pack, record->name);
	pack_text(&pack, record->route);
	pack_u8(&pack, (uint8_t)record->use);
	pack_u64(&pack, (uint64_t)record->at_s);
	err = table_put(txn, TABLE_TOKENS, key_bytes(&at), pack_bytes(&index));
	return err != ERR_OK
	    ? err
	    : table_put(txn, TABLE_TOKENS, key_bytes(&of), pack_bytes(&pack));
}

enum err
token_get(struct table_txn *txn, const char *token, struct token *out)
{
	struct key key = key_of(KEY_OF, token, NULL);
	struct table_bytes value;
	struct token record;
	struct unpack in;
	enum err err = table_get(txn, TABLE_TOKENS, key_bytes(&key), &value);
	uint8_t use;

	if (err != ERR_OK)
		return err;
	in = unpack_of(value);
	unpack_text(&in, record.name, sizeof(record.name));
	unpack_text(&in, record.route, sizeof(record.route));
	use = unpack_u8(&in);
	record.at_s = (int64_t)unpack_u64(&in);
	if (!unpack_whole(&in) || use > TOKEN_MANIFEST)
		return err_set(ERR_TABLE, "the table's token %s is damaged",
		    token);
	record.use = use;
	*out = record;
	return ERR_OK;
}

enum err
token_put(struct table_txn *txn, const char *token, enum token_use use,
    const char *route, const char *name)
{
	struct token record;
	size_t entries;
	enum err err = token_get(txn, token, &record);

	assert(strlen(route) < sizeof(record.route) &&
	    strlen(name) < sizeof(record.name));
	if (err == ERR_OK)
		err = drop_both(txn, token, record.at_s);
	else if (err == ERR_ABSENT)
		err = ERR_OK;
	if (err == ERR_OK)
		err = table_count(txn, TABLE_TOKENS, &entries);
	if (err != ERR_OK || entries >= 2 * (size_t)MAX_TOKENS)
		return err;
	record = (struct token){ .use = use, .at_s = clock_real_s() };
	strcpy(record.route, route);
	strcpy(record.name, name);
	return put_both(txn, token, &record);
}

enum err
token_drop(struct table_txn *txn, const char *token)
{
	struct token record;
	enum err err = token_get(txn, token, &record);

	if (err == ERR_ABSENT)
		return ERR_OK;
	return err != ERR_OK ? err : drop_both(txn, token, record.at_s);
}

/* The oldest token; ERR_ABSENT where there is none from before bound. */
static enum err
oldest(struct table_txn *txn, const struct key *bound, struct key *at,
    char token[TOKEN_SIZE])
{
	struct key all = key_of(KEY_AT, NULL);
	struct table_bytes found, value;
	struct unpack in;
	enum err err = table_seek(txn, TABLE_TOKENS, key_bytes(&all), false,
	    &found, &value);

	if (err != ERR_OK)
		return err;
	if (!key_under(&all, found) || !key_before(found, bound))
		return ERR_ABSENT;
	memcpy(at->bytes, found.data, found.len);
	at->len = found.len;
	in = unpack_of(value);
	/* a damaged one becomes "", and is dropped as well */
	unpack_text(&in, token, TOKEN_SIZE);
	return ERR_OK;
}

enum err
tokens_expire(struct table_txn *txn, int64_t before_s, unsigned *dropped)
{
	char word[TIME_WORD_SIZE], token[TOKEN_SIZE];
	struct key bound, at, of;
	unsigned n = 0;
	enum err err;

	time_word(before_s, word);
	bound = key_of(KEY_AT, word, NULL);
	while (n < MAX_EXPIRE) {
		err = oldest(txn, &bound, &at, token);
		if (err == ERR_ABSENT)
			break;
		if (err == ERR_OK)
			err = table_del(txn, TABLE_TOKENS, key_bytes(&at));
		of = key_of(KEY_OF, token, NULL);
		if (err == ERR_OK)
			err = table_del(txn, TABLE_TOKENS, key_bytes(&of));
		if (err != ERR_OK)
			return err;
		n++;
	}
	*dropped = n;
	return ERR_OK;
}

/* token.h: tokens handed out, and for what: the completion feed's memory */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_TOKEN_H
#define SYNC_TOKEN_H

#include <stdint.h>

#include "conf/crypto.h"
#include "conf/name.h"
#include "sync/table.h"

/* Tokens remembered; beyond that the feed's lines of new ones are unknown. */
#define MAX_TOKENS 1000000

enum token_use {
	TOKEN_PUSH,	/* a fence of a git repository */
	TOKEN_PLACE,	/* a registry write that found no final placement */
	TOKEN_MANIFEST, /* the same, a manifest PUT */
};

struct token {
	enum token_use use;
	int64_t at_s; /* real time */
	char route[WORD_SIZE];
	char name[NAME_SIZE];
};

/* Again under the same token: the last one counts. */
MUST_USE enum err token_put(struct table_txn *, const char *token,
    enum token_use, const char *route, const char *name);
/* ERR_ABSENT: never handed out, or too long ago. */
MUST_USE enum err token_get(struct table_txn *, const char *token,
    struct token *out);
/* ERR_OK also where there was none. */
MUST_USE enum err token_drop(struct table_txn *, const char *token);
/* Drops those handed out before that time; at most 10,000 a call. */
MUST_USE enum err tokens_expire(struct table_txn *, int64_t before_s,
    unsigned *dropped);

#endif

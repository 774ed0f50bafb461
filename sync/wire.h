/* wire.h: bodies on the wire, in and out; the only user of json-c */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_WIRE_H
#define SYNC_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/mem.h"
#include "sync/refs.h"
#include "sync/report.h"

/* Body limits, refused before a byte is parsed, in bytes. */
#define MAX_PUSH_BODY (1UL << 20)
#define MAX_FETCH_BODY (64UL << 10)
#define MAX_CATALOGUE_BODY (16UL << 20)
/* JSON nested deeper than this is refused. */
#define MAX_DEPTH 16

/*
 * Every wire_get_ function: ERR_INPUT with the field that is missing or
 * wrong, in words that hold nothing of the body; ERR_LIMIT beyond the
 * body's limit.
 *
 * JSON: the seed's form ({"route","project","repo","sha1"}, route may be
 * left out) or the hooks' ({"route","repository","phase","token","refs"},
 * phase, token and refs may be).  A project "-" is none.
 */
MUST_USE enum err wire_get_push(const char *body, size_t len,
    struct push_report *out);
/* The seed's form as a query or a form body: project=P&repo=R&sha1=H. */
MUST_USE enum err wire_get_push_form(const char *query, size_t len,
    struct push_report *out);
/*
 * {"repository","generation","fenced"}; behind them "note" where not NULL, and
 * where replicas were waited for (wanted is not 0) "wanted" and "have".
 */
struct push_answer {
	const char *name;
	uint64_t generation;
	bool fenced;
	const char *note;
	unsigned wanted, have;
};
void wire_put_push(const struct push_answer *, struct buf *out);

/* {"error":{"code","message"}} */
void wire_put_error(const char *code, const char *message, struct buf *out);
/* {"errors":[{"code","message","detail":null}]}, as registries say it */
void wire_put_registry_error(const char *code, const char *message,
    struct buf *out);

/* {"digest","refs","head","object_format"}; read by wire_get_refs(). */
void wire_put_refs(const struct refs_digest *, struct buf *out);
MUST_USE enum err wire_get_refs(const char *body, size_t len,
    struct refs_digest *out);

/* The body of POST .../fetch/: {"head","object_format"}. */
struct fetch_order {
	char head[MAX_REF + 1];
	char object_format[8];
};
void wire_put_fetch(const struct fetch_order *, struct buf *out);
MUST_USE enum err wire_get_fetch(const char *body, size_t len,
    struct fetch_order *out);

/*
 * {"repositories":[...]}: each name, legal or not, to take, until it is not
 * ERR_OK.
 */
typedef enum err wire_name(void *arg, const char *name);
MUST_USE enum err wire_get_catalogue(const char *body, size_t len,
    wire_name *take, void *arg, size_t *count);

/*
 * JSON for programs, in pieces: an object or array is begun, filled and
 * ended; key is NULL inside an array.  Keys keep their order; the text is
 * compact, one line.  Bytes that are no UTF-8 come out as \\xHH.
 */
struct wire;
struct wire *wire_new(void); /* of one object */
/* A value NULL is null. */
void wire_text(struct wire *, const char *key, const char *value);
void wire_number(struct wire *, const char *key, int64_t value);
void wire_bool(struct wire *, const char *key, bool value);
void wire_begin_object(struct wire *, const char *key);
void wire_begin_array(struct wire *, const char *key);
void wire_end(struct wire *);
/* Ends it and frees it; out is appended, with a newline. */
void wire_finish(struct wire *, struct buf *out);

#endif

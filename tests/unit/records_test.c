/* records_test.c: how far a request has come, and each lie */
/* SPDX-License-Identifier: ISC */
#include "fcgi/records.h"

#include <stdlib.h>
#include <string.h>

#include "conf/mem.h"
#include "tests/unit/tap.h"

/* FastCGI specification, 3.3 and 5.1: a keeping responder, of id 1. */
#define BEGIN "\1\1\0\1\0\10\0\0\0\1\1\0\0\0\0\0"
#define AUTHORIZER "\1\1\0\1\0\10\0\0\0\2\0\0\0\0\0\0"
/* 3.4: A=bc, with 3 bytes of padding */
#define PARAMS "\1\4\0\1\0\5\3\0\1\2Abc\0\0\0"
#define PARAMS_END "\1\4\0\1\0\0\0\0"
#define STDIN "\1\5\0\1\0\3\5\0xyz\0\0\0\0\0"
#define STDIN_END "\1\5\0\1\0\0\0\0"
#define PRELUDE BEGIN PARAMS PARAMS_END

#define TEXT(text) text, sizeof(text) - 1

static const struct {
	const char *name;
	const char *bytes;
	size_t len;
	size_t max_body;
	enum records_state state;
	size_t at;	 /* if whole */
	const char *why; /* if bad */
} rows[] = {
	{ "responder", TEXT(PRELUDE STDIN_END), 0, RECORDS_WHOLE, 48, NULL },
	{ "authorizer without an end of stdin",
	    TEXT(AUTHORIZER PARAMS PARAMS_END), 0, RECORDS_WHOLE, 40, NULL },
	{ "no parameters", TEXT(BEGIN PARAMS_END), 0, RECORDS_WHOLE, 24, NULL },
	{ "a body that nobody needs", TEXT(PRELUDE STDIN STDIN_END), 0,
	    RECORDS_WHOLE, 64, NULL },
	{ "a body", TEXT(PRELUDE STDIN STDIN_END), 3, RECORDS_WHOLE, 64, NULL },
	{ "a body that still comes", TEXT(PRELUDE STDIN), 3, RECORDS_MORE, 0,
	    NULL },
	{ "a body that is too long", TEXT(PRELUDE STDIN STDIN), 5,
	    RECORDS_WHOLE, 72, NULL },
	{ "the next request behind it", TEXT(PRELUDE STDIN_END PRELUDE), 0,
	    RECORDS_WHOLE, 48, NULL },
	{ "the next one, without an end of stdin", TEXT(PRELUDE PRELUDE), 0,
	    RECORDS_WHOLE, 40, NULL },
	{ "nothing", "", 0, 0, RECORDS_MORE, 0, NULL },
	{ "a pair across records",
	    TEXT(BEGIN "\1\4\0\1\0\2\0\0\1\2"
		       "\1\4\0\1\0\3\0\0Abc" PARAMS_END),
	    0, RECORDS_WHOLE, 45, NULL },
	{ "lengths of four bytes, across records",
	    TEXT(BEGIN "\1\4\0\1\0\2\0\0\200\0"
		       "\1\4\0\1\0\6\0\0\0\1\200\0\0\0"
		       "\1\4\0\1\0\1\0\0A" PARAMS_END),
	    0, RECORDS_WHOLE, 57, NULL },

	{ "version 2", TEXT("\2\1\0\1\0\10\0\0"), 0, RECORDS_BAD, 0,
	    "a version other than 1" },
	{ "HTTP", TEXT("GET / HTTP/1.1\r\n"), 0, RECORDS_BAD, 0,
	    "a version other than 1" },
	{ "parameters first", TEXT(PARAMS), 0, RECORDS_BAD, 0,
	    "no FCGI_BEGIN_REQUEST" },
	{ "a short beginning", TEXT("\1\1\0\1\0\7\0\0\0\1\1\0\0\0\0"), 0,
	    RECORDS_BAD, 0, "no FCGI_BEGIN_REQUEST" },
	{ "a filter", TEXT("\1\1\0\1\0\10\0\0\0\3\0\0\0\0\0\0"), 0, RECORDS_BAD,
	    0, "a role other than responder, authorizer" },
	{ "role 257", TEXT("\1\1\0\1\0\10\0\0\1\1\0\0\0\0\0\0"), 0, RECORDS_BAD,
	    0, "a role other than responder, authorizer" },
	{ "a second beginning", TEXT(BEGIN BEGIN), 0, RECORDS_BAD, 0,
	    "two requests at once" },
	{ "a second id", TEXT(BEGIN "\1\4\0\2\0\0\0\0"), 0, RECORDS_BAD, 0,
	    "two requests at once" },
	{ "aborted", TEXT(BEGIN "\1\2\0\1\0\0\0\0"), 0, RECORDS_BAD, 0,
	    "aborted by the web server" },
	{ "stdin within the parameters", TEXT(BEGIN PARAMS STDIN_END), 0,
	    RECORDS_BAD, 0, "a record out of order" },
	{ "parameters after their end", TEXT(PRELUDE PARAMS), 9, RECORDS_BAD, 0,
	    "a record out of order" },
	{ "an unknown type", TEXT(BEGIN "\1\14\0\1\0\0\0\0"), 0, RECORDS_BAD, 0,
	    "a record out of order" },
	{ "FCGI_GET_VALUES", TEXT("\1\11\0\0\0\0\0\0"), 0, RECORDS_BAD, 0,
	    "a management record" },
	{ "FCGI_GET_VALUES, with a huge claim",
	    TEXT("\1\11\0\0\0\10\0\0\377\377\377\376\1AAA"), 0, RECORDS_BAD, 0,
	    "a management record" },
	{ "FCGI_GET_VALUES within a request", TEXT(BEGIN "\1\11\0\0\0\0\0\0"),
	    0, RECORDS_BAD, 0, "a management record" },
	/* CVE-2025-23016, and what its first fix left */
	{ "a name of 0x7ffffffe bytes, a value of 1",
	    TEXT(BEGIN "\1\4\0\1\0\6\0\0\377\377\377\376\1A"), 0, RECORDS_BAD,
	    0, "the length of a parameter" },
	{ "a name of 0x7fffffff bytes",
	    TEXT(BEGIN "\1\4\0\1\0\4\0\0\377\377\377\377"), 0, RECORDS_BAD, 0,
	    "the length of a parameter" },
	{ "a value of 0x7fffffff bytes",
	    TEXT(BEGIN "\1\4\0\1\0\5\0\0\1\377\377\377\377"), 0, RECORDS_BAD, 0,
	    "the length of a parameter" },
	{ "a value of 0x40000000 bytes",
	    TEXT(BEGIN "\1\4\0\1\0\5\0\0\1\300\0\0\0"), 0, RECORDS_BAD, 0,
	    "the length of a parameter" },
	{ "a value longer than what comes",
	    TEXT(BEGIN "\1\4\0\1\0\5\0\0\1\3Abc" PARAMS_END), 0, RECORDS_BAD, 0,
	    "a parameter longer than all of them" },
	{ "a name without a value", TEXT(BEGIN "\1\4\0\1\0\1\0\0\1" PARAMS_END),
	    0, RECORDS_BAD, 0, "a parameter longer than all of them" },
	{ "padding behind the beginning",
	    TEXT("\1\1\0\1\0\10\10\0\0\1\0\0\0\0\0\0"), 0, RECORDS_BAD, 0,
	    "padding where libfcgi skips none" },
	{ "a huge FCGI_GET_VALUES as padding behind the parameters",
	    TEXT(BEGIN PARAMS "\1\4\0\1\0\0\20\0"
			      "\1\11\0\0\0\10\0\0\377\377\377\376\1AAA"),
	    0, RECORDS_BAD, 0, "padding where libfcgi skips none" },
	{ "a NUL in a name", TEXT(BEGIN "\1\4\0\1\0\6\0\0\2\2A\0bc" PARAMS_END),
	    0, RECORDS_BAD, 0, "a NUL in a parameter" },
	{ "a NUL in a value, behind a record",
	    TEXT(BEGIN "\1\4\0\1\0\4\0\0\1\2Ab"
		       "\1\4\0\1\0\1\0\0\0" PARAMS_END),
	    0, RECORDS_BAD, 0, "a NUL in a parameter" },
	{ "half a length", TEXT(BEGIN "\1\4\0\1\0\2\0\0\200\0" PARAMS_END), 0,
	    RECORDS_BAD, 0, "a parameter longer than all of them" },
};

static enum records_state
read_all(struct records *records, const char *bytes, size_t len,
    size_t max_body)
{
	/* exactly so long, for the sanitizer */
	char *copy = malloc(len > 0 ? len : 1);
	enum records_state state;

	if (copy == NULL)
		abort();
	memcpy(copy, bytes, len);
	records_begin(records, max_body);
	state = records_read(records, copy, len);
	free(copy);
	return state;
}

static void
test_rows(void)
{
	struct records records;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		tap_int(read_all(&records, rows[i].bytes, rows[i].len,
			    rows[i].max_body),
		    rows[i].state, "%s", rows[i].name);
		if (rows[i].state == RECORDS_WHOLE)
			tap_int((long long)records.at, (long long)rows[i].at,
			    "%s: its length", rows[i].name);
		tap_str(records.why, rows[i].why, "%s: why", rows[i].name);
	}
}

/* The outcome is the same however the bytes come. */
static void
test_single_bytes(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum records_state state = RECORDS_MORE;
		struct records records;

		records_begin(&records, rows[i].max_body);
		for (size_t n = 0; n <= rows[i].len && state == RECORDS_MORE;
		     n++)
			state = records_read(&records, rows[i].bytes, n);
		tap_int(state, rows[i].state, "%s, byte by byte", rows[i].name);
	}
}

static void
test_truncated(void)
{
	static const char whole[] = PRELUDE STDIN STDIN_END;
	struct records records;
	size_t wrong = 0;

	for (size_t len = 0; len < sizeof(whole) - 1; len++)
		wrong += read_all(&records, whole, len, 3) != RECORDS_MORE;
	tap_int((long long)wrong, 0, "each truncation is incomplete");
}

static void
add_params(struct buf *out, size_t n, char byte)
{
	uint8_t header[RECORD_HEADER] = { 1, 4, 0, 1, (uint8_t)(n >> 8),
		(uint8_t)n };

	buf_add(out, header, sizeof(header));
	for (size_t i = 0; i < n; i++)
		buf_add(out, &byte, 1);
}

/* Empty ones: two lengths of 0 each. */
static void
test_limits(void)
{
	static const struct {
		size_t n;
		enum records_state state;
		const char *why;
	} counts[] = {
		{ MAX_PARAMS, RECORDS_WHOLE, NULL },
		{ MAX_PARAMS + 1, RECORDS_BAD, "too many parameters" },
	};
	struct records records;

	for (size_t i = 0; i < 2; i++) {
		struct buf bytes = { 0 };

		buf_add(&bytes, BEGIN, sizeof(BEGIN) - 1);
		add_params(&bytes, 2 * counts[i].n, '\0');
		buf_add(&bytes, PARAMS_END, RECORD_HEADER);
		tap_int(read_all(&records, bytes.data, bytes.len, 0),
		    counts[i].state, "%zu parameters", counts[i].n);
		tap_str(records.why, counts[i].why, "why");
		buf_free(&bytes);
	}
}

/* So many bytes: no name, and one value behind its length. */
static void
build_long(struct buf *out, size_t len)
{
	size_t value = len - 16 - 3 * RECORD_HEADER - 5;

	buf_reset(out);
	buf_add(out, BEGIN, sizeof(BEGIN) - 1);
	buf_add(out, "\1\4\0\1\0\5\0\0\0\200\0", 11);
	buf_add(out, (uint8_t[]){ (uint8_t)(value >> 8), (uint8_t)value }, 2);
	add_params(out, value, 'x');
	buf_add(out, PARAMS_END, RECORD_HEADER);
}

static void
test_long(void)
{
	struct records records;
	struct buf bytes = { 0 };

	build_long(&bytes, MAX_PRELUDE);
	tap_int((long long)bytes.len, MAX_PRELUDE, "a long request");
	tap_int(read_all(&records, bytes.data, bytes.len, 0), RECORDS_WHOLE,
	    "is read");
	build_long(&bytes, MAX_PRELUDE + 1);
	tap_int(read_all(&records, bytes.data, bytes.len, 0), RECORDS_BAD,
	    "and one of one byte more is not");
	tap_str(records.why, "the parameters are too long", "why");
	buf_reset(&bytes);
	buf_add(&bytes, BEGIN PARAMS, 32);
	buf_add(&bytes, "\1\4\0\1\377\377\377\0", 8);
	tap_int(read_all(&records, bytes.data, bytes.len, 0), RECORDS_BAD,
	    "a record beyond the limit, before it came");
	tap_str(records.why, "the parameters are too long", "why");
	buf_reset(&bytes);
	buf_add(&bytes, PRELUDE, sizeof(PRELUDE) - 1);
	for (int i = 0; i < 600; i++) {
		char padded[RECORD_HEADER + 256] = "\1\5\0\1\0\1\377";

		buf_add(&bytes, padded, sizeof(padded));
	}
	tap_int(read_all(&records, bytes.data, bytes.len, 1000), RECORDS_BAD,
	    "a body of one byte and 255 of padding a record");
	tap_str(records.why, "a body in too many pieces", "why");
	buf_free(&bytes);
}

static void
test_next(void)
{
	static const char more[] = STDIN STDIN_END PRELUDE;
	struct records records;

	tap_int(read_all(&records, PRELUDE, sizeof(PRELUDE) - 1, 0),
	    RECORDS_WHOLE, "one request");
	tap_ok(records.keep && !records.over, "its stdin still comes");
	records_next(&records);
	tap_int(records_read(&records, more, sizeof(more) - 1), RECORDS_WHOLE,
	    "then its stdin, and another");
	tap_int((long long)records.start, 24, "which begins behind");
	records_next(&records);
	tap_int(records_read(&records, STDIN_END STDIN_END, 16), RECORDS_BAD,
	    "stdin of nobody");
}

int
main(void)
{
	test_rows();
	test_single_bytes();
	test_truncated();
	test_limits();
	test_long();
	test_next();
	return tap_done();
}

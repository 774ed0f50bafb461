/* records.c: how far a FastCGI request has come, and whether it lies */
/* SPDX-License-Identifier: ISC */
#include "fcgi/records.h"

#include <string.h>

/* FastCGI specification, 8: what a web server sends. */
enum type {
	BEGIN_REQUEST = 1,
	ABORT_REQUEST = 2,
	PARAMS = 4,
	STDIN = 5,
};

enum role { RESPONDER = 1, AUTHORIZER = 2 };

#define FCGI_VERSION 1
#define KEEP_CONN 1
#define BEGIN_BODY 8

struct record {
	unsigned version, type, id, padding;
	const uint8_t *content;
	size_t len;
};

void
records_begin(struct records *records, size_t max_body)
{
	memset(records, 0, sizeof(*records));
	records->max_body = max_body;
}

void
records_next(struct records *records)
{
	unsigned last_id = records->over ? 0 : records->id;

	records_begin(records, records->max_body);
	records->last_id = last_id;
}

static enum records_state
bad(struct records *records, const char *why)
{
	records->why = why;
	return RECORDS_BAD;
}

/* One byte of a length (3.4); true if that is the last one. */
static bool
read_length(struct records *records, uint8_t byte)
{
	if (records->digits > 0) {
		records->claim = records->claim << 8 | byte;
		return --records->digits == 0;
	}
	records->claim = byte & 0x7f;
	records->digits = byte & 0x80 ? 3 : 0;
	return records->digits == 0;
}

/*
 * That each length is backed by bytes shows only at the end of PARAMS; a
 * claim beyond all bounds ends it at once.
 */
static enum records_state
read_params(struct records *records, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len;) {
		if (records->left > 0) {
			size_t n = len - i < records->left ? len - i
							   : records->left;

			/* C would read less than the web server did */
			if (memchr(bytes + i, '\0', n) != NULL)
				return bad(records, "a NUL in a parameter");
			records->left -= (uint32_t)n;
			i += n;
			continue;
		}
		if (!read_length(records, bytes[i++]))
			continue;
		if (records->claim > MAX_PRELUDE)
			return bad(records, "the length of a parameter");
		records->has_name = !records->has_name;
		if (records->has_name) {
			records->name = records->claim;
			continue;
		}
		records->left = records->name + records->claim;
		if (++records->n_params > MAX_PARAMS)
			return bad(records, "too many parameters");
	}
	return RECORDS_MORE;
}

static enum records_state
end_params(struct records *records)
{
	if (records->left > 0 || records->has_name || records->digits > 0)
		return bad(records, "a parameter longer than all of them");
	records->has_params = true;
	return records->max_body == 0 ? RECORDS_WHOLE : RECORDS_MORE;
}

static enum records_state
read_begin(struct records *records, const struct record *record)
{
	unsigned role;

	if (record->type == STDIN && record->id == records->last_id) {
		if (record->len == 0)
			records->last_id = 0;
		return RECORDS_MORE;
	}
	if (record->type != BEGIN_REQUEST || record->len != BEGIN_BODY)
		return bad(records, "no FCGI_BEGIN_REQUEST");
	role = record->content[0] << 8 | record->content[1];
	if (role != RESPONDER && role != AUTHORIZER)
		return bad(records, "a role other than responder, authorizer");
	records->start = records->at;
	records->id = record->id;
	records->keep = record->content[2] & KEEP_CONN;
	records->authorizer = role == AUTHORIZER;
	return RECORDS_MORE;
}

static enum records_state
read_stdin(struct records *records, const struct record *record)
{
	records->body += record->len;
	records->over = record->len == 0;
	records->cut = records->max_body > 0 &&
	    records->body > records->max_body;
	return records->over || records->cut || records->max_body == 0
	    ? RECORDS_WHOLE
	    : RECORDS_MORE;
}

static enum records_state
read_record(struct records *records, const struct record *record)
{
	if (records->id == 0)
		return read_begin(records, record);
	if (record->type == ABORT_REQUEST && record->id == records->id)
		return bad(records, "aborted by the web server");
	if (record->id != records->id || record->type == BEGIN_REQUEST)
		return bad(records, "two requests at once");
	if (record->type != (records->has_params ? STDIN : PARAMS))
		return bad(records, "a record out of order");
	if (records->has_params)
		return read_stdin(records, record);
	return record->len > 0
	    ? read_params(records, record->content, record->len)
	    : end_params(records);
}

/* What can be said before the whole record came. */
static enum records_state
check_header(struct records *records, const struct record *record)
{
	size_t end = records->at - records->start + RECORD_HEADER +
	    record->len + record->padding;
	size_t most = MAX_PRELUDE + 2 * records->max_body + MAX_RECORD;

	if (record->version != FCGI_VERSION)
		return bad(records, "a version other than 1");
	/* libfcgi takes this padding for records, and looks into them */
	if (record->padding > 0 &&
	    (record->type == BEGIN_REQUEST ||
		(record->type == PARAMS && record->len == 0)))
		return bad(records, "padding where libfcgi skips none");
	/* libfcgi reads lengths in these as carelessly as those of PARAMS */
	if (record->id == 0)
		return bad(records, "a management record");
	if (records->id != 0 && !records->has_params && end > MAX_PRELUDE)
		return bad(records, "the parameters are too long");
	if (records->max_body > 0 && end > most)
		return bad(records, "a body in too many pieces");
	return RECORDS_MORE;
}

/* May the one that begins at `at` be read?  If whole, it is not needed. */
static bool
is_next_request(const struct records *records, const struct record *record)
{
	return records->has_params && records->max_body == 0 &&
	    (record->type != STDIN || record->id != records->id);
}

enum records_state
records_read(struct records *records, const void *bytes, size_t len)
{
	enum records_state state = records->has_params && records->max_body == 0
	    ? RECORDS_WHOLE
	    : RECORDS_MORE;

	while (!records->over && !records->cut &&
	    len - records->at >= RECORD_HEADER) {
		const uint8_t *header = (const uint8_t *)bytes + records->at;
		struct record record = { .version = header[0],
			.type = header[1],
			.id = header[2] << 8 | header[3],
			.len = header[4] << 8 | header[5],
			.padding = header[6],
			.content = header + RECORD_HEADER };
		size_t size = RECORD_HEADER + record.len + record.padding;

		if (is_next_request(records, &record))
			break;
		if (check_header(records, &record) == RECORDS_BAD)
			return RECORDS_BAD;
		if (len - records->at < size)
			break;
		if ((state = read_record(records, &record)) == RECORDS_BAD)
			return state;
		records->at += size;
	}
	return state;
}

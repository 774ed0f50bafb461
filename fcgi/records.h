/* records.h: how far a FastCGI request has come, and whether it lies */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_RECORDS_H
#define FCGI_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes up to the end of PARAMS; a web server's longest header is 8 to 32 K. */
#define MAX_PRELUDE 65536
/* Some thirty are CGI's; the rest are the client's header lines. */
#define MAX_PARAMS 512
/* FastCGI specification, 3.3: header, content, padding. */
#define RECORD_HEADER 8
#define MAX_RECORD (RECORD_HEADER + 65535 + 255)

enum records_state { RECORDS_MORE, RECORDS_WHOLE, RECORDS_BAD };

/* One request of a connection, as far as it is read. */
struct records {
	size_t max_body;  /* 0: it is whole without a body */
	size_t start;	  /* where it begins */
	size_t at;	  /* behind the last record that was judged */
	unsigned id;	  /* 0: not begun */
	unsigned last_id; /* of the one before, whose STDIN still comes; or 0 */
	bool keep;	  /* FCGI_KEEP_CONN */
	bool authorizer;  /* whose STDIN, if any, is not waited for */
	bool has_params;  /* all of them */
	bool over;	  /* all of STDIN came, too */
	bool cut;	  /* at a body longer than max_body */
	size_t body;	  /* bytes of STDIN */
	const char *why;  /* it is bad; constant text */

	/* within PARAMS, whose pairs go across records (3.4) */
	unsigned n_params;
	unsigned digits; /* bytes of a length that still come */
	uint32_t claim;	 /* that length so far */
	bool has_name;	 /* the length of the name is known */
	uint32_t name;	 /* that one */
	uint32_t left;	 /* bytes of name and value that still come */
};

void records_begin(struct records *, size_t max_body);
/* The next request of a connection, its bytes from 0 again. */
void records_next(struct records *);

/*
 * bytes: all that came of this request so far, those of earlier calls
 * included.  Whole: [start, at) is a request without any lie, of whole
 * records, and of one id; it ends where PARAMS end or later, and has no end
 * of STDIN if cut, or if max_body is 0 and none came.  What is no request,
 * and no bad one, is not looked at twice, so a peer that sends single bytes
 * costs no more than another.
 */
enum records_state records_read(struct records *, const void *bytes,
    size_t len);

#endif

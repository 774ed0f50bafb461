/* answer_test.c: every answer, byte by byte */
/* SPDX-License-Identifier: ISC */
#include <stddef.h>

#include "fcgi/answer.h"
#include "tests/unit/tap.h"

#define TOKEN "0123456789abcdef0123456789abcdef"

static void
test_forms(void)
{
	static const struct {
		const char *role, *answer;
		enum answer_form form;
	} rows[] = {
		{ "AUTHORIZER", NULL, ANSWER_VARIABLES },
		{ "AUTHORIZER", "name", ANSWER_VARIABLES },
		{ "RESPONDER", "name", ANSWER_NAME },
		{ NULL, "name", ANSWER_NAME },
		{ "RESPONDER", NULL, ANSWER_ACCEL },
		{ "RESPONDER", "NAME", ANSWER_ACCEL },
		{ "authorizer", NULL, ANSWER_ACCEL },
		{ "", "", ANSWER_ACCEL },
		{ NULL, NULL, ANSWER_ACCEL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		tap_int(answer_form(rows[i].role, rows[i].answer), rows[i].form,
		    "role %s, answer %s",
		    rows[i].role ? rows[i].role : "(none)",
		    rows[i].answer ? rows[i].answer : "(none)");
}

static void
test_headers(void)
{
	static const struct {
		enum answer_form form;
		const char *upstream;
		enum reason reason;
		const char *token;
		const char *text;
	} rows[] = {
		{ ANSWER_VARIABLES, "slave1", REASON_REPLICA, NULL,
		    "Status: 200 OK\r\n"
		    "Variable-REPROUTE_UPSTREAM: slave1\r\n"
		    "Variable-REPROUTE_REASON: replica\r\n\r\n" },
		{ ANSWER_VARIABLES, "master", REASON_WRITE, TOKEN,
		    "Status: 200 OK\r\n"
		    "Variable-REPROUTE_UPSTREAM: master\r\n"
		    "Variable-REPROUTE_REASON: write\r\n"
		    "Variable-REPROUTE_TOKEN: " TOKEN "\r\n\r\n" },
		{ ANSWER_VARIABLES, UPSTREAM_HOLD, REASON_HELD, NULL,
		    "Status: 200 OK\r\n"
		    "Variable-REPROUTE_UPSTREAM: hold\r\n"
		    "Variable-REPROUTE_REASON: held\r\n\r\n" },
		{ ANSWER_VARIABLES, NULL, REASON_NO_ROUTE, NULL,
		    "Status: 404 Not Found\r\n"
		    "Variable-REPROUTE_REASON: no-route\r\n\r\n" },
		{ ANSWER_NAME, "slave1", REASON_REPLICA, NULL,
		    "Status: 200 OK\r\n"
		    "X-Reproute-Upstream: slave1\r\n"
		    "X-Reproute-Reason: replica\r\n\r\n" },
		{ ANSWER_NAME, "new", REASON_INCLUDED, TOKEN,
		    "Status: 200 OK\r\n"
		    "X-Reproute-Upstream: new\r\n"
		    "X-Reproute-Reason: included\r\n"
		    "X-Reproute-Token: " TOKEN "\r\n\r\n" },
		{ ANSWER_NAME, NULL, REASON_NO_ROUTE, TOKEN,
		    "Status: 404 Not Found\r\n"
		    "X-Reproute-Reason: no-route\r\n\r\n" },
		{ ANSWER_ACCEL, "slave1", REASON_REPLICA, NULL,
		    "Status: 200 OK\r\n"
		    "X-Accel-Redirect: @slave1\r\n"
		    "X-Reproute-Upstream: slave1\r\n"
		    "X-Reproute-Reason: replica\r\n\r\n" },
		{ ANSWER_ACCEL, "master", REASON_WRITE, TOKEN,
		    "Status: 200 OK\r\n"
		    "X-Accel-Redirect: @master\r\n"
		    "X-Reproute-Upstream: master\r\n"
		    "X-Reproute-Reason: write\r\n"
		    "X-Reproute-Token: " TOKEN "\r\n\r\n" },
		{ ANSWER_ACCEL, UPSTREAM_HOLD, REASON_HELD, NULL,
		    "Status: 200 OK\r\n"
		    "X-Accel-Redirect: @hold\r\n"
		    "X-Reproute-Upstream: hold\r\n"
		    "X-Reproute-Reason: held\r\n\r\n" },
		{ ANSWER_ACCEL, NULL, REASON_NO_ROUTE, NULL,
		    "Status: 404 Not Found\r\n"
		    "X-Reproute-Reason: no-route\r\n\r\n" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct decision decision = { .upstream = rows[i].upstream,
			.reason = rows[i].reason };
		struct buf out = { 0 };

		answer_headers(rows[i].form, &decision, rows[i].token, &out);
		tap_str(out.data, rows[i].text, "form %d, %s, %s",
		    (int)rows[i].form, reason_word(rows[i].reason),
		    rows[i].token ? "with a token" : "without a token");
		buf_free(&out);
	}
}

static void
test_reasons(void)
{
	static const struct {
		enum reason reason;
		const char *word;
	} rows[] = {
		{ REASON_NO_ROUTE, "no-route" },
		{ REASON_OTHER, "other" },
		{ REASON_WRITE, "write" },
		{ REASON_DOUBT, "doubt" },
		{ REASON_UNKNOWN, "unknown" },
		{ REASON_FENCED, "fenced" },
		{ REASON_LAGGING, "lagging" },
		{ REASON_DOWN, "down" },
		{ REASON_REPLICA, "replica" },
		{ REASON_PLACED, "placed" },
		{ REASON_NOT_IMPORTED, "not-imported" },
		{ REASON_EXCLUDED, "excluded" },
		{ REASON_NOT_INCLUDED, "not-included" },
		{ REASON_RULE_ERROR, "rule-error" },
		{ REASON_PERCENT, "percent" },
		{ REASON_INCLUDED, "included" },
		{ REASON_HELD, "held" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		tap_str(reason_word(rows[i].reason), rows[i].word,
		    "the word of reason %s", rows[i].word);
}

int
main(void)
{
	test_forms();
	test_headers();
	test_reasons();
	return tap_done();
}

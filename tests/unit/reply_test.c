/* reply_test.c: whole answers byte by byte, and who may ask */
/* SPDX-License-Identifier: ISC */
#include "fcgi/reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/unit/cgi.h"
#include "tests/unit/tap.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define SECRET "a-secret-of-24-characters"

static const struct {
	const char *claim;
	struct reply reply;
	const char *body, *text;
} rows[] = {
	{ "a body", { "200 OK", "text/plain", NULL }, "hello\n",
	    "Status: 200 OK\r\nContent-Type: text/plain\r\n"
	    "Cache-Control: no-store\r\nContent-Length: 6\r\n\r\nhello\n" },
	{ "no body", { "204 No Content", "text/plain", NULL }, "",
	    "Status: 204 No Content\r\nContent-Type: text/plain\r\n"
	    "Cache-Control: no-store\r\nContent-Length: 0\r\n\r\n" },
	{ "more headers",
	    { "405 Method Not Allowed", "text/plain",
		"Allow: GET\r\nRetry-After: 1\r\n" },
	    "x",
	    "Status: 405 Method Not Allowed\r\nContent-Type: text/plain\r\n"
	    "Cache-Control: no-store\r\nContent-Length: 1\r\n"
	    "Allow: GET\r\nRetry-After: 1\r\n\r\nx" },
};

static enum err sent;

static void
send_row(struct gateway_request *request, void *arg)
{
	size_t i = *(size_t *)arg;

	sent = reply_send(request, &rows[i].reply, rows[i].body,
	    strlen(rows[i].body));
}

static void
send_error(struct gateway_request *request, void *arg)
{
	(void)arg;
	sent = reply_error(request, "401 Unauthorized", REPLY_CHALLENGE,
	    "unauthorized", "say \"who\"");
}

static void
test_answers(void)
{
	const char *text, *body;
	char length[64];

	for (size_t i = 0; i < COUNT(rows); i++) {
		tap_str(cgi_ask(send_row, &i, ""), rows[i].text, "%s",
		    rows[i].claim);
		tap_int(sent, ERR_OK, "%s: is sent", rows[i].claim);
	}
	text = cgi_ask(send_error, NULL, "");
	body = strstr(text, "\r\n\r\n");
	body = body != NULL ? body + 4 : "";
	tap_ok(strncmp(text,
		   "Status: 401 Unauthorized\r\nContent-Type: "
		   "application/json\r\n",
		   58) == 0,
	    "an error is JSON");
	tap_ok(strstr(text,
		   "\r\nWWW-Authenticate: Bearer "
		   "realm=\"reproute\"\r\n") != NULL,
	    "and asks for a token");
	tap_ok(strstr(body, "\"unauthorized\"") != NULL &&
		strstr(body, "say \\\"who\\\"") != NULL,
	    "its body has code and message, escaped");
	snprintf(length, sizeof(length), "\r\nContent-Length: %zu\r\n",
	    strlen(body));
	tap_ok(strstr(text, length) != NULL, "and its length is told");
}

static const struct {
	const char *claim, *variables;
	enum err err;
} askers[] = {
	{ "the secret", "HTTP_AUTHORIZATION=Bearer " SECRET "\n", ERR_OK },
	{ "schemes have no case (RFC 9110, 11.1)",
	    "HTTP_AUTHORIZATION=bEARER " SECRET "\n", ERR_OK },
	{ "several blanks", "HTTP_AUTHORIZATION=Bearer    " SECRET "\n",
	    ERR_OK },
	{ "nothing", "", ERR_DENIED },
	{ "an empty header", "HTTP_AUTHORIZATION=\n", ERR_DENIED },
	{ "no token", "HTTP_AUTHORIZATION=Bearer \n", ERR_DENIED },
	{ "the scheme alone", "HTTP_AUTHORIZATION=Bearer\n", ERR_DENIED },
	{ "another scheme", "HTTP_AUTHORIZATION=Basic " SECRET "\n",
	    ERR_DENIED },
	{ "the secret without a scheme", "HTTP_AUTHORIZATION=" SECRET "\n",
	    ERR_DENIED },
	{ "another token",
	    "HTTP_AUTHORIZATION=Bearer b-secret-of-24-characters\n",
	    ERR_DENIED },
	{ "its beginning", "HTTP_AUTHORIZATION=Bearer a-secret-of-24\n",
	    ERR_DENIED },
	{ "more than it", "HTTP_AUTHORIZATION=Bearer " SECRET "x\n",
	    ERR_DENIED },
	{ "in capitals",
	    "HTTP_AUTHORIZATION=Bearer A-SECRET-OF-24-CHARACTERS\n",
	    ERR_DENIED },
	{ "a blank behind it", "HTTP_AUTHORIZATION=Bearer " SECRET " \n",
	    ERR_DENIED },
};

struct question {
	const char *file;
	enum err err;
};

static void
judge(struct gateway_request *request, void *arg)
{
	struct question *question = arg;

	question->err = reply_authorized(request, question->file);
}

static const struct {
	const char *claim, *text; /* text NULL: there is no file */
	mode_t mode;
	enum err err;
} files[] = {
	{ "no file", NULL, 0, ERR_SYS },
	{ "an empty file", "\n", 0600, ERR_CONF },
	{ "a short secret", "short\n", 0600, ERR_CONF },
	{ "one that all may read", SECRET "\n", 0644, ERR_CONF },
	{ "one of two lines", SECRET "\nmore\n", 0640, ERR_OK },
};

static void
write_secret(const char *path, const char *text, mode_t mode)
{
	FILE *file;

	remove(path);
	if (text == NULL)
		return;
	file = fopen(path, "we");
	if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0 ||
	    chmod(path, mode) == -1)
		abort();
}

static void
test_authorized(void)
{
	char *path = mem_fmt("%s/secret", tap_dir());
	struct question question = { .file = path };

	write_secret(path, SECRET "\n", 0600);
	for (size_t i = 0; i < COUNT(askers); i++) {
		cgi_ask(judge, &question, askers[i].variables);
		tap_int(question.err, askers[i].err, "who says: %s",
		    askers[i].claim);
	}
	tap_ok(strstr(err_text(), SECRET) == NULL, "no sentence tells it");
	for (size_t i = 0; i < COUNT(files); i++) {
		write_secret(path, files[i].text, files[i].mode);
		cgi_ask(judge, &question, askers[0].variables);
		tap_int(question.err, files[i].err, "%s", files[i].claim);
	}
	free(path);
}

int
main(void)
{
	test_answers();
	test_authorized();
	return tap_done();
}

/* gateway_cgi_test.c: what a CGI handler leaves of a body does no harm */
/* SPDX-License-Identifier: ISC */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fcgi/gateway.h"
#include "tests/unit/cgi.h"
#include "tests/unit/tap.h"

/* Of a socket's buffer it is less than half. */
#define BODY 20000

static const struct {
	const char *claim, *variables;
	size_t sent, takes; /* bytes */
	int left;
} rows[] = {
	{ "nothing is read", "CONTENT_LENGTH=20000\n", BODY, 0, 0 },
	{ "a part is", "CONTENT_LENGTH=20000\n", BODY, 10, 0 },
	{ "all of it is, and stdin has no end", "CONTENT_LENGTH=20000\n", BODY,
	    BODY, 0 },
	{ "what comes behind it is another's", "CONTENT_LENGTH=19999\n", BODY,
	    0, 1 },
	{ "it is chunked", "HTTP_TRANSFER_ENCODING=chunked\n", BODY, 0, 0 },
	{ "there is none", "X=\n", 1, 0, 1 },
	{ "nobody knows its length", "CONTENT_LENGTH=x\n", 1, 0, 1 },
};

static void
take(struct gateway_request *request, void *arg)
{
	size_t takes = *(const size_t *)arg;
	struct buf body = { 0 };

	/* a limit below what is sent: it gives up in the midst, or before */
	if (takes > 0)
		(void)!gateway_body(request, takes, &body);
	buf_free(&body);
}

/* What is still in the socket when the program would end. */
static int
left_behind(size_t i)
{
	static const char body[BODY];
	int ends[2], left = -1, kept = dup(STDIN_FILENO);
	size_t takes = rows[i].takes;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == -1 || kept == -1 ||
	    write(ends[1], body, rows[i].sent) != (ssize_t)rows[i].sent ||
	    dup2(ends[0], STDIN_FILENO) == -1)
		abort();
	if (strncmp(rows[i].variables, "HTTP_", 5) == 0)
		shutdown(ends[1], SHUT_WR);
	cgi_ask(take, &takes, rows[i].variables);
	ioctl(ends[0], FIONREAD, &left);
	dup2(kept, STDIN_FILENO);
	close(kept);
	close(ends[0]);
	close(ends[1]);
	return left;
}

int
main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		tap_int(left_behind(i), rows[i].left, "%s", rows[i].claim);
	return tap_done();
}

/* gateway_test.c: FastCGI from peers that are idle, stall, dribble and lie */
/* SPDX-License-Identifier: ISC */
#include "fcgi/gateway.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conf/clock.h"
#include "fcgi/listener.h"
#include "tests/unit/tap.h"

#define THREADS 2
/* As gateway.c bounds them. */
#define MAX_CONNECTIONS (4 * THREADS + 64)
#define MAX_BODY 8
/* Nothing here takes so long, unless it hangs. */
#define PATIENCE_MS 10000
/* Of what is to be closed. */
#define SHORT_MS 200
#define LONG_MS 60000

/* FastCGI specification, 3.3 and 5; of id 1 */
#define BEGIN(role, flags) "\1\1\0\1\0\10\0\0\0" role flags "\0\0\0\0\0"
#define PARAMS "\1\4\0\1\0\5\3\0\1\2Abc\0\0\0\1\4\0\1\0\0\0\0"
#define STDIN_END "\1\5\0\1\0\0\0\0"
#define CLOSES BEGIN("\1", "\0") PARAMS STDIN_END
#define KEEPS BEGIN("\1", "\1") PARAMS STDIN_END
#define TEXT(text) text, sizeof(text) - 1

static char *path;
static struct listener *listener; /* the gateway inherits it */

/* What A is, and what the body is. */
static void
echo(struct gateway_request *request, void *arg)
{
	const char *a = gateway_param(request, "A");
	struct buf body = { 0 }, out = { 0 };
	enum err err = gateway_body(request, *(const size_t *)arg, &body);

	buf_fmt(&out, "A=%s err=%d body=%s.", a, err,
	    body.data != NULL ? body.data : "");
	(void)!gateway_send(request, out.data, out.len, false);
	buf_free(&body);
	buf_free(&out);
}

/* What A is; the body is not looked at, as by an authorizer. */
static void
tell(struct gateway_request *request, void *arg)
{
	const char *a = gateway_param(request, "A");

	(void)arg;
	(void)!gateway_send(request, a, strlen(a), false);
}

/* More than any socket takes in. */
static void
flood(struct gateway_request *request, void *arg)
{
	static const char piece[8192];
	int i = 0;

	(void)arg;
	while (i < 10000 &&
	    gateway_send(request, piece, sizeof(piece), true) == ERR_OK)
		i++;
}

static pid_t
start(gateway_handler *handler, size_t max_body, unsigned ms)
{
	struct gateway_options options = { .threads = THREADS,
		.handler = handler,
		.arg = &max_body,
		.max_body = max_body,
		.request_ms = ms,
		.linger_ms = ms,
		.send_ms = SHORT_MS };
	pid_t pid;

	gateway_hold_signals();
	if (listener_open(path, 0600, &listener) != ERR_OK)
		abort();
	if ((pid = fork()) == -1)
		abort();
	if (pid == 0) {
		options.listener = listener;
		_exit(gateway_serve(&options));
	}
	return pid;
}

/* How the gateway ended, in less than two seconds. */
static void
stop(pid_t pid, const char *name)
{
	int64_t begin_ms = clock_boot_ms();
	int status;

	kill(pid, SIGTERM);
	waitpid(pid, &status, 0);
	tap_int(status, 0, "%s: it ends", name);
	tap_ok(clock_boot_ms() - begin_ms < 1500, "%s: at once", name);
	listener_close(listener);
}

static int
dial(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == -1)
		abort();
	return fd;
}

static void
put(int fd, const char *bytes, size_t len)
{
	if (send(fd, bytes, len, MSG_NOSIGNAL) != (ssize_t)len)
		tap_note("sending failed");
}

/* How many bytes come; 0: the end, -1: a failure, -2: nothing. */
static ssize_t
take(int fd, void *bytes, size_t room)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	if (poll(&poll_fd, 1, PATIENCE_MS) != 1)
		return -2;
	return recv(fd, bytes, room, 0);
}

/* What one answer says; borrowed until the next call. */
static const char *
answer(int fd)
{
	static char bytes[512], text[512];
	size_t len = 0, content;
	ssize_t n;

	/* it ends with FCGI_END_REQUEST, of 16 bytes */
	while (len < 16 || bytes[len - 15] != 3) {
		n = take(fd, bytes + len, sizeof(bytes) - len);
		if (n <= 0)
			return n == 0 ? "closed"
			    : n == -1 ? "reset"
				      : "silence";
		len += (size_t)n;
	}
	/* the first record is of FCGI_STDOUT */
	content = (size_t)(unsigned char)bytes[4] << 8 |
	    (unsigned char)bytes[5];
	if (bytes[1] != 6 || content >= sizeof(text) || content + 8 > len)
		return "no answer";
	memcpy(text, bytes + 8, content);
	text[content] = '\0';
	return text;
}

static const char *
ask(const char *bytes, size_t len)
{
	int fd = dial();
	const char *text;

	put(fd, bytes, len);
	text = answer(fd);
	close(fd);
	return text;
}

static bool
is_closed(int fd)
{
	char byte;
	ssize_t n = take(fd, &byte, 1);

	return n == 0 || n == -1;
}

static const char plain[] = "A=bc err=0 body=.";

static void
test_requests(void)
{
	static const struct {
		const char *name, *bytes;
		size_t len, max_body;
		const char *text;
	} rows[] = {
		{ "a responder", TEXT(CLOSES), 0, plain },
		{ "an authorizer without an end of stdin",
		    TEXT(BEGIN("\2", "\0") PARAMS), 0, plain },
		{ "an end of stdin, as many",
		    TEXT(BEGIN("\1", "\0") PARAMS
			"\1\5\0\1\0\3\0\0xyz" STDIN_END),
		    MAX_BODY, "A=bc err=0 body=xyz." },
		{ "a body that is too long",
		    TEXT(BEGIN("\1", "\0") PARAMS "\1\5\0\1\0\11\0\0"
						  "123456789" STDIN_END),
		    MAX_BODY, "A=bc err=5 body=123456789." },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		pid_t pid = start(echo, rows[i].max_body, LONG_MS);
		int fd = dial();

		tap_str(ask(rows[i].bytes, rows[i].len), rows[i].text, "%s",
		    rows[i].name);
		for (size_t at = 0; at < rows[i].len; at++)
			put(fd, rows[i].bytes + at, 1);
		tap_str(answer(fd), rows[i].text, "%s, in single bytes",
		    rows[i].name);
		tap_ok(is_closed(fd), "%s: closed", rows[i].name);
		close(fd);
		stop(pid, rows[i].name);
	}
}

/* Asks one with A of two digits, of so many bytes with its end of STDIN. */
static bool
ask_sized(int fd, size_t len, unsigned digits)
{
	char bytes[9000] = BEGIN("\2", "\1"), wanted[8];
	size_t content = len - 40, value = content - 11;
	char *at = bytes + 16;

	at += sprintf(at, "\1\4%c\1%c%c%c%c", 0, (int)(content >> 8),
	    (int)(content & 0xff), 0, 0);
	at += sprintf(at, "\1\2A%02u\1%c%c%c%cB", digits, 0x80, 0,
	    (int)(value >> 8), (int)(value & 0xff));
	memset(at, 'x', value);
	memcpy(at + value, "\1\4\0\1\0\0\0\0", 8);
	put(fd, bytes, len - 8);
	snprintf(wanted, sizeof(wanted), "%02u", digits);
	return strcmp(answer(fd), wanted) == 0;
}

/* At the edge of what libfcgi reads at once, and more than its file keeps. */
static void
test_sizes(void)
{
	static const size_t sizes[] = { 8191, 100, 8192, 100, 8193, 100, 300 };
	pid_t pid = start(tell, 0, LONG_MS);
	unsigned wrong = 0;
	int fd = dial();

	for (unsigned i = 0; i < 70; i++)
		wrong += !ask_sized(fd, sizes[i % 7], i % 100);
	for (unsigned i = 0; i < 1000; i++)
		wrong += !ask_sized(fd, 300, i % 100);
	tap_int(wrong, 0, "requests of all sizes, one after the other");
	close(fd);
	stop(pid, "sizes");
}

/* More than all threads, even more than all connections. */
static void
test_idle(void)
{
	pid_t pid = start(echo, 0, LONG_MS);
	int idle[MAX_CONNECTIONS + 8];
	size_t n = sizeof(idle) / sizeof(idle[0]), wrong = 0;

	for (size_t i = 0; i < n; i++) {
		idle[i] = dial();
		put(idle[i], TEXT(KEEPS));
		wrong += strcmp(answer(idle[i]), plain) != 0;
	}
	tap_int((long long)wrong, 0, "%zu kept connections", n);
	tap_str(ask(TEXT(CLOSES)), plain, "idle: and a new one");
	tap_ok(is_closed(idle[0]), "idle: the longest was closed");
	put(idle[n - 1], TEXT(KEEPS KEEPS));
	tap_str(answer(idle[n - 1]), plain, "idle: the last one lives");
	stop(pid, "idle");
	for (size_t i = 0; i < n; i++)
		close(idle[i]);
}

static void
test_stalled(void)
{
	static const struct {
		const char *bytes;
		size_t len;
	} stalls[] = {
		{ "", 0 },
		{ TEXT("\1") },
		{ TEXT(BEGIN("\1", "\0")) },
		{ TEXT(BEGIN("\1", "\0") "\1\4\0\1\0\5\3\0\1\2A") },
	};
	pid_t pid = start(echo, 0, LONG_MS);
	int stalled[4 * THREADS];

	for (size_t i = 0; i < 4 * THREADS; i++) {
		stalled[i] = dial();
		put(stalled[i], stalls[i % 4].bytes, stalls[i % 4].len);
	}
	tap_str(ask(TEXT(CLOSES)), plain, "stalled peers: a new one");
	for (size_t i = 0; i < 4 * THREADS; i++)
		close(stalled[i]);
	tap_str(ask(TEXT(CLOSES)), plain, "stalled peers that went away");
	stop(pid, "stalled");
}

static void
test_deadlines(void)
{
	pid_t pid = start(echo, 0, SHORT_MS);
	int silent = dial(), lingering = dial(), dribbling;
	char byte = 1;
	int sent = 0;

	put(lingering, TEXT(BEGIN("\1", "\0") PARAMS));
	tap_str(answer(lingering), plain, "one that does not close");
	tap_ok(is_closed(silent), "one that is silent is closed");
	dribbling = dial();
	/* a value that never ends, until it is closed */
	put(dribbling,
	    TEXT(BEGIN("\1", "\0") "\1\4\0\1\377\0\0\0\1\200\0\376"));
	for (; sent < 1000 && send(dribbling, &byte, 1, MSG_NOSIGNAL) == 1;
	     sent++)
		usleep(10000);
	tap_ok(sent > 0 && sent < 1000,
	    "one that dribbles is closed (%d bytes)", sent);
	for (sent = 0;
	     sent < 1000 && send(lingering, &byte, 1, MSG_NOSIGNAL) == 1;
	     sent++)
		usleep(10000);
	tap_ok(sent < 1000, "one that lingers is closed (%d bytes)", sent);
	close(silent);
	close(dribbling);
	close(lingering);
	stop(pid, "deadlines");
}

static void
test_lies(void)
{
	static const struct {
		const char *name, *bytes;
		size_t len;
	} rows[] = {
		{ "a huge name",
		    TEXT(BEGIN("\1", "\0") "\1\4\0\1\0\6\0\0"
					   "\377\377\377\376\1A") },
		{ "a huge FCGI_GET_VALUES",
		    TEXT("\1\11\0\0\0\6\0\0\377\377\377\376\1A") },
		{ "HTTP", TEXT("GET / HTTP/1.1\r\n\r\n") },
		{ "two at once", TEXT(BEGIN("\1", "\1") BEGIN("\1", "\1")) },
	};
	pid_t pid = start(echo, 0, LONG_MS);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int fd = dial();

		put(fd, rows[i].bytes, rows[i].len);
		tap_ok(is_closed(fd), "%s: closed", rows[i].name);
		close(fd);
		tap_str(ask(TEXT(CLOSES)), plain, "%s: all others live",
		    rows[i].name);
	}
	stop(pid, "lies");
}

static void
test_deaf(void)
{
	pid_t pid = start(flood, 0, SHORT_MS);
	int deaf[2 * THREADS], fd;
	char bytes[64];

	for (size_t i = 0; i < 2 * THREADS; i++) {
		deaf[i] = dial();
		put(deaf[i], TEXT(KEEPS));
	}
	fd = dial();
	put(fd, TEXT(CLOSES));
	tap_ok(take(fd, bytes, sizeof(bytes)) > 0,
	    "peers that read nothing: a new one is answered");
	close(fd);
	for (size_t i = 0; i < 2 * THREADS; i++)
		close(deaf[i]);
	stop(pid, "deaf");
}

/* What has begun to come is answered. */
static void
test_end(void)
{
	pid_t pid = start(echo, 0, LONG_MS);
	static const char request[] = CLOSES;
	int fd = dial(), silent = dial(), status;

	put(fd, request, 20);
	tap_str(ask(TEXT(CLOSES)), plain, "the end: before it");
	kill(pid, SIGTERM);
	tap_ok(is_closed(silent), "the end: a silent one is closed");
	put(fd, request + 20, sizeof(request) - 1 - 20);
	tap_str(answer(fd), plain, "the end: one that had begun is answered");
	waitpid(pid, &status, 0);
	tap_int(status, 0, "the end: it ends");
	close(fd);
	close(silent);
	listener_close(listener);

	pid = start(echo, 0, LONG_MS);
	fd = dial();
	put(fd, request, 20);
	tap_str(ask(TEXT(CLOSES)), plain, "the end: another");
	kill(pid, SIGTERM);
	waitpid(pid, &status, 0);
	tap_int(status, 0, "the end: one that stalls does not hold it up");
	close(fd);
	listener_close(listener);
}

int
main(void)
{
	path = mem_fmt("%s/socket", tap_dir());
	test_requests();
	test_sizes();
	test_idle();
	test_stalled();
	test_deadlines();
	test_lies();
	test_deaf();
	test_end();
	free(path);
	return tap_done();
}

/* connections_test.c: what waits takes no thread, and no more than a slot */
/* SPDX-License-Identifier: ISC */
#include "fcgi/connections.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "conf/mem.h"
#include "fcgi/listener.h"
#include "tests/unit/tap.h"

#define MAX 4
#define MAX_PARKED 2
#define MAX_BODY 4
/* Nothing here takes so long, unless it hangs. */
#define PATIENCE_MS 10000
#define LONG_MS 60000

/* FastCGI specification, 3.3 and 5; responders, of id 1 */
#define BEGIN(flags) "\1\1\0\1\0\10\0\0\0\1" flags "\0\0\0\0\0"
#define PARAMS "\1\4\0\1\0\5\3\0\1\2Abc\0\0\0\1\4\0\1\0\0\0\0"
#define STDIN "\1\5\0\1\0\3\5\0xyz\0\0\0\0\0"
#define STDIN_END "\1\5\0\1\0\0\0\0"
#define CLOSES BEGIN("\0") PARAMS STDIN_END
#define KEEPS BEGIN("\1") PARAMS STDIN_END

/* One thread, which answers each request by its length in one byte. */
struct stand {
	char *path;
	struct listener *listener;
	struct connections *connections;
	pthread_t thread;
	atomic_uint taken; /* requests */
	/* a request is parked for so long; 0: none is */
	atomic_uint park_ms;
	_Atomic uint32_t word;
	pthread_mutex_t gate; /* held: no request is answered */
	const char *why;      /* the last that was refused */
};

static void
note_refused(void *arg, const char *why)
{
	((struct stand *)arg)->why = why;
}

static void *
work(void *arg)
{
	struct stand *stand = arg;
	struct connection *one;

	while ((one = connections_next(stand->connections)) != NULL) {
		uint32_t seen = atomic_load(&stand->word);
		size_t len;
		char answer;

		if (stand->park_ms > 0 &&
		    connections_may_park(stand->connections, one)) {
			atomic_fetch_add(&stand->taken, 1);
			connections_park(stand->connections, one, &stand->word,
			    seen, stand->park_ms);
			continue;
		}
		connection_request(one, &len);
		answer = (char)len;
		atomic_fetch_add(&stand->taken, 1);
		pthread_mutex_lock(&stand->gate);
		pthread_mutex_unlock(&stand->gate);
		connections_done(stand->connections, one,
		    send(connection_socket(one), &answer, 1, MSG_NOSIGNAL) ==
			1);
	}
	return NULL;
}

static void
start_parking(struct stand *stand, size_t max_body, unsigned park_ms)
{
	struct connections_options options = { .max = MAX,
		.max_parked = MAX_PARKED,
		.max_body = max_body,
		.request_ms = LONG_MS,
		.linger_ms = LONG_MS,
		.send_ms = LONG_MS,
		.refused = note_refused,
		.arg = stand };

	stand->path = mem_fmt("%s/socket", tap_dir());
	stand->why = NULL;
	stand->park_ms = park_ms;
	atomic_init(&stand->word, 0);
	atomic_init(&stand->taken, 0);
	pthread_mutex_init(&stand->gate, NULL);
	if (listener_open(stand->path, 0600, &stand->listener) != ERR_OK)
		abort();
	options.listener = listener_fd(stand->listener);
	if (connections_open(&options, &stand->connections) != ERR_OK ||
	    pthread_create(&stand->thread, NULL, work, stand) != 0)
		abort();
}

static void
start(struct stand *stand, size_t max_body)
{
	start_parking(stand, max_body, 0);
}

static void
stop(struct stand *stand)
{
	connections_end(stand->connections, 0);
	pthread_join(stand->thread, NULL);
	connections_close(stand->connections);
	listener_close(stand->listener);
	pthread_mutex_destroy(&stand->gate);
	free(stand->path);
}

static int
dial(const struct stand *stand, const char *bytes, size_t len)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", stand->path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == -1 ||
	    send(fd, bytes, len, MSG_NOSIGNAL) != (ssize_t)len)
		abort();
	return fd;
}
#define DIAL(stand, text) dial(stand, text, sizeof(text) - 1)

/* The next byte; 0: closed, -1: a failure, -2: nothing comes. */
static int
hear(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	unsigned char byte;
	ssize_t n;

	if (poll(&poll_fd, 1, PATIENCE_MS) != 1)
		return -2;
	n = recv(fd, &byte, 1, 0);
	return n == 1 ? byte : (int)n;
}

static void
test_requests(void)
{
	static const struct {
		const char *name, *bytes;
		size_t len, max_body;
		int heard[4]; /* each byte, and the close */
	} rows[] = {
#define TEXT(text) text, sizeof(text) - 1
		{ "one", TEXT(CLOSES), 0, { 48, 0 } },
		{ "one without an end of stdin", TEXT(BEGIN("\0") PARAMS), 0,
		    { 40, 0 } },
		{ "three at once", TEXT(KEEPS KEEPS CLOSES), 0,
		    { 48, 48, 48, 0 } },
		{ "a body", TEXT(BEGIN("\0") PARAMS STDIN STDIN_END), MAX_BODY,
		    { 64, 0 } },
		{ "a body that nobody reads, and another request",
		    TEXT(BEGIN("\1") PARAMS STDIN STDIN_END CLOSES), 0,
		    { 64, 48, 0 } },
		{ "a body that is too long ends what would be kept",
		    TEXT(BEGIN("\1") PARAMS STDIN STDIN), MAX_BODY, { 72, 0 } },
		{ "a lie behind a request", TEXT(KEEPS "HTTP/1.1"), 0,
		    { 48, 0 } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct stand stand;
		int fd;

		start(&stand, rows[i].max_body);
		fd = dial(&stand, rows[i].bytes, rows[i].len);
		for (int j = 0; j == 0 || rows[i].heard[j - 1] != 0; j++)
			tap_int(hear(fd), rows[i].heard[j], "%s: %d",
			    rows[i].name, j);
		close(fd);
		stop(&stand);
	}
}

static void
test_refused(void)
{
	struct stand stand;
	int fd;

	start(&stand, 0);
	fd = DIAL(&stand, BEGIN("\0") "\1\4\0\1\0\4\0\0\377\377\377\377");
	tap_int(hear(fd), 0, "a liar is closed");
	close(fd);
	stop(&stand);
	tap_str(stand.why, "the length of a parameter", "and why is told");
}

/* Nothing is accepted before one of them makes room. */
static void
test_full_of_stalled(void)
{
	struct stand stand;
	int stalled[MAX], fd;

	start(&stand, 0);
	for (int i = 0; i < MAX; i++)
		stalled[i] = DIAL(&stand, BEGIN("\0"));
	fd = DIAL(&stand, CLOSES);
	/* so that the thread has found no room; if not, it is tested less */
	usleep(50000);
	close(stalled[0]);
	tap_int(hear(fd), 48, "stalled peers: one leaves, and one is answered");
	close(fd);
	send(stalled[1], PARAMS STDIN_END, sizeof(PARAMS STDIN_END) - 1,
	    MSG_NOSIGNAL);
	tap_int(hear(stalled[1]), 48, "another one goes on");
	for (int i = 1; i < MAX; i++)
		close(stalled[i]);
	stop(&stand);
}

/* The thread has so many requests: it stands at the gate, or they are parked. */
static void
await_taken(struct stand *stand, unsigned n)
{
	for (int ms = 0; atomic_load(&stand->taken) < n; ms++) {
		if (ms == PATIENCE_MS)
			abort();
		usleep(1000);
	}
}

/* The longest idle goes, but not one whose next request has come. */
static void
test_full_of_idle(void)
{
	struct stand stand;
	int idle[MAX], fd;

	start(&stand, 0);
	for (int i = 0; i < MAX; i++) {
		idle[i] = DIAL(&stand, KEEPS);
		tap_int(hear(idle[i]), 48, "kept connection %d", i);
	}
	pthread_mutex_lock(&stand.gate);
	send(idle[3], KEEPS, sizeof(KEEPS) - 1, MSG_NOSIGNAL);
	await_taken(&stand, MAX + 1);
	/* in the order of their events: the new one needs room before that */
	fd = DIAL(&stand, CLOSES);
	send(idle[0], KEEPS, sizeof(KEEPS) - 1, MSG_NOSIGNAL);
	pthread_mutex_unlock(&stand.gate);
	tap_int(hear(fd), 48, "a new one is answered");
	tap_int(hear(idle[3]), 48, "as are those that asked again, the last");
	tap_int(hear(idle[0]), 48, "and the first");
	tap_int(hear(idle[1]), 0, "the longest idle made room");
	close(fd);
	for (int i = 0; i < MAX; i++)
		close(idle[i]);
	stop(&stand);
}

/* What has begun to come behind it gets no longer than the rest. */
static void
test_end_meanwhile(void)
{
	struct stand stand;
	int fd;

	start(&stand, 0);
	pthread_mutex_lock(&stand.gate);
	fd = DIAL(&stand, KEEPS BEGIN("\1"));
	await_taken(&stand, 1);
	connections_end(stand.connections, 50);
	pthread_mutex_unlock(&stand.gate);
	tap_int(hear(fd), 48, "the end, while one is answered: it is");
	tap_int(hear(fd), 0, "half of the next is not waited for");
	close(fd);
	stop(&stand);
}

static void
test_end_of_queued(bool blocks)
{
	struct stand stand;
	int fd, queued;

	start(&stand, 0);
	/* as systemd does to a socket with which it starts a program */
	if (blocks)
		fcntl(listener_fd(stand.listener), F_SETFL, 0);
	pthread_mutex_lock(&stand.gate);
	fd = DIAL(&stand, CLOSES);
	await_taken(&stand, 1);
	queued = DIAL(&stand, CLOSES);
	connections_end(stand.connections, PATIENCE_MS);
	pthread_mutex_unlock(&stand.gate);
	tap_int(hear(fd), 48, "the end: one under way is answered");
	tap_int(hear(queued), 48, "as is one that nobody had accepted%s",
	    blocks ? ", and no accept(2) blocks" : "");
	close(fd);
	close(queued);
	stop(&stand);
}

/* Not shut down and lingered at: it has all that will come. */
static void
test_authorizer(void)
{
	struct stand stand;
	int fd;

	start(&stand, 0);
	fd = DIAL(&stand, "\1\1\0\1\0\10\0\0\0\2\0\0\0\0\0\0" PARAMS);
	tap_int(hear(fd), 40, "an authorizer, without any STDIN");
	tap_int(hear(fd), 0, "then it ends");
	tap_ok(send(fd, "", 1, MSG_NOSIGNAL) == -1, "and is closed");
	close(fd);
	stop(&stand);
}

/* The two that may be parked, and the word they wait for. */
static void
park_two(struct stand *stand, unsigned ms, int fds[MAX_PARKED])
{
	start_parking(stand, 0, ms);
	for (unsigned i = 0; i < MAX_PARKED; i++) {
		fds[i] = DIAL(stand, KEEPS);
		await_taken(stand, i + 1);
	}
}

static void
test_parked(void)
{
	struct stand stand;
	int fds[MAX_PARKED], others[MAX];

	park_two(&stand, LONG_MS, fds);
	for (int i = 0; i < MAX; i++) {
		others[i] = DIAL(&stand, KEEPS);
		tap_int(hear(others[i]), 48,
		    "two are parked: another is answered, %d", i);
	}
	connections_wake(stand.connections, false);
	tap_ok(poll(&(struct pollfd){ fds[0], POLLIN, 0 }, 1, 20) == 0,
	    "without news they stay");
	/* its thread parks them again at once, and they wait for the next */
	atomic_fetch_add(&stand.word, 1);
	connections_wake(stand.connections, false);
	await_taken(&stand, MAX_PARKED + MAX + MAX_PARKED);
	stand.park_ms = 0;
	atomic_fetch_add(&stand.word, 1);
	connections_wake(stand.connections, false);
	for (int i = 0; i < MAX_PARKED; i++) {
		tap_int(hear(fds[i]), 48, "news: %d is answered", i);
		close(fds[i]);
	}
	for (int i = 0; i < MAX; i++)
		close(others[i]);
	stop(&stand);
}

/* More are kept then than there is room for: all that are too many go. */
static void
test_parked_kept(void)
{
	struct stand stand;
	int fds[MAX_PARKED], others[MAX], fd;

	park_two(&stand, LONG_MS, fds);
	for (int i = 0; i < MAX; i++) {
		others[i] = DIAL(&stand, KEEPS);
		tap_int(hear(others[i]), 48, "beside the parked: %d", i);
	}
	stand.park_ms = 0;
	connections_wake(stand.connections, true);
	for (int i = 0; i < MAX_PARKED; i++)
		tap_int(hear(fds[i]), 48, "parked, answered and kept: %d", i);
	fd = DIAL(&stand, CLOSES);
	tap_int(hear(fd), 48, "all are idle: a new one is answered");
	for (int i = 0; i <= MAX_PARKED; i++)
		tap_int(hear(others[i]), 0, "the longest idle made room: %d",
		    i);
	close(fd);
	for (int i = 0; i < MAX_PARKED; i++)
		close(fds[i]);
	for (int i = 0; i < MAX; i++)
		close(others[i]);
	stop(&stand);
}

/* Kept, so that a new request of a connection has its own time. */
static void
test_parked_late(void)
{
	struct stand stand;
	int fd;

	start_parking(&stand, 0, 50);
	fd = DIAL(&stand, KEEPS);
	tap_int(hear(fd), 48, "its time is over: it is answered");
	tap_int((int)atomic_load(&stand.taken), 2, "and was parked once");
	send(fd, KEEPS, sizeof(KEEPS) - 1, MSG_NOSIGNAL);
	tap_int(hear(fd), 48, "so is the next of its connection");
	tap_int((int)atomic_load(&stand.taken), 4, "parked, too");
	close(fd);
	stop(&stand);
}

static void
test_parked_gone(void)
{
	struct stand stand;
	int fds[MAX_PARKED];
	bool parked = false;

	park_two(&stand, LONG_MS, fds);
	for (int i = 0; i < MAX_PARKED; i++)
		close(fds[i]);
	/* in their place, sooner or later */
	for (int i = 0; i < 500 && !parked; i++) {
		int fd = DIAL(&stand, KEEPS);

		parked = poll(&(struct pollfd){ fd, POLLIN, 0 }, 1, 20) == 0;
		close(fd);
	}
	tap_ok(parked, "who goes leaves its place");
	stop(&stand);
}

static void
test_parked_all(void)
{
	struct stand stand;
	int fds[MAX_PARKED];

	park_two(&stand, LONG_MS, fds);
	connections_wake(stand.connections, true);
	for (int i = 0; i < MAX_PARKED; i++) {
		tap_int(hear(fds[i]), 48, "the time of all is over: %d", i);
		close(fds[i]);
	}
	stop(&stand);
	park_two(&stand, LONG_MS, fds);
	connections_end(stand.connections, PATIENCE_MS);
	for (int i = 0; i < MAX_PARKED; i++) {
		tap_int(hear(fds[i]), 48, "the end: %d is answered", i);
		close(fds[i]);
	}
	stop(&stand);
}

int
main(void)
{
	test_requests();
	test_refused();
	test_full_of_stalled();
	test_full_of_idle();
	test_end_meanwhile();
	test_end_of_queued(false);
	test_end_of_queued(true);
	test_authorizer();
	test_parked();
	test_parked_kept();
	test_parked_late();
	test_parked_gone();
	test_parked_all();
	return tap_done();
}

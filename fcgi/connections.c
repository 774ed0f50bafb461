/* connections.c: many connections, a few threads, and no one waits for one */
/* SPDX-License-Identifier: ISC */
#include "fcgi/connections.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "conf/clock.h"
#include "fcgi/slots.h"

/* A request comes whole in one of these, nearly always. */
#define PIECE 16384
/* Pieces dropped in one go, of what comes after the answer. */
#define MAX_DROPPED 16
/* Most peers close within this time after the answer. */
#define CLOSE_MS 2
/* Pause after an accept that failed, for want of descriptors for example. */
#define ACCEPT_PAUSE_US 100000

struct connections {
	struct connections_options options;
	bool tcp;
	struct slots slots;
};

static void
await_request(struct connections *set, struct connection *connection)
{
	if (connection->served && connection->in.len == 0) {
		connection->until_ms = 0;
		slots_wait(&set->slots, connection, IDLE);
		return;
	}
	/* counted from its first wait, so that no dribbling prolongs it */
	if (connection->until_ms == 0)
		connection->until_ms = clock_boot_ms() +
		    set->options.request_ms;
	slots_wait(&set->slots, connection, PARTIAL);
}

static void
drop_front(struct buf *in, size_t len)
{
	memmove(in->data, in->data + len, in->len - len);
	in->len -= len;
}

/* true: its request is whole.  Else it waits, or is closed. */
static bool
is_whole(struct connections *set, struct connection *connection)
{
	struct records *records = &connection->records;
	struct buf *in = &connection->in;

	switch (records_read(records, in->data, in->len)) {
	case RECORDS_WHOLE:
		return true;
	case RECORDS_BAD:
		if (set->options.refused != NULL)
			set->options.refused(set->options.arg, records->why);
		slots_drop(&set->slots, connection);
		return false;
	case RECORDS_MORE:
		break;
	}
	/* the rest of the body of the request before */
	if (records->id == 0 && records->at > 0) {
		drop_front(in, records->at);
		records->at = 0;
	}
	await_request(set, connection);
	return false;
}

/* 0: nothing is there yet; -1: nothing will come. */
static ssize_t
take_piece(int fd, char piece[PIECE])
{
	ssize_t n = recv(fd, piece, PIECE, MSG_DONTWAIT);

	if (n > 0)
		return n;
	return n == -1 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

static bool
read_request(struct connections *set, struct connection *connection)
{
	char piece[PIECE];
	ssize_t n = take_piece(connection->fd, piece);

	if (n > 0) {
		buf_add(&connection->in, piece, (size_t)n);
		return is_whole(set, connection);
	}
	if (n == 0)
		await_request(set, connection);
	else
		slots_drop(&set->slots, connection);
	return false;
}

/*
 * What comes after the answer is read and dropped: bytes that nobody read
 * turn the close into a reset, which can cost the peer the answer.
 */
static void
linger(struct connections *set, struct connection *connection)
{
	char piece[PIECE];
	ssize_t n = 1;

	for (int i = 0; i < MAX_DROPPED && n > 0; i++)
		n = take_piece(connection->fd, piece);
	if (n == -1)
		slots_drop(&set->slots, connection);
	else
		slots_wait(&set->slots, connection, LINGERS);
}

/* FastCGI specification, 3.2, and as libfcgi has it: IPv4 alone. */
static bool
may_connect(const struct sockaddr_in *peer)
{
	const char *list = getenv("FCGI_WEB_SERVER_ADDRS");
	char text[INET_ADDRSTRLEN];

	if (list == NULL || peer->sin_family != AF_INET ||
	    inet_ntop(AF_INET, &peer->sin_addr, text, sizeof(text)) == NULL)
		return true;
	while (*list != '\0') {
		size_t len = strcspn(list, ",");

		if (len == strlen(text) && memcmp(list, text, len) == 0)
			return true;
		list += len + (list[len] == ',');
	}
	return false;
}

static void
set_up(struct connections *set, struct connection *connection, int fd)
{
	unsigned send_ms = set->options.send_ms;
	struct timeval time = { .tv_sec = send_ms / 1000,
		.tv_usec = (suseconds_t)(send_ms % 1000) * 1000 };

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
	connection->fd = fd;
	connection->served = false;
	connection->until_ms = 0;
	records_begin(&connection->records, set->options.max_body);
}

static int
accept_peer(const struct connections *set)
{
	struct sockaddr_in peer = { 0 };
	socklen_t len = sizeof(peer);
	int fd = accept4(set->options.listener, (struct sockaddr *)&peer, &len,
	    SOCK_CLOEXEC);

	if (fd == -1) {
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			usleep(ACCEPT_PAUSE_US);
	} else if (set->tcp && !may_connect(&peer)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Into a slot that was taken, which is free again if nobody is there. */
static bool
admit(struct connections *set, struct connection *connection)
{
	int fd = accept_peer(set);

	if (fd != -1)
		set_up(set, connection, fd);
	else
		slots_drop(&set->slots, connection);
	return fd != -1;
}

/* A new connection with a whole request, or NULL. */
static struct connection *
accept_one(struct connections *set)
{
	struct connection *connection = slots_take(&set->slots);
	bool admitted;

	if (connection == NULL)
		return NULL;
	admitted = admit(set, connection);
	slots_listen(&set->slots);
	return admitted && read_request(set, connection) ? connection : NULL;
}

struct connection *
connections_next(struct connections *set)
{
	struct connection *connection;
	enum phase phase;

	for (;;) {
		switch (slots_next(&set->slots, &connection, &phase)) {
		case SLOTS_NONE:
			break;
		case SLOTS_END:
			return NULL;
		case SLOTS_ACCEPT:
			if ((connection = accept_one(set)) != NULL)
				return connection;
			break;
		case SLOTS_READY:
			return connection;
		case SLOTS_READABLE:
			if (phase == LINGERS)
				linger(set, connection);
			else if (read_request(set, connection))
				return connection;
			break;
		}
	}
}

int
connection_socket(const struct connection *connection)
{
	return connection->fd;
}

unsigned
connection_request_id(const struct connection *connection)
{
	return connection->records.id;
}

const void *
connection_request(const struct connection *connection, size_t *len)
{
	const struct records *records = &connection->records;

	*len = records->at - records->start;
	return connection->in.data + records->start;
}

/* The next request may be there already. */
static void
keep(struct connections *set, struct connection *connection)
{
	drop_front(&connection->in, connection->records.at);
	records_next(&connection->records);
	connection->served = true;
	connection->until_ms = 0;
	if (connection->in.len == 0)
		await_request(set, connection);
	else if (is_whole(set, connection))
		slots_ready(&set->slots, connection);
}

void
connections_done(struct connections *set, struct connection *connection,
    bool answered)
{
	const struct records *records = &connection->records;
	struct pollfd peer = { .fd = connection->fd, .events = POLLIN };

	if (answered && records->keep && !records->cut) {
		keep(set, connection);
	} else if (!answered || records->over || records->authorizer) {
		slots_drop(&set->slots, connection);
	} else {
		shutdown(connection->fd, SHUT_WR);
		/* less than what it costs to wait for it with the others */
		poll(&peer, 1, CLOSE_MS);
		connection->until_ms = clock_boot_ms() + set->options.linger_ms;
		linger(set, connection);
	}
}

/*
 * Whoever connected before the end is answered, too: what is in the
 * listener's queue when that is closed is reset.
 */
static void
accept_queued(struct connections *set)
{
	struct connection *connection;

	while ((connection = slots_take(&set->slots)) != NULL &&
	    admit(set, connection))
		await_request(set, connection);
}

void
connections_end(struct connections *set, unsigned last_ms)
{
	accept_queued(set);
	slots_end(&set->slots, last_ms);
}

enum err
connections_open(const struct connections_options *options,
    struct connections **out)
{
	struct connections *set = mem_zalloc(sizeof(*set));
	struct sockaddr_storage address = { 0 };
	socklen_t len = sizeof(address);
	const struct timeval at_once = { .tv_usec = 1 };
	int one = 1;
	enum err err;

	set->options = *options;
	/*
	 * That it does not block is the open file's, and so everybody's who
	 * has it: systemd takes that back with each command of the unit that
	 * it starts with this socket.  This is the socket's own.
	 */
	setsockopt(options->listener, SOL_SOCKET, SO_RCVTIMEO, &at_once,
	    sizeof(at_once));
	getsockname(options->listener, (struct sockaddr *)&address, &len);
	set->tcp = address.ss_family != AF_UNIX;
	/* those that it accepts have it from their listener */
	if (set->tcp)
		setsockopt(options->listener, IPPROTO_TCP, TCP_NODELAY, &one,
		    sizeof(one));
	err = slots_open(&set->slots, options->listener, options->max);
	if (err == ERR_OK)
		*out = set;
	else
		connections_close(set);
	return err;
}

void
connections_close(struct connections *set)
{
	slots_close(&set->slots);
	free(set);
}

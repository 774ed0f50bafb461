/* server.c: a small HTTP server inside a test, on a free loopback port */
/* SPDX-License-Identifier: ISC */
#include "tests/unit/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_CONNECTIONS 32

/* Where in poll's array they are; connections follow. */
enum { STOP, LISTEN, FIRST };

struct server {
	server_handler *handler;
	void *arg;
	char url[64];
	pthread_t thread;
	int stop[2]; /* closing the second one ends the thread */
	struct pollfd fds[FIRST + MAX_CONNECTIONS];
	unsigned serials[FIRST + MAX_CONNECTIONS];
	nfds_t n_fds;
	unsigned accepted;
};

static void
fail(const char *what)
{
	printf("Bail out! server: %s\n", what);
	exit(1);
}

char *
server_header(const struct server_request *request, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = request->headers; *line != '\0';) {
		size_t end = strcspn(line, "\r\n");

		if (end > len && line[len] == ':' &&
		    strncasecmp(line, name, len) == 0) {
			size_t skip = len + 1 + strspn(line + len + 1, " ");

			return mem_dup_n(line + skip, end - skip);
		}
		line += end + strspn(line + end, "\r\n");
	}
	return mem_dup("");
}

/* Reads until the blank line, and as much body as was announced. */
static bool
read_request(int fd, struct buf *bytes, size_t *head_len, size_t *body_len)
{
	char piece[65536];
	const char *end = NULL, *length;
	ssize_t got;

	do {
		if (end == NULL && bytes->data != NULL &&
		    (end = strstr(bytes->data, "\r\n\r\n")) != NULL) {
			*head_len = (size_t)(end + 4 - bytes->data);
			length = strcasestr(bytes->data, "\r\ncontent-length:");
			*body_len = length != NULL && length < end
			    ? strtoul(length + 17, NULL, 10)
			    : 0;
		}
		if (end != NULL && bytes->len >= *head_len + *body_len)
			return true;
		got = recv(fd, piece, sizeof(piece), 0);
		if (got > 0)
			buf_add(bytes, piece, (size_t)got);
		if (end != NULL)
			end = bytes->data + *head_len - 4; /* it may move */
	} while (got > 0);
	return false;
}

static bool
send_all(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL);

		if (sent <= 0)
			return false;
		bytes += sent;
		len -= (size_t)sent;
	}
	return true;
}

/* Returns whether the connection stays. */
static bool
answer(int fd, const struct server_reply *reply)
{
	struct buf out = { 0 };
	bool sent;

	if (reply->silent)
		return true;
	buf_fmt(&out, "HTTP/1.1 %u Canned\r\nContent-Length: %zu\r\n%s\r\n",
	    reply->status ? reply->status : 200, reply->body.len,
	    reply->headers.data ? reply->headers.data : "");
	buf_add(&out, reply->body.data,
	    reply->body.len - (reply->cut && reply->body.len > 0));
	sent = send_all(fd, out.data, out.len);
	buf_free(&out);
	return sent && !reply->cut;
}

static bool
serve(struct server *server, int fd, unsigned serial)
{
	struct server_request request = { .connection = serial };
	struct server_reply reply = { 0 };
	struct buf bytes = { 0 };
	char *save = NULL;
	size_t head_len = 0;
	bool stays;

	if (!read_request(fd, &bytes, &head_len, &request.body_len)) {
		buf_free(&bytes);
		return false;
	}
	request.body = bytes.data + head_len;
	bytes.data[head_len - 2] = '\0';
	request.headers = strstr(bytes.data, "\r\n") + 2;
	request.method = strtok_r(bytes.data, " ", &save);
	request.target = strtok_r(NULL, " ", &save);
	server->handler(server->arg, &request, &reply);
	stays = answer(fd, &reply);
	buf_free(&reply.headers);
	buf_free(&reply.body);
	buf_free(&bytes);
	return stays;
}

static void
take_connection(struct server *server)
{
	int fd = accept4(server->fds[LISTEN].fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd == -1)
		return;
	if (server->n_fds == FIRST + MAX_CONNECTIONS) {
		close(fd);
		return;
	}
	server->serials[server->n_fds] = ++server->accepted;
	server->fds[server->n_fds++] = (struct pollfd){ .fd = fd,
		.events = POLLIN };
}

static void *
run(void *arg)
{
	struct server *server = arg;

	while (poll(server->fds, server->n_fds, -1) >= 0 &&
	    server->fds[STOP].revents == 0) {
		for (nfds_t i = server->n_fds - 1; i >= FIRST; i--) {
			if (server->fds[i].revents == 0 ||
			    serve(server, server->fds[i].fd,
				server->serials[i]))
				continue;
			close(server->fds[i].fd);
			server->n_fds--;
			server->fds[i] = server->fds[server->n_fds];
			server->serials[i] = server->serials[server->n_fds];
		}
		if (server->fds[LISTEN].revents != 0)
			take_connection(server);
	}
	return NULL;
}

struct server *
server_start(server_handler *handler, void *arg)
{
	struct server *server = mem_zalloc(sizeof(*server));
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd == -1 || bind(fd, (struct sockaddr *)&address, len) == -1 ||
	    listen(fd, MAX_CONNECTIONS) == -1 ||
	    getsockname(fd, (struct sockaddr *)&address, &len) == -1 ||
	    pipe(server->stop) == -1)
		fail("no free port");
	server->handler = handler;
	server->arg = arg;
	snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%u",
	    ntohs(address.sin_port));
	server->fds[STOP] = (struct pollfd){ .fd = server->stop[0],
		.events = POLLIN };
	server->fds[LISTEN] = (struct pollfd){ .fd = fd, .events = POLLIN };
	server->n_fds = FIRST;
	if (pthread_create(&server->thread, NULL, run, server) != 0)
		fail("no thread");
	return server;
}

const char *
server_url(const struct server *server)
{
	return server->url;
}

void
server_stop(struct server *server)
{
	if (server == NULL)
		return;
	close(server->stop[1]);
	pthread_join(server->thread, NULL);
	for (nfds_t i = 0; i < server->n_fds; i++)
		close(server->fds[i].fd);
	free(server);
}

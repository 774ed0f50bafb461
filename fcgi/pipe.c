/* pipe.c: the feed verb: a piped log's lines as datagrams to the daemon */
/* SPDX-License-Identifier: ISC */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "conf/log.h"
#include "fcgi/admin.h"
#include "sync/feed.h"

/* The web server waits while nobody reads its pipe: so read a lot at once. */
#define READ_SIZE 65536
/* One line on stderr for so many lost ones. */
#define LOST_STEP 65536

struct pipe {
	struct sockaddr_un to;
	int fd;
	uint64_t lost;
	char line[MAX_FEED_LINE];
	size_t len; /* of line; what does not fit is dropped */
};

/*
 * Unconnected, so that a reader that comes back under the same path is found
 * by the next line.  A full queue (net.unix.max_dgram_qlen), a reader that is
 * stopped or absent: the line is lost, and the web server never waits.
 */
static void
send_line(struct pipe *pipe)
{
	size_t len = pipe->len;

	pipe->len = 0;
	if (len == 0 ||
	    sendto(pipe->fd, pipe->line, len, MSG_DONTWAIT | MSG_NOSIGNAL,
		(struct sockaddr *)&pipe->to, sizeof(pipe->to)) != -1)
		return;
	if (pipe->lost++ % LOST_STEP == 0)
		log_msg(LOG_WARNING, "%s: %s; lines lost so far: %ju",
		    pipe->to.sun_path, strerror(errno), (uintmax_t)pipe->lost);
}

static void
take_bytes(struct pipe *pipe, const char *bytes, size_t len)
{
	while (len > 0) {
		const char *end = memchr(bytes, '\n', len);
		size_t part = end != NULL ? (size_t)(end - bytes) : len;
		size_t room = sizeof(pipe->line) - pipe->len;

		memcpy(pipe->line + pipe->len, bytes,
		    part < room ? part : room);
		pipe->len += part < room ? part : room;
		if (end == NULL)
			return;
		send_line(pipe);
		bytes = end + 1;
		len -= part + 1;
	}
}

static enum err
copy_lines(struct pipe *pipe)
{
	char bytes[READ_SIZE];
	ssize_t len;

	while ((len = read(STDIN_FILENO, bytes, sizeof(bytes))) != 0) {
		if (len > 0)
			take_bytes(pipe, bytes, (size_t)len);
		else if (errno != EINTR)
			return err_sys("standard input");
	}
	send_line(pipe);
	return ERR_OK;
}

enum err
admin_feed(const struct admin *admin, int argc, char **argv, int *status)
{
	struct pipe pipe = { .to.sun_family = AF_UNIX };
	enum err err;

	(void)admin;
	(void)status;
	if (argc != 2)
		return err_set(ERR_USAGE, "which socket?");
	if (strlen(argv[1]) >= sizeof(pipe.to.sun_path))
		return err_set(ERR_USAGE,
		    "%s: longer than the %zu bytes of a "
		    "unix socket's path",
		    argv[1], sizeof(pipe.to.sun_path) - 1);
	strcpy(pipe.to.sun_path, argv[1]);
	/* stderr may be a pipe whose reader went away */
	signal(SIGPIPE, SIG_IGN);
	pipe.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (pipe.fd == -1)
		return err_sys("socket");
	err = copy_lines(&pipe);
	close(pipe.fd);
	return err;
}

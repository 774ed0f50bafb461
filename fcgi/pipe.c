/* pipe.c: the feed verb: a piped log's lines to the daemon and to a file */
/* SPDX-License-Identifier: ISC */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "conf/log.h"
#include "conf/mem.h"
#include "fcgi/admin.h"
#include "sync/feed.h"

/* The web server waits while nobody reads its pipe: so read a lot at once. */
#define READ_SIZE 65536
/* Of a line, the rest for the log included: what web servers take of a head. */
#define MAX_LINE 65536
/* One line on stderr for so many lost ones. */
#define LOST_STEP 65536

struct pipe {
	struct sockaddr_un to;
	int fd;
	uint64_t lost;
	const char *log; /* or NULL */
	int log_fd;	 /* -1: not open */
	uint64_t log_lost;
	struct buf rest; /* lines for the log, of one read */
	char line[MAX_LINE];
	size_t len; /* of line; what does not fit is dropped */
};

static void
count_lost(uint64_t *lost, uint64_t more, const char *where)
{
	uint64_t before = *lost;

	*lost += more;
	if (before == 0 || before / LOST_STEP != *lost / LOST_STEP)
		log_msg(LOG_WARNING, "%s: %s; lines lost so far: %ju", where,
		    strerror(errno), (uintmax_t)*lost);
}

/* Not for the daemon: of most reads it wants to know nothing. */
static bool
is_dull(const char *text, size_t len)
{
	struct feed_line line;
	char copy[MAX_FEED_LINE + 1];

	memcpy(copy, text, len);
	copy[len] = '\0';
	/* of what is no line at all, the daemon says so in its log */
	return feed_parse(copy, &line) == ERR_OK && !feed_is_write(&line) &&
	    feed_tells(&line) == FEED_WELL;
}

/*
 * Unconnected, so that a reader that comes back under the same path is found
 * by the next line.  A full queue (net.unix.max_dgram_qlen), a reader that is
 * stopped or absent: the line is lost, and the web server never waits.
 */
static void
send_part(struct pipe *pipe, size_t len)
{
	if (len > MAX_FEED_LINE)
		len = MAX_FEED_LINE;
	if (len > 0 && !is_dull(pipe->line, len) &&
	    sendto(pipe->fd, pipe->line, len, MSG_DONTWAIT | MSG_NOSIGNAL,
		(struct sockaddr *)&pipe->to, sizeof(pipe->to)) == -1)
		count_lost(&pipe->lost, 1, pipe->to.sun_path);
}

/* "FEED-PART", or "FEED-PART<TAB>REST" */
static void
take_line(struct pipe *pipe)
{
	const char *tab = memchr(pipe->line, '\t', pipe->len);
	size_t part = tab != NULL ? (size_t)(tab - pipe->line) : pipe->len;

	send_part(pipe, part);
	if (pipe->log != NULL && part + 1 < pipe->len) {
		buf_add(&pipe->rest, tab + 1, pipe->len - part - 1);
		buf_puts(&pipe->rest, "\n");
	}
	pipe->len = 0;
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
		take_line(pipe);
		bytes = end + 1;
		len -= part + 1;
	}
}

/* Has the log been rotated away since it was opened? */
static bool
is_moved(const struct pipe *pipe)
{
	struct stat named, opened;

	return stat(pipe->log, &named) == -1 ||
	    fstat(pipe->log_fd, &opened) == -1 ||
	    named.st_dev != opened.st_dev || named.st_ino != opened.st_ino;
}

static bool
open_log(struct pipe *pipe)
{
	if (pipe->log_fd != -1 && is_moved(pipe)) {
		close(pipe->log_fd);
		pipe->log_fd = -1;
	}
	/* never to wait for a reader, should it be a FIFO */
	if (pipe->log_fd == -1)
		pipe->log_fd = open(pipe->log,
		    O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY |
			O_NONBLOCK,
		    0640);
	return pipe->log_fd != -1;
}

static uint64_t
count_lines(const char *text, size_t len)
{
	uint64_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += text[i] == '\n';
	return n;
}

/* In one write, so that lines stay whole where others append, too. */
static void
write_log(struct pipe *pipe)
{
	const char *at = pipe->rest.data;
	size_t left = pipe->rest.len;

	while (left > 0) {
		ssize_t done = open_log(pipe) ? write(pipe->log_fd, at, left)
					      : -1;

		if (done == -1 && errno == EINTR)
			continue;
		if (done == -1) {
			count_lost(&pipe->log_lost, count_lines(at, left),
			    pipe->log);
			break;
		}
		at += done;
		left -= (size_t)done;
	}
	buf_reset(&pipe->rest);
}

static enum err
copy_lines(struct pipe *pipe)
{
	char bytes[READ_SIZE];
	ssize_t len;

	while ((len = read(STDIN_FILENO, bytes, sizeof(bytes))) != 0) {
		if (len > 0) {
			take_bytes(pipe, bytes, (size_t)len);
			write_log(pipe);
		} else if (errno != EINTR) {
			return err_sys("standard input");
		}
	}
	take_line(pipe);
	write_log(pipe);
	return ERR_OK;
}

enum err
admin_feed(const struct admin *admin, int argc, char **argv, int *status)
{
	struct pipe pipe = { .to.sun_family = AF_UNIX,
		.log = admin->log,
		.log_fd = -1 };
	enum err err;

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
	if (pipe.log_fd != -1)
		close(pipe.log_fd);
	buf_free(&pipe.rest);
	return err;
}

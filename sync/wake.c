/* wake.c: datagrams on this host: wake the daemon, and the completion feed */
/* SPDX-License-Identifier: ISC */
#include "sync/wake.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* "reproute-look", or "reproute-look ROUTE NAME"; no route has a space. */
#define LOOK "reproute-look"
#define MAX_DATAGRAM (sizeof(LOOK " ") + MAX_WORD + sizeof(" ") + MAX_NAME)

static bool
address_of(const char *run_dir, const char *name, struct sockaddr_un *out)
{
	int len;

	*out = (struct sockaddr_un){ .sun_family = AF_UNIX };
	len = snprintf(out->sun_path, sizeof(out->sun_path), "%s/%s", run_dir,
	    name);
	return len >= 0 && (size_t)len < sizeof(out->sun_path);
}

/* Removes a socket on which nobody listens. */
static enum err
clear_way(int fd, const struct sockaddr_un *address)
{
	const char *path = address->sun_path;
	struct stat status;

	if (lstat(path, &status) == -1)
		return errno == ENOENT ? ERR_OK : err_sys("socket %s", path);
	if (!S_ISSOCK(status.st_mode))
		return err_set(ERR_SYS,
		    "socket %s: something else is there; "
		    "remove it",
		    path);
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) ==
	    0)
		return err_set(ERR_BUSY,
		    "socket %s: another process listens "
		    "there",
		    path);
	if (errno != ECONNREFUSED && errno != ENOENT)
		return err_sys("socket %s", path);
	if (unlink(path) == -1 && errno != ENOENT)
		return err_sys("socket %s", path);
	return ERR_OK;
}

static enum err
bind_there(const struct sockaddr_un *address, int *fd)
{
	int sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	enum err err;

	if (sock == -1)
		return err_sys("socket %s", address->sun_path);
	err = clear_way(sock, address);
	if (err == ERR_OK &&
	    (bind(sock, (const struct sockaddr *)address, sizeof(*address)) ==
		    -1 ||
		chmod(address->sun_path, 0660) == -1))
		err = err_sys("socket %s", address->sun_path);
	if (err == ERR_OK)
		*fd = sock;
	else
		close(sock);
	return err;
}

enum err
wake_bind(const char *run_dir, const char *name, int *fd)
{
	struct sockaddr_un address;
	enum err err;
	int lock;

	if (!address_of(run_dir, name, &address))
		return err_set(ERR_SYS,
		    "socket %s/%s: a socket's path has at "
		    "most %zu bytes; choose a shorter run_dir",
		    run_dir, name, sizeof(address.sun_path) - 1);
	/* under the directory's lock, lest one remove what another has bound */
	lock = open(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (lock == -1 || flock(lock, LOCK_EX) == -1)
		err = err_sys("run_dir %s", run_dir);
	else
		err = bind_there(&address, fd);
	if (lock != -1)
		close(lock);
	return err;
}

int
wake_try(const char *run_dir, const char *name, int type)
{
	struct sockaddr_un address;
	int fd, error = 0;

	if (!address_of(run_dir, name, &address))
		return ENAMETOOLONG;
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1)
		return errno;
	/* EAGAIN: a queue is full, so somebody is there */
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) ==
		-1 &&
	    errno != EAGAIN)
		error = errno;
	close(fd);
	return error;
}

bool
wake_deserted(const char *run_dir, const char *name, int type)
{
	return wake_try(run_dir, name, type) == ECONNREFUSED;
}

enum err
wake_receive(int fd, int timeout_ms, char *buf, size_t size)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	ssize_t len;

	if (poll(&ready, 1, timeout_ms) == -1)
		return errno == EINTR ? ERR_ABSENT : err_sys("poll");
	/* not waiting here: another thread may have taken it */
	len = recv(fd, buf, size - 1, MSG_DONTWAIT);
	if (len == -1)
		return errno == EAGAIN || errno == EINTR
		    ? ERR_ABSENT
		    : err_sys("a datagram cannot be received");
	buf[len] = '\0';
	return ERR_OK;
}

void
wake_send(const char *run_dir, const char *route, const char *name)
{
	char text[MAX_DATAGRAM] = LOOK;
	struct sockaddr_un address;
	int fd;

	if (!address_of(run_dir, WAKE_SOCKET, &address))
		return;
	if (route != NULL && name != NULL)
		snprintf(text, sizeof(text), LOOK " %s %s", route, name);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1)
		return;
	(void)sendto(fd, text, strlen(text), MSG_NOSIGNAL,
	    (const struct sockaddr *)&address, sizeof(address));
	close(fd);
}

enum err
wake_parse(const char *datagram, char *route, char *name)
{
	const char *at = datagram + strlen(LOOK);
	char word[WORD_SIZE];
	size_t len;

	if (strncmp(datagram, LOOK, strlen(LOOK)) != 0)
		return err_set(ERR_INPUT, "a datagram without " LOOK);
	if (*at == '\0') {
		route[0] = name[0] = '\0';
		return ERR_OK;
	}
	if (*at++ != ' ' || (len = strcspn(at, " ")) > MAX_WORD)
		return err_set(ERR_INPUT, "a datagram without a route");
	memcpy(word, at, len);
	word[len] = '\0';
	at += len;
	if (!name_word(word) || *at++ != ' ')
		return err_set(ERR_INPUT, "a datagram without a route");
	if (!name_git(at) && !name_registry(at))
		return err_set(ERR_INPUT, "a datagram without a repository");
	strcpy(route, word);
	strcpy(name, at);
	return ERR_OK;
}

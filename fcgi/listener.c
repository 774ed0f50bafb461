/* listener.c: a listening socket: inherited, unix or TCP */
/* SPDX-License-Identifier: ISC */
#include "fcgi/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "conf/mem.h"

/* Connections that wait for a thread; the kernel cuts it to its somaxconn. */
#define BACKLOG 1024
/* What stands behind a path while its socket is being made, and its lock. */
#define NEW_SUFFIX ".new"
#define LOCK_SUFFIX ".lock"
/* "[" IPv6 address "]" and more */
#define MAX_HOST 64

struct listener {
	int fd;
	int lock;   /* -1: no unix socket bound here */
	char *path; /* of a unix socket bound here, or NULL */
	dev_t dev;  /* which one it is, so as to remove no other's */
	ino_t ino;
};

bool
listener_listens(int fd)
{
	int listens = 0;
	socklen_t len = sizeof(listens);

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 &&
	    listens;
}

int
listener_fd(const struct listener *listener)
{
	return listener != NULL ? listener->fd : STDIN_FILENO;
}

static enum err
unix_address(const char *path, const char *suffix, struct sockaddr_un *out)
{
	int len;

	*out = (struct sockaddr_un){ .sun_family = AF_UNIX };
	len = snprintf(out->sun_path, sizeof(out->sun_path), "%s%s", path,
	    suffix);
	if (len < 0 || (size_t)len >= sizeof(out->sun_path))
		return err_set(ERR_USAGE,
		    "%s: the path of a unix socket may "
		    "have %zu bytes",
		    path, sizeof(out->sun_path) - sizeof(NEW_SUFFIX));
	return ERR_OK;
}

/* Held for life: whoever has it may take the place of what is at path. */
static enum err
lock_path(struct listener *listener)
{
	char *path = mem_fmt("%s" LOCK_SUFFIX, listener->path);
	enum err err = ERR_OK;

	listener->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
	    0660);
	if (listener->lock == -1)
		err = err_sys("%s", path);
	else if (flock(listener->lock, LOCK_EX | LOCK_NB) == -1)
		err = errno == EWOULDBLOCK
		    ? err_set(ERR_BUSY, "%s: another instance listens there",
			  listener->path)
		    : err_sys("%s", path);
	free(path);
	return err;
}

/* Somebody without our lock may listen there: a socket unit, spawn-fcgi. */
static enum err
check_free(const char *path)
{
	struct sockaddr_un address;
	struct stat status;
	enum err err;
	int fd, error = 0;

	if ((err = unix_address(path, "", &address)) != ERR_OK)
		return err;
	if (lstat(path, &status) == -1)
		return errno == ENOENT ? ERR_OK : err_sys("%s", path);
	if (!S_ISSOCK(status.st_mode))
		return err_set(ERR_USAGE,
		    "%s: there is something that is no "
		    "socket; move it away, or listen elsewhere",
		    path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1)
		return err_sys("socket");
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == -1)
		error = errno;
	close(fd);
	if (error == ECONNREFUSED || error == ENOENT)
		return ERR_OK;
	return err_set(ERR_BUSY, "%s: somebody else listens there", path);
}

/*
 * Under another name first: at path there is never a socket that does not
 * listen yet, or that has another mode than was asked for.
 */
static enum err
bind_unix(struct listener *listener, unsigned mode)
{
	struct sockaddr_un address;
	struct stat status;
	enum err err;

	err = unix_address(listener->path, NEW_SUFFIX, &address);
	if (err != ERR_OK)
		return err;
	listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener->fd == -1)
		return err_sys("socket");
	if (unlink(address.sun_path) == -1 && errno != ENOENT)
		return err_sys("%s", address.sun_path);
	if (bind(listener->fd, (struct sockaddr *)&address, sizeof(address)) ==
		-1 ||
	    chmod(address.sun_path, (mode_t)mode) == -1 ||
	    listen(listener->fd, BACKLOG) == -1 ||
	    stat(address.sun_path, &status) == -1 ||
	    rename(address.sun_path, listener->path) == -1) {
		err = err_sys("%s", address.sun_path);
		unlink(address.sun_path);
		return err;
	}
	listener->dev = status.st_dev;
	listener->ino = status.st_ino;
	return ERR_OK;
}

static enum err
open_unix(struct listener *listener, const char *path, unsigned mode)
{
	struct sockaddr_un address;
	enum err err;

	/* too long a path leaves no lock behind */
	if ((err = unix_address(path, NEW_SUFFIX, &address)) != ERR_OK)
		return err;
	listener->path = mem_dup(path);
	if ((err = lock_path(listener)) != ERR_OK ||
	    (err = check_free(path)) != ERR_OK)
		return err;
	return bind_unix(listener, mode);
}

/* getaddrinfo(3) would take any number, and cut it. */
static bool
is_port(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits > 0 && digits <= 5 && text[digits] == '\0' &&
	    atoi(text) > 0 && atoi(text) <= UINT16_MAX;
}

/* Splits "ADDR:PORT", "[ADDR]:PORT", ":PORT". */
static bool
split_host(const char *address, char host[MAX_HOST], const char **port)
{
	const char *colon = strrchr(address, ':');
	size_t len;

	if (colon == NULL)
		return false;
	len = (size_t)(colon - address);
	*port = colon + 1;
	if (len >= 2 && address[0] == '[' && colon[-1] == ']') {
		address++;
		len -= 2;
	}
	if (len >= MAX_HOST || !is_port(*port))
		return false;
	memcpy(host, address, len);
	host[len] = '\0';
	if (len == 0)
		strcpy(host, "127.0.0.1");
	return true;
}

static enum err
open_tcp(struct listener *listener, const char *address)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
	struct addrinfo *info = NULL;
	char host[MAX_HOST];
	const char *port;
	enum err err = ERR_OK;
	int on = 1;

	if (!split_host(address, host, &port) ||
	    getaddrinfo(host, port, &hints, &info) != 0)
		return err_set(ERR_USAGE,
		    "%s: listen at \"/PATH\", "
		    "\"ADDR:PORT\" (numbers) or \":PORT\"",
		    address);
	listener->fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener->fd == -1 ||
	    setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on,
		sizeof(on)) == -1 ||
	    bind(listener->fd, info->ai_addr, info->ai_addrlen) == -1 ||
	    listen(listener->fd, BACKLOG) == -1)
		err = errno == EADDRINUSE
		    ? err_set(ERR_BUSY, "%s: somebody else listens there",
			  address)
		    : err_sys("%s", address);
	freeaddrinfo(info);
	return err;
}

enum err
listener_open(const char *address, unsigned mode, struct listener **out)
{
	struct listener *listener = mem_zalloc(sizeof(*listener));
	enum err err = ERR_OK;

	listener->fd = -1;
	listener->lock = -1;
	if (address != NULL && getauxval(AT_SECURE) != 0)
		err = err_set(ERR_DENIED,
		    "is setgid and run by another user, who may not say "
		    "where it listens: run it as the user reproute, or have a "
		    "web server or a socket unit start it (fd 0)");
	else if (address == NULL && listener_listens(STDIN_FILENO))
		listener->fd = STDIN_FILENO;
	else if (address == NULL)
		err = err_set(ERR_USAGE,
		    "fd 0 is no listening socket: have "
		    "the web server or a socket unit start this, or say "
		    "--listen ADDRESS");
	else if (strchr(address, '/') != NULL)
		err = open_unix(listener, address, mode);
	else
		err = open_tcp(listener, address);
	if (err != ERR_OK) {
		listener_close(listener);
		return err;
	}
	*out = listener;
	return ERR_OK;
}

static void
remove_socket(const struct listener *listener)
{
	struct stat status;

	if (listener->ino != 0 && lstat(listener->path, &status) == 0 &&
	    status.st_dev == listener->dev && status.st_ino == listener->ino)
		unlink(listener->path);
}

void
listener_close(struct listener *listener)
{
	if (listener == NULL)
		return;
	if (listener->path != NULL)
		remove_socket(listener);
	if (listener->fd > STDIN_FILENO)
		close(listener->fd);
	/* the lock file stays: removing it would let two hold "the" lock */
	if (listener->lock != -1)
		close(listener->lock);
	free(listener->path);
	free(listener);
}

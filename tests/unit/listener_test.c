/* listener_test.c: where a program listens, and that it steals nothing */
/* SPDX-License-Identifier: ISC */
#include "fcgi/listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conf/mem.h"
#include "tests/unit/gained.h"
#include "tests/unit/tap.h"

static const struct {
	const char *address;
	enum err err;
} addresses[] = {
	{ "", ERR_USAGE },
	{ "9000", ERR_USAGE },
	{ "localhost:9000", ERR_USAGE },
	{ "127.0.0.1:", ERR_USAGE },
	{ "127.0.0.1:0", ERR_USAGE },
	{ "127.0.0.1:65536", ERR_USAGE },
	{ "127.0.0.1:99999999999", ERR_USAGE },
	{ "127.0.0.1:http", ERR_USAGE },
	{ "[::1:9000", ERR_USAGE },
	{ "/nonexistent/directory/socket", ERR_SYS },
	{ "/tmp/0123456789012345678901234567890123456789012345678901234567890"
	  "123456789012345678901234567890123456789",
	    ERR_USAGE },
};

static unsigned
mode_of(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 ? status.st_mode & 07777 : 0;
}

static bool
connects(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	bool does;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	does = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
	close(fd);
	return does;
}

/* A socket of somebody who does not know our lock. */
static int
bind_foreign(const char *path, bool listens)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) == -1 ||
	    (listens && listen(fd, 1) == -1))
		abort();
	return fd;
}

static void
test_unix(void)
{
	char *path = mem_fmt("%s/socket", tap_dir());
	struct listener *one = NULL, *other = NULL;

	umask(0077);
	tap_int(listener_open(path, 0666, &one), ERR_OK, "a path");
	tap_int(mode_of(path), 0666, "its mode, whatever the umask");
	tap_ok(listener_listens(listener_fd(one)) && connects(path),
	    "it listens");
	tap_int(listener_open(path, 0660, &other), ERR_BUSY,
	    "a second instance");
	tap_ok(connects(path) && mode_of(path) == 0666, "takes nothing away");
	listener_close(one);
	tap_int(access(path, F_OK), -1, "the end removes it");
	tap_int(listener_open(path, 0640, &one), ERR_OK, "again");
	tap_int(mode_of(path), 0640, "with another mode");
	unlink(path);
	close(bind_foreign(path, false));
	listener_close(one);
	tap_int(access(path, F_OK), 0, "the end removes no other's socket");
	tap_int(listener_open(path, 0660, &one), ERR_OK,
	    "the place of a socket on which nobody listens");
	listener_close(one);
	free(path);
}

static void
test_foreign(void)
{
	char *path = mem_fmt("%s/foreign", tap_dir());
	char *file = mem_fmt("%s/file", tap_dir());
	struct listener *listener = NULL;
	int fd = bind_foreign(path, true);

	tap_int(listener_open(path, 0660, &listener), ERR_BUSY,
	    "a foreign program listens there");
	tap_ok(connects(path), "and goes on");
	close(fd);
	close(open(file, O_CREAT | O_WRONLY, 0600));
	tap_int(listener_open(file, 0660, &listener), ERR_USAGE,
	    "a file is there");
	tap_ok(mode_of(file) == 0600, "and stays");
	free(path);
	free(file);
}

static void
test_tcp(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct listener *listener = NULL;
	char *at;

	/* the kernel knows a free port */
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)&address, len) == -1 ||
	    listen(fd, 1) == -1 ||
	    getsockname(fd, (struct sockaddr *)&address, &len) == -1)
		abort();
	at = mem_fmt(":%u", ntohs(address.sin_port));
	tap_int(listener_open(at, 0, &listener), ERR_BUSY,
	    "a port that somebody has");
	close(fd);
	tap_int(listener_open(at, 0, &listener), ERR_OK, "a free one");
	tap_ok(getsockname(listener_fd(listener), (struct sockaddr *)&address,
		   &len) == 0 &&
		address.sin_addr.s_addr == htonl(INADDR_LOOPBACK),
	    "without an address it is 127.0.0.1");
	listener_close(listener);
	free(at);
}

static void
test_inherited(void)
{
	char *path = mem_fmt("%s/inherited", tap_dir());
	struct listener *listener = NULL;
	int null = open("/dev/null", O_RDWR);
	int fd = bind_foreign(path, true);

	dup2(null, STDIN_FILENO);
	tap_int(listener_open(NULL, 0, &listener), ERR_USAGE,
	    "fd 0 is no listening socket");
	dup2(fd, STDIN_FILENO);
	tap_int(listener_open(NULL, 0, &listener), ERR_OK, "fd 0 is one");
	tap_int(listener_fd(listener), STDIN_FILENO, "it is used");
	listener_close(listener);
	tap_ok(connects(path), "and not removed: others have it, too");
	free(path);
}

/* Of a program installed setgid: no file is made for who starts it. */
static void
test_gained(void)
{
	char *program = gained_copy();
	char *path = mem_fmt("%s/elsewhere", tap_dir());
	char *lock = mem_fmt("%s.lock", path);
	const char *const addresses_asked[] = { path, "127.0.0.1:1" };

	for (size_t i = 0; program != NULL && i < 2; i++) {
		char *command = mem_fmt("%s %s", program, addresses_asked[i]);
		int status = system(command);

		tap_int(WIFEXITED(status) ? WEXITSTATUS(status) : -1,
		    ERR_DENIED, "\"%s\" with the rights of another group",
		    i == 0 ? "/path" : addresses_asked[i]);
		free(command);
	}
	tap_ok(access(path, F_OK) == -1 && access(lock, F_OK) == -1,
	    "nothing is made");
	free(lock);
	free(path);
	free(program);
}

int
main(int argc, char **argv)
{
	struct listener *listener = NULL;

	/* run by test_gained() */
	if (argc == 2)
		return (int)listener_open(argv[1], 0660, &listener);
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
		tap_int(listener_open(addresses[i].address, 0660, &listener),
		    addresses[i].err, "\"%.30s\"", addresses[i].address);
	test_unix();
	test_foreign();
	test_tcp();
	test_inherited();
	test_gained();
	return tap_done();
}

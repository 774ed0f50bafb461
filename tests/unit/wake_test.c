/* wake_test.c: datagram sockets: who listens, what is said, what is junk */
/* SPDX-License-Identifier: ISC */
#include "sync/wake.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conf/mem.h"
#include "tests/unit/tap.h"

#define N256                                                                   \
	"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"     \
	"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"     \
	"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"     \
	"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
#define N1024 N256 N256 N256 N256
/* Processes that bind at once. */
#define RACERS 8
#define W63 "wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww"

static const struct {
	const char *text;
	enum err err;
	const char *route, *name;
} datagrams[] = {
	{ "reproute-look", ERR_OK, "", "" },
	{ "reproute-look stash p/r", ERR_OK, "stash", "p/r" },
	{ "reproute-look stash ~user/r x", ERR_OK, "stash", "~user/r x" },
	{ "reproute-look stash \xc3\xa4", ERR_OK, "stash", "\xc3\xa4" },
	{ "reproute-look reg a/b.git", ERR_OK, "reg", "a/b.git" },
	{ "reproute-look " W63 " " N1024, ERR_OK, W63, N1024 },
	{ "", ERR_INPUT, "?", "?" },
	{ "reproute-loo", ERR_INPUT, "?", "?" },
	{ "reproute-look ", ERR_INPUT, "?", "?" },
	{ "reproute-lookout", ERR_INPUT, "?", "?" },
	{ "reproute-look\n", ERR_INPUT, "?", "?" },
	{ "reproute-look stash", ERR_INPUT, "?", "?" },
	{ "reproute-look stash ", ERR_INPUT, "?", "?" },
	{ "reproute-look  r", ERR_INPUT, "?", "?" },
	{ "reproute-look Stash p/r", ERR_INPUT, "?", "?" },
	{ "reproute-look -x p/r", ERR_INPUT, "?", "?" },
	{ "reproute-look " W63 "w r", ERR_INPUT, "?", "?" },
	{ "reproute-look stash " N1024 "n", ERR_INPUT, "?", "?" },
	{ "reproute-look stash /r", ERR_INPUT, "?", "?" },
	{ "reproute-look stash ../r", ERR_INPUT, "?", "?" },
	{ "reproute-look stash R.git", ERR_INPUT, "?", "?" },
	{ "reproute-look stash p/r\n", ERR_INPUT, "?", "?" },
	{ "reproute-look stash p\x01r", ERR_INPUT, "?", "?" },
	{ "reproute-look stash \xff", ERR_INPUT, "?", "?" },
};

static void
test_parse(void)
{
	for (size_t i = 0; i < sizeof(datagrams) / sizeof(datagrams[0]); i++) {
		char route[WORD_SIZE] = "?", name[NAME_SIZE] = "?";
		/* from the heap, so that a sanitizer sees a step too far */
		char *text = mem_dup(datagrams[i].text);

		tap_int(wake_parse(text, route, name), datagrams[i].err,
		    "datagram %zu", i);
		tap_str(route, datagrams[i].route, "its route");
		tap_str(name, datagrams[i].name, "its name");
		free(text);
	}
}

/* What is sent is what is parsed, up to the longest names. */
static const struct {
	const char *route, *name;
} sent[] = {
	{ NULL, NULL },
	{ "stash", "p/r" },
	{ W63, N1024 },
};

static void
test_send(void)
{
	char text[2048], route[WORD_SIZE], name[NAME_SIZE];
	char *path = mem_fmt("%s/" WAKE_SOCKET, tap_dir());
	struct stat status;
	int fd = -1;

	wake_send(tap_dir(), NULL, NULL);
	tap_ok(true, "nobody listens, and nothing happens");
	tap_int(wake_bind(tap_dir(), WAKE_SOCKET, &fd), ERR_OK, "bound");
	tap_ok(stat(path, &status) == 0 && (status.st_mode & 0777) == 0660,
	    "with mode 0660");
	tap_int(wake_receive(fd, 0, text, sizeof(text)), ERR_ABSENT,
	    "nothing was said");
	for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); i++) {
		wake_send(tap_dir(), sent[i].route, sent[i].name);
		tap_int(wake_receive(fd, 1000, text, sizeof(text)), ERR_OK,
		    "a datagram came");
		tap_int(wake_parse(text, route, name), ERR_OK, "it is one");
		tap_str(route, sent[i].route ? sent[i].route : "", "route");
		tap_str(name, sent[i].name ? sent[i].name : "", "name");
	}
	wake_send(tap_dir(), "stash", "p/r");
	tap_int(wake_receive(fd, 1000, text, 8), ERR_OK, "one too long came");
	tap_str(text, "reprout", "it is cut");
	/* more than any queue holds: had it blocked, we would not come by */
	for (int i = 0; i < 2000; i++)
		wake_send(tap_dir(), "stash", N1024);
	tap_ok(true, "a full queue blocks nobody");
	close(fd);
	free(path);
}

static void
test_bind(void)
{
	char *deep = mem_fmt("/tmp/" N256);
	char *path = mem_fmt("%s/" FEED_SOCKET, tap_dir());
	int fd = -1, other = -1, file;
	struct stat status;

	tap_int(wake_bind("/nonexistent", FEED_SOCKET, &fd), ERR_SYS,
	    "there must be a directory");
	tap_int(wake_bind(deep, FEED_SOCKET, &fd), ERR_SYS, "a path too long");
	wake_send(deep, NULL, NULL);
	tap_int(wake_bind(tap_dir(), FEED_SOCKET, &fd), ERR_OK, "bound");
	tap_int(wake_bind(tap_dir(), FEED_SOCKET, &other), ERR_BUSY,
	    "not twice");
	tap_int(other, -1, "and nothing was opened");
	close(fd);
	tap_ok(lstat(path, &status) == 0, "the socket stays when it is closed");
	tap_int(wake_bind(tap_dir(), FEED_SOCKET, &fd), ERR_OK,
	    "and is taken over");
	tap_ok((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0, "no child has it");
	close(fd);
	unlink(path);
	file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	close(file);
	tap_int(wake_bind(tap_dir(), FEED_SOCKET, &fd), ERR_SYS,
	    "a file in its place is no socket");
	tap_ok(lstat(path, &status) == 0, "and is not removed");
	unlink(path);
	free(deep);
	free(path);
}

/* A child: binds when start ends, and holds it until hold ends. */
static int
bind_and_hold(int start, int hold)
{
	int fd;
	char byte;
	enum err err;

	if (read(start, &byte, 1) != 0)
		return 1;
	err = wake_bind(tap_dir(), "race.sock", &fd);
	if (write(STDOUT_FILENO, "x", 1) != 1 || read(hold, &byte, 1) != 0)
		return 1;
	return err == ERR_OK ? 10 : err == ERR_BUSY ? 20 : 1;
}

/* Many that bind over a dead socket at once: one gets it. */
static void
test_race(void)
{
	int fd, status, start[2], hold[2], done[2], got = 0, busy = 0;
	pid_t pids[RACERS];
	char byte;

	if (wake_bind(tap_dir(), "race.sock", &fd) != ERR_OK ||
	    pipe(start) == -1 || pipe(hold) == -1 || pipe(done) == -1)
		exit(1);
	close(fd);
	for (int i = 0; i < RACERS; i++)
		if ((pids[i] = fork()) == 0) {
			close(start[1]);
			close(hold[1]);
			dup2(done[1], STDOUT_FILENO);
			_exit(bind_and_hold(start[0], hold[0]));
		}
	close(start[1]);
	close(done[1]);
	for (int i = 0; i < RACERS; i++)
		if (read(done[0], &byte, 1) != 1)
			break;
	close(hold[1]);
	for (int i = 0; i < RACERS; i++) {
		waitpid(pids[i], &status, 0);
		got += WIFEXITED(status) && WEXITSTATUS(status) == 10;
		busy += WIFEXITED(status) && WEXITSTATUS(status) == 20;
	}
	close(start[0]);
	close(hold[0]);
	close(done[0]);
	tap_int(got, 1, "of several at once, one is bound");
	tap_int(busy, RACERS - 1, "and the others are told so");
}

int
main(void)
{
	umask(0007);
	test_parse();
	test_send();
	test_bind();
	test_race();
	return tap_done();
}

/* spawn.c: a child process of its own group, with a stall limit, no shell */
/* SPDX-License-Identifier: ISC */
#include "sync/spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conf/clock.h"
#include "conf/log.h"

/* How often stop is asked and the clock looked at, in ms. */
#define TICK_MS 100
#define PROGRESS_MS 1000
/* From SIGTERM to SIGKILL, in ms: git removes its lock files meanwhile. */
#define GRACE_MS 2000
/* One turn takes at most so many times 16 KB, whoever writes for ever. */
#define MAX_READS 64
/* A longer line is cut, in bytes. */
#define MAX_LINE 240

extern char **environ;

/* Lines that are not empty: each complete at LF, or at git's CR. */
struct tail {
	char open[MAX_LINE + 1];
	size_t open_len;
	char last[MAX_LINE + 1];
	char cause[MAX_LINE + 1]; /* the first that says "fatal: ..." */
};

struct child {
	const struct spawn *order;
	pid_t pid;	     /* and its group's number */
	int pidfd, out, err; /* -1 once closed */
	struct buf *output;
	size_t taken; /* bytes of stdout */
	struct tail tail;
	unsigned long long ticks; /* of CPU, when last looked at */
	int64_t alive_ms, look_ms, progress_ms;
};

static void
tail_end_line(struct tail *tail)
{
	if (tail->open_len == 0)
		return;
	memcpy(tail->last, tail->open, tail->open_len);
	tail->last[tail->open_len] = '\0';
	tail->open_len = 0;
	/* what git says behind it is advice, or the same once more */
	if (tail->cause[0] == '\0' &&
	    (strncmp(tail->last, "fatal: ", 7) == 0 ||
		strncmp(tail->last, "error: ", 7) == 0))
		strcpy(tail->cause, tail->last);
}

static void
tail_take(struct tail *tail, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == '\n' || bytes[i] == '\r')
			tail_end_line(tail);
		else if (tail->open_len < MAX_LINE)
			tail->open[tail->open_len++] = bytes[i];
	}
}

/* An fd from which the child reads input and then the end. */
static enum err
open_input(const struct spawn *order, int *out)
{
	size_t sent = 0;
	int fd;

	if (order->input == NULL)
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	else
		fd = memfd_create("input", MFD_CLOEXEC);
	if (fd < 0)
		return err_sys("%s: input", order->argv[0]);
	while (order->input != NULL && sent < order->input_len) {
		ssize_t n = write(fd, order->input + sent,
		    order->input_len - sent);

		if (n < 0) {
			close(fd);
			return err_sys("%s: input", order->argv[0]);
		}
		sent += (size_t)n;
	}
	lseek(fd, 0, SEEK_SET);
	*out = fd;
	return ERR_OK;
}

/* Does the entry of an environment have the name of that variable? */
static bool
same_variable(const char *entry, const char *variable)
{
	size_t len = strcspn(variable, "=");

	return strncmp(entry, variable, len) == 0 && entry[len] == '=';
}

/* Borrows its strings; the array is the caller's. */
static const char **
make_env(const char *const *changes)
{
	size_t n = 0, count = 0;
	const char **env;

	while (environ != NULL && environ[count] != NULL)
		count++;
	env = mem_array(count + MAX_SPAWN_ENV + 1, sizeof(*env));
	for (size_t i = 0; i < count; i++) {
		bool changed = false;

		for (size_t j = 0; changes != NULL && changes[j] != NULL; j++)
			changed |= same_variable(environ[i], changes[j]);
		if (!changed)
			env[n++] = environ[i];
	}
	for (size_t j = 0;
	     changes != NULL && changes[j] != NULL && j < MAX_SPAWN_ENV; j++)
		if (strchr(changes[j], '=') != NULL)
			env[n++] = changes[j];
	return env;
}

static enum err
start(struct child *child, int in, int out, int err_fd)
{
	const struct spawn *order = child->order;
	const char **env = make_env(order->env);
	posix_spawn_file_actions_t fds;
	posix_spawnattr_t attr;
	sigset_t all, none;
	int error;

	sigfillset(&all);
	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr,
	    POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
		POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawn_file_actions_init(&fds);
	posix_spawn_file_actions_adddup2(&fds, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&fds, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&fds, err_fd, STDERR_FILENO);
	/* libfcgi's sockets are not close-on-exec: close whatever is left */
	if (order->keep_fd != 0)
		posix_spawn_file_actions_adddup2(&fds, order->keep_fd, 3);
	posix_spawn_file_actions_addclosefrom_np(&fds,
	    order->keep_fd != 0 ? 4 : 3);
	error = posix_spawnp(&child->pid, order->argv[0], &fds, &attr,
	    (char *const *)order->argv, (char *const *)env);
	posix_spawn_file_actions_destroy(&fds);
	posix_spawnattr_destroy(&attr);
	free(env);
	errno = error;
	return error != 0 ? err_sys("cannot run %s", order->argv[0]) : ERR_OK;
}

/* Opens pipes, starts it, and keeps this side's ends. */
static enum err
open_child(struct child *child)
{
	int in = -1, out[2] = { -1, -1 }, fail[2] = { -1, -1 };
	enum err err = open_input(child->order, &in);

	if (err != ERR_OK)
		goto out;
	if (pipe2(out, O_CLOEXEC) != 0 || pipe2(fail, O_CLOEXEC) != 0) {
		err = err_sys("%s: pipe", child->order->argv[0]);
		goto out;
	}
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	fcntl(fail[0], F_SETFL, O_NONBLOCK);
	if ((err = start(child, in, out[1], fail[1])) != ERR_OK)
		goto out;
	child->out = out[0];
	child->err = fail[0];
	out[0] = fail[0] = -1;
	child->pidfd = pidfd_open(child->pid, 0);
out:
	for (size_t i = 0; i < 2; i++) {
		if (out[i] >= 0)
			close(out[i]);
		if (fail[i] >= 0)
			close(fail[i]);
	}
	if (in >= 0)
		close(in);
	return err;
}

/*
 * How many of the group live, and the CPU time of all of it, in clock ticks;
 * see proc(5).  A zombie that nobody reaps is in it, and does not live.
 */
static unsigned
look_at_group(pid_t group, unsigned long long *ticks)
{
	struct dirent *entry;
	DIR *proc = opendir("/proc");
	unsigned living = 0;

	*ticks = 0;

	while (proc != NULL && (entry = readdir(proc)) != NULL) {
		char path[sizeof("/proc//stat") + NAME_MAX], stat[1024];
		unsigned long user, sys;
		const char *behind;
		ssize_t len;
		int fd, pgrp;
		char state;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
			continue;
		len = read(fd, stat, sizeof(stat) - 1);
		close(fd);
		stat[len > 0 ? len : 0] = '\0';
		/* the command's name, in parentheses, may hold anything */
		if ((behind = strrchr(stat, ')')) != NULL &&
		    sscanf(behind,
			") %c %*d %d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
			&state, &pgrp, &user, &sys) == 4 &&
		    pgrp == group) {
			living += state != 'Z' && state != 'X';
			*ticks += user + sys;
		}
	}
	if (proc != NULL)
		closedir(proc);
	return living;
}

/* Takes what there is; closes *fd at its end. */
static enum err
drain(struct child *child, int *fd)
{
	bool is_out = fd == &child->out;
	char bytes[16384];

	for (unsigned turn = 0; turn < MAX_READS && *fd >= 0; turn++) {
		ssize_t len = read(*fd, bytes, sizeof(bytes));

		if (len < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (len <= 0) {
			close(*fd);
			*fd = -1;
			break;
		}
		child->alive_ms = clock_boot_ms();
		if (is_out && child->output != NULL)
			buf_add(child->output, bytes, (size_t)len);
		else
			tail_take(&child->tail, bytes, (size_t)len);
		if (is_out && (child->taken += (size_t)len) > MAX_OUTPUT)
			return err_set(ERR_LIMIT,
			    "%s: more than %lu MB of "
			    "output",
			    child->order->argv[0], MAX_OUTPUT >> 20);
	}
	return ERR_OK;
}

/* What is due by the clock: progress, stop, the stall limit. */
static enum err
tend(struct child *child)
{
	const struct spawn *order = child->order;
	int64_t now_ms = clock_boot_ms();
	char line[4 * MAX_LINE + 1];

	log_escape(line, sizeof(line), child->tail.last);
	if (order->progress != NULL && now_ms >= child->progress_ms) {
		child->progress_ms = now_ms + PROGRESS_MS;
		order->progress(order->progress_arg, line);
	}
	if (order->stop != NULL && order->stop(order->stop_arg))
		return err_set(ERR_PEER, "%s: stopped", order->argv[0]);
	if (now_ms >= child->look_ms) {
		unsigned long long ticks;

		(void)look_at_group(child->pid, &ticks);
		child->look_ms = now_ms + order->stall_ms / 4;
		if (ticks != child->ticks)
			child->alive_ms = now_ms;
		child->ticks = ticks;
	}
	if (now_ms - child->alive_ms >= order->stall_ms)
		return err_set(ERR_PEER,
		    "%s: no sign of life for %lld ms"
		    "%s%s",
		    order->argv[0], (long long)order->stall_ms,
		    line[0] != '\0' ? ", after: " : "", line);
	return ERR_OK;
}

/* Has it ended?  It is not reaped, so that its group's number stays ours. */
static bool
ended(const struct child *child)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)child->pid, &info,
		   WEXITED | WNOHANG | WNOWAIT) != 0 ||
	    info.si_pid != 0;
}

/* Waits for the next bytes, for the end, or for a tick. */
static void
wait_more(const struct child *child)
{
	struct pollfd fds[] = {
		{ .fd = child->out, .events = POLLIN },
		{ .fd = child->err, .events = POLLIN },
		{ .fd = child->pidfd, .events = POLLIN },
	};

	poll(fds, sizeof(fds) / sizeof(fds[0]), TICK_MS);
}

static enum err
watch(struct child *child)
{
	enum err err = ERR_OK;

	child->alive_ms = clock_boot_ms();
	child->look_ms = child->alive_ms + child->order->stall_ms / 4;
	child->progress_ms = child->alive_ms + PROGRESS_MS;
	while (err == ERR_OK && !ended(child)) {
		wait_more(child);
		if ((err = drain(child, &child->out)) == ERR_OK &&
		    (err = drain(child, &child->err)) == ERR_OK)
			err = tend(child);
	}
	return err;
}

/* The group is gone, and the child reaped, when this returns. */
static int
end_group(struct child *child, bool gently)
{
	struct pollfd end = { .fd = child->pidfd, .events = POLLIN };
	int64_t until_ms = clock_boot_ms() + GRACE_MS;
	unsigned long long ticks;
	int status = 255 << 8; /* of one that somebody else reaped */

	if (gently) {
		kill(-child->pid, SIGTERM);
		while (!ended(child) && clock_boot_ms() < until_ms)
			poll(&end, 1, TICK_MS);
	}
	/* before it is reaped: its number may not be another's yet */
	kill(-child->pid, SIGKILL);
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	/* a grandchild dies when it is scheduled; somebody else reaps it */
	until_ms = clock_boot_ms() + GRACE_MS;
	while (kill(-child->pid, 0) == 0 &&
	    look_at_group(child->pid, &ticks) > 0 && clock_boot_ms() < until_ms)
		poll(NULL, 0, 1);
	return status;
}

static enum err
verdict(const struct child *child, int status)
{
	char line[4 * MAX_LINE + 1];

	log_escape(line, sizeof(line),
	    child->tail.cause[0] != '\0' ? child->tail.cause
					 : child->tail.last);
	if (WIFSIGNALED(status))
		return err_set(ERR_PEER, "%s: killed by signal %d%s%s",
		    child->order->argv[0], WTERMSIG(status),
		    line[0] != '\0' ? ", after: " : "", line);
	if (WEXITSTATUS(status) != 0)
		return err_set(ERR_PEER, "%s: exit %d%s%s",
		    child->order->argv[0], WEXITSTATUS(status),
		    line[0] != '\0' ? ": " : "", line);
	return ERR_OK;
}

enum err
spawn_run(const struct spawn *order, struct buf *output)
{
	struct child child = { .order = order,
		.pidfd = -1,
		.out = -1,
		.err = -1,
		.output = output };
	enum err err = open_child(&child);
	int status;

	if (err != ERR_OK)
		return err;
	err = watch(&child);
	status = end_group(&child, err != ERR_OK);
	/* what was written before the end is still in the pipes */
	if (err == ERR_OK && (err = drain(&child, &child.out)) == ERR_OK &&
	    (err = drain(&child, &child.err)) == ERR_OK) {
		tail_end_line(&child.tail);
		err = verdict(&child, status);
	}
	if (child.out >= 0)
		close(child.out);
	if (child.err >= 0)
		close(child.err);
	if (child.pidfd >= 0)
		close(child.pidfd);
	return err;
}

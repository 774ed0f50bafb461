/* pulse_test.c: heartbeat, doubt, and who lives, between processes */
/* SPDX-License-Identifier: ISC */
#include "sync/pulse.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conf/clock.h"
#include "conf/mem.h"
#include "tests/unit/tap.h"

/* Processes that open a map which is not there. */
#define OPENERS 8

static char *path;
static const struct route stash = { .name = (char[]){ "stash" },
	.fence_ms = 900000 };

static struct pulse *
open_pulse(bool may_create)
{
	struct pulse *pulse = NULL;

	return pulse_open(tap_dir(), may_create, &pulse) == ERR_OK ? pulse
								   : NULL;
}

/* The directory's group is the web server's: not the file's. */
static void
test_group(void)
{
	struct pulse *pulse = NULL;
	struct stat status;

	/* only root can give a directory to another group */
	if (geteuid() != 0)
		return;
	if (chown(tap_dir(), (uid_t)-1, getegid() + 1) == -1 ||
	    chmod(tap_dir(), 02770) == -1)
		exit(1);
	tap_int(pulse_open(tap_dir(), true, &pulse), ERR_OK, "it is made");
	tap_ok(stat(path, &status) == 0 && status.st_gid == getegid(),
	    "of its maker's group");
	pulse_close(pulse);
	unlink(path);
}

static void
test_beat(void)
{
	struct pulse *pulse = NULL, *reader = NULL;
	struct stat status;

	tap_int(pulse_open(tap_dir(), false, &pulse), ERR_ABSENT,
	    "there is none yet");
	tap_int(pulse_open("/nonexistent", true, &pulse), ERR_SYS,
	    "none is made without its directory");
	tap_int(pulse_open(tap_dir(), true, &pulse), ERR_OK, "it is made");
	tap_ok(stat(path, &status) == 0 && (status.st_mode & 0777) == 0660,
	    "with mode 0660");
	tap_ok(status.st_blocks * 512 >= status.st_size, "and all its space");
	tap_int(pulse_open(tap_dir(), false, &reader), ERR_OK,
	    "it is there now");
	tap_int(pulse_age_ms(reader), -1, "without a beat");
	pulse_beat(pulse);
	tap_ok(pulse_age_ms(reader) >= 0, "the beat is seen");
	tap_ok(pulse_age_ms(reader) < 60000, "and young");
	pulse_close(pulse);
	pulse_close(reader);
	pulse_close(NULL);

	pulse = open_pulse(true);
	tap_ok(pulse_age_ms(pulse) >= 0, "it outlives who made it");
	pulse_close(pulse);
}

/* A router's: it has a slot. */
static struct pulse *
open_router(void)
{
	struct pulse *pulse = open_pulse(true);

	if (pulse == NULL || pulse_claim(pulse) != ERR_OK) {
		printf("Bail out! %s\n", err_text());
		exit(1);
	}
	return pulse;
}

static void
test_doubt(void)
{
	char other_name[32] = "";
	struct route other = { .name = other_name };
	struct pulse *one = open_router(), *two = open_router();
	struct pulse *reader = open_pulse(false), *daemon = open_pulse(true);
	unsigned apart = 0;

	tap_ok(pulse_slot(one) != pulse_slot(two), "each has its slot");
	tap_ok(!pulse_doubt_raise(daemon, &stash), "without one, no doubt");
	tap_ok(!pulse_doubt(reader, &stash), "none at first");
	tap_ok(pulse_doubt_raise(one, &stash), "one raises doubt");
	tap_ok(pulse_doubt(reader, &stash) && pulse_doubt(two, &stash),
	    "others see it");
	tap_ok(pulse_doubt_raise(two, &stash), "two does, too");
	tap_ok(pulse_doubt_by(reader, pulse_slot(one), &stash) &&
		pulse_doubt_by(reader, pulse_slot(two), &stash),
	    "it is told apart");
	for (int i = 0; i < 20; i++) {
		snprintf(other_name, sizeof(other_name), "route%d", i);
		apart += !pulse_doubt(reader, &other);
	}
	tap_ok(apart >= 15, "other routes are in no doubt (%u of 20)", apart);
	pulse_doubt_settle(two);
	tap_ok(pulse_doubt(reader, &stash), "two ends its own alone");
	tap_int(pulse_doubt_over(daemon, -1, INT64_MAX), -1,
	    "one lives, so that nobody else ends its");
	pulse_doubt_settle(one);
	tap_ok(!pulse_doubt(reader, &stash), "one does");
	pulse_close(one);
	pulse_close(two);
	pulse_close(reader);
	pulse_close(daemon);
}

static void
test_claim(void)
{
	struct pulse *pulses[MAX_ROUTERS], *more = open_pulse(true);

	for (int i = 0; i < MAX_ROUTERS; i++)
		pulses[i] = open_router();
	tap_int(pulse_claim(more), ERR_LIMIT, "%d have a slot, one more not",
	    MAX_ROUTERS);
	pulse_close(pulses[7]);
	tap_int(pulse_claim(more), ERR_OK, "but when one has gone");
	tap_int(pulse_slot(more), 7, "it gets that one's");
	for (int i = 0; i < MAX_ROUTERS; i++)
		if (i != 7)
			pulse_close(pulses[i]);
	pulse_close(more);
}

/* A process that comes as far as step says, and stays there. */
struct child {
	pid_t pid;
	int says, told; /* pipes: a byte from it, and one that ends it */
};

static struct child
child_begin(void (*step)(int says))
{
	struct child child;
	int says[2], told[2];
	char byte;

	if (pipe(says) == -1 || pipe(told) == -1)
		exit(1);
	if ((child.pid = fork()) == 0) {
		close(says[0]);
		close(told[1]);
		step(says[1]);
		(void)!read(told[0], &byte, 1);
		_exit(0);
	}
	close(says[1]);
	close(told[0]);
	child.says = says[0];
	child.told = told[1];
	return child;
}

/* It has come there; what it says. */
static char
child_wait(const struct child *child)
{
	char byte = 0;

	return read(child->says, &byte, 1) == 1 ? byte : 0;
}

static void
child_end(struct child *child, int signal)
{
	if (signal != 0)
		kill(child->pid, signal);
	else
		(void)!write(child->told, "", 1);
	close(child->told);
	close(child->says);
	waitpid(child->pid, NULL, 0);
}

static void
say(int says, char byte)
{
	if (write(says, &byte, 1) != 1)
		_exit(1);
}

static void
step_claims(int says)
{
	(void)open_router();
	say(says, 'c');
}

static void
step_doubts(int says)
{
	say(says, pulse_doubt_raise(open_router(), &stash) ? 'd' : '-');
}

static void
step_settles(int says)
{
	struct pulse *pulse = open_router();
	bool raised = pulse_doubt_raise(pulse, &stash);

	pulse_doubt_settle(pulse);
	say(says, raised ? 's' : '-');
}

/* Where a router dies, and what its doubt is then. */
static const struct {
	const char *claim;
	void (*step)(int says);
	char says;
	int signal; /* 0: it ends by itself */
	bool left;
} deaths[] = {
	{ "killed with a slot", step_claims, 'c', SIGKILL, false },
	{ "killed in doubt", step_doubts, 'd', SIGKILL, true },
	{ "ended in doubt", step_doubts, 'd', 0, true },
	{ "killed after it had settled", step_settles, 's', SIGKILL, false },
};

static void
test_death(size_t which)
{
	const char *claim = deaths[which].claim;
	struct child child = child_begin(deaths[which].step);
	struct pulse *daemon = open_pulse(true), *next;
	int64_t over_ms;
	char said = child_wait(&child);
	int slot;

	over_ms = clock_boot_ms() + stash.fence_ms;
	tap_int(said, deaths[which].says, "%s: comes there", claim);
	tap_int(pulse_doubt_over(daemon, -1, INT64_MAX), -1,
	    "%s: before that nothing of it is over", claim);
	child_end(&child, deaths[which].signal);
	tap_int(pulse_doubt(daemon, &stash), deaths[which].left,
	    "%s: its doubt", claim);
	next = open_router();
	tap_int(pulse_slot(next) != 0, deaths[which].left,
	    "%s: its slot is not the next one's", claim);
	/* raised a moment before over_ms was noted */
	tap_int(pulse_doubt_over(daemon, -1, over_ms - stash.fence_ms / 2), -1,
	    "%s: not over while its fence would stand", claim);
	slot = pulse_doubt_over(daemon, -1, over_ms);
	tap_int(slot, deaths[which].left ? 0 : -1, "%s: over then", claim);
	if (slot != -1) {
		pulse_doubt_leave(daemon, slot);
		tap_ok(pulse_doubt(daemon, &stash), "%s: left as it is", claim);
		slot = pulse_doubt_over(daemon, -1, over_ms);
		pulse_doubt_end(daemon, slot);
	}
	tap_ok(!pulse_doubt(daemon, &stash), "%s: ended", claim);
	pulse_close(next);
	next = open_router();
	tap_int(pulse_slot(next), 0, "%s: its slot is free", claim);
	pulse_close(next);
	pulse_close(daemon);
}

static enum err
start_says(void *arg, bool first)
{
	say(*(int *)arg, first ? '1' : '+');
	return ERR_OK;
}

/* Inside, for good. */
static enum err
start_hangs(void *arg, bool first)
{
	start_says(arg, first);
	pause();
	return ERR_OK;
}

static enum err
start_fails(void *arg, bool first)
{
	start_says(arg, first);
	return err_set(ERR_TABLE, "as told");
}

static void
step_joins(int says)
{
	if (pulse_join(open_pulse(true), start_says, &says) != ERR_OK)
		say(says, '-');
}

static void
step_hangs(int says)
{
	if (pulse_join(open_pulse(true), start_hangs, &says) != ERR_OK)
		say(says, '-');
}

static void
step_fails(int says)
{
	if (pulse_join(open_pulse(true), start_fails, &says) == ERR_OK)
		say(says, '-');
}

/* One process after the other. */
static const struct {
	const char *claim;
	int ends; /* of those before, by their index; -1: nobody */
	int signal;
	void (*step)(int says);
	char says;
} joins[] = {
	{ "the first", -1, 0, step_joins, '1' },
	{ "the second", -1, 0, step_joins, '+' },
	{ "the third, when the first was killed", 0, SIGKILL, step_joins, '+' },
	{ "a fourth, that fails", 1, SIGKILL, step_fails, '+' },
	{ "a fifth, when all but that were killed", 2, SIGKILL, step_hangs,
	    '1' },
	{ "a sixth, that one killed while it started", 4, SIGKILL, step_joins,
	    '1' },
	{ "a seventh, when that one has ended", 5, 0, step_joins, '1' },
};
#define JOINS (sizeof(joins) / sizeof(joins[0]))

static enum err
start_twice(void *arg, bool first)
{
	(void)arg;
	(void)first;
	return ERR_OK;
}

static void
test_join(void)
{
	struct child children[JOINS];
	struct pulse *pulse;

	for (size_t i = 0; i < JOINS; i++) {
		if (joins[i].ends != -1)
			child_end(&children[joins[i].ends], joins[i].signal);
		children[i] = child_begin(joins[i].step);
		tap_int(child_wait(&children[i]), joins[i].says, "%s",
		    joins[i].claim);
	}
	child_end(&children[3], 0);
	child_end(&children[6], 0);

	pulse = open_pulse(true);
	tap_ok(!pulse_has_router(pulse), "now none lives");
	children[0] = child_begin(step_hangs);
	tap_int(child_wait(&children[0]), '1', "one is in its start");
	tap_ok(!pulse_has_router(pulse), "it does not count yet");
	kill(children[0].pid, SIGSTOP);
	tap_int(pulse_join(pulse, start_twice, NULL), ERR_BUSY,
	    "a stopped one holds up the next for a bounded time");
	child_end(&children[0], SIGKILL);
	tap_int(pulse_join(pulse, start_twice, NULL), ERR_OK,
	    "until it is killed");
	tap_ok(!pulse_has_router(pulse), "nobody is his own other");
	pulse_close(pulse);
}

/* All at once: one is the first. */
static void
test_stampede(void)
{
	struct child children[OPENERS];
	unsigned firsts = 0, others = 0;

	for (int i = 0; i < OPENERS; i++)
		children[i] = child_begin(step_joins);
	for (int i = 0; i < OPENERS; i++) {
		char said = child_wait(&children[i]);

		firsts += said == '1';
		others += said == '+';
	}
	tap_int(firsts, 1, "of %d at once one is the first", OPENERS);
	tap_int(others, OPENERS - 1, "and all come in");
	for (int i = 0; i < OPENERS; i++)
		child_end(&children[i], SIGKILL);
}

/* Damage to the file, after which it does not count. */
static void
shorten(void)
{
	if (truncate(path, 100) == -1)
		exit(1);
}

static void
empty(void)
{
	if (truncate(path, 0) == -1)
		exit(1);
}

static void
lengthen(void)
{
	if (truncate(path, 100000) == -1)
		exit(1);
}

static void
overwrite(off_t at)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd == -1 || pwrite(fd, "?", 1, at) != 1)
		exit(1);
	close(fd);
}

static void
change_magic(void)
{
	overwrite(0);
}

static void
change_boot(void)
{
	overwrite(20);
}

static const struct {
	const char *what;
	void (*damage)(void);
} damages[] = {
	{ "cut short", shorten },
	{ "empty", empty },
	{ "too long", lengthen },
	{ "something else", change_magic },
	{ "of another boot", change_boot },
};

static void
test_damage(void)
{
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		struct pulse *pulse = open_pulse(true);

		pulse_beat(pulse);
		pulse_close(pulse);
		damages[i].damage();
		pulse = NULL;
		tap_int(pulse_open(tap_dir(), false, &pulse), ERR_ABSENT,
		    "one that is %s does not count", damages[i].what);
		tap_int(pulse_open(tap_dir(), true, &pulse), ERR_OK,
		    "it is made anew");
		tap_int(pulse_age_ms(pulse), -1, "and its beat is forgotten");
		pulse_close(pulse);
	}
}

/* Child: waits for the start, then raises; its exit status tells success. */
static int
raise_at(int start)
{
	struct pulse *pulse;
	char byte;

	if (read(start, &byte, 1) != 0)
		return 1;
	pulse = open_router();
	return !pulse_doubt_raise(pulse, &stash);
}

/* Processes that open at once must share one map. */
static void
test_processes(void)
{
	pid_t pids[OPENERS];
	struct pulse *pulse;
	int pipes[2], status, slot = -1, failed = 0, left = 0;

	unlink(path);
	if (pipe(pipes) == -1)
		exit(1);
	for (int i = 0; i < OPENERS; i++)
		if ((pids[i] = fork()) == 0) {
			close(pipes[1]);
			_exit(raise_at(pipes[0]));
		}
	close(pipes[0]);
	close(pipes[1]);
	for (int i = 0; i < OPENERS; i++)
		failed += waitpid(pids[i], &status, 0) == -1 || status != 0;
	tap_int(failed, 0, "processes open it at once");
	pulse = open_pulse(true);
	for (slot = pulse_doubt_over(pulse, -1, INT64_MAX); slot != -1;
	     slot = pulse_doubt_over(pulse, slot, INT64_MAX)) {
		pulse_doubt_end(pulse, slot);
		left++;
	}
	tap_int(left, OPENERS, "each left its own doubt, in one map");
	tap_ok(!pulse_doubt(pulse, &stash), "which ends with the last");
	pulse_close(pulse);
}

int
main(void)
{
	umask(0007);
	path = mem_fmt("%s/pulse", tap_dir());
	test_group();
	test_beat();
	test_doubt();
	test_claim();
	for (size_t i = 0; i < sizeof(deaths) / sizeof(deaths[0]); i++)
		test_death(i);
	test_join();
	test_stampede();
	test_damage();
	test_processes();
	free(path);
	return tap_done();
}

/* pulse_test.c: the heartbeat and the doubt flags, between processes */
/* SPDX-License-Identifier: ISC */
#include "sync/pulse.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conf/mem.h"
#include "tests/unit/tap.h"

/* Raises by each of two processes at once. */
#define RAISES 2000
/* Processes that open a map which is not there. */
#define OPENERS 8

static char *path;

static struct pulse *
open_pulse(bool may_create)
{
	struct pulse *pulse = NULL;

	return pulse_open(tap_dir(), may_create, &pulse) == ERR_OK ? pulse
								   : NULL;
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

static void
test_doubt(void)
{
	char other_name[32] = "";
	const struct route route = { .name = (char[]){ "stash" } };
	struct route other = { .name = other_name };
	struct pulse *pulse = open_pulse(true), *reader = open_pulse(false);
	uint32_t first, second;
	unsigned apart = 0;

	tap_int(pulse_doubt(reader, &route), 0, "no doubt at first");
	first = pulse_doubt_raise(pulse, &route);
	tap_ok(first != 0, "a raise has a number");
	tap_ok(pulse_doubt(reader, &route) == first, "others see it");
	second = pulse_doubt_raise(pulse, &route);
	tap_ok(second != first, "the next raise has another");
	pulse_doubt_settle(pulse, &route, first);
	tap_ok(pulse_doubt(reader, &route) == second,
	    "settling the first leaves the second");
	pulse_doubt_settle(pulse, &route, second);
	tap_int(pulse_doubt(reader, &route), 0, "settling it ends the doubt");
	tap_ok(pulse_doubt_raise(pulse, &route) != first,
	    "no number comes again");
	pulse_doubt_settle(pulse, &route, second);
	tap_ok(pulse_doubt(reader, &route) != 0,
	    "an old number settles nothing");
	for (int i = 0; i < 20; i++) {
		snprintf(other_name, sizeof(other_name), "route%d", i);
		apart += pulse_doubt(reader, &other) == 0;
	}
	tap_ok(apart >= 15, "other routes are in no doubt (%u of 20)", apart);
	pulse_doubt_settle(pulse, &route, pulse_doubt(pulse, &route));
	pulse_close(pulse);
	pulse_close(reader);
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
raise_many(int start)
{
	const struct route route = { .name = (char[]){ "stash" } };
	struct pulse *pulse;
	char byte;

	if (read(start, &byte, 1) != 0 || (pulse = open_pulse(true)) == NULL)
		return 1;
	for (int i = 0; i < RAISES; i++)
		pulse_doubt_raise(pulse, &route);
	pulse_close(pulse);
	return 0;
}

/*
 * Processes that open at once must share one map.  No two raises have one
 * number, so the last number counts them all.
 */
static void
test_processes(void)
{
	const struct route route = { .name = (char[]){ "stash" } };
	pid_t pids[OPENERS];
	struct pulse *pulse;
	int pipes[2], status, failed = 0;
	uint32_t first, last;

	unlink(path);
	if (pipe(pipes) == -1)
		exit(1);
	for (int i = 0; i < OPENERS; i++)
		if ((pids[i] = fork()) == 0) {
			close(pipes[1]);
			_exit(raise_many(pipes[0]));
		}
	close(pipes[0]);
	close(pipes[1]);
	for (int i = 0; i < OPENERS; i++)
		failed += waitpid(pids[i], &status, 0) == -1 || status != 0;
	tap_int(failed, 0, "processes open it at once");
	pulse = open_pulse(true);
	last = pulse_doubt(pulse, &route);
	first = pulse_doubt_raise(pulse, &route) - last;
	tap_ok(first > 0 && last / first == OPENERS * RAISES,
	    "all raises are in one map, and none is lost");
	pulse_close(pulse);
}

int
main(void)
{
	umask(0007);
	path = mem_fmt("%s/pulse", tap_dir());
	test_beat();
	test_doubt();
	test_damage();
	test_processes();
	free(path);
	return tap_done();
}

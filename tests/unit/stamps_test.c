/* stamps_test.c: who was read when, across threads and processes */
/* SPDX-License-Identifier: ISC */
#include "sync/stamps.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conf/mem.h"
#include "tests/unit/tap.h"

static const struct route code = { .name = (char[]){ "code" } };
static const struct route more = { .name = (char[]){ "more" } };

static struct stamps *
open_stamps(bool may_create)
{
	struct stamps *stamps = NULL;

	tap_must(stamps_open(tap_dir(), may_create, &stamps));
	return stamps;
}

static void
test_file(void)
{
	char *path = mem_fmt("%s/stamps", tap_dir());
	struct stamps *stamps = NULL;
	struct stat status;

	tap_int(stamps_open(tap_dir(), false, &stamps), ERR_ABSENT,
	    "there is none yet");
	stamps_close(stamps);
	stamps = open_stamps(true);
	tap_ok(stat(path, &status) == 0 && (status.st_mode & 0777) == 0660,
	    "it is made with mode 0660");
	tap_ok(status.st_blocks * 512 >= status.st_size, "and all its space");
	stamps_put(stamps, &code, "a", 5000);
	stamps_close(stamps);
	stamps = open_stamps(true);
	tap_int(stamps_get_s(stamps, &code, "a"), 5, "it outlives its maker");
	stamps_close(stamps);
	if (truncate(path, status.st_size - 1) == -1)
		exit(1);
	tap_int(stamps_open(tap_dir(), false, &stamps), ERR_ABSENT,
	    "a damaged one is none");
	stamps = open_stamps(true);
	tap_int(stamps_get_s(stamps, &code, "a"), -1, "and is made anew");
	stamps_close(stamps);
	stamps_close(NULL);
	free(path);
}

/* One after the other. */
static const struct step {
	const char *claim;
	const struct route *route;
	const char *name; /* read at now_ms, or NULL */
	int64_t now_ms;
	int64_t a_s, b_s, more_a_s; /* a, b of code, a of more */
} steps[] = {
	{ "nothing was read", NULL, NULL, 0, -1, -1, -1 },
	{ "in the first second since boot", &code, "a", 0, 0, -1, -1 },
	{ "once more in it", &code, "a", 999, 0, -1, -1 },
	{ "in the next one", &code, "a", 1000, 1, -1, -1 },
	{ "another repository", &code, "b", 2500, 1, 2, -1 },
	{ "one of that name in another route", &more, "a", 3000, 1, 2, 3 },
	{ "years later", &code, "a", INT64_C(100000000000), 100000000, 2, 3 },
};

static void
test_steps(void)
{
	struct stamps *stamps = open_stamps(true);
	struct stamps *reader = open_stamps(false);

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		const struct step *step = &steps[i];

		if (step->name != NULL)
			stamps_put(stamps, step->route, step->name,
			    step->now_ms);
		tap_int(stamps_get_s(reader, &code, "a"), step->a_s, "%s: a",
		    step->claim);
		tap_int(stamps_get_s(reader, &code, "b"), step->b_s, "%s: b",
		    step->claim);
		tap_int(stamps_get_s(reader, &more, "a"), step->more_a_s,
		    "%s: a of more", step->claim);
	}
	stamps_close(reader);
	stamps_close(stamps);
}

/* So many names, each read once, one a millisecond from first_ms on. */
static void
read_many(struct stamps *stamps, int names, int64_t first_ms)
{
	char name[32];

	for (int i = 0; i < names; i++) {
		snprintf(name, sizeof(name), "team/r%06d", i);
		stamps_put(stamps, &code, name, first_ms + i);
	}
}

static int
count_missed(const struct stamps *stamps, int names, int64_t since_s)
{
	char name[32];
	int missed = 0;

	for (int i = 0; i < names; i++) {
		snprintf(name, sizeof(name), "team/r%06d", i);
		missed += stamps_get_s(stamps, &code, name) < since_s;
	}
	return missed;
}

static void
test_crowd(void)
{
	struct stamps *stamps = open_stamps(true);
	int missed;

	read_many(stamps, 10000, 200000000000);
	tap_int(count_missed(stamps, 10000, 200000000), 0,
	    "of 10,000 that are read none is missed");
	read_many(stamps, 30000, 200001000000);
	missed = count_missed(stamps, 30000, 200001000);
	tap_ok(missed <= 30, "of 30,000 nearly none (%d)", missed);
	/* more than there are places: the last ones are there */
	read_many(stamps, 2 * MAX_STAMPS, 200002000000);
	stamps_put(stamps, &code, "the/last", 200003000000);
	tap_int(stamps_get_s(stamps, &code, "the/last"), 200003000,
	    "of too many, the newer wins");
	tap_ok(count_missed(stamps, 2 * MAX_STAMPS, 200002000) >= MAX_STAMPS,
	    "and the map has an end");
	stamps_close(stamps);
}

static void *
read_all_the_time(void *arg)
{
	char name[32];

	for (int64_t s = 1; s <= 200; s++)
		for (int i = 0; i < 50; i++) {
			snprintf(name, sizeof(name), "busy/%d", i);
			stamps_put(arg, &code, name, (300000000 + s) * 1000);
		}
	return NULL;
}

/* Together they read each of 50 names in each second. */
static void
test_together(void)
{
	struct stamps *stamps = open_stamps(true);
	pthread_t threads[3];
	char name[32];
	int status = -1, missed = 0;
	pid_t pid = fork();

	if (pid == 0) {
		read_all_the_time(open_stamps(true));
		_exit(0);
	}
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, read_all_the_time,
			stamps) != 0)
			exit(1);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	waitpid(pid, &status, 0);
	tap_int(status, 0, "another process does the same");
	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "busy/%d", i);
		missed += stamps_get_s(stamps, &code, name) != 300000200;
	}
	tap_int(missed, 0, "the last second of each is there");
	stamps_close(stamps);
}

static void
test_pace(void)
{
	const struct pace pace = { 7, 12000, 3 };
	struct stamps *stamps = open_stamps(true);
	struct stamps *reader = open_stamps(false);
	struct pace told = { 0 };
	int fits = 0;

	tap_ok(!stamps_told(reader, &code, &told), "nothing is told yet");
	stamps_tell(stamps, &code, &pace);
	tap_ok(stamps_told(reader, &code, &told), "told");
	tap_ok(told.told_ms == 7 && told.bound_ms == 12000 && told.polled == 3,
	    "as it was told");
	tap_ok(!stamps_told(reader, &more, &told), "of that route alone");
	for (int i = 0; i < 1000; i++) {
		char name[32];
		const struct route route = { .name = name };

		snprintf(name, sizeof(name), "route%d", i);
		stamps_tell(stamps, &route, &pace);
		fits += stamps_told(stamps, &route, &told);
	}
	tap_ok(fits >= MAX_ROUTES && fits < 1000, "of so many routes: %d",
	    fits);
	tap_ok(stamps_told(reader, &code, &told), "the first one is there");
	stamps_close(reader);
	stamps_close(stamps);
}

int
main(void)
{
	umask(0007);
	test_file();
	test_steps();
	test_crowd();
	test_together();
	test_pace();
	return tap_done();
}

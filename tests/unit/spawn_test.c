/* spawn_test.c: children end, with their whole group, and say why */
/* SPDX-License-Identifier: ISC */
#include "sync/spawn.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "conf/clock.h"
#include "tests/unit/tap.h"

#define SH(script)                                                             \
	(const char *const[])                                                  \
	{                                                                      \
		"sh", "-c", script, NULL                                       \
	}
#define ENV(...)                                                               \
	(const char *const[])                                                  \
	{                                                                      \
		__VA_ARGS__, NULL                                              \
	}

/* Longer than any child here lives; a test that needs it has failed. */
#define LONG_MS 20000

static const struct {
	const char *claim;
	const char *const *argv;
	const char *const *env;
	const char *input;
	int64_t stall_ms;
	enum err err;
	const char *output, *text; /* text: part of the sentence */
} rows[] = {
	{ "output is taken", SH("echo one; echo two"), NULL, NULL, LONG_MS,
	    ERR_OK, "one\ntwo\n", NULL },
	{ "words reach it as they are, unseen by a shell",
	    (const char *const[]){ "printf", "%s|", "a b", "$(x);*", "", NULL },
	    NULL, NULL, LONG_MS, ERR_OK, "a b|$(x);*||", NULL },
	{ "stdin is what was given", (const char *const[]){ "cat", NULL }, NULL,
	    "some\nbytes", LONG_MS, ERR_OK, "some\nbytes", NULL },
	{ "stdin ends at once without input",
	    (const char *const[]){ "cat", NULL }, NULL, NULL, LONG_MS, ERR_OK,
	    "", NULL },
	{ "a variable is set, another taken away",
	    SH("echo $SET ${TAKEN-none} ${KEPT-none}"), ENV("SET=x y", "TAKEN"),
	    NULL, LONG_MS, ERR_OK, "x y none kept\n", NULL },
	{ "another exit than 0 is said, with the last line of stderr",
	    SH("echo first >&2; echo 'the reason' >&2; exit 3"), NULL, NULL,
	    LONG_MS, ERR_PEER, "", "sh: exit 3: the reason" },
	{ "a line that ends in CR counts, an empty one does not",
	    SH("printf 'a\\r50 %%\\r\\n\\n' >&2; exit 1"), NULL, NULL, LONG_MS,
	    ERR_PEER, "", "sh: exit 1: 50 %" },
	{ "a last line without its end counts",
	    SH("printf 'a\\nb' >&2; exit 1"), NULL, NULL, LONG_MS, ERR_PEER, "",
	    "sh: exit 1: b" },
	{ "the first fatal line counts most",
	    SH("printf 'a\nerror: this\nfatal: that\nadvice\n' >&2; exit 1"),
	    NULL, NULL, LONG_MS, ERR_PEER, "", "sh: exit 1: error: this" },
	{ "the line is escaped", SH("printf '\\033[1m\\n' >&2; exit 1"), NULL,
	    NULL, LONG_MS, ERR_PEER, "", "\\x1b[1m" },
	{ "death by a signal is said", SH("kill -9 $$"), NULL, NULL, LONG_MS,
	    ERR_PEER, "", "sh: killed by signal 9" },
	{ "what is not there cannot be run",
	    (const char *const[]){ "/nonexistent/x", NULL }, NULL, NULL,
	    LONG_MS, ERR_SYS, "", "cannot run /nonexistent/x: No such file" },
	{ "silence is a stall", SH("echo waiting >&2; exec sleep 60"), NULL,
	    NULL, 200, ERR_PEER, "",
	    "no sign of life for 200 ms, after: waiting" },
	{ "one that refuses to end is killed",
	    SH("trap '' TERM; while :; do sleep 60; done"), NULL, NULL, 200,
	    ERR_PEER, "", "no sign of life" },
	{ "output keeps it alive",
	    SH("for i in 1 2 3 4 5 6 7 8 9; do"
	       " sleep 0.15; echo $i >&2; done"),
	    NULL, NULL, 1000, ERR_OK, "", NULL },
	{ "signals are as at the start", SH("kill -PIPE $$; echo survived"),
	    NULL, NULL, LONG_MS, ERR_PEER, "", "killed by signal 13" },
	{ "no fd is inherited", SH("ls /proc/$$/fd | tr '\\n' ' '"), NULL, NULL,
	    LONG_MS, ERR_OK, "0 1 2 ", NULL },
};

static void
test_rows(void)
{
	setenv("TAKEN", "x", 1);
	setenv("KEPT", "kept", 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct spawn order = { .argv = rows[i].argv,
			.env = rows[i].env,
			.input = rows[i].input,
			.input_len = rows[i].input ? strlen(rows[i].input) : 0,
			.stall_ms = rows[i].stall_ms };
		struct buf output = { 0 };
		enum err err;

		buf_puts(&output, "");
		err = spawn_run(&order, &output);
		if (tap_int(err, rows[i].err, "%s", rows[i].claim) &&
		    err != ERR_OK &&
		    !tap_ok(strstr(err_text(), rows[i].text) != NULL,
			"%s: the sentence", rows[i].claim))
			tap_note("%s", err_text());
		tap_str(output.data, rows[i].output, "%s: output",
		    rows[i].claim);
		buf_free(&output);
	}
}

/* The group's number, which the child writes as a line of output. */
static pid_t
group_of(struct buf *output)
{
	return output->data != NULL ? (pid_t)atol(output->data) : 0;
}

/* A zombie that the first process of this machine leaves does not live. */
static int
living(pid_t group)
{
	char *command =
	    mem_fmt("cat /proc/[0-9]*/stat 2>/dev/null |"
		    " sed 's/.*) //' | awk '$3 == %ld && $1 != \"Z\"' | wc -l",
		(long)group);
	FILE *count = popen(command, "r");
	int n = -1;

	if (group <= 1 || count == NULL || fscanf(count, "%d", &n) != 1)
		n = -1;
	pclose(count);
	free(command);
	return n;
}

static void
test_group(void)
{
	static const struct {
		const char *claim, *script;
		enum err err;
	} one[] = {
		{ "a grandchild that holds the pipes does not delay the end",
		    "echo $$; sleep 60 & exit 0", ERR_OK },
		{ "a stalled group ends whole",
		    "echo $$; (trap '' TERM; sleep 60; :) & sleep 60",
		    ERR_PEER },
	};

	for (size_t i = 0; i < sizeof(one) / sizeof(one[0]); i++) {
		struct spawn order = { .argv = SH(one[i].script),
			.stall_ms = 300 };
		int64_t from_ms = clock_boot_ms();
		struct buf output = { 0 };

		tap_int(spawn_run(&order, &output), one[i].err, "%s",
		    one[i].claim);
		tap_ok(clock_boot_ms() - from_ms < LONG_MS, "%s: in time",
		    one[i].claim);
		tap_int(living(group_of(&output)), 0, "%s: nobody is left",
		    one[i].claim);
		buf_free(&output);
	}
}

static void
test_busy(void)
{
	/* a second of work without a word, with a stall limit below that */
	struct spawn order = { .stall_ms = 700,
		.argv = SH("end=$(($(date +%s) + 2));"
			   "while [ $(date +%s) -lt $end ]; do :; done") };

	tap_int(spawn_run(&order, NULL), ERR_OK,
	    "a silent child that uses the CPU has not stalled");
}

struct seen {
	unsigned calls;
	char last[128];
	bool stop;
};

static void
note(void *arg, const char *line)
{
	struct seen *seen = arg;

	seen->calls++;
	strncpy(seen->last, line, sizeof(seen->last) - 1);
	seen->stop = true;
}

static bool
asked(void *arg)
{
	return ((struct seen *)arg)->stop;
}

static void
test_progress(void)
{
	struct seen seen = { 0 };
	struct spawn order = { .argv = SH("printf 'at 1\\rat 2\\r';"
					  "exec sleep 60"),
		.stall_ms = LONG_MS,
		.progress = note,
		.progress_arg = &seen,
		.stop = asked,
		.stop_arg = &seen };

	tap_int(spawn_run(&order, NULL), ERR_PEER, "stop ends it");
	tap_str(err_text(), "sh: stopped", "stop is said");
	tap_str(seen.last, "at 2", "progress has the last line of stdout, too");
	tap_int(seen.calls, 1, "progress came once in a second");
}

static void
test_limit(void)
{
	struct spawn order = { .argv = (const char *const[]){ "cat",
				   "/dev/zero", NULL },
		.stall_ms = LONG_MS };

	tap_int(spawn_run(&order, NULL), ERR_LIMIT, "endless output is ended");
}

static void
test_endless_stderr(void)
{
	struct spawn order = { .argv = SH("exec yes >&2"),
		.stall_ms = LONG_MS };
	struct seen seen = { 0 };

	order.progress = note;
	order.stop = asked;
	order.progress_arg = order.stop_arg = &seen;
	tap_int(spawn_run(&order, NULL), ERR_PEER,
	    "endless words on stderr do not hold up a stop");
	tap_str(seen.last, "y", "its last line is known");
}

static void
test_keep_fd(void)
{
	char *path = mem_fmt("%s/lock", tap_dir());
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int again = open(path, O_RDWR | O_CLOEXEC);
	struct spawn order = { .argv = SH(
				   "flock -n 3 && echo same;"
				   "flock -n \"$0\" true || echo locked"),
		.stall_ms = LONG_MS,
		.keep_fd = fd };
	struct buf output = { 0 };
	const char *argv[] = { "sh", "-c", order.argv[2], path, NULL };

	order.argv = argv;
	flock(fd, LOCK_EX);
	tap_int(spawn_run(&order, &output), ERR_OK, "runs with a kept fd");
	tap_str(output.data, "same\nlocked\n", "a lock is the child's, too");
	close(fd);
	tap_ok(flock(again, LOCK_EX | LOCK_NB) == 0, "and ends with both");
	close(again);
	buf_free(&output);
	free(path);
}

static void *
many(void *arg)
{
	struct spawn order = { .argv = (const char *const[]){ "cat", NULL },
		.input = arg,
		.input_len = strlen(arg),
		.stall_ms = LONG_MS };
	intptr_t wrong = 0;

	for (int i = 0; i < 20; i++) {
		struct buf output = { 0 };

		if (spawn_run(&order, &output) != ERR_OK ||
		    strcmp(output.data, arg) != 0)
			wrong++;
		buf_free(&output);
	}
	return (void *)wrong;
}

static void
test_threads(void)
{
	static char words[4][8] = { "one", "two", "three", "four" };
	pthread_t threads[4];

	for (size_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, many, words[i]);
	for (size_t i = 0; i < 4; i++) {
		void *wrong;

		pthread_join(threads[i], &wrong);
		tap_int((intptr_t)wrong, 0, "thread %zu has its own children",
		    i);
	}
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_rows();
	test_group();
	test_busy();
	test_progress();
	test_limit();
	test_endless_stderr();
	test_keep_fd();
	test_threads();
	return tap_done();
}

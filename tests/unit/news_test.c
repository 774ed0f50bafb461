/* news_test.c: news reach whoever waits, and seats end with their process */
/* SPDX-License-Identifier: ISC */
#include "sync/news.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/tap.h"

/* Routers beside the test's own. */
#define ROUTERS 5
/* Nothing here takes so long, unless it hangs. */
#define PATIENCE_S 20

static const struct route stash = { .name = (char[]){ "stash" } };

static struct pulse *
open_pulse(void)
{
	struct pulse *pulse = NULL;

	tap_must(pulse_open(tap_dir(), true, &pulse));
	return pulse;
}

static void
test_words(void)
{
	struct pulse *teller = open_pulse(), *reader = open_pulse();
	const _Atomic uint32_t *word = news_of(reader, &stash, "p/a"),
			       *other = news_of(reader, &stash, "p/b");
	uint32_t seen = atomic_load(word), other_seen = atomic_load(other);

	tap_ok(word != other, "two repositories have two words");
	tap_ok(word == news_of(reader, &stash, "p/a"), "one has one");
	news_tell(teller, &stash, "p/a");
	tap_ok(atomic_load(word) != seen, "news change it");
	tap_ok(atomic_load(other) == other_seen, "and not the other");
	pulse_close(teller);
	pulse_close(reader);
}

/* A process that waits for news, and says by its end that they came. */
static void
test_await(void)
{
	struct pulse *pulse = open_pulse();
	uint32_t turn = news_await(pulse, (uint32_t)-1);
	int fds[2], status;
	char byte;
	pid_t pid;

	if (pipe(fds) == -1 || (pid = fork()) == -1)
		abort();
	if (pid == 0) {
		struct pulse *own = open_pulse();

		alarm(PATIENCE_S);
		(void)!write(fds[1], "", 1);
		_exit(news_await(own, turn) == turn + 1 ? 0 : 1);
	}
	if (read(fds[0], &byte, 1) != 1)
		abort();
	usleep(20000);
	tap_int(waitpid(pid, &status, WNOHANG), 0, "it waits");
	news_tell(pulse, &stash, "p/a");
	waitpid(pid, &status, 0);
	tap_int(status, 0, "in another process they are heard");
	tap_int(news_await(pulse, turn), turn + 1,
	    "old ones are not waited for");
	news_ring(pulse);
	tap_int(news_await(pulse, turn + 1), turn + 2, "a ring is enough");
	pulse_close(pulse);
}

/* A router of its own, which sits down if it can, and then lives on. */
static pid_t
start_router(bool *sits)
{
	int fds[2];
	char answer;
	pid_t pid;

	if (pipe(fds) == -1 || (pid = fork()) == -1)
		abort();
	if (pid == 0) {
		struct pulse *pulse = open_pulse();

		tap_must(pulse_claim(pulse));
		answer = news_sit(pulse) ? 'y' : 'n';
		(void)!write(fds[1], &answer, 1);
		for (;;)
			pause();
	}
	if (read(fds[0], &answer, 1) != 1)
		abort();
	*sits = answer == 'y';
	close(fds[0]);
	close(fds[1]);
	return pid;
}

static void
end_router(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void
test_seats(void)
{
	/* the test's own is the first: of n that live, n / 2 may sit */
	static const bool wanted[ROUTERS] = { true, false, true, false, true };
	struct pulse *pulse = open_pulse();
	pid_t pids[ROUTERS];
	bool sits;

	tap_must(pulse_claim(pulse));
	tap_ok(!news_sit(pulse), "one alone never sits");
	for (int i = 0; i < ROUTERS; i++) {
		pids[i] = start_router(&sits);
		tap_int(sits, wanted[i], "router %d of those that live", i + 2);
	}
	tap_ok(!news_sit(pulse), "half of them sit: no more may");
	end_router(pids[0]);
	tap_ok(!news_sit(pulse), "nor half of those that are left");
	end_router(pids[2]);
	tap_ok(news_sit(pulse), "a seat is free when its router is killed");
	news_rise(pulse);
	news_rise(pulse);
	tap_ok(news_sit(pulse), "or rises");
	end_router(pids[1]);
	end_router(pids[3]);
	end_router(pids[4]);
	pulse_close(pulse);
}

int
main(void)
{
	test_words();
	test_await();
	test_seats();
	return tap_done();
}

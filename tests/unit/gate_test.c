/* gate_test.c: how long is waited, for what, and by how many */
/* SPDX-License-Identifier: ISC */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conf/clock.h"
#include "sync/fence.h"
#include "sync/gate.h"
#include "sync/row.h"
#include "tests/unit/tap.h"
#include "tests/unit/world.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define TOKEN "0123456789abcdef0123456789abcdef"

static struct world world;

enum event { NOTHING, RAISE, MARK_ONE, MARK_TWO, DOWN, UP, FENCE, UNFENCE };

static enum err
happen(struct table_txn *txn, void *arg)
{
	const enum event *event = arg;
	uint64_t generation;
	bool changed;

	switch (*event) {
	case RAISE:
		return row_raise(txn, world.code, "p/r", NULL, &generation);
	case DOWN:
		return peer_set_down(txn, world.one, "test", &changed);
	case UP:
		return peer_set_up(txn, &world.conf, world.one, &changed);
	case FENCE:
		return fence_begin(txn, world.code, "p/r", TOKEN, 1);
	case UNFENCE:
		return fence_end(txn, world.code, "p/r", TOKEN, NULL);
	default:
		return ERR_OK;
	}
}

static void
make_happen(enum event event)
{
	if (event == MARK_ONE || event == MARK_TWO)
		world_mark(&world, world.code,
		    event == MARK_ONE ? world.one : world.two, "p/r");
	else
		tap_must(table_write(world.table, happen, &event));
}

/* In this order; nobody waits longer than for one look. */
static const struct {
	const char *claim;
	enum event event;
	uint64_t generation; /* asked for */
	const char *answer;  /* "GENERATION HAVE", and F if it is fenced */
} rows[] = {
	{ "no mark", NOTHING, 0, "1 0" },
	{ "one has it", MARK_ONE, 0, "1 1" },
	{ "both have", MARK_TWO, 0, "1 2" },
	{ "it changed: none has the present one", RAISE, 0, "2 0" },
	{ "but what was before, both have", NOTHING, 1, "1 2" },
	{ "one has it again", MARK_ONE, 0, "2 1" },
	{ "a later mark is as good", NOTHING, 1, "1 2" },
	{ "a generation to come", NOTHING, 3, "3 0" },
	{ "one that is down does not count", DOWN, 0, "2 0" },
	{ "nor does its mark when it is up again", UP, 0, "2 0" },
	{ "until it was compared anew", MARK_ONE, 0, "2 1" },
	{ "a fence", FENCE, 0, "3 0F" },
	{ "its end", UNFENCE, 0, "4 0" },
};

static void
test_answers(void)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gate_question question = { .route = world.code,
			.name = "p/r",
			.generation = rows[i].generation,
			.replicas = 2 };
		struct gate_answer answer = { .have = 9 };
		char text[64];

		make_happen(rows[i].event);
		tap_int(gate_wait(world.table, &question, 0, NULL, &answer),
		    ERR_OK, "%s: is answered", rows[i].claim);
		snprintf(text, sizeof(text), "%d %u%s", (int)answer.generation,
		    answer.have, answer.fenced ? "F" : "");
		tap_str(text, rows[i].answer, "%s: answer", rows[i].claim);
	}
}

static void *
mark_later(void *arg)
{
	(void)arg;
	usleep(100000);
	make_happen(MARK_TWO);
	return NULL;
}

static bool
always(void)
{
	return true;
}

static void
test_time(void)
{
	struct gate_question question = { .route = world.code,
		.name = "p/r",
		.replicas = 1 };
	struct gate_answer answer = { .have = 9 };
	int64_t begun_ms = clock_boot_ms();
	pthread_t thread;

	tap_int(gate_wait(world.table, &question, 150, NULL, &answer), ERR_OK,
	    "nobody has it");
	tap_ok(answer.have == 0 && clock_boot_ms() - begun_ms >= 150,
	    "after all of the time");
	tap_int(gate_wait(world.table, &question, 600000, always, &answer),
	    ERR_OK, "the program ends");
	if (pthread_create(&thread, NULL, mark_later, NULL) != 0)
		tap_must(err_set(ERR_SYS, "no thread"));
	begun_ms = clock_boot_ms();
	tap_int(gate_wait(world.table, &question, 600000, NULL, &answer),
	    ERR_OK, "a mark comes while it is waited for");
	pthread_join(thread, NULL);
	tap_int(answer.have, 1, "one has it");
	tap_ok(clock_boot_ms() - begun_ms < 60000, "and that ends the wait");
	question.name = "p/none";
	tap_int(gate_wait(world.table, &question, 600000, NULL, &answer),
	    ERR_ABSENT, "no row: no wait");
}

/* A child takes all places, and is killed. */
static void
test_places(void)
{
	struct gate *gates[MAX_WAITERS], *more = NULL;
	int ready[2];
	char byte;
	pid_t child = -1;

	for (size_t i = 0; i < MAX_WAITERS; i++)
		tap_must(gate_enter(tap_dir(), &gates[i]));
	tap_int(gate_enter(tap_dir(), &more), ERR_BUSY, "one more may not");
	gate_leave(gates[7]);
	tap_int(gate_enter(tap_dir(), &gates[7]), ERR_OK, "until one has left");
	for (size_t i = 0; i < MAX_WAITERS; i++)
		gate_leave(gates[i]);
	gate_leave(NULL);

	if (pipe(ready) == -1 || (child = fork()) == -1)
		tap_must(err_sys("fork"));
	if (child == 0) {
		for (size_t i = 0; i < MAX_WAITERS; i++)
			if (gate_enter(tap_dir(), &gates[i]) != ERR_OK)
				_exit(1);
		(void)!write(ready[1], "x", 1);
		pause();
		_exit(0);
	}
	tap_int(read(ready[0], &byte, 1), 1, "another process takes all");
	tap_int(gate_enter(tap_dir(), &more), ERR_BUSY, "none is left");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	tap_int(gate_enter(tap_dir(), &more), ERR_OK,
	    "its death gives them back");
	gate_leave(more);
	tap_int(gate_enter("/nonexistent", &more), ERR_SYS, "no state_dir");
}

static const struct {
	const char *replicas, *seconds;
	enum err err_replicas, err_seconds;
	unsigned n;
	int64_t timeout_ms;
} numbers[] = {
	{ "1", NULL, ERR_OK, ERR_OK, 1, WAIT_S * 1000 },
	{ "2", "0", ERR_OK, ERR_OK, 2, 0 },
	{ "02", "3600", ERR_OK, ERR_OK, 2, 3600000 },
	{ "3", "3601", ERR_INPUT, ERR_INPUT, 0, 0 },
	{ "0", "-1", ERR_INPUT, ERR_INPUT, 0, 0 },
	{ "", "", ERR_INPUT, ERR_INPUT, 0, 0 },
	{ "1x", "1.5", ERR_INPUT, ERR_INPUT, 0, 0 },
	{ " 1", "+1", ERR_INPUT, ERR_INPUT, 0, 0 },
	{ "99999999999999999999", "99999999999999999999", ERR_INPUT, ERR_INPUT,
	    0, 0 },
};

static void
test_numbers(void)
{
	unsigned n;

	for (size_t i = 0; i < COUNT(numbers); i++) {
		int64_t timeout_ms = 0;

		n = 0;
		tap_int(gate_replicas(world.code, numbers[i].replicas, &n),
		    numbers[i].err_replicas, "replicas %s",
		    numbers[i].replicas);
		tap_int(n, numbers[i].n, "their number");
		tap_int(gate_timeout(numbers[i].seconds, &timeout_ms),
		    numbers[i].err_seconds, "seconds %s",
		    numbers[i].seconds != NULL ? numbers[i].seconds : "-");
		tap_int(timeout_ms, numbers[i].timeout_ms, "in milliseconds");
	}
	world.code->n_replicas = 0;
	tap_int(gate_replicas(world.code, "1", &n), ERR_INPUT, "no replicas");
	world.code->n_replicas = 2;
}

int
main(void)
{
	world_open(&world, "gate");
	world_learn(&world, world.code, "p/r");
	test_answers();
	test_time();
	test_places();
	test_numbers();
	world_close(&world);
	return tap_done();
}

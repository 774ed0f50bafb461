/* table_kill_test.c: a table of many processes: growth, crashes, locks */
/* SPDX-License-Identifier: ISC */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sync/table.h"
#include "tests/unit/store.h"
#include "tests/unit/tap.h"

/* Keys that one transaction of the crash test sets. */
#define CRASH_KEYS 10
#define CRASH_ROUNDS 20
#define SHARED_ROUNDS 150

/* Starts this program again as the child that the arguments say. */
static pid_t
start(int out, const char *what, const char *dir)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	if (out != -1)
		dup2(out, STDOUT_FILENO);
	execl("/proc/self/exe", "table_test", what, dir, NULL);
	_exit(127);
}

static void
test_growth_elsewhere(void)
{
	char *dir = new_dir("elsewhere");
	struct table *table = open_new(dir);
	struct bulk bulk = { .to = BULK };

	tap_int(finish(start(-1, "bulk", dir)), 0,
	    "another process makes the map grow");
	tap_int(table_read(table, check_bulk, &bulk), ERR_OK,
	    "this one reads on");
	tap_int(bulk.good, BULK, "all of it");
	tap_int(finish(start(-1, "more", dir)), 0, "and once more");
	tap_int(put(table, TABLE_ROWS, "k", "v"), ERR_OK, "this one writes on");
	bulk = (struct bulk){ .from = BULK, .to = 3 * BULK };
	tap_int(table_read(table, check_bulk, &bulk), ERR_OK, "and reads");
	tap_int(bulk.good, 2 * BULK, "all of it");
	table_close(table);
	free(dir);
}

static enum err
set_all(struct table_txn *txn, void *arg)
{
	enum err err = ERR_OK;
	char key[16];

	for (int i = 0; i < CRASH_KEYS && err == ERR_OK; i++) {
		snprintf(key, sizeof(key), "key%d", i);
		err = table_put(txn, TABLE_ROWS, bytes(key),
		    (struct table_bytes){ arg, sizeof(unsigned) });
	}
	return err;
}

/* *arg becomes the number that all keys hold, or UINT_MAX. */
static enum err
get_all(struct table_txn *txn, void *arg)
{
	unsigned all = 0;
	char key[16];

	for (int i = 0; i < CRASH_KEYS; i++) {
		struct table_bytes value;
		unsigned one = 0;
		enum err err;

		snprintf(key, sizeof(key), "key%d", i);
		err = table_get(txn, TABLE_ROWS, bytes(key), &value);
		if (err == ERR_OK)
			memcpy(&one, value.data, sizeof(one));
		else if (err != ERR_ABSENT)
			return err;
		if (i > 0 && one != all)
			one = (unsigned)-1;
		all = one;
	}
	*(unsigned *)arg = all;
	return ERR_OK;
}

/* The child of test_crash(): sets all keys to 1, 2, ..., telling each. */
static int
write_for_ever(struct table *table)
{
	unsigned n;

	if (table_read(table, get_all, &n) != ERR_OK)
		return 1;
	for (;;) {
		n++;
		if (table_write(table, set_all, &n) != ERR_OK)
			return 1;
		if (write(STDOUT_FILENO, &n, sizeof(n)) != sizeof(n))
			return 1;
	}
}

/* Kills a child that writes after that many numbers; the last it told. */
static unsigned
crash_once(const char *dir, unsigned numbers, unsigned delay_us)
{
	unsigned n, told = 0;
	int pipes[2], status;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC) == -1)
		return 0;
	pid = start(pipes[1], "crash", dir);
	close(pipes[1]);
	while (read(pipes[0], &n, sizeof(n)) == sizeof(n)) {
		told = n;
		if (numbers-- == 0) {
			usleep(delay_us);
			kill(pid, SIGKILL);
		}
	}
	close(pipes[0]);
	status = finish(pid);
	return WIFSIGNALED(status) ? told : 0;
}

static void
test_crash(void)
{
	char *dir = new_dir("crash");
	unsigned killed = 0, lost = 0, torn = 0;

	table_close(open_new(dir));
	srand(1);
	for (int i = 0; i < CRASH_ROUNDS; i++) {
		unsigned told = crash_once(dir, (unsigned)rand() % 20,
		    (unsigned)rand() % 500);
		struct table *table = open_new(dir);
		unsigned n = 0;

		killed += told > 0;
		if (table_read(table, get_all, &n) != ERR_OK || n < told)
			lost++;
		torn += n == (unsigned)-1;
		table_close(table);
	}
	tap_int(killed, CRASH_ROUNDS, "writers are killed");
	tap_int(lost, 0, "nothing that they told is lost");
	tap_int(torn, 0, "no transaction is torn");
	free(dir);
}

/* Killed while they hold a reader slot, or the writers' lock. */
static enum err
tell_and_wait(struct table_txn *txn, void *arg)
{
	(void)txn;
	(void)arg;
	if (write(STDOUT_FILENO, "x", 1) == 1)
		pause();
	return ERR_OK;
}

/* Starts a child and waits until it has told that it is where it should. */
static pid_t
start_until_told(const char *what, const char *dir)
{
	pid_t pid;
	int pipes[2];
	char byte;

	if (pipe2(pipes, O_CLOEXEC) == -1)
		exit(1);
	pid = start(pipes[1], what, dir);
	close(pipes[1]);
	if (read(pipes[0], &byte, 1) != 1) {
		printf("Bail out! child %s\n", what);
		exit(1);
	}
	close(pipes[0]);
	return pid;
}

static bool
kill_in(const char *what, const char *dir)
{
	pid_t pid = start_until_told(what, dir);

	kill(pid, SIGKILL);
	return WIFSIGNALED(finish(pid));
}

static void
test_dead(void)
{
	char *dir = new_dir("dead");
	struct table *table = open_new(dir);
	struct table_size size = { 0 };

	tap_ok(kill_in("read", dir), "one is killed while it reads");
	tap_int(table_measure(table, &size), ERR_OK, "it is measured");
	tap_int(size.readers, 2, "its slot is taken, beside our own");
	tap_int(table_clear_readers(table), 1, "and cleared");
	tap_int(table_measure(table, &size), ERR_OK, "it is measured again");
	tap_int(size.readers, 1, "only ours is taken");
	tap_ok(kill_in("write", dir), "one is killed while it writes");
	tap_int(put(table, TABLE_ROWS, "k", "v"), ERR_OK,
	    "the next one writes");
	tap_ok(kill_in("read", dir), "one more is killed while it reads");
	tap_int(finish(start(-1, "open", dir)), 0, "somebody opens the table");
	tap_int(table_measure(table, &size), ERR_OK, "it is measured again");
	tap_int(size.readers, 1, "which cleared that slot, too");
	table_close(table);
	free(dir);
}

/* As a reload does it: execve(2) in the midst of reading, slots and all. */
static enum err
read_anew(struct table_txn *txn, void *dir)
{
	(void)txn;
	execl("/proc/self/exe", "table_test", "read", dir, NULL);
	return ERR_SYS;
}

static void
test_exec(void)
{
	char *dir = new_dir("exec");
	struct table *table = open_new(dir);
	struct table_size size = { 0 };
	pid_t pid = start_until_told("exec", dir);

	tap_int(table_measure(table, &size), ERR_OK, "it is measured");
	tap_int(size.readers, 2, "a program begun anew has one slot, not two");
	kill(pid, SIGKILL);
	finish(pid);
	table_close(table);
	free(dir);
}

static enum err
add_one(struct table_txn *txn, void *arg)
{
	struct table_bytes value;
	unsigned n = 0;
	enum err err = table_get(txn, TABLE_ROWS, bytes("sum"), &value);

	(void)arg;
	if (err == ERR_OK)
		memcpy(&n, value.data, sizeof(n));
	else if (err != ERR_ABSENT)
		return err;
	n++;
	return table_put(txn, TABLE_ROWS, bytes("sum"),
	    (struct table_bytes){ &n, sizeof(n) });
}

static enum err
get_sum(struct table_txn *txn, void *arg)
{
	struct table_bytes value;
	enum err err = table_get(txn, TABLE_ROWS, bytes("sum"), &value);

	if (err == ERR_OK)
		memcpy(arg, value.data, sizeof(unsigned));
	return err;
}

static void
test_two_writers(void)
{
	char *dir = new_dir("writers");
	pid_t one = start(-1, "add", dir), other = start(-1, "add", dir);
	struct table *table;
	unsigned sum = 0;

	tap_int(finish(one), 0, "a process makes the table and adds");
	tap_int(finish(other), 0, "another one does the same");
	table = open_new(dir);
	tap_int(table_read(table, get_sum, &sum), ERR_OK, "the sum is there");
	tap_int(sum, 2 * SHARED_ROUNDS, "and none was lost");
	table_close(table);
	free(dir);
}

static void *
put_one(void *arg)
{
	static enum err err;

	err = put(arg, TABLE_LAG, "k", "v");
	return &err;
}

/* Another process holds the writers' lock, and does not go on. */
static void
test_locked(void)
{
	char *dir = new_dir("locked");
	struct table *table = open_new(dir);
	struct bulk bulk = { .to = BULK };
	enum err read_err;
	pthread_t thread;
	void *put_err;
	pid_t pid;

	tap_int(put(table, TABLE_LAG, "k", "u"), ERR_OK, "a write");
	table_close(table);
	pid = start_until_told("write", dir);
	table = open_new(dir);
	tap_str(get(table, TABLE_LAG, "k"), "u",
	    "a locked table is opened and read");
	kill(pid, SIGKILL);
	finish(pid);

	/* the map is to be changed while a thread here waits for the lock */
	pid = start_until_told("grow", dir);
	if (pthread_create(&thread, NULL, put_one, table) != 0)
		exit(1);
	usleep(20000);
	read_err = table_read(table, check_bulk, &bulk);
	tap_ok(read_err == ERR_TABLE || read_err == ERR_OK,
	    "a reader does not wait for the lock");
	if (read_err != ERR_OK)
		tap_note("%s", err_text());
	kill(pid, SIGKILL);
	finish(pid);
	pthread_join(thread, &put_err);
	tap_int(*(enum err *)put_err, ERR_OK, "a writer does");
	tap_int(table_read(table, check_bulk, &bulk), ERR_OK,
	    "then all is read");
	tap_int(bulk.good, BULK, "and good");
	table_close(table);
	free(dir);
}

/* The children. */
static int
child(const char *what, char *dir)
{
	struct table *table = open_new(dir);
	struct bulk bulk = { .to = BULK };
	enum err err = ERR_USAGE;

	if (strcmp(what, "crash") == 0)
		return write_for_ever(table);
	if (strcmp(what, "more") == 0)
		bulk = (struct bulk){ .from = BULK, .to = 3 * BULK };
	if (strcmp(what, "bulk") == 0 || strcmp(what, "more") == 0)
		err = table_write(table, put_bulk, &bulk);
	if (strcmp(what, "grow") == 0 &&
	    table_write(table, put_bulk, &bulk) == ERR_OK)
		what = "write";
	if (strcmp(what, "read") == 0)
		err = table_read(table, tell_and_wait, NULL);
	if (strcmp(what, "exec") == 0)
		err = table_read(table, read_anew, dir);
	if (strcmp(what, "write") == 0)
		err = table_write(table, tell_and_wait, NULL);
	if (strcmp(what, "open") == 0)
		err = ERR_OK;
	if (strcmp(what, "add") == 0)
		for (int i = 0; i < SHARED_ROUNDS; i++)
			if ((err = table_write(table, add_one, NULL)) != ERR_OK)
				break;
	table_close(table);
	return err != ERR_OK;
}

int
main(int argc, char **argv)
{
	umask(0007);
	if (argc == 3)
		return child(argv[1], argv[2]);
	/* a test that waits for a lock for ever fails by this */
	alarm(300);
	test_growth_elsewhere();
	test_crash();
	test_dead();
	test_exec();
	test_locked();
	test_two_writers();
	return tap_done();
}

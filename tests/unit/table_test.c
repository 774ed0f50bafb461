/* table_test.c: storage: transactions, growth, crashes, neighbours, damage */
/* SPDX-License-Identifier: ISC */
#include "sync/table.h"

#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conf/mem.h"
#include "tests/unit/tap.h"

/* The size of the file after which a new table's map has grown. */
#define FIRST_MAP (16UL << 20)
#define BIG 4000
/* Keys that one transaction of the crash test sets. */
#define CRASH_KEYS 10
#define CRASH_ROUNDS 20
#define SHARED_ROUNDS 150

static struct table_bytes
bytes(const char *text)
{
	return (struct table_bytes){ text, strlen(text) };
}

static char *
new_dir(const char *name)
{
	char *dir = mem_fmt("%s/%s", tap_dir(), name);

	mkdir(dir, 0770);
	return dir;
}

static struct table *
open_new(const char *dir)
{
	struct table *table = NULL;

	if (table_open(dir, true, &table) != ERR_OK) {
		printf("Bail out! %s\n", err_text());
		exit(1);
	}
	return table;
}

/* One entry put, read or counted, for tests in which that is enough. */
struct entry {
	enum table_db db;
	const char *key;
	const char *value;
	char got[64];
	size_t count;
};

static enum err
put_entry(struct table_txn *txn, void *arg)
{
	struct entry *entry = arg;

	return table_put(txn, entry->db, bytes(entry->key),
	    bytes(entry->value));
}

static enum err
get_entry(struct table_txn *txn, void *arg)
{
	struct entry *entry = arg;
	struct table_bytes value;
	enum err err = table_get(txn, entry->db, bytes(entry->key), &value);

	if (err == ERR_OK)
		snprintf(entry->got, sizeof(entry->got), "%.*s",
		    (int)value.len, (const char *)value.data);
	return err;
}

static enum err
count_entries(struct table_txn *txn, void *arg)
{
	struct entry *entry = arg;

	return table_count(txn, entry->db, &entry->count);
}

static enum err
put(struct table *table, enum table_db db, const char *key, const char *value)
{
	struct entry entry = { .db = db, .key = key, .value = value };

	return table_write(table, put_entry, &entry);
}

static const char *
get(struct table *table, enum table_db db, const char *key)
{
	static struct entry entry;

	entry = (struct entry){ .db = db, .key = key };
	return table_read(table, get_entry, &entry) == ERR_OK ? entry.got :
	    NULL;
}

static size_t
count(struct table *table, enum table_db db)
{
	struct entry entry = { .db = db };

	return table_read(table, count_entries, &entry) == ERR_OK ?
	    entry.count : SIZE_MAX;
}

static void
test_open(void)
{
	char *dir = new_dir("open"), *none = mem_fmt("%s/none", tap_dir());
	char *file = mem_fmt("%s/" TABLE_FILE, dir);
	char *lock = mem_fmt("%s/" TABLE_FILE "-lock", dir);
	struct table *table = NULL;
	struct stat status;

	tap_int(table_open(dir, false, &table), ERR_ABSENT, "no table yet");
	tap_ok(table == NULL && stat(file, &status) == -1,
	    "and none was made");
	tap_int(table_open(none, false, &table), ERR_ABSENT, "nor state_dir");
	tap_int(table_open(none, true, &table), ERR_TABLE,
	    "a table is not made without its directory");
	tap_ok(strstr(err_text(), "install -d") != NULL,
	    "and the cure is said: %s", err_text());
	tap_int(table_open(dir, true, &table), ERR_OK, "a table is made");
	table_close(table);
	tap_ok(stat(file, &status) == 0 && (status.st_mode & 07777) == 0660,
	    "the file has mode 0660");
	tap_ok(stat(lock, &status) == 0 && (status.st_mode & 07777) == 0660,
	    "its lock has mode 0660");
	tap_int(table_open(dir, false, &table), ERR_OK, "it is there now");
	table_close(table);
	table_close(NULL);
	free(dir);
	free(none);
	free(file);
	free(lock);
}

static enum err
put_and_fail(struct table_txn *txn, void *arg)
{
	enum err err = table_put(txn, TABLE_ROWS, bytes("k"), bytes("v"));

	return err != ERR_OK ? err : *(enum err *)arg;
}

static enum err
delete_twice(struct table_txn *txn, void *arg)
{
	const char *key = arg;
	enum err err = table_del(txn, TABLE_ROWS, bytes(key));

	return err != ERR_OK ? err : table_del(txn, TABLE_ROWS, bytes(key));
}

/* What the storage refuses: here, to write while only reading. */
static enum err
put_and_ignore(struct table_txn *txn, void *arg)
{
	(void)arg;
	return table_put(txn, TABLE_ROWS, bytes("k"), bytes("v")) == ERR_TABLE ?
	    ERR_OK : ERR_INPUT;
}

static void
test_transactions(void)
{
	char *dir = new_dir("transactions");
	struct table *table = open_new(dir);
	enum err why = ERR_INPUT;

	tap_int(table_write(table, put_and_fail, &why), ERR_INPUT,
	    "a write returns what its body returned");
	tap_str(get(table, TABLE_ROWS, "k"), NULL, "and wrote nothing then");
	tap_int(put(table, TABLE_ROWS, "k", "v"), ERR_OK, "a write");
	tap_str(get(table, TABLE_ROWS, "k"), "v", "is read");
	tap_str(get(table, TABLE_LAG, "k"), NULL, "but not elsewhere");
	tap_int(put(table, TABLE_ROWS, "k", ""), ERR_OK, "an empty value");
	tap_str(get(table, TABLE_ROWS, "k"), "", "is read");
	tap_int((long long)count(table, TABLE_ROWS), 1, "there is one");
	tap_int(table_read(table, put_and_ignore, NULL), ERR_TABLE,
	    "what the storage refused is not forgotten");
	table_close(table);

	table = open_new(dir);
	tap_str(get(table, TABLE_ROWS, "k"), "", "it outlives the program");
	tap_int(table_write(table, delete_twice, (void *)"k"), ERR_OK,
	    "deleting what is not there is no error");
	tap_str(get(table, TABLE_ROWS, "k"), NULL, "it is gone");
	tap_int((long long)count(table, TABLE_ROWS), 0, "there is none");
	table_close(table);
	free(dir);
}

static const struct {
	const char *key;
	bool above;
	const char *found;
} seeks[] = {
	{ "", false, "b" },
	{ "", true, "b" },
	{ "a", false, "b" },
	{ "b", false, "b" },
	{ "b", true, "bb" },
	{ "ba", true, "bb" },
	{ "bb", true, "d" },
	{ "c", false, "d" },
	{ "d", false, "d" },
	{ "d", true, NULL },
	{ "e", false, NULL },
};

struct seek {
	const char *key;
	bool above;
	char found[8];
};

static enum err
seek_entry(struct table_txn *txn, void *arg)
{
	struct seek *seek = arg;
	struct table_bytes found, value;
	enum err err;

	/* twice, as the second goes by the cursor of the first */
	err = table_seek(txn, TABLE_ROWS, bytes(""), false, &found, &value);
	if (err == ERR_OK)
		err = table_seek(txn, TABLE_ROWS, bytes(seek->key),
		    seek->above, &found, &value);
	if (err == ERR_OK)
		snprintf(seek->found, sizeof(seek->found), "%.*s",
		    (int)found.len, (const char *)found.data);
	return err;
}

/* Deletes all of a database while going through it. */
static enum err
delete_all(struct table_txn *txn, void *arg)
{
	unsigned *n = arg;

	for (*n = 0;; ++*n) {
		struct table_bytes found, value;
		char key[8];
		enum err err = table_seek(txn, TABLE_ROWS, bytes(""), false,
		    &found, &value);

		if (err != ERR_OK)
			return err == ERR_ABSENT ? ERR_OK : err;
		snprintf(key, sizeof(key), "%.*s", (int)found.len,
		    (const char *)found.data);
		if ((err = table_del(txn, TABLE_ROWS, bytes(key))) != ERR_OK)
			return err;
	}
}

static void
test_seek(void)
{
	char *dir = new_dir("seek");
	struct table *table = open_new(dir);
	struct seek seek = { .key = "" };
	unsigned n = 0;

	tap_int(table_read(table, seek_entry, &seek), ERR_ABSENT,
	    "there is nothing in an empty table");
	tap_ok(put(table, TABLE_ROWS, "d", "") == ERR_OK &&
	    put(table, TABLE_ROWS, "b", "") == ERR_OK &&
	    put(table, TABLE_ROWS, "bb", "") == ERR_OK, "three entries");
	for (size_t i = 0; i < sizeof(seeks) / sizeof(seeks[0]); i++) {
		seek = (struct seek){ seeks[i].key, seeks[i].above, "" };
		tap_str(table_read(table, seek_entry, &seek) == ERR_OK ?
		    seek.found : NULL, seeks[i].found, "the one %s \"%s\"",
		    seek.above ? "after" : "at or after", seek.key);
	}
	tap_int(table_write(table, delete_all, &n), ERR_OK,
	    "a scan that deletes");
	tap_int(n, 3, "comes by all");
	table_close(table);
	free(dir);
}

struct bulk {
	unsigned from, to;
	unsigned runs;
	unsigned good;
};

static void
bulk_entry(unsigned i, char key[16], uint8_t value[BIG])
{
	snprintf(key, 16, "k%08u", i);
	memset(value, (int)(i & 0xff), BIG);
}

static enum err
put_bulk(struct table_txn *txn, void *arg)
{
	struct bulk *bulk = arg;
	uint8_t value[BIG];
	char key[16];
	enum err err = ERR_OK;

	bulk->runs++;
	for (unsigned i = bulk->from; i < bulk->to && err == ERR_OK; i++) {
		bulk_entry(i, key, value);
		err = table_put(txn, TABLE_ROWS, bytes(key),
		    (struct table_bytes){ value, BIG });
	}
	return err;
}

static enum err
check_bulk(struct table_txn *txn, void *arg)
{
	struct bulk *bulk = arg;
	struct table_bytes found;
	uint8_t value[BIG];
	char key[16];

	bulk->good = 0;
	for (unsigned i = bulk->from; i < bulk->to; i++) {
		bulk_entry(i, key, value);
		if (table_get(txn, TABLE_ROWS, bytes(key), &found) == ERR_OK &&
		    found.len == BIG && memcmp(found.data, value, BIG) == 0)
			bulk->good++;
	}
	return ERR_OK;
}

/* 4000 bytes take a page and more: these pass the first map. */
#define BULK (unsigned)(FIRST_MAP / 4096 + 1000)

static void
test_growth(void)
{
	char *dir = new_dir("growth");
	struct table *table = open_new(dir);
	struct bulk bulk = { .to = BULK };
	struct table_size before, after;

	tap_int(table_measure(table, &before), ERR_OK, "it is measured");
	tap_int((long long)before.map, FIRST_MAP, "the first map");
	tap_ok(before.used < before.map, "is not used up");
	tap_int(table_write(table, put_bulk, &bulk), ERR_OK,
	    "a transaction larger than the map");
	tap_ok(bulk.runs > 1, "is run again (%u runs)", bulk.runs);
	tap_int(table_read(table, check_bulk, &bulk), ERR_OK, "and read");
	tap_int(bulk.good, BULK, "whole");
	tap_int(table_measure(table, &after), ERR_OK, "it is measured again");
	tap_ok(after.map > before.map && after.used > FIRST_MAP,
	    "the map has grown");
	table_close(table);

	table = open_new(dir);
	tap_int(table_measure(table, &before), ERR_OK, "opened again");
	tap_int((long long)before.map, (long long)after.map,
	    "the map is as large as it was");
	table_close(table);
	free(dir);
}

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

static int
finish(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	return status;
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
	tap_int(put(table, TABLE_ROWS, "k", "v"), ERR_OK,
	    "this one writes on");
	bulk = (struct bulk){ .from = BULK, .to = 3 * BULK };
	tap_int(table_read(table, check_bulk, &bulk), ERR_OK, "and reads");
	tap_int(bulk.good, 2 * BULK, "all of it");
	table_close(table);
	free(dir);
}

struct crowd {
	struct table *table;
	atomic_bool stop;
	_Atomic unsigned reads, bad;
};

static void *
read_for_ever(void *arg)
{
	struct crowd *crowd = arg;

	while (!crowd->stop) {
		struct entry entry = { .db = TABLE_LAG, .key = "k" };

		if (table_read(crowd->table, get_entry, &entry) != ERR_OK ||
		    strcmp(entry.got, "v") != 0)
			crowd->bad++;
		crowd->reads++;
	}
	return NULL;
}

/* The map is changed under threads that read without a pause. */
static void
test_threads(void)
{
	char *dir = new_dir("threads");
	struct crowd crowd = { .table = open_new(dir) };
	struct table_size size = { 0 };
	pthread_t threads[4];
	bool wrote = put(crowd.table, TABLE_LAG, "k", "v") == ERR_OK;

	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, read_for_ever,
		    &crowd) != 0)
			exit(1);
	for (unsigned i = 0; i < 4 && wrote; i++) {
		struct bulk bulk = { .from = i * BULK, .to = (i + 1) * BULK };

		wrote = table_write(crowd.table, put_bulk, &bulk) == ERR_OK;
	}
	crowd.stop = true;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	tap_ok(wrote, "a writer makes the map grow");
	tap_int(table_measure(crowd.table, &size), ERR_OK, "it is measured");
	tap_ok(size.map >= 4 * FIRST_MAP, "more than once");
	tap_ok(crowd.reads > 0, "while others read");
	tap_int(crowd.bad, 0, "and never wrongly");
	tap_int(size.readers, 1, "only this thread holds a slot afterwards");
	table_close(crowd.table);
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

static bool
kill_in(const char *what, const char *dir)
{
	int pipes[2];
	bool told;
	char byte;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC) == -1)
		return false;
	pid = start(pipes[1], what, dir);
	close(pipes[1]);
	told = read(pipes[0], &byte, 1) == 1;
	kill(pid, SIGKILL);
	close(pipes[0]);
	return WIFSIGNALED(finish(pid)) && told;
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

/* What damages the file of a table that has BULK entries. */
static void
write_garbage(const char *file)
{
	FILE *out = fopen(file, "we");

	for (int i = 0; i < 20000; i++)
		fputc(i * 7 & 0xff, out);
	fclose(out);
}

static void
cut_meta(const char *file)
{
	if (truncate(file, 4096) == -1)
		exit(1);
}

static void
cut_short(const char *file)
{
	if (truncate(file, 16384) == -1)
		exit(1);
}

static void
empty(const char *file)
{
	if (truncate(file, 0) == -1)
		exit(1);
}

static void
set_format(const char *file)
{
	uint32_t format = 99;
	MDB_val key = { 6, (char[]){ "format" } };
	MDB_val value = { sizeof(format), &format };
	MDB_env *env = NULL;
	MDB_txn *txn;
	MDB_dbi meta;

	if (mdb_env_create(&env) != 0 || mdb_env_set_maxdbs(env, 9) != 0 ||
	    mdb_env_open(env, file, MDB_NOSUBDIR, 0660) != 0 ||
	    mdb_txn_begin(env, NULL, 0, &txn) != 0 ||
	    mdb_dbi_open(txn, "meta", 0, &meta) != 0 ||
	    mdb_put(txn, meta, &key, &value, 0) != 0 ||
	    mdb_txn_commit(txn) != 0)
		exit(1);
	mdb_env_close(env);
}

static const struct {
	const char *what;
	void (*damage)(const char *file);
	bool may_create;
	enum err open;
	const char *text;	/* in the sentence */
} damages[] = {
	{ "garbage", write_garbage, true, ERR_TABLE, "corrupt" },
	{ "cut within the head", cut_meta, true, ERR_TABLE, "corrupt" },
	{ "cut short", cut_short, true, ERR_TABLE, "corrupt" },
	{ "empty", empty, false, ERR_ABSENT, "none yet" },
	{ "of another format", set_format, true, ERR_TABLE, "format 99" },
};

static void
test_damage(void)
{
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		char *name = mem_fmt("damage%zu", i);
		char *dir = new_dir(name);
		char *file = mem_fmt("%s/" TABLE_FILE, dir);
		struct table *table = open_new(dir);
		struct bulk bulk = { .to = 500 };
		enum err err = table_write(table, put_bulk, &bulk);

		table_close(table);
		if (err != ERR_OK)
			exit(1);
		damages[i].damage(file);
		table = NULL;
		err = table_open(dir, damages[i].may_create, &table);
		/* a cut may show only where it is touched */
		if (err == ERR_OK)
			err = put(table, TABLE_ROWS, "k00000400", "v");
		tap_int(err, damages[i].open, "a file that is %s",
		    damages[i].what);
		tap_ok(strstr(err_text(), damages[i].text) != NULL, "says %s",
		    err_text());
		table_close(table);
		free(name);
		free(dir);
		free(file);
	}
}

/* A process may write files up to so many bytes: as on a full disk. */
static void
test_full(void)
{
	char *dir = new_dir("full");
	struct table *table = open_new(dir);
	struct bulk bulk = { .to = 1000 };
	struct rlimit limit, small;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &limit);
	small = (struct rlimit){ 1 << 20, limit.rlim_max };
	tap_int(put(table, TABLE_LAG, "k", "v"), ERR_OK, "a write");
	setrlimit(RLIMIT_FSIZE, &small);
	tap_int(table_write(table, put_bulk, &bulk), ERR_TABLE,
	    "a disk that is full");
	tap_note("%s", err_text());
	tap_str(get(table, TABLE_LAG, "k"), "v", "reads go on");
	tap_int(put(table, TABLE_LAG, "k", "w"), ERR_OK, "so do small writes");
	setrlimit(RLIMIT_FSIZE, &limit);
	tap_int(table_write(table, put_bulk, &bulk), ERR_OK,
	    "with room again, all is well");
	table_close(table);
	free(dir);
}

/* Opened by somebody who may only read it. */
static void
test_rights(void)
{
	char *dir = new_dir("rights"), *file = mem_fmt("%s/" TABLE_FILE, dir);
	char text[256] = "";
	int pipes[2];
	pid_t pid;

	table_close(open_new(dir));
	if (chmod(tap_dir(), 0755) == -1 || chmod(dir, 0755) == -1 ||
	    chmod(file, 0444) == -1 || pipe(pipes) == -1)
		exit(1);
	if ((pid = fork()) == 0) {
		struct table *table;
		enum err err;

		/* nobody; who is not root cannot write it either */
		if (geteuid() == 0 && setresuid(65534, 65534, 65534) == -1)
			_exit(1);
		err = table_open(dir, false, &table);
		dprintf(pipes[1], "%s", err_text());
		_exit(err == ERR_TABLE ? 0 : 2);
	}
	tap_int(finish(pid), 0, "one who may only read cannot open it");
	if (read(pipes[0], text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	tap_ok(strstr(text, "no right") != NULL, "and is told: %s", text);
	close(pipes[0]);
	close(pipes[1]);
	free(dir);
	free(file);
}

/* The children. */
static int
child(const char *what, const char *dir)
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
	if (strcmp(what, "read") == 0)
		err = table_read(table, tell_and_wait, NULL);
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
	test_open();
	test_transactions();
	test_seek();
	test_growth();
	test_growth_elsewhere();
	test_threads();
	test_crash();
	test_dead();
	test_two_writers();
	test_damage();
	test_full();
	test_rights();
	return tap_done();
}

/* table_test.c: storage: transactions, growth, threads, damage, rights */
/* SPDX-License-Identifier: ISC */
#include "sync/table.h"

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
#include <unistd.h>

#include "conf/mem.h"
#include "tests/unit/store.h"
#include "tests/unit/tap.h"

/* Open files of a table that a program started by this one would have. */
static int
inherited(void)
{
	char path[32], file[256];
	int n = 0;

	for (int fd = 3; fd < 100; fd++) {
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if ((len = readlink(path, file, sizeof(file) - 1)) == -1)
			continue;
		file[len] = '\0';
		n += strstr(file, TABLE_FILE) != NULL &&
		    (fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0;
	}
	return n;
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
	tap_ok(table == NULL && stat(file, &status) == -1, "and none was made");
	tap_int(table_open(none, false, &table), ERR_ABSENT, "nor state_dir");
	tap_int(table_open(none, true, &table), ERR_TABLE,
	    "a table is not made without its directory");
	tap_ok(strstr(err_text(), "install -d") != NULL,
	    "and the cure is said: %s", err_text());
	tap_int(table_open(dir, true, &table), ERR_OK, "a table is made");
	tap_int(inherited(), 0, "no child has its files");
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
	return table_put(txn, TABLE_ROWS, bytes("k"), bytes("v")) == ERR_TABLE
	    ? ERR_OK
	    : ERR_INPUT;
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
		err = table_seek(txn, TABLE_ROWS, bytes(seek->key), seek->above,
		    &found, &value);
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
		put(table, TABLE_ROWS, "bb", "") == ERR_OK,
	    "three entries");
	for (size_t i = 0; i < sizeof(seeks) / sizeof(seeks[0]); i++) {
		seek = (struct seek){ seeks[i].key, seeks[i].above, "" };
		tap_str(table_read(table, seek_entry, &seek) == ERR_OK
			? seek.found
			: NULL,
		    seeks[i].found, "the one %s \"%s\"",
		    seek.above ? "after" : "at or after", seek.key);
	}
	tap_int(table_write(table, delete_all, &n), ERR_OK,
	    "a scan that deletes");
	tap_int(n, 3, "comes by all");
	table_close(table);
	free(dir);
}

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

struct crowd {
	struct table *table;
	atomic_bool stop;
	_Atomic unsigned reads, bad;
};

static enum err
read_one(struct table_txn *txn, void *good)
{
	struct table_bytes value;
	enum err err = table_get(txn, TABLE_LAG, bytes("k"), &value);

	*(bool *)good = err == ERR_OK && value.len == 1 &&
	    memcmp(value.data, "v", 1) == 0;
	return err;
}

static void *
read_for_ever(void *arg)
{
	struct crowd *crowd = arg;

	while (!crowd->stop) {
		bool good = false;

		if (table_read(crowd->table, read_one, &good) != ERR_OK ||
		    !good)
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
		if (pthread_create(&threads[i], NULL, read_for_ever, &crowd) !=
		    0)
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
	const char *text; /* in the sentence */
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

int
main(void)
{
	umask(0007);
	test_open();
	test_transactions();
	test_seek();
	test_growth();
	test_threads();
	test_damage();
	test_full();
	test_rights();
	return tap_done();
}

/* table.c: the commit table's storage: keys, values, transactions on LMDB */
/* SPDX-License-Identifier: ISC */
#include "sync/table.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "conf/mem.h"

/* The map of a new table, in bytes; it doubles whenever it is full. */
#define INITIAL_MAP ((size_t)16 << 20)
/* The map grows no further: some hundred million rows, or a runaway. */
#define MAX_MAP (SIZE_MAX > UINT32_MAX ? (size_t)(64ULL << 30) : 1UL << 30)
/* Reading threads of all processes together (LMDB's default is 126). */
#define MAX_READERS 1024
/* Changing the map waits for this process's transactions, at most so long. */
#define REMAP_WAIT_MS 200
/* Runs of one body, each after the map was changed. */
#define MAX_RUNS 64

#define META_DB "meta"
#define META_FORMAT "format"

static const char *const db_names[TABLE_DBS] = {
	[TABLE_ROWS] = "rows",
	[TABLE_LAG] = "lag",
	[TABLE_FENCES] = "fences",
	[TABLE_TOKENS] = "tokens",
	[TABLE_PLACEMENTS] = "placements",
	[TABLE_PROVISIONAL] = "provisional",
	[TABLE_PEERS] = "peers",
	[TABLE_IMPORTS] = "imports",
};

struct table {
	char *file;
	MDB_env *env;
	MDB_dbi dbs[TABLE_DBS];
	/*
	 * Held shared around every transaction, and alone to change the map:
	 * mdb_env_set_mapsize() may not be called while this process has a
	 * transaction.
	 */
	pthread_rwlock_t gate;
	size_t map; /* its size */
	int broken; /* LMDB's word, once the map is lost */
};

struct table_txn {
	struct table *table;
	MDB_txn *txn;
	MDB_cursor *cursors[TABLE_DBS];
	int status; /* LMDB's first failure in it */
};

#define CURE_DISK "the disk is full or failing"
#define CURE_RIGHT                                                             \
	"no right to read and write it; run this as root or as "               \
	"the user reproute"
#define CURE_CORRUPT                                                           \
	"it is corrupt, or no table; stop all programs, then "                 \
	"restore it, or move it away to begin anew"

static const struct {
	int status;
	const char *text;
} failures[] = {
	/* LMDB says EIO for a write that came out short */
	{ EIO, CURE_DISK },
	{ ENOSPC, CURE_DISK },
	{ EDQUOT, CURE_DISK },
	{ EACCES, CURE_RIGHT },
	{ EPERM, CURE_RIGHT },
	{ MDB_INVALID, CURE_CORRUPT },
	{ MDB_CORRUPTED, CURE_CORRUPT },
	{ MDB_PAGE_NOTFOUND, CURE_CORRUPT },
	{ MDB_VERSION_MISMATCH, CURE_CORRUPT },
	{ MDB_PANIC, "a write failed half way; restart this program" },
	{ MDB_MAP_FULL, "it has grown to its limit" },
	{ MDB_MAP_RESIZED, "it was grown while another program held its lock" },
	{ MDB_READERS_FULL, "all its reader slots are taken" },
};

static enum err
fail(const struct table *table, int status)
{
	const char *text = mdb_strerror(status);

	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++)
		if (failures[i].status == status)
			text = failures[i].text;
	return err_set(ERR_TABLE, "table %s: %s", table->file, text);
}

static enum err
absent(const struct table *table)
{
	return err_set(ERR_ABSENT,
	    "table %s: there is none yet; the daemon "
	    "and the router make it when they start",
	    table->file);
}

/* Is there a file to open, or a place where to make it? */
static enum err
look(const struct table *table, const char *state_dir, bool may_create)
{
	struct stat status;

	if (stat(table->file, &status) == 0 && status.st_size > 0)
		return ERR_OK;
	if (stat(table->file, &status) == -1 && errno != ENOENT)
		return fail(table, errno);
	if (!may_create)
		return absent(table);
	if (stat(state_dir, &status) == 0)
		return ERR_OK;
	return err_set(ERR_TABLE,
	    "state_dir %s: %s; make it: "
	    "install -d -o reproute -g reproute -m 2770 %s",
	    state_dir, strerror(errno), state_dir);
}

/*
 * A file cut short ends the process by SIGBUS at the first touch of what is
 * missing; zeros in its place are found to be no page.  A sound file may be
 * short, too, by pages that were never written: so this is no error.
 */
static int
fill_tail(struct table *table)
{
	MDB_envinfo info;
	MDB_txn *txn = NULL;
	struct stat file;
	MDB_stat stat;
	size_t end;
	int status, fd;

	mdb_env_info(table->env, &info);
	mdb_env_stat(table->env, &stat);
	mdb_env_get_fd(table->env, &fd);
	if (info.me_last_pgno >= MAX_MAP / stat.ms_psize)
		return MDB_CORRUPTED;
	end = (info.me_last_pgno + 1) * stat.ms_psize;
	if (fstat(fd, &file) == -1)
		return errno;
	if ((size_t)file.st_size >= end)
		return 0;
	/* with the writers' lock, lest it cut off what one has just added */
	if ((status = mdb_txn_begin(table->env, NULL, 0, &txn)) != 0)
		return status;
	if (fstat(fd, &file) == -1 ||
	    ((size_t)file.st_size < end && ftruncate(fd, (off_t)end) == -1))
		status = errno;
	mdb_txn_abort(txn);
	return status;
}

static void
note_map(struct table *table)
{
	MDB_envinfo info;

	mdb_env_info(table->env, &info);
	table->map = info.me_mapsize;
}

static int
open_env(struct table *table)
{
	int status, fd;

	if ((status = mdb_env_create(&table->env)) != 0)
		return status;
	if ((status = mdb_env_set_maxreaders(table->env, MAX_READERS)) != 0 ||
	    (status = mdb_env_set_maxdbs(table->env, TABLE_DBS + 1)) != 0 ||
	    (status = mdb_env_open(table->env, table->file, MDB_NOSUBDIR,
		 0660)) != 0)
		return status;
	/* of its files, LMDB 0.9 leaves this one open in children */
	mdb_env_get_fd(table->env, &fd);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	if ((status = fill_tail(table)) != 0)
		return status;
	note_map(table);
	/* a table that has grown is opened as large as it is */
	if (table->map < INITIAL_MAP) {
		status = mdb_env_set_mapsize(table->env, INITIAL_MAP);
		note_map(table);
	}
	return status;
}

struct readers {
	unsigned all, own; /* slots; of them, this process's */
};

/* One line of mdb_reader_list(): a heading, or a slot's pid and more. */
static int
count_reader(const char *line, void *arg)
{
	struct readers *readers = arg;
	char *end;
	long pid = strtol(line, &end, 10);

	readers->all += end != line;
	readers->own += end != line && pid == getpid();
	return 0;
}

/*
 * Before this process has read anything, slots of its number are of a
 * program that it was until execve(2), or of one that died with the same
 * number in another container.  mdb_reader_check() takes them for ours, and
 * would never clear them; mdb_env_close() clears all that are ours, once
 * something was read.
 */
static int
drop_inherited(struct table *table)
{
	struct readers readers = { 0 };
	MDB_txn *txn;
	int status;

	mdb_reader_list(table->env, count_reader, &readers);
	if (readers.own == 0)
		return 0;
	status = mdb_txn_begin(table->env, NULL, MDB_RDONLY, &txn);
	if (status == 0)
		mdb_txn_abort(txn);
	mdb_env_close(table->env);
	table->env = NULL;
	return status != 0 ? status : open_env(table);
}

/* Sets *format to the stored one, a new table's being ours. */
static int
read_format(MDB_txn *txn, bool create, uint32_t *format)
{
	uint32_t ours = TABLE_FORMAT;
	MDB_val key = { strlen(META_FORMAT), META_FORMAT };
	MDB_val value = { sizeof(ours), &ours };
	MDB_dbi meta;
	int status;

	status = mdb_dbi_open(txn, META_DB, create ? MDB_CREATE : 0, &meta);
	if (status != 0)
		return status;
	status = create ? mdb_put(txn, meta, &key, &value, MDB_NOOVERWRITE)
			: mdb_get(txn, meta, &key, &value);
	if (status != 0 && status != MDB_KEYEXIST)
		return status;
	if (value.mv_size != sizeof(*format))
		return MDB_INVALID;
	memcpy(format, value.mv_data, sizeof(*format));
	return 0;
}

/* MDB_NOTFOUND: the table was never made, at least not to its end. */
static int
open_dbs(struct table *table, bool create, uint32_t *format)
{
	MDB_txn *txn;
	int status;

	status = mdb_txn_begin(table->env, NULL, create ? 0 : MDB_RDONLY, &txn);
	if (status != 0)
		return status;
	status = read_format(txn, create, format);
	for (int i = 0; i < TABLE_DBS; i++)
		if (status == 0 && *format == TABLE_FORMAT)
			status = mdb_dbi_open(txn, db_names[i],
			    create ? MDB_CREATE : 0, &table->dbs[i]);
	/* of a transaction that only reads, commit keeps the handles */
	if (status == 0)
		return mdb_txn_commit(txn);
	mdb_txn_abort(txn);
	return status;
}

static enum err
open_table(struct table *table, bool may_create)
{
	uint32_t format = 0;
	int status;

	if ((status = open_env(table)) != 0 ||
	    (status = drop_inherited(table)) != 0)
		return fail(table, status);
	/* first without the lock, which another program may hold for long */
	status = open_dbs(table, false, &format);
	if (status == MDB_NOTFOUND && !may_create)
		return absent(table);
	if (status == MDB_NOTFOUND)
		status = open_dbs(table, true, &format);
	if (status != 0)
		return fail(table, status);
	if (format != TABLE_FORMAT)
		return err_set(ERR_TABLE,
		    "table %s: it has format %u, and "
		    "this program knows %d; install the version that made it, "
		    "or move it away to begin anew",
		    table->file, (unsigned)format, TABLE_FORMAT);
	return ERR_OK;
}

enum err
table_open(const char *state_dir, bool may_create, struct table **out)
{
	struct table *table = mem_zalloc(sizeof(*table));
	/* else changing the map would wait for a pause of all readers */
	const pthread_rwlock_t writers_first =
	    PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
	enum err err;

	table->file = mem_fmt("%s/" TABLE_FILE, state_dir);
	table->gate = writers_first;
	err = look(table, state_dir, may_create);
	if (err == ERR_OK)
		err = open_table(table, may_create);
	if (err != ERR_OK) {
		table_close(table);
		return err;
	}
	table_clear_readers(table);
	*out = table;
	return ERR_OK;
}

void
table_close(struct table *table)
{
	if (table == NULL)
		return;
	if (table->env != NULL)
		mdb_env_close(table->env);
	pthread_rwlock_destroy(&table->gate);
	free(table->file);
	free(table);
}

/*
 * Changes the map to at least that size; 0: to what another process made
 * it.  False where a transaction of this process did not end in time: one
 * may be waiting for a lock that a stopped process holds, and while we wait
 * nobody here can read.
 */
static bool
remap(struct table *table, size_t size)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += REMAP_WAIT_MS * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	if (pthread_rwlock_timedwrlock(&table->gate, &until) != 0)
		return false;
	if (table->broken == 0 && (size == 0 || table->map < size)) {
		/* when this fails the old map is gone, too */
		table->broken = mdb_env_set_mapsize(table->env, size);
		if (table->broken == 0)
			note_map(table);
	}
	pthread_rwlock_unlock(&table->gate);
	return true;
}

/* Is it worth while to run the body again? */
static bool
cure(struct table *table, bool write, int status, size_t map)
{
	switch (status) {
	case MDB_MAP_FULL:
		if (map >= MAX_MAP)
			return false;
		remap(table, map < MAX_MAP / 2 ? map * 2 : MAX_MAP);
		return true;
	case MDB_MAP_RESIZED:
		/* who writes waits for the lock anyway */
		return remap(table, 0) || write;
	case MDB_READERS_FULL:
		return table_clear_readers(table) > 0;
	default:
		return false;
	}
}

static enum err
run_once(struct table *table, bool write, table_body *body, void *arg,
    int *status)
{
	struct table_txn txn = { .table = table };
	enum err err;

	*status = table->broken;
	if (*status == 0)
		*status = mdb_txn_begin(table->env, NULL,
		    write ? 0 : MDB_RDONLY, &txn.txn);
	if (*status != 0)
		return fail(table, *status);
	err = body(&txn, arg);
	for (int i = 0; i < TABLE_DBS; i++)
		if (txn.cursors[i] != NULL)
			mdb_cursor_close(txn.cursors[i]);
	*status = txn.status;
	if (write && err == ERR_OK && *status == 0)
		*status = mdb_txn_commit(txn.txn);
	else
		mdb_txn_abort(txn.txn);
	return err == ERR_OK && *status != 0 ? fail(table, *status) : err;
}

static enum err
run(struct table *table, bool write, table_body *body, void *arg)
{
	static _Thread_local bool inside;
	enum err err;

	assert(!inside);
	for (unsigned runs = 1;; runs++) {
		size_t map;
		int status;

		pthread_rwlock_rdlock(&table->gate);
		inside = true;
		map = table->map;
		err = run_once(table, write, body, arg, &status);
		inside = false;
		pthread_rwlock_unlock(&table->gate);
		if (status == 0 || runs == MAX_RUNS ||
		    !cure(table, write, status, map))
			return err;
	}
}

enum err
table_read(struct table *table, table_body *body, void *arg)
{
	return run(table, false, body, arg);
}

enum err
table_write(struct table *table, table_body *body, void *arg)
{
	return run(table, true, body, arg);
}

static enum err
answer(struct table_txn *txn, int status)
{
	if (status == 0)
		return ERR_OK;
	if (status == MDB_NOTFOUND)
		return ERR_ABSENT;
	if (txn->status == 0)
		txn->status = status;
	return fail(txn->table, status);
}

static MDB_val
val_of(struct table_bytes bytes)
{
	return (MDB_val){ bytes.len, (void *)bytes.data };
}

static struct table_bytes
bytes_of(MDB_val val)
{
	return (struct table_bytes){ val.mv_data, val.mv_size };
}

enum err
table_get(struct table_txn *txn, enum table_db db, struct table_bytes key,
    struct table_bytes *value)
{
	MDB_val k = val_of(key), v;
	enum err err;

	assert(key.len > 0 && key.len <= MAX_KEY);
	err = answer(txn, mdb_get(txn->txn, txn->table->dbs[db], &k, &v));
	if (err == ERR_OK)
		*value = bytes_of(v);
	return err;
}

enum err
table_put(struct table_txn *txn, enum table_db db, struct table_bytes key,
    struct table_bytes value)
{
	MDB_val k = val_of(key), v = val_of(value);

	assert(key.len > 0 && key.len <= MAX_KEY);
	return answer(txn, mdb_put(txn->txn, txn->table->dbs[db], &k, &v, 0));
}

enum err
table_del(struct table_txn *txn, enum table_db db, struct table_bytes key)
{
	MDB_val k = val_of(key);
	enum err err;

	assert(key.len > 0 && key.len <= MAX_KEY);
	err = answer(txn, mdb_del(txn->txn, txn->table->dbs[db], &k, NULL));
	return err == ERR_ABSENT ? ERR_OK : err;
}

static int
seek(struct table_txn *txn, enum table_db db, bool above, MDB_val *k,
    MDB_val *v)
{
	MDB_cursor **cursor = &txn->cursors[db];
	const MDB_val key = *k;
	int status = 0;

	/* kept for the next seek, as a scan is one seek after the other */
	if (*cursor == NULL)
		status = mdb_cursor_open(txn->txn, txn->table->dbs[db], cursor);
	if (status == 0)
		status = mdb_cursor_get(*cursor, k, v,
		    key.mv_size == 0 ? MDB_FIRST : MDB_SET_RANGE);
	if (status == 0 && above && k->mv_size == key.mv_size &&
	    memcmp(k->mv_data, key.mv_data, key.mv_size) == 0)
		status = mdb_cursor_get(*cursor, k, v, MDB_NEXT);
	return status;
}

enum err
table_seek(struct table_txn *txn, enum table_db db, struct table_bytes key,
    bool above, struct table_bytes *found, struct table_bytes *value)
{
	MDB_val k = val_of(key), v;
	enum err err;

	assert(key.len <= MAX_KEY);
	err = answer(txn, seek(txn, db, above, &k, &v));
	if (err == ERR_OK) {
		*found = bytes_of(k);
		*value = bytes_of(v);
	}
	return err;
}

enum err
table_count(struct table_txn *txn, enum table_db db, size_t *count)
{
	MDB_stat stat;
	enum err err;

	err = answer(txn, mdb_stat(txn->txn, txn->table->dbs[db], &stat));
	if (err == ERR_OK)
		*count = stat.ms_entries;
	return err;
}

enum err
table_measure(struct table *table, struct table_size *out)
{
	struct readers readers = { 0 };
	MDB_envinfo info;
	MDB_stat stat;
	int status;

	pthread_rwlock_rdlock(&table->gate);
	if ((status = table->broken) == 0 &&
	    (status = mdb_env_info(table->env, &info)) == 0)
		status = mdb_env_stat(table->env, &stat);
	pthread_rwlock_unlock(&table->gate);
	if (status != 0)
		return fail(table, status);
	mdb_reader_list(table->env, count_reader, &readers);
	*out = (struct table_size){ .used = (info.me_last_pgno + 1) *
		    stat.ms_psize,
		.map = info.me_mapsize,
		.readers = readers.all };
	return ERR_OK;
}

unsigned
table_clear_readers(struct table *table)
{
	int dead = 0;

	mdb_reader_check(table->env, &dead);
	return (unsigned)dead;
}

/* pulse.c: heartbeat, doubt, and who lives: a small map shared by programs */
/* SPDX-License-Identifier: ISC */
#include "sync/pulse.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "conf/clock.h"
#include "conf/mem.h"

/* Stands for the layout of struct map, too: one is changed with the other. */
#define MAGIC "reproute pulse 2"
/* Words of doubt; routes that share one are in doubt together. */
#define DOUBTS 256

/*
 * Bytes of the file that are locked, whatever is in them, by locks of the
 * open file (F_OFD_SETLK): they end with their process, and are apart even
 * between two that one process has open.
 */
enum {
	LOCK_SLOT,		 /* the first of MAX_ROUTERS; exclusive */
	LOCK_DOOR = MAX_ROUTERS, /* exclusive, while a router starts */
	LOCK_LIVING,		 /* shared, by all that have started */
};
/* A start waits so long for the one before it, looking so often. */
#define DOOR_MS 500
#define DOOR_LOOK_MS 5

/* The file.  Between processes only lock-free atomics work. */
struct map {
	char magic[sizeof(MAGIC)];
	char boot_id[BOOT_ID_SIZE];
	_Atomic int64_t beat_ms; /* clock_boot_ms(); 0: none yet */
	/* by slot: when what a dead one left is over (clock_boot_ms()) */
	_Atomic int64_t until_ms[MAX_ROUTERS];
	_Atomic uint64_t doubts[DOUBTS]; /* by route; a bit for each slot */
};
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "atomics without locks");
_Static_assert(MAX_ROUTERS <= 64, "a bit for each slot");

struct pulse {
	struct map *map;
	bool writable;
	int fd;	  /* whose locks are this process's */
	int slot; /* -1: none */
};

/* Is it whole, and of this boot? */
static bool
is_ours(int fd)
{
	char magic[sizeof(MAGIC)], boot_id[BOOT_ID_SIZE];
	char ours[BOOT_ID_SIZE] = "";
	struct stat status;

	clock_boot_id(ours);
	return fstat(fd, &status) == 0 &&
	    status.st_size == (off_t)sizeof(struct map) &&
	    pread(fd, magic, sizeof(magic), offsetof(struct map, magic)) ==
	    (ssize_t)sizeof(magic) &&
	    memcmp(magic, MAGIC, sizeof(magic)) == 0 &&
	    pread(fd, boot_id, sizeof(boot_id),
		offsetof(struct map, boot_id)) == (ssize_t)sizeof(boot_id) &&
	    memcmp(boot_id, ours, sizeof(ours)) == 0;
}

/* Fills a new file: its space is taken here, or nowhere. */
static enum err
fill(int fd, const char *file)
{
	struct map map = { .magic = MAGIC };
	int error;

	clock_boot_id(map.boot_id);
	if ((error = posix_fallocate(fd, 0, sizeof(map))) != 0) {
		errno = error;
		return err_sys("%s: no space for it", file);
	}
	/*
	 * Not the directory's group, the web server's, any program of which
	 * could end doubt; but it works as well where that is forbidden.
	 */
	(void)!fchown(fd, (uid_t)-1, getegid());
	if (fchmod(fd, 0660) == -1 ||
	    write(fd, &map, sizeof(map)) != (ssize_t)sizeof(map))
		return err_sys("%s", file);
	return ERR_OK;
}

/* Makes it beside, so that nobody ever maps half of one. */
static enum err
make(const char *path, int *fd)
{
	char *file = mem_fmt("%s.XXXXXX", path);
	int made = mkostemp(file, O_CLOEXEC);
	enum err err;

	if (made == -1) {
		err = err_sys("%s cannot be made", path);
		goto out;
	}
	err = fill(made, file);
	if (err == ERR_OK && rename(file, path) == -1)
		err = err_sys("%s", path);
	if (err == ERR_OK)
		*fd = made;
	else {
		unlink(file);
		close(made);
	}
out:
	free(file);
	return err;
}

/* ERR_ABSENT: there is none of this boot. */
static enum err
open_ours(const char *path, int flags, int *fd)
{
	int found = open(path, flags | O_CLOEXEC);

	if (found == -1 && errno != ENOENT)
		return err_sys("%s", path);
	if (found == -1 || !is_ours(found)) {
		if (found != -1)
			close(found);
		return err_set(ERR_ABSENT,
		    "%s: there is none of this boot; the daemon makes it",
		    path);
	}
	*fd = found;
	return ERR_OK;
}

/* Under the directory's lock, lest two make one each. */
static enum err
open_or_make(const char *run_dir, const char *path, int *fd)
{
	enum err err = open_ours(path, O_RDWR, fd);
	int lock;

	if (err != ERR_ABSENT)
		return err;
	lock = open(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (lock == -1 || flock(lock, LOCK_EX) == -1)
		err = err_sys("run_dir %s", run_dir);
	else if ((err = open_ours(path, O_RDWR, fd)) == ERR_ABSENT)
		err = make(path, fd);
	if (lock != -1)
		close(lock);
	return err;
}

enum err
pulse_open(const char *run_dir, bool may_create, struct pulse **out)
{
	char *path = mem_fmt("%s/pulse", run_dir);
	struct pulse *pulse;
	enum err err;
	void *map;
	int fd = -1;

	err = may_create ? open_or_make(run_dir, path, &fd)
			 : open_ours(path, O_RDONLY, &fd);
	if (err != ERR_OK)
		goto out;
	map = mmap(NULL, sizeof(struct map),
	    may_create ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		err = err_sys("%s", path);
		goto out;
	}
	pulse = mem_zalloc(sizeof(*pulse));
	*pulse = (struct pulse){ .map = map,
		.writable = may_create,
		.fd = fd,
		.slot = -1 };
	fd = -1;
	*out = pulse;
out:
	if (fd != -1)
		close(fd);
	free(path);
	return err;
}

void
pulse_close(struct pulse *pulse)
{
	if (pulse == NULL)
		return;
	munmap(pulse->map, sizeof(*pulse->map));
	close(pulse->fd);
	free(pulse);
}

void
pulse_beat(struct pulse *pulse)
{
	assert(pulse->writable);
	atomic_store(&pulse->map->beat_ms, clock_boot_ms());
}

int64_t
pulse_age_ms(const struct pulse *pulse)
{
	/* in this order, or the beat could be of after now */
	int64_t beat_ms = atomic_load(&pulse->map->beat_ms);
	int64_t now_ms = clock_boot_ms();

	return beat_ms > 0 && beat_ms <= now_ms ? now_ms - beat_ms : -1;
}

/* type: F_RDLCK, F_WRLCK, F_UNLCK.  Does not wait. */
static bool
lock_byte(const struct pulse *pulse, int byte, short type)
{
	struct flock lock = { .l_type = type,
		.l_whence = SEEK_SET,
		.l_start = byte,
		.l_len = 1 };

	return fcntl(pulse->fd, F_OFD_SETLK, &lock) == 0;
}

/* By FNV-1a of its name, so that every process finds the same one. */
static _Atomic uint64_t *
doubt_of(const struct pulse *pulse, const struct route *route)
{
	uint32_t hash = 2166136261;

	for (const char *at = route->name; *at != '\0'; at++)
		hash = (hash ^ (unsigned char)*at) * 16777619;
	return &pulse->map->doubts[hash % DOUBTS];
}

/* Slots whose bit is up anywhere. */
static uint64_t
slots_in_doubt(const struct pulse *pulse)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < DOUBTS; i++)
		bits |= atomic_load(&pulse->map->doubts[i]);
	return bits;
}

static uint64_t
bit_of(int slot)
{
	return UINT64_C(1) << slot;
}

static void
take_back(struct pulse *pulse, int slot)
{
	for (size_t i = 0; i < DOUBTS; i++)
		atomic_fetch_and(&pulse->map->doubts[i], ~bit_of(slot));
}

enum err
pulse_claim(struct pulse *pulse)
{
	assert(pulse->writable && pulse->slot == -1);
	for (int slot = 0; slot < MAX_ROUTERS; slot++) {
		if (!lock_byte(pulse, LOCK_SLOT + slot, F_WRLCK))
			continue;
		if ((slots_in_doubt(pulse) & bit_of(slot)) == 0) {
			atomic_store(&pulse->map->until_ms[slot], 0);
			pulse->slot = slot;
			return ERR_OK;
		}
		/* a dead one's, until the daemon says that it is over */
		lock_byte(pulse, LOCK_SLOT + slot, F_UNLCK);
	}
	return err_set(ERR_LIMIT,
	    "%d routers run on this state, or died in doubt: one more cannot "
	    "raise doubt, and holds a push whose fence is late",
	    MAX_ROUTERS);
}

bool
pulse_doubt_raise(struct pulse *pulse, const struct route *route)
{
	int64_t until_ms = clock_boot_ms() + route->fence_ms;
	_Atomic int64_t *last_ms;

	assert(pulse->writable);
	if (pulse->slot == -1)
		return false;
	last_ms = &pulse->map->until_ms[pulse->slot];
	/* nobody else stores it; before the bit: pulse_doubt_over() */
	if (until_ms > atomic_load(last_ms))
		atomic_store(last_ms, until_ms);
	atomic_fetch_or(doubt_of(pulse, route), bit_of(pulse->slot));
	return true;
}

bool
pulse_doubt(const struct pulse *pulse, const struct route *route)
{
	return atomic_load(doubt_of(pulse, route)) != 0;
}

void
pulse_doubt_settle(struct pulse *pulse)
{
	assert(pulse->writable && pulse->slot != -1);
	take_back(pulse, pulse->slot);
}

int
pulse_slot(const struct pulse *pulse)
{
	return pulse->slot;
}

bool
pulse_doubt_by(const struct pulse *pulse, int slot, const struct route *route)
{
	return (atomic_load(doubt_of(pulse, route)) & bit_of(slot)) != 0;
}

int
pulse_doubt_over(struct pulse *pulse, int above, int64_t now_ms)
{
	uint64_t bits = slots_in_doubt(pulse);

	assert(pulse->writable);
	for (int slot = above + 1; slot < MAX_ROUTERS; slot++) {
		if ((bits & bit_of(slot)) == 0 || slot == pulse->slot ||
		    !lock_byte(pulse, LOCK_SLOT + slot, F_WRLCK))
			continue;
		if (now_ms >= atomic_load(&pulse->map->until_ms[slot]))
			return slot;
		lock_byte(pulse, LOCK_SLOT + slot, F_UNLCK);
	}
	return -1;
}

void
pulse_doubt_end(struct pulse *pulse, int slot)
{
	take_back(pulse, slot);
	pulse_doubt_leave(pulse, slot);
}

void
pulse_doubt_leave(struct pulse *pulse, int slot)
{
	assert(slot != pulse->slot);
	lock_byte(pulse, LOCK_SLOT + slot, F_UNLCK);
}

/* No wait without a bound: who is inside may be stopped. */
static bool
pass_door(const struct pulse *pulse)
{
	const struct timespec look = { .tv_nsec = DOOR_LOOK_MS * 1000000 };
	int64_t until_ms = clock_boot_ms() + DOOR_MS;

	while (!lock_byte(pulse, LOCK_DOOR, F_WRLCK)) {
		if (clock_boot_ms() >= until_ms)
			return false;
		nanosleep(&look, NULL);
	}
	return true;
}

enum err
pulse_join(struct pulse *pulse, pulse_start *start, void *arg)
{
	enum err err;

	assert(pulse->writable);
	if (!pass_door(pulse))
		return err_set(ERR_BUSY,
		    "another router starts, and has not come to its end: it "
		    "waits for the table, or was stopped");
	err = start(arg, !pulse_has_router(pulse));
	if (err == ERR_OK && !lock_byte(pulse, LOCK_LIVING, F_RDLCK))
		err = err_sys("pulse");
	lock_byte(pulse, LOCK_DOOR, F_UNLCK);
	return err;
}

bool
pulse_has_router(const struct pulse *pulse)
{
	struct flock lock = { .l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = LOCK_LIVING,
		.l_len = 1 };

	/* where nobody can tell, a start does the whole of its work */
	return fcntl(pulse->fd, F_OFD_GETLK, &lock) == 0 &&
	    lock.l_type != F_UNLCK;
}

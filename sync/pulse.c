/* pulse.c: the daemon's heartbeat and the doubt flags, in a small shared map */
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
#include <unistd.h>

#include "conf/clock.h"
#include "conf/mem.h"

/* Stands for the layout of struct map, too: one is changed with the other. */
#define MAGIC "reproute pulse 1"
/* Doubt flags; routes that share one are in doubt together. */
#define DOUBTS 256

/* The file.  Between processes only lock-free atomics work. */
struct map {
	char magic[sizeof(MAGIC)];
	char boot_id[BOOT_ID_SIZE];
	_Atomic int64_t beat_ms; /* clock_boot_ms(); 0: none yet */
	/*
	 * The low bit: in doubt.  The others count the raises and outlive
	 * them, so that no number comes twice.
	 */
	_Atomic uint32_t doubts[DOUBTS];
};
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2,
    "atomics without locks");

struct pulse {
	struct map *map;
	bool writable;
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

/* Under the directory's lock, lest two make one each. */
static enum err
open_or_make(const char *run_dir, const char *path, int *fd)
{
	int lock = open(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum err err = ERR_OK;
	int found;

	if (lock == -1 || flock(lock, LOCK_EX) == -1) {
		err = err_sys("run_dir %s", run_dir);
		goto out;
	}
	found = open(path, O_RDWR | O_CLOEXEC);
	if (found != -1 && is_ours(found)) {
		*fd = found;
		goto out;
	}
	if (found == -1 && errno != ENOENT) {
		err = err_sys("%s", path);
		goto out;
	}
	if (found != -1)
		close(found);
	err = make(path, fd);
out:
	if (lock != -1)
		close(lock);
	return err;
}

static enum err
open_only(const char *path, int *fd)
{
	int found = open(path, O_RDONLY | O_CLOEXEC);

	if (found == -1 && errno == ENOENT)
		return err_set(ERR_ABSENT,
		    "%s: there is none; the daemon "
		    "makes it",
		    path);
	if (found == -1)
		return err_sys("%s", path);
	if (!is_ours(found)) {
		close(found);
		return err_set(ERR_ABSENT,
		    "%s: it is not of this boot; the "
		    "daemon makes a new one",
		    path);
	}
	*fd = found;
	return ERR_OK;
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
			 : open_only(path, &fd);
	if (err != ERR_OK)
		goto out;
	map = mmap(NULL, sizeof(struct map),
	    may_create ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		err = err_sys("%s", path);
		goto out;
	}
	pulse = mem_zalloc(sizeof(*pulse));
	*pulse = (struct pulse){ .map = map, .writable = may_create };
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

/* By FNV-1a of its name, so that every process finds the same one. */
static _Atomic uint32_t *
doubt_of(const struct pulse *pulse, const struct route *route)
{
	uint32_t hash = 2166136261;

	for (const char *at = route->name; *at != '\0'; at++)
		hash = (hash ^ (unsigned char)*at) * 16777619;
	return &pulse->map->doubts[hash % DOUBTS];
}

uint32_t
pulse_doubt_raise(struct pulse *pulse, const struct route *route)
{
	_Atomic uint32_t *doubt = doubt_of(pulse, route);
	uint32_t old = atomic_load(doubt), raised;

	assert(pulse->writable);
	do {
		raised = (old | 1) + 2;
	} while (!atomic_compare_exchange_weak(doubt, &old, raised));
	return raised;
}

uint32_t
pulse_doubt(const struct pulse *pulse, const struct route *route)
{
	uint32_t doubt = atomic_load(doubt_of(pulse, route));

	return (doubt & 1) != 0 ? doubt : 0;
}

void
pulse_doubt_settle(struct pulse *pulse, const struct route *route,
    uint32_t number)
{
	assert(pulse->writable && (number & 1) != 0);
	atomic_compare_exchange_strong(doubt_of(pulse, route), &number,
	    number & ~(uint32_t)1);
}

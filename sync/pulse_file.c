/* pulse_file.c: the file of the shared map: made, found, locked */
/* SPDX-License-Identifier: ISC */
#include <errno.h>
#include <fcntl.h>
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
#include "sync/pulse_map.h"

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
		.slot = -1,
		.seat = -1 };
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

bool
pulse_lock(const struct pulse *pulse, int byte, short type)
{
	struct flock lock = { .l_type = type,
		.l_whence = SEEK_SET,
		.l_start = byte,
		.l_len = 1 };

	return fcntl(pulse->fd, F_OFD_SETLK, &lock) == 0;
}

bool
pulse_is_locked(const struct pulse *pulse, int byte)
{
	struct flock lock = { .l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = byte,
		.l_len = 1 };

	/* where nobody can tell, a start does the whole of its work */
	return fcntl(pulse->fd, F_OFD_GETLK, &lock) == 0 &&
	    lock.l_type != F_UNLCK;
}

uint32_t
pulse_hash(uint32_t hash, const char *text)
{
	for (; *text != '\0'; text++)
		hash = (hash ^ (unsigned char)*text) * 16777619;
	return hash;
}

/* shared.c: a small file in run_dir that programs map, whole from the start */
/* SPDX-License-Identifier: ISC */
#include "sync/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/mem.h"

static struct shared
head_of(const struct shared_kind *kind)
{
	struct shared head = { 0 };

	snprintf(head.magic, sizeof(head.magic), "%s", kind->magic);
	clock_boot_id(head.boot_id);
	return head;
}

/* Is it whole, and of this boot? */
static bool
is_ours(int fd, const struct shared_kind *kind)
{
	const struct shared ours = head_of(kind);
	struct shared head;
	struct stat status;

	return fstat(fd, &status) == 0 && status.st_size == (off_t)kind->size &&
	    pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	    memcmp(&head, &ours, sizeof(head)) == 0;
}

/* Fills a new file: its space is taken here, or nowhere. */
static enum err
fill(int fd, const char *file, const struct shared_kind *kind)
{
	const struct shared head = head_of(kind);
	char *bytes = mem_array(kind->size, 1);
	enum err err = ERR_OK;
	int error;

	memcpy(bytes, &head, sizeof(head));
	if ((error = posix_fallocate(fd, 0, (off_t)kind->size)) != 0) {
		errno = error;
		err = err_sys("%s: no space for it", file);
		goto out;
	}
	/*
	 * Not the directory's group, the web server's, any program of which
	 * could end doubt; but it works as well where that is forbidden.
	 */
	(void)!fchown(fd, (uid_t)-1, getegid());
	if (fchmod(fd, 0660) == -1 ||
	    write(fd, bytes, kind->size) != (ssize_t)kind->size)
		err = err_sys("%s", file);
out:
	free(bytes);
	return err;
}

/* Makes it beside, so that nobody ever maps half of one. */
static enum err
make(const char *path, const struct shared_kind *kind, int *fd)
{
	char *file = mem_fmt("%s.XXXXXX", path);
	int made = mkostemp(file, O_CLOEXEC);
	enum err err;

	if (made == -1) {
		err = err_sys("%s cannot be made", path);
		goto out;
	}
	err = fill(made, file, kind);
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
open_ours(const char *path, const struct shared_kind *kind, int flags, int *fd)
{
	int found = open(path, flags | O_CLOEXEC);

	if (found == -1 && errno != ENOENT)
		return err_sys("%s", path);
	if (found == -1 || !is_ours(found, kind)) {
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
open_or_make(const char *run_dir, const char *path,
    const struct shared_kind *kind, int *fd)
{
	enum err err = open_ours(path, kind, O_RDWR, fd);
	int lock;

	if (err != ERR_ABSENT)
		return err;
	lock = open(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (lock == -1 || flock(lock, LOCK_EX) == -1)
		err = err_sys("run_dir %s", run_dir);
	else if ((err = open_ours(path, kind, O_RDWR, fd)) == ERR_ABSENT)
		err = make(path, kind, fd);
	if (lock != -1)
		close(lock);
	return err;
}

enum err
shared_open(const char *run_dir, const struct shared_kind *kind,
    bool may_create, int *fd, void **map)
{
	char *path = mem_fmt("%s/%s", run_dir, kind->name);
	int found = -1;
	enum err err;
	void *mapped;

	err = may_create ? open_or_make(run_dir, path, kind, &found)
			 : open_ours(path, kind, O_RDONLY, &found);
	if (err != ERR_OK)
		goto out;
	mapped = mmap(NULL, kind->size,
	    may_create ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, found,
	    0);
	if (mapped == MAP_FAILED) {
		err = err_sys("%s", path);
		close(found);
		goto out;
	}
	*fd = found;
	*map = mapped;
out:
	free(path);
	return err;
}

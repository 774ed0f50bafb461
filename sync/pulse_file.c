/* pulse_file.c: the file of the shared map: opened and locked */
/* SPDX-License-Identifier: ISC */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "conf/mem.h"
#include "sync/pulse_map.h"

enum err
pulse_open(const char *run_dir, bool may_create, struct pulse **out)
{
	static const struct shared_kind kind = { "pulse", "reproute pulse 4",
		sizeof(struct map) };
	struct pulse *pulse;
	enum err err;
	void *map;
	int fd;

	err = shared_open(run_dir, &kind, may_create, &fd, &map);
	if (err != ERR_OK)
		return err;
	pulse = mem_zalloc(sizeof(*pulse));
	*pulse = (struct pulse){ .map = map,
		.writable = may_create,
		.fd = fd,
		.slot = -1,
		.seat = -1 };
	*out = pulse;
	return ERR_OK;
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

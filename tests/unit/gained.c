/* gained.c: a test that runs with the rights of another group */
/* SPDX-License-Identifier: ISC */
#include "tests/unit/gained.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "conf/mem.h"
#include "tests/unit/tap.h"

static bool
copy_setgid(const char *to)
{
	int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	char piece[65536];
	ssize_t len;

	if (in == -1 || out == -1)
		return false;
	while ((len = read(in, piece, sizeof(piece))) > 0)
		if (write(out, piece, (size_t)len) != len)
			return false;
	close(in);
	/* to a group that is not ours */
	if (fchown(out, (uid_t)-1, getegid() + 1) == -1 ||
	    fchmod(out, 02755) == -1)
		return false;
	return close(out) == 0 && len == 0;
}

char *
gained_copy(void)
{
	char *path = mem_fmt("%s/setgid", tap_dir());
	struct statvfs where;

	if (geteuid() != 0 || statvfs(tap_dir(), &where) == -1 ||
	    (where.f_flag & ST_NOSUID) != 0)
		tap_note("not shown: setgid needs root, and a /tmp that "
			 "is not nosuid");
	else if (tap_ok(copy_setgid(path), "a copy of this test, setgid"))
		return path;
	free(path);
	return NULL;
}

/* stamp.c: notes when something happened, by a clock that all share */
/* SPDX-License-Identifier: ISC */

/*
 * stamp FILE WORD NAME: appends "NS WORD NAME" to a file.
 *
 * As the hook reference-transaction of a repository, in the file stamps
 * beside the repository, for each ref of its stdin:
 *   NS PHASE REPOSITORY PID OLD NEW REF
 * NS is CLOCK_MONOTONIC, PID that of the git that runs it.  The clock is read
 * before anything is written, and a hook's lines are written at once: what
 * is prepared cannot be seen yet, what is committed can.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_TEXT (1 << 20)

static int
append(const char *path, const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0 || write(fd, text, len) != (ssize_t)len) {
		perror(path);
		return 1;
	}
	return close(fd) != 0;
}

static int
hook(int64_t ns, const char *phase)
{
	char *text = malloc(MAX_TEXT), dir[4096], old[65], new[65], ref[1024];
	const char *name;
	size_t len = 0;

	if (text == NULL || getcwd(dir, sizeof(dir)) == NULL)
		return 1;
	name = strrchr(dir, '/') + 1;
	while (len < MAX_TEXT - 4096 &&
	    scanf("%64s %64s %1023s", old, new, ref) == 3)
		len += (size_t)sprintf(text + len,
		    "%" PRId64 " %s %.*s %d %s %s %s\n", ns, phase,
		    (int)strcspn(name, "."), name, (int)getppid(), old, new,
		    ref);
	return append("../stamps", text, len);
}

int
main(int argc, char **argv)
{
	struct timespec now;
	char text[1024];
	int64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
	if (argc == 2)
		return hook(ns, argv[1]);
	if (argc != 4) {
		fputs("usage: stamp FILE WORD NAME\n", stderr);
		return 64;
	}
	snprintf(text, sizeof(text), "%" PRId64 " %s %s\n", ns, argv[2],
	    argv[3]);
	return append(argv[1], text, strlen(text));
}

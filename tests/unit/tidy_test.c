/* tidy_test.c: what goes, and what stays whatever its age */
/* SPDX-License-Identifier: ISC */
#include "sync/tidy.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/clock.h"
#include "conf/mem.h"
#include "tests/unit/tap.h"

#define MINUTE_S 60
#define DAY_S 86400

static const struct {
	const char *path;
	bool empty;
	int64_t age_s;
	bool goes;
} files[] = {
	{ "HEAD", false, DAY_S, false },
	{ "HEAD.lock", true, MINUTE_S, true },
	{ "config.lock", false, MINUTE_S, true },
	{ "packed-refs", false, DAY_S, false },
	{ "packed-refs.lock", true, MINUTE_S, true },
	{ "packed-refs.new", false, MINUTE_S, true },
	{ "shallow.lock", true, 0, false },
	{ "refs/heads/main", false, DAY_S, false },
	{ "refs/heads/main.lock", false, MINUTE_S, true },
	{ "refs/heads/a/b/c.lock", true, MINUTE_S, true },
	{ "refs/heads/a/b/fresh.lock", true, 0, false },
	{ "refs/heads/a/lost", true, MINUTE_S, true },
	{ "refs/heads/a/new", true, 0, false },
	/* a clock that was set back */
	{ "refs/heads/future.lock", true, -DAY_S, true },
	{ "objects/maintenance.lock", true, MINUTE_S, true },
	{ "objects/info/commit-graph.lock", true, MINUTE_S, true },
	{ "objects/info/commit-graphs/commit-graph-chain.lock", true, MINUTE_S,
	    true },
	{ "objects/pack/multi-pack-index.lock", true, MINUTE_S, true },
	{ "objects/pack/tmp_pack_AbC", false, MINUTE_S, false },
	{ "objects/pack/tmp_pack_dEf", false, DAY_S, true },
	{ "objects/pack/pack-1.pack", false, DAY_S, false },
	{ "objects/pack/pack-1.keep", true, DAY_S, false },
	{ "objects/17/lock", false, DAY_S, false },
	{ "other/x.lock", true, DAY_S, false },
};

static void
make_file(const char *path, bool empty, int64_t age_s)
{
	struct timespec times[2] = {
		{ .tv_sec = clock_real_s() - age_s },
		{ .tv_sec = clock_real_s() - age_s },
	};
	char *way = mem_dup(path);
	int fd;

	for (char *slash = strchr(way + 1, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(way, 0700);
		*slash = '/';
	}
	free(way);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	if (fd < 0 || (!empty && write(fd, "x", 1) != 1))
		tap_ok(false, "%s is made", path);
	futimens(fd, times);
	close(fd);
}

static void
test_leftovers(const char *repository)
{
	char *link = mem_fmt("%s/refs/link", repository);
	char *beyond = mem_fmt("%s/beyond/x.lock", tap_dir());

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *path = mem_fmt("%s/%s", repository, files[i].path);

		make_file(path, files[i].empty, files[i].age_s);
		free(path);
	}
	make_file(beyond, true, DAY_S);
	tap_int(symlink("../../beyond", link), 0, "a link leads out");
	tidy_leftovers(repository);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *path = mem_fmt("%s/%s", repository, files[i].path);

		tap_int(access(path, F_OK) != 0, files[i].goes, "%s %s",
		    files[i].path, files[i].goes ? "goes" : "stays");
		free(path);
	}
	tap_int(access(beyond, F_OK), 0, "no link is followed");
	tidy_leftovers("/nonexistent");
	free(beyond);
	free(link);
}

static void
test_remove(const char *path)
{
	char *beyond = mem_fmt("%s/beyond/x.lock", tap_dir());

	tap_int(tidy_remove(path), ERR_OK, "a tree goes");
	tap_ok(access(path, F_OK) != 0, "and is gone");
	tap_int(access(beyond, F_OK), 0, "but not what a link leads to");
	tap_int(tidy_remove(path), ERR_OK, "what is not there is gone");
	tap_int(tidy_remove(beyond), ERR_OK, "a file goes");
	tap_ok(access(beyond, F_OK) != 0, "and is gone, too");
	tap_int(tidy_remove("/proc/version"), ERR_SYS, "what stays is said");
	free(beyond);
}

int
main(void)
{
	char *repository = mem_fmt("%s/r.git", tap_dir());

	test_leftovers(repository);
	test_remove(repository);
	free(repository);
	return tap_done();
}

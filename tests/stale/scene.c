/* scene.c: where reads and pushes take place, and what is pushed */
/* SPDX-License-Identifier: ISC */
#include "tests/stale/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sync/spawn.h"
#include "tests/stale/history.h"

/* git that says nothing and does nothing for so long is ended. */
#define STALL_MS 30000
#define OID_LEN 40
/* Whoever sleeps looks so often whether it is over. */
#define SLICE_NS INT64_C(100000000)

int64_t
monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

unsigned
draw(uint64_t *seed, unsigned n)
{
	/* xorshift64: any will do, and the same each time */
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return (unsigned)(*seed >> 33) % n;
}

enum err
run(const char *const *argv, const char *const *env, struct buf *output)
{
	struct spawn order = { .argv = argv, .env = env, .stall_ms = STALL_MS };

	return spawn_run(&order, output);
}

const char *
scene_ref_name(unsigned ref)
{
	static char names[REFS][32];

	if (names[0][0] == '\0') {
		for (unsigned i = 0; i < MANY; i++)
			sprintf(names[REF_MANY + i], "refs/heads/many/%u", i);
		for (unsigned i = 0; i < TOPICS; i++)
			sprintf(names[REF_TOPIC + i], "refs/heads/topic/%u", i);
		strcpy(names[REF_MAIN], "refs/heads/main");
		strcpy(names[REF_NEXT], "refs/heads/next");
		strcpy(names[REF_HEAD], "HEAD");
	}
	return names[ref];
}

int
scene_ref(const char *name)
{
	for (unsigned i = 0; i < REFS; i++)
		if (strcmp(scene_ref_name(i), name) == 0)
			return (int)i;
	return -1;
}

/* qsort(3) hands nothing on to it. */
static char **sorting;

static int
by_oid(const void *a, const void *b)
{
	return strcmp(sorting[*(const unsigned *)a],
	    sorting[*(const unsigned *)b]);
}

int
scene_commit(const struct scene *scene, const char *oid, size_t len)
{
	size_t low = 0, high = scene->n_oids;

	if (len == OID_LEN && strspn(oid, "0") >= OID_LEN)
		return ABSENT;
	while (len == OID_LEN && low < high) {
		size_t middle = (low + high) / 2;
		unsigned commit = scene->by_oid[middle];
		int order = strncmp(oid, scene->oids[commit], OID_LEN);

		if (order == 0)
			return (int)commit;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return UNSEEN;
}

enum err
scene_open(struct scene *scene)
{
	const char *argv[] = { "git", "-C", scene->source, "rev-list",
		"--reverse", "main", NULL };
	struct buf text = { 0 };
	enum err err = run(argv, NULL, &text);
	char *rest = text.data;

	/* before there are threads */
	(void)scene_ref_name(0);
	for (char *line; err == ERR_OK && (line = strsep(&rest, "\n")) != NULL;)
		if (strlen(line) == OID_LEN) {
			scene->oids = mem_more(scene->oids, scene->n_oids,
			    sizeof(*scene->oids));
			scene->oids[scene->n_oids++] = mem_dup(line);
		}
	buf_free(&text);
	if (err == ERR_OK && scene->n_oids < REFS)
		err = err_set(ERR_INPUT, "%s: too few commits", scene->source);
	scene->by_oid = mem_array(scene->n_oids, sizeof(*scene->by_oid));
	for (unsigned i = 0; i < scene->n_oids; i++)
		scene->by_oid[i] = i;
	sorting = scene->oids;
	if (err == ERR_OK)
		qsort(scene->by_oid, scene->n_oids, sizeof(*scene->by_oid),
		    by_oid);
	scene->start_ns = monotonic_ns();
	return err;
}

void
scene_close(struct scene *scene)
{
	for (unsigned i = 0; i < scene->n_oids; i++)
		free(scene->oids[i]);
	free(scene->oids);
	free(scene->by_oid);
}

bool
scene_over(struct scene *scene)
{
	int64_t ran_s = (monotonic_ns() - scene->start_ns) / 1000000000;

	if (ran_s >= scene->at_most_s ||
	    (ran_s >= scene->seconds && scene->n_reads >= scene->reads &&
		scene->n_pushes >= scene->pushes))
		scene->over = true;
	return scene->over;
}

void
scene_pause(struct scene *scene, uint64_t *seed, long ms)
{
	int64_t until_ns = monotonic_ns() + ms * 500000 +
	    draw(seed, (unsigned)ms + 1) * INT64_C(1000000);

	for (int64_t left_ns;
	     (left_ns = until_ns - monotonic_ns()) > 0 && !scene->over;) {
		struct timespec pause = {
			.tv_nsec = left_ns < SLICE_NS ? left_ns : SLICE_NS
		};

		nanosleep(&pause, NULL);
	}
}

/* stale.c: counts the stale reads that a router serves under pushes */
/* SPDX-License-Identifier: ISC */

/*
 * stale OPTION...: pushes to repositories and reads them, through a front
 * that routes and past it, and says how many reads were older than they
 * might be.  contrib/stage.sh sets up what it needs; see run.
 *
 * A read is called stale only where it is so for sure: its start is noted
 * before its first byte is sent, a push's return and a state's appearance on
 * the primary's disk behind the event, and of several states with the value
 * that it saw it has the benefit of the newest.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stale/report.h"

static struct scene scene = {
	.changes = "all",
	.repos = 4,
	.v0 = 2,
	.v2 = 2,
	.direct = 1,
	.clones = 1,
	.writers = 2,
	.pause_ms = 20,
	.push_pause_ms = 1000,
	.slowness = 8,
	.seconds = 10,
	.at_most_s = 3600,
};

static const struct {
	const char *name;
	const char **text; /* or */
	long *number;
} options[] = {
	{ "front", &scene.front, NULL },
	{ "primary", &scene.primary, NULL },
	{ "root", &scene.root, NULL },
	{ "source", &scene.source, NULL },
	{ "scratch", &scene.scratch, NULL },
	{ "faults", &scene.faults, NULL },
	{ "changes", &scene.changes, NULL },
	{ "repos", NULL, &scene.repos },
	{ "hooked", NULL, &scene.hooked },
	{ "v0", NULL, &scene.v0 },
	{ "v2", NULL, &scene.v2 },
	{ "direct", NULL, &scene.direct },
	{ "clones", NULL, &scene.clones },
	{ "writers", NULL, &scene.writers },
	{ "pause-ms", NULL, &scene.pause_ms },
	{ "push-pause-ms", NULL, &scene.push_pause_ms },
	{ "slowness", NULL, &scene.slowness },
	{ "seconds", NULL, &scene.seconds },
	{ "at-most", NULL, &scene.at_most_s },
	{ "reads", NULL, &scene.reads },
	{ "pushes", NULL, &scene.pushes },
};
#define OPTIONS (sizeof(options) / sizeof(options[0]))

static enum err
take_options(int argc, char **argv)
{
	struct option known[OPTIONS + 1] = { 0 };
	int option;

	for (size_t i = 0; i < OPTIONS; i++)
		known[i] = (struct option){ options[i].name, required_argument,
			NULL, (int)i };
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option >= (int)OPTIONS)
			return err_set(ERR_USAGE, "see stale.c");
		if (options[option].text != NULL)
			*options[option].text = optarg;
		else
			*options[option].number = atol(optarg);
	}
	if (optind < argc || scene.front == NULL || scene.primary == NULL ||
	    scene.root == NULL || scene.source == NULL || scene.scratch == NULL)
		return err_set(ERR_USAGE,
		    "--front, --primary, --root, --source and --scratch "
		    "must be given");
	return ERR_OK;
}

/* What clients know of each push: what it changed, and when it returned. */
static void
tell_pushes(struct history **histories, const struct pushes *pushes)
{
	for (size_t i = 0; i < pushes->n; i++) {
		const struct push *push = &pushes->push[i];
		struct history *history = histories[push->repo];

		for (unsigned j = 0; j < push->n; j++) {
			const struct move *move = &push->moves[j];

			/* git has no hook for it */
			if (push->seen_ns != 0) {
				history_prepared(history, move->ref, 0,
				    move->old, move->value, push->start_ns);
				history_committed(history, move->ref, 0,
				    move->value, push->seen_ns);
			}
			if (push->returned)
				history_told(history, move->ref, move->value,
				    push->start_ns, push->end_ns);
		}
	}
}

static enum err
run_all(struct readings *readings, struct pushes *pushes,
    struct history **histories)
{
	int(*now)[REFS] = mem_array((size_t)scene.repos, sizeof(*now));
	size_t behind = notes_size(&scene);
	struct writers *writers;
	struct readers *readers;
	enum err err = ERR_OK;

	for (long i = 0; i < scene.repos && err == ERR_OK; i++)
		if ((err = disk_refs(&scene, (unsigned)i, now[i])) == ERR_OK)
			histories[i] = history_new(REFS, now[i]);
	if (err == ERR_OK) {
		readers = readers_start(&scene);
		writers = writers_start(&scene, now);
		writers_end(writers, pushes);
		readers_end(readers, readings);
		err = notes_tell(&scene, behind, histories);
	}
	free(now);
	return err;
}

static enum err
check(void)
{
	struct history **histories = mem_array((size_t)scene.repos,
	    sizeof(*histories));
	struct readings readings = { 0 };
	struct pushes pushes = { 0 };
	struct windows faults = { 0 };
	unsigned gaps = 0;
	enum err err = run_all(&readings, &pushes, histories);

	if (err == ERR_OK)
		err = notes_faults(scene.faults, &faults);
	if (err == ERR_OK) {
		tell_pushes(histories, &pushes);
		for (long i = 0; i < scene.repos; i++) {
			judge(histories[i], readings.reads[i].read,
			    readings.reads[i].n);
			gaps += histories[i]->gaps;
		}
		report(&scene, &readings, &pushes, &faults, gaps);
	}
	for (long i = 0; i < scene.repos; i++)
		history_free(histories[i]);
	free(histories);
	if (readings.reads != NULL)
		readings_free(&scene, &readings);
	free(pushes.push);
	free(faults.window);
	return err;
}

/* SIGINT, SIGTERM: it ends, and says what it saw. */
static void
end_early(int number)
{
	(void)number;
	scene.over = true;
}

int
main(int argc, char **argv)
{
	enum err err = take_options(argc, argv);

	signal(SIGINT, end_early);
	signal(SIGTERM, end_early);
	if (err == ERR_OK)
		err = scene_open(&scene);
	if (err == ERR_OK)
		err = check();
	scene_close(&scene);
	if (err != ERR_OK)
		fprintf(stderr, "stale: %s\n", err_text());
	return err_exit(err);
}

/* writers.c: who pushes, through the front and past it */
/* SPDX-License-Identifier: ISC */
#include "tests/stale/writers.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stale/sight.h"

const char *const way_names[] = { "through the front", "past it" };
const char *const change_names[] = { "forward", "back", "create", "delete",
	"many refs", "HEAD" };

struct writer {
	struct scene *scene;
	pthread_t thread;
	unsigned repo;
	bool first;
	uint64_t seed;
	int now[REFS];	/* of those that it owns, as far as it knows */
	unsigned fresh; /* the next commit that nobody pushed */
	struct pushes pushes;
};

struct writers {
	unsigned n;
	struct writer *writer;
};

enum err
path_refs(const struct scene *scene, const char *path, int *values)
{
	const char *list[] = { "git", "-C", path, "for-each-ref",
		"--format=%(objectname) %(refname)", NULL };
	const char *head[] = { "git", "-C", path, "symbolic-ref", "HEAD",
		NULL };
	struct buf text = { 0 };
	enum err err = run(list, NULL, &text);

	buf_puts(&text, "");
	if (err == ERR_OK)
		err = sight_lines(scene, text.data, values);
	buf_reset(&text);
	if (err == ERR_OK)
		err = run(head, NULL, &text);
	if (err == ERR_OK) {
		text.data[strcspn(text.data, "\n")] = '\0';
		values[REF_HEAD] = scene_ref(text.data);
	}
	buf_free(&text);
	return err;
}

enum err
disk_refs(const struct scene *scene, unsigned repo, int *values)
{
	char *path = mem_fmt("%s/r%u.git", scene->root, repo);
	enum err err = path_refs(scene, path, values);

	free(path);
	return err;
}

static void
move(struct writer *writer, struct push *push, unsigned ref, int value)
{
	if (push->n < MANY && writer->now[ref] != value)
		push->moves[push->n++] = (struct move){ ref, writer->now[ref],
			value };
}

/* Only where they are may anybody push past the front. */
static bool
has_hooks(const struct writer *writer)
{
	return writer->repo < (unsigned)writer->scene->hooked;
}

/* A commit that no ref had before, as long as there are any. */
static int
fresh(struct writer *writer)
{
	unsigned step = (unsigned)writer->scene->writers;

	if (writer->fresh + step < writer->scene->n_oids)
		writer->fresh += step;
	return (int)writer->fresh;
}

/* An older commit than that, mostly one that its ref has been at. */
static int
older(struct writer *writer, int value)
{
	unsigned step = (unsigned)writer->scene->writers;
	unsigned back = step * (1 + draw(&writer->seed, 2));

	return value > (int)back ? value - (int)back : 0;
}

static void
plan_forward(struct writer *writer, struct push *push, unsigned ref)
{
	push->change = FORWARD;
	move(writer, push, ref, fresh(writer));
}

static void
plan_back(struct writer *writer, struct push *push, unsigned ref)
{
	push->change = BACK;
	move(writer, push, ref, older(writer, writer->now[ref]));
}

static void
plan_many(struct writer *writer, struct push *push)
{
	push->change = MANY_REFS;
	for (unsigned i = 0; i < MANY; i++)
		move(writer, push, REF_MANY + i,
		    (int)draw(&writer->seed, writer->fresh + 1));
}

/* Deletes all of some refs that there are. */
static void
plan_delete(struct writer *writer, struct push *push, unsigned first,
    unsigned n)
{
	push->change = DELETE;
	for (unsigned i = first; i < first + n; i++)
		move(writer, push, i, ABSENT);
}

static void
plan_first(struct writer *writer, struct push *push)
{
	unsigned dice = draw(&writer->seed, 20);

	if (strcmp(writer->scene->changes, "back") == 0) {
		if (writer->now[REF_MAIN] > 0 && dice % 2 == 0)
			plan_back(writer, push, REF_MAIN);
		else
			plan_forward(writer, push, REF_MAIN);
	} else if (dice < 8) {
		plan_forward(writer, push, REF_MAIN);
	} else if (dice < 13) {
		plan_back(writer, push, REF_MAIN);
	} else if (dice < 16) {
		plan_many(writer, push);
	} else if (dice < 18) {
		plan_delete(writer, push, REF_MANY, MANY);
	} else if (has_hooks(writer)) {
		push->change = HEAD;
		push->way = WAY_PAST;
		move(writer, push, REF_HEAD,
		    writer->now[REF_HEAD] == REF_MAIN ? REF_NEXT : REF_MAIN);
	}
}

static void
plan_other(struct writer *writer, struct push *push)
{
	unsigned topic = REF_TOPIC + draw(&writer->seed, TOPICS);

	switch (draw(&writer->seed, 4)) {
	case 0:
		plan_forward(writer, push, REF_NEXT);
		break;
	case 1:
		plan_back(writer, push, REF_NEXT);
		break;
	default:
		if (writer->now[topic] != ABSENT) {
			plan_delete(writer, push, topic, 1);
			break;
		}
		push->change = CREATE;
		move(writer, push, topic, older(writer, writer->now[REF_NEXT]));
	}
}

/*
 * Where all is slow, so is a writer: so a replica's part in reads tells of the
 * router, and not of the machine.
 */
static void
rest(struct writer *writer, int64_t push_ns)
{
	scene_pause(writer->scene, &writer->seed,
	    writer->scene->push_pause_ms +
		(long)(push_ns / 1000000) * writer->scene->slowness);
}

/* What to do next; nothing where push->n is 0. */
static void
plan(struct writer *writer, struct push *push)
{
	*push = (struct push){ .repo = writer->repo };
	if (has_hooks(writer) && draw(&writer->seed, 2) == 0)
		push->way = WAY_PAST;
	if (writer->first)
		plan_first(writer, push);
	else
		plan_other(writer, push);
	if (push->n == 0)
		plan_forward(writer, push, writer->first ? REF_MAIN : REF_NEXT);
}

static enum err
push_refs(const struct scene *scene, const struct push *push)
{
	const char *argv[6 + MANY + 1] = { "git", "-C", scene->source, "push",
		"-q" };
	char specs[MANY][128];
	char *url = push->way == WAY_FRONT
	    ? mem_fmt("%s/r%u.git", scene->front, push->repo)
	    : mem_fmt("%s/r%u.git", scene->root, push->repo);
	enum err err;

	argv[5] = url;
	for (unsigned i = 0; i < push->n; i++) {
		int value = push->moves[i].value;

		snprintf(specs[i], sizeof(specs[i]), "%s%s:%s",
		    value == ABSENT ? "" : "+",
		    value == ABSENT ? "" : scene->oids[value],
		    scene_ref_name(push->moves[i].ref));
		argv[6 + i] = specs[i];
	}
	err = run(argv, NULL, NULL);
	free(url);
	return err;
}

static enum err
run_hook(const char *path, const char *name, const char *const *env)
{
	char *program = mem_fmt("%s/hooks/%s", path, name);
	const char *argv[] = { program, NULL };
	enum err err = run(argv, env, NULL);

	free(program);
	return err;
}

/* As a Git host's web interface does, by the same hooks. */
static enum err
change_head(const struct scene *scene, struct push *push)
{
	char *path = mem_fmt("%s/r%u.git", scene->root, push->repo);
	char *dir = mem_fmt("GIT_DIR=%s", path);
	const char *env[] = { dir, NULL };
	const char *argv[] = { "git", "symbolic-ref", "HEAD",
		scene_ref_name((unsigned)push->moves[0].value), NULL };
	enum err err = run_hook(path, "pre-receive", env);

	if (err != ERR_OK)
		goto out;
	push->start_ns = monotonic_ns();
	if ((err = run(argv, env, NULL)) == ERR_OK) {
		push->seen_ns = monotonic_ns();
		err = run_hook(path, "post-receive", env);
	}
out:
	free(dir);
	free(path);
	return err;
}

static void
carry_out(struct writer *writer, struct push *push)
{
	struct scene *scene = writer->scene;
	enum err err;

	push->start_ns = monotonic_ns();
	err = push->change == HEAD ? change_head(scene, push)
				   : push_refs(scene, push);
	push->end_ns = monotonic_ns();
	push->returned = err == ERR_OK;
	if (err == ERR_OK) {
		for (unsigned i = 0; i < push->n; i++)
			writer->now[push->moves[i].ref] = push->moves[i].value;
		return;
	}
	fprintf(stderr, "%" PRId64 " r%u: %s, %s: %s\n", push->end_ns,
	    push->repo, change_names[push->change], way_names[push->way],
	    err_text());
	if (disk_refs(scene, writer->repo, writer->now) != ERR_OK)
		fprintf(stderr, "r%u: %s\n", writer->repo, err_text());
}

static void *
writer_main(void *arg)
{
	struct writer *writer = arg;
	struct scene *scene = writer->scene;
	struct pushes *done = &writer->pushes;
	int64_t took_ns = 0;

	while (!scene_over(scene)) {
		struct push push;

		rest(writer, took_ns);
		plan(writer, &push);
		if (push.n == 0)
			continue;
		carry_out(writer, &push);
		took_ns = push.end_ns - push.start_ns;
		done->push = mem_more(done->push, done->n, sizeof(push));
		done->push[done->n++] = push;
		scene->n_pushes += push.returned;
	}
	return NULL;
}

static unsigned
newest(const int *values)
{
	int value = 0;

	for (unsigned i = REF_MAIN; i < REFS; i++)
		if (values[i] > value)
			value = values[i];
	return (unsigned)value;
}

struct writers *
writers_start(struct scene *scene, int (*now)[REFS])
{
	struct writers *writers = mem_zalloc(sizeof(*writers));
	unsigned each = (unsigned)scene->writers;

	writers->n = (unsigned)scene->repos * each;
	writers->writer = mem_array(writers->n, sizeof(*writers->writer));
	for (unsigned i = 0; i < writers->n; i++) {
		struct writer *writer = &writers->writer[i];

		*writer = (struct writer){ .scene = scene,
			.repo = i / each,
			.first = i % each == 0,
			.fresh = i % each,
			.seed = 88172645463325252U + i };
		memcpy(writer->now, now[writer->repo], sizeof(writer->now));
		while (writer->fresh <= newest(writer->now))
			writer->fresh += each;
		if (pthread_create(&writer->thread, NULL, writer_main,
			writer) != 0) {
			fputs("no thread for a writer\n", stderr);
			exit(1);
		}
	}
	return writers;
}

void
writers_end(struct writers *writers, struct pushes *out)
{
	*out = (struct pushes){ 0 };
	for (unsigned i = 0; i < writers->n; i++) {
		struct writer *writer = &writers->writer[i];

		pthread_join(writer->thread, NULL);
		for (size_t j = 0; j < writer->pushes.n; j++) {
			out->push = mem_more(out->push, out->n,
			    sizeof(*out->push));
			out->push[out->n++] = writer->pushes.push[j];
		}
		free(writer->pushes.push);
	}
	free(writers->writer);
	free(writers);
}

/* readers.c: who reads, through the front and at the primary */
/* SPDX-License-Identifier: ISC */
#include "tests/stale/readers.h"

#include <ftw.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sync/advert.h"
#include "sync/http.h"
#include "tests/stale/sight.h"
#include "tests/stale/writers.h"

/* A client's patience, in milliseconds; a sick replica is found out sooner. */
#define STALL_MS 20000
#define MAX_ADVERT (1U << 20)
/* Who is refused does not come again at once: errors shall count reads. */
#define FAILED_PAUSE_MS 500

const char *const reader_names[] = { "refs, v0", "refs, v2", "clone, fetch",
	"at primary" };

struct reader {
	struct scene *scene;
	pthread_t thread;
	enum reader_class class;
	unsigned number;
	uint64_t seed;
	struct http *http;
	unsigned turn;	     /* of clones */
	unsigned cloned;     /* the repository of its clone */
	struct reads *reads; /* of each repository */
	size_t n_failures;
	struct failure *failure;
};

struct readers {
	struct scene *scene;
	unsigned n;
	struct reader *reader;
};

static enum err
ask(struct reader *reader, const char *url, const char *const *headers,
    const struct buf *body, struct buf *answer)
{
	struct http_request request = { .method = body ? "POST" : "GET",
		.url = url,
		.headers = headers,
		.body = body ? body->data : NULL,
		.body_len = body ? body->len : 0,
		.stall_ms = STALL_MS,
		.max_body = MAX_ADVERT };
	struct http_reply reply = { 0 };
	enum err err = http_run(reader->http, &request, &reply);

	if (err != ERR_OK)
		return err;
	buf_reset(answer);
	buf_add(answer, reply.body.data, reply.body.len);
	buf_free(&reply.body);
	return reply.status == 200
	    ? ERR_OK
	    : err_set(ERR_PEER, "%s: HTTP %u", url, reply.status);
}

/* The refs in two requests, as git asks for them (gitprotocol-v2(5)). */
static enum err
read_v2(struct reader *reader, const char *repository, struct buf *answer)
{
	static const char *const get[] = { "Git-Protocol: version=2", NULL };
	static const char *const post[] = { "Git-Protocol: version=2",
		"Content-Type: application/x-git-upload-pack-request", NULL };
	const struct advert_caps caps = { .v2 = true, .object_format = "sha1" };
	char *info = mem_fmt("%s/info/refs?service=git-upload-pack",
	    repository);
	char *ls_refs = mem_fmt("%s/git-upload-pack", repository);
	struct buf body = { 0 };
	enum err err = ask(reader, info, get, NULL, answer);

	if (err == ERR_OK && strstr(answer->data, "version 2") == NULL)
		err = err_set(ERR_PEER, "%s: not protocol v2", info);
	advert_ls_refs_body(&caps, &body);
	if (err == ERR_OK)
		err = ask(reader, ls_refs, post, &body, answer);
	buf_free(&body);
	free(ls_refs);
	free(info);
	return err;
}

static enum err
read_v0(struct reader *reader, const char *repository, struct buf *answer)
{
	char *info = mem_fmt("%s/info/refs?service=git-upload-pack",
	    repository);
	enum err err = ask(reader, info, NULL, NULL, answer);

	free(info);
	return err;
}

static enum err
read_refs(struct reader *reader, unsigned repo, int *values)
{
	const struct scene *scene = reader->scene;
	char *repository = mem_fmt("%s/r%u.git",
	    reader->class == READ_PRIMARY ? scene->primary : scene->front,
	    repo);
	struct buf answer = { 0 };
	enum err err = reader->class == READ_V0
	    ? read_v0(reader, repository, &answer)
	    : read_v2(reader, repository, &answer);

	if (err == ERR_OK)
		err = sight_advert(scene, answer.data, answer.len, values);
	buf_free(&answer);
	free(repository);
	return err;
}

static int
remove_one(const char *path, const struct stat *status, int type,
    struct FTW *ftw)
{
	(void)status;
	(void)type;
	(void)ftw;
	return remove(path);
}

static char *
clone_dir(const struct reader *reader)
{
	return mem_fmt("%s/clone%u", reader->scene->scratch, reader->number);
}

static void
forget_clone(const struct reader *reader)
{
	char *dir = clone_dir(reader);

	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(dir);
}

/* A clone, and the next time a fetch into it, by the other protocol. */
static enum err
read_clone(struct reader *reader, unsigned *repo, int *values)
{
	unsigned turn = reader->turn++;
	char *dir = clone_dir(reader);
	const char *version = turn / 2 % 2 == turn % 2 ? "protocol.version=2"
						       : "protocol.version=0";
	char *url = mem_fmt("%s/r%u.git", reader->scene->front,
	    turn % 2 ? reader->cloned : *repo);
	const char *clone[] = { "git", "-c", version, "clone", "-q", "--mirror",
		url, dir, NULL };
	const char *fetch[] = { "git", "-C", dir, "-c", version, "fetch", "-q",
		"--prune", "--force", url, "+refs/*:refs/*", NULL };
	enum err err = run(turn % 2 ? fetch : clone, NULL, NULL);

	if (turn % 2)
		*repo = reader->cloned;
	reader->cloned = *repo;
	if (err == ERR_OK)
		err = path_refs(reader->scene, dir, values);
	/* git fetch leaves HEAD as it is */
	values[REF_HEAD] = turn % 2 ? UNSEEN : values[REF_HEAD];
	if (turn % 2 || err != ERR_OK) {
		forget_clone(reader);
		reader->turn += reader->turn % 2;
	}
	free(url);
	free(dir);
	return err;
}

static void
note_read(struct reader *reader, unsigned repo, const struct read *read)
{
	struct reads *reads = &reader->reads[repo];

	reads->read = mem_more(reads->read, reads->n, sizeof(*read));
	reads->read[reads->n++] = *read;
}

static void
note_failure(struct reader *reader, unsigned repo, const struct read *read)
{
	struct failure failure = { .class = reader->class,
		.start_ns = read->start_ns,
		.end_ns = read->end_ns,
		.not_our_ref = strstr(err_text(), "not our ref") != NULL };

	fprintf(stderr, "%" PRId64 " r%u: %s: %s\n", read->end_ns, repo,
	    reader_names[reader->class], err_text());
	reader->failure = mem_more(reader->failure, reader->n_failures,
	    sizeof(failure));
	reader->failure[reader->n_failures++] = failure;
}

/* How long to wait for the next one, in milliseconds. */
static long
read_once(struct reader *reader)
{
	unsigned repo = draw(&reader->seed, (unsigned)reader->scene->repos);
	struct read read = { .start_ns = monotonic_ns(),
		.values = mem_array(REFS, sizeof(int)),
		.class = reader->class,
		.of_primary = reader->class == READ_PRIMARY };
	enum err err = reader->class == READ_CLONE
	    ? read_clone(reader, &repo, read.values)
	    : read_refs(reader, repo, read.values);

	read.end_ns = monotonic_ns();
	if (err == ERR_OK) {
		note_read(reader, repo, &read);
		reader->scene->n_reads++;
		return reader->scene->pause_ms;
	}
	note_failure(reader, repo, &read);
	free(read.values);
	return FAILED_PAUSE_MS;
}

static void *
reader_main(void *arg)
{
	struct reader *reader = arg;
	struct scene *scene = reader->scene;

	reader->http = http_new();
	while (!scene_over(scene))
		scene_pause(scene, &reader->seed, read_once(reader));
	forget_clone(reader);
	http_free(reader->http);
	return NULL;
}

struct readers *
readers_start(struct scene *scene)
{
	const long classes[READ_CLASSES] = { scene->v0, scene->v2,
		scene->clones, scene->direct };
	struct readers *readers = mem_zalloc(sizeof(*readers));

	readers->scene = scene;
	for (unsigned class = 0; class < READ_CLASSES; class ++)
		readers->n += (unsigned)classes[class];
	readers->reader = mem_array(readers->n, sizeof(*readers->reader));
	for (unsigned i = 0, class = 0, left = 0; i < readers->n; i++, left--) {
		struct reader *reader = &readers->reader[i];

		while (left == 0)
			left = (unsigned)classes[class ++];
		*reader = (struct reader){ .scene = scene,
			.class = class - 1,
			.number = i,
			.seed = 2463534242U + i,
			.reads = mem_array((size_t)scene->repos,
			    sizeof(*reader->reads)) };
		if (pthread_create(&reader->thread, NULL, reader_main,
			reader) != 0) {
			fputs("no thread for a reader\n", stderr);
			exit(1);
		}
	}
	return readers;
}

static void
move_reads(struct reads *from, struct reads *to)
{
	for (size_t i = 0; i < from->n; i++) {
		to->read = mem_more(to->read, to->n, sizeof(*to->read));
		to->read[to->n++] = from->read[i];
	}
	free(from->read);
}

/* Moves what one reader has into all. */
static void
gather(struct reader *reader, struct readings *all)
{
	for (long repo = 0; repo < reader->scene->repos; repo++)
		move_reads(&reader->reads[repo], &all->reads[repo]);
	for (size_t i = 0; i < reader->n_failures; i++) {
		all->failure = mem_more(all->failure, all->n_failures,
		    sizeof(*all->failure));
		all->failure[all->n_failures++] = reader->failure[i];
	}
	free(reader->failure);
	free(reader->reads);
}

void
readers_end(struct readers *readers, struct readings *out)
{
	*out =
	    (struct readings){ .reads = mem_array((size_t)readers->scene->repos,
				   sizeof(*out->reads)) };
	for (unsigned i = 0; i < readers->n; i++) {
		pthread_join(readers->reader[i].thread, NULL);
		gather(&readers->reader[i], out);
	}
	free(readers->reader);
	free(readers);
}

void
readings_free(const struct scene *scene, struct readings *readings)
{
	for (long repo = 0; repo < scene->repos; repo++) {
		struct reads *reads = &readings->reads[repo];

		for (size_t i = 0; i < reads->n; i++)
			free(reads->read[i].values);
		free(reads->read);
	}
	free(readings->reads);
	free(readings->failure);
}

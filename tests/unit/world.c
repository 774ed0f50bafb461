/* world.c: a small configuration and an empty table for a test */
/* SPDX-License-Identifier: ISC */
#include "tests/unit/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "conf/mem.h"
#include "sync/row.h"
#include "tests/unit/tap.h"

enum { MAIN, ONE, TWO, OTHER, OLD, NEW };

static void
make_upstreams(struct world *world)
{
	static char *const names[] = { "main", "one", "two", "other", "old",
		"new" };
	static char *const urls[] = { "http://127.0.0.1:1",
		"http://127.0.0.1:2", "http://127.0.0.1:3",
		"http://127.0.0.1:4", "http://127.0.0.1:5",
		"http://127.0.0.1:6" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		world->upstreams[i] = (struct upstream){ .name = names[i],
			.url = urls[i],
			.endpoint = urls[i],
			.weight = 1 };
	world->main = &world->upstreams[MAIN];
	world->one = &world->upstreams[ONE];
	world->two = &world->upstreams[TWO];
}

static void
make_routes(struct world *world)
{
	struct upstream *upstreams = world->upstreams;

	world->code = &world->routes[0];
	world->more = &world->routes[1];
	world->images = &world->routes[2];
	*world->code = (struct route){ .name = "code",
		.kind = ROUTE_GIT,
		.prefix = "/git/",
		.primary = world->main,
		.n_replicas = 2,
		.replicas = { world->one, world->two },
		.replica_share = 100,
		.fence_ms = 900000,
		.push_max_ms = 21600000,
		.watch_ms = 5000,
		.poll_ms = 10000,
		.poll_rate = 20 };
	*world->more = (struct route){ .name = "more",
		.kind = ROUTE_GIT,
		.prefix = "/more/",
		.primary = &upstreams[OTHER],
		.n_replicas = 1,
		.replicas = { world->two },
		.replica_share = 100,
		.fence_ms = 900000,
		.push_max_ms = 21600000,
		.watch_ms = 5000,
		.poll_ms = 10000,
		.poll_rate = 20 };
	*world->images = (struct route){ .name = "images",
		.kind = ROUTE_REGISTRY,
		.prefix = "/v2/",
		.primary = &upstreams[OLD],
		.to = &upstreams[NEW],
		.import_s = 3600,
		.provisional_s = 604800 };
}

void
world_open(struct world *world, const char *directory)
{
	char *path = mem_fmt("%s/%s", tap_dir(), directory);

	memset(world, 0, sizeof(*world));
	make_upstreams(world);
	make_routes(world);
	world->conf.upstreams = world->upstreams;
	world->conf.n_upstreams = sizeof(world->upstreams) /
	    sizeof(world->upstreams[0]);
	world->conf.routes = world->routes;
	world->conf.n_routes = sizeof(world->routes) / sizeof(world->routes[0]);
	world->conf.sync.valid_ms = 180000;
	world->conf.sync.stall_ms = 5000;
	if (mkdir(path, 0700) == -1 ||
	    table_open(path, true, &world->table) != ERR_OK) {
		printf("Bail out! no table in %s: %s\n", path, err_text());
		exit(1);
	}
	free(path);
}

void
world_close(struct world *world)
{
	table_close(world->table);
	buf_free(&world->text);
}

/* What the transactions below are about. */
struct subject {
	const struct route *route;
	const struct upstream *replica;
	const char *names;
	struct buf *out;
};

static enum err
learn(struct table_txn *txn, void *arg)
{
	const struct subject *subject = arg;
	char *names = mem_dup(subject->names), *save = NULL;
	enum err err = ERR_OK;

	for (char *name = strtok_r(names, " ", &save);
	     name != NULL && err == ERR_OK; name = strtok_r(NULL, " ", &save))
		err = row_learn(txn, subject->route, name, NULL);
	free(names);
	return err;
}

void
world_learn(struct world *world, const struct route *route, const char *names)
{
	struct subject subject = { .route = route, .names = names };

	tap_must(table_write(world->table, learn, &subject));
}

static enum err
mark(struct table_txn *txn, void *arg)
{
	const struct subject *subject = arg;
	struct epochs epochs;
	struct row row;
	bool current;
	enum err err;

	err = row_get(txn, subject->route, subject->names, &row);
	if (err == ERR_OK)
		err = epochs_get(txn, subject->route, subject->replica,
		    &epochs);
	return err == ERR_OK
	    ? row_mark(txn, subject->route, subject->names, subject->replica,
		  row.generation, &epochs, &current)
	    : err;
}

void
world_mark(struct world *world, const struct route *route,
    const struct upstream *replica, const char *name)
{
	struct subject subject = { .route = route,
		.replica = replica,
		.names = name };

	tap_must(table_write(world->table, mark, &subject));
}

static enum err
outdate(struct table_txn *txn, void *arg)
{
	const struct subject *subject = arg;
	uint64_t generation;

	return row_raise(txn, subject->route, subject->names, NULL,
	    &generation);
}

void
world_outdate(struct world *world, const struct route *route,
    const struct upstream *replica, const char *name)
{
	struct subject subject = { .route = route, .names = name };

	world_mark(world, route, replica, name);
	tap_must(table_write(world->table, outdate, &subject));
}

static enum err
list_lag(struct table_txn *txn, void *arg)
{
	const struct subject *subject = arg;
	struct lag lag = { .name = "" };
	enum err err;

	buf_reset(subject->out);
	buf_puts(subject->out, "");
	while ((err = lag_next(txn, subject->route, subject->replica, lag.name,
		    &lag)) == ERR_OK)
		buf_fmt(subject->out, "%s%s", subject->out->len ? " " : "",
		    lag.name);
	return err == ERR_ABSENT ? ERR_OK : err;
}

const char *
world_lag(struct world *world, const struct route *route,
    const struct upstream *replica)
{
	struct subject subject = { .route = route,
		.replica = replica,
		.out = &world->text };

	tap_must(table_read(world->table, list_lag, &subject));
	return world->text.data;
}

static enum err
hold(struct table_txn *txn, void *arg)
{
	struct world *world = arg;

	(void)txn;
	pthread_mutex_lock(&world->holder.lock);
	world->holder.holds = true;
	pthread_cond_broadcast(&world->holder.news);
	while (!world->holder.enough)
		pthread_cond_wait(&world->holder.news, &world->holder.lock);
	pthread_mutex_unlock(&world->holder.lock);
	return ERR_OK;
}

static void *
hold_table(void *arg)
{
	struct world *world = arg;

	tap_must(table_write(world->table, hold, world));
	return NULL;
}

void
world_hold(struct world *world)
{
	pthread_mutex_init(&world->holder.lock, NULL);
	pthread_cond_init(&world->holder.news, NULL);
	world->holder.holds = world->holder.enough = false;
	if (pthread_create(&world->holder.thread, NULL, hold_table, world) != 0)
		tap_must(err_set(ERR_SYS, "no thread"));
	pthread_mutex_lock(&world->holder.lock);
	while (!world->holder.holds)
		pthread_cond_wait(&world->holder.news, &world->holder.lock);
	pthread_mutex_unlock(&world->holder.lock);
}

void
world_release(struct world *world)
{
	pthread_mutex_lock(&world->holder.lock);
	world->holder.enough = true;
	pthread_cond_broadcast(&world->holder.news);
	pthread_mutex_unlock(&world->holder.lock);
	pthread_join(world->holder.thread, NULL);
	pthread_cond_destroy(&world->holder.news);
	pthread_mutex_destroy(&world->holder.lock);
}

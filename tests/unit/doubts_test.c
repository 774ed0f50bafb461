/* doubts_test.c: how a route comes out of doubt: its epoch first */
/* SPDX-License-Identifier: ISC */
#include "sync/doubts.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "conf/clock.h"
#include "sync/peer.h"
#include "tests/unit/tap.h"
#include "tests/unit/world.h"

struct scene {
	struct world world;
	char *run_dir;
	struct pulse *router, *daemon;
};

static void
scene_begin(struct scene *scene, const char *name)
{
	world_open(&scene->world, name);
	scene->run_dir = mem_fmt("%s/%s.run", tap_dir(), name);
	mkdir(scene->run_dir, 0700);
	tap_must(pulse_open(scene->run_dir, true, &scene->router));
	tap_must(pulse_open(scene->run_dir, true, &scene->daemon));
	tap_must(pulse_claim(scene->router));
}

static void
scene_end(struct scene *scene)
{
	pulse_close(scene->router);
	pulse_close(scene->daemon);
	free(scene->run_dir);
	world_close(&scene->world);
}

/* Its doubt stays, as when it is killed. */
static void
router_dies(struct scene *scene)
{
	pulse_close(scene->router);
	scene->router = NULL;
}

struct look {
	const struct route *route;
	uint64_t epoch;
};

static enum err
look_body(struct table_txn *txn, void *arg)
{
	struct look *look = arg;
	struct epochs epochs;
	enum err err = epochs_get(txn, look->route, NULL, &epochs);

	look->epoch = epochs.route;
	return err;
}

static long long
epoch_of(struct scene *scene, const struct route *route)
{
	struct look look = { .route = route };

	tap_must(table_read(scene->world.table, look_body, &look));
	return (long long)look.epoch;
}

static void
test_renew(void)
{
	struct scene scene;
	struct world *world = &scene.world;

	scene_begin(&scene, "renew");
	(void)!pulse_doubt_raise(scene.router, world->code);
	/* no Git route: it has no epoch */
	(void)!pulse_doubt_raise(scene.router, world->images);
	tap_must(doubts_renew(world->table, scene.router,
	    pulse_slot(scene.router), &world->conf));
	tap_int(epoch_of(&scene, world->code), 1,
	    "marks of before count no more");
	tap_int(epoch_of(&scene, world->more), 0, "another route's do");
	tap_int(epoch_of(&scene, world->images), 0, "nor is there a third");
	tap_ok(pulse_doubt(scene.daemon, world->code),
	    "it is still in doubt: that is its router's to end");
	scene_end(&scene);
}

/* What the daemon makes of doubt, by who raised it and when it is looked at. */
static const struct {
	const char *name;
	bool dies;
	int at_percent; /* of fence_s */
	bool ends;
} expiries[] = {
	{ "alive", false, 1000, false },
	{ "dead-early", true, 50, false },
	{ "dead-over", true, 101, true },
};

static void
test_expire(size_t which)
{
	const char *name = expiries[which].name;
	struct scene scene;
	struct world *world = &scene.world;
	int64_t at_ms = clock_boot_ms();

	scene_begin(&scene, name);
	at_ms += world->code->fence_ms * expiries[which].at_percent / 100;
	(void)!pulse_doubt_raise(scene.router, world->code);
	if (expiries[which].dies)
		router_dies(&scene);
	tap_must(
	    doubts_expire(world->table, scene.daemon, &world->conf, at_ms));
	tap_int(pulse_doubt(scene.daemon, world->code), !expiries[which].ends,
	    "%s: doubt", name);
	tap_int(epoch_of(&scene, world->code), expiries[which].ends,
	    "%s: marks of before count no more", name);
	tap_int(epoch_of(&scene, world->more), 0, "%s: another route's do",
	    name);
	scene_end(&scene);
}

/* The longest fence of all that were raised holds up the end of each. */
static void
test_longest(void)
{
	struct scene scene;
	struct world *world = &scene.world;
	int64_t begun_ms = clock_boot_ms();

	scene_begin(&scene, "longest");
	world->more->fence_ms = 2 * world->code->fence_ms;
	(void)!pulse_doubt_raise(scene.router, world->more);
	(void)!pulse_doubt_raise(scene.router, world->code);
	router_dies(&scene);
	tap_must(doubts_expire(world->table, scene.daemon, &world->conf,
	    begun_ms + world->code->fence_ms * 3 / 2));
	tap_ok(pulse_doubt(scene.daemon, world->more), "the longer one stays");
	tap_must(doubts_expire(world->table, scene.daemon, &world->conf,
	    clock_boot_ms() + world->more->fence_ms));
	tap_ok(!pulse_doubt(scene.daemon, world->more) &&
		!pulse_doubt(scene.daemon, world->code),
	    "both end with it");
	tap_int(epoch_of(&scene, world->code) + epoch_of(&scene, world->more),
	    2, "both routes begin anew");
	scene_end(&scene);
}

int
main(void)
{
	test_renew();
	for (size_t i = 0; i < sizeof(expiries) / sizeof(expiries[0]); i++)
		test_expire(i);
	test_longest();
	return tap_done();
}

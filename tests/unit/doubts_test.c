/* doubts_test.c: which routes are in doubt, and what ends that */
/* SPDX-License-Identifier: ISC */
#include "fcgi/doubts.h"

#include <stdio.h>
#include <stdlib.h>

#include "conf/clock.h"
#include "sync/peer.h"
#include "tests/unit/tap.h"
#include "tests/unit/tool.h"

struct scene {
	struct world world;
	struct tool tool;
	struct snapshots conf;
	struct pulse *pulse;
};

static void
scene_begin(struct scene *scene, const char *name)
{
	struct conf *conf = NULL;

	world_open(&scene->world, name);
	tool_begin(&scene->tool, &scene->world, name, "", "");
	if (conf_read(scene->tool.conf, &conf) != ERR_OK ||
	    pulse_open(scene->tool.dir, true, &scene->pulse) != ERR_OK) {
		printf("Bail out! %s\n", err_text());
		exit(1);
	}
	snapshots_init(&scene->conf, conf);
}

static void
scene_end(struct scene *scene)
{
	snapshots_end(&scene->conf);
	pulse_close(scene->pulse);
	tool_end(&scene->tool);
	world_close(&scene->world);
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

	return table_read(scene->world.table, look_body, &look) == ERR_OK
	    ? (long long)look.epoch
	    : -1;
}

static void
test_settle(void)
{
	struct scene scene;
	struct doubts doubts;
	const struct route *code, *more;

	scene_begin(&scene, "settle");
	code = scene.world.code;
	more = scene.world.more;
	doubts_note(&doubts, scene.pulse, &scene.conf);
	tap_int(doubts.n, 0, "no doubt at first");
	doubts_end(&doubts);
	(void)pulse_doubt_raise(scene.pulse, code);
	/* no Git route, so that its flag is nobody's */
	(void)pulse_doubt_raise(scene.pulse, scene.world.images);
	doubts_note(&doubts, scene.pulse, &scene.conf);
	tap_int(doubts.n, 1, "one route is in doubt");
	tap_int(doubts_settle(&doubts, scene.world.table, scene.pulse), ERR_OK,
	    "it is settled");
	tap_int(pulse_doubt(scene.pulse, code), 0, "its flag is down");
	tap_int(epoch_of(&scene, code), 1, "marks of before count no more");
	tap_int(epoch_of(&scene, more), 0, "another route's do");
	doubts_end(&doubts);
	scene_end(&scene);
}

/* One that is raised between note and settle stays. */
static void
test_raised_again(void)
{
	struct scene scene;
	struct doubts doubts;

	scene_begin(&scene, "again");
	(void)pulse_doubt_raise(scene.pulse, scene.world.code);
	(void)pulse_doubt_raise(scene.pulse, scene.world.more);
	doubts_note(&doubts, scene.pulse, &scene.conf);
	tap_int(doubts.n, 2, "two routes are in doubt");
	(void)pulse_doubt_raise(scene.pulse, scene.world.code);
	tap_int(doubts_settle(&doubts, scene.world.table, scene.pulse), ERR_OK,
	    "they are settled");
	tap_ok(pulse_doubt(scene.pulse, scene.world.code) != 0,
	    "but not the one that was raised meanwhile");
	tap_int(pulse_doubt(scene.pulse, scene.world.more), 0,
	    "the other one is");
	doubts_end(&doubts);
	scene_end(&scene);
}

/* A reload while doubt is noted: the routes are those of before. */
static void
test_reload(void)
{
	struct scene scene;
	struct doubts doubts;
	struct conf *empty = mem_zalloc(sizeof(*empty));

	scene_begin(&scene, "reload");
	(void)pulse_doubt_raise(scene.pulse, scene.world.code);
	doubts_note(&doubts, scene.pulse, &scene.conf);
	snapshots_replace(&scene.conf, empty);
	tap_int(doubts_settle(&doubts, scene.world.table, scene.pulse), ERR_OK,
	    "settled after a reload");
	tap_int(pulse_doubt(scene.pulse, scene.world.code), 0,
	    "as the route that it was");
	doubts_end(&doubts);
	doubts_end(&doubts);
	scene_end(&scene);
}

static void
test_no_pulse(void)
{
	struct scene scene;
	struct doubts doubts;

	scene_begin(&scene, "none");
	doubts_note(&doubts, NULL, &scene.conf);
	tap_ok(doubts.n == 0 && doubts.snapshot == NULL,
	    "without a pulse there is none");
	doubts_end(&doubts);
	scene_end(&scene);
}

static const struct {
	const char *name;
	bool left, all; /* a flag was left behind; all are raised */
	bool waits;
	bool code, more; /* then in doubt */
} adoptions[] = {
	{ "adopt-clean", false, false, false, false, false },
	{ "adopt-left", true, false, true, true, false },
	{ "adopt-all", false, true, false, true, true },
	{ "adopt-both", true, true, true, true, true },
};

static void
test_adopt(void)
{
	for (size_t i = 0; i < sizeof(adoptions) / sizeof(adoptions[0]); i++) {
		struct scene scene;
		int64_t now_ms = clock_boot_ms(), until_ms;

		scene_begin(&scene, adoptions[i].name);
		if (adoptions[i].left)
			(void)pulse_doubt_raise(scene.pulse, scene.world.code);
		until_ms = doubts_adopt(scene.pulse, &scene.conf,
		    adoptions[i].all);
		/* the configuration's fence_s */
		tap_ok(adoptions[i].waits
			? until_ms >= now_ms + scene.world.code->fence_ms
			: until_ms == 0,
		    "%s: until when", adoptions[i].name);
		tap_int(pulse_doubt(scene.pulse, scene.world.code) != 0,
		    adoptions[i].code, "%s: code", adoptions[i].name);
		tap_int(pulse_doubt(scene.pulse, scene.world.more) != 0,
		    adoptions[i].more, "%s: more", adoptions[i].name);
		tap_int(pulse_doubt(scene.pulse, scene.world.images), 0,
		    "%s: images", adoptions[i].name);
		scene_end(&scene);
	}
}

int
main(void)
{
	test_settle();
	test_raised_again();
	test_reload();
	test_no_pulse();
	test_adopt();
	return tap_done();
}

/* scene.c: a router's decisions on a world, without its gateway */
/* SPDX-License-Identifier: ISC */
#include "tests/unit/scene.h"

#include <string.h>
#include <unistd.h>

#include "sync/place.h"
#include "sync/wake.h"
#include "tests/unit/tap.h"

#define PATIENCE_MS 20000
#define RULES "include = ({ name = \"team\"; pattern = \"^team/\"; });"

static enum err
open_pulse(void *arg, struct pulse **out)
{
	struct scene *scene = arg;
	struct pulse *pulse;

	if (scene->blind)
		return err_set(ERR_SYS, "no pulse");
	if (pulse_open(scene->tool.dir, true, &pulse) != ERR_OK)
		return ERR_SYS;
	pulse_beat(pulse);
	*out = pulse;
	return pulse_claim(pulse);
}

static enum err
open_table(void *arg, struct pulse *pulse, struct table **table)
{
	struct scene *scene = arg;

	(void)pulse;
	if (scene->locked)
		return err_set(ERR_TABLE, "locked");
	/* the world's, which the writer takes over */
	*table = scene->world.table;
	return ERR_OK;
}

static enum err
note_imports(struct table_txn *txn, void *arg)
{
	const struct import import = { .completed_s = 1 };
	const struct world *world = arg;
	enum err err = import_set(txn, world->images, world->images->primary,
	    &import);

	if (err == ERR_OK)
		err = import_set(txn, world->images, world->images->to,
		    &import);
	if (err == ERR_OK)
		err = place_set(txn, world->images, "team/kept", "old");
	return err == ERR_OK
	    ? place_set(txn, world->images, "team/lost", "gone")
	    : err;
}

void
scene_begin(struct scene *scene, const char *name, bool locked, bool blind,
    void (*prepare)(struct world *))
{
	const struct writer_options options = { .pulse = open_pulse,
		.open = open_table,
		.arg = scene,
		.conf = &scene->conf };
	struct world *world = &scene->world;
	struct stamps *stamps = NULL;
	struct conf *conf = NULL;

	memset(scene, 0, sizeof(*scene));
	scene->locked = locked;
	scene->blind = blind;
	world_open(world, name);
	if (prepare != NULL)
		prepare(world);
	world_learn(world, world->code, "p/fresh p/lags");
	world_mark(world, world->code, world->one, "p/fresh");
	tap_must(table_write(world->table, note_imports, world));
	tool_begin(&scene->tool, world, name, RULES, "");
	tap_must(conf_read(scene->tool.conf, &conf));
	tap_must(wake_bind(scene->tool.dir, WAKE_SOCKET, &scene->wakes));
	snapshots_init(&scene->conf, conf);
	looks_init(&scene->decide.looks);
	tap_must(stamps_open(scene->tool.dir, true, &stamps));
	scene->decide.stamps = stamps;
	scene->decide.conf = &scene->conf;
	tap_must(writer_start(&options, &scene->decide.writer));
	if (!locked)
		tap_ok(writer_wait_open(scene->decide.writer, PATIENCE_MS),
		    "%s: opens", name);
}

void
scene_end(struct scene *scene)
{
	tap_must(writer_stop(scene->decide.writer));
	snapshots_end(&scene->conf);
	stamps_close(scene->decide.stamps);
	close(scene->wakes);
	tool_end(&scene->tool);
	if (!scene->locked)
		scene->world.table = NULL;
	world_close(&scene->world);
}

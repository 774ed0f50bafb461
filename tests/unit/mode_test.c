/* mode_test.c: a migration that begins to serve reads its catalogues anew */
/* SPDX-License-Identifier: ISC */
#include "sync/mode.h"

#include "sync/place.h"
#include "tests/unit/tap.h"
#include "tests/unit/world.h"

static struct world world;

static enum err
import_both(struct table_txn *txn, void *arg)
{
	const struct import import = { .completed_s = 7, .started_s = 8 };
	enum err err = import_set(txn, world.images, world.images->primary,
	    &import);

	(void)arg;
	return err == ERR_OK
	    ? import_set(txn, world.images, world.images->to, &import)
	    : err;
}

static enum err
adopt(struct table_txn *txn, void *arg)
{
	(void)arg;
	return modes_adopt(txn, &world.conf);
}

static enum err
look(struct table_txn *txn, void *arg)
{
	struct import *import = arg;

	return import_get(txn, world.images, world.images->to, import);
}

int
main(void)
{
	static const struct {
		const char *claim;
		enum mode mode;
		bool forgets;
	} steps[] = {
		{ "serves from the start", MODE_SERVE, false },
		{ "is observed", MODE_OBSERVE, false },
		{ "is still", MODE_OBSERVE, false },
		{ "serves", MODE_SERVE, true },
		{ "still serves", MODE_SERVE, false },
		{ "is observed again", MODE_OBSERVE, false },
		{ "serves again", MODE_SERVE, true },
	};

	world_open(&world, "mode");
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct import import = { 0 };

		tap_must(table_write(world.table, import_both, NULL));
		world.images->mode = steps[i].mode;
		tap_must(table_write(world.table, adopt, NULL));
		tap_must(table_read(world.table, look, &import));
		tap_int(import.completed_s, steps[i].forgets ? 0 : 7,
		    "it %s: what was imported", steps[i].claim);
		tap_int(import.started_s, steps[i].forgets ? 0 : 8,
		    "it %s: what is being imported", steps[i].claim);
	}
	world_close(&world);
	return tap_done();
}

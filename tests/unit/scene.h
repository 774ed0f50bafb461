/* scene.h: a router's decisions on a world, without its gateway */
/* SPDX-License-Identifier: ISC */
#ifndef TESTS_UNIT_SCENE_H
#define TESTS_UNIT_SCENE_H

#include "fcgi/decide.h"
#include "tests/unit/tool.h"

struct scene {
	struct world world;
	struct tool tool;
	struct snapshots conf;
	struct decide decide;
	int wakes;   /* the daemon's end */
	bool locked; /* its writer cannot open the table */
	bool blind;  /* nor raise doubt */
};

/*
 * A world in a directory of that name: p/fresh, of which "one" has a mark,
 * and p/lags of the route code; team/kept and team/lost, which is on an
 * upstream that is no more, are placed.  prepare, if not NULL, changes its
 * routes first.
 */
void scene_begin(struct scene *, const char *name, bool locked, bool blind,
    void (*prepare)(struct world *));
void scene_end(struct scene *);

#endif

/* wait_test.c: the verb wait: what it says, and by which exit status */
/* SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>

#include "sync/gate.h"
#include "tests/unit/tap.h"
#include "tests/unit/tool.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/* In this order; one has it from the fourth on. */
static const struct {
	const char *words;
	int status;
	const char *says; /* on either output */
} rows[] = {
	{ "wait code p/r --timeout 0", 1,
	    "code: p/r: generation 1: 0 of the 1 replicas that were waited for "
	    "have it; not in time\n" },
	{ "wait code p/none", 1, "the repository has no row" },
	{ "wait --json --timeout 0 code p/r", 1,
	    "{\"route\":\"code\",\"repository\":\"p/r\",\"generation\":1,"
	    "\"fenced\":false,\"wanted\":1,\"have\":0}\n" },
	{ "wait code p/r.git", 0,
	    "code: p/r: generation 1: 1 of the 1 replicas that were waited for "
	    "have it\n" },
	{ "wait --replicas 2 --timeout 0 code p/r", 1, ": 1 of the 2 " },
	{ "wait --replicas 3 code p/r", 64, "write 1 to 2" },
	{ "wait --replicas all code p/r", 64, "write 1 to 2" },
	{ "wait --timeout 3601 code p/r", 64, "write 0 to 3600" },
	{ "wait p/r", 64, "which route: code, more?" },
	{ "wait", 64, "1 or 2 words" },
};

int
main(void)
{
	struct gate *gates[MAX_WAITERS];
	struct world world;
	struct tool tool;

	world_open(&world, "wait");
	world_learn(&world, world.code, "p/r");
	tool_begin(&tool, &world, "wait", "", "");
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (i == 3)
			world_mark(&world, world.code, world.one, "p/r");
		tool_run(&tool, rows[i].words);
		tap_int(tool.status, rows[i].status, "%s: exit status",
		    rows[i].words);
		buf_puts(&tool.out, tool.errors.data);
		tool_says(&tool, rows[i].says, rows[i].words);
	}
	for (size_t i = 0; i < MAX_WAITERS; i++)
		tap_must(gate_enter(tool.dir, &gates[i]));
	tool_run(&tool, "wait code p/r");
	tap_int(tool.status, 75, "too many wait already");
	for (size_t i = 0; i < MAX_WAITERS; i++)
		gate_leave(gates[i]);
	tool_end(&tool);
	world_close(&world);
	return tap_done();
}

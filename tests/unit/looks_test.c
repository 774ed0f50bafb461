/* looks_test.c: how often the daemon may be asked to look at a repository */
/* SPDX-License-Identifier: ISC */
#include "fcgi/looks.h"

#include <stdio.h>

#include "tests/unit/tap.h"

static const struct {
	const char *route, *name;
	int64_t now_ms;
	bool may;
	const char *claim;
} rows[] = {
	{ "a", "p/r", 5000, true, "the first time" },
	{ "a", "p/r", 5000 + LOOK_MS - 1, false, "again too soon" },
	{ "b", "p/r", 5000, true, "on another route" },
	{ "a", "p/s", 5000, true, "another one" },
	{ "a", "p/r", 5000 + LOOK_MS, true, "again later" },
	{ "a", "p/r", 5000 + LOOK_MS, false, "and not twice" },
};

static void
test_all_together(void)
{
	struct looks looks;
	unsigned taken = 0;
	char name[32];

	looks_init(&looks);
	for (unsigned i = 0; i < 2 * MAX_LOOKS; i++) {
		snprintf(name, sizeof(name), "p/%u", i);
		taken += looks_take(&looks, "a", name, 5000);
	}
	tap_int(taken, MAX_LOOKS, "many names are bounded together");
	tap_ok(looks_take(&looks, "a", "p/x", 5000 + LOOK_MS),
	    "for no longer than that");
}

int
main(void)
{
	struct looks looks;

	looks_init(&looks);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		tap_int(looks_take(&looks, rows[i].route, rows[i].name,
			    rows[i].now_ms),
		    rows[i].may, "%s", rows[i].claim);
	test_all_together();
	return tap_done();
}

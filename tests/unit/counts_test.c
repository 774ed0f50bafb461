/* counts_test.c: counts of routes, seen by every process */
/* SPDX-License-Identifier: ISC */
#include "sync/counts.h"

#include <stdio.h>

#include "tests/unit/tap.h"

/* More than there is room for. */
#define MANY 200

int
main(void)
{
	static char names[MANY][8];
	struct pulse *pulse = NULL, *reader = NULL;
	unsigned counted = 0, wrong = 0;

	tap_must(pulse_open(tap_dir(), true, &pulse));
	tap_must(pulse_open(tap_dir(), false, &reader));
	for (unsigned i = 0; i < MANY; i++) {
		const struct route route = { .name = names[i] };

		snprintf(names[i], sizeof(names[i]), "r%u", i);
		tap_ok(i > 0 || counts_get(reader, &route, 0) == 0,
		    "route %u: 0 at first", i);
		for (unsigned j = 0; j <= i; j++)
			counts_add(pulse, &route, MAX_COUNTS - 1);
	}
	for (unsigned i = 0; i < MANY; i++) {
		const struct route route = { .name = names[i] };
		uint64_t count = counts_get(reader, &route, MAX_COUNTS - 1);

		counted += count == i + 1;
		wrong += count != i + 1 && count != 0;
		wrong += counts_get(reader, &route, 0) != 0;
	}
	tap_int(counted, 128, "as many are counted as there is room for");
	tap_int(wrong, 0, "no route has another's count");
	pulse_close(pulse);
	pulse_close(reader);
	return tap_done();
}

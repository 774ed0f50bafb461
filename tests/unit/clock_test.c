/* clock_test.c: one clock that only goes forward, one that people read */
/* SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "conf/clock.h"
#include "tests/unit/tap.h"

static void
boot_clock(void)
{
	const struct timespec gap = { .tv_nsec = 20000000 };
	struct timespec before, after;
	int64_t first_ms, now_ms;

	clock_gettime(CLOCK_BOOTTIME, &before);
	first_ms = clock_boot_ms();
	clock_gettime(CLOCK_BOOTTIME, &after);
	tap_ok(first_ms >= before.tv_sec * 1000 + before.tv_nsec / 1000000 &&
		first_ms <= after.tv_sec * 1000 + after.tv_nsec / 1000000,
	    "milliseconds since boot: between two looks at CLOCK_BOOTTIME");
	nanosleep(&gap, NULL);
	now_ms = clock_boot_ms();
	tap_ok(now_ms - first_ms >= 19, "20 ms later it is 20 ms later");
}

static void
real_clock(void)
{
	int64_t before = (int64_t)time(NULL), now = clock_real_s();

	tap_ok(now >= before && now <= (int64_t)time(NULL),
	    "seconds since 1970: between two looks at time()");
}

/* Does text look like shape, where x is a lower hex digit? */
static bool
is_like(const char *text, const char *shape)
{
	for (; *shape != '\0'; text++, shape++)
		if (*shape == 'x' ? *text == '\0' ||
			    strchr("0123456789abcdef", *text) == NULL
				  : *text != *shape)
			return false;
	return *text == '\0';
}

static void
boot_id(void)
{
	char once[BOOT_ID_SIZE], again[BOOT_ID_SIZE];

	memset(once, '?', sizeof(once));
	clock_boot_id(once);
	clock_boot_id(again);
	tap_ok(strcmp(once, "-") == 0 ||
		is_like(once, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"),
	    "a boot id: %s", once);
	tap_str(again, once, "the same in one boot");
}

int
main(void)
{
	boot_clock();
	real_clock();
	boot_id();
	return tap_done();
}

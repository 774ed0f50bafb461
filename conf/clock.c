/* clock.c: the two clocks: one that only goes forward, one that people read */
/* SPDX-License-Identifier: ISC */
#include "conf/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

int64_t
clock_boot_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t
clock_real_s(void)
{
	return (int64_t)time(NULL);
}

void
clock_boot_id(char out[BOOT_ID_SIZE])
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (file == NULL || fgets(out, BOOT_ID_SIZE, file) == NULL)
		strcpy(out, "-");
	if (file != NULL)
		fclose(file);
}

const char *
clock_span(int64_t seconds, char out[32])
{
	static const struct {
		int64_t s;
		const char *word;
	} units[] = {
		{ 172800, "d" },
		{ 7200, "h" },
		{ 120, "min" },
		{ 0, "s" },
	};
	static const int64_t sizes[] = { 86400, 3600, 60, 1 };
	size_t i = 0;

	if (seconds < 0)
		seconds = 0;
	while (seconds < units[i].s)
		i++;
	snprintf(out, 32, "%jd %s", (intmax_t)(seconds / sizes[i]),
	    units[i].word);
	return out;
}

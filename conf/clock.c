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

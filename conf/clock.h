/* clock.h: the two clocks: one that only goes forward, one that people read */
/* SPDX-License-Identifier: ISC */
#ifndef CONF_CLOCK_H
#define CONF_CLOCK_H

#include <stdint.h>

/* "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx" and NUL */
#define BOOT_ID_SIZE 37

/*
 * Milliseconds since boot, suspend included (CLOCK_BOOTTIME): for every age
 * and every deadline.  Comparable only within one boot.
 */
int64_t clock_boot_ms(void);

/* Seconds since 1970: only for people, and for what must outlive a boot. */
int64_t clock_real_s(void);

/* "3 s", "5 min", "2 h", "9 d": how long, for people. */
const char *clock_span(int64_t seconds, char out[32]);

/* Which boot this is; the kernel's boot_id, or "-" where it has none. */
void clock_boot_id(char out[BOOT_ID_SIZE]);

#endif

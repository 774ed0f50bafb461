/* mem.h: memory that is there or ends the program, and growing bytes */
/* SPDX-License-Identifier: ISC */
#ifndef CONF_MEM_H
#define CONF_MEM_H

#include <stdarg.h>
#include <stddef.h>

#include "conf/err.h"

/*
 * Out of memory ends the process with a line on stderr: the unit starts it
 * again, and the table is transactional.  So bound first, allocate second.
 * Everything here is released with free(3).
 */
void *mem_zalloc(size_t size);
void *mem_array(size_t count, size_t size);
/* Room for one more: grows array so that index count is there. */
void *mem_more(void *array, size_t count, size_t size);
char *mem_dup(const char *text);
char *mem_dup_n(const char *text, size_t len);
char *mem_fmt(const char *fmt, ...) PRINTF(1, 2);

/* Growing bytes; { 0 } is an empty one.  data ends in NUL once not NULL. */
struct buf {
	char *data;
	size_t len;
	size_t room;
};

void buf_add(struct buf *, const void *bytes, size_t len);
void buf_puts(struct buf *, const char *text);
void buf_fmt(struct buf *, const char *fmt, ...) PRINTF(2, 3);
/* Empties it and keeps the room. */
void buf_reset(struct buf *);
void buf_free(struct buf *);

#endif

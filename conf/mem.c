/* mem.c: memory that is there or ends the program, and growing bytes */
/* SPDX-License-Identifier: ISC */
#include "conf/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

static void *
checked(void *memory)
{
	if (memory == NULL) {
		fputs("reproute: out of memory\n", stderr);
		exit(EX_OSERR);
	}
	return memory;
}

void *
mem_zalloc(size_t size)
{
	return mem_array(1, size);
}

void *
mem_array(size_t count, size_t size)
{
	return checked(calloc(count ? count : 1, size ? size : 1));
}

void *
mem_more(void *array, size_t count, size_t size)
{
	/* grows at powers of two, so that count is all the caller keeps */
	if (count != 0 && (count & (count - 1)) != 0)
		return array;
	return checked(reallocarray(array, count ? count * 2 : 1, size));
}

char *
mem_dup(const char *text)
{
	return checked(strdup(text));
}

char *
mem_dup_n(const char *text, size_t len)
{
	char *copy = checked(malloc(len + 1));

	memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}

char *
mem_fmt(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	return checked(len < 0 ? NULL : text);
}

static void
make_room(struct buf *buf, size_t more)
{
	size_t need = buf->len + more + 1;

	if (need <= buf->room)
		return;
	if (need < buf->room * 2)
		need = buf->room * 2;
	if (need < 256)
		need = 256;
	buf->data = checked(realloc(buf->data, need));
	buf->room = need;
}

void
buf_add(struct buf *buf, const void *bytes, size_t len)
{
	make_room(buf, len);
	if (len != 0)
		memcpy(buf->data + buf->len, bytes, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

void
buf_puts(struct buf *buf, const char *text)
{
	buf_add(buf, text, strlen(text));
}

void
buf_fmt(struct buf *buf, const char *fmt, ...)
{
	va_list ap, again;
	int len;

	va_start(ap, fmt);
	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (len > 0) {
		make_room(buf, (size_t)len);
		vsnprintf(buf->data + buf->len, (size_t)len + 1, fmt, again);
		buf->len += (size_t)len;
	}
	va_end(again);
}

void
buf_reset(struct buf *buf)
{
	buf->len = 0;
	if (buf->data != NULL)
		buf->data[0] = '\0';
}

void
buf_free(struct buf *buf)
{
	free(buf->data);
	*buf = (struct buf){ 0 };
}

/* err.c: one way to fail: a code for programs, a sentence for people */
/* SPDX-License-Identifier: ISC */
#include "conf/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

/* A sentence longer than this is cut, never overrun. */
#define MAX_TEXT 1024

static _Thread_local char text[MAX_TEXT];

enum err
err_set(enum err code, const char *fmt, ...)
{
	char line[MAX_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	/* by way of a copy: an argument may be err_text() itself */
	memcpy(text, line, sizeof(text));
	return code;
}

enum err
err_sys(const char *fmt, ...)
{
	char line[MAX_TEXT];
	int error = errno;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	return err_set(ERR_SYS, "%s: %s", line, strerror(error));
}

enum err
err_prefix(enum err code, const char *fmt, ...)
{
	char line[MAX_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	return err_set(code, "%s: %s", line, text);
}

const char *
err_text(void)
{
	return text;
}

int
err_exit(enum err code)
{
	static const int status[] = {
		[ERR_OK] = EX_OK,
		[ERR_ABSENT] = 1,
		[ERR_USAGE] = EX_USAGE,
		[ERR_CONF] = EX_CONFIG,
		[ERR_INPUT] = EX_DATAERR,
		[ERR_LIMIT] = EX_DATAERR,
		[ERR_BUSY] = EX_TEMPFAIL,
		[ERR_DENIED] = EX_NOPERM,
		[ERR_SYS] = EX_OSERR,
		[ERR_TABLE] = EX_IOERR,
		[ERR_PEER] = EX_UNAVAILABLE,
	};

	return status[code];
}

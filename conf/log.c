/* log.c: one line on stderr for each thing that a person should know */
/* SPDX-License-Identifier: ISC */
#include "conf/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/clock.h"

/* A line longer than this is cut, so that it reaches stderr in one write. */
#define MAX_LINE 2048
#define GATE_MS 60000

static const char *program = "reproute";
static bool journal;
static bool verbose;

void
log_open(const char *name)
{
	program = name;
	journal = getenv("JOURNAL_STREAM") != NULL;
}

void
log_verbose(void)
{
	verbose = true;
}

static void PRINTF(2, 0) write_line(int priority, const char *fmt, va_list ap)
{
	char line[MAX_LINE];
	int head, body;
	size_t len;

	if (priority == LOG_DEBUG && !verbose)
		return;
	head = journal ? snprintf(line, sizeof(line), "<%d>", priority)
		       : snprintf(line, sizeof(line), "%s: ", program);
	body = vsnprintf(line + head, sizeof(line) - (size_t)head - 1, fmt, ap);
	if (body < 0)
		return;
	len = strlen(line);
	line[len++] = '\n';
	if (write(STDERR_FILENO, line, len) == -1)
		return; /* nowhere left to say it */
}

void
log_msg(int priority, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	write_line(priority, fmt, ap);
	va_end(ap);
}

void
log_gated(struct log_gate *gate, int priority, const char *fmt, ...)
{
	int64_t now_ms = clock_boot_ms();
	int64_t next_ms = atomic_load(&gate->next_ms);
	va_list ap;

	if (now_ms < next_ms ||
	    !atomic_compare_exchange_strong(&gate->next_ms, &next_ms,
		now_ms + GATE_MS))
		return;
	va_start(ap, fmt);
	write_line(priority, fmt, ap);
	va_end(ap);
}

const char *
log_escape(char *out, size_t size, const char *text)
{
	size_t len = 0;

	for (; *text != '\0' && len + 5 < size; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte > 0x1f && byte < 0x7f && byte != '\\')
			out[len++] = *text;
		else
			len += (size_t)snprintf(out + len, 5, "\\x%02x", byte);
	}
	out[len] = '\0';
	return out;
}

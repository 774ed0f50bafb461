/* pipe_test.c: lines of a piped log as datagrams, or lost */
/* SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sync/feed.h"
#include "sync/wake.h"
#include "tests/unit/tap.h"
#include "tests/unit/tool.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/* What printf(1) makes of it goes in; datagrams come out, parted by "|". */
static const struct {
	const char *claim, *in, *out;
} rows[] = {
	{ "a line", "one\\n", "one|" },
	{ "lines", "one\\ntwo\\nthree\\n", "one|two|three|" },
	{ "the last one may lack its end", "one\\ntwo", "one|two|" },
	{ "empty lines are none", "\\n\\none\\n\\n\\n", "one|" },
	{ "nothing", "", "" },
	{ "blanks stay", " a\\tb \\n", " a\tb |" },
};

struct reader {
	struct tool tool;
	char *socket;
	int fd;
};

static void
reader_begin(struct reader *reader)
{
	const char *dir = tap_dir();

	reader->tool = (struct tool){ .dir = mem_dup(dir),
		.conf = mem_dup("/nonexistent") };
	reader->socket = mem_fmt("%s/" FEED_SOCKET, dir);
	if (wake_bind(dir, FEED_SOCKET, &reader->fd) != ERR_OK) {
		printf("Bail out! %s\n", err_text());
		exit(1);
	}
}

static void
reader_end(struct reader *reader)
{
	close(reader->fd);
	free(reader->socket);
	tool_end(&reader->tool);
}

/* The verb reads what a shell's command prints. */
static void
feed(struct reader *reader, const char *command)
{
	char *words = mem_fmt("feed %s <<END\n$(%s; echo .)\nEND",
	    reader->socket, command);

	tool_run(&reader->tool, words);
	free(words);
}

static const char *
received(struct reader *reader)
{
	static char text[8 * MAX_FEED_LINE];
	char line[2 * MAX_FEED_LINE];
	size_t at = 0;

	text[0] = '\0';
	while (wake_receive(reader->fd, 0, line, sizeof(line)) == ERR_OK &&
	    at + strlen(line) + 2 < sizeof(text))
		at += (size_t)sprintf(text + at, "%s|", line);
	return text;
}

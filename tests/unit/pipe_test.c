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

#define FEED "reproute-feed "
#define TOKEN "00112233445566778899aabbccddeeff"

/* What printf(1) makes of it goes in; datagrams come out, parted by "|". */
static const struct {
	const char *claim, *in, *out;
} rows[] = {
	{ "a line", "one\\n", "one|" },
	{ "lines", "one\\ntwo\\nthree\\n", "one|two|three|" },
	{ "the last one may lack its end", "one\\ntwo", "one|two|" },
	{ "empty lines are none", "\\n\\none\\n\\n\\n", "one|" },
	{ "nothing", "", "" },
	{ "blanks stay", " a b \\n", " a b |" },
	{ "what is for a log is not for the daemon", "a \\tb\\tc\\n", "a |" },
	{ "a write", FEED TOKEN " 200 1 m done=+\\n",
	    FEED TOKEN " 200 1 m done=+|" },
	{ "a read", FEED "- 200 1 m done=+\\tone\\n", "" },
	{ "a read that was refused", FEED "- 404 1 m done=+\\n", "" },
	{ "one that failed", FEED "- 502 1 m done=+\\n",
	    FEED "- 502 1 m done=+|" },
	{ "one that another served", FEED "- 200 1 m done=+ served=n\\n",
	    FEED "- 200 1 m done=+ served=n|" },
	{ "one that broke off", FEED "- 200 1 m done=X\\n",
	    FEED "- 200 1 m done=X|" },
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

/* The verb's input is what printf(1) makes of text. */
static void
feed(struct reader *reader, const char *text, const char *socket)
{
	char *make = mem_fmt("printf '%s' >%s/in", text, reader->tool.dir);
	char *words = mem_fmt("feed %s <%s/in", socket, reader->tool.dir);

	if (system(make) != 0)
		abort();
	tool_run(&reader->tool, words);
	free(words);
	free(make);
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

static void
test_lines(void)
{
	struct reader reader;

	reader_begin(&reader);
	for (size_t i = 0; i < COUNT(rows); i++) {
		feed(&reader, rows[i].in, reader.socket);
		tap_str(received(&reader), rows[i].out, "%s", rows[i].claim);
		tap_int(reader.tool.status, 0, "%s: ends well", rows[i].claim);
		tap_str(reader.tool.errors.data, "", "%s: says nothing",
		    rows[i].claim);
	}
	reader_end(&reader);
}

/* More than a line may have, and more than is read at once. */
static void
test_long(void)
{
	static const size_t lengths[] = { MAX_FEED_LINE - 1, MAX_FEED_LINE,
		MAX_FEED_LINE + 1, 70000 };
	struct reader reader;

	reader_begin(&reader);
	for (size_t i = 0; i < COUNT(lengths); i++) {
		size_t want = lengths[i] < MAX_FEED_LINE ? lengths[i]
							 : MAX_FEED_LINE;
		char *text = mem_fmt("%%0%zud\\nnext\\n", lengths[i]);
		const char *got;

		feed(&reader, text, reader.socket);
		got = received(&reader);
		tap_int((long long)strspn(got, "0"), (long long)want,
		    "%zu bytes: cut", lengths[i]);
		tap_str(got + strspn(got, "0"), "|next|",
		    "%zu bytes: what follows is whole", lengths[i]);
		free(text);
	}
	reader_end(&reader);
}

/* Nobody reads: it says so once, and goes on. */
static void
test_lost(void)
{
	struct reader reader;
	const char *at;
	unsigned lines = 0;
	char *nowhere;

	reader_begin(&reader);
	nowhere = mem_fmt("%s/nowhere", reader.tool.dir);
	feed(&reader, "a\\nb\\nc\\n", nowhere);
	tap_int(reader.tool.status, 0, "no reader: ends well");
	for (at = reader.tool.errors.data; *at != '\0'; at++)
		lines += *at == '\n';
	tap_int(lines, 1, "no reader: one line for all that are lost");
	tap_ok(strstr(reader.tool.errors.data, "lines lost so far: 1") != NULL,
	    "no reader: counts");
	free(nowhere);
	reader_end(&reader);
}

static void
log_is(struct reader *reader, const char *want, const char *claim)
{
	char *path = mem_fmt("%s/access", reader->tool.dir);
	char got[256] = "";
	FILE *file = fopen(path, "r");

	if (file != NULL) {
		got[fread(got, 1, sizeof(got) - 1, file)] = '\0';
		fclose(file);
	}
	tap_str(got, want, "%s", claim);
	free(path);
}

static void
feed_log(struct reader *reader, const char *text)
{
	char *words = mem_fmt("--log %s/access %s", reader->tool.dir,
	    reader->socket);

	feed(reader, text, words);
	free(words);
}

/* The log is moved away between two lines to one process. */
static void
rotate(struct reader *reader)
{
	const char *dir = reader->tool.dir;
	char *words = mem_fmt("cd %s || exit; mkfifo fifo || exit; sh -c '"
			      "printf \"a\\tfour\\n\"; "
			      "for i in $(seq 500); do "
			      "grep -q four access && break; sleep 0.02; done; "
			      "mv access old; printf \"a\\tfive\\n\"' "
			      "</dev/null >fifo 2>errors &",
	    dir);

	if (system(words) != 0)
		abort();
	free(words);
	words = mem_fmt("feed --log %s/access %s <%s/fifo", dir, reader->socket,
	    dir);
	tool_run(&reader->tool, words);
	free(words);
}

static void
test_log(void)
{
	struct reader reader;
	char *words;

	reader_begin(&reader);
	feed_log(&reader,
	    FEED "- 200 1 m done=+\\tone\\n" FEED TOKEN
		 " 200 1 m\\ttwo\\tb\\n" FEED "- 502 1 m\\n" FEED
		 "- 200 1 m\\t\\n");
	log_is(&reader, "one\ntwo\tb\n", "the rest of each line is logged");
	tap_str(received(&reader), FEED TOKEN " 200 1 m|" FEED "- 502 1 m|",
	    "and the daemon gets what it wants");
	feed_log(&reader, "a\\tthree");
	log_is(&reader, "one\ntwo\tb\nthree\n", "a log is appended to");
	(void)received(&reader);

	rotate(&reader);
	log_is(&reader, "five\n", "its file was moved away: a new one");

	words = mem_fmt("--log %s/no/access %s", reader.tool.dir,
	    reader.socket);
	(void)received(&reader);
	feed(&reader, "a\\tb\\n", words);
	tap_int(reader.tool.status, 0, "no log can be written: ends well");
	tap_ok(strstr(reader.tool.errors.data, "no/access: ") != NULL,
	    "no log can be written: says so");
	tap_str(received(&reader), "a|", "and the daemon gets its line");
	free(words);
	reader_end(&reader);
}

static void
test_usage(void)
{
	struct reader reader;
	char path[128];

	reader_begin(&reader);
	tool_run(&reader.tool, "feed");
	tap_int(reader.tool.status, 64, "no socket");
	tool_run(&reader.tool, "feed a b");
	tap_int(reader.tool.status, 64, "two sockets");
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	feed(&reader, "", path);
	tap_int(reader.tool.status, 64, "no socket can have that path");
	reader_end(&reader);
}

int
main(void)
{
	test_lines();
	test_long();
	test_lost();
	test_log();
	test_usage();
	return tap_done();
}

/* log_test.c: lines on stderr, gates, and foreign text made fit for them */
/* SPDX-License-Identifier: ISC */
#include "conf/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/mem.h"
#include "tests/unit/tap.h"

static int stderr_was, captured;

/* From here on stderr is a file. */
static void
capture(void)
{
	char *path = mem_fmt("%s/log", tap_dir());

	fflush(stderr);
	stderr_was = dup(STDERR_FILENO);
	captured = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	dup2(captured, STDERR_FILENO);
	free(path);
}

/* What was written since; the caller frees it. */
static char *
release(void)
{
	char *text = mem_array(8192, 1);
	ssize_t len;

	dup2(stderr_was, STDERR_FILENO);
	close(stderr_was);
	len = pread(captured, text, 8191, 0);
	text[len > 0 ? len : 0] = '\0';
	close(captured);
	return text;
}

static void
test_lines(void)
{
	struct log_gate gate = { 0 }, other = { 0 };
	char *text;

	unsetenv("JOURNAL_STREAM");
	log_open("prog");
	capture();
	log_msg(LOG_ERR, "%s is %d", "x", 1);
	log_msg(LOG_DEBUG, "unseen");
	text = release();
	tap_str(text, "prog: x is 1\n",
	    "a line starts with the program, and debug is off");
	free(text);

	setenv("JOURNAL_STREAM", "8:1", 1);
	log_open("prog");
	log_verbose();
	capture();
	log_msg(LOG_ERR, "a");
	log_msg(LOG_WARNING, "b");
	log_msg(LOG_DEBUG, "c");
	text = release();
	tap_str(text, "<3>a\n<4>b\n<7>c\n",
	    "under systemd with its priority (sd-daemon(3)); debug is on");
	free(text);

	capture();
	log_gated(&gate, LOG_ERR, "first");
	log_gated(&gate, LOG_ERR, "second");
	log_gated(&other, LOG_ERR, "third");
	text = release();
	tap_str(text, "<3>first\n<3>third\n",
	    "one line a minute for each gate");
	free(text);
}

static void
test_long_line(void)
{
	char *longest = mem_array(5000, 1), *text;

	memset(longest, 'x', 4999);
	capture();
	log_msg(LOG_ERR, "%s", longest);
	text = release();
	tap_int((long long)strlen(text), 2047,
	    "a long line is cut to one write");
	tap_ok(strchr(text, '\n') == text + strlen(text) - 1,
	    "and still ends in its newline");
	free(text);
	free(longest);
}

static const struct {
	size_t size;
	const char *text, *escaped;
} escapes[] = {
	{ 64, "plain text/~!", "plain text/~!" },
	{ 64, "", "" },
	{ 64, "a\nb\rc", "a\\x0ab\\x0dc" },
	{ 64, "\x1b[31m", "\\x1b[31m" },
	{ 64, "back\\slash", "back\\x5cslash" },
	{ 64, "\x7f\xc3\xbc", "\\x7f\\xc3\\xbc" },
	{ 10, "abcdefghijkl", "abcde" },
	{ 10, "abc\n\n\n", "abc\\x0a" },
	{ 5, "\n", "" },
	{ 6, "\n", "\\x0a" },
	{ 1, "abc", "" },
};

static void
test_escapes(void)
{
	for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++) {
		char *out = mem_array(escapes[i].size, 1);

		tap_str(log_escape(out, escapes[i].size, escapes[i].text),
		    escapes[i].escaped, "escape %zu", i);
		free(out);
	}
}

int
main(void)
{
	test_lines();
	test_long_line();
	test_escapes();
	return tap_done();
}

/* mem_test.c: memory that grows, and growing bytes */
/* SPDX-License-Identifier: ISC */
#include "conf/mem.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/tap.h"

static void
test_texts(void)
{
	char *copy = mem_dup("abc"), *part = mem_dup_n("abcdef", 2);
	char *text = mem_fmt("%s-%d", "n", 5);

	tap_str(copy, "abc", "mem_dup");
	tap_str(part, "ab", "mem_dup_n ends what it cuts");
	tap_str(text, "n-5", "mem_fmt");
	free(copy);
	free(part);
	free(text);
}

static void
test_arrays(void)
{
	unsigned char *zeros = mem_array(16, 4);
	unsigned sum = 0, *numbers = NULL;
	bool kept = true;

	for (int i = 0; i < 64; i++)
		sum += zeros[i];
	tap_int(sum, 0, "mem_array is zeroed");
	free(zeros);
	zeros = mem_array(0, 0);
	tap_ok(zeros != NULL, "an array of nothing is no NULL");
	free(zeros);

	/* the sanitizer sees a write behind the end */
	for (unsigned i = 0; i < 1000; i++) {
		numbers = mem_more(numbers, i, sizeof(*numbers));
		numbers[i] = i * 7;
	}
	for (unsigned i = 0; i < 1000; i++)
		kept &= numbers[i] == i * 7;
	tap_ok(kept, "mem_more keeps what is there");
	free(numbers);
}

static void
test_bytes(void)
{
	struct buf buf = { 0 };

	buf_add(&buf, "", 0);
	tap_str(buf.data, "", "nothing added is an empty text");
	buf_puts(&buf, "ab");
	buf_add(&buf, "\0c", 2);
	tap_int((long long)buf.len, 4, "NULs count");
	tap_ok(memcmp(buf.data, "ab\0c\0", 5) == 0, "and a NUL ends it");
	buf_reset(&buf);
	tap_ok(buf.len == 0 && buf.room > 0 && buf.data[0] == '\0',
	    "a reset keeps the room");
	for (int i = 0; i < 1000; i++)
		buf_fmt(&buf, "%03d,", i);
	tap_int((long long)buf.len, 4000, "buf_fmt appends");
	tap_ok(strncmp(buf.data + 3996, "999,", 5) == 0, "to the end");
	buf_free(&buf);
	tap_ok(buf.data == NULL && buf.len == 0 && buf.room == 0,
	    "freed, it is an empty one");
	buf_free(&buf);
	buf_reset(&buf);
	tap_ok(buf.data == NULL, "so it may be freed and reset again");
}

/* A child asks for more than there can be. */
static void
test_exhaustion(void)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		close(STDERR_FILENO);
		free(mem_array(SIZE_MAX / 2, 4));
		_exit(0);
	}
	waitpid(pid, &status, 0);
	tap_ok(!WIFEXITED(status) || WEXITSTATUS(status) != 0,
	    "out of memory ends the process");
}

int
main(void)
{
	test_texts();
	test_arrays();
	test_bytes();
	test_exhaustion();
	return tap_done();
}

/* err_test.c: codes, sentences and exit statuses */
/* SPDX-License-Identifier: ISC */
#include "conf/err.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "tests/unit/tap.h"

/* sysexits.h, written out: scripts rely on the numbers. */
static const struct {
	enum err code;
	int status;
} exits[] = {
	{ ERR_OK, 0 },
	{ ERR_ABSENT, 1 },
	{ ERR_USAGE, 64 },
	{ ERR_CONF, 78 },
	{ ERR_INPUT, 65 },
	{ ERR_LIMIT, 65 },
	{ ERR_BUSY, 75 },
	{ ERR_DENIED, 77 },
	{ ERR_SYS, 71 },
	{ ERR_TABLE, 74 },
	{ ERR_PEER, 69 },
};

static void
test_text(void)
{
	char longest[3000];

	tap_int(err_set(ERR_PEER, "peer %s: %d", "a", 7), ERR_PEER,
	    "err_set returns the code");
	tap_str(err_text(), "peer a: 7", "and keeps the sentence");
	tap_int(err_prefix(ERR_CONF, "f:%d", 3), ERR_CONF,
	    "err_prefix returns its own code");
	tap_str(err_text(), "f:3: peer a: 7", "and puts text before");
	err_set(ERR_INPUT, "again: %s", err_text());
	tap_str(err_text(), "again: f:3: peer a: 7",
	    "a sentence may quote the one before");
	errno = ENOENT;
	tap_int(err_sys("open %s", "x"), ERR_SYS, "err_sys returns ERR_SYS");
	tap_str(err_text(), "open x: No such file or directory",
	    "and says what errno said");

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	err_set(ERR_LIMIT, "%s", longest);
	tap_int((long long)strlen(err_text()), 1023, "a long one is cut");
	err_prefix(ERR_LIMIT, "before");
	tap_ok(strncmp(err_text(), "before: xxx", 11) == 0,
	    "a cut one still takes a prefix");
}

static void *
other_thread(void *arg)
{
	(void)arg;
	err_set(ERR_SYS, "the other thread's");
	return NULL;
}

static void
test_threads(void)
{
	pthread_t thread;

	err_set(ERR_PEER, "mine");
	pthread_create(&thread, NULL, other_thread, NULL);
	pthread_join(thread, NULL);
	tap_str(err_text(), "mine", "each thread has its own sentence");
}

int
main(void)
{
	for (size_t i = 0; i < sizeof(exits) / sizeof(exits[0]); i++)
		tap_int(err_exit(exits[i].code), exits[i].status,
		    "exit status of code %d", exits[i].code);
	test_text();
	test_threads();
	return tap_done();
}

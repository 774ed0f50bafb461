/* tap.c: test results as the Test Anything Protocol */
/* SPDX-License-Identifier: ISC */
#include "tests/unit/tap.h"

#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int count, failures;
static char dir[] = "/tmp/reproute-test-XXXXXX";
static bool has_dir;

static bool
result(bool pass, const char *name, va_list ap)
{
	printf("%sok %d - ", pass ? "" : "not ", ++count);
	vprintf(name, ap);
	putchar('\n');
	fflush(stdout);
	failures += !pass;
	return pass;
}

bool
tap_ok(bool pass, const char *name, ...)
{
	va_list ap;

	va_start(ap, name);
	result(pass, name, ap);
	va_end(ap);
	return pass;
}

bool
tap_str(const char *got, const char *want, const char *name, ...)
{
	bool same = got == want ||
	    (got != NULL && want != NULL && strcmp(got, want) == 0);
	va_list ap;

	va_start(ap, name);
	result(same, name, ap);
	va_end(ap);
	if (!same) {
		tap_note("got  %s", got ? got : "(null)");
		tap_note("want %s", want ? want : "(null)");
	}
	return same;
}

bool
tap_int(long long got, long long want, const char *name, ...)
{
	va_list ap;

	va_start(ap, name);
	result(got == want, name, ap);
	va_end(ap);
	if (got != want)
		tap_note("got %lld, want %lld", got, want);
	return got == want;
}

void
tap_note(const char *text, ...)
{
	va_list ap;

	va_start(ap, text);
	fputs("# ", stdout);
	vprintf(text, ap);
	putchar('\n');
	va_end(ap);
}

static int
remove_one(const char *path, const struct stat *status, int type,
    struct FTW *ftw)
{
	(void)status;
	(void)type;
	(void)ftw;
	return remove(path);
}

void
tap_must(enum err err)
{
	if (err == ERR_OK)
		return;
	printf("Bail out! %s\n", err_text());
	exit(1);
}

int
tap_done(void)
{
	if (has_dir)
		nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	printf("1..%d\n", count);
	return failures != 0;
}

const char *
tap_dir(void)
{
	if (!has_dir && mkdtemp(dir) == NULL) {
		puts("Bail out! no temporary directory");
		exit(1);
	}
	has_dir = true;
	return dir;
}

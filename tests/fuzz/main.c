/* main.c: runs a fuzzer over its corpus, one result a file */
/* SPDX-License-Identifier: ISC */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/mem.h"
#include "tests/unit/tap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
read_file(const char *path, struct buf *out)
{
	char piece[4096];
	size_t len;
	FILE *file = fopen(path, "re");

	if (file == NULL)
		return;
	while ((len = fread(piece, 1, sizeof(piece), file)) > 0)
		buf_add(out, piece, len);
	fclose(file);
}

/* "tests/fuzz/request_fuzz" -> "$top_srcdir/tests/fuzz/corpus/request" */
static char *
corpus_of(const char *program)
{
	const char *base = strrchr(program, '/');
	const char *top = getenv("top_srcdir");

	base = base != NULL ? base + 1 : program;
	return mem_fmt("%s/tests/fuzz/corpus/%.*s", top ? top : ".",
	    (int)strcspn(base, "_"), base);
}

int
main(int argc, char **argv)
{
	char *corpus = argc > 1 ? mem_dup(argv[1]) : corpus_of(argv[0]);
	DIR *dir = opendir(corpus);
	struct dirent *entry;
	unsigned files = 0;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		struct buf bytes = { 0 };
		char *path;

		if (entry->d_name[0] == '.')
			continue;
		path = mem_fmt("%s/%s", corpus, entry->d_name);
		read_file(path, &bytes);
		/* a failure is a crash; the sanitizers see to that */
		LLVMFuzzerTestOneInput((const uint8_t *)bytes.data, bytes.len);
		tap_ok(true, "%s", entry->d_name);
		buf_free(&bytes);
		free(path);
		files++;
	}
	tap_ok(files > 0, "%s holds inputs", corpus);
	if (dir != NULL)
		closedir(dir);
	free(corpus);
	return tap_done();
}

/* notes.c: reads what stamp noted: refs that changed, faults */
/* SPDX-License-Identifier: ISC */
#include "tests/stale/notes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What a fault broke is whole again so long after its end, at the latest. */
#define GRACE_NS INT64_C(2000000000)

static char *
notes_path(const struct scene *scene)
{
	return mem_fmt("%s/stamps", scene->root);
}

size_t
notes_size(const struct scene *scene)
{
	char *path = notes_path(scene);
	struct stat status;
	size_t size = 0;

	if (stat(path, &status) == 0)
		size = (size_t)status.st_size;
	free(path);
	return size;
}

static enum err
tell(const struct scene *scene, const char *line, struct history **histories)
{
	char phase[16], old[65], new[65], name[64];
	struct history *history;
	int64_t ns;
	long repo;
	int by, ref, from, to;

	if (sscanf(line, "%" SCNd64 " %15s r%ld %d %64s %64s %63s", &ns, phase,
		&repo, &by, old, new, name) != 7)
		return err_set(ERR_INPUT, "no stamp: %s", line);
	if ((ref = scene_ref(name)) <= REF_HEAD || repo >= scene->repos)
		return ERR_OK;
	from = scene_commit(scene, old, strlen(old));
	to = scene_commit(scene, new, strlen(new));
	history = histories[repo];
	/* a deletion has a transaction of packed-refs inside its own */
	if (from == to)
		return ERR_OK;
	if (strcmp(phase, "prepared") == 0)
		history_prepared(history, (unsigned)ref, by, from, to, ns);
	else if (strcmp(phase, "committed") == 0)
		history_committed(history, (unsigned)ref, by, to, ns);
	else
		history_aborted(history, (unsigned)ref, by, to);
	return ERR_OK;
}

enum err
notes_tell(const struct scene *scene, size_t behind, struct history **histories)
{
	char *path = notes_path(scene), line[4096];
	FILE *file = fopen(path, "re");
	enum err err = ERR_OK;

	if (file == NULL)
		err = err_sys("%s", path);
	else if (fseek(file, (long)behind, SEEK_SET) != 0)
		err = err_sys("%s", path);
	while (err == ERR_OK && fgets(line, sizeof(line), file) != NULL)
		err = tell(scene, line, histories);
	if (file != NULL)
		fclose(file);
	free(path);
	return err;
}

/* The last one of that name that is still open, or a new one. */
static struct window *
window_of(struct windows *windows, const char *name)
{
	struct window *window;

	for (size_t i = windows->n; i-- > 0;)
		if (windows->window[i].to_ns == NEVER_NS &&
		    strcmp(windows->window[i].name, name) == 0)
			return &windows->window[i];
	windows->window = mem_more(windows->window, windows->n,
	    sizeof(*windows->window));
	window = &windows->window[windows->n++];
	*window = (struct window){ .from_ns = NEVER_NS, .to_ns = NEVER_NS };
	snprintf(window->name, sizeof(window->name), "%s", name);
	return window;
}

enum err
notes_faults(const char *path, struct windows *out)
{
	struct windows windows = { 0 };
	char line[256], word[8], name[48];
	FILE *file = path != NULL ? fopen(path, "re") : NULL;
	int64_t ns;

	if (path != NULL && file == NULL && errno != ENOENT)
		return err_sys("%s", path);
	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		struct window *window;

		if (sscanf(line, "%" SCNd64 " %7s %47s", &ns, word, name) != 3)
			continue;
		window = window_of(&windows, name);
		if (strcmp(word, "begin") == 0)
			window->from_ns = ns;
		else
			window->to_ns = ns + GRACE_NS;
	}
	if (file != NULL)
		fclose(file);
	*out = windows;
	return ERR_OK;
}

bool
notes_meet(const struct windows *windows, int64_t start_ns, int64_t end_ns)
{
	for (size_t i = 0; i < windows->n; i++)
		if (windows->window[i].from_ns <= end_ns &&
		    start_ns <= windows->window[i].to_ns)
			return true;
	return false;
}

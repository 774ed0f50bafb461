/* sight.c: what a reader saw of a repository's refs */
/* SPDX-License-Identifier: ISC */
#include "tests/stale/sight.h"

#include <stdio.h>
#include <string.h>

#include "tests/stale/history.h"

#define OID_LEN 40

/* Of a v2 ref-attribute, or a v0 capability. */
static const char *const head_marks[] = { "symref-target:", "symref=HEAD:" };

static void
see_nothing(int *values)
{
	for (unsigned i = 0; i < REFS; i++)
		values[i] = ABSENT;
}

/* What stands behind a mark, up to a space or the end. */
static void
see_head(const char *words, int *values)
{
	char target[64];

	for (unsigned i = 0; i < 2; i++) {
		const char *at = strstr(words, head_marks[i]);

		if (at != NULL &&
		    sscanf(at + strlen(head_marks[i]), "%63[^ \n]", target) ==
			1)
			values[REF_HEAD] = scene_ref(target);
	}
}

/* line: "OID REF", and what goes with it behind NUL (v0) or a space (v2). */
static enum err
see_ref(const struct scene *scene, const char *line, size_t len, int *values)
{
	char name[64] = "";
	int commit, ref;

	if (len <= OID_LEN || sscanf(line + OID_LEN, " %63[^ \n]", name) != 1)
		return err_set(ERR_INPUT, "no ref: %.80s", line);
	/* only HEAD's line has marks of HEAD */
	if (strcmp(name, "HEAD") == 0) {
		see_head(line + OID_LEN, values);
		if (strlen(line) < len)
			see_head(line + strlen(line) + 1, values);
		return ERR_OK;
	}
	commit = scene_commit(scene, line, OID_LEN);
	ref = scene_ref(name);
	if (commit == UNSEEN || ref < 0)
		return err_set(ERR_INPUT, "nobody pushed %.80s", line);
	values[ref] = commit;
	return ERR_OK;
}

/* The length of a packet with its head; 0: a flush or the like; -1: none. */
static int
packet(const char *bytes, size_t len)
{
	char digits[5] = "";
	unsigned size;

	if (len < 4)
		return -1;
	memcpy(digits, bytes, 4);
	if (strspn(digits, "0123456789abcdef") != 4 ||
	    sscanf(digits, "%4x", &size) != 1 || size > len)
		return -1;
	return size < 4 ? 0 : (int)size;
}

enum err
sight_advert(const struct scene *scene, const char *bytes, size_t len,
    int *values)
{
	enum err err = ERR_OK;
	bool ended = false;
	char line[1024];

	see_nothing(values);
	while (err == ERR_OK && len > 0) {
		int size = packet(bytes, len);
		size_t text = size > 4 ? (size_t)size - 4 : 0;

		if (size < 0)
			return err_set(ERR_INPUT, "no packet: %.40s", bytes);
		ended = size == 0;
		if (text >= sizeof(line))
			text = sizeof(line) - 1;
		memcpy(line, bytes + 4, text);
		line[text] = '\0';
		if (text > 0 && line[0] != '#')
			err = see_ref(scene, line, text, values);
		bytes += ended ? 4 : size;
		len -= ended ? 4 : (size_t)size;
	}
	if (err == ERR_OK && (!ended || values[REF_MAIN] == ABSENT))
		return err_set(ERR_INPUT, "no whole advertisement");
	return err;
}

enum err
sight_lines(const struct scene *scene, const char *text, int *values)
{
	enum err err = ERR_OK;

	see_nothing(values);
	values[REF_HEAD] = UNSEEN;
	while (err == ERR_OK && *text != '\0') {
		size_t len = strcspn(text, "\n");
		char line[256];

		snprintf(line, sizeof(line), "%.*s", (int)len, text);
		err = see_ref(scene, line, strlen(line), values);
		text += len + (text[len] != '\0');
	}
	return err;
}

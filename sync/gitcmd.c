/* gitcmd.c: git as a child, in an environment that no caller can bend */
/* SPDX-License-Identifier: ISC */
#include "sync/gitcmd.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/*
 * What a hook or a web server leaves in our environment: git(1), "The Git
 * Repository", and githooks(5).
 */
static const char *const always[] = {
	"GIT_DIR",
	"GIT_COMMON_DIR",
	"GIT_WORK_TREE",
	"GIT_INDEX_FILE",
	"GIT_OBJECT_DIRECTORY",
	"GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_QUARANTINE_PATH",
	"GIT_SHALLOW_FILE",
	"GIT_PROTOCOL",
	"HTTP_AUTHORIZATION",
	"GIT_TERMINAL_PROMPT=0",
	"GIT_ASKPASS=",
	"LC_ALL=C",
};
#define N_ALWAYS (sizeof(always) / sizeof(always[0]))

/* git-config(1), GIT_CONFIG_COUNT: behind what the admin has set there. */
static size_t
put_config(const char *const *config, char **env)
{
	const char *text = getenv("GIT_CONFIG_COUNT");
	unsigned long count = text != NULL ? strtoul(text, NULL, 10) : 0;
	size_t n = 0;

	for (size_t i = 0; i <= MAX_GITCMD_CONFIG; i++) {
		const char *pair = i == 0 ? "safe.directory=*"
		    : config != NULL	  ? config[i - 1]
					  : NULL;

		if (pair == NULL)
			break;
		env[n++] = mem_fmt("GIT_CONFIG_KEY_%lu=%.*s", count,
		    (int)strcspn(pair, "="), pair);
		env[n++] = mem_fmt("GIT_CONFIG_VALUE_%lu=%s", count++,
		    strchr(pair, '=') + 1);
	}
	env[n++] = mem_fmt("GIT_CONFIG_COUNT=%lu", count);
	return n;
}

enum err
gitcmd_run(const struct spawn *order, const char *const *config,
    struct buf *output)
{
	char *own[2 * (MAX_GITCMD_CONFIG + 1) + 1];
	const char *env[MAX_SPAWN_ENV + 1];
	struct spawn git = *order;
	size_t n_own = put_config(config, own), n = N_ALWAYS;
	enum err err;

	memcpy(env, always, sizeof(always));
	for (size_t i = 0; i < n_own; i++)
		env[n++] = own[i];
	for (size_t i = 0; order->env != NULL && order->env[i] != NULL; i++) {
		assert(n < MAX_SPAWN_ENV);
		env[n++] = order->env[i];
	}
	env[n] = NULL;
	git.env = env;
	err = spawn_run(&git, output);
	for (size_t i = 0; i < n_own; i++)
		free(own[i]);
	return err;
}

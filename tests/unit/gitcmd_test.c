/* gitcmd_test.c: what git sees of our surroundings, and what it does not */
/* SPDX-License-Identifier: ISC */
#include "sync/gitcmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/tap.h"

#define LONG_MS 20000

/* One line of what a command says, with a given configuration. */
static const struct {
	const char *claim;
	const char *set, *value;  /* in our environment, or NULL */
	const char *config, *env; /* of the order, or NULL */
	const char *script, *output;
} rows[] = {
	{ "a value of its configuration", NULL, NULL, "a.b=c d=e", NULL,
	    "git config a.b", "c d=e\n" },
	{ "an empty one", NULL, NULL, "a.b=", NULL, "git config a.b", "\n" },
	{ "any owner is taken", NULL, NULL, NULL, NULL,
	    "git config safe.directory", "*\n" },
	{ "nothing of it in the arguments", NULL, NULL, "a.b=c", NULL,
	    "tr '\\0' ' ' </proc/$$/cmdline | grep -c 'a[.]b=c' || :", "0\n" },
	{ "the admin's own stays", "GIT_CONFIG_COUNT", "1", "a.b=c", NULL,
	    "echo $(git config x.y) $(git config a.b)", "z c\n" },
	{ "a hook's GIT_DIR goes", "GIT_DIR", "/nonexistent", NULL, NULL,
	    "echo ${GIT_DIR-none}", "none\n" },
	{ "a client's credentials go", "HTTP_AUTHORIZATION", "Bearer x", NULL,
	    NULL, "echo ${HTTP_AUTHORIZATION-none}", "none\n" },
	{ "a client's protocol goes", "GIT_PROTOCOL", "version=2", NULL, NULL,
	    "echo ${GIT_PROTOCOL-none}", "none\n" },
	{ "a namespace stays", "GIT_NAMESPACE", "n", NULL, NULL,
	    "echo $GIT_NAMESPACE", "n\n" },
	{ "unless the order says otherwise", "GIT_NAMESPACE", "n", NULL,
	    "GIT_NAMESPACE", "echo ${GIT_NAMESPACE-none}", "none\n" },
	{ "no terminal is asked", NULL, NULL, NULL, NULL,
	    "echo $GIT_TERMINAL_PROMPT ${GIT_ASKPASS-unset}", "0\n" },
};

int
main(void)
{
	setenv("HOME", tap_dir(), 1);
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	setenv("GIT_CONFIG_KEY_0", "x.y", 1);
	setenv("GIT_CONFIG_VALUE_0", "z", 1);
	unsetenv("GIT_CONFIG_COUNT");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *argv[] = { "sh", "-c", rows[i].script, NULL };
		const char *config[] = { rows[i].config, NULL };
		const char *env[] = { rows[i].env, NULL };
		struct spawn order = { .argv = argv,
			.env = env,
			.stall_ms = LONG_MS };
		struct buf output = { 0 };

		if (rows[i].set != NULL)
			setenv(rows[i].set, rows[i].value, 1);
		if (!tap_int(gitcmd_run(&order, config, &output), ERR_OK, "%s",
			rows[i].claim))
			tap_note("%s", err_text());
		tap_str(output.data, rows[i].output, "%s: is seen",
		    rows[i].claim);
		if (rows[i].set != NULL)
			unsetenv(rows[i].set);
		buf_free(&output);
	}
	return tap_done();
}

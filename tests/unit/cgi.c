/* cgi.c: a handler is asked as a CGI program, and its answer caught */
/* SPDX-License-Identifier: ISC */
#include "tests/unit/cgi.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/tap.h"

#define MAX_VARIABLES 16

static char answer[8192];

static void
set_variables(char *variables, char *names[MAX_VARIABLES + 1])
{
	char *save = NULL, *value;
	size_t n = 0;

	for (char *line = strtok_r(variables, "\n", &save);
	     line != NULL && n < MAX_VARIABLES;
	     line = strtok_r(NULL, "\n", &save)) {
		if ((value = strchr(line, '=')) == NULL)
			abort();
		*value++ = '\0';
		setenv(line, value, 1);
		names[n++] = line;
	}
	names[n] = NULL;
}

/* Standard output is a file while the handler runs. */
const char *
cgi_ask(gateway_handler *handler, void *arg, const char *variables)
{
	char *path = mem_fmt("%s/answer", tap_dir());
	char *copy = mem_dup(variables), *names[MAX_VARIABLES + 1];
	int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int kept = dup(STDOUT_FILENO);
	ssize_t len;

	fflush(stdout);
	if (file == -1 || kept == -1 || dup2(file, STDOUT_FILENO) == -1)
		abort();
	set_variables(copy, names);
	gateway_cgi(handler, arg);
	for (char **name = names; *name != NULL; name++)
		unsetenv(*name);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	len = pread(file, answer, sizeof(answer) - 1, 0);
	answer[len > 0 ? len : 0] = '\0';
	close(file);
	free(copy);
	free(path);
	return answer;
}

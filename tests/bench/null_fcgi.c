/* null_fcgi.c: a libfcgi program that decides nothing: what libfcgi costs */
/* SPDX-License-Identifier: ISC */
#include <fcgiapp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As reproute-fcgi has it. */
#define THREADS 32
#define MAX_THREADS 1024

/* What the router says in each role; the name is that of bench_conf in fronts.sh. */
static const char variables[] = "Status: 200 OK\r\n"
				"Variable-REPROUTE_UPSTREAM: primary\r\n"
				"Variable-REPROUTE_REASON: other\r\n\r\n";
static const char name[] = "Status: 200 OK\r\n"
			   "X-Reproute-Upstream: primary\r\n"
			   "X-Reproute-Reason: other\r\n\r\n";
static const char accel[] = "Status: 200 OK\r\n"
			    "X-Accel-Redirect: @primary\r\n"
			    "X-Reproute-Upstream: primary\r\n"
			    "X-Reproute-Reason: other\r\n\r\n";

static int listening;

static bool
is(const FCGX_Request *request, const char *param, const char *wanted)
{
	const char *value = FCGX_GetParam(param, request->envp);

	return value != NULL && strcmp(value, wanted) == 0;
}

static const char *
answer(const FCGX_Request *request)
{
	if (is(request, "FCGI_ROLE", "AUTHORIZER"))
		return variables;
	return is(request, "REPROUTE_ANSWER", "name") ? name : accel;
}

static void *
serve(void *arg)
{
	FCGX_Request request;

	FCGX_InitRequest(&request, listening, 0);
	while (FCGX_Accept_r(&request) == 0)
		FCGX_PutS(answer(&request), request.out);
	return arg;
}

int
main(int argc, char **argv)
{
	pthread_t threads[MAX_THREADS];
	int n = THREADS;

	FCGX_Init();
	/* libfcgi's own handler would not end a program with threads */
	signal(SIGTERM, SIG_DFL);
	signal(SIGUSR1, SIG_DFL);
	/* those of reproute-fcgi that webconf prints; else fd 0 listens */
	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--listen") == 0)
			listening = FCGX_OpenSocket(argv[i + 1], 1024);
		else if (strcmp(argv[i], "--threads") == 0)
			n = atoi(argv[i + 1]);
	}
	if (listening == -1 || n < 1 || n > MAX_THREADS) {
		fprintf(stderr,
		    "usage: null_fcgi [--listen SOCKET] [--threads N]\n");
		return 64;
	}
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, serve, NULL);
	pthread_join(threads[0], NULL);
	return 0;
}

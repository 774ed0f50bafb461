/* null_fcgi.c: a libfcgi program that decides nothing: what libfcgi costs */
/* SPDX-License-Identifier: ISC */
#include <fcgiapp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#define THREADS 32

static const char answer[] = "Status: 200 OK\r\n"
			     "Variable-REPROUTE_UPSTREAM: master\r\n"
			     "Variable-REPROUTE_REASON: other\r\n\r\n";

static int listening;

static void *
serve(void *arg)
{
	FCGX_Request request;

	FCGX_InitRequest(&request, listening, 0);
	while (FCGX_Accept_r(&request) == 0)
		FCGX_PutStr(answer, sizeof(answer) - 1, request.out);
	return arg;
}

int
main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	if (argc != 2) {
		fprintf(stderr, "usage: null_fcgi SOCKET\n");
		return 64;
	}
	FCGX_Init();
	/* libfcgi's own handler would not end a program with threads */
	signal(SIGTERM, SIG_DFL);
	if ((listening = FCGX_OpenSocket(argv[1], 1024)) == -1)
		return 71;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, serve, NULL);
	pthread_join(threads[0], NULL);
	return 0;
}

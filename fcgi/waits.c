/* waits.c: requests that wait for a mark, and what wakes them */
/* SPDX-License-Identifier: ISC */
#include "fcgi/waits.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "conf/mem.h"
#include "sync/news.h"

/* While there is no table yet, the thread looks so often for its end. */
#define OPEN_WAIT_MS 250

void
waits_look(struct pulse *pulse, const struct request *request,
    struct waits_news *out)
{
	*out = (struct waits_news){ .word = NULL };
	if (pulse == NULL)
		return;
	news_rise(pulse);
	out->word = news_of(pulse, request->route, request->name);
	out->seen = atomic_load(out->word);
}

/*
 * mod_fcgid, which alone asks in this role, gives a process one request at a
 * time, and starts no more than MaxProcesses: each that waits is one less for
 * all others.  So half of those that live never wait.
 */
static bool
is_alone(const struct gateway_request *gateway)
{
	const char *role = gateway_param(gateway, "FCGI_APACHE_ROLE");

	return role != NULL && strcmp(role, "ACCESS_CHECKER") == 0;
}

bool
waits_begin(struct gateway_request *gateway, struct pulse *pulse,
    const struct request *request, const struct waits_news *news)
{
	if (news->word == NULL || (is_alone(gateway) && !news_sit(pulse)))
		return false;
	if (gateway_park(gateway, news->word, news->seen,
		request->route->wait_ms))
		return true;
	news_rise(pulse);
	return false;
}

struct waits {
	pthread_t thread;
	struct writer *writer;
	atomic_bool ends;
};

static void *
wake(void *arg)
{
	struct waits *waits = arg;
	struct pulse *pulse = NULL;
	uint32_t turn = 0;

	while (!atomic_load(&waits->ends)) {
		if (pulse == NULL &&
		    writer_wait_open(waits->writer, OPEN_WAIT_MS))
			pulse = writer_pulse(waits->writer);
		/* the end may have come meanwhile, and found no pulse to ring */
		if (pulse == NULL || atomic_load(&waits->ends))
			continue;
		turn = news_await(pulse, turn);
		gateway_wake(false);
	}
	return NULL;
}

enum err
waits_start(struct writer *writer, struct waits **out)
{
	struct waits *waits = mem_zalloc(sizeof(*waits));

	waits->writer = writer;
	if (pthread_create(&waits->thread, NULL, wake, waits) != 0) {
		free(waits);
		return err_set(ERR_SYS, "no thread for what waits");
	}
	*out = waits;
	return ERR_OK;
}

void
waits_stop(struct waits *waits)
{
	struct pulse *pulse;

	/* in this order: see wake() */
	atomic_store(&waits->ends, true);
	pulse = writer_pulse(waits->writer);
	if (pulse != NULL)
		news_ring(pulse);
	pthread_join(waits->thread, NULL);
	free(waits);
}

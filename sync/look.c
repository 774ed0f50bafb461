/* look.c: names without a row: does the primary have such a repository? */
/* SPDX-License-Identifier: ISC */
#include "sync/look.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "conf/clock.h"
#include "conf/crypto.h"
#include "conf/mem.h"
#include "sync/probe.h"
#include "sync/row.h"

/* Remembered noes; a newer one takes the place of an older. */
#define NOES 1024

struct wanted {
	const struct route *route;
	char *name;
};

struct look {
	pthread_mutex_t lock;
	pthread_cond_t more;
	bool closed;
	int64_t next_ms;		 /* no look before; clock_boot_ms() */
	struct wanted wanted[MAX_LOOKS]; /* a ring */
	size_t first, n;
	struct {
		uint64_t hash;
		int64_t until_ms; /* clock_boot_ms() */
	} noes[NOES];
};

struct look *
look_new(void)
{
	struct look *look = mem_zalloc(sizeof(*look));

	pthread_mutex_init(&look->lock, NULL);
	pthread_cond_init(&look->more, NULL);
	return look;
}

void
look_free(struct look *look)
{
	if (look == NULL)
		return;
	for (; look->n > 0; look->n--) {
		free(look->wanted[look->first].name);
		look->first = (look->first + 1) % MAX_LOOKS;
	}
	pthread_cond_destroy(&look->more);
	pthread_mutex_destroy(&look->lock);
	free(look);
}

static uint64_t
hash_of(const struct route *route, const char *name)
{
	char *text = mem_fmt("%s/%s", route->name, name);
	uint64_t hash = digest_64(text, strlen(text));

	free(text);
	return hash;
}

static bool
is_waiting(const struct look *look, const struct route *route, const char *name)
{
	for (size_t i = 0; i < look->n; i++) {
		const struct wanted *wanted =
		    &look->wanted[(look->first + i) % MAX_LOOKS];

		if (wanted->route == route && strcmp(wanted->name, name) == 0)
			return true;
	}
	return false;
}

bool
look_put(struct look *look, const struct route *route, const char *name)
{
	uint64_t hash = hash_of(route, name);
	int64_t now_ms = clock_boot_ms();
	bool taken = false;

	pthread_mutex_lock(&look->lock);
	if (look->n < MAX_LOOKS &&
	    !(look->noes[hash % NOES].hash == hash &&
		look->noes[hash % NOES].until_ms > now_ms) &&
	    !is_waiting(look, route, name)) {
		look->wanted[(look->first + look->n++) % MAX_LOOKS] =
		    (struct wanted){ route, mem_dup(name) };
		pthread_cond_signal(&look->more);
		taken = true;
	}
	pthread_mutex_unlock(&look->lock);
	return taken;
}

/* A burst of a second's worth is let through at once, then one a gap. */
static int64_t
pace_ms(struct look *look)
{
	int64_t now_ms = clock_boot_ms();
	int64_t wait_ms = look->next_ms - now_ms;

	if (look->next_ms < now_ms - 1000)
		look->next_ms = now_ms - 1000;
	look->next_ms += 1000 / LOOKS_A_SECOND;
	return wait_ms;
}

static void
sleep_ms(int64_t ms)
{
	const struct timespec gap = { ms / 1000, ms % 1000 * 1000000 };

	if (ms > 0)
		nanosleep(&gap, NULL);
}

bool
look_take(struct look *look, const struct route **route, char *name)
{
	int64_t wait_ms = 0;
	bool open;

	pthread_mutex_lock(&look->lock);
	while (look->n == 0 && !look->closed)
		pthread_cond_wait(&look->more, &look->lock);
	if ((open = !look->closed)) {
		*route = look->wanted[look->first].route;
		strcpy(name, look->wanted[look->first].name);
		free(look->wanted[look->first].name);
		look->first = (look->first + 1) % MAX_LOOKS;
		look->n--;
		wait_ms = pace_ms(look);
	}
	pthread_mutex_unlock(&look->lock);
	sleep_ms(wait_ms);
	return open;
}

void
look_close(struct look *look)
{
	pthread_mutex_lock(&look->lock);
	look->closed = true;
	pthread_cond_broadcast(&look->more);
	pthread_mutex_unlock(&look->lock);
}

static void
remember_no(struct look *look, const struct route *route, const char *name)
{
	uint64_t hash = hash_of(route, name);

	pthread_mutex_lock(&look->lock);
	look->noes[hash % NOES].hash = hash;
	look->noes[hash % NOES].until_ms = clock_boot_ms() + LOOK_NO_MS;
	pthread_mutex_unlock(&look->lock);
}

struct learning {
	const struct route *route;
	const char *name;
	bool *made;
};

static enum err
learn(struct table_txn *txn, void *arg)
{
	struct learning *learning = arg;

	return row_learn(txn, learning->route, learning->name, learning->made);
}

enum err
look_run(struct look *look, struct table *table, struct http *http,
    const struct conf *conf, const struct route *route, const char *name,
    bool *made)
{
	struct learning learning = { route, name, made };
	struct probe_refs refs;
	enum err err;

	err = probe_advert(http, conf, route, route->primary, name, &refs);
	if (err == ERR_OK)
		return table_write(table, learn, &learning);
	remember_no(look, route, name);
	return err;
}

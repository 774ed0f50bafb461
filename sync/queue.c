/* queue.c: what the daemon's workers do next: fair lanes over the lag index */
/* SPDX-License-Identifier: ISC */
#include "sync/queue.h"

#include <assert.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "conf/clock.h"
#include "conf/mem.h"

#define MIN_REST_MS 250
/* Rests end in steps: all of one step stand in one list. */
#define STEP_MS 250
#define STEPS (MAX_REST_MS / STEP_MS + 2)

enum state { URGENT, WAITING, RUNNING, RESTING };

struct item {
	TAILQ_ENTRY(item) link; /* of the list that state says */
	enum state state;
	uint64_t turn;	   /* when it came to wait */
	bool again;	   /* put while it was running */
	bool verify;	   /* put by QUEUE_VERIFY */
	unsigned failures; /* in a row */
	int64_t until_ms;  /* clock_boot_ms(), of a resting one */
	char *name;
};
TAILQ_HEAD(items, item);

struct lane {
	void *by_name;		     /* tsearch(3) tree of struct item */
	struct items urgent;	     /* the last one first */
	struct items waiting;	     /* the first one first */
	struct items resting[STEPS]; /* a ring, by until_ms */
	int64_t step;		     /* no rest ends before this one */
	uint64_t puts, takes;
	size_t size;
	pthread_cond_t more;
};

struct queue {
	pthread_mutex_t lock;
	bool draining, closed;
	size_t n;
	struct lane *lanes;
};

static int
compare(const void *a, const void *b)
{
	const struct item *one = a, *other = b;

	return strcmp(one->name, other->name);
}

struct queue *
queue_new(size_t lanes)
{
	struct queue *queue = mem_zalloc(sizeof(*queue));
	pthread_condattr_t attr;

	pthread_mutex_init(&queue->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	queue->n = lanes;
	queue->lanes = mem_array(lanes, sizeof(*queue->lanes));
	for (size_t i = 0; i < lanes; i++) {
		struct lane *lane = &queue->lanes[i];

		TAILQ_INIT(&lane->urgent);
		TAILQ_INIT(&lane->waiting);
		for (size_t n = 0; n < STEPS; n++)
			TAILQ_INIT(&lane->resting[n]);
		lane->step = clock_boot_ms() / STEP_MS;
		pthread_cond_init(&lane->more, &attr);
	}
	pthread_condattr_destroy(&attr);
	return queue;
}

static void
free_item(void *item)
{
	free(((struct item *)item)->name);
	free(item);
}

void
queue_free(struct queue *queue)
{
	if (queue == NULL)
		return;
	for (size_t i = 0; i < queue->n; i++) {
		tdestroy(queue->lanes[i].by_name, free_item);
		pthread_cond_destroy(&queue->lanes[i].more);
	}
	pthread_mutex_destroy(&queue->lock);
	free(queue->lanes);
	free(queue);
}

static struct item *
find(struct lane *lane, const char *name)
{
	struct item key = { .name = (char *)name };
	struct item **node = tfind(&key, &lane->by_name, compare);

	return node != NULL ? *node : NULL;
}

static struct item *
add(struct lane *lane, const char *name)
{
	struct item *item = mem_zalloc(sizeof(*item));

	item->name = mem_dup(name);
	if (tsearch(item, &lane->by_name, compare) == NULL)
		abort(); /* as any allocation that fails */
	lane->size++;
	return item;
}

static void
forget(struct lane *lane, struct item *item)
{
	tdelete(item, &lane->by_name, compare);
	lane->size--;
	free_item(item);
}

static struct items *
list_of(struct lane *lane, const struct item *item)
{
	switch (item->state) {
	case URGENT:
		return &lane->urgent;
	case WAITING:
		return &lane->waiting;
	default:
		return &lane->resting[item->until_ms / STEP_MS % STEPS];
	}
}

static void
wait_in_line(struct lane *lane, struct item *item, bool urgent)
{
	item->state = urgent ? URGENT : WAITING;
	item->turn = lane->puts++;
	if (urgent)
		TAILQ_INSERT_HEAD(&lane->urgent, item, link);
	else
		TAILQ_INSERT_TAIL(&lane->waiting, item, link);
	pthread_cond_signal(&lane->more);
}

bool
queue_put(struct queue *queue, size_t i, const char *name, enum queue_why why)
{
	struct lane *lane = &queue->lanes[i];
	bool urgent = why == QUEUE_URGENT;
	struct item *item;
	bool fits = true;

	assert(i < queue->n);
	pthread_mutex_lock(&queue->lock);
	item = find(lane, name);
	if (item == NULL && lane->size >= MAX_LANE) {
		fits = false;
	} else if (item == NULL) {
		item = add(lane, name);
		wait_in_line(lane, item, urgent);
	} else if (item->state == RUNNING) {
		item->again = true;
	} else if (urgent) {
		TAILQ_REMOVE(list_of(lane, item), item, link);
		wait_in_line(lane, item, true);
	}
	if (fits && why == QUEUE_VERIFY)
		item->verify = true;
	pthread_mutex_unlock(&queue->lock);
	return fits;
}

static void
end_step(struct lane *lane, struct items *resting, int64_t now_ms)
{
	struct item *item, *next;

	for (item = TAILQ_FIRST(resting); item != NULL; item = next) {
		next = TAILQ_NEXT(item, link);
		/* one of a later round of the ring rests on */
		if (item->until_ms > now_ms)
			continue;
		TAILQ_REMOVE(resting, item, link);
		wait_in_line(lane, item, false);
	}
}

/*
 * Those that rested long enough wait again; when next to look.  Costs what
 * comes back, not what rests: with a replica that fails, all names may.
 */
static int64_t
end_rests(struct lane *lane, int64_t now_ms)
{
	const int64_t now_step = now_ms / STEP_MS;
	int64_t next = now_step + 1;

	if (lane->step < now_step - STEPS)
		lane->step = now_step - STEPS;
	for (; lane->step < now_step; lane->step++)
		end_step(lane, &lane->resting[lane->step % STEPS], now_ms);
	while (next < now_step + STEPS &&
	    TAILQ_EMPTY(&lane->resting[(next - 1) % STEPS]))
		next++;
	return next * STEP_MS;
}

/*
 * Urgent ones first; but each second time the one that has waited longest,
 * lest a few that always come back keep all others waiting.  NULL: none.
 */
static struct item *
choose(struct lane *lane)
{
	struct item *first = TAILQ_FIRST(&lane->urgent);
	struct item *last = TAILQ_LAST(&lane->urgent, items);
	struct item *waiting = TAILQ_FIRST(&lane->waiting);

	if (first == NULL || waiting == NULL)
		return first != NULL ? first : waiting;
	if (lane->takes++ % 2 == 0)
		return first;
	return last->turn < waiting->turn ? last : waiting;
}

static void
sleep_until(struct queue *queue, struct lane *lane, int64_t for_ms)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_sec += for_ms / 1000;
	at.tv_nsec += (for_ms % 1000 + 1) * 1000000;
	if (at.tv_nsec >= 1000000000) {
		at.tv_sec++;
		at.tv_nsec -= 1000000000;
	}
	pthread_cond_timedwait(&lane->more, &queue->lock, &at);
}

bool
queue_take(struct queue *queue, size_t i, char *name, bool *verify)
{
	struct lane *lane = &queue->lanes[i];
	struct item *item = NULL;

	assert(i < queue->n);
	pthread_mutex_lock(&queue->lock);
	while (!queue->closed) {
		int64_t now_ms = clock_boot_ms();
		int64_t next_ms = queue->draining ? now_ms
						  : end_rests(lane, now_ms);

		if ((item = choose(lane)) != NULL || queue->draining)
			break;
		sleep_until(queue, lane, next_ms - now_ms);
	}
	if (queue->closed)
		item = NULL;
	if (item != NULL) {
		TAILQ_REMOVE(list_of(lane, item), item, link);
		item->state = RUNNING;
		item->again = false;
		strcpy(name, item->name);
		*verify = item->verify;
	}
	pthread_mutex_unlock(&queue->lock);
	return item != NULL;
}

/* Doubles from MIN_REST_MS; half of it is chance, so that a crowd parts. */
static int64_t
rest_ms(unsigned failures)
{
	int64_t full = MIN_REST_MS;

	while (failures-- > 1 && full < MAX_REST_MS)
		full *= 2;
	if (full > MAX_REST_MS)
		full = MAX_REST_MS;
	return full / 2 + random() % (full / 2 + 1);
}

void
queue_done(struct queue *queue, size_t i, const char *name, enum queue_done how)
{
	struct lane *lane = &queue->lanes[i];
	struct item *item;

	pthread_mutex_lock(&queue->lock);
	item = find(lane, name);
	assert(item != NULL && item->state == RUNNING);
	if (how == QUEUE_FAILED && !item->again) {
		item->state = RESTING;
		item->until_ms = clock_boot_ms() + rest_ms(++item->failures);
		TAILQ_INSERT_TAIL(list_of(lane, item), item, link);
		/* somebody has to sleep no longer than this one rests */
		pthread_cond_signal(&lane->more);
	} else if (how == QUEUE_DONE && !item->again) {
		forget(lane, item);
	} else {
		item->verify = item->verify && how != QUEUE_DONE;
		item->failures = how == QUEUE_FAILED ? item->failures : 0;
		wait_in_line(lane, item, how == QUEUE_AGAIN);
	}
	pthread_mutex_unlock(&queue->lock);
}

size_t
queue_size(struct queue *queue, size_t i)
{
	size_t size;

	pthread_mutex_lock(&queue->lock);
	size = queue->lanes[i].size;
	pthread_mutex_unlock(&queue->lock);
	return size;
}

static void
wake_all(struct queue *queue, bool *flag)
{
	pthread_mutex_lock(&queue->lock);
	*flag = true;
	for (size_t i = 0; i < queue->n; i++)
		pthread_cond_broadcast(&queue->lanes[i].more);
	pthread_mutex_unlock(&queue->lock);
}

void
queue_drain(struct queue *queue)
{
	wake_all(queue, &queue->draining);
}

void
queue_close(struct queue *queue)
{
	wake_all(queue, &queue->closed);
}

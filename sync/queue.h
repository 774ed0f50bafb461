/* queue.h: what the daemon's workers do next: fair lanes over the lag index */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_QUEUE_H
#define SYNC_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"

/*
 * Names one lane holds; what does not fit stays in the table's lag index and
 * comes with a later refill.
 */
#define MAX_LANE 100000
/* A failing name rests at most so long, in milliseconds. */
#define MAX_REST_MS 60000

/*
 * One lane per route and replica, each with workers of its own, so that no
 * replica waits for another.  In a lane, a name is there once: waiting,
 * running, or resting after a failure.  Safe in many threads at once.
 */
struct queue;
struct queue *queue_new(size_t lanes);
void queue_free(struct queue *);

enum queue_why {
	QUEUE_LAGS, /* it lags: in its turn */
	/*
	 * Somebody reads it, or it just changed: before all others, and even
	 * if it is resting; but each second turn is that of the one that has
	 * waited longest, so that no repository starves.
	 */
	QUEUE_URGENT,
	QUEUE_VERIFY, /* in its turn, and also if it does not lag */
};

/*
 * name is to be looked at.  One that is running is looked at once more
 * afterwards.  Returns false where the lane is full.
 */
bool queue_put(struct queue *, size_t lane, const char *name, enum queue_why);

/*
 * The next name of a lane into name (of NAME_SIZE), which then is running;
 * waits until there is one.  false: the queue was closed, or (once it is
 * draining) nothing is left that is not resting.  *verify: it was put by
 * QUEUE_VERIFY.
 */
bool queue_take(struct queue *, size_t lane, char *name, bool *verify);

enum queue_done {
	QUEUE_DONE,   /* it is forgotten */
	QUEUE_AGAIN,  /* urgently */
	QUEUE_FAILED, /* rests, longer each time, with jitter */
};
void queue_done(struct queue *, size_t lane, const char *name, enum queue_done);

/* How many names wait, run or rest in a lane. */
size_t queue_size(struct queue *, size_t lane);

/* From now on queue_take() does not wait for new names. */
void queue_drain(struct queue *);
/* Wakes everybody in queue_take(), for good. */
void queue_close(struct queue *);

#endif

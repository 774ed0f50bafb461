/* queue_test.c: fair lanes: once each, urgent first, failures rest */
/* SPDX-License-Identifier: ISC */
#include <stdio.h>

#include "sync/queue.h"
#include "tests/unit/tap.h"

/* What queue_take() gives on a draining queue, or "-" where nothing waits. */
static const char *
take(struct queue *queue, size_t lane)
{
	static char name[NAME_SIZE];
	bool verify;

	return queue_take(queue, lane, name, &verify) ? name : "-";
}

static void
order(void)
{
	struct queue *queue = queue_new(2);

	queue_put(queue, 0, "a", QUEUE_LAGS);
	queue_put(queue, 0, "b", QUEUE_LAGS);
	queue_put(queue, 0, "a", QUEUE_LAGS);
	queue_put(queue, 0, "c", QUEUE_URGENT);
	queue_put(queue, 1, "z", QUEUE_LAGS);
	tap_int((long long)queue_size(queue, 0), 3, "a name is there once");
	queue_drain(queue);
	tap_str(take(queue, 0), "c", "urgent first");
	tap_str(take(queue, 0), "a", "then in order");
	tap_str(take(queue, 1), "z", "lanes do not wait for each other");
	queue_put(queue, 0, "b", QUEUE_URGENT);
	tap_str(take(queue, 0), "b", "urgent, though it waited already");
	tap_str(take(queue, 0), "-", "all taken");
	queue_free(queue);
}

/* Two that never come to rest, as while somebody pushes all the time. */
static void
fairness(void)
{
	static const char *const want[] = { "hot/2", "a", "hot/2", "b", "hot/2",
		"hot/1", "hot/1", "c" };
	struct queue *queue = queue_new(1);

	queue_drain(queue);
	queue_put(queue, 0, "a", QUEUE_LAGS);
	queue_put(queue, 0, "b", QUEUE_LAGS);
	queue_put(queue, 0, "hot/1", QUEUE_URGENT);
	queue_put(queue, 0, "c", QUEUE_LAGS);
	queue_put(queue, 0, "hot/2", QUEUE_URGENT);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		const char *name = take(queue, 0);

		tap_str(name, want[i], "turn %zu", i);
		queue_done(queue, 0, name,
		    name[0] == 'h' ? QUEUE_AGAIN : QUEUE_DONE);
	}
	queue_free(queue);
}

static void
outcomes(void)
{
	struct queue *queue = queue_new(1);

	queue_drain(queue);
	queue_put(queue, 0, "a", QUEUE_LAGS);
	tap_str(take(queue, 0), "a", "taken");
	queue_put(queue, 0, "a", QUEUE_LAGS);
	tap_str(take(queue, 0), "-", "not twice at once");
	queue_done(queue, 0, "a", QUEUE_DONE);
	tap_str(take(queue, 0), "a", "put while it ran: once more");
	queue_done(queue, 0, "a", QUEUE_AGAIN);
	tap_str(take(queue, 0), "a", "again");
	queue_done(queue, 0, "a", QUEUE_FAILED);
	tap_str(take(queue, 0), "-", "a failed one rests");
	queue_put(queue, 0, "a", QUEUE_LAGS);
	tap_str(take(queue, 0), "-", "a refill does not end its rest");
	queue_put(queue, 0, "a", QUEUE_URGENT);
	tap_str(take(queue, 0), "a", "somebody who asks for it does");
	queue_done(queue, 0, "a", QUEUE_DONE);
	tap_int((long long)queue_size(queue, 0), 0, "done is forgotten");
	queue_free(queue);
}

static void
rests(void)
{
	struct queue *queue = queue_new(1);

	queue_put(queue, 0, "a", QUEUE_LAGS);
	tap_str(take(queue, 0), "a", "taken");
	queue_done(queue, 0, "a", QUEUE_FAILED);
	tap_str(take(queue, 0), "a", "comes back when it has rested");
	queue_done(queue, 0, "a", QUEUE_DONE);
	queue_put(queue, 0, "b", QUEUE_LAGS);
	queue_close(queue);
	tap_str(take(queue, 0), "-", "closed");
	queue_free(queue);
}

static void
bound(void)
{
	struct queue *queue = queue_new(1);
	char name[32];
	bool all = true;

	for (int i = 0; i < MAX_LANE; i++) {
		snprintf(name, sizeof(name), "p/%d", i);
		all = queue_put(queue, 0, name, QUEUE_LAGS) && all;
	}
	tap_ok(all, "%d names fit", MAX_LANE);
	tap_ok(!queue_put(queue, 0, "one/more", QUEUE_LAGS), "and no more");
	tap_ok(queue_put(queue, 0, "p/1", QUEUE_URGENT), "known ones go on");
	queue_free(queue);
}

/* What is to be verified is so until that was done, whoever asks besides. */
static void
verify(void)
{
	static const struct {
		enum queue_why first, second;
		enum queue_done done;
		bool before, after;
	} rows[] = {
		{ QUEUE_LAGS, QUEUE_LAGS, QUEUE_FAILED, false, false },
		{ QUEUE_VERIFY, QUEUE_LAGS, QUEUE_DONE, true, false },
		{ QUEUE_LAGS, QUEUE_VERIFY, QUEUE_DONE, true, false },
		{ QUEUE_VERIFY, QUEUE_URGENT, QUEUE_FAILED, true, true },
		{ QUEUE_URGENT, QUEUE_LAGS, QUEUE_AGAIN, false, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct queue *queue = queue_new(1);
		char name[NAME_SIZE];
		bool asked = false;

		queue_drain(queue);
		queue_put(queue, 0, "a", rows[i].first);
		queue_put(queue, 0, "a", rows[i].second);
		tap_ok(queue_take(queue, 0, name, &asked) &&
			asked == rows[i].before,
		    "row %zu: verify", i);
		queue_put(queue, 0, "a", QUEUE_LAGS);
		queue_done(queue, 0, "a", rows[i].done);
		tap_ok(queue_take(queue, 0, name, &asked) &&
			asked == rows[i].after,
		    "row %zu: and afterwards", i);
		queue_free(queue);
	}
}

int
main(void)
{
	order();
	fairness();
	outcomes();
	rests();
	bound();
	verify();
	return tap_done();
}

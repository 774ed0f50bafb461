/* slots.c: a bounded number of connections, and those that wait, in epoll */
/* SPDX-License-Identifier: ISC */
#include "fcgi/slots.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "conf/clock.h"

/* Longer buffers are not kept for the next connection. */
#define KEPT_ROOM 32768
/* Pause of a thread that waits at the end for what others may bring. */
#define END_PAUSE_US 5000

/* In the data of an event; others are serial << 32 | FIRST_SLOT + index. */
enum { KEY_LISTENER, KEY_WAKE, KEY_TIMER, KEY_MORE, FIRST_SLOT };

static bool
poll_fd(const struct slots *slots, int operation, int fd, uint32_t events,
    uint64_t key)
{
	struct epoll_event event = { .events = events, .data.u64 = key };

	return epoll_ctl(slots->epoll, operation, fd, &event) == 0;
}

/* At the end it is gone, and this fails. */
void
slots_listen(struct slots *slots)
{
	(void)poll_fd(slots, EPOLL_CTL_MOD, slots->listener,
	    EPOLLIN | EPOLLONESHOT, KEY_LISTENER);
}

/* The lock is held. */
static void
listen_if_full(struct slots *slots)
{
	if (!slots->full)
		return;
	slots->full = false;
	slots_listen(slots);
}

/* The lock is held; 0 stops it. */
static void
set_timer(struct slots *slots, int64_t at_ms)
{
	struct itimerspec when = { .it_value.tv_sec = at_ms / 1000,
		.it_value.tv_nsec = at_ms % 1000 * 1000000 };

	slots->timer_ms = at_ms;
	timerfd_settime(slots->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

/* The lock is held.  It fires then, or sooner. */
static void
set_timer_by(struct slots *slots, int64_t at_ms)
{
	if (slots->timer_ms == 0 || at_ms < slots->timer_ms)
		set_timer(slots, at_ms);
}

/* The lock is held, and no other thread has it. */
static void
close_slot(struct slots *slots, struct connection *connection)
{
	/* a child that is about to exec may still have it open */
	if (connection->polled)
		(void)poll_fd(slots, EPOLL_CTL_DEL, connection->fd, 0, 0);
	if (connection->fd != -1)
		close(connection->fd);
	if (connection->phase == PARKED)
		atomic_fetch_sub(&slots->n_parked, 1);
	if (connection->in.room > KEPT_ROOM)
		buf_free(&connection->in);
	buf_reset(&connection->in);
	connection->fd = -1;
	connection->phase = CLOSED;
	connection->polled = false;
	connection->serial++;
	slots->n_used--;
	connection->next = slots->closed;
	slots->closed = connection;
	listen_if_full(slots);
}

void
slots_drop(struct slots *slots, struct connection *connection)
{
	pthread_mutex_lock(&slots->lock);
	close_slot(slots, connection);
	pthread_mutex_unlock(&slots->lock);
}

/* The lock is held.  Without events: until its peer is gone. */
static bool
poll_slot(struct slots *slots, struct connection *connection, uint32_t events)
{
	uint64_t index = (uint64_t)(connection - slots->all);
	int operation = connection->polled ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	connection->polled = true;
	return poll_fd(slots, operation, connection->fd, events | EPOLLONESHOT,
	    (uint64_t)connection->serial << 32 | (FIRST_SLOT + index));
}

void
slots_wait(struct slots *slots, struct connection *connection, enum phase phase)
{
	int64_t until_ms = connection->until_ms;

	pthread_mutex_lock(&slots->lock);
	if (slots->end_ms != 0 && until_ms > slots->end_ms)
		connection->until_ms = until_ms = slots->end_ms;
	connection->phase = phase;
	connection->waits_since = ++slots->n_waits;
	if ((slots->end_ms != 0 && phase != PARTIAL) ||
	    !poll_slot(slots, connection, EPOLLIN)) {
		close_slot(slots, connection);
	} else {
		if (until_ms != 0)
			set_timer_by(slots, until_ms);
		/* an idle one gives way to one that waits for a slot */
		if (phase == IDLE)
			listen_if_full(slots);
	}
	pthread_mutex_unlock(&slots->lock);
}

/* The lock is held. */
static void
make_ready(struct slots *slots, struct connection *connection)
{
	connection->phase = BUSY;
	connection->next = slots->ready;
	slots->ready = connection;
}

void
slots_ready(struct slots *slots, struct connection *connection)
{
	pthread_mutex_lock(&slots->lock);
	make_ready(slots, connection);
	pthread_mutex_unlock(&slots->lock);
}

/* The lock is held. */
static bool
has_news(const struct connection *connection)
{
	return atomic_load(connection->word) != connection->seen;
}

void
slots_park(struct slots *slots, struct connection *connection)
{
	pthread_mutex_lock(&slots->lock);
	if (slots->end_ms != 0 || has_news(connection)) {
		/* its thread takes it at once: see slots_next() */
		make_ready(slots, connection);
	} else if (!poll_slot(slots, connection, 0)) {
		close_slot(slots, connection);
	} else {
		connection->phase = PARKED;
		connection->until_ms = connection->park_ms;
		atomic_fetch_add(&slots->n_parked, 1);
		set_timer_by(slots, connection->park_ms);
		listen_if_full(slots);
	}
	pthread_mutex_unlock(&slots->lock);
}

/* The lock is held.  last: it is not parked again. */
static void
unpark(struct slots *slots, struct connection *connection, bool last)
{
	uint64_t one = 1;

	if (last)
		connection->park_ms = clock_boot_ms();
	atomic_fetch_sub(&slots->n_parked, 1);
	make_ready(slots, connection);
	/* it is a semaphore: for each, a thread looks */
	(void)!write(slots->more, &one, sizeof(one));
}

void
slots_wake(struct slots *slots, bool all)
{
	pthread_mutex_lock(&slots->lock);
	for (unsigned i = 0; i < slots->max; i++) {
		struct connection *one = &slots->all[i];

		if (one->phase == PARKED && (all || has_news(one)))
			unpark(slots, one, all);
	}
	pthread_mutex_unlock(&slots->lock);
}

static bool
has_bytes(const struct connection *connection)
{
	char byte;

	return recv(connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* The lock is held.  Idle since `since` or later. */
static struct connection *
longest_idle(const struct slots *slots, uint64_t since)
{
	struct connection *longest = NULL;

	for (unsigned i = 0; i < slots->max; i++) {
		struct connection *one = &slots->all[i];

		if (one->phase == IDLE && one->waits_since >= since &&
		    (longest == NULL ||
			one->waits_since < longest->waits_since))
			longest = one;
	}
	return longest;
}

/*
 * The lock is held.  One whose next request just came is not idle.  false:
 * none is.
 */
static bool
close_longest_idle(struct slots *slots)
{
	struct connection *one = longest_idle(slots, 0);

	while (one != NULL && has_bytes(one))
		one = longest_idle(slots, one->waits_since + 1);
	if (one != NULL)
		close_slot(slots, one);
	return one != NULL;
}

/* The lock is held. */
static bool
has_room(const struct slots *slots)
{
	return slots->closed != NULL &&
	    slots->n_used < slots->room + atomic_load(&slots->n_parked);
}

struct connection *
slots_take(struct slots *slots)
{
	struct connection *connection = NULL;

	pthread_mutex_lock(&slots->lock);
	/* those that were parked, and are kept, may be too many by several */
	while (!has_room(slots) && close_longest_idle(slots))
		;
	if (has_room(slots)) {
		connection = slots->closed;
		slots->closed = connection->next;
		slots->n_used++;
		connection->phase = BUSY;
	} else {
		slots->full = true;
	}
	pthread_mutex_unlock(&slots->lock);
	return connection;
}

/* Closes what has waited too long; what was parked so long is ready. */
static void
sweep(struct slots *slots)
{
	int64_t now_ms = clock_boot_ms(), next_ms = 0;

	pthread_mutex_lock(&slots->lock);
	for (unsigned i = 0; i < slots->max; i++) {
		struct connection *one = &slots->all[i];

		if (one->phase < PARTIAL || one->until_ms == 0)
			continue;
		if (one->until_ms <= now_ms && one->phase == PARKED)
			unpark(slots, one, true);
		else if (one->until_ms <= now_ms)
			close_slot(slots, one);
		else if (next_ms == 0 || one->until_ms < next_ms)
			next_ms = one->until_ms;
	}
	set_timer(slots, next_ms);
	pthread_mutex_unlock(&slots->lock);
}

/* Of an event that may be old: its slot was closed since. */
static enum slots_event
take_waiting(struct slots *slots, uint64_t key, struct connection **out,
    enum phase *phase)
{
	struct connection *one = &slots->all[(uint32_t)key - FIRST_SLOT];
	bool waits;

	pthread_mutex_lock(&slots->lock);
	waits = one->serial == key >> 32 && one->phase >= PARTIAL;
	if (waits && one->phase == PARKED) {
		close_slot(slots, one);
		waits = false;
	} else if (waits) {
		*phase = one->phase;
		*out = one;
		one->phase = BUSY;
	}
	pthread_mutex_unlock(&slots->lock);
	return waits ? SLOTS_READABLE : SLOTS_NONE;
}

/* The lock is held. */
static bool
has_partial(const struct slots *slots)
{
	for (unsigned i = 0; i < slots->max; i++)
		if (slots->all[i].phase == PARTIAL)
			return true;
	return false;
}

/* Without waiting. */
static enum slots_event
take_ready(struct slots *slots, struct connection **out)
{
	enum slots_event event = SLOTS_NONE;

	pthread_mutex_lock(&slots->lock);
	if (slots->ready != NULL) {
		*out = slots->ready;
		slots->ready = (*out)->next;
		event = SLOTS_READY;
	} else if (slots->end_ms != 0 && !has_partial(slots)) {
		event = SLOTS_END;
	}
	pthread_mutex_unlock(&slots->lock);
	return event;
}

enum slots_event
slots_next(struct slots *slots, struct connection **out, enum phase *phase)
{
	enum slots_event ready = take_ready(slots, out);
	struct epoll_event event;
	uint64_t taken;

	if (ready != SLOTS_NONE)
		return ready;
	if (epoll_wait(slots->epoll, &event, 1, -1) != 1)
		return SLOTS_NONE;
	switch (event.data.u64) {
	case KEY_LISTENER:
		return SLOTS_ACCEPT;
	case KEY_WAKE:
		usleep(END_PAUSE_US);
		return SLOTS_NONE;
	case KEY_TIMER:
		sweep(slots);
		return SLOTS_NONE;
	case KEY_MORE:
		/* another thread may have been faster */
		(void)!read(slots->more, &taken, sizeof(taken));
		return SLOTS_NONE;
	}
	return take_waiting(slots, event.data.u64, out, phase);
}

/*
 * The lock is held.  A request that is on its way is waited for, and one that
 * is parked answered.
 */
static void
end_waiting(struct slots *slots, struct connection *one, int64_t until_ms)
{
	if (one->phase == PARKED) {
		unpark(slots, one, true);
		return;
	}
	if (one->phase == LINGERS || (one->in.len == 0 && !has_bytes(one))) {
		close_slot(slots, one);
		return;
	}
	one->phase = PARTIAL;
	if (one->until_ms == 0 || one->until_ms > until_ms)
		one->until_ms = until_ms;
}

void
slots_end(struct slots *slots, unsigned last_ms)
{
	int64_t until_ms = clock_boot_ms() + last_ms;
	uint64_t one = 1;

	pthread_mutex_lock(&slots->lock);
	slots->end_ms = until_ms;
	slots->full = false;
	(void)poll_fd(slots, EPOLL_CTL_DEL, slots->listener, 0, 0);
	for (unsigned i = 0; i < slots->max; i++)
		if (slots->all[i].phase >= PARTIAL)
			end_waiting(slots, &slots->all[i], until_ms);
	/* sooner, if one of them ends sooner */
	set_timer(slots,
	    slots->timer_ms != 0 && slots->timer_ms < until_ms ? slots->timer_ms
							       : until_ms);
	pthread_mutex_unlock(&slots->lock);
	(void)!write(slots->wake, &one, sizeof(one));
}

enum err
slots_open(struct slots *slots, int listener, unsigned room,
    unsigned max_parked)
{
	int flags = fcntl(listener, F_GETFL);

	slots->listener = listener;
	slots->room = room;
	slots->max = room + max_parked;
	slots->all = mem_array(slots->max, sizeof(*slots->all));
	pthread_mutex_init(&slots->lock, NULL);
	for (unsigned i = slots->max; i-- > 0;) {
		slots->all[i].fd = -1;
		slots->all[i].next = slots->closed;
		slots->closed = &slots->all[i];
	}
	slots->epoll = epoll_create1(EPOLL_CLOEXEC);
	slots->timer = timerfd_create(CLOCK_BOOTTIME,
	    TFD_CLOEXEC | TFD_NONBLOCK);
	slots->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	slots->more = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	/* another process that listens there may be faster */
	if (flags == -1 || fcntl(listener, F_SETFL, flags | O_NONBLOCK) == -1 ||
	    !poll_fd(slots, EPOLL_CTL_ADD, slots->timer, EPOLLIN | EPOLLET,
		KEY_TIMER) ||
	    !poll_fd(slots, EPOLL_CTL_ADD, slots->wake, EPOLLIN, KEY_WAKE) ||
	    !poll_fd(slots, EPOLL_CTL_ADD, slots->more, EPOLLIN, KEY_MORE) ||
	    !poll_fd(slots, EPOLL_CTL_ADD, listener, EPOLLIN | EPOLLONESHOT,
		KEY_LISTENER))
		return err_sys("waiting for connections");
	return ERR_OK;
}

static void
close_fd(int fd)
{
	if (fd != -1)
		close(fd);
}

void
slots_close(struct slots *slots)
{
	for (unsigned i = 0; i < slots->max; i++) {
		close_fd(slots->all[i].fd);
		buf_free(&slots->all[i].in);
	}
	close_fd(slots->epoll);
	close_fd(slots->timer);
	close_fd(slots->wake);
	close_fd(slots->more);
	pthread_mutex_destroy(&slots->lock);
	free(slots->all);
}

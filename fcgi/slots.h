/* slots.h: a bounded number of connections, and those that wait, in epoll */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_SLOTS_H
#define FCGI_SLOTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "conf/mem.h"
#include "fcgi/records.h"

/* Only for connections.c: connections.h says what they are for. */
enum phase {
	CLOSED,
	BUSY,	 /* a thread has it, or it is queued as ready */
	PARTIAL, /* from here on it waits: for its request, */
	IDLE,	 /* for the next one, */
	LINGERS, /* or for the peer's close */
	PARKED,	 /* has its request, and waits for news */
};

struct connection {
	int fd;
	enum phase phase;
	uint32_t serial; /* of this use of the slot: tells old events */
	bool polled;	 /* epoll knows fd */
	bool served;	 /* a request before */
	int64_t park_ms; /* boot clock, until when it may be; 0: never was */
	/* its news are that this is another than it was */
	const _Atomic uint32_t *word;
	uint32_t seen;
	int64_t until_ms;     /* boot clock, while it waits; 0: for ever */
	uint64_t waits_since; /* in the order of waiting */
	struct records records;
	struct buf in;
	struct connection *next; /* among the closed, or the ready */
};

struct slots {
	int listener;  /* borrowed */
	unsigned max;  /* all there are */
	unsigned room; /* for those that are not parked */
	unsigned n_used;
	int epoll, timer, wake, more;
	pthread_mutex_t lock;
	struct connection *all;
	struct connection *closed, *ready;
	uint64_t n_waits;
	int64_t timer_ms; /* boot clock, when it fires; 0: never */
	int64_t end_ms;	  /* boot clock, for the last to be whole; 0: no end */
	bool full;	  /* the listener waits for a free slot */
	atomic_uint n_parked;
};

/* ERR_SYS; slots_close() in any case. */
MUST_USE enum err slots_open(struct slots *, int listener, unsigned room,
    unsigned max_parked);
void slots_close(struct slots *);

/* A free one for accept(2); the longest idle gives way; NULL: later. */
struct connection *slots_take(struct slots *);
/* The listener's next event wakes one thread. */
void slots_listen(struct slots *);
/* Closes one that is the caller's. */
void slots_drop(struct slots *, struct connection *);
/* It waits, until until_ms, and is nobody's: do not touch it after this. */
void slots_wait(struct slots *, struct connection *, enum phase);
/*
 * Until its news come, or its park_ms: then it is ready.  One whose peer goes
 * is closed.
 */
void slots_park(struct slots *, struct connection *);
/* Makes those ready whose news have come; all: the others, too, for ever. */
void slots_wake(struct slots *, bool all);
/* It has a whole request already. */
void slots_ready(struct slots *, struct connection *);

enum slots_event {
	SLOTS_NONE,
	SLOTS_END,
	SLOTS_ACCEPT,
	SLOTS_READY,	/* *out, with a whole request, is the caller's */
	SLOTS_READABLE, /* *out, that was *phase, is the caller's */
};

/* Waits for what is next to do. */
enum slots_event slots_next(struct slots *, struct connection **out,
    enum phase *phase);
/* As connections_end(). */
void slots_end(struct slots *, unsigned last_ms);

#endif

/* inbox.c: the daemon's two sockets, each drained by a thread of its own */
/* SPDX-License-Identifier: ISC */
#include "sync/inbox.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "conf/log.h"
#include "conf/mem.h"
#include "sync/feed.h"
#include "sync/row.h"
#include "sync/wake.h"

/* A thread looks up from its socket so often, in milliseconds. */
#define WAIT_MS 60000

/*
 * Lines between the thread that drains the socket, whose kernel queue holds
 * ten datagrams, and the one that waits for the disk.
 */
struct ring {
	pthread_mutex_t lock;
	pthread_cond_t more;
	size_t first, n;
	struct feed_line lines[MAX_FEED_LINES];
};

/* What the threads share, for as long as they run. */
struct post {
	struct inbox *inbox;
	int wake_fd, feed_fd;
	struct ring ring;
};

static bool
ring_put(struct ring *ring, const struct feed_line *line)
{
	bool fits;

	pthread_mutex_lock(&ring->lock);
	if ((fits = ring->n < MAX_FEED_LINES))
		ring->lines[(ring->first + ring->n++) % MAX_FEED_LINES] = *line;
	pthread_cond_signal(&ring->more);
	pthread_mutex_unlock(&ring->lock);
	return fits;
}

static struct feed_line
ring_take(struct ring *ring)
{
	struct feed_line line;

	pthread_mutex_lock(&ring->lock);
	while (ring->n == 0)
		pthread_cond_wait(&ring->more, &ring->lock);
	line = ring->lines[ring->first];
	ring->first = (ring->first + 1) % MAX_FEED_LINES;
	ring->n--;
	pthread_mutex_unlock(&ring->lock);
	return line;
}

/* False: nothing came, or the socket fails; then the caller comes again. */
static bool
receive(int fd, char *text, size_t size)
{
	static const struct timespec gap = { .tv_sec = 1 };
	static struct log_gate gate;
	enum err err = wake_receive(fd, WAIT_MS, text, size);

	if (err != ERR_OK && err != ERR_ABSENT) {
		log_gated(&gate, LOG_ERR, "%s", err_text());
		nanosleep(&gap, NULL);
	}
	return err == ERR_OK;
}

static void *
drain_feed(void *arg)
{
	static struct log_gate no_line, no_room;
	struct post *post = arg;
	char text[MAX_FEED_LINE + 1];
	char shown[256];
	struct feed_line line;

	for (;;) {
		if (!receive(post->feed_fd, text, sizeof(text)))
			continue;
		if (feed_parse(text, &line) != ERR_OK)
			log_gated(&no_line, LOG_WARNING, "feed: %s: \"%s\"",
			    err_text(), log_escape(shown, sizeof(shown), text));
		else if (!feed_is_write(&line))
			/* a read: no line of a write waits behind it */
			health_tell(post->inbox->health, &line);
		else if (!ring_put(&post->ring, &line))
			log_gated(&no_room, LOG_WARNING,
			    "feed: lines are "
			    "lost: the table is slower than the web server");
	}
	return NULL;
}

/* A repository that was pushed to or read: known ones first in their lanes. */
struct known {
	const struct route *route;
	const char *name;
};

static enum err
is_known(struct table_txn *txn, void *arg)
{
	struct known *known = arg;
	struct row row;

	return row_get(txn, known->route, known->name, &row);
}

static void
attend(struct inbox *inbox, const struct route *route, const char *name)
{
	struct known known = { route, name };
	enum err err = table_read(inbox->table, is_known, &known);

	if (err == ERR_OK)
		lanes_put(inbox->lanes, route, name, QUEUE_URGENT);
	else if (err == ERR_ABSENT)
		(void)look_put(inbox->looks[route - inbox->conf->routes], route,
		    name);
}

static void *
apply_feed(void *arg)
{
	static struct log_gate gate, unfenced;
	struct post *post = arg;
	struct inbox *inbox = post->inbox;
	char name[NAME_SIZE];

	for (;;) {
		struct feed_line line = ring_take(&post->ring);
		const struct route *route;
		enum err err = feed_apply(inbox->table, inbox->conf, &line,
		    &route, name);

		if (err == ERR_OK && name[0] == '\0') {
			log_gated(&unfenced, LOG_WARNING,
			    "%s: a write without a decision: every replica is "
			    "compared anew; did the router run?",
			    route->name);
			inbox->kick(inbox->kick_arg);
		} else if (err == ERR_OK && route->kind == ROUTE_GIT)
			attend(inbox, route, name);
		else if (err != ERR_OK && err != ERR_ABSENT)
			log_gated(&gate, LOG_ERR, "feed: %s", err_text());
	}
	return NULL;
}

static void *
drain_wakes(void *arg)
{
	struct post *post = arg;
	struct inbox *inbox = post->inbox;
	char text[NAME_SIZE + WORD_SIZE + 64];
	char route_name[WORD_SIZE], name[NAME_SIZE];

	for (;;) {
		const struct route *route;

		if (!receive(post->wake_fd, text, sizeof(text)) ||
		    wake_parse(text, route_name, name) != ERR_OK)
			continue;
		route = conf_route(inbox->conf, route_name);
		if (route != NULL && route->kind == ROUTE_GIT &&
		    name[0] != '\0')
			attend(inbox, route, name);
		else
			inbox->kick(inbox->kick_arg);
	}
	return NULL;
}

static enum err
start(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, arg) != 0)
		return err_set(ERR_SYS, "no thread for the daemon's sockets");
	pthread_detach(thread);
	return ERR_OK;
}

enum err
inbox_start(struct inbox *inbox)
{
	const char *run_dir = inbox->conf->run_dir;
	struct post *post;
	int wake_fd, feed_fd;
	enum err err;

	err = wake_bind(run_dir, WAKE_SOCKET, &wake_fd);
	if (err != ERR_OK)
		return err;
	err = wake_bind(run_dir, FEED_SOCKET, &feed_fd);
	if (err != ERR_OK) {
		close(wake_fd);
		return err;
	}
	post = mem_zalloc(sizeof(*post));
	post->inbox = inbox;
	post->wake_fd = wake_fd;
	post->feed_fd = feed_fd;
	pthread_mutex_init(&post->ring.lock, NULL);
	pthread_cond_init(&post->ring.more, NULL);
	err = start(drain_wakes, post);
	if (err == ERR_OK)
		err = start(drain_feed, post);
	if (err == ERR_OK)
		err = start(apply_feed, post);
	return err;
}

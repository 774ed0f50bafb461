/* gate.c: waits until replicas have what changed: a gate for CI */
/* SPDX-License-Identifier: ISC */
#include "sync/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "conf/clock.h"
#include "conf/mem.h"
#include "sync/fence.h"
#include "sync/row.h"

/* In state_dir, where whoever may read the table may make it. */
#define FILE_NAME "waiters"
/* The table is looked at so often, at the price of one snapshot. */
#define LOOK_MS 25

struct gate {
	int fd; /* whose lock of one byte is the place */
};

/* By locks of the open file: two threads of one process are apart, too. */
static bool
take_place(int fd)
{
	for (int place = 0; place < MAX_WAITERS; place++) {
		struct flock lock = { .l_type = F_WRLCK,
			.l_whence = SEEK_SET,
			.l_start = place,
			.l_len = 1 };

		if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
			return true;
	}
	return false;
}

enum err
gate_enter(const char *state_dir, struct gate **out)
{
	char *path = mem_fmt("%s/" FILE_NAME, state_dir);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0660);
	enum err err = ERR_OK;

	if (fd == -1) {
		err = err_sys("%s", path);
	} else if (!take_place(fd)) {
		close(fd);
		err = err_set(ERR_BUSY,
		    "%d wait already; come again later, or do not wait",
		    MAX_WAITERS);
	} else {
		*out = mem_zalloc(sizeof(**out));
		(*out)->fd = fd;
	}
	free(path);
	return err;
}

void
gate_leave(struct gate *gate)
{
	if (gate == NULL)
		return;
	close(gate->fd);
	free(gate);
}

/* Digits alone. */
static bool
read_number(const char *said, unsigned long most, unsigned long *out)
{
	unsigned long number;
	char *end;

	if (said[0] < '0' || said[0] > '9')
		return false;
	errno = 0;
	number = strtoul(said, &end, 10);
	if (errno != 0 || *end != '\0' || number > most)
		return false;
	*out = number;
	return true;
}

enum err
gate_replicas(const struct route *route, const char *said, unsigned *out)
{
	unsigned long number;

	if (route->n_replicas == 0)
		return err_set(ERR_INPUT,
		    "the route %s has no replicas to wait for", route->name);
	if (!read_number(said, route->n_replicas, &number) || number == 0)
		return err_set(ERR_INPUT,
		    "replicas to wait for: write 1 to %zu, which is what the "
		    "route %s has",
		    route->n_replicas, route->name);
	*out = (unsigned)number;
	return ERR_OK;
}

enum err
gate_timeout(const char *said, int64_t *timeout_ms)
{
	unsigned long number = WAIT_S;

	if (said != NULL && !read_number(said, MAX_WAIT_S, &number))
		return err_set(ERR_INPUT, "seconds to wait: write 0 to %d",
		    MAX_WAIT_S);
	*timeout_ms = (int64_t)number * 1000;
	return ERR_OK;
}

struct look {
	const struct gate_question *question;
	struct gate_answer answer;
};

/* Does it count?  Of one that is down, the epoch will rise. */
static enum err
has_it(struct table_txn *txn, const struct route *route, const struct row *row,
    const struct upstream *replica, uint64_t generation, bool *has)
{
	const struct mark *mark = row_mark_of(row, replica);
	struct epochs epochs;
	struct peer peer;
	enum err err = epochs_get(txn, route, replica, &epochs);

	if (err == ERR_OK)
		err = peer_get(txn, replica->name, &peer);
	if (err == ERR_OK)
		*has = mark != NULL && !peer.down &&
		    mark->generation >= generation &&
		    mark->epochs.route == epochs.route &&
		    mark->epochs.replica == epochs.replica;
	return err;
}

static enum err
look(struct table_txn *txn, void *arg)
{
	struct look *look = arg;
	const struct gate_question *question = look->question;
	const struct route *route = question->route;
	struct gate_answer *answer = &look->answer;
	struct fences fences;
	struct row row;
	enum err err = row_get(txn, route, question->name, &row);

	if (err == ERR_OK)
		err = fences_get(txn, route, question->name, &fences);
	if (err != ERR_OK)
		return err;
	answer->fenced = fences.n_up > 0;
	if (answer->generation == 0)
		answer->generation = row.generation;
	answer->have = 0;
	for (size_t i = 0; i < route->n_replicas && err == ERR_OK; i++) {
		bool has = false;

		err = has_it(txn, route, &row, route->replicas[i],
		    answer->generation, &has);
		answer->have += has;
	}
	return err;
}

/* News (sync/news.h) come sooner, but a wait for them has no end in time. */
static void
sleep_until_news(int64_t left_ms)
{
	int64_t ms = left_ms < LOOK_MS ? left_ms : LOOK_MS;
	const struct timespec pause = { .tv_nsec = (long)ms * 1000000 };

	nanosleep(&pause, NULL);
}

enum err
gate_wait(struct table *table, const struct gate_question *question,
    int64_t timeout_ms, bool (*ending)(void), struct gate_answer *out)
{
	struct look at = { .question = question,
		.answer = { .generation = question->generation } };
	int64_t until_ms = clock_boot_ms() + timeout_ms, left_ms;
	enum err err;

	while ((err = table_read(table, look, &at)) == ERR_OK) {
		left_ms = until_ms - clock_boot_ms();
		if (at.answer.have >= question->replicas || left_ms <= 0 ||
		    (ending != NULL && ending()))
			break;
		sleep_until_news(left_ms);
	}
	if (err == ERR_OK)
		*out = at.answer;
	return err;
}

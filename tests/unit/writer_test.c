/* writer_test.c: writes of many threads: committed, late, refused, failed */
/* SPDX-License-Identifier: ISC */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conf/clock.h"
#include "fcgi/snapshot.h"
#include "fcgi/writer.h"
#include "fcgi/writes.h"
#include "sync/fence.h"
#include "sync/peer.h"
#include "sync/row.h"
#include "tests/unit/tap.h"

#define TOKEN "0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210"
#define PATIENCE_MS 20000

static const char conf_text[] =
    "state_dir = \"%s\"; run_dir = \"%s\";\n"
    "upstreams = ({ name = \"master\"; url = \"http://a\"; },\n"
    " { name = \"slave\"; url = \"http://b\"; },\n"
    " { name = \"old\"; url = \"http://c\"; },\n"
    " { name = \"new\"; url = \"http://d\"; });\n"
    "routes = ({ name = \"git\"; kind = \"git\"; prefix = \"/scm/\";\n"
    "  primary = \"master\"; replicas = (\"slave\"); fence_s = %d;\n"
    "  authorize = \"webserver\"; },\n"
    " { name = \"reg\"; kind = \"registry\"; prefix = \"/v2/\";\n"
    "  primary = \"old\"; migrate = { to = \"new\"; }; });\n";

/* A router's state of its own: directory, configuration, writer. */
struct stage {
	char *dir;
	struct snapshots conf;
	struct snapshot *snapshot;
	const struct route *git, *reg;
	struct writer *writer;
	unsigned refusals;    /* open fails so often first */
	atomic_uint failures; /* reported */
};

/* Another process that holds the table's lock, as a stopped one would. */
struct holder {
	pid_t pid;
	int go;
};

static struct conf *
read_conf(const char *dir, int fence_s)
{
	char *path = mem_fmt("%s/conf", dir);
	FILE *file = fopen(path, "w");
	struct conf *conf = NULL;

	fprintf(file, conf_text, dir, dir, fence_s);
	fclose(file);
	if (conf_read(path, &conf) != ERR_OK) {
		printf("Bail out! %s\n", err_text());
		exit(1);
	}
	free(path);
	return conf;
}

static enum err
open_pulse(void *arg, struct pulse **out)
{
	struct stage *stage = arg;
	struct pulse *pulse;
	enum err err = pulse_open(stage->dir, true, &pulse);

	if (err == ERR_OK && (err = pulse_claim(pulse)) == ERR_OK)
		*out = pulse;
	return err;
}

static enum err
open_table(void *arg, struct pulse *pulse, struct table **table)
{
	struct stage *stage = arg;

	if (pulse == NULL)
		return err_set(ERR_SYS, "there is a pulse before");
	if (stage->refusals > 0) {
		stage->refusals--;
		return err_set(ERR_TABLE, "not yet");
	}
	return table_open(stage->dir, true, table);
}

static void
note_failure(void *arg, const char *text)
{
	struct stage *stage = arg;

	(void)text;
	atomic_fetch_add(&stage->failures, 1);
}

static void
stage_begin(struct stage *stage, const char *name, int fence_s)
{
	*stage = (struct stage){ .dir = mem_fmt("%s/%s", tap_dir(), name) };
	mkdir(stage->dir, 0700);
	snapshots_init(&stage->conf, read_conf(stage->dir, fence_s));
	stage->snapshot = snapshot_now(&stage->conf);
	stage->git = conf_route(stage->snapshot->conf, "git");
	stage->reg = conf_route(stage->snapshot->conf, "reg");
}

static void
stage_start(struct stage *stage)
{
	const struct writer_options options = { .pulse = open_pulse,
		.open = open_table,
		.failed = note_failure,
		.arg = stage,
		.conf = &stage->conf };

	if (writer_start(&options, &stage->writer) != ERR_OK)
		abort();
}

static void
stage_end(struct stage *stage)
{
	tap_int(writer_stop(stage->writer), ERR_OK, "%s: the writer ends",
	    stage->dir + strlen(tap_dir()) + 1);
	snapshot_release(stage->snapshot);
	snapshots_end(&stage->conf);
	free(stage->dir);
}

static enum err
hold_body(struct table_txn *txn, void *arg)
{
	int *ends = arg;
	char byte = 0;

	(void)txn;
	if (write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) < 0)
		return ERR_SYS;
	return ERR_ABSENT;
}

/* In a child, which opens its own table and shares nothing of ours. */
static struct holder
hold_lock(const struct stage *stage)
{
	struct holder holder;
	struct table *table;
	int go[2], ready[2], ends[2];
	char byte;

	if (pipe(go) == -1 || pipe(ready) == -1)
		abort();
	if ((holder.pid = fork()) == 0) {
		ends[0] = go[0];
		ends[1] = ready[1];
		close(go[1]);
		if (table_open(stage->dir, true, &table) == ERR_OK)
			(void)!table_write(table, hold_body, ends);
		_exit(0);
	}
	close(go[0]);
	close(ready[1]);
	holder.go = go[1];
	if (read(ready[0], &byte, 1) != 1)
		abort();
	close(ready[0]);
	return holder;
}

static void
let_go(struct holder *holder)
{
	close(holder->go);
	waitpid(holder->pid, NULL, 0);
}

static enum err
nothing_body(struct table_txn *txn, void *data)
{
	(void)txn;
	(void)data;
	return ERR_OK;
}

static const struct write_kind nothing = { .size = 1, .body = nothing_body };
static const struct write_kind kept = { .size = 1,
	.body = nothing_body,
	.keeps = true };

/* All that was queued before has had its turn. */
static enum err
barrier(struct stage *stage)
{
	char data = 0;

	return writer_run(stage->writer, &nothing, &data, PATIENCE_MS);
}

/* Waits for its own doubt to end; is it then the end of all? */
static bool
is_settled(struct stage *stage)
{
	int64_t until_ms = clock_boot_ms() + PATIENCE_MS;
	struct pulse *pulse = writer_pulse(stage->writer);

	while (pulse_doubt_by(pulse, pulse_slot(pulse), stage->git) &&
	    clock_boot_ms() < until_ms)
		usleep(5000);
	return !pulse_doubt(pulse, stage->git);
}

struct look {
	struct stage *stage;
	const char *name;
	unsigned fences;
	struct epochs epochs;
	struct placement placement; /* .upstream "" where not placed */
};

static enum err
look_body(struct table_txn *txn, void *arg)
{
	struct look *look = arg;
	struct fences fences;
	enum err err;

	look->placement = (struct placement){ .upstream = "" };
	if ((err = fences_get(txn, look->stage->git, look->name, &fences)) !=
	    ERR_OK)
		return err;
	look->fences = fences.n_up;
	if ((err = epochs_get(txn, look->stage->git, NULL, &look->epochs)) !=
	    ERR_OK)
		return err;
	err = place_get(txn, look->stage->reg, look->name, &look->placement);
	return err == ERR_ABSENT ? ERR_OK : err;
}

static struct look
look_at(struct stage *stage, const char *name)
{
	struct look look = { .stage = stage, .name = name };

	if (table_read(writer_table(stage->writer), look_body, &look) != ERR_OK)
		look.fences = 999;
	return look;
}

static enum err
place(struct stage *stage, const char *name, const char *wanted,
    struct placement *out)
{
	const struct place_order order = { .route = stage->reg,
		.name = name,
		.wanted = wanted,
		.reason = "included",
		.token = TOKEN };

	return write_place(stage->writer, stage->snapshot, &order, out);
}

static enum err
fence(struct stage *stage, const char *name, const char *token)
{
	bool guarded = false;
	enum err err = write_fence(stage->writer, stage->snapshot, stage->git,
	    name, token, &guarded);

	return guarded ? err : err_set(ERR_SYS, "unguarded");
}

static void
test_committed(void)
{
	struct stage stage;
	struct placement placement;

	stage_begin(&stage, "committed", 900);
	stage_start(&stage);
	tap_ok(writer_wait_open(stage.writer, PATIENCE_MS), "opens");
	tap_int(fence(&stage, "p/r", TOKEN), ERR_OK, "a fence");
	tap_int(fence(&stage, "p/r", OTHER), ERR_OK, "another one");
	tap_int(look_at(&stage, "p/r").fences, 2, "both are in the table");
	tap_int(place(&stage, "a/b", "new", &placement), ERR_OK, "a placement");
	tap_str(placement.upstream, "new", "where it was wanted");
	tap_int(place(&stage, "a/b", "old", &placement), ERR_OK,
	    "the same, wanted elsewhere");
	tap_str(placement.upstream, "new", "is where it was");
	tap_str(look_at(&stage, "a/b").placement.upstream, "new",
	    "and is so in the table");
	tap_int(pulse_doubt(writer_pulse(stage.writer), stage.git), 0,
	    "no doubt");
	tap_int(atomic_load(&stage.failures), 0, "no failure");
	stage_end(&stage);
}

/* Many at once, of which each is told its own result. */
struct pusher {
	pthread_t thread;
	struct stage *stage;
	unsigned number;
	unsigned failed;
};

static void *
push_many(void *arg)
{
	struct pusher *pusher = arg;
	char name[32];

	for (unsigned i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "p/%u-%u", pusher->number, i);
		pusher->failed += fence(pusher->stage, name, TOKEN) != ERR_OK;
		pusher->failed += look_at(pusher->stage, name).fences != 1;
	}
	return NULL;
}

static void
test_many(void)
{
	struct pusher pushers[16];
	struct stage stage;
	unsigned failed = 0;

	stage_begin(&stage, "many", 900);
	stage_start(&stage);
	tap_ok(writer_wait_open(stage.writer, PATIENCE_MS), "opens");
	for (unsigned i = 0; i < 16; i++) {
		pushers[i] = (struct pusher){ .stage = &stage, .number = i };
		pthread_create(&pushers[i].thread, NULL, push_many,
		    &pushers[i]);
	}
	for (unsigned i = 0; i < 16; i++) {
		pthread_join(pushers[i].thread, NULL);
		failed += pushers[i].failed;
	}
	tap_int(failed, 0,
	    "each fence is in the table when its caller goes "
	    "on");
	stage_end(&stage);
}

static void
test_late(void)
{
	struct stage stage;
	struct placement placement;
	struct holder holder;
	struct epochs before;

	stage_begin(&stage, "late", 900);
	stage_start(&stage);
	tap_ok(writer_wait_open(stage.writer, PATIENCE_MS), "opens");
	before = look_at(&stage, "p/r").epochs;
	holder = hold_lock(&stage);
	tap_int(fence(&stage, "p/r", TOKEN), ERR_TABLE,
	    "a fence behind a stopped writer");
	tap_ok(pulse_doubt(writer_pulse(stage.writer), stage.git),
	    "doubt is up when its caller is told");
	tap_int(look_at(&stage, "p/r").fences, 0, "not in the table yet");
	tap_int(place(&stage, "a/b", "new", &placement), ERR_TABLE,
	    "a placement behind it");
	/* the late fence's route must outlive its configuration */
	snapshots_replace(&stage.conf, read_conf(stage.dir, 900));
	let_go(&holder);
	tap_int(barrier(&stage), ERR_OK, "goes on when that one ends");
	tap_int(look_at(&stage, "p/r").fences, 1,
	    "the late fence is committed all the same");
	tap_ok(is_settled(&stage), "then doubt ends");
	tap_ok(look_at(&stage, "p/r").epochs.route > before.route,
	    "and no mark of before counts");
	tap_str(look_at(&stage, "a/b").placement.upstream, "",
	    "the placement that was answered with hold is not made");
	stage_end(&stage);
}

/* A fence that could not even be queued. */
static void
test_refused(void)
{
	struct stage stage;
	struct holder holder;
	char data = 0;
	unsigned refused = 0;

	stage_begin(&stage, "refused", 900);
	stage_start(&stage);
	tap_ok(writer_wait_open(stage.writer, PATIENCE_MS), "opens");
	holder = hold_lock(&stage);
	for (unsigned i = 0; i < MAX_WRITES; i++)
		refused += writer_run(stage.writer, &kept, &data, 0) != ERR_OK;
	tap_int(refused, 0, "so many writes wait");
	tap_int(fence(&stage, "p/r", TOKEN), ERR_LIMIT, "one more does not");
	tap_ok(pulse_doubt(writer_pulse(stage.writer), stage.git),
	    "doubt is up when its caller is told");
	let_go(&holder);
	while (barrier(&stage) == ERR_LIMIT)
		usleep(1000);
	/* what followed the first one has followed the try to settle, too */
	tap_int(barrier(&stage), ERR_OK, "goes on when that one ends");
	tap_ok(pulse_doubt(writer_pulse(stage.writer), stage.git),
	    "and stays: nobody knows how long that push lasts");
	stage_end(&stage);
}

static void
test_opened_late(void)
{
	struct stage stage;
	struct placement placement;

	stage_begin(&stage, "opened-late", 900);
	stage.refusals = 1;
	stage_start(&stage);
	tap_int(fence(&stage, "p/r", TOKEN), ERR_TABLE, "no table, no fence");
	tap_ok(pulse_doubt(writer_pulse(stage.writer), stage.git),
	    "but doubt, which other routers see");
	tap_int(place(&stage, "a/b", "new", &placement), ERR_TABLE,
	    "nor a placement");
	tap_ok(writer_table(stage.writer) == NULL, "nobody reads it");
	tap_ok(writer_wait_open(stage.writer, PATIENCE_MS),
	    "it opens by itself");
	tap_ok(is_settled(&stage), "doubt ends");
	tap_int(look_at(&stage, "p/r").fences, 1,
	    "not before the fence is in the table");
	tap_str(look_at(&stage, "a/b").placement.upstream, "",
	    "the placement is not");
	tap_int(atomic_load(&stage.failures), 1, "each failure is reported");
	stage_end(&stage);
}

/* Another router on the same state, in a child that says how far it is. */
struct other {
	pid_t pid;
	int does, says; /* pipes: a letter a step, and its answer */
};

static char
other_step(struct stage *stage, char step)
{
	char data = 0;

	switch (step) {
	case 'o': /* opens */
		stage_start(stage);
		return writer_wait_open(stage->writer, PATIENCE_MS);
	case 'f': /* a push is let through, as far as it knows */
		return fence(stage, "p/r", TOKEN) != ERR_SYS;
	case 'b': /* the same, and its fence cannot even be queued */
		for (unsigned i = 0; i < MAX_WRITES; i++)
			(void)!writer_run(stage->writer, &kept, &data, 0);
		return fence(stage, "p/r", TOKEN) == ERR_LIMIT;
	case 's': /* settles */
		return is_settled(stage);
	default:
		return false;
	}
}

static struct other
other_begin(struct stage *stage)
{
	struct other other;
	int does[2], says[2];
	char step;

	if (pipe(does) == -1 || pipe(says) == -1)
		abort();
	if ((other.pid = fork()) == 0) {
		close(does[1]);
		while (read(does[0], &step, 1) == 1) {
			step = other_step(stage, step) ? step : '-';
			if (write(says[1], &step, 1) != 1)
				break;
		}
		_exit(0);
	}
	close(does[0]);
	close(says[1]);
	other.does = does[1];
	other.says = says[0];
	return other;
}

static bool
other_does(const struct other *other, char step)
{
	char answer = '-';

	return write(other->does, &step, 1) == 1 &&
	    read(other->says, &answer, 1) == 1 && answer == step;
}

static void
other_dies(struct other *other)
{
	kill(other->pid, SIGKILL);
	waitpid(other->pid, NULL, 0);
	close(other->does);
	close(other->says);
}

/* How far another router comes before it is killed, and what is left. */
static const struct {
	const char *name;
	const char *before, *locked, *after; /* steps, by the table's lock */
	bool doubt;
	unsigned fences;
} others[] = {
	{ "other-open", "o", "", "", false, 0 },
	{ "other-committed", "of", "", "", false, 1 },
	{ "other-late", "o", "f", "", true, 0 },
	{ "other-refused", "o", "b", "", true, 0 },
	{ "other-settled", "o", "f", "s", false, 1 },
};

static void
test_other(size_t which)
{
	const char *name = others[which].name;
	struct stage stage;
	struct other other;
	struct holder holder;
	bool came = true;

	stage_begin(&stage, name, 900);
	other = other_begin(&stage);
	for (const char *step = others[which].before; *step != '\0'; step++)
		came = other_does(&other, *step) && came;
	stage_start(&stage);
	tap_ok(writer_wait_open(stage.writer, PATIENCE_MS), "opens");
	holder = hold_lock(&stage);
	for (const char *step = others[which].locked; *step != '\0'; step++)
		came = other_does(&other, *step) && came;
	if (others[which].after[0] == '\0')
		other_dies(&other);
	let_go(&holder);
	for (const char *step = others[which].after; *step != '\0'; step++)
		came = other_does(&other, *step) && came;
	tap_ok(came, "%s: the other comes there", name);
	/* this one's writes, and what it settles, end no other's doubt */
	tap_int(fence(&stage, "p/other", OTHER), ERR_OK, "%s: writes", name);
	(void)!writer_doubt(stage.writer, stage.git, false);
	tap_int(barrier(&stage), ERR_OK, "%s: settles", name);
	tap_ok(is_settled(&stage) != others[which].doubt, "%s: doubt", name);
	tap_int(look_at(&stage, "p/r").fences, others[which].fences,
	    "%s: its fence", name);
	if (others[which].after[0] != '\0')
		other_dies(&other);
	stage_end(&stage);
}

/* What a write does beside its body. */
static atomic_uint n_committed, n_released;

static enum err
counted_body(struct table_txn *txn, void *data)
{
	enum err err = *(enum err *)data;

	(void)txn;
	return err == ERR_OK ? err : err_set(err, "as told");
}

static void
count_committed(void *data)
{
	(void)data;
	atomic_fetch_add(&n_committed, 1);
}

static void
count_released(void *data)
{
	(void)data;
	atomic_fetch_add(&n_released, 1);
}

static const struct write_kind counted = { .size = sizeof(enum err),
	.body = counted_body,
	.committed = count_committed,
	.release = count_released };

struct counter {
	pthread_t thread;
	struct stage *stage;
	enum err want, got;
};

static void *
run_counted(void *arg)
{
	struct counter *counter = arg;
	enum err want = counter->want;

	counter->got = writer_run(counter->stage->writer, &counted, &want,
	    PATIENCE_MS);
	return NULL;
}

/* One that fails in a transaction of several takes no other with it. */
static void
test_failing(void)
{
	static const enum err wants[] = { ERR_OK, ERR_OK, ERR_INPUT, ERR_OK,
		ERR_TABLE, ERR_OK };
	const unsigned n = sizeof(wants) / sizeof(wants[0]);
	struct counter counters[sizeof(wants) / sizeof(wants[0])];
	struct stage stage;
	struct holder holder;

	stage_begin(&stage, "failing", 900);
	stage_start(&stage);
	tap_ok(writer_wait_open(stage.writer, PATIENCE_MS), "opens");
	holder = hold_lock(&stage);
	for (unsigned i = 0; i < n; i++) {
		counters[i] = (struct counter){ .stage = &stage,
			.want = wants[i] };
		pthread_create(&counters[i].thread, NULL, run_counted,
		    &counters[i]);
	}
	let_go(&holder);
	for (unsigned i = 0; i < n; i++) {
		pthread_join(counters[i].thread, NULL);
		tap_int(counters[i].got, wants[i],
		    "write %u has its own "
		    "result",
		    i);
	}
	tap_int(atomic_load(&n_committed), 4, "those that came off say so");
	stage_end(&stage);
	tap_int(atomic_load(&n_released), n, "all are let go of, once");
}

static void
test_stop_locked(void)
{
	struct stage stage;
	struct holder holder;

	stage_begin(&stage, "stop-locked", 900);
	stage_start(&stage);
	tap_ok(writer_wait_open(stage.writer, PATIENCE_MS), "opens");
	holder = hold_lock(&stage);
	tap_int(fence(&stage, "p/r", TOKEN), ERR_TABLE, "a late fence");
	tap_int(writer_stop(stage.writer), ERR_BUSY,
	    "a locked table does not hold up the end");
	let_go(&holder);
	stage_end(&stage);
}

int
main(void)
{
	test_committed();
	test_many();
	test_late();
	test_refused();
	test_opened_late();
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		test_other(i);
	test_failing();
	test_stop_locked();
	return tap_done();
}

/* snapshot_test.c: a configuration lives as long as somebody holds it */
/* SPDX-License-Identifier: ISC */
#include "fcgi/snapshot.h"

#include <pthread.h>

#include "conf/mem.h"
#include "tests/unit/tap.h"

static struct conf *
empty_conf(void)
{
	return mem_zalloc(sizeof(struct conf));
}

/* Under a sanitizer what is freed too early, or never, ends the test. */
static void
test_replace(void)
{
	struct snapshots all;
	struct snapshot *first, *again, *second;
	struct conf *a = empty_conf(), *b = empty_conf();

	snapshots_init(&all, a);
	first = snapshot_now(&all);
	tap_ok(first->conf == a, "the first one is in force");
	tap_int(atomic_load(&first->refs), 2, "held by us beside");
	again = snapshot_hold(first);
	tap_ok(again == first && atomic_load(&first->refs) == 3,
	    "holding it again counts");
	snapshots_replace(&all, b);
	second = snapshot_now(&all);
	tap_ok(second->conf == b, "then the second one is");
	tap_ok(first->conf == a && atomic_load(&first->refs) == 2,
	    "the first one is still ours");
	snapshot_release(again);
	tap_int(atomic_load(&first->refs), 1, "letting go counts, too");
	snapshot_release(first);
	snapshots_end(&all);
	tap_ok(second->conf == b && atomic_load(&second->refs) == 1,
	    "what is held outlives the end");
	snapshot_release(second);
	snapshot_release(NULL);
}

#define TURNS 2000

static void *
use(void *arg)
{
	struct snapshots *all = arg;
	uintptr_t wrong = 0;

	for (unsigned i = 0; i < TURNS; i++) {
		struct snapshot *snapshot = snapshot_now(all);

		wrong += snapshot->conf->sync.fetches != 7;
		snapshot_release(snapshot);
	}
	return (void *)wrong;
}

static void
test_threads(void)
{
	struct snapshots all;
	pthread_t threads[4];
	uintptr_t wrong = 0;
	struct conf *conf = empty_conf();
	void *one;

	conf->sync.fetches = 7;
	snapshots_init(&all, conf);
	for (unsigned i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, use, &all) != 0)
			return;
	for (unsigned i = 0; i < 200; i++) {
		conf = empty_conf();
		conf->sync.fetches = 7;
		snapshots_replace(&all, conf);
	}
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(threads[i], &one);
		wrong += (uintptr_t)one;
	}
	tap_int((long long)wrong, 0, "each thread has a whole one");
	tap_int(atomic_load(&all.now->refs), 1, "none was kept");
	snapshots_end(&all);
}

int
main(void)
{
	test_replace();
	test_threads();
	return tap_done();
}

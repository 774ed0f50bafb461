/* snapshot.c: the configuration in force, counted by those who use it */
/* SPDX-License-Identifier: ISC */
#include "fcgi/snapshot.h"

#include <stdlib.h>

#include "conf/mem.h"

static struct snapshot *
snapshot_new(struct conf *conf)
{
	struct snapshot *snapshot = mem_zalloc(sizeof(*snapshot));

	snapshot->conf = conf;
	atomic_init(&snapshot->refs, 1);
	return snapshot;
}

void
snapshots_init(struct snapshots *all, struct conf *conf)
{
	pthread_mutex_init(&all->lock, NULL);
	all->now = snapshot_new(conf);
}

static void
put(struct snapshots *all, struct snapshot *next)
{
	struct snapshot *old;

	pthread_mutex_lock(&all->lock);
	old = all->now;
	all->now = next;
	pthread_mutex_unlock(&all->lock);
	snapshot_release(old);
}

void
snapshots_replace(struct snapshots *all, struct conf *conf)
{
	put(all, snapshot_new(conf));
}

void
snapshots_end(struct snapshots *all)
{
	put(all, NULL);
	pthread_mutex_destroy(&all->lock);
}

struct snapshot *
snapshot_now(struct snapshots *all)
{
	struct snapshot *snapshot;

	pthread_mutex_lock(&all->lock);
	snapshot = snapshot_hold(all->now);
	pthread_mutex_unlock(&all->lock);
	return snapshot;
}

struct snapshot *
snapshot_hold(struct snapshot *snapshot)
{
	atomic_fetch_add(&snapshot->refs, 1);
	return snapshot;
}

void
snapshot_release(struct snapshot *snapshot)
{
	if (snapshot == NULL || atomic_fetch_sub(&snapshot->refs, 1) != 1)
		return;
	conf_free(snapshot->conf);
	free(snapshot);
}

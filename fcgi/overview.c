/* overview.c: how all routes are, gathered from one snapshot of the table */
/* SPDX-License-Identifier: ISC */
#include "fcgi/overview.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "conf/clock.h"
#include "fcgi/listener.h"
#include "sync/fence.h"
#include "sync/pulse.h"
#include "sync/row.h"
#include "sync/stamps.h"
#include "sync/wake.h"

static enum err
count_rows(struct table_txn *txn, const struct route *route, size_t *count)
{
	char name[NAME_SIZE] = "", next[NAME_SIZE];
	enum err err;

	for (*count = 0; (err = row_next(txn, route, name, next)) == ERR_OK;
	     ++*count)
		memcpy(name, next, sizeof(name));
	return err == ERR_ABSENT ? ERR_OK : err;
}

static enum err
count_lag(struct table_txn *txn, const struct route *route,
    const struct upstream *replica, struct replica_status *out)
{
	struct lag lag = { .name = "" };
	enum err err;

	out->failing = lag;
	for (out->lagging = 0;
	     (err = lag_next(txn, route, replica, lag.name, &lag)) == ERR_OK;
	     out->lagging++)
		if (lag.why[0] != '\0' && out->failing.name[0] == '\0')
			out->failing = lag;
	return err == ERR_ABSENT ? ERR_OK : err;
}

static void
note_fences(struct git_status *git, const char *name,
    const struct fences *fences)
{
	struct fenced *shown;

	if (fences->n == 0 || git->fenced++ >= MAX_SHOWN)
		return;
	shown = &git->shown[git->fenced - 1];
	*shown = (struct fenced){ .begun_ms = fences->fence[0].begun_ms };
	snprintf(shown->name, sizeof(shown->name), "%s", name);
	for (unsigned i = 0; i < fences->n; i++) {
		const struct fence *fence = &fences->fence[i];

		shown->n_up += fence->state == FENCE_UP;
		shown->n_broken += fence->state == FENCE_BROKEN;
		shown->n_watched += fence->state == FENCE_WATCH;
		if (fence->begun_ms < shown->begun_ms)
			shown->begun_ms = fence->begun_ms;
	}
}

static enum err
gather_fences(struct table_txn *txn, const struct route *route,
    struct git_status *git)
{
	char name[NAME_SIZE] = "", next[NAME_SIZE];
	struct fences fences;
	enum err err = fences_get(txn, route, "", &fences);

	if (err != ERR_OK)
		return err;
	note_fences(git, "", &fences);
	while ((err = fences_next(txn, route, name, next, &fences)) == ERR_OK) {
		note_fences(git, next, &fences);
		memcpy(name, next, sizeof(name));
	}
	return err == ERR_ABSENT ? ERR_OK : err;
}

static enum err
gather_git(struct table_txn *txn, const struct route *route,
    struct git_status *git)
{
	struct epochs epochs;
	enum err err;

	if ((err = epochs_get(txn, route, NULL, &epochs)) != ERR_OK ||
	    (err = route_off_get(txn, route, &git->off_since_s)) != ERR_OK ||
	    (err = count_rows(txn, route, &git->known)) != ERR_OK ||
	    (err = gather_fences(txn, route, git)) != ERR_OK)
		return err;
	git->epoch = epochs.route;
	for (size_t i = 0; i < route->n_replicas; i++) {
		const struct upstream *replica = route->replicas[i];
		struct replica_status *out = &git->replicas[i];

		err = epochs_get(txn, route, replica, &epochs);
		if (err == ERR_OK)
			err = peer_get(txn, replica->name, &out->peer);
		if (err == ERR_OK)
			err = count_lag(txn, route, replica, out);
		if (err != ERR_OK)
			return err;
		out->epoch = epochs.replica;
	}
	return ERR_OK;
}

static enum err
gather_registry(struct table_txn *txn, const struct route *route,
    struct registry_status *registry)
{
	char name[NAME_SIZE] = "", next[NAME_SIZE];
	struct placement placement;
	enum err err;

	if ((err = imports_complete(txn, route, &registry->imported)) != ERR_OK)
		return err;
	for (int i = 0; i < 2; i++)
		if ((err = import_get(txn, route, conf_side(route, i),
			 &registry->sides[i].import)) != ERR_OK)
			return err;
	while (
	    (err = place_next(txn, route, name, next, &placement)) == ERR_OK) {
		for (int i = 0; i < 2; i++)
			if (strcmp(conf_side(route, i)->name,
				placement.upstream) == 0)
				registry->sides[i].placed[placement.state]++;
		memcpy(name, next, sizeof(name));
	}
	return err == ERR_ABSENT ? ERR_OK : err;
}

static enum err
gather(struct table_txn *txn, void *arg)
{
	struct overview *overview = arg;
	const struct conf *conf = overview->conf;
	enum err err = ERR_OK;

	for (size_t i = 0; i < conf->n_routes && err == ERR_OK; i++) {
		struct route_status *out = &overview->routes[i];

		*out = (struct route_status){ .route = &conf->routes[i] };
		if (out->route->kind == ROUTE_GIT)
			err = gather_git(txn, out->route, &out->git);
		else if (out->route->to != NULL)
			err = gather_registry(txn, out->route, &out->registry);
	}
	return err;
}

static void
look_at_table(struct overview *overview, struct table *table)
{
	enum err err = table_measure(table, &overview->size);

	if (err == ERR_OK)
		err = table_read(table, gather, overview);
	if (err != ERR_OK)
		overview->broken = mem_dup(err_text());
}

static void
look_at_pulse(struct overview *overview)
{
	const struct conf *conf = overview->conf;
	struct pulse *pulse;
	enum err err = pulse_open(conf->run_dir, false, &pulse);

	overview->beat_ms = -1;
	if (err != ERR_OK && err != ERR_ABSENT)
		overview->silent = mem_dup(err_text());
	if (err == ERR_OK) {
		overview->beat_ms = pulse_age_ms(pulse);
		for (size_t i = 0; i < conf->n_routes; i++) {
			tally_read(pulse, &conf->routes[i],
			    &overview->routes[i].tally);
			overview->doubt[i] = conf->routes[i].kind ==
				ROUTE_GIT &&
			    pulse_doubt(pulse, &conf->routes[i]);
			overview->red |= overview->doubt[i];
		}
		pulse_close(pulse);
	}
	overview->deserted = wake_deserted(conf->run_dir, FEED_SOCKET,
	    SOCK_DGRAM);
	overview->undecided = wake_deserted(conf->run_dir, ROUTER_SOCKET,
	    SOCK_STREAM);
	overview->yellow |= overview->deserted || overview->undecided;
	overview->red |= overview->beat_ms < 0 ||
	    overview->beat_ms > conf->sync.valid_ms;
}

/* Where there is no map, nobody has told anything; else who may not read it. */
static void
look_at_stamps(struct overview *overview)
{
	const struct conf *conf = overview->conf;
	struct stamps *stamps = NULL;
	struct pace pace;
	enum err err = stamps_open(conf->run_dir, false, &stamps);

	if (err != ERR_OK && err != ERR_ABSENT)
		return;
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct route *route = &conf->routes[i];
		bool told = stamps != NULL && stamps_told(stamps, route, &pace);

		if (route->kind == ROUTE_GIT)
			overview->fresh[i] = fresh_of(conf, route,
			    told ? &pace : NULL, clock_boot_ms());
	}
	stamps_close(stamps);
}

static void
look_at_replicas(struct overview *overview)
{
	const struct conf *conf = overview->conf;

	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct route *route = &conf->routes[i];

		overview->yellow |= overview->routes[i].git.off_since_s != 0;
		for (size_t j = 0;
		     route->kind == ROUTE_GIT && j < route->n_replicas; j++) {
			const struct replica_status *replica =
			    &overview->routes[i].git.replicas[j];

			overview->yellow |= replica->peer.down ||
			    replica->peer.drained ||
			    replica->failing.name[0] != '\0';
		}
	}
}

void
overview_gather(const struct conf *conf, struct table *table,
    const char *broken, struct overview *out)
{
	*out = (struct overview){ .conf = conf,
		.has_table = table != NULL,
		.broken = broken != NULL ? mem_dup(broken) : NULL };
	out->routes = mem_array(conf->n_routes, sizeof(*out->routes));
	for (size_t i = 0; i < conf->n_routes; i++)
		out->routes[i].route = &conf->routes[i];
	if (table != NULL)
		look_at_table(out, table);
	out->red = out->broken != NULL;
	look_at_pulse(out);
	look_at_stamps(out);
	look_at_replicas(out);
}

void
overview_free(struct overview *overview)
{
	free(overview->broken);
	free(overview->silent);
	free(overview->routes);
}

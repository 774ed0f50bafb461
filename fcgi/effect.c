/* effect.c: what a report of a push changes, and who is told */
/* SPDX-License-Identifier: ISC */
#include "fcgi/effect.h"

#include <string.h>

#include "conf/clock.h"
#include "conf/crypto.h"
#include "sync/fence.h"
#include "sync/row.h"
#include "sync/wake.h"

bool
effect_concerns(const struct push_report *report, const struct route *route)
{
	return route->kind == ROUTE_GIT &&
	    (report->route[0] == '\0' ||
		strcmp(report->route, route->name) == 0);
}

void
effect_name(const struct push_report *report, const struct route *route,
    char name[NAME_SIZE])
{
	strcpy(name, report->name);
	if (route->fold_case)
		name_fold(name);
}

static enum err
change(struct table_txn *txn, struct effect *effect, const struct route *route,
    const char *name)
{
	const char *sha = effect->report.sha;
	uint64_t generation;
	enum err err;

	if (effect->report.phase == PUSH_BEGIN)
		return fence_begin_hook(txn, route, name, effect->token,
		    effect->now_ms);
	if (effect->report.phase == PUSH_END && effect->token[0] != '\0')
		return fence_end(txn, route, name, effect->token, NULL);
	sha = sha[0] != '\0' ? sha : NULL;
	err = row_raise(txn, route, name, sha, &generation);
	if (err != ERR_ABSENT)
		return err;
	if (effect->n_concerned > 1)
		return ERR_OK;
	/*
	 * Whoever holds the token is believed that there is such a
	 * repository, so that it is learnt without a daemon that listens;
	 * what the primary does not have is dropped when it is compared.
	 */
	err = row_learn(txn, route, name, NULL);
	effect->learnt = err == ERR_OK;
	if (err == ERR_OK)
		err = row_raise(txn, route, name, sha, &generation);
	return err == ERR_BUSY ? ERR_OK : err;
}

static enum err
note(struct table_txn *txn, struct effect *effect, size_t index,
    const char *name)
{
	const struct route *route = &effect->conf->routes[index];
	struct fences fences;
	struct row row;
	enum err err;

	if ((err = fences_get(txn, route, name, &fences)) != ERR_OK)
		return err;
	effect->fenced |= fences.n_up > 0;
	if ((err = row_get(txn, route, name, &row)) == ERR_ABSENT)
		return ERR_OK;
	if (err != ERR_OK)
		return err;
	effect->known[index] = true;
	effect->n_known++;
	if (row.generation > effect->generation)
		effect->generation = row.generation;
	return ERR_OK;
}

static enum err
effect_body(struct table_txn *txn, void *data)
{
	struct effect *effect = data;
	char name[NAME_SIZE];
	enum err err = ERR_OK;

	/* may run more than once */
	effect->generation = 0;
	effect->fenced = false;
	memset(effect->known, 0, sizeof(effect->known));
	effect->n_known = 0;
	effect->learnt = false;
	for (size_t i = 0; i < effect->conf->n_routes && err == ERR_OK; i++) {
		const struct route *route = &effect->conf->routes[i];

		if (!effect_concerns(&effect->report, route))
			continue;
		effect_name(&effect->report, route, name);
		err = change(txn, effect, route, name);
		if (err == ERR_OK)
			err = note(txn, effect, i, name);
	}
	return err;
}

const struct write_kind effect_kind = {
	.size = sizeof(struct effect),
	.body = effect_body,
};

void
effect_wake(const struct effect *effect)
{
	const struct conf *conf = effect->conf;
	char name[NAME_SIZE];

	for (size_t i = 0; i < conf->n_routes; i++) {
		if (!effect_concerns(&effect->report, &conf->routes[i]) ||
		    (!effect->known[i] && effect->n_known > 0))
			continue;
		effect_name(&effect->report, &conf->routes[i], name);
		wake_send(conf->run_dir, conf->routes[i].name, name);
	}
}

void
effect_begin(struct effect *effect, const struct conf *conf,
    const struct push_report *report)
{
	*effect = (struct effect){ .conf = conf,
		.report = *report,
		.now_ms = clock_boot_ms() };
	for (size_t i = 0; i < conf->n_routes; i++)
		effect->n_concerned += effect_concerns(report,
		    &conf->routes[i]);
	strcpy(effect->token, report->token);
	if (report->phase == PUSH_BEGIN && effect->token[0] == '\0')
		token_new(effect->token);
}

/* view.c: what one decision needs of the table, from one snapshot */
/* SPDX-License-Identifier: ISC */
#include "sync/view.h"

#include "sync/fence.h"
#include "sync/peer.h"
#include "sync/row.h"

struct git_question {
	const struct route *route;
	const char *name;
	struct git_view *view;
};

/*
 * Does it lag in anything?  Rows that were not yet put into the lag index
 * since an epoch rose lag, too.
 */
static enum err
see_lag(struct table_txn *txn, const struct route *route,
    const struct upstream *replica, const struct epochs *epochs, bool *lags)
{
	struct epochs requeued;
	enum err err;

	err = epochs_requeued(txn, route, replica, &requeued);
	if (err != ERR_OK)
		return err;
	if (requeued.route != epochs->route ||
	    requeued.replica != epochs->replica) {
		*lags = true;
		return ERR_OK;
	}
	return lag_any(txn, route, replica, lags);
}

/* It lags: did the last try to mend that fail? */
static enum err
see_failure(struct table_txn *txn, const struct git_question *question,
    const struct upstream *replica, bool *fails)
{
	struct lag lag;
	enum err err = lag_get(txn, question->route, question->name, replica,
	    &lag);

	*fails = err == ERR_OK && lag.why[0] != '\0';
	return err == ERR_ABSENT ? ERR_OK : err;
}

/* row NULL: there is none */
static enum err
see_replica(struct table_txn *txn, const struct git_question *question,
    const struct row *row, size_t index)
{
	const struct route *route = question->route;
	const struct upstream *replica = route->replicas[index];
	struct git_view *view = question->view;
	const struct mark *mark;
	struct epochs epochs;
	struct peer peer;
	enum err err;

	err = epochs_get(txn, route, replica, &epochs);
	if (err == ERR_OK)
		err = peer_get(txn, replica->name, &peer);
	if (err != ERR_OK)
		return err;
	view->replicas[index].down = peer.down;
	view->replicas[index].drained = peer.drained;
	if (row != NULL)
		view->replicas[index].current = row_is_current(row, replica,
		    &epochs);
	if (row != NULL && (mark = row_mark_of(row, replica)) != NULL)
		view->replicas[index].generation = mark->generation;
	if (row != NULL && !view->replicas[index].current)
		err = see_failure(txn, question, replica,
		    &view->replicas[index].fails);
	if (err == ERR_OK && route->scope == SCOPE_HOST)
		err = see_lag(txn, route, replica, &epochs,
		    &view->replicas[index].lags);
	return err;
}

static enum err
see_git(struct table_txn *txn, void *arg)
{
	struct git_question *question = arg;
	struct git_view *view = question->view;
	struct fences fences;
	struct row row;
	int64_t off_since_s;
	enum err err;

	err = row_get(txn, question->route, question->name, &row);
	if (err != ERR_OK && err != ERR_ABSENT)
		return err;
	view->known = err == ERR_OK;
	view->generation = view->known ? row.generation : 0;
	err = fences_get(txn, question->route, question->name, &fences);
	if (err != ERR_OK)
		return err;
	view->fences = fences.n_up;
	err = route_off_get(txn, question->route, &off_since_s);
	if (err != ERR_OK)
		return err;
	if (off_since_s != 0) {
		view->doubt = true;
		view->doubt_why = "a person has switched it off";
	}
	for (size_t i = 0; i < question->route->n_replicas; i++) {
		err = see_replica(txn, question, view->known ? &row : NULL, i);
		if (err != ERR_OK)
			return err;
	}
	return ERR_OK;
}

static const char *
doubt_of(const struct pulse *pulse, const struct conf *conf,
    const struct route *route)
{
	int64_t age_ms;

	if (pulse == NULL)
		return NULL;
	if (pulse_doubt(pulse, route))
		return "a change could not be written to the table in time";
	age_ms = pulse_age_ms(pulse);
	if (age_ms < 0)
		return "reproute-syncd has not run since boot";
	if (age_ms > conf->sync.valid_ms)
		return "reproute-syncd has not finished a pass for too long";
	return NULL;
}

enum err
view_git(struct table *table, const struct pulse *pulse,
    const struct conf *conf, const struct route *route, const char *name,
    struct git_view *out)
{
	struct git_view view = { 0 };
	struct git_question question = { route, name, &view };
	enum err err;

	/*
	 * Doubt first: it is settled only after the table was written, so
	 * whoever sees none sees, in a snapshot taken later, what was written.
	 */
	view.doubt_why = doubt_of(pulse, conf, route);
	view.doubt = view.doubt_why != NULL;
	if (table != NULL) {
		err = table_read(table, see_git, &question);
		if (err != ERR_OK)
			return err;
	}
	*out = view;
	return ERR_OK;
}

struct registry_question {
	const struct route *route;
	const char *name;
	struct registry_view *view;
};

static enum err
see_registry(struct table_txn *txn, void *arg)
{
	struct registry_question *question = arg;
	struct registry_view *view = question->view;
	enum err err;

	err = place_get(txn, question->route, question->name, &view->placement);
	if (err != ERR_OK && err != ERR_ABSENT)
		return err;
	view->placed = err == ERR_OK;
	return imports_complete(txn, question->route, &view->imported);
}

enum err
view_registry(struct table *table, const struct route *route, const char *name,
    struct registry_view *out)
{
	struct registry_view view = { 0 };
	struct registry_question question = { route, name, &view };
	enum err err;

	if (table != NULL) {
		err = table_read(table, see_registry, &question);
		if (err != ERR_OK)
			return err;
	}
	*out = view;
	return ERR_OK;
}

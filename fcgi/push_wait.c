/* push_wait.c: what a request to the push endpoint waits for, by its query */
/* SPDX-License-Identifier: ISC */
#include "fcgi/push_wait.h"

#include <stdlib.h>
#include <string.h>

#include "sync/form.h"
#include "sync/gate.h"

/* Two values of a query, each to be freed, or NULL. */
static enum err
read_two(const char *query, const char *const keys[2], char *values[2])
{
	return form_get(query, strlen(query), keys, 2, values);
}

/* The one that is meant: a wait is for the replicas of one route. */
static enum err
which_route(const struct conf *conf, const char *said, const struct route **out)
{
	const struct route *found = NULL;

	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct route *route = &conf->routes[i];

		if (route->kind != ROUTE_GIT ||
		    (said[0] != '\0' && strcmp(said, route->name) != 0))
			continue;
		if (found != NULL)
			return err_set(ERR_INPUT,
			    "\"route\" is missing: a wait is for one of "
			    "several git routes");
		found = route;
	}
	if (found == NULL)
		return err_set(ERR_INPUT,
		    "\"route\" names no git route of the configuration");
	*out = found;
	return ERR_OK;
}

enum err
push_wait_read(const struct conf *conf, const char *query,
    const struct push_report *report, struct push_wait *out)
{
	static const char *const keys[] = { "wait", "timeout" };
	struct push_wait wait = { .route = NULL };
	char *values[2];
	enum err err = read_two(query, keys, values);

	if (err != ERR_OK)
		return err;
	if (values[0] == NULL && values[1] != NULL)
		err = err_set(ERR_INPUT, "\"timeout\" goes with \"wait\"");
	if (values[0] != NULL && report->phase == PUSH_BEGIN)
		err = err_set(ERR_INPUT,
		    "\"wait\" goes with no \"begin\": its push would wait for "
		    "itself");
	if (err == ERR_OK && values[0] != NULL) {
		err = which_route(conf, report->route, &wait.route);
		if (err == ERR_OK)
			err = gate_replicas(wait.route, values[0],
			    &wait.replicas);
		if (err == ERR_OK)
			err = gate_timeout(values[1], &wait.timeout_ms);
	}
	free(values[0]);
	free(values[1]);
	if (err == ERR_OK)
		*out = wait;
	return err;
}

enum err
push_wait_report(const struct conf *conf, const char *query,
    struct push_report *out)
{
	static const char *const keys[] = { "repository", "route" };
	struct report_said said = { .repository = NULL };
	const struct route *route;
	char *values[2];
	enum err err = read_two(query, keys, values);

	if (err != ERR_OK)
		return err;
	if (values[0] == NULL)
		err = err_set(ERR_INPUT, "\"repository\" is missing");
	else
		err = which_route(conf, values[1] != NULL ? values[1] : "",
		    &route);
	if (err == ERR_OK) {
		said.repository = values[0];
		said.route = route->name;
		err = report_make(&said, out);
	}
	free(values[0]);
	free(values[1]);
	return err;
}

/* whole.c: what the configuration's keys must be to each other */
/* SPDX-License-Identifier: ISC */
#include "conf/whole.h"

#include <string.h>

#include "conf/legal.h"
#include "conf/schema.h"

enum err
whole_upstream(const struct conf *conf, const struct setting *list,
    size_t index)
{
	const struct setting *item = &list->items[index];
	const char *name = conf->upstreams[index].name;

	for (size_t i = 0; i < index; i++)
		if (strcmp(conf->upstreams[i].name, name) == 0)
			return setting_error(item,
			    "the upstream \"%s\" is "
			    "in %s:%u already; choose another name",
			    name, list->items[i].file, list->items[i].line);
	return ERR_OK;
}

/* Who may read, must be said: see authorize in reproute.conf(5). */
static enum err
check_authorize(const struct route *route, const struct setting *item)
{
	if (route->n_replicas == 0 || setting_child(item, "authorize") != NULL)
		return ERR_OK;
	return setting_error(item,
	    "the route \"%s\" has replicas, and does "
	    "not say who authorises reads: a replica that is a plain git "
	    "http-backend knows no users, and would give every repository "
	    "to everybody; if the web server has authenticated and "
	    "authorised a client before it asks, write authorize = "
	    "\"webserver\";",
	    route->name);
}

static enum err
check_converge(const struct route *route, const struct setting *item)
{
	const struct setting *command = setting_child(item, "command");

	if (route->converge == CONVERGE_COMMAND && command == NULL)
		return setting_error(item,
		    "converge = \"command\" without a "
		    "command; add command = (\"PROGRAM\", \"{upstream}\", "
		    "\"{name}\");");
	if (route->converge != CONVERGE_COMMAND && command != NULL)
		return setting_error(command,
		    "a command that is never run; "
		    "add converge = \"command\"; or leave it out");
	if (route->converge != CONVERGE_LOCAL)
		return ERR_OK;
	for (size_t i = 0; i < route->n_replicas; i++)
		if (route->replicas[i]->path == NULL)
			return setting_error(item,
			    "converge = \"local\" with "
			    "the replica \"%s\", which has no path; add path "
			    "= \"/srv/git/{name}.git\"; to that upstream",
			    route->replicas[i]->name);
	return ERR_OK;
}

static enum err
check_git(const struct route *route, const struct setting *item)
{
	enum err err = check_authorize(route, item);

	if (err == ERR_OK)
		err = check_converge(route, item);
	if (err == ERR_OK && route->push_max_ms < route->fence_ms)
		err = setting_error(item,
		    "push_max_s is less than fence_s; "
		    "write %lld or more",
		    (long long)route->fence_ms / 1000);
	return err;
}

/* Starts the longer of them with the other one? */
static bool
overlap(const char *a, const char *b)
{
	size_t len = strlen(a) < strlen(b) ? strlen(a) : strlen(b);

	return strncmp(a, b, len) == 0;
}

static enum err
check_pair(const struct route *route, const struct setting *item,
    const struct route *other, const struct setting *before)
{
	if (strcmp(route->name, other->name) == 0)
		return setting_error(item,
		    "the route \"%s\" is in %s:%u "
		    "already; choose another name",
		    route->name, before->file, before->line);
	if (overlap(route->prefix, other->prefix))
		return setting_error(item,
		    "the prefix \"%s\" overlaps \"%s\" "
		    "of the route \"%s\" (%s:%u); choose prefixes of which "
		    "none starts with the other",
		    route->prefix, other->prefix, other->name, before->file,
		    before->line);
	/* a push notice without a route could not tell them apart */
	if (route->kind == ROUTE_GIT && other->kind == ROUTE_GIT &&
	    route->primary == other->primary)
		return setting_error(item,
		    "the git routes \"%s\" and \"%s\" "
		    "(%s:%u) have one primary, \"%s\"; make them one route",
		    route->name, other->name, before->file, before->line,
		    route->primary->name);
	return ERR_OK;
}

enum err
whole_route(const struct conf *conf, const struct setting *list, size_t index)
{
	const struct route *route = &conf->routes[index];
	const struct setting *item = &list->items[index];
	enum err err;

	err = placed(setting_child(item, "prefix"),
	    legal_prefix(route->kind, route->prefix));
	if (err == ERR_OK && route->kind == ROUTE_GIT)
		err = check_git(route, item);
	for (size_t i = 0; err == ERR_OK && i < index; i++)
		err = check_pair(route, item, &conf->routes[i],
		    &list->items[i]);
	return err;
}

enum err
whole_conf(const struct conf *conf, const struct setting *root)
{
	const struct setting *list = setting_child(root, "routes");

	for (size_t i = 0; i < conf->n_routes; i++)
		if (conf->routes[i].hooks == HOOKS_STRICT &&
		    conf->push.token_file == NULL)
			return setting_error(setting_child(&list->items[i],
						 "hooks"),
			    "hooks = \"strict\" without an endpoint that "
			    "they could report to; add push = { token_file = "
			    "\"/etc/reproute/push.token\"; };, or leave it "
			    "out");
	return ERR_OK;
}

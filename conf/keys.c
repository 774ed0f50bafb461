/* keys.c: the configuration's keys: one table for each group */
/* SPDX-License-Identifier: ISC */
#include "conf/keys.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "conf/legal.h"
#include "conf/mem.h"
#include "conf/rules.h"
#include "conf/schema.h"
#include "conf/whole.h"

#define AT(type, field) .offset = offsetof(struct type, field)
#define DAY_S 86400

static setter set_upstreams, set_routes, set_sync, set_upstream, set_replicas,
    set_command, set_authorize, set_migrate, set_list;

static const char *const kinds[] = {
	[ROUTE_GIT] = "git",
	[ROUTE_REGISTRY] = "registry",
	NULL,
};
static const char *const proofs[] = {
	[PROOF_REFS] = "refs",
	[PROOF_COMMIT] = "commit",
	NULL,
};
static const char *const hooks[] = {
	[HOOKS_NONE] = "none",
	[HOOKS_STRICT] = "strict",
	NULL,
};
static const char *const converges[] = {
	[CONVERGE_ENDPOINT] = "endpoint",
	[CONVERGE_LOCAL] = "local",
	[CONVERGE_COMMAND] = "command",
	[CONVERGE_NONE] = "none",
	NULL,
};
static const char *const scopes[] = {
	[SCOPE_REPOSITORY] = "repository",
	[SCOPE_HOST] = "host",
	NULL,
};

static const char *const undecideds[] = {
	[UNDECIDED_REFUSE] = "refuse",
	[UNDECIDED_PRIMARY] = "primary",
	NULL,
};

static const struct key upstream_keys[] = {
	{ "name", set_text, AT(upstream, name), .legal = legal_upstream_name,
	    .required = true },
	{ "url", set_url, AT(upstream, url), .legal = legal_url,
	    .required = true },
	{ "weight", set_unsigned, AT(upstream, weight), 0, 1000, 1 },
	{ "endpoint", set_url, AT(upstream, endpoint), .legal = legal_url },
	{ "path", set_text, AT(upstream, path), .legal = legal_path_template },
	{ "auth_file", set_text, AT(upstream, auth_file), .legal = legal_path },
	{ "ca_file", set_text, AT(upstream, ca_file), .legal = legal_path },
	{ .name = NULL },
};

static const struct key route_keys[] = {
	{ "name", set_text, AT(route, name), .legal = legal_name,
	    .required = true },
	{ "kind", set_word, AT(route, kind), .words = kinds, .required = true },
	{ "prefix", set_text, AT(route, prefix), .high = 255,
	    .required = true },
	{ "primary", set_upstream, AT(route, primary), .required = true },

	{ "replicas", set_replicas, .in = IN_GIT },
	{ "proof", set_word, AT(route, proof), .words = proofs, .in = IN_GIT },
	{ "converge", set_word, AT(route, converge), .words = converges,
	    .in = IN_GIT },
	{ "command", set_command, .in = IN_GIT },
	{ "authorize", set_authorize, .in = IN_GIT },
	{ "scope", set_word, AT(route, scope), .words = scopes, .in = IN_GIT },
	{ "hooks", set_word, AT(route, hooks), .words = hooks, .in = IN_GIT },
	{ "undecided_writes", set_word, AT(route, undecided_writes),
	    .words = undecideds, .in = IN_GIT },
	{ "fold_case", set_bool, AT(route, fold_case), .in = IN_GIT },
	{ "fence_s", set_ms, AT(route, fence_ms), 1, DAY_S, 900, .in = IN_GIT },
	{ "push_max_s", set_ms, AT(route, push_max_ms), 1, 7 * DAY_S, 21600,
	    .in = IN_GIT },
	{ "watch_s", set_ms, AT(route, watch_ms), 1, 3600, 5, .in = IN_GIT },

	{ "migrate", set_migrate, .in = IN_REGISTRY },
	{ "import_s", set_s, AT(route, import_s), 1, 7 * DAY_S, 3600,
	    .in = IN_REGISTRY },
	{ "provisional_s", set_s, AT(route, provisional_s), 1, 366 * DAY_S,
	    7 * DAY_S, .in = IN_REGISTRY },
	{ .name = NULL },
};

/* What rules_new() wants, before there are rules. */
struct migrate {
	const struct upstream *to;
	double percent;
	unsigned by_namespace;
	char *salt;
};
static const char *const percent_bys[] = { "name", "namespace", NULL };

static const struct key migrate_keys[] = {
	{ "to", set_upstream, AT(migrate, to), .required = true },
	/* both read by add_rules() */
	{ "include", set_list, .high = MAX_RULES },
	{ "exclude", set_list, .high = MAX_RULES },
	{ "percent", set_double, AT(migrate, percent), 0, 100, 100 },
	{ "percent_by", set_word, AT(migrate, by_namespace),
	    .words = percent_bys },
	{ "salt", set_text, AT(migrate, salt), .high = 255 },
	{ .name = NULL },
};

struct rule {
	char *name;
	char *pattern;
};

static const struct key rule_keys[] = {
	{ "name", set_text, AT(rule, name), .legal = legal_name,
	    .required = true },
	{ "pattern", set_text, AT(rule, pattern), .required = true },
	{ .name = NULL },
};

static const struct key push_keys[] = {
	{ "token_file", set_text, AT(conf, push.token_file),
	    .legal = legal_path },
	{ .name = NULL },
};

static const struct key sync_keys[] = {
	{ "interval_s", set_ms, AT(conf, sync.interval_ms), 1, 3600, 60 },
	{ "sweep_s", set_ms, AT(conf, sync.sweep_ms), 1, 7 * DAY_S, 3600 },
	{ "fetches", set_unsigned, AT(conf, sync.fetches), 1, 64, 4 },
	{ "stall_s", set_ms, AT(conf, sync.stall_ms), 1, 3600, 30 },
	/* left out: three times interval_s, by set_sync() */
	{ "valid_s", set_ms, AT(conf, sync.valid_ms), 1, DAY_S, 0 },
	{ .name = NULL },
};

static const struct key replica_keys[] = {
	{ "root", set_text, AT(conf, replica.root), .legal = legal_path,
	    .required = true },
	{ "origin", set_text, AT(conf, replica.origin),
	    .legal = legal_url_template },
	{ "auth_file", set_text, AT(conf, replica.auth_file),
	    .legal = legal_path },
	{ "token_file", set_text, AT(conf, replica.token_file),
	    .legal = legal_path },
	{ .name = NULL },
};

/* Routes name upstreams, so those come first. */
static const struct key root_keys[] = {
	{ "state_dir", set_text, AT(conf, state_dir), .legal = legal_path,
	    .preset_text = "/var/lib/reproute" },
	{ "run_dir", set_text, AT(conf, run_dir), .high = MAX_RUN_DIR,
	    .preset_text = "/run/reproute", .legal = legal_path },
	{ "upstreams", set_upstreams, .in = IN_ALL },
	{ "routes", set_routes, .in = IN_ALL },
	{ "push", set_group, .keys = push_keys },
	{ "sync", set_sync, .keys = sync_keys },
	{ "replica", set_group, .keys = replica_keys },
	{ .name = NULL },
};

static enum err
want_upstream(const struct conf *conf, const struct setting *value,
    const struct upstream **out)
{
	const char *name;
	enum err err = want_text(value, &name);

	if (err != ERR_OK)
		return err;
	if ((*out = conf_upstream(conf, name)) == NULL)
		return setting_error(value,
		    "there is no upstream \"%s\"; "
		    "name one of upstreams, or add it there",
		    name);
	return ERR_OK;
}

static enum err
set_upstream(const struct place *place, const struct setting *value)
{
	void *field = (char *)place->target + place->key->offset;

	return want_upstream(place->conf, value, field);
}

static enum err
set_replicas(const struct place *place, const struct setting *value)
{
	struct route *route = place->target;
	enum err err;

	if (value == NULL)
		return ERR_OK;
	if ((err = want_list(value, 0, MAX_REPLICAS)) != ERR_OK)
		return err;
	for (size_t i = 0; i < value->n_items; i++) {
		const struct setting *item = &value->items[i];
		const struct upstream *replica;

		err = want_upstream(place->conf, item, &replica);
		if (err != ERR_OK)
			return err;
		if (strcmp(replica->url, route->primary->url) == 0)
			return setting_error(item,
			    "the replica \"%s\" is the "
			    "primary; leave it out",
			    replica->name);
		if (conf_is_replica(route, replica, NULL))
			return setting_error(item,
			    "the replica \"%s\" is in "
			    "the list twice; leave one out",
			    replica->name);
		route->replicas[route->n_replicas++] = replica;
	}
	return ERR_OK;
}

static enum err
set_command(const struct place *place, const struct setting *value)
{
	struct route *route = place->target;
	const char *text;
	enum err err;

	if (value == NULL)
		return ERR_OK;
	if ((err = want_list(value, 1, MAX_COMMAND)) != ERR_OK)
		return err;
	route->command = mem_array(value->n_items + 1, sizeof(char *));
	for (size_t i = 0; i < value->n_items; i++) {
		const struct setting *item = &value->items[i];

		if ((err = want_text(item, &text)) != ERR_OK ||
		    (err = placed(item, legal_template(text))) != ERR_OK)
			return err;
		route->command[i] = mem_dup(text);
	}
	return ERR_OK;
}

/* That it is there at all, check_git() sees to. */
static enum err
set_authorize(const struct place *place, const struct setting *value)
{
	const char *text;
	enum err err;

	(void)place;
	if (value == NULL)
		return ERR_OK;
	if ((err = want_text(value, &text)) != ERR_OK)
		return err;
	if (strcmp(text, "primary") == 0)
		return setting_error(value,
		    "authorize = \"primary\" is not "
		    "available in this version; have the web server "
		    "authorise every client before it asks, and write "
		    "\"webserver\"");
	if (strcmp(text, "webserver") != 0)
		return setting_error(value,
		    "authorize = \"%s\" is not known; "
		    "write \"webserver\"",
		    text);
	return ERR_OK;
}

static enum err
set_sync(const struct place *place, const struct setting *value)
{
	struct conf *conf = place->conf;
	enum err err = set_group(place, value);

	if (err != ERR_OK)
		return err;
	if (conf->sync.valid_ms == 0)
		conf->sync.valid_ms = 3 * conf->sync.interval_ms;
	if (conf->sync.valid_ms < conf->sync.interval_ms)
		return setting_error(setting_child(value, "valid_s"),
		    "valid_s is less than interval_s, so that replicas would "
		    "be in doubt between two passes; write %lld or more",
		    (long long)conf->sync.interval_ms / 1000);
	return ERR_OK;
}

static enum err
set_list(const struct place *place, const struct setting *value)
{
	return value == NULL ? ERR_OK
			     : want_list(value, 0, (size_t)place->key->high);
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

/*
 * One item of include or exclude: a pattern, or a group with its name; names
 * holds those of all rules of the route.
 */
static enum err
add_rule(struct conf *conf, struct rules *rules, enum rule_list list,
    const struct setting *item, void **names)
{
	struct rule rule = { 0 };
	const char *pattern;
	enum err err;

	if (item->type != SETTING_GROUP) {
		err = want_text(item, &pattern);
		return err != ERR_OK
		    ? err
		    : placed(item, rules_add(rules, list, NULL, pattern));
	}
	err = schema_fill(conf, "a rule", rule_keys, IN_ALL, item, &rule);
	if (err != ERR_OK)
		goto out;
	err = placed(item, rules_add(rules, list, rule.name, rule.pattern));
	if (err != ERR_OK)
		goto out;
	if (*(char **)tsearch(rule.name, names, by_text) != rule.name)
		err = setting_error(item,
		    "the rule \"%s\" is there twice; "
		    "choose another name",
		    rule.name);
	else
		rule.name = NULL; /* names has it now */
out:
	free(rule.name);
	free(rule.pattern);
	return err;
}

static enum err
add_rules(struct conf *conf, struct rules *rules, const struct setting *migrate)
{
	static const struct {
		const char *key;
		enum rule_list list;
	} lists[] = {
		{ "include", RULES_INCLUDE },
		{ "exclude", RULES_EXCLUDE },
	};
	enum err err = ERR_OK;
	void *names = NULL;

	for (int i = 0; i < 2; i++) {
		const struct setting *list = setting_child(migrate,
		    lists[i].key);

		for (size_t n = 0;
		     err == ERR_OK && list != NULL && n < list->n_items; n++)
			err = add_rule(conf, rules, lists[i].list,
			    &list->items[n], &names);
	}
	tdestroy(names, free);
	return err;
}

static enum err
set_migrate(const struct place *place, const struct setting *value)
{
	struct route *route = place->target;
	struct migrate migrate = { 0 };
	enum err err;

	if (value == NULL)
		return ERR_OK;
	err = schema_fill(place->conf, "migrate", migrate_keys, IN_ALL, value,
	    &migrate);
	if (err != ERR_OK)
		goto out;
	if (strcmp(migrate.to->url, route->primary->url) == 0) {
		err = setting_error(value,
		    "migrate goes to the primary "
		    "itself; name another upstream, or leave migrate out");
		goto out;
	}
	route->to = migrate.to;
	route->rules = rules_new(migrate.salt ? migrate.salt : route->name,
	    migrate.percent, migrate.by_namespace);
	err = add_rules(place->conf, route->rules, value);
out:
	free(migrate.salt);
	return err;
}

static enum err
fill_upstream(struct conf *conf, const struct setting *item,
    struct upstream *upstream)
{
	enum err err = schema_fill(conf, "an upstream", upstream_keys, IN_ALL,
	    item, upstream);

	if (err == ERR_OK && upstream->endpoint == NULL)
		upstream->endpoint = mem_fmt("%s/reproute", upstream->url);
	return err;
}

static enum err
set_upstreams(const struct place *place, const struct setting *value)
{
	struct conf *conf = place->conf;
	enum err err;

	if (value == NULL)
		return ERR_OK;
	if ((err = want_list(value, 0, MAX_UPSTREAMS)) != ERR_OK)
		return err;
	conf->upstreams = mem_array(value->n_items, sizeof(struct upstream));
	for (size_t i = 0; i < value->n_items; i++) {
		conf->n_upstreams++;
		err = fill_upstream(conf, &value->items[i],
		    &conf->upstreams[i]);
		if (err == ERR_OK)
			err = whole_upstream(conf, value, i);
		if (err != ERR_OK)
			return err;
	}
	return ERR_OK;
}

static enum err
fill_route(struct conf *conf, const struct setting *item, struct route *route)
{
	const struct setting *kind = setting_child(item, "kind");
	bool registry = kind != NULL && kind->type == SETTING_TEXT &&
	    strcmp(kind->text, kinds[ROUTE_REGISTRY]) == 0;

	return registry
	    ? schema_fill(conf, "a registry route", route_keys, IN_REGISTRY,
		  item, route)
	    : schema_fill(conf, "a git route", route_keys, IN_GIT, item, route);
}

static enum err
set_routes(const struct place *place, const struct setting *value)
{
	struct conf *conf = place->conf;
	enum err err;

	if (value == NULL)
		return ERR_OK;
	if ((err = want_list(value, 0, MAX_ROUTES)) != ERR_OK)
		return err;
	conf->routes = mem_array(value->n_items, sizeof(struct route));
	for (size_t i = 0; i < value->n_items; i++) {
		conf->n_routes++;
		err = fill_route(conf, &value->items[i], &conf->routes[i]);
		if (err == ERR_OK)
			err = whole_route(conf, value, i);
		if (err != ERR_OK)
			return err;
	}
	return ERR_OK;
}

enum err
keys_fill(struct conf *conf, const struct setting *root)
{
	enum err err = schema_fill(conf, "the configuration", root_keys, IN_ALL,
	    root, conf);

	return err == ERR_OK ? whole_conf(conf, root) : err;
}

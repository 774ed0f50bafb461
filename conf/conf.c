/* conf.c: what a program is told at start; the only user of libconfig */
/* SPDX-License-Identifier: ISC */
#include "conf/conf.h"

#include <dirent.h>
#include <errno.h>
#include <libconfig.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "conf/crypto.h"
#include "conf/keys.h"
#include "conf/mem.h"
#include "conf/rules.h"
#include "conf/scan.h"
#include "conf/setting.h"

/* A file of the configuration has fewer bytes, */
#define MAX_FILE (16UL << 20)
/* a configuration no more files, */
#define MAX_FILES 256
/* and its groups and lists do not nest deeper. */
#define MAX_NESTING 16

/* What to do about a file that is not there. */
#define MISSING                                                                \
	"; name another by -c or $REPROUTE_CONF, or make it from " SAMPLE

/* --- one file */

static enum err
read_bytes(const char *file, struct buf *out)
{
	char piece[16384];
	struct stat status;
	enum err err = ERR_OK;
	FILE *stream;
	size_t len;

	if ((stream = fopen(file, "re")) == NULL)
		return err_set(ERR_CONF, "%s: %s%s", file, strerror(errno),
		    errno == ENOENT ? MISSING : "");
	if (fstat(fileno(stream), &status) == 0 && S_ISDIR(status.st_mode))
		err = err_set(ERR_CONF, "%s: it is a directory; name a file",
		    file);
	while (err == ERR_OK &&
	    (len = fread(piece, 1, sizeof(piece), stream)) > 0) {
		buf_add(out, piece, len);
		if (out->len >= MAX_FILE)
			err = err_set(ERR_CONF, "%s: it has %lu bytes or more",
			    file, MAX_FILE);
	}
	if (err == ERR_OK && ferror(stream))
		err = err_set(ERR_CONF, "%s: %s", file, strerror(errno));
	fclose(stream);
	/* libconfig knows no comment without a newline behind it */
	buf_puts(out, "\n");
	return err;
}

static enum err
syntax_error(const config_t *config, const char *file, const char *bytes)
{
	unsigned line = (unsigned)config_error_line(config);
	const char *text = config_error_text(config);

	if (scan_trailing_comma(bytes, line))
		return err_set(ERR_CONF,
		    "%s:%u: a trailing comma "
		    "before the end of a list; leave it out",
		    file, line);
	if (strcmp(text, "duplicate setting name") == 0)
		return err_set(ERR_CONF,
		    "%s:%u: a key that its group has "
		    "already; leave one out",
		    file, line);
	if (strcmp(text, "mismatched element type in array") == 0)
		return err_set(ERR_CONF,
		    "%s:%u: an array [ ... ] holds items "
		    "of one type; write a list ( ... )",
		    file, line);
	return err_set(ERR_CONF,
	    "%s:%u: %s here, or in what stands before; "
	    "write key = value; with values \"text\", 1, true, ( list ) or "
	    "{ group }",
	    file, line, text);
}

static enum err take_items(const config_setting_t *, unsigned depth,
    struct setting *to);

/* Takes one setting, and all in it, out of libconfig's hands. */
static enum err
take(const config_setting_t *from, unsigned depth, struct setting *to)
{
	const char *key = config_setting_name(from);

	to->line = config_setting_source_line(from);
	to->key = key != NULL ? mem_dup(key) : NULL;
	switch (config_setting_type(from)) {
	case CONFIG_TYPE_STRING:
		to->type = SETTING_TEXT;
		to->text = mem_dup(config_setting_get_string(from));
		return ERR_OK;
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		to->type = SETTING_INTEGER;
		to->number = config_setting_get_int64(from);
		return ERR_OK;
	case CONFIG_TYPE_FLOAT:
		to->type = SETTING_REAL;
		to->real = config_setting_get_float(from);
		return ERR_OK;
	case CONFIG_TYPE_BOOL:
		to->type = SETTING_BOOL;
		to->truth = config_setting_get_bool(from) != 0;
		return ERR_OK;
	case CONFIG_TYPE_GROUP:
		to->type = SETTING_GROUP;
		return take_items(from, depth, to);
	default:
		to->type = SETTING_LIST;
		return take_items(from, depth, to);
	}
}

static enum err
take_items(const config_setting_t *from, unsigned depth, struct setting *to)
{
	int n = config_setting_length(from);
	enum err err = ERR_OK;

	if (depth > MAX_NESTING)
		return setting_error(to, "nested deeper than %d", MAX_NESTING);
	for (int i = 0; err == ERR_OK && i < n; i++) {
		struct setting item = { .file = to->file };

		err = take(config_setting_get_elem(from, (unsigned)i),
		    depth + 1, &item);
		setting_append(to, &item);
	}
	return err;
}

/* All of one file, as a group; file is borrowed for as long as it lives. */
static enum err
read_file(const char *file, struct setting *out)
{
	struct buf bytes = { 0 };
	config_t config;
	enum err err;

	config_init(&config);
	if ((err = read_bytes(file, &bytes)) != ERR_OK ||
	    (err = scan_check(file, bytes.data, bytes.len)) != ERR_OK)
		goto out;
	if (config_read_string(&config, bytes.data) != CONFIG_TRUE) {
		err = syntax_error(&config, file, bytes.data);
		goto out;
	}
	out->file = file;
	err = take(config_root_setting(&config), 0, out);
out:
	config_destroy(&config);
	buf_free(&bytes);
	return err;
}

/* --- all files */

static int
is_conf(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return entry->d_name[0] != '.' && dot != NULL &&
	    strcmp(dot, ".conf") == 0;
}

/* In byte order, whatever the locale. */
static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* The names of conf.d/'s files, beside file; *out and each are the caller's. */
static enum err
list_more(const char *file, char ***out, size_t *n_out)
{
	const char *slash = strrchr(file, '/');
	char *dir = mem_fmt("%.*sconf.d",
	    slash != NULL ? (int)(slash + 1 - file) : 0, file);
	struct dirent **entries = NULL;
	int n = scandir(dir, &entries, is_conf, by_name);
	enum err err = ERR_OK;

	*out = mem_array(n > 0 ? (size_t)n : 0, sizeof(char *));
	*n_out = 0;
	if (n < 0 && errno != ENOENT)
		err = err_set(ERR_CONF, "%s: %s", dir, strerror(errno));
	else if (n > MAX_FILES)
		err = err_set(ERR_CONF, "%s: %d files; %d is the most", dir, n,
		    MAX_FILES);
	for (int i = 0; i < n; i++) {
		(*out)[(*n_out)++] = mem_fmt("%s/%s", dir, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	free(dir);
	return err;
}

/* Is it one whose items files add up? */
static bool
adds_up(const struct setting *setting)
{
	return setting->type == SETTING_LIST &&
	    (strcmp(setting->key, "upstreams") == 0 ||
		strcmp(setting->key, "routes") == 0);
}

/* Moves what a later file holds into root. */
static enum err
merge(struct setting *root, struct setting *more)
{
	for (size_t i = 0; i < more->n_items; i++) {
		struct setting *item = &more->items[i];
		struct setting *known = (struct setting *)setting_child(root,
		    item->key);

		if (known == NULL)
			setting_append(root, item);
		else if (adds_up(known) && adds_up(item))
			for (size_t n = 0; n < item->n_items; n++)
				setting_append(known, &item->items[n]);
		else
			return setting_error(item,
			    "%s is in %s:%u already; "
			    "leave one of them out",
			    item->key, known->file, known->line);
	}
	return ERR_OK;
}

enum err
conf_read(const char *file, struct conf **out)
{
	struct conf *conf = mem_zalloc(sizeof(*conf));
	struct setting root = { .type = SETTING_GROUP }, more = { 0 };
	char **files = NULL;
	size_t n_files = 0;
	enum err err;

	conf->file = mem_dup(file);
	if ((err = read_file(conf->file, &root)) != ERR_OK ||
	    (err = list_more(file, &files, &n_files)) != ERR_OK)
		goto out;
	for (size_t i = 0; i < n_files; i++) {
		setting_free(&more);
		if ((err = read_file(files[i], &more)) != ERR_OK ||
		    (err = merge(&root, &more)) != ERR_OK)
			goto out;
	}
	err = keys_fill(conf, &root);
out:
	setting_free(&more);
	setting_free(&root);
	for (size_t i = 0; i < n_files; i++)
		free(files[i]);
	free(files);
	if (err == ERR_OK)
		*out = conf;
	else
		conf_free(conf);
	return err;
}

/* --- what was read */

static void
free_upstream(struct upstream *upstream)
{
	free(upstream->name);
	free(upstream->url);
	free(upstream->endpoint);
	free(upstream->path);
	free(upstream->auth_file);
	free(upstream->ca_file);
}

static void
free_route(struct route *route)
{
	free(route->name);
	free(route->prefix);
	for (char **word = route->command; word && *word; word++)
		free(*word);
	free(route->command);
	rules_free(route->rules);
}

void
conf_free(struct conf *conf)
{
	if (conf == NULL)
		return;
	for (size_t i = 0; i < conf->n_routes; i++)
		free_route(&conf->routes[i]);
	for (size_t i = 0; i < conf->n_upstreams; i++)
		free_upstream(&conf->upstreams[i]);
	free(conf->routes);
	free(conf->upstreams);
	free(conf->file);
	free(conf->state_dir);
	free(conf->run_dir);
	free(conf->push.token_file);
	free(conf->replica.root);
	free(conf->replica.origin);
	free(conf->replica.auth_file);
	free(conf->replica.token_file);
	free(conf);
}

const struct upstream *
conf_upstream(const struct conf *conf, const char *name)
{
	for (size_t i = 0; i < conf->n_upstreams; i++)
		if (strcmp(conf->upstreams[i].name, name) == 0)
			return &conf->upstreams[i];
	return NULL;
}

const struct route *
conf_route(const struct conf *conf, const char *name)
{
	for (size_t i = 0; i < conf->n_routes; i++)
		if (strcmp(conf->routes[i].name, name) == 0)
			return &conf->routes[i];
	return NULL;
}

bool
conf_is_replica(const struct route *route, const struct upstream *upstream,
    size_t *index)
{
	size_t i = 0;

	while (i < route->n_replicas && route->replicas[i] != upstream)
		i++;
	if (i == route->n_replicas && route->to != upstream)
		return false;
	if (index != NULL)
		*index = i; /* of route->to: 0, as there are no replicas */
	return true;
}

uint64_t
route_fingerprint(const struct route *route)
{
	struct buf words = { 0 };
	uint64_t value;

	buf_fmt(&words, "%s\n%d\n%s\n%s\n%d\n%d\n", route->name,
	    (int)route->kind, route->prefix, route->primary->url,
	    (int)route->proof, (int)route->fold_case);
	if (route->mode == MODE_OBSERVE)
		buf_puts(&words, "observe\n");
	value = digest_64(words.data, words.len);
	buf_free(&words);
	return value;
}

uint64_t
replica_fingerprint(const struct route *route, const struct upstream *upstream)
{
	struct buf words = { 0 };
	uint64_t value;

	buf_fmt(&words, "%s\n%s\n%s\n", route->name, upstream->url,
	    upstream->endpoint);
	value = digest_64(words.data, words.len);
	buf_free(&words);
	return value;
}

const struct upstream *
conf_side(const struct route *route, int side)
{
	return side == 0 ? route->primary : route->to;
}

/* webconf_print.c: the webconf verb: prints a web server's part, or compares */
/* SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fcgi/admin.h"
#include "fcgi/listener.h"
#include "fcgi/webconf.h"
#include "sync/spawn.h"
#include "sync/wake.h"

#define DEFAULT_SCRIPT "/etc/reproute/lighttpd.lua"
#define DEFAULT_ADDRESS "127.0.0.1:9010"
/* diff(1) takes no longer over two small files. */
#define DIFF_MS 10000

static const struct webconf_server *const servers[] = {
	&webconf_apache,
	&webconf_lighttpd,
	&webconf_nginx,
};

/* What the options and the operands chose. */
struct choice {
	const struct webconf_server *server;
	const struct webconf_part *part; /* NULL: all, for --check */
	const char *app, *mode;
	const char *file; /* --check's, or NULL */
};

static enum err
choose_server(const char *name, struct choice *choice)
{
	for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++)
		if (strcmp(servers[i]->name, name) == 0) {
			choice->server = servers[i];
			return ERR_OK;
		}
	return err_set(ERR_USAGE,
	    "which web server: apache, lighttpd or nginx?");
}

/* Which word of a list it is; the first where none is said. */
static enum err
choose_word(const struct webconf_server *server, const char *option,
    const char *const *words, const char *said, const char **out)
{
	while (said != NULL && *words != NULL && strcmp(*words, said) != 0)
		words++;
	if (*words == NULL)
		return err_set(ERR_USAGE, "--%s %s: %s does not know that",
		    option, said, server->name);
	*out = *words;
	return ERR_OK;
}

static enum err
choose_part(const char *said, bool check, struct choice *choice)
{
	const struct webconf_part *part = choice->server->parts;

	if (said == NULL && check && choice->file == NULL)
		return ERR_OK;
	if (said == NULL)
		return err_set(ERR_USAGE,
		    "which --part of %s's: %s (%s) or %s (%s)?",
		    choice->server->name, part[0].name, part[0].file,
		    part[1].name, part[1].file);
	while (part->name != NULL && strcmp(part->name, said) != 0)
		part++;
	choice->part = part;
	return part->name != NULL
	    ? ERR_OK
	    : err_set(ERR_USAGE, "--part %s: %s has none of that name", said,
		  choice->server->name);
}

static bool
has_modes(const struct choice *choice)
{
	const char *only = choice->server->mode_app;

	return only == NULL || strcmp(choice->app, only) == 0;
}

static enum err
choose(const struct admin *admin, int argc, char **argv, struct choice *choice)
{
	enum err err;

	if (argc != 2 && !(argc == 3 && admin->check))
		return err_set(ERR_USAGE, "one web server's name is wanted");
	choice->file = argc == 3 ? argv[2] : NULL;
	if ((err = choose_server(argv[1], choice)) == ERR_OK &&
	    (err = choose_word(choice->server, "app", choice->server->apps,
		 admin->app, &choice->app)) == ERR_OK &&
	    (err = choose_word(choice->server, "mode", choice->server->modes,
		 admin->mode, &choice->mode)) == ERR_OK)
		err = choose_part(admin->part, admin->check, choice);
	if (err == ERR_OK && admin->mode != NULL && !has_modes(choice))
		err = err_set(ERR_USAGE, "--mode is for --app %s only",
		    choice->server->mode_app);
	if (err == ERR_OK && admin->access_log != NULL &&
	    choice->server->access_log == NULL)
		err = err_set(ERR_USAGE,
		    "--access-log is not for %s: the site's own log gets "
		    "upstream and reason",
		    choice->server->name);
	return err;
}

/* The words that would print the part again. */
static char *
command_of(const struct admin *admin, const struct webconf *webconf,
    const struct choice *choice, const struct webconf_part *part)
{
	const struct {
		const char *option, *value;
	} said[] = {
		{ "app", admin->app },
		{ "mode", admin->mode },
		{ "socket", admin->socket },
		{ "address", admin->address },
		{ "access-log", admin->access_log },
		{ "lua-file", admin->lua_file },
		{ "bin-dir", admin->bin_dir },
		{ "sbin-dir", admin->sbin_dir },
		{ "libexec-dir", admin->libexec_dir },
	};
	struct buf out = { 0 };

	buf_puts(&out, "reproute ");
	if (webconf->conf_file != NULL)
		buf_fmt(&out, "-c %s ", webconf->conf_file);
	buf_fmt(&out, "webconf %s --part %s", choice->server->name, part->name);
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++)
		if (said[i].value != NULL)
			buf_fmt(&out, " --%s %s", said[i].option,
			    said[i].value);
	return out.data;
}

static enum err
print_part(const struct admin *admin, struct webconf *webconf,
    const struct choice *choice, const struct webconf_part *part,
    struct buf *out)
{
	char *command = command_of(admin, webconf, choice, part);
	enum err err;

	webconf->command = command;
	err = part->print(webconf, out);
	free(command);
	return err;
}

/* Says by diff(1) what file has that text has not, and the other way round. */
static enum err
compare(const char *file, const struct buf *text, int *status)
{
	const char *const argv[] = { "diff", "-u", "--label", file, "--label",
		"as it would be printed now", "--", file, "-", NULL };
	const struct spawn diff = { .argv = argv,
		.input = text->data,
		.input_len = text->len,
		.stall_ms = DIFF_MS };
	struct buf out = { 0 };
	enum err err;

	if (access(file, R_OK) == -1)
		return err_sys("%s", file);
	err = spawn_run(&diff, &out);
	if (err == ERR_OK) {
		printf("%s: as it would be printed now\n", file);
	} else if (err == ERR_PEER && out.len > 0) {
		fwrite(out.data, 1, out.len, stdout);
		*status = 1;
		err = ERR_OK;
	}
	buf_free(&out);
	return err;
}

/* The chosen part: to stdout, or compared; every part without a choice. */
static enum err
each_part(const struct admin *admin, struct webconf *webconf,
    const struct choice *choice, int *status)
{
	const struct webconf_part *part = choice->server->parts;
	enum err err = ERR_OK;

	for (; part->name != NULL && err == ERR_OK; part++) {
		struct buf out = { 0 };

		if (choice->part != NULL && choice->part != part)
			continue;
		err = print_part(admin, webconf, choice, part, &out);
		if (err == ERR_OK && admin->check)
			err = compare(choice->file != NULL ? choice->file
							   : part->file,
			    &out, status);
		else if (err == ERR_OK)
			fwrite(out.data, 1, out.len, stdout);
		buf_free(&out);
	}
	return err;
}

static char *
below(const char *dir, const char *name)
{
	return mem_fmt("%s/%s", dir, name);
}

static const char *
said_or(const char *said, const char *otherwise)
{
	return said != NULL ? said : otherwise;
}

/* Who starts the push endpoint has another working directory. */
static enum err
absolute_conf(const char *file, char **out)
{
	*out = NULL;
	if (strcmp(file, CONF_DEFAULT_FILE) == 0)
		return ERR_OK;
	*out = realpath(file, NULL);
	return *out != NULL ? ERR_OK : err_sys("%s", file);
}

/* Where the router is asked, unless said otherwise; for the caller to free. */
static char *
default_socket(const struct choice *choice, const char *run_dir)
{
	const struct webconf_server *server = choice->server;

	return server->app_socket != NULL && choice->app != server->apps[0]
	    ? mem_dup(server->app_socket)
	    : below(run_dir, ROUTER_SOCKET);
}

static enum err
run(const struct admin *admin, const struct choice *choice, int *status)
{
	const char *run_dir = admin->conf->run_dir;
	char *conf_file = NULL, *socket = default_socket(choice, run_dir);
	char *push_socket = below(run_dir, PUSH_SOCKET);
	char *feed_socket = below(run_dir, FEED_SOCKET);
	enum err err = absolute_conf(admin->conf->file, &conf_file);
	struct webconf webconf = {
		.conf = admin->conf,
		.conf_file = conf_file,
		.app = choice->app,
		.mode = choice->mode,
		.socket = said_or(admin->socket, socket),
		.address = said_or(admin->address, DEFAULT_ADDRESS),
		.push_socket = push_socket,
		.feed_socket = feed_socket,
		.script = said_or(admin->lua_file, DEFAULT_SCRIPT),
		.access_log = said_or(admin->access_log,
		    choice->server->access_log),
		.bin_dir = said_or(admin->bin_dir, BINDIR),
		.sbin_dir = said_or(admin->sbin_dir, SBINDIR),
		.libexec_dir = said_or(admin->libexec_dir, LIBEXECDIR),
	};

	if (err == ERR_OK && (err = webconf_check(&webconf)) == ERR_OK)
		err = each_part(admin, &webconf, choice, status);
	free(conf_file);
	free(socket);
	free(push_socket);
	free(feed_socket);
	return err;
}

enum err
admin_webconf(const struct admin *admin, int argc, char **argv, int *status)
{
	struct choice choice = { .part = NULL };
	enum err err = choose(admin, argc, argv, &choice);

	return err == ERR_OK ? run(admin, &choice, status) : err;
}

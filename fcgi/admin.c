/* admin.c: the reproute command: its verbs, and what they share */
/* SPDX-License-Identifier: ISC */
#include "fcgi/admin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "conf/log.h"
#include "conf/program.h"
#include "sync/wire.h"

/* Words that one verb is given, its options included. */
#define MAX_WORDS 64

static struct admin admin;

#define OPTION_END                                                             \
	{                                                                      \
		NULL, 0, NULL, NULL, NULL, NULL                                \
	}
#define OPTION_JSON                                                            \
	{                                                                      \
		"json", 0, NULL, "for programs: one object on one line",       \
		    &admin.json, NULL                                          \
	}
#define OPTION_APPLY                                                           \
	{                                                                      \
		"apply", 0, NULL,                                              \
		    "do it; without, only say what would be done",             \
		    &admin.apply, NULL                                         \
	}

static const struct program_option json_options[] = {
	OPTION_JSON,
	OPTION_END,
};
static const struct program_option check_options[] = {
	{ "test", 't', NULL, "the configuration only", &admin.test, NULL },
	OPTION_JSON,
	OPTION_END,
};
/* explain reads its own: they have a grammar, and are handed on */
static const struct program_option explain_options[] = {
	{ "client", 0, "ADDR:PORT", "who asks", NULL, NULL },
	{ "header", 'H', "'NAME: VALUE'", "of the request; may be repeated",
	    NULL, NULL },
	OPTION_JSON,
	OPTION_END,
};
static const struct program_option place_options[] = {
	OPTION_APPLY,
	{ "force", 0, NULL, "on a side that does not have it, too",
	    &admin.force, NULL },
	OPTION_JSON,
	OPTION_END,
};
static const struct program_option forget_options[] = {
	OPTION_APPLY,
	OPTION_JSON,
	OPTION_END,
};
static const struct program_option compare_options[] = {
	{ "force", 0, NULL, "end its fences first", &admin.force, NULL },
	OPTION_JSON,
	OPTION_END,
};
static const struct program_option drain_options[] = {
	{ "undo", 0, NULL, "let reads go there again", &admin.undo, NULL },
	OPTION_JSON,
	OPTION_END,
};
static const struct program_option wait_options[] = {
	{ "replicas", 0, "N", "so many must have it (1)", NULL,
	    &admin.replicas },
	{ "timeout", 0, "SECONDS", "wait no longer (30)", NULL,
	    &admin.timeout },
	OPTION_JSON,
	OPTION_END,
};
static const struct program_option webconf_options[] = {
	{ "part", 0, "PART", "which file of it", NULL, &admin.part },
	{ "app", 0, "APP", "who starts the router", NULL, &admin.app },
	{ "mode", 0, "MODE", "how it is asked", NULL, &admin.mode },
	{ "check", 0, NULL, "compare an installed file with it", &admin.check,
	    NULL },
	{ "socket", 0, "PATH", "of reproute-fcgi (run_dir/fcgi.sock)", NULL,
	    &admin.socket },
	{ "address", 0, "ADDR:PORT",
	    "of reproute-fcgi, for mod_authnz_fcgi (127.0.0.1:9010)", NULL,
	    &admin.address },
	{ "access-log", 0, "FILE", "where routed requests are logged", NULL,
	    &admin.access_log },
	{ "lua-file", 0, "PATH",
	    "where lighttpd's script is put "
	    "(/etc/reproute/lighttpd.lua)",
	    NULL, &admin.lua_file },
	{ "bin-dir", 0, "DIR", "where reproute is (" BINDIR ")", NULL,
	    &admin.bin_dir },
	{ "sbin-dir", 0, "DIR", "where reproute-fcgi is (" SBINDIR ")", NULL,
	    &admin.sbin_dir },
	{ "libexec-dir", 0, "DIR", "where reproute-push is (" LIBEXECDIR ")",
	    NULL, &admin.libexec_dir },
	OPTION_END,
};
static const struct program_option feed_options[] = {
	{ "log", 0, "FILE", "where the rest of each line is appended", NULL,
	    &admin.log },
	OPTION_END,
};

static const struct verb {
	const char *name;
	admin_verb *run;
	const char *operands;
	const char *purpose;
	const struct program_option *options; /* or NULL */
	bool needs_no_conf;
} verbs[] = {
	{ "check", admin_check, "[-t]", "is all there, and may we use it?",
	    check_options, false },
	{ "explain", admin_explain, "METHOD URL",
	    "where would a request go, and why?", explain_options, false },
	{ "status", admin_status, "[[ROUTE] NAME]",
	    "how are the routes, or one repository?", json_options, false },
	{ "import", admin_import, "[ROUTE] [SIDE]",
	    "read the catalogues of a migration's registries", json_options,
	    false },
	{ "place", admin_place, "[ROUTE] NAME UPSTREAM [--apply]",
	    "say on which registry a repository is", place_options, false },
	{ "forget", admin_forget, "[ROUTE] NAME [--apply]",
	    "drop a repository's placement, or its row", forget_options,
	    false },
	{ "compare", admin_compare, "[ROUTE] NAME [--force]",
	    "compare the replicas with the primary now", compare_options,
	    false },
	{ "drain", admin_drain, "UPSTREAM [--undo]",
	    "send no more reads to a replica", drain_options, false },
	{ "off", admin_off, "[ROUTE]",
	    "send all reads of a route to the primary", json_options, false },
	{ "on", admin_on, "[ROUTE]", "let replicas serve a route again",
	    json_options, false },
	{ "wait", admin_wait, "[--replicas N] [--timeout SECONDS] [ROUTE] NAME",
	    "wait until replicas have what was pushed", wait_options, false },
	{ "webconf", admin_webconf, "apache|lighttpd|nginx --part PART",
	    "print a web server's part", webconf_options, false },
	{ "feed", admin_feed, "[--log FILE] SOCKET",
	    "carry a piped log's lines to the daemon", feed_options, true },
};
#define N_VERBS (sizeof(verbs) / sizeof(verbs[0]))

/* What is handed on to the verb: argv[0], its own options, its operands. */
static char *words[MAX_WORDS];
static int n_words;

static void
add_word(const char *word)
{
	if (n_words == MAX_WORDS)
		program_fail(
		    err_set(ERR_USAGE, "more than %d words", MAX_WORDS));
	words[n_words++] = (char *)word;
}

static void
hand_on(const struct program_option *option, const char *argument)
{
	char letter[] = { '-', option->letter, '\0' };

	/* lives as long as the program */
	add_word(
	    option->letter ? mem_dup(letter) : mem_fmt("--%s", option->name));
	if (option->argument != NULL)
		add_word(argument);
}

/* Every option that any verb has; the same name means the same arity. */
static struct program_option *
all_options(void)
{
	struct program_option *all = NULL;
	size_t n = 0;

	for (size_t i = 0; i < N_VERBS; i++) {
		const struct program_option *own = verbs[i].options;

		for (; own != NULL && own->name != NULL; own++) {
			size_t at = 0;

			while (at < n && strcmp(all[at].name, own->name) != 0)
				at++;
			all = mem_more(all, n, sizeof(*all));
			if (at == n)
				all[n++] = *own;
		}
	}
	all = mem_more(all, n, sizeof(*all));
	all[n] = (struct program_option)OPTION_END;
	return all;
}

static const struct verb *
find_verb(int argc, char **argv)
{
	struct program_option *all = all_options();
	const struct program union_of_verbs = { .options = all };
	const char *name = program_first(&union_of_verbs, argc, argv);

	free(all);
	if (name == NULL)
		return NULL;
	for (size_t i = 0; i < N_VERBS; i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	fprintf(stderr, "reproute: no verb \"%s\"\nTry 'reproute --help'.\n",
	    name);
	exit(EX_USAGE);
}

/* Without a verb there are --help, --version, and -t for "check -t". */
static const struct verb *
start_without_verb(int argc, char **argv, struct program_run *run)
{
	struct buf list = { 0 };
	const struct program program = {
		.name = "reproute",
		.synopsis = "[-c FILE] VERB [...]",
		.purpose = "Tells and changes what a reproute on this host "
			   "knows.",
		.options = check_options,
	};
	struct program with_list = program;

	buf_puts(&list, "Verbs (reproute VERB --help tells more):\n");
	for (size_t i = 0; i < N_VERBS; i++)
		buf_fmt(&list, "  %-8s %-32s %s\n", verbs[i].name,
		    verbs[i].operands, verbs[i].purpose);
	with_list.more = list.data;
	program_start(&with_list, argc, argv, run);
	buf_free(&list);
	if (admin.test)
		return &verbs[0];
	fprintf(stderr, "usage: reproute %s\nTry 'reproute --help'.\n",
	    program.synopsis);
	exit(EX_USAGE);
}

static void
start_verb(const struct verb *verb, int argc, char **argv,
    struct program_run *run)
{
	char *synopsis = mem_fmt("%s [-c FILE] %s", verb->name, verb->operands);
	char *purpose = mem_fmt("%s: %s", verb->name, verb->purpose);
	const struct program program = {
		.name = "reproute",
		.synopsis = synopsis,
		.purpose = purpose,
		.options = verb->options,
		.take = hand_on,
		.operands = true,
	};

	add_word(verb->name);
	program_start(&program, argc, argv, run);
	for (int i = run->first + 1; i < argc; i++)
		add_word(argv[i]);
	free(synopsis);
	free(purpose);
}

static int
run_verb(const struct verb *verb, const struct program_run *run)
{
	struct conf *conf = verb->needs_no_conf ? NULL : program_conf(run);
	int status = 0;
	enum err err;

	admin.conf = conf;
	err = verb->run(&admin, n_words, words, &status);
	if (err == ERR_USAGE)
		fprintf(stderr, "usage: reproute %s %s\n", verb->name,
		    verb->operands);
	if (err != ERR_OK)
		program_fail(err);
	conf_free(conf);
	if (fflush(stdout) != 0)
		program_fail(err_sys("standard output"));
	return status;
}

int
main(int argc, char **argv)
{
	struct program_run run;
	const struct verb *verb = find_verb(argc, argv);

	if (verb == NULL) {
		verb = start_without_verb(argc, argv, &run);
		add_word(verb->name);
	} else {
		start_verb(verb, argc, argv, &run);
	}
	return run_verb(verb, &run);
}

enum err
admin_table(const struct admin *given, bool write, struct table **out)
{
	enum err err = table_open(given->conf->state_dir, write, out);

	if (err != ERR_ABSENT || write)
		return err;
	*out = NULL;
	return ERR_OK;
}

enum err
admin_known_table(const struct admin *given, struct table **out)
{
	struct table *table;
	enum err err = admin_table(given, false, &table);

	if (err != ERR_OK)
		return err;
	if (table == NULL)
		return err_set(ERR_TABLE,
		    "there is no table yet: start reproute-syncd");
	*out = table;
	return ERR_OK;
}

bool
admin_is_git(const struct route *route)
{
	return route->kind == ROUTE_GIT;
}

bool
admin_is_migration(const struct route *route)
{
	return route->to != NULL;
}

bool
admin_is_either(const struct route *route)
{
	return admin_is_git(route) || admin_is_migration(route);
}

static enum err
which_route(const struct conf *conf, admin_filter *filter, const char *said)
{
	struct buf list = { 0 };
	enum err err;

	for (size_t i = 0; i < conf->n_routes; i++)
		if (filter(&conf->routes[i]))
			buf_fmt(&list, "%s%s", list.len > 0 ? ", " : "",
			    conf->routes[i].name);
	if (list.len == 0)
		err = err_set(ERR_USAGE,
		    "the configuration has no route of "
		    "that kind");
	else if (said != NULL)
		err = err_set(ERR_USAGE, "no such route: \"%s\"; there is %s",
		    said, list.data);
	else
		err = err_set(ERR_USAGE, "which route: %s?", list.data);
	buf_free(&list);
	return err;
}

enum err
admin_route(const struct admin *given, int argc, char **argv, int wanted,
    admin_filter *filter, const struct route **out)
{
	const struct conf *conf = given->conf;
	const struct route *found = NULL;
	char said[WORD_SIZE];

	if (argc - 1 != wanted && argc - 2 != wanted)
		return err_set(ERR_USAGE, "%d or %d words are wanted", wanted,
		    wanted + 1);
	if (argc - 2 == wanted) {
		found = conf_route(conf, argv[1]);
		if (found != NULL && filter(found)) {
			*out = found;
			return ERR_OK;
		}
		log_escape(said, sizeof(said), argv[1]);
		return which_route(conf, filter, said);
	}
	for (size_t i = 0; i < conf->n_routes; i++) {
		if (!filter(&conf->routes[i]))
			continue;
		if (found != NULL)
			return which_route(conf, filter, NULL);
		found = &conf->routes[i];
	}
	if (found == NULL)
		return which_route(conf, filter, NULL);
	*out = found;
	return ERR_OK;
}

enum err
admin_name(const struct route *route, const char *said, char name[NAME_SIZE])
{
	size_t len = strlen(said);
	bool git = route->kind == ROUTE_GIT;

	if (git && len > 4 && strcmp(said + len - 4, ".git") == 0)
		len -= 4;
	if (len >= NAME_SIZE)
		return err_set(ERR_USAGE, "a name of more than %d bytes",
		    MAX_NAME);
	memcpy(name, said, len);
	name[len] = '\0';
	if (git && route->fold_case)
		name_fold(name);
	if (git ? name_git(name) : name_registry(name))
		return ERR_OK;
	return err_set(ERR_USAGE,
	    "no repository of route %s can have that "
	    "name",
	    route->name);
}

void
admin_print(struct wire *wire)
{
	struct buf out = { 0 };

	wire_finish(wire, &out);
	fwrite(out.data, 1, out.len, stdout);
	buf_free(&out);
}

/* program.c: what every program's command line has in common */
/* SPDX-License-Identifier: ISC */
#include "conf/program.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "conf/log.h"
#include "conf/mem.h"

/* Options of a program's own. */
#define MAX_OPTIONS 32

enum { OPT_VERSION = 256, OPT_CHECK_CONFIG, OPT_OWN };

static const struct option common[] = {
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ "config", required_argument, NULL, 'c' },
	{ "check-config", no_argument, NULL, OPT_CHECK_CONFIG },
};
#define N_COMMON (sizeof(common) / sizeof(common[0]))

static void
ensure_std_fds(void)
{
	int fd;

	/* a table opened as fd 2 would take the log's bytes */
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

static void
print_option(char letter, const char *name, const char *argument,
    const char *help)
{
	char left[64];

	snprintf(left, sizeof(left), "%s%c%s--%s%s%s", letter ? "-" : " ",
	    letter ? letter : ' ', letter ? ", " : "  ", name,
	    argument ? " " : "", argument ? argument : "");
	printf("  %-28s %s\n", left, help);
}

static void
print_help(const struct program *program)
{
	printf("usage: %s %s\n%s\n\n", program->name, program->synopsis,
	    program->purpose);
	for (const struct program_option *own = program->options;
	     own != NULL && own->name != NULL; own++)
		print_option(own->letter, own->name, own->argument, own->help);
	print_option('c', "config", "FILE",
	    "the configuration (" CONF_DEFAULT_FILE ")");
	print_option(0, "check-config", NULL,
	    "read the configuration, say what is wrong, exit 0 or 78");
	print_option('h', "help", NULL, "print this and exit");
	print_option(0, "version", NULL, "print the version and exit");
	if (program->more != NULL)
		printf("\n%s", program->more);
}

static const char *
default_conf(bool trusted)
{
	const char *named = trusted ? getenv("REPROUTE_CONF") : NULL;

	return named != NULL && named[0] != '\0' ? named : CONF_DEFAULT_FILE;
}

static void
check_config(const struct program_run *run)
{
	conf_free(program_conf(run));
	printf("%s: ok\n", run->conf_file);
	exit(EX_OK);
}

_Noreturn static void
usage_exit(const struct program *program)
{
	fprintf(stderr, "usage: %s %s\nTry '%s --help'.\n", program->name,
	    program->synopsis, program->name);
	exit(EX_USAGE);
}

/* getopt_long(3)'s two tables, of the common options and the program's own. */
static void
build_tables(const struct program *program, const char *order,
    struct option *longs, char *shorts)
{
	size_t n = N_COMMON;

	memcpy(longs, common, sizeof(common));
	shorts += sprintf(shorts, "%shc:", order);
	for (size_t i = 0; program->options != NULL &&
	     program->options[i].name != NULL && i < MAX_OPTIONS;
	     i++) {
		const struct program_option *own = &program->options[i];

		longs[n++] = (struct option){ own->name,
			own->argument ? required_argument : no_argument, NULL,
			OPT_OWN + (int)i };
		if (own->letter)
			shorts += sprintf(shorts, "%c%s", own->letter,
			    own->argument ? ":" : "");
	}
	longs[n] = (struct option){ 0 };
}

static const struct program_option *
own_option(const struct program *program, int opt)
{
	for (size_t i = 0;
	     program->options != NULL && program->options[i].name != NULL; i++)
		if (opt == OPT_OWN + (int)i ||
		    (opt < 256 && opt == program->options[i].letter))
			return &program->options[i];
	return NULL;
}

static void
take_own(const struct program *program, const struct program_option *own)
{
	if (own->flag != NULL)
		*own->flag = true;
	if (own->value != NULL)
		*own->value = optarg;
	if (own->flag == NULL && own->value == NULL && program->take != NULL)
		program->take(own, optarg);
}

const char *
program_first(const struct program *program, int argc, char **argv)
{
	struct option longs[N_COMMON + MAX_OPTIONS + 1];
	char shorts[8 + 2 * MAX_OPTIONS];
	const char *first = NULL;
	int opt;

	/* "-": an operand comes as if it were the argument of option 1 */
	build_tables(program, "-", longs, shorts);
	opterr = 0;
	while (first == NULL &&
	    (opt = getopt_long(argc, argv, shorts, longs, NULL)) != -1)
		if (opt == 1)
			first = optarg;
	if (first == NULL && optind < argc)
		first = argv[optind];
	opterr = 1;
	/* the next parse begins anew */
	optind = 0;
	return first;
}

void
program_start(const struct program *program, int argc, char **argv,
    struct program_run *out)
{
	struct option longs[N_COMMON + MAX_OPTIONS + 1];
	char shorts[8 + 2 * MAX_OPTIONS];
	bool trusted = getauxval(AT_SECURE) == 0;
	bool check = false;
	int opt;

	ensure_std_fds();
	umask(0007);
	log_open(program->name);
	build_tables(program, program->in_order ? "+" : "", longs, shorts);
	out->trusted = trusted;
	out->conf_file = default_conf(trusted);
	while ((opt = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const struct program_option *own = own_option(program, opt);

		if (own != NULL) {
			take_own(program, own);
		} else if (opt == 'h') {
			print_help(program);
			exit(EX_OK);
		} else if (opt == OPT_VERSION) {
			printf("%s %s\n", program->name, PACKAGE_VERSION);
			exit(EX_OK);
		} else if (opt == 'c' && trusted) {
			out->conf_file = optarg;
		} else if (opt == 'c') {
			fprintf(stderr,
			    "%s: runs with the rights of another "
			    "group: reads only " CONF_DEFAULT_FILE "\n",
			    program->name);
			exit(EX_NOPERM);
		} else if (opt == OPT_CHECK_CONFIG) {
			check = true;
		} else {
			usage_exit(program);
		}
	}
	if (check)
		check_config(out);
	if (!program->operands && optind < argc)
		usage_exit(program);
	out->first = optind;
}

struct conf *
program_conf(const struct program_run *run)
{
	struct conf *conf;
	enum err err = conf_read(run->conf_file, &conf);

	if (err != ERR_OK) {
		log_msg(LOG_ERR, "%s", err_text());
		exit(EX_CONFIG);
	}
	return conf;
}

_Noreturn void
program_fail(enum err err)
{
	log_msg(LOG_ERR, "%s", err_text());
	exit(err_exit(err));
}

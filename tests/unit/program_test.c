/* program_test.c: a command line: what it means, and how it is refused */
/* SPDX-License-Identifier: ISC */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "conf/mem.h"
#include "conf/program.h"
#include "tests/unit/gained.h"
#include "tests/unit/tap.h"

/*
 * This test runs itself, once for each row: the word behind this one says
 * what kind of program it then is, and the others are its command line.
 */
#define AS_PROGRAM "--as-program"
#define MAX_WORDS 16
/* Status of a program whose fds 0 to 2 are not there. */
#define EX_FDS 42
#define EX_WORKED 7

static bool once;
static const char *file;
static char taken[64];

static void
take(const struct program_option *own, const char *argument)
{
	snprintf(taken + strlen(taken), sizeof(taken) - strlen(taken), "%s:%s,",
	    own->name, argument);
}

static const struct program_option options[] = {
	{ "once", 'o', NULL, "one pass", &once, NULL },
	{ "file", 'f', "FILE", "what to read", NULL, &file },
	{ "take", 0, "WORD", "may come again", NULL, NULL },
	{ 0 },
};

static struct program program = {
	.name = "prog",
	.synopsis = "[-o] [-f FILE] [OPERAND]",
	.purpose = "Is tested.",
	.options = options,
	.take = take,
	.more = "More is said here.\n",
};

/* What it understood, in one line. */
static int
show(const struct program_run *run, int argc, char **argv)
{
	printf("conf=%s once=%d file=%s take=%s", run->conf_file, once,
	    file != NULL ? file : "-", taken);
	for (int i = run->first; i < argc; i++)
		printf(" %s", argv[i]);
	putchar('\n');
	return EX_WORKED;
}

/* Asked with fds 0 to 2 closed: are they there, and is a new one behind? */
static int
show_fds(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) == -1)
			return EX_FDS;
	return open("/dev/null", O_RDONLY) > STDERR_FILENO ? EX_WORKED : EX_FDS;
}

static int
be_program(const char *kind, int argc, char **argv)
{
	bool closed = strcmp(kind, "closed") == 0;
	const char *first;
	struct program_run run;

	program.operands = strcmp(kind, "plain") != 0;
	program.in_order = strcmp(kind, "in-order") == 0;
	if (strcmp(kind, "first") == 0) {
		first = program_first(&program, argc, argv);
		printf("first=%s ", first != NULL ? first : "-");
	}
	for (int fd = STDIN_FILENO; closed && fd <= STDERR_FILENO; fd++)
		close(fd);
	umask(0);
	program_start(&program, argc, argv, &run);
	if (closed)
		return show_fds();
	if (strcmp(kind, "umask") == 0)
		printf("umask=%03o ", (unsigned)umask(0));
	if (strcmp(kind, "conf") == 0)
		conf_free(program_conf(&run));
	if (strcmp(kind, "busy") == 0)
		program_fail(err_set(ERR_BUSY, "somebody has it"));
	if (strcmp(kind, "usage") == 0)
		program_fail(err_set(ERR_USAGE, "not so"));
	return show(&run, argc, argv);
}

/* GOOD, BAD and NONE in a row's words stand for these, in tap_dir(). */
static char *good, *bad, *none;

static const char *
word_of(const char *word)
{
	return strcmp(word, "GOOD") == 0 ? good
	    : strcmp(word, "BAD") == 0	 ? bad
	    : strcmp(word, "NONE") == 0	 ? none
					 : word;
}

#define DEFAULTS "conf=" CONF_DEFAULT_FILE " once=0 file=- take="
#define USAGE "usage: prog [-o] [-f FILE] [OPERAND]\n"
#define HINT "Try 'prog --help'."

static const struct row {
	const char *kind;
	const char *words[8];
	const char *env; /* REPROUTE_CONF, or NULL */
	int status;
	const char *out; /* on stdout, whole; "~": a part follows */
	const char *err; /* a part of stderr; "=": whole; "": nothing */
} rows[] = {
	{ "plain", { NULL }, NULL, EX_WORKED, DEFAULTS "\n", "" },
	{ "plain", { "-c", "x" }, NULL, EX_WORKED,
	    "conf=x once=0 file=- take=\n", "" },
	{ "plain", { "--config=x" }, NULL, EX_WORKED,
	    "conf=x once=0 file=- take=\n", "" },
	{ "plain", { NULL }, "y", EX_WORKED, "conf=y once=0 file=- take=\n",
	    "" },
	{ "plain", { "-c", "x" }, "y", EX_WORKED,
	    "conf=x once=0 file=- take=\n", "" },
	{ "plain", { NULL }, "", EX_WORKED, DEFAULTS "\n", "" },

	{ "plain", { "-of", "z", "--take", "1", "--take=2" }, NULL, EX_WORKED,
	    "conf=" CONF_DEFAULT_FILE " once=1 file=z take=take:1,take:2,\n",
	    "" },
	{ "plain", { "--once", "--file", "z" }, NULL, EX_WORKED,
	    "conf=" CONF_DEFAULT_FILE " once=1 file=z take=\n", "" },

	{ "plain", { "--help" }, NULL, EX_OK, "~" USAGE "Is tested.\n", "" },
	{ "plain", { "-h" }, NULL, EX_OK, "~-o, --once", "" },
	{ "plain", { "-h" }, NULL, EX_OK, "~-f, --file FILE", "" },
	{ "plain", { "-h" }, NULL, EX_OK, "~    --take WORD", "" },
	{ "plain", { "-h" }, NULL, EX_OK, "~-c, --config FILE", "" },
	{ "plain", { "-h" }, NULL, EX_OK, "~More is said here.\n", "" },
	{ "plain", { "--version" }, NULL, EX_OK, "prog " PACKAGE_VERSION "\n",
	    "" },

	{ "plain", { "--wrong" }, NULL, EX_USAGE, "", USAGE HINT },
	{ "plain", { "-x" }, NULL, EX_USAGE, "", USAGE HINT },
	{ "plain", { "-c" }, NULL, EX_USAGE, "", USAGE HINT },
	{ "plain", { "--file" }, NULL, EX_USAGE, "", USAGE HINT },
	{ "plain", { "--once=1" }, NULL, EX_USAGE, "", USAGE HINT },
	{ "plain", { "operand" }, NULL, EX_USAGE, "", USAGE HINT },

	{ "operands", { "a", "-o", "b" }, NULL, EX_WORKED,
	    "conf=" CONF_DEFAULT_FILE " once=1 file=- take= a b\n", "" },
	{ "operands", { "--", "-o" }, NULL, EX_WORKED, DEFAULTS " -o\n", "" },
	{ "in-order", { "-c", "x", "verb", "-o" }, NULL, EX_WORKED,
	    "conf=x once=0 file=- take= verb -o\n", "" },

	{ "first", { "-c", "x", "verb", "-o" }, NULL, EX_WORKED,
	    "first=verb conf=x once=1 file=- take= verb\n", "" },
	{ "first", { "-f", "verb" }, NULL, EX_WORKED,
	    "first=- conf=" CONF_DEFAULT_FILE " once=0 file=verb take=\n", "" },
	{ "first", { "--", "verb" }, NULL, EX_WORKED,
	    "first=verb " DEFAULTS " verb\n", "" },
	/* program_first() says nothing of it, program_start() once */
	{ "first", { "--wrong", "verb" }, NULL, EX_USAGE, "first=verb ",
	    "=prog: unrecognized option '--wrong'\n" USAGE HINT "\n" },

	{ "plain", { "-c", "GOOD", "--check-config" }, NULL, EX_OK, "~: ok\n",
	    "" },
	{ "plain", { "--check-config", "-c", "GOOD" }, NULL, EX_OK, "~: ok\n",
	    "" },
	{ "plain", { "-c", "BAD", "--check-config" }, NULL, EX_CONFIG, "",
	    "bad.conf:2" },
	{ "plain", { "-c", "NONE", "--check-config" }, NULL, EX_CONFIG, "",
	    "none.conf" },
	{ "conf", { "-c", "GOOD" }, NULL, EX_WORKED, "~once=0", "" },
	{ "conf", { "-c", "BAD" }, NULL, EX_CONFIG, "", "bad.conf:2" },

	{ "umask", { NULL }, NULL, EX_WORKED, "umask=007 " DEFAULTS "\n", "" },
	{ "closed", { NULL }, NULL, EX_WORKED, "", "" },
	{ "busy", { NULL }, NULL, EX_TEMPFAIL, "", "prog: somebody has it\n" },
	{ "usage", { NULL }, NULL, EX_USAGE, "", "prog: not so\n" },
};

/* Runs path; what it says goes into out and err, both appended. */
static int
run(const char *path, const struct row *row, struct buf *out, struct buf *err)
{
	struct buf *texts[2] = { out, err };
	const char *argv[MAX_WORDS] = { "prog", AS_PROGRAM, row->kind };
	int pipes[2][2], status;
	char piece[4096];
	pid_t child;

	for (size_t i = 0; i < 8 && row->words[i] != NULL; i++)
		argv[3 + i] = word_of(row->words[i]);
	if (pipe2(pipes[0], O_CLOEXEC) == -1 ||
	    pipe2(pipes[1], O_CLOEXEC) == -1 || (child = fork()) == -1)
		return -1;
	if (child == 0) {
		unsetenv("JOURNAL_STREAM");
		unsetenv("REPROUTE_CONF");
		if (row->env != NULL)
			setenv("REPROUTE_CONF", row->env, 1);
		dup2(pipes[0][1], STDOUT_FILENO);
		dup2(pipes[1][1], STDERR_FILENO);
		execv(path, (char *const *)argv);
		_exit(127);
	}
	for (int i = 0; i < 2; i++) {
		ssize_t len;

		/* little is said, so that no pipe is full meanwhile */
		close(pipes[i][1]);
		buf_puts(texts[i], "");
		while ((len = read(pipes[i][0], piece, sizeof(piece))) > 0)
			buf_add(texts[i], piece, (size_t)len);
		close(pipes[i][0]);
	}
	return waitpid(child, &status, 0) == child && WIFEXITED(status)
	    ? WEXITSTATUS(status)
	    : -1;
}

static void
test_row(const char *path, const struct row *row, const char *claim)
{
	struct buf out = { 0 }, err = { 0 };

	tap_int(run(path, row, &out, &err), row->status, "%s: exit status",
	    claim);
	if (row->out[0] == '~')
		tap_ok(strstr(out.data, row->out + 1) != NULL,
		    "%s: stdout holds it", claim);
	else
		tap_str(out.data, row->out, "%s: stdout", claim);
	if (row->err[0] == '=')
		tap_str(err.data, row->err + 1, "%s: stderr", claim);
	else if (!tap_ok(row->err[0] == '\0'
			 ? err.data[0] == '\0'
			 : strstr(err.data, row->err) != NULL,
		     "%s: stderr", claim))
		tap_note("%s", err.data);
	buf_free(&out);
	buf_free(&err);
}

static void
test_rows(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf claim = { 0 };

		buf_fmt(&claim, "%s:", rows[i].kind);
		for (size_t j = 0; j < 8 && rows[i].words[j] != NULL; j++)
			buf_fmt(&claim, " %s", rows[i].words[j]);
		test_row("/proc/self/exe", &rows[i], claim.data);
		buf_free(&claim);
	}
}

/* Of a program installed setgid: nobody says what it reads. */
static const struct row gained[] = {
	{ "plain", { NULL }, "y", EX_WORKED, DEFAULTS "\n", "" },
	{ "plain", { "-o" }, NULL, EX_WORKED,
	    "conf=" CONF_DEFAULT_FILE " once=1 file=- take=\n", "" },
	{ "plain", { "-c", "GOOD" }, NULL, EX_NOPERM, "",
	    "reads only " CONF_DEFAULT_FILE },
	{ "plain", { "--config=GOOD", "--check-config" }, NULL, EX_NOPERM, "",
	    "reads only " CONF_DEFAULT_FILE },
};

static void
test_gained(void)
{
	char *path = gained_copy();

	if (path != NULL)
		for (size_t i = 0; i < sizeof(gained) / sizeof(gained[0]); i++)
			test_row(path, &gained[i], "setgid");
	free(path);
}

static char *
make_file(const char *name, const char *text)
{
	char *path = mem_fmt("%s/%s", tap_dir(), name);
	FILE *stream = fopen(path, "we");

	if (stream == NULL || fputs(text, stream) == EOF ||
	    fclose(stream) == EOF) {
		puts("Bail out! no file");
		exit(1);
	}
	return path;
}

int
main(int argc, char **argv)
{
	if (argc >= 3 && strcmp(argv[1], AS_PROGRAM) == 0) {
		const char *kind = argv[2];

		argv[2] = argv[0];
		return be_program(kind, argc - 2, argv + 2);
	}
	good = make_file("good.conf",
	    "upstreams = ( { name = \"main\"; "
	    "url = \"http://127.0.0.1:1\"; } );\nroutes = ( { name = "
	    "\"code\"; kind = \"git\"; prefix = \"/git/\"; primary = "
	    "\"main\"; } );\n");
	bad = make_file("bad.conf", "upstreams = ();\nno_such_key = 1;\n");
	none = mem_fmt("%s/none.conf", tap_dir());
	test_rows();
	test_gained();
	free(good);
	free(bad);
	free(none);
	return tap_done();
}

/* conf_test.c: every key, what it may hold, and how a mistake is named */
/* SPDX-License-Identifier: ISC */
#include "conf/conf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/crypto.h"
#include "conf/mem.h"
#include "conf/rules.h"
#include "tests/unit/tap.h"

/* Line 1 of most texts here. */
#define UPS                                                                    \
	"upstreams = ("                                                        \
	"{ name = \"master\"; url = \"http://m:7990\"; },"                     \
	"{ name = \"s1\"; url = \"http://s1\"; path = \"/srv/{name}.git\"; }," \
	"{ name = \"s2\"; url = \"http://s2/git/\"; },"                        \
	"{ name = \"old\"; url = \"http://old\"; },"                           \
	"{ name = \"new\"; url = \"https://new\"; } );\n"
#define GIT                                                                    \
	"name = \"g\"; kind = \"git\"; prefix = \"/scm/\"; "                   \
	"primary = \"master\"; "
#define REG                                                                    \
	"name = \"r\"; kind = \"registry\"; prefix = \"/v2/\"; "               \
	"primary = \"old\"; "
#define REPLICAS "replicas = (\"s1\", \"s2\"); authorize = \"webserver\"; "
/* From line 2 on: one route, one upstream, one migration, one other. */
#define ROUTE(keys) UPS "routes = (\n{ " keys " } );\n"
#define UP(keys) "upstreams = (\n{ name = \"u\"; " keys " } );\n"
#define MIGRATE(keys) ROUTE(REG "migrate = {\n" keys "};")

static char *
write_file(const char *name, const char *text)
{
	char *path = mem_fmt("%s/%s", tap_dir(), name);
	FILE *file = fopen(path, "we");

	if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
		puts("Bail out! cannot write a file");
		exit(1);
	}
	return path;
}

static enum err
read_text(const char *text, struct conf **out)
{
	char *path = write_file("c.conf", text);
	enum err err;

	*out = NULL;
	err = conf_read(path, out);
	free(path);
	return err;
}

/* The error starts with LINE and holds the rest of the sentence's words. */
static const struct {
	const char *text, *line, *words;
} mistakes[] = {
	/* libconfig's syntax; it leaks a text on which it sees an error */
	{ "a = ;", "1", "syntax error" },
	{ "\n\nstate_dir 1;", "3", "syntax error" },
	{ "\nstate_dir = \"/x", "2", "close it with a quote" },
	{ "\nstate_dir = \"/x\\\"", "2", "close it with a quote" },
	{ "\nstate_dir = \"/x\\", "2", "close it with a quote" },
	{ "\n/* routes = ( );\n", "2", "close it with */" },
	{ "\xef\xbb\xbf"
	  "state_dir = \"/x\";",
	    "1", "syntax error" },
	{ "upstreams = (\n{ name = \"a\"; },\n);", "3",
	    "a trailing comma before the end of a list; leave it out" },
	{ "routes = (\n{ replicas = (\"a\", \"b\", # one, two\n /* , */ )", "3",
	    "a trailing comma before the end of a list" },
	{ "routes = ( { replicas = [\"a\",] } );", "1",
	    "a trailing comma before the end of a list" },
	{ "routes = ( { name = \"a,)\" \n = } );", "2", "syntax error" },
	{ "run_dir = \"/a\";\nrun_dir = \"/b\";", "2",
	    "a key that its group has already" },
	{ "routes = [ 1,\n \"a\" ];", "2", "write a list ( ... )" },
	{ "# 1\n@include \"x\"", "2", "conf.d/" },
	{ "sync = { interval_s =\n 4294967297; };", "2",
	    "the number here is too large" },
	{ "sync = { interval_s = 0x10000003c; };", "1", "is too large" },
	{ "sync = { interval_s = 4294967297L; };", "1",
	    "interval_s = 4294967297 is out of bounds; write 1 to 3600" },
	{ "state_dir = \"/x\\x00y\";", "1", "\\x00" },
	{ "a=((((((((((((((((((1))))))))))))))))));", "1", "nested deeper" },

	/* keys and types */
	{ "a = 1;", "1",
	    "unknown key a in the configuration; known are "
	    "state_dir, run_dir, upstreams, routes, push, sync, replica" },
	{ "state_dir = 1;", "1", "state_dir is an integer; write a text" },
	{ "state_dir = \"\";", "1", "state_dir is empty" },
	{ "state_dir = \"var\";", "1", "\"var\" is no absolute path" },
	{ "state_dir = \"/a\\nb\";", "1", "is a quote missing?" },
	{ "state_dir = \"/a;\nrun_dir = \";", "1", "is a quote missing?" },
	{ "run_dir = \"/0123456789012345678901234567890123456789"
	  "0123456789012345678901234567890123456789\";",
	    "1", "run_dir has 81 bytes; 80 is the most" },
	{ "upstreams = { };", "1",
	    "upstreams is a group { ... }; write a "
	    "list ( ... )" },
	{ "upstreams = ( \"a\" );", "1",
	    "an item of the list is a text in "
	    "quotes; write a group { ... }" },
	{ "routes = ( ( ) );", "1", "write a group" },
	{ "push = 1;", "1", "push is an integer; write a group { ... }" },
	{ "push = { token = 1; };", "1",
	    "unknown key token in push; known are token_file" },
	{ "sync = {\ninterval_s = 0;\n};", "2",
	    "interval_s = 0 is out of bounds; write 1 to 3600" },
	{ "sync = { interval_s = 60.0; };", "1",
	    "interval_s is a number; write an integer" },
	{ "sync = { fetches = 0; };", "1", "write 1 to 64" },
	{ "sync = { sweep_s = -1; };", "1", "sweep_s = -1" },
	{ "sync = { stall_s = 3601; };", "1", "stall_s = 3601" },
	{ "sync = { interval_s = 60;\nvalid_s = 59; };", "2",
	    "write 60 or more" },
	{ "replica = { };", "1", "replica has no root; add root = ...;" },
	{ "replica = { root = \"/srv\";\norigin = \"http://m/scm/x\"; };", "2",
	    "put {name} where its name goes" },
	{ "replica = { root = \"/srv\";\norigin = \"git://m/{name}\"; };", "2",
	    "no http or https URL" },
	{ "replica = { root = \"/srv\";\norigin = \"http://m/{sha}/{name}\"; "
	  "};",
	    "2", "{sha} has no value here" },

	/* upstreams */
	{ "upstreams = (\n{ url = \"http://h\"; } );", "2",
	    "an upstream has no name; add name = ...;" },
	{ UP(""), "2", "an upstream has no url" },
	{ "upstreams = (\n{ name = \"Master\"; url = \"http://h\"; } );", "2",
	    "the name \"Master\" is not legal; write 1 to 63" },
	{ "upstreams = (\n{ name = \"hold\"; url = \"http://h\"; } );", "2",
	    "an answer of the router's own" },
	{ "upstreams = (\n{ name = \"catalogue\"; url = \"http://h\"; } );",
	    "2", "an answer of the router's own" },
	{ UPS "routes = ( );\nrun_dir = \"x\";", "3", "absolute" },
	{ "upstreams = (\n{ name = \"a\"; url = \"http://h\"; },\n"
	  "{ name = \"a\"; url = \"http://i\"; } );",
	    "3", "c.conf:2 already; choose another name" },
	{ UP("url = \"ftp://h\";"), "2", "no http or https URL" },
	{ UP("url = \"h:80\";"), "2", "no http or https URL" },
	{ UP("url = \"http://\";"), "2", "no legal host and port" },
	{ UP("url = \"http://h:0\";"), "2", "no legal host and port" },
	{ UP("url = \"http://h:65536\";"), "2", "no legal host and port" },
	{ UP("url = \"http://h:\";"), "2", "no legal host and port" },
	{ UP("url = \"http://h h\";"), "2", "no legal host and port" },
	{ UP("url = \"http://[::1\";"), "2", "no legal host and port" },
	{ UP("url = \"http://[]:80\";"), "2", "no legal host and port" },
	{ UP("url = \"http://u:secret@h/\";"), "2", "auth_file" },
	{ UP("url = \"http://u@h/\";"), "2", "auth_file" },
	{ UP("url = \"http://h/?a=b\";"), "2", "a query or a fragment" },
	{ UP("url = \"http://h/#a\";"), "2", "a query or a fragment" },
	{ UP("url = \"http://h/a b\";"), "2", "percent-encode it" },
	{ UP("url = \"http://h/\\\"\";"), "2", "percent-encode it" },
	{ UP("url = \"http://h/$x\";"), "2", "percent-encode it" },
	{ UP("url = \"http://h/{name}\";"), "2", "percent-encode it" },
	{ UP("url = \"http://h\"; weight = 1001;"), "2", "0 to 1000" },
	{ UP("url = \"http://h\"; weight = -1;"), "2", "0 to 1000" },
	{ UP("url = \"http://h\"; endpoint = \"/reproute\";"), "2",
	    "no http or https URL" },
	{ UP("url = \"http://h\"; path = \"/srv/git\";"), "2", "put {name}" },
	{ UP("url = \"http://h\"; path = \"{name}\";"), "2", "absolute" },
	{ UP("url = \"http://h\"; path = \"/{name\";"), "2", "put {name}" },
	{ UP("url = \"http://h\"; path = \"/{name}}\";"), "2", "brace" },
	{ UP("url = \"http://h\"; auth_file = \"netrc\";"), "2", "absolute" },
	{ UP("url = \"http://h\"; ca_file = true;"), "2",
	    "ca_file is true or false; write a text in quotes" },
	{ UP("url = \"http://h\"; port = 1;"), "2",
	    "unknown key port in an upstream; known are name, url" },

	/* routes */
	{ ROUTE("kind = \"git\";"), "3", "a git route has no name" },
	{ ROUTE("name = \"g\";"), "3", "a git route has no kind" },
	{ ROUTE("name = \"g\"; kind = \"svn\";"), "3",
	    "kind = \"svn\" is not known; write \"git\" or \"registry\"" },
	{ ROUTE("name = \"g\"; kind = 1;"), "3", "kind is an integer" },
	{ ROUTE("name = \"G\"; kind = \"git\";"), "3", "is not legal" },
	{ ROUTE("name = \"g\"; kind = \"git\"; prefix = \"/x/\";"), "3",
	    "has no primary" },
	{ ROUTE("name = \"g\"; kind = \"git\"; prefix = \"/x/\"; "
		"primary = \"nobody\";"),
	    "3", "there is no upstream \"nobody\"" },
	{ ROUTE(GIT "migrate = { to = \"new\"; };"), "3",
	    "unknown key migrate in a git route" },
	{ ROUTE(REG "replicas = ( );"), "3",
	    "unknown key replicas in a registry route" },
	{ ROUTE("name = \"g\"; kind = \"git\"; prefix = \"scm/\"; "
		"primary = \"master\";"),
	    "3", "start and end with a slash" },
	{ ROUTE("name = \"g\"; kind = \"git\"; prefix = \"/scm\"; "
		"primary = \"master\";"),
	    "3", "start and end with a slash" },
	{ ROUTE("name = \"g\"; kind = \"git\"; prefix = \"/a//b/\"; "
		"primary = \"master\";"),
	    "3", "an empty, . or .. segment" },
	{ ROUTE("name = \"g\"; kind = \"git\"; prefix = \"/a/../\"; "
		"primary = \"master\";"),
	    "3", "an empty, . or .. segment" },
	{ ROUTE("name = \"g\"; kind = \"git\"; prefix = \"/a%20/\"; "
		"primary = \"master\";"),
	    "3", "a byte that is not taken" },
	{ ROUTE("name = \"r\"; kind = \"registry\"; prefix = \"/v1/\"; "
		"primary = \"old\";"),
	    "3", "always \"/v2/\"" },
	{ ROUTE(GIT "replicas = (\"s1\");"), "3", "knows no users" },
	{ ROUTE(GIT "replicas = (\"s1\");\nauthorize = \"primary\";"), "4",
	    "not available in this version" },
	{ ROUTE(GIT "replicas = (\"s1\"); authorize = \"no\";"), "3",
	    "write \"webserver\"" },
	{ ROUTE(GIT "replicas = \"s1\";"), "3", "write a list" },
	{ ROUTE(GIT "replicas = (\"s1\", 2);"), "3", "an item of the list" },
	{ ROUTE(GIT "replicas = (\"s1\", \"s9\");"), "3", "\"s9\"" },
	{ ROUTE(GIT "replicas = (\"s1\", \"s1\");"), "3", "twice" },
	{ ROUTE(GIT "replicas = (\"s1\", \"master\");"), "3",
	    "is the primary" },
	{ ROUTE(GIT REPLICAS "proof = \"sha\";"), "3",
	    "write \"refs\" or \"commit\"" },
	{ ROUTE(GIT REPLICAS "converge = \"rsync\";"), "3",
	    "\"endpoint\" or \"local\" or \"command\" or \"none\"" },
	{ ROUTE(GIT REPLICAS "converge = \"local\";"), "3",
	    "the replica \"s2\", which has no path" },
	{ ROUTE(GIT REPLICAS "converge = \"command\";"), "3",
	    "without a command" },
	{ ROUTE(GIT REPLICAS "command = (\"ssh\");"), "3", "never run" },
	{ ROUTE(GIT REPLICAS "converge = \"command\"; command = ( );"), "3",
	    "command has 0 items; write 1 to 64" },
	{ ROUTE(GIT REPLICAS "converge = \"command\"; command = \"ssh\";"), "3",
	    "write a list" },
	{ ROUTE(GIT REPLICAS "converge = \"command\"; "
			     "command = (\"ssh\", \"\");"),
	    "3", "is empty" },
	{ ROUTE(GIT REPLICAS "converge = \"command\"; "
			     "command = (\"ssh\", \"{host}\");"),
	    "3", "{host} has no value here" },
	{ ROUTE(GIT REPLICAS "converge = \"command\"; "
			     "command = (\"ssh\", \"{name\");"),
	    "3", "brace" },
	{ ROUTE(GIT "scope = \"all\";"), "3", "\"repository\" or \"host\"" },
	{ ROUTE(GIT "hooks = \"some\";"), "3", "\"none\" or \"strict\"" },
	{ ROUTE(GIT "\nhooks = \"strict\";"), "4",
	    "add push = { token_file = " },
	{ ROUTE(GIT "fold_case = \"yes\";"), "3", "write true or false" },
	{ ROUTE(GIT "fence_s = 0;"), "3", "1 to 86400" },
	{ ROUTE(GIT "push_max_s = 60;"), "3", "write 900 or more" },
	{ ROUTE(GIT "watch_s = 3601;"), "3", "1 to 3600" },
	{ ROUTE(GIT "mode = \"watch\";"), "3", "\"serve\" or \"observe\"" },
	{ ROUTE(GIT "replica_share = 101;"), "3", "0 to 100" },
	{ ROUTE(GIT "replica_share = 0.5;"), "3", "replica_share" },
	{ ROUTE(REG "replica_share = 1;"), "3", "replica_share" },
	{ ROUTE(GIT "wait_ms = 10001;"), "3", "0 to 10000" },
	{ ROUTE(GIT "wait_ms = -1;"), "3", "0 to 10000" },
	{ ROUTE(REG "wait_ms = 10;"), "3", "wait_ms" },
	{ ROUTE(GIT "wait_s = 10;"), "3", "unknown key wait_s" },
	{ ROUTE(GIT "poll_s = 0;"), "3", "1 to 3600" },
	{ ROUTE(GIT "poll_rate = 1001;"), "3", "1 to 1000" },
	{ ROUTE(REG "import_s = 0;"), "3", "1 to 604800" },
	{ ROUTE(REG "provisional_s = 0;"), "3", "provisional_s = 0" },
	{ ROUTE(GIT "},\n{" GIT), "4", "the route \"g\" is in " },
	{ ROUTE(GIT "},\n{ name = \"h\"; kind = \"git\"; "
		    "prefix = \"/scm/x/\"; primary = \"s1\";"),
	    "4", "overlaps" },
	{ ROUTE(GIT "},\n{ name = \"h\"; kind = \"git\"; "
		    "prefix = \"/\"; primary = \"s1\";"),
	    "4", "overlaps" },
	{ ROUTE(GIT "},\n{ name = \"h\"; kind = \"git\"; "
		    "prefix = \"/git/\"; primary = \"master\";"),
	    "4", "have one primary, \"master\"" },

	/* migrations */
	{ ROUTE(REG "migrate = 1;"), "3", "write a group" },
	{ MIGRATE(""), "3", "migrate has no to" },
	{ MIGRATE("to = \"x\";"), "4", "no upstream \"x\"" },
	{ MIGRATE("to = \"old\";"), "3", "the primary itself" },
	{ MIGRATE("to = \"new\"; include = \"^a\";"), "4", "write a list" },
	{ MIGRATE("to = \"new\"; include = (\"^a\",\n\"(\");"), "5",
	    "the pattern \"(\" is wrong after 1 bytes" },
	{ MIGRATE("to = \"new\"; exclude = (\"^([a-z]+/?)+-x$\");"), "4",
	    "runs away" },
	{ MIGRATE("to = \"new\"; exclude = (\"\");"), "4", "is empty" },
	{ MIGRATE("to = \"new\"; exclude = (1);"), "4", "an integer" },
	{ MIGRATE("to = \"new\"; include = ({ pattern = \"a\"; });"), "4",
	    "a rule has no name" },
	{ MIGRATE("to = \"new\"; include = ({ name = \"a\"; });"), "4",
	    "a rule has no pattern" },
	{ MIGRATE("to = \"new\"; include = ({ name = \"a b\"; "
		  "pattern = \"a\"; });"),
	    "4", "is not legal" },
	{ MIGRATE("to = \"new\"; include = ({ name = \"a\"; pattern = \"a\"; "
		  "});\nexclude = ({ name = \"a\"; pattern = \"b\"; });"),
	    "5", "the rule \"a\" is there twice" },
	{ MIGRATE("to = \"new\"; percent = 101;"), "4",
	    "percent = 101 is out of bounds; write 0 to 100" },
	{ MIGRATE("to = \"new\"; percent = -0.5;"), "4", "0 to 100" },
	{ MIGRATE("to = \"new\"; percent = 1e999;"), "4", "0 to 100" },
	{ MIGRATE("to = \"new\"; percent = \"5\";"), "4", "write a number" },
	{ MIGRATE("to = \"new\"; percent_by = \"tag\";"), "4",
	    "\"name\" or \"namespace\"" },
	{ MIGRATE("to = \"new\"; include_file = \"/x\";"), "4",
	    "unknown key include_file in migrate" },
};

static void
test_mistakes(void)
{
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		struct conf *conf;
		enum err err = read_text(mistakes[i].text, &conf);
		char *want = mem_fmt("%s/c.conf:%s: ", tap_dir(),
		    mistakes[i].line);

		if (!tap_ok(err == ERR_CONF && conf == NULL &&
			    strncmp(err_text(), want, strlen(want)) == 0 &&
			    strstr(err_text() + strlen(want),
				mistakes[i].words),
			"mistake %zu: %s", i, mistakes[i].words)) {
			tap_note("want %s%s", want, mistakes[i].words);
			tap_note("got  %s", err ? err_text() : "no error");
		}
		free(want);
		conf_free(conf);
	}
}

static const char *const legal[] = {
	"",
	"# nothing",
	"upstreams = (); routes = [];",
	"sync = { };",
	"push = { };",
	"replica = { root = \"/srv/git\"; };",
	UP("url = \"http://h\"; weight = 0;"),
	UP("url = \"https://[2001:db8::1]:8443/a/%41/\";"),
	UP("url = \"http://10.0.0.1:65535\";"),
	ROUTE(GIT),
	ROUTE(GIT "replicas = ( );"),
	ROUTE(GIT "replicas = [\"s1\"]; authorize = \"webserver\";"),
	ROUTE(GIT "replicas = (\"s1\"); converge = \"local\"; "
		  "authorize = \"webserver\";"),
	ROUTE(GIT "authorize = \"webserver\""),
	ROUTE(REG),
	MIGRATE("to = \"new\";"),
	MIGRATE("to = \"new\"; include = []; exclude = ();"),
	MIGRATE("to = \"new\"; percent = 12.5;"),
	ROUTE(GIT "}, { name = \"h\"; kind = \"git\"; prefix = \"/scm2/\"; "
		  "primary = \"s1\";"),
	ROUTE(GIT "}, {" REG),
};

static void
test_legal(void)
{
	for (size_t i = 0; i < sizeof(legal) / sizeof(legal[0]); i++) {
		struct conf *conf;

		if (!tap_ok(read_text(legal[i], &conf) == ERR_OK,
			"legal text %zu", i))
			tap_note("%s", err_text());
		conf_free(conf);
	}
}

static void
test_defaults(void)
{
	struct conf *conf;
	const struct upstream *up;
	const struct route *git, *registry;

	if (!tap_ok(read_text(ROUTE(GIT "}, {" REG), &conf) == ERR_OK,
		"a small configuration is read"))
		return;
	tap_str(conf->state_dir, "/var/lib/reproute", "state_dir");
	tap_str(conf->run_dir, "/run/reproute", "run_dir");
	tap_str(conf->push.token_file, NULL, "push.token_file");
	tap_int(conf->sync.interval_ms, 60000, "interval_s");
	tap_int(conf->sync.sweep_ms, 3600000, "sweep_s");
	tap_int(conf->sync.stall_ms, 30000, "stall_s");
	tap_int(conf->sync.valid_ms, 180000, "valid_s");
	tap_int(conf->sync.fetches, 4, "fetches");
	tap_str(conf->replica.root, NULL, "replica.root");

	up = conf_upstream(conf, "s2");
	tap_str(up->url, "http://s2/git", "a slash at a URL's end goes");
	tap_str(up->endpoint, "http://s2/git/reproute", "endpoint");
	tap_int(up->weight, 1, "weight");
	tap_str(up->path, NULL, "path");
	tap_str(up->auth_file, NULL, "auth_file");
	tap_str(up->ca_file, NULL, "ca_file");
	tap_ok(conf_upstream(conf, "s3") == NULL, "no upstream s3");

	git = conf_route(conf, "g");
	registry = conf_route(conf, "r");
	tap_ok(conf_route(conf, "x") == NULL, "no route x");
	tap_int(git->kind, ROUTE_GIT, "kind of g");
	tap_int(git->proof, PROOF_REFS, "proof");
	tap_int(git->converge, CONVERGE_ENDPOINT, "converge");
	tap_int(git->scope, SCOPE_REPOSITORY, "scope");
	tap_int(git->hooks, HOOKS_NONE, "hooks");
	tap_ok(!git->fold_case, "fold_case");
	tap_int(git->undecided_writes, UNDECIDED_REFUSE, "undecided_writes");
	tap_int(git->fence_ms, 900000, "fence_s");
	tap_int(git->push_max_ms, 21600000, "push_max_s");
	tap_int(git->watch_ms, 5000, "watch_s");
	tap_int(git->wait_ms, 1000, "wait_ms");
	tap_int(git->poll_ms, 10000, "poll_s");
	tap_int(git->poll_rate, 20, "poll_rate");
	tap_int(git->replica_share, 100, "replica_share");
	tap_int(git->mode, MODE_SERVE, "mode");
	tap_int(registry->mode, MODE_SERVE, "mode of r");
	tap_ok(git->command == NULL, "command");
	tap_int(registry->kind, ROUTE_REGISTRY, "kind of r");
	tap_ok(registry->to == NULL && registry->rules == NULL, "no migrate");
	tap_int(registry->import_s, 3600, "import_s");
	tap_int(registry->provisional_s, 604800, "provisional_s");
	conf_free(conf);
}

#define EVERY_GIT                                                                               \
	"name = \"g\"; kind = \"git\"; prefix = \"/~a/b+c/\"; "                                 \
	"primary = \"master\"; replicas = [\"s2\", \"s1\"]; "                                   \
	"authorize = \"webserver\"; proof = \"commit\"; "                                       \
	"converge = \"command\"; "                                                              \
	"command = (\"ssh\", \"{upstream}\", \"git-fetch {name}\"); "                           \
	"scope = \"host\"; hooks = \"strict\"; fold_case = true; fence_s = 1; push_max_s = 2; " \
	"watch_s = 3; undecided_writes = \"primary\"; wait_ms = 0; "                            \
	"poll_s = 4; poll_rate = 6; replica_share = 0; mode = \"observe\"; "
#define EVERY_REG                                                               \
	REG "mode = \"observe\"; import_s = 4; provisional_s = 5; migrate = { " \
	    "to = \"new\"; include = (\"^a\", { name = \"b\"; "                 \
	    "pattern = \"^b\"; }); exclude = [\"^ab\"]; percent = 100.0; "      \
	    "percent_by = \"namespace\"; salt = \"x\"; }; "

static void
test_every_key(void)
{
	const struct route *git, *registry;
	const char *rule = NULL;
	struct conf *conf;
	size_t index = 9;

	if (!tap_ok(
		read_text(
		    ROUTE(EVERY_GIT
			"}, {" EVERY_REG) "state_dir = \"/s\"; run_dir = \"/r\"; "
					  "push = { token_file = \"/t\"; }; "
					  "sync = { interval_s = 2; sweep_s = 3; fetches = 5; stall_s = 4; "
					  "valid_s = 9; }; replica = { root = \"/srv\"; "
					  "origin = \"http://m/scm/{name}.git\"; auth_file = \"/a\"; "
					  "token_file = \"/b\"; };",
		    &conf) == ERR_OK,
		"every key is read")) {
		tap_note("%s", err_text());
		return;
	}
	tap_str(conf->state_dir, "/s", "state_dir");
	tap_str(conf->run_dir, "/r", "run_dir");
	tap_str(conf->push.token_file, "/t", "push.token_file");
	tap_int(conf->sync.interval_ms, 2000, "interval_s");
	tap_int(conf->sync.sweep_ms, 3000, "sweep_s");
	tap_int(conf->sync.stall_ms, 4000, "stall_s");
	tap_int(conf->sync.valid_ms, 9000, "valid_s");
	tap_int(conf->sync.fetches, 5, "fetches");
	tap_str(conf->replica.root, "/srv", "replica.root");
	tap_str(conf->replica.origin, "http://m/scm/{name}.git", "origin");
	tap_str(conf->replica.auth_file, "/a", "replica.auth_file");
	tap_str(conf->replica.token_file, "/b", "replica.token_file");

	git = conf_route(conf, "g");
	tap_str(git->prefix, "/~a/b+c/", "prefix");
	tap_str(git->primary->name, "master", "primary");
	tap_int((long long)git->n_replicas, 2, "two replicas");
	tap_str(git->replicas[0]->name, "s2", "in the order as written");
	tap_int(git->proof, PROOF_COMMIT, "proof");
	tap_int(git->converge, CONVERGE_COMMAND, "converge");
	tap_str(git->command[1], "{upstream}", "a word of command");
	tap_str(git->command[2], "git-fetch {name}", "its last word");
	tap_ok(git->command[3] == NULL, "its end");
	tap_int(git->scope, SCOPE_HOST, "scope");
	tap_int(git->hooks, HOOKS_STRICT, "hooks");
	tap_ok(git->fold_case, "fold_case");
	tap_int(git->undecided_writes, UNDECIDED_PRIMARY, "undecided_writes");
	tap_int(git->fence_ms, 1000, "fence_s");
	tap_int(git->push_max_ms, 2000, "push_max_s");
	tap_int(git->watch_ms, 3000, "watch_s");
	tap_int(git->wait_ms, 0, "wait_ms");
	tap_int(git->poll_ms, 4000, "poll_s");
	tap_int(git->poll_rate, 6, "poll_rate");
	tap_int(git->replica_share, 0, "replica_share");
	tap_int(git->mode, MODE_OBSERVE, "mode");
	tap_int(conf_route(conf, "r")->mode, MODE_OBSERVE, "mode of r");
	tap_ok(conf_is_replica(git, conf_upstream(conf, "s1"), &index) &&
		index == 1,
	    "s1 is the second replica");
	tap_ok(!conf_is_replica(git, conf_upstream(conf, "new"), &index) &&
		index == 1,
	    "new is none");
	tap_ok(!conf_is_replica(git, git->primary, NULL), "nor the primary");

	registry = conf_route(conf, "r");
	tap_str(registry->to->name, "new", "migrate.to");
	tap_int(registry->import_s, 4, "import_s");
	tap_int(registry->provisional_s, 5, "provisional_s");
	tap_ok(conf_is_replica(registry, registry->to, &index) && index == 0,
	    "the new side counts as a replica");
	tap_int(rules_judge(registry->rules, "a", &rule), RULE_INCLUDED,
	    "a is included");
	tap_str(rule, "^a", "by a pattern without a name");
	tap_int(rules_judge(registry->rules, "b", &rule), RULE_INCLUDED,
	    "b is included");
	tap_str(rule, "b", "by a rule with one");
	tap_int(rules_judge(registry->rules, "abc", NULL), RULE_EXCLUDED,
	    "abc is excluded");
	conf_free(conf);
}

static void
test_files(void)
{
	char *dir = mem_fmt("%s/conf.d", tap_dir());
	char *main_file, *one, *two, *ignored;
	struct conf *conf = NULL;

	mkdir(dir, 0700);
	main_file = write_file("c.conf",
	    "run_dir = \"/r\"; routes = ( { "
	    "name = \"x\"; kind = \"git\"; prefix = \"/x/\"; "
	    "primary = \"two\"; } );");
	/* in byte order, upper case comes first */
	one = write_file("conf.d/Z.conf",
	    "upstreams = ( { name = \"one\"; "
	    "url = \"http://one\"; } ); push = { token_file = \"/t\"; };");
	two = write_file("conf.d/a.conf",
	    "upstreams = ( { name = \"two\"; "
	    "url = \"http://two\"; } ); routes = ( { name = \"y\"; "
	    "kind = \"git\"; prefix = \"/y/\"; primary = \"one\"; } );");
	ignored = write_file("conf.d/b.conf.bak", "syntax error");
	if (tap_ok(conf_read(main_file, &conf) == ERR_OK, "conf.d is read")) {
		tap_str(conf->upstreams[0].name, "one", "first Z.conf");
		tap_str(conf->upstreams[1].name, "two", "then a.conf");
		tap_int((long long)conf->n_routes, 2, "routes add up");
		tap_str(conf->routes[0].primary->name, "two",
		    "a route may name an upstream of a later file");
		tap_str(conf->push.token_file, "/t", "push of another file");
	} else {
		tap_note("%s", err_text());
	}
	conf_free(conf);

	free(write_file("conf.d/a.conf", "\nrun_dir = \"/q\";"));
	tap_ok(conf_read(main_file, &conf) == ERR_CONF &&
		strstr(err_text(), "a.conf:2: run_dir is in ") != NULL &&
		strstr(err_text(), "c.conf:1 already") != NULL,
	    "a key set in two files names both");
	tap_note("%s", err_text());
	free(write_file("conf.d/a.conf", "\nroutes = = ("));
	tap_ok(conf_read(main_file, &conf) == ERR_CONF &&
		strstr(err_text(), "conf.d/a.conf:2: ") != NULL,
	    "a mistake in conf.d names its file");
	free(write_file("conf.d/a.conf",
	    "upstreams = ( { name = \"one\"; "
	    "url = \"http://three\"; } );"));
	tap_ok(conf_read(main_file, &conf) == ERR_CONF &&
		strstr(err_text(), "a.conf:1: the upstream \"one\"") != NULL &&
		strstr(err_text(), "Z.conf:1 already") != NULL,
	    "an upstream in two files names both");
	unlink(one);
	unlink(two);
	unlink(ignored);
	rmdir(dir);
	tap_ok(conf_read(tap_dir(), &conf) == ERR_CONF &&
		strstr(err_text(), "it is a directory") != NULL,
	    "a directory");
	unlink(main_file);
	tap_ok(conf_read(main_file, &conf) == ERR_CONF &&
		strstr(err_text(), "No such file") != NULL &&
		strstr(err_text(),
		    "by -c or $REPROUTE_CONF, or make it from /") != NULL,
	    "no file");
	free(dir);
	free(main_file);
	free(one);
	free(two);
	free(ignored);
}

static uint64_t
fingerprint(const char *text, bool of_replica)
{
	struct conf *conf;
	uint64_t value = 0;

	if (read_text(text, &conf) != ERR_OK)
		tap_ok(false, "%s", err_text());
	else
		value = of_replica ? replica_fingerprint(&conf->routes[0],
					 conf_upstream(conf, "s1"))
				   : route_fingerprint(&conf->routes[0]);
	conf_free(conf);
	return value;
}

#define FP(s1, keys)                                                           \
	"upstreams = ( { name = \"m\"; url = \"http://m\"; }, "                \
	"{ name = \"s1\"; " s1 " } ); routes = ( { " keys " } );"
#define S1 "url = \"http://s1\";"
#define G1 "name = \"g\"; kind = \"git\"; primary = \"m\"; "

/* same: does the mark of such a route, or its replica, go on counting? */
static const struct {
	const char *text;
	bool route, replica;
} changes[] = {
	{ FP(S1, G1 "prefix = \"/g/\";"), true, true },
	{ FP(S1 "weight = 7;", G1 "prefix = \"/g/\"; fence_s = 7;"), true,
	    true },
	{ FP(S1 "endpoint = \"http://s1/reproute\";", G1 "prefix = \"/g/\";"),
	    true, true },
	{ FP(S1 "endpoint = \"http://s1/x\";", G1 "prefix = \"/g/\";"), true,
	    false },
	{ FP("url = \"http://s2\";", G1 "prefix = \"/g/\";"), true, false },
	{ FP(S1, G1 "prefix = \"/h/\";"), false, true },
	{ FP(S1, G1 "prefix = \"/g/\"; fold_case = true;"), false, true },
	{ FP(S1, G1 "prefix = \"/g/\"; proof = \"commit\";"), false, true },
	{ FP(S1, G1 "prefix = \"/g/\"; mode = \"observe\";"), false, true },
	{ FP(S1,
	      "name = \"h\"; kind = \"git\"; primary = \"m\"; "
	      "prefix = \"/g/\";"),
	    false, false },
	{ FP(S1,
	      "name = \"g\"; kind = \"git\"; primary = \"s1\"; "
	      "prefix = \"/g/\";"),
	    false, true },
};

static void
test_fingerprints(void)
{
	uint64_t route = fingerprint(changes[0].text, false);
	uint64_t replica = fingerprint(changes[0].text, true);

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		tap_int(fingerprint(changes[i].text, false) == route,
		    changes[i].route, "change %zu: the route's", i);
		tap_int(fingerprint(changes[i].text, true) == replica,
		    changes[i].replica, "change %zu: the replica's", i);
	}
}

static void
test_bounds(void)
{
	struct buf text = { 0 };
	struct conf *conf;

	buf_puts(&text, "upstreams = (");
	for (int i = 0; i <= MAX_UPSTREAMS; i++)
		buf_fmt(&text, "%s{ name = \"u%d\"; url = \"http://h\"; }",
		    i > 0 ? "," : "", i);
	buf_puts(&text, ");");
	tap_ok(read_text(text.data, &conf) == ERR_CONF &&
		strstr(err_text(), "257 items; write 0 to 256") != NULL,
	    "one upstream too many");
	buf_free(&text);
	conf_free(conf);
}

/* The sample that is installed must load. */
static void
test_sample(void)
{
	const char *top = getenv("top_srcdir");
	char *path = mem_fmt("%s/conf/reproute.conf.sample",
	    top != NULL ? top : ".");
	struct conf *conf = NULL;

	if (!tap_ok(conf_read(path, &conf) == ERR_OK, "the sample is right"))
		tap_note("%s", err_text());
	conf_free(conf);
	free(path);
}

int
main(void)
{
	test_mistakes();
	test_legal();
	test_defaults();
	test_every_key();
	test_files();
	test_fingerprints();
	test_bounds();
	test_sample();
	return tap_done();
}

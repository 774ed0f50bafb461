/* converge_test.c: each way to make a replica fetch, and what comes back */
/* SPDX-License-Identifier: ISC */
#include "sync/converge.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/server.h"
#include "tests/unit/tap.h"

#define SECRET "0123456789abcdefghij"
#define REFUSAL "{\"error\":{\"code\":\"unauthorized\",\"message\":\"m\"}}"

/* Answers of an endpoint, by the repository that is asked for. */
static const struct {
	const char *claim, *name;
	unsigned status;
	const char *body;
	bool silent, cut;
	enum err err;
	const char *text;
} answers[] = {
	{ "done", "p/done", 200, "done\n", false, false, ERR_OK, NULL },
	{ "done, after progress", "slow", 200,
	    "\nReceiving objects:  5%\n\nResolving\ndone\n", false, false,
	    ERR_OK, NULL },
	{ "failed", "a/b/bad", 200, "x\nfailed: git: exit 128: fatal: no\n",
	    false, false, ERR_PEER, "replica r: git: exit 128: fatal: no" },
	{ "failed, with odd bytes", "odd", 200, "failed: \033[1m\n", false,
	    false, ERR_PEER, "\\x1b[1m" },
	{ "another last line", "other", 200, "done\nbut\n", false, false,
	    ERR_PEER, "no outcome: but" },
	{ "a last line without its end", "half", 200, "x\ndone", false, false,
	    ERR_PEER, "broke off, after: done" },
	{ "nothing", "nothing", 200, "", false, false, ERR_PEER, "broke off" },
	{ "a body that is cut", "cut", 200, "done\n\n", false, true, ERR_PEER,
	    "replica r: " },
	{ "401", "denied", 401, REFUSAL, false, false, ERR_PEER,
	    "must hold one secret" },
	{ "404", "absent", 404, "no\n", false, false, ERR_PEER,
	    "HTTP 404: no\\x0a" },
	{ "a redirect", "moved", 302, "", false, false, ERR_PEER, "HTTP 302" },
	{ "silence", "silent", 200, "", true, false, ERR_PEER, "no byte for" },
};

struct seen {
	char target[512], method[8];
	char *authorization, *type;
	struct buf body;
	size_t answer;
};

static void
handle(void *arg, const struct server_request *request,
    struct server_reply *reply)
{
	struct seen *seen = arg;

	free(seen->authorization);
	free(seen->type);
	buf_reset(&seen->body);
	snprintf(seen->target, sizeof(seen->target), "%s", request->target);
	snprintf(seen->method, sizeof(seen->method), "%s", request->method);
	seen->authorization = server_header(request, "Authorization");
	seen->type = server_header(request, "Content-Type");
	buf_add(&seen->body, request->body, request->body_len);
	reply->status = answers[seen->answer].status;
	reply->silent = answers[seen->answer].silent;
	reply->cut = answers[seen->answer].cut;
	buf_puts(&reply->body, answers[seen->answer].body);
}

/* One route with one replica; a test changes what it needs. */
struct scene {
	struct upstream primary, replica;
	struct route route;
	struct conf conf;
	struct refs_digest refs;
	struct http *http;
};

static void
open_scene(struct scene *scene, enum converge converge)
{
	*scene = (struct scene){
		.primary = { .name = "p", .url = "http://127.0.0.1:1" },
		.replica = { .name = "r",
		    .url = "http://127.0.0.1:1",
		    .endpoint = "http://127.0.0.1:1" },
		.route = { .name = "g",
		    .prefix = "/scm/",
		    .converge = converge,
		    .n_replicas = 1 },
		.refs = { .head = "refs/heads/main", .object_format = "sha1" },
	};
	scene->route.primary = &scene->primary;
	scene->route.replicas[0] = &scene->replica;
	scene->conf.sync.stall_ms = 30000;
	scene->http = http_new();
}

static enum err
converge(struct scene *scene, const char *name)
{
	return converge_run(scene->http, &scene->conf, &scene->route,
	    &scene->replica, name, &scene->refs);
}

static void
write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		tap_ok(false, "%s is written", path);
	close(fd);
}

static void
check_text(const char *text, const char *claim)
{
	if (!tap_ok(strstr(err_text(), text) != NULL, "%s: is said", claim))
		tap_note("%s", err_text());
	tap_ok(strstr(err_text(), SECRET) == NULL, "%s: no secret in it",
	    claim);
}

static void
test_endpoint(void)
{
	char *secret = mem_fmt("%s/secret", tap_dir());
	struct seen seen = { 0 };
	struct server *server = server_start(handle, &seen);
	char *endpoint = mem_fmt("%s/re", server_url(server));
	struct scene scene;

	open_scene(&scene, CONVERGE_ENDPOINT);
	scene.replica.endpoint = endpoint;
	tap_int(converge(&scene, "x"), ERR_CONF, "a secret must be set");
	scene.conf.push.token_file = secret;
	tap_int(converge(&scene, "x"), ERR_SYS, "and be there");
	tap_str(seen.target, "", "nothing was asked until then");
	write_file(secret, SECRET "\n");
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		seen.answer = i;
		scene.conf.sync.stall_ms = answers[i].silent ? 1000 : 30000;
		tap_int(converge(&scene, answers[i].name), answers[i].err,
		    "endpoint: %s", answers[i].claim);
		if (answers[i].text != NULL)
			check_text(answers[i].text, answers[i].claim);
	}
	scene.conf.sync.stall_ms = 30000;
	seen.answer = 0;
	tap_int(converge(&scene, "a b/c/d%"), ERR_OK, "an odd name");
	tap_str(seen.target, "/re/projects/a%20b%2Fc/repos/d%25/fetch/",
	    "is asked for as such");
	tap_str(seen.method, "POST", "by POST");
	tap_str(seen.authorization, "Bearer " SECRET, "with the secret");
	tap_str(seen.type, "application/json", "and JSON");
	tap_ok(strstr(seen.body.data, "\"refs/heads/main\"") != NULL &&
		strstr(seen.body.data, "\"sha1\"") != NULL,
	    "of what to fetch: %s", seen.body.data);
	server_stop(server);
	tap_int(converge(&scene, "x"), ERR_PEER, "nobody there");
	http_free(scene.http);
	free(seen.authorization);
	free(seen.type);
	buf_free(&seen.body);
	free(endpoint);
	free(secret);
}

#define WORDS(...)                                                             \
	(char *[])                                                             \
	{                                                                      \
		__VA_ARGS__, NULL                                              \
	}

static const struct {
	const char *claim, *name;
	char **words;
	enum err err;
	const char *text; /* of out where it is ERR_OK, else said */
} commands[] = {
	{ "each word as it is", "p/r",
	    WORDS("sh", "-c", "printf '%s|' \"$@\" >out", "x", "{name}",
		"{upstream}", "{project}.{repo}", "a b$(c)"),
	    ERR_OK, "p/r|r|p.r|a b$(c)|" },
	{ "no project", "solo",
	    WORDS("sh", "-c", "printf '%s|' \"$@\" >out", "x", "{project}",
		"{repo}"),
	    ERR_OK, "-|solo|" },
	{ "a failure", "p/r", WORDS("sh", "-c", "echo why >&2; exit 7"),
	    ERR_PEER, "replica r: sh: exit 7: why" },
	{ "what is not there", "p/r", WORDS("/nonexistent/command"), ERR_SYS,
	    "cannot run /nonexistent/command" },
	{ "a name like an option", "-rf", WORDS("rm", "{name}"), ERR_INPUT,
	    "option" },
	{ "one behind another word", "-rf",
	    WORDS("sh", "-c", "echo \"$1\" >out", "x", "n={name}"), ERR_OK,
	    "n=-rf\n" },
	{ "a shell's words", "p/r;id", WORDS("true", "{name}"), ERR_INPUT,
	    "shell" },
	{ "a home directory", "~u/r", WORDS("true", "{name}"), ERR_INPUT,
	    "shell" },
	{ "a space", "p/a b", WORDS("true", "{name}"), ERR_INPUT, "shell" },
	{ "silence", "p/r", WORDS("sleep", "60"), ERR_PEER, "no sign of life" },
};

/* All of a file, or ""; the caller's. */
static char *
read_file(const char *path)
{
	char text[256] = "";
	int fd = open(path, O_RDONLY);

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	if (fd >= 0)
		close(fd);
	unlink(path);
	return mem_dup(text);
}

static void
test_command(void)
{
	struct scene scene;

	open_scene(&scene, CONVERGE_COMMAND);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		char *out;

		scene.route.command = commands[i].words;
		scene.conf.sync.stall_ms =
		    strcmp(commands[i].claim, "silence") == 0 ? 300 : 30000;
		tap_int(converge(&scene, commands[i].name), commands[i].err,
		    "command: %s", commands[i].claim);
		out = read_file("out");
		if (commands[i].err == ERR_OK)
			tap_str(out, commands[i].text, "command: %s: words",
			    commands[i].claim);
		else
			check_text(commands[i].text, commands[i].claim);
		free(out);
	}
	http_free(scene.http);
}

static void
test_local(void)
{
	char *path = mem_fmt("%s/copies/{upstream}/{name}.git", tap_dir());
	char *root = mem_fmt("file://%s/origin", tap_dir());
	struct scene scene;

	tap_int(system(
		    "git init -q --bare 'origin/scm/p/a b.git' && cd"
		    " 'origin/scm/p/a b.git' && git update-ref refs/heads/main"
		    " $(git commit-tree -m x $(git mktree </dev/null))"),
	    0, "an origin");
	open_scene(&scene, CONVERGE_LOCAL);
	scene.primary.url = root;
	scene.replica.path = path;
	tap_int(converge(&scene, "p/a b"), ERR_OK, "local: fetched");
	tap_int(system(
		    "test \"$(git -C 'copies/r/p/a b.git' rev-parse main)\""
		    " = \"$(git -C 'origin/scm/p/a b.git' rev-parse main)\""),
	    0, "local: what the primary has");
	tap_int(converge(&scene, "p/absent"), ERR_PEER, "local: or not");
	check_text("origin/scm/p/absent.git", "local: why");
	http_free(scene.http);
	free(root);
	free(path);
}

static void
test_none(void)
{
	struct scene scene;

	open_scene(&scene, CONVERGE_NONE);
	tap_int(converge(&scene, "p/r"), ERR_PEER, "none: not ours to do");
	check_text("somebody else must make r fetch", "none");
	http_free(scene.http);
}

/* A primary that is asked for its refs, in protocol v0. */
static void
advertise(void *arg, const struct server_request *request,
    struct server_reply *reply)
{
	static const char refs[] =
	    "001e# service=git-upload-pack\n0000"
	    "006a1111111111111111111111111111111111111111 HEAD%cagent=x"
	    " symref=HEAD:refs/heads/trunk object-format=sha1\n"
	    "003e1111111111111111111111111111111111111111 refs/heads/trunk\n"
	    "0000";

	(void)request;
	(void)arg;
	buf_puts(&reply->headers,
	    "Content-Type: "
	    "application/x-git-upload-pack-advertisement\r\n");
	buf_fmt(&reply->body, refs, 0);
}

static void
test_unknown_refs(void)
{
	char *secret = mem_fmt("%s/secret", tap_dir());
	struct seen seen = { 0 };
	struct server *primary = server_start(advertise, NULL);
	struct server *replica = server_start(handle, &seen);
	char *url = mem_dup(server_url(primary));
	char *endpoint = mem_dup(server_url(replica));
	struct scene scene;

	open_scene(&scene, CONVERGE_ENDPOINT);
	scene.conf.push.token_file = secret;
	scene.primary.url = url;
	scene.replica.endpoint = endpoint;
	memset(&scene.refs, 0, sizeof(scene.refs));
	if (!tap_int(converge(&scene, "p/r"), ERR_OK,
		"what the proof did not see is asked of the primary"))
		tap_note("%s", err_text());
	tap_ok(seen.body.data != NULL &&
		strstr(seen.body.data, "refs/heads/trunk") != NULL,
	    "and told to the replica");
	server_stop(primary);
	tap_int(converge(&scene, "p/r"), ERR_PEER, "or nothing is done");
	check_text("replica r: primary p: ", "and why");
	server_stop(replica);
	http_free(scene.http);
	free(seen.authorization);
	free(seen.type);
	buf_free(&seen.body);
	free(endpoint);
	free(url);
	free(secret);
}

int
main(void)
{
	setenv("HOME", tap_dir(), 1);
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	setenv("GIT_AUTHOR_NAME", "a", 1);
	setenv("GIT_AUTHOR_EMAIL", "a@example.org", 1);
	setenv("GIT_COMMITTER_NAME", "a", 1);
	setenv("GIT_COMMITTER_EMAIL", "a@example.org", 1);
	if (chdir(tap_dir()) != 0 ||
	    system("git config --global init.defaultBranch main") != 0)
		return 1;
	test_endpoint();
	test_command();
	test_local();
	test_none();
	test_unknown_refs();
	return tap_done();
}

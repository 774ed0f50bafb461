/* converge.c: makes a replica's copy of a repository what the primary has */
/* SPDX-License-Identifier: ISC */
#include "sync/converge.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "conf/crypto.h"
#include "conf/log.h"
#include "sync/fetch.h"
#include "sync/probe.h"
#include "sync/spawn.h"
#include "sync/wire.h"

/* Lines of progress: one a second for days. */
#define MAX_PROGRESS (64UL << 20)
/* The endpoint's last line is the outcome; a longer one is cut, in bytes. */
#define MAX_LINE 512

/* What is to be made the same as where. */
struct task {
	struct http *http;
	const struct conf *conf;
	const struct route *route;
	const struct upstream *replica;
	const char *name;
	struct fetch_order order;
};

/* The last line of a stream that was not empty. */
struct tail {
	char line[MAX_LINE + 1];
	size_t len;
	bool ended; /* the next byte begins another */
};

static enum err
take_lines(void *arg, const char *bytes, size_t len)
{
	struct tail *tail = arg;

	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == '\n' || bytes[i] == '\r') {
			tail->ended = true;
			continue;
		}
		if (tail->ended)
			tail->len = 0;
		tail->ended = false;
		if (tail->len < MAX_LINE)
			tail->line[tail->len++] = bytes[i];
	}
	tail->line[tail->len] = '\0';
	return ERR_OK;
}

/* Answers what replica.c writes as the last line. */
static enum err
outcome(const struct tail *tail)
{
	static const char failed[] = "failed: ";
	char text[4 * MAX_LINE + 1];

	log_escape(text, sizeof(text), tail->line);
	/* a line without its end may be the half of one */
	if (!tail->ended)
		return err_set(ERR_PEER, "its answer broke off%s%s",
		    text[0] != '\0' ? ", after: " : "", text);
	if (strcmp(tail->line, "done") == 0)
		return ERR_OK;
	if (strncmp(text, failed, strlen(failed)) == 0)
		return err_set(ERR_PEER, "%s", text + strlen(failed));
	return err_set(ERR_PEER, "its last line is no outcome: %s", text);
}

static enum err
refused(const struct http_reply *reply, const char *url)
{
	char text[1024];

	log_escape(text, sizeof(text),
	    reply->body.data != NULL ? reply->body.data : "");
	if (reply->status == 401 || reply->status == 403)
		return err_set(ERR_PEER,
		    "%s: HTTP %u: replica.token_file "
		    "there and push.token_file here must hold one secret; "
		    "%s",
		    url, reply->status, text);
	return err_set(ERR_PEER, "%s: HTTP %u: %s", url, reply->status, text);
}

static enum err
post(const struct task *task, const char *url, const char *bearer)
{
	const char *headers[] = { bearer, "Content-Type: application/json",
		NULL };
	struct tail tail = { 0 };
	struct buf body = { 0 };
	struct http_request request = { .method = "POST",
		.url = url,
		.headers = headers,
		.ca_file = task->replica->ca_file,
		.stall_ms = task->conf->sync.stall_ms,
		.max_body = MAX_PROGRESS,
		.sink = take_lines,
		.sink_arg = &tail };
	struct http_reply reply = { 0 };
	enum err err;

	wire_put_fetch(&task->order, &body);
	request.body = body.data;
	request.body_len = body.len;
	err = http_run(task->http, &request, &reply);
	if (err == ERR_OK)
		err = reply.status == 200 ? outcome(&tail)
					  : refused(&reply, url);
	buf_free(&reply.body);
	buf_free(&body);
	return err;
}

/* reproute-replica at the replica's endpoint fetches from its own origin. */
static enum err
by_endpoint(const struct task *task)
{
	const char *path = task->conf->push.token_file;
	char *secret = NULL, *bearer = NULL;
	struct buf url = { 0 };
	enum err err;

	if (path == NULL)
		return err_set(ERR_CONF,
		    "converge = \"endpoint\" needs a "
		    "secret; set push.token_file, and replica.token_file "
		    "there, to files that hold the same one");
	if ((err = secret_read(path, &secret)) != ERR_OK)
		return err_prefix(err, "push.token_file");
	bearer = mem_fmt("Authorization: Bearer %s", secret);
	err = probe_endpoint_url(task->replica, task->name, NULL, "fetch/",
	    &url);
	if (err == ERR_OK)
		err = post(task, url.data, bearer);
	buf_free(&url);
	explicit_bzero(bearer, strlen(bearer));
	explicit_bzero(secret, strlen(secret));
	free(bearer);
	free(secret);
	return err;
}

/* Where the replica's copy is on this host; appended. */
static enum err
local_path(const struct upstream *replica, const char *name, struct buf *out)
{
	const struct name_values values = { .name = name,
		.upstream = replica->name };

	return name_fill(replica->path, &values, false, out);
}

static enum err
by_local(const struct task *task)
{
	const struct upstream *primary = task->route->primary;
	struct fetch fetch = { .auth_file = primary->auth_file,
		.ca_file = primary->ca_file,
		.head = task->order.head,
		.object_format = task->order.object_format,
		.stall_ms = task->conf->sync.stall_ms };
	struct buf path = { 0 }, origin = { 0 };
	enum err err = local_path(task->replica, task->name, &path);

	if (err == ERR_OK) {
		buf_puts(&origin, primary->url);
		http_escape(&origin, task->route->prefix, true);
		http_escape(&origin, task->name, true);
		buf_puts(&origin, ".git");
		fetch.path = path.data;
		fetch.origin = origin.data;
		err = fetch_run(&fetch);
	}
	buf_free(&origin);
	buf_free(&path);
	return err;
}

/*
 * ssh(1) and its like hand their words to a shell at the other end, so that
 * a name may hold nothing that means something to one.
 */
static bool
shell_safe(const char *name)
{
	static const char plain[] =
	    "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+@,:-";

	return name[strspn(name, plain)] == '\0';
}

/* One word of the command; the caller's. */
static enum err
fill_word(const struct task *task, const char *template, char **out)
{
	const char *slash = strrchr(task->name, '/');
	char *project = slash != NULL
	    ? mem_dup_n(task->name, (size_t)(slash - task->name))
	    : mem_dup("-");
	const struct name_values values = { .name = task->name,
		.upstream = task->replica->name,
		.project = project,
		.repo = slash != NULL ? slash + 1 : task->name };
	struct buf word = { 0 };
	enum err err;

	buf_puts(&word, "");
	err = name_fill(template, &values, false, &word);
	/* a project "-" is none, and no option */
	if (err == ERR_OK && word.data[0] == '-' && word.data[1] != '\0' &&
	    template[0] != '-')
		err = err_set(ERR_INPUT,
		    "a name that starts with \"-\" would "
		    "be an option of the command");
	free(project);
	if (err != ERR_OK)
		buf_free(&word);
	else
		*out = word.data;
	return err;
}

static enum err
by_command(const struct task *task)
{
	char *argv[MAX_COMMAND + 1] = { NULL };
	struct spawn order = { .argv = (const char *const *)argv,
		.stall_ms = task->conf->sync.stall_ms };
	enum err err = ERR_OK;

	if (!shell_safe(task->name))
		return err_set(ERR_INPUT,
		    "its name holds more than letters, "
		    "digits and /._+@,:- and may not be given to a command, "
		    "which may be a shell in the end");
	for (size_t i = 0; err == ERR_OK && i < MAX_COMMAND &&
	     task->route->command[i] != NULL;
	     i++)
		err = fill_word(task, task->route->command[i], &argv[i]);
	if (err == ERR_OK)
		err = spawn_run(&order, NULL);
	for (size_t i = 0; argv[i] != NULL; i++)
		free(argv[i]);
	return err;
}

static enum err
by_none(const struct task *task)
{
	return err_set(ERR_PEER,
	    "its refs differ, and with converge = "
	    "\"none\" somebody else must make %s fetch",
	    task->replica->name);
}

static const struct {
	enum err (*run)(const struct task *);
	bool ordered; /* needs HEAD and object format */
} ways[] = {
	[CONVERGE_ENDPOINT] = { by_endpoint, true },
	[CONVERGE_LOCAL] = { by_local, true },
	[CONVERGE_COMMAND] = { by_command, false },
	[CONVERGE_NONE] = { by_none, false },
};

static enum err
set_order(struct task *task, const struct refs_digest *primary)
{
	struct probe_refs asked;
	enum err err;

	if (primary->object_format[0] == '\0') {
		err = probe_advert(task->http, task->conf, task->route,
		    task->route->primary, task->name, &asked);
		if (err != ERR_OK)
			return err_prefix(err == ERR_ABSENT ? ERR_PEER : err,
			    "primary %s", task->route->primary->name);
		primary = &asked.refs;
	}
	strcpy(task->order.head, primary->head);
	strcpy(task->order.object_format, primary->object_format);
	return ERR_OK;
}

enum err
converge_run(struct http *http, const struct conf *conf,
    const struct route *route, const struct upstream *replica, const char *name,
    const struct refs_digest *primary)
{
	struct task task = { .http = http,
		.conf = conf,
		.route = route,
		.replica = replica,
		.name = name };
	enum err err = ERR_OK;

	if (ways[route->converge].ordered)
		err = set_order(&task, primary);
	if (err == ERR_OK)
		err = ways[route->converge].run(&task);
	return err != ERR_OK ? err_prefix(err, "replica %s", replica->name)
			     : ERR_OK;
}

enum err
converge_idle(const struct route *route, const struct upstream *replica,
    const char *name)
{
	struct buf path = { 0 };
	enum err err;

	if (route->converge != CONVERGE_LOCAL)
		return ERR_OK;
	err = local_path(replica, name, &path);
	if (err == ERR_OK)
		err = fetch_idle(path.data);
	buf_free(&path);
	return err;
}

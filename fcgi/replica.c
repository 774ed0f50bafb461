/* replica.c: reproute-replica: what a replica has, and how it gets more */
/* SPDX-License-Identifier: ISC */
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "conf/log.h"
#include "conf/program.h"
#include "fcgi/endpoint.h"
#include "fcgi/gateway.h"
#include "fcgi/reply.h"
#include "sync/fetch.h"
#include "sync/repo.h"
#include "sync/root.h"
#include "sync/wire.h"

/* Requests at once under FastCGI; a fetch takes one as long as it runs. */
#define THREADS 32

static const struct program program = {
	.name = "reproute-replica",
	.synopsis = "[-c FILE]",
	.purpose = "Says what a replica has, and fetches, as a web server's "
		   "CGI or FastCGI program.",
	.more = "As CGI it reads the file named by $REPROUTE_CONF.\n",
};

enum answer {
	BAD_REQUEST,
	UNAUTHORIZED,
	NOT_FOUND,
	METHOD,
	CONFLICT,
	TOO_LARGE,
	FAILED,
	UNAVAILABLE
};

static const struct {
	const char *status, *code, *headers;
} answers[] = {
	[BAD_REQUEST] = { "400 Bad Request", "bad-request", NULL },
	[UNAUTHORIZED] = { "401 Unauthorized", "unauthorized",
	    REPLY_CHALLENGE },
	[NOT_FOUND] = { "404 Not Found", "not-found", NULL },
	[METHOD] = { "405 Method Not Allowed", "method-not-allowed", NULL },
	[CONFLICT] = { "409 Conflict", "conflict", NULL },
	[TOO_LARGE] = { "413 Content Too Large", "too-large", NULL },
	[FAILED] = { "500 Internal Server Error", "failed", NULL },
	[UNAVAILABLE] = { "503 Service Unavailable", "unavailable",
	    "Retry-After: 1\r\n" },
};

/* One request. */
struct question {
	struct gateway_request *request;
	const struct conf *conf; /* NULL: it could not be read */
	struct endpoint asked;
};

/* A CGI whose client went away is sent a signal by some web servers. */
static volatile sig_atomic_t ended;

static void
note_end(int signal_number)
{
	(void)signal_number;
	ended = 1;
}

static void
note_sent(enum err err)
{
	if (err != ERR_OK)
		log_msg(LOG_WARNING, "the answer was not sent: %s", err_text());
}

/* message must hold nothing that should not leave this host. */
static void
refuse(const struct question *question, enum answer which, const char *message)
{
	note_sent(reply_error(question->request, answers[which].status,
	    answers[which].headers, answers[which].code, message));
}

static void
log_failure(const struct question *question, const char *what)
{
	char name[2 * NAME_SIZE];

	log_msg(LOG_WARNING, "%s: %s: %s",
	    log_escape(name, sizeof(name), question->asked.name), what,
	    err_text());
}

/* Something on this host, which only its log may name. */
static void
fail(const struct question *question, enum err err, const char *what)
{
	log_failure(question, what);
	refuse(question, err == ERR_BUSY ? UNAVAILABLE : FAILED,
	    err == ERR_BUSY
		? "its refs are just changing; ask again"
		: "it could not be read; the replica's log says why");
}

static void
say(const struct question *question, const char *type, const char *body)
{
	const struct reply reply = { "200 OK", type, NULL };

	note_sent(reply_send(question->request, &reply, body, strlen(body)));
}

/* If there is none, it has been answered. */
static struct repo *
open_repo(const struct question *question)
{
	char path[PATH_MAX];
	struct repo *repo;
	enum err err = root_find(question->conf->replica.root,
	    question->asked.name, path, sizeof(path));

	if (err == ERR_OK)
		err = repo_open(path, &repo);
	if (err == ERR_OK)
		return repo;
	if (err == ERR_ABSENT)
		refuse(question, NOT_FOUND, "no such repository");
	else if (err == ERR_INPUT)
		refuse(question, CONFLICT, err_text());
	else
		fail(question, err, "open");
	return NULL;
}

static void
has_commit(struct question *question)
{
	struct repo *repo = open_repo(question);
	bool has = false;
	enum err err;

	if (repo == NULL)
		return;
	err = repo_has_commit(repo, question->asked.sha, &has);
	repo_close(repo);
	if (err != ERR_OK)
		fail(question, err, "has-commit");
	else
		say(question, "text/plain", has ? "true" : "false");
}

static void
show_refs(struct question *question)
{
	struct repo *repo = open_repo(question);
	struct refs_digest digest;
	struct buf body = { 0 };
	enum err err;

	if (repo == NULL)
		return;
	/* first: what ends before this, changes nothing behind it */
	err = fetch_idle(repo_path(repo));
	if (err == ERR_OK)
		err = repo_refs(repo, &digest);
	repo_close(repo);
	if (err != ERR_OK) {
		fail(question, err, "refs");
		return;
	}
	wire_put_refs(&digest, &body);
	say(question, "application/json", body.data);
	buf_free(&body);
}

/* Is it from one who may order a fetch?  If not, it has been answered. */
static bool
may_fetch(const struct question *question)
{
	const char *path = question->conf->replica.token_file;
	enum err err;

	if (path == NULL || question->conf->replica.origin == NULL) {
		refuse(question, UNAVAILABLE,
		    "this replica fetches nothing: "
		    "set replica.origin and replica.token_file there");
		return false;
	}
	err = reply_authorized(question->request, path);
	if (err == ERR_DENIED) {
		refuse(question, UNAUTHORIZED, err_text());
	} else if (err != ERR_OK) {
		log_msg(LOG_ERR, "replica.token_file: %s", err_text());
		refuse(question, UNAVAILABLE,
		    "replica.token_file cannot be "
		    "used; the replica's log says why");
	}
	return err == ERR_OK;
}

/* If there is none, it has been answered. */
static bool
read_order(const struct question *question, struct fetch_order *out)
{
	struct buf body = { 0 };
	enum err err = gateway_body(question->request, MAX_FETCH_BODY, &body);

	if (err == ERR_OK)
		err = wire_get_fetch(body.data != NULL ? body.data : "",
		    body.len, out);
	buf_free(&body);
	if (err != ERR_OK)
		refuse(question, err == ERR_LIMIT ? TOO_LARGE : BAD_REQUEST,
		    err_text());
	return err == ERR_OK;
}

/* The answer to a fetch, as it goes out. */
struct stream {
	const struct question *question;
	bool gone; /* nobody listens */
};

/* A line, of progress or of the outcome, read by converge.c. */
static void
put_line(void *arg, const char *line)
{
	struct stream *stream = arg;
	char *text = mem_fmt("%s\n", line);

	/* the daemon waits as long as lines come */
	if (gateway_send(stream->question->request, text, strlen(text), true) !=
	    ERR_OK)
		stream->gone = true;
	free(text);
}

static bool
nobody_listens(void *arg)
{
	return ended != 0 || gateway_ending() || ((struct stream *)arg)->gone;
}

static void
stream_fetch(const struct question *question, const struct fetch_order *order,
    const char *path, const char *origin)
{
	static const char head[] =
	    "Status: 200 OK\r\n"
	    "Content-Type: text/plain; charset=utf-8\r\n"
	    "Cache-Control: no-store\r\nX-Accel-Buffering: no\r\n\r\n";
	struct stream stream = { .question = question };
	const struct fetch fetch = { .path = path,
		.origin = origin,
		.auth_file = question->conf->replica.auth_file,
		.head = order->head,
		.object_format = order->object_format,
		.stall_ms = question->conf->sync.stall_ms,
		.progress = put_line,
		.progress_arg = &stream,
		.stop = nobody_listens,
		.stop_arg = &stream };
	char *outcome;

	stream.gone = gateway_send(question->request, head, strlen(head),
			  true) != ERR_OK;
	if (fetch_run(&fetch) != ERR_OK) {
		log_failure(question, "fetch");
		outcome = mem_fmt("failed: %s", err_text());
	} else {
		outcome = mem_dup("done");
	}
	/* one line, whatever is in it */
	for (char *end = outcome; (end = strpbrk(end, "\r\n")) != NULL;)
		*end = ' ';
	put_line(&stream, outcome);
	free(outcome);
}

/* Where it is, or is to be.  If nowhere, it has been answered. */
static bool
find_place(const struct question *question, char *path, size_t size)
{
	const char *root = question->conf->replica.root;
	enum err err = root_find(root, question->asked.name, path, size);

	if (err == ERR_ABSENT)
		err = root_place(root, question->asked.name, path, size);
	if (err == ERR_INPUT)
		refuse(question, CONFLICT, err_text());
	else if (err != ERR_OK)
		fail(question, err, "fetch");
	return err == ERR_OK;
}

static void
fetch(struct question *question)
{
	const struct name_values values = { .name = question->asked.name };
	struct fetch_order order;
	struct buf origin = { 0 };
	char path[PATH_MAX];
	enum err err;

	if (!may_fetch(question) || !read_order(question, &order) ||
	    !find_place(question, path, sizeof(path)))
		return;
	err = name_fill(question->conf->replica.origin, &values, true, &origin);
	if (err != ERR_OK)
		fail(question, err, "replica.origin");
	else
		stream_fetch(question, &order, path, origin.data);
	buf_free(&origin);
}

static void
show_life(struct question *question)
{
	say(question, "text/plain", "reproute-replica\n");
}

static const struct {
	const char *method, *other; /* which it takes */
	const char *allow;	    /* RFC 9110, 10.2.1 */
	void (*run)(struct question *);
} operations[ENDPOINT_OPS] = {
	[ENDPOINT_LIFE] = { "GET", "HEAD", "Allow: GET, HEAD\r\n", show_life },
	[ENDPOINT_HAS_COMMIT] = { "GET", "HEAD", "Allow: GET, HEAD\r\n",
	    has_commit },
	[ENDPOINT_REFS] = { "GET", "HEAD", "Allow: GET, HEAD\r\n", show_refs },
	[ENDPOINT_FETCH] = { "POST", "POST", "Allow: POST\r\n", fetch },
};

static void
run_operation(struct question *question)
{
	const char *method = gateway_param(question->request, "REQUEST_METHOD");
	enum endpoint_op op = question->asked.op;

	if (method != NULL &&
	    (strcmp(method, operations[op].method) == 0 ||
		strcmp(method, operations[op].other) == 0))
		operations[op].run(question);
	else
		note_sent(reply_error(question->request, answers[METHOD].status,
		    operations[op].allow, answers[METHOD].code,
		    "not by that method"));
}

static void
handle(struct gateway_request *request, void *arg)
{
	struct question question = { .request = request, .conf = arg };
	const char *uri = gateway_param(request, "REQUEST_URI");
	enum err err;

	if (question.conf == NULL) {
		refuse(&question, UNAVAILABLE,
		    "the configuration is wrong; "
		    "reproute-replica --check-config says where");
		return;
	}
	if (question.conf->replica.root == NULL) {
		refuse(&question, UNAVAILABLE,
		    "this host is no replica: set "
		    "replica.root in its configuration");
		return;
	}
	if (uri == NULL) {
		refuse(&question, FAILED,
		    "the web server passes no "
		    "REQUEST_URI");
		return;
	}
	err = endpoint_parse(gateway_param(request, "SCRIPT_NAME"), uri,
	    &question.asked);
	if (err == ERR_OK)
		run_operation(&question);
	else
		refuse(&question, err == ERR_ABSENT ? NOT_FOUND : BAD_REQUEST,
		    err_text());
}

static enum err
serve(struct conf *conf, bool cgi)
{
	const struct gateway_options options = { .threads = THREADS,
		.max_body = MAX_FETCH_BODY,
		.handler = handle,
		.arg = conf };
	struct sigaction action = { .sa_handler = note_end };

	/* some web servers start their children with it ignored */
	signal(SIGCHLD, SIG_DFL);
	if (!cgi)
		return gateway_serve(&options);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	gateway_cgi(handle, conf);
	return ERR_OK;
}

int
main(int argc, char **argv)
{
	struct conf *conf = NULL;
	struct program_run run;
	bool cgi = gateway_is_cgi();
	enum err err;

	program_start(&program, argc, argv, &run);
	if ((err = conf_read(run.conf_file, &conf)) != ERR_OK) {
		/* the client of a CGI is told, too */
		if (!cgi)
			program_fail(err);
		log_msg(LOG_ERR, "%s", err_text());
	}
	err = serve(conf, cgi);
	/* threads that still fetch use the configuration */
	if (err == ERR_LIMIT)
		_exit(EX_OK);
	conf_free(conf);
	if (err != ERR_OK)
		program_fail(err);
	return EX_OK;
}

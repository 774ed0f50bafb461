/* push.c: reproute-push: takes reports of pushes, from hooks */
/* SPDX-License-Identifier: ISC */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sysexits.h>
#include <unistd.h>

#include "conf/log.h"
#include "conf/program.h"
#include "fcgi/effect.h"
#include "fcgi/gateway.h"
#include "fcgi/listener.h"
#include "fcgi/push_wait.h"
#include "fcgi/reply.h"
#include "fcgi/writer.h"
#include "sync/gate.h"
#include "sync/wake.h"
#include "sync/wire.h"

/* A report that is not committed by then is answered with 503. */
#define COMMIT_MS 5000
/* Requests at once under FastCGI; */
#define THREADS 16
/* no more of them wait for replicas, so that reports always have a thread. */
#define MAX_WAITING (THREADS / 2)
/* Of the socket at --listen /PATH. */
#define SOCKET_MODE 0660

struct push {
	struct conf *conf; /* NULL: it could not be read */
	pthread_mutex_t lock;
	struct writer *writer; /* NULL: not needed yet */
	atomic_uint waiting;   /* requests, for replicas */
};

static const char *listen_at;

static const struct program_option own_options[] = {
	{ "listen", 'l', "ADDRESS",
	    "/PATH, ADDR:PORT or :PORT (fd 0 as inherited)", NULL, &listen_at },
	{ NULL, 0, NULL, NULL, NULL, NULL },
};

static const struct program program = {
	.name = "reproute-push",
	.synopsis = "[-c FILE] [--listen ADDRESS]",
	.purpose = "Takes reports of pushes, as a web server's CGI or FastCGI "
		   "program.",
	.options = own_options,
	.more = "As CGI it reads the file named by $REPROUTE_CONF.\n",
};

enum answer {
	BAD_REQUEST,
	UNAUTHORIZED,
	UNKNOWN,
	METHOD,
	TOO_LARGE,
	TYPE,
	UNAVAILABLE,
	TOO_MANY
};

static const struct {
	const char *status;  /* RFC 9110, 15 */
	const char *code;    /* in the body */
	const char *headers; /* more, or NULL */
} answers[] = {
	[BAD_REQUEST] = { "400 Bad Request", "bad-request", NULL },
	[UNAUTHORIZED] = { "401 Unauthorized", "unauthorized",
	    REPLY_CHALLENGE },
	[UNKNOWN] = { "404 Not Found", "unknown-repository", NULL },
	[METHOD] = { "405 Method Not Allowed", "method-not-allowed",
	    "Allow: GET, POST\r\n" },
	[TOO_LARGE] = { "413 Content Too Large", "too-large", NULL },
	[TYPE] = { "415 Unsupported Media Type", "unsupported-type", NULL },
	[UNAVAILABLE] = { "503 Service Unavailable", "unavailable",
	    "Retry-After: 5\r\n" },
	[TOO_MANY] = { "503 Service Unavailable", "too-many-waiters",
	    "Retry-After: 5\r\n" },
};

static void
log_unsent(enum err err)
{
	if (err != ERR_OK)
		log_msg(LOG_WARNING, "the answer was not sent: %s", err_text());
}

/* message must hold nothing that should not leave this host. */
static void
refuse(struct gateway_request *request, enum answer which, const char *message)
{
	log_unsent(reply_error(request, answers[which].status,
	    answers[which].headers, answers[which].code, message));
}

/* Is it from one who may report?  If not, it has been answered. */
static bool
authorized(const struct push *push, struct gateway_request *request)
{
	enum err err;

	if (push->conf == NULL) {
		refuse(request, UNAVAILABLE,
		    "the configuration is wrong; "
		    "reproute-push --check-config says where");
		return false;
	}
	if (push->conf->push.token_file == NULL) {
		refuse(request, UNAVAILABLE,
		    "there is no push endpoint: set "
		    "push.token_file in the configuration");
		return false;
	}
	err = reply_authorized(request, push->conf->push.token_file);
	if (err == ERR_DENIED) {
		refuse(request, UNAUTHORIZED, err_text());
	} else if (err != ERR_OK) {
		log_msg(LOG_ERR, "push.token_file: %s", err_text());
		refuse(request, UNAVAILABLE,
		    "push.token_file cannot be "
		    "used; the log says why");
	}
	return err == ERR_OK;
}

/* Without its parameters (RFC 9110, 8.3.1). */
static bool
is_type(const char *said, const char *type)
{
	size_t len = strlen(type);

	return strncasecmp(said, type, len) == 0 &&
	    strchr("; \t", said[len]) != NULL;
}

enum form { FORM_JSON, FORM_FIELDS, FORM_NONE, FORM_UNKNOWN };

static enum form
form_of(const struct gateway_request *request)
{
	const char *type = gateway_param(request, "CONTENT_TYPE");

	if (type == NULL || *type == '\0')
		return FORM_NONE;
	if (is_type(type, "application/json"))
		return FORM_JSON;
	if (is_type(type, "application/x-www-form-urlencoded"))
		return FORM_FIELDS;
	return FORM_UNKNOWN;
}

/* The seed's form comes in the body, or in the query of an empty one. */
static enum err
parse_report(const struct gateway_request *request, enum form form,
    const struct buf *body, struct push_report *out)
{
	const char *query = gateway_param(request, "QUERY_STRING");

	if (form == FORM_JSON)
		return wire_get_push(body->data, body->len, out);
	if (body->len > 0)
		return wire_get_push_form(body->data, body->len, out);
	if (query == NULL)
		query = "";
	return wire_get_push_form(query, strlen(query), out);
}

/* If there is none, it has been answered. */
static bool
read_report(struct gateway_request *request, struct push_report *out)
{
	enum form form = form_of(request);
	struct buf body = { 0 };
	bool unknown;
	enum err err;

	err = gateway_body(request, MAX_PUSH_BODY, &body);
	unknown = form == FORM_UNKNOWN || (form == FORM_NONE && body.len > 0);
	if (err == ERR_OK && !unknown) {
		buf_add(&body, "", 0); /* data is not NULL from here */
		err = parse_report(request, form, &body, out);
	}
	buf_free(&body);
	if (err == ERR_OK && unknown)
		refuse(request, TYPE,
		    "Content-Type must be application/json "
		    "or application/x-www-form-urlencoded");
	else if (err != ERR_OK)
		refuse(request, err == ERR_LIMIT ? TOO_LARGE : BAD_REQUEST,
		    err_text());
	return err == ERR_OK && !unknown;
}

static enum err
open_table(void *arg, struct pulse *pulse, struct table **table)
{
	const struct push *push = arg;

	(void)pulse; /* doubt is the router's */
	return table_open(push->conf->state_dir, true, table);
}

static enum err
start_writer(struct push *push)
{
	const struct writer_options options = { .open = open_table,
		.arg = push };
	enum err err = ERR_OK;

	pthread_mutex_lock(&push->lock);
	if (push->writer == NULL)
		err = writer_start(&options, &push->writer);
	pthread_mutex_unlock(&push->lock);
	return err;
}

/* false: it could not be written, and that has been answered. */
static bool
write_report(struct push *push, struct gateway_request *request,
    struct effect *effect)
{
	enum err err = start_writer(push);

	if (err == ERR_OK)
		err = writer_run(push->writer, &effect_kind, effect, COMMIT_MS);
	if (err == ERR_OK)
		return true;
	log_msg(LOG_ERR, "a report was not written: %s", err_text());
	refuse(request, UNAVAILABLE,
	    "the state could not be "
	    "written; the log says why");
	return false;
}

static const char *
query_of(const struct gateway_request *request)
{
	const char *query = gateway_param(request, "QUERY_STRING");

	return query != NULL ? query : "";
}

/* Before anything is written.  false: it may not, and has been answered. */
static bool
enter_gate(struct push *push, struct gateway_request *request,
    struct gate **gate)
{
	enum err err;

	if (atomic_fetch_add(&push->waiting, 1) >= MAX_WAITING)
		err = err_set(ERR_BUSY,
		    "%d wait here already; come again later, or do not wait",
		    MAX_WAITING);
	else
		err = gate_enter(push->conf->state_dir, gate);
	if (err == ERR_OK)
		return true;
	atomic_fetch_sub(&push->waiting, 1);
	if (err != ERR_BUSY)
		log_msg(LOG_ERR, "nobody can wait: %s", err_text());
	refuse(request, err == ERR_BUSY ? TOO_MANY : UNAVAILABLE,
	    err == ERR_BUSY ? err_text()
			    : "no place to wait; the log says why");
	return false;
}

static void
leave_gate(struct push *push, struct gate *gate)
{
	if (gate == NULL)
		return;
	gate_leave(gate);
	atomic_fetch_sub(&push->waiting, 1);
}

static void
reply(struct gateway_request *request, const char *status,
    const struct push_answer *answer)
{
	const struct reply reply = { status, "application/json", NULL };
	struct buf body = { 0 };

	wire_put_push(answer, &body);
	log_unsent(reply_send(request, &reply, body.data, body.len));
	buf_free(&body);
}

/* Waits for the replicas, and answers how it went. */
static void
wait_and_reply(struct push *push, struct gateway_request *request,
    const struct push_wait *wait, struct push_answer *answer)
{
	const struct gate_question question = { .route = wait->route,
		.name = answer->name,
		.generation = answer->generation,
		.replicas = wait->replicas };
	struct gate_answer seen;
	enum err err = writer_wait_open(push->writer, COMMIT_MS)
	    ? gate_wait(writer_table(push->writer), &question, wait->timeout_ms,
		  gateway_ending, &seen)
	    : err_set(ERR_TABLE, "the table is not there in time");

	if (err == ERR_ABSENT) {
		refuse(request, UNKNOWN,
		    "the route knows no such repository; read it once through "
		    "the web server, or report a push");
		return;
	}
	if (err != ERR_OK) {
		log_msg(LOG_ERR, "a wait came to no end: %s", err_text());
		refuse(request, UNAVAILABLE,
		    "the state could not be read; the log says why");
		return;
	}
	answer->generation = seen.generation;
	answer->fenced = seen.fenced;
	answer->wanted = wait->replicas;
	answer->have = seen.have;
	reply(request,
	    seen.have >= wait->replicas ? "200 OK" : "504 Gateway Timeout",
	    answer);
}

/* Senders switch off a hook that fails, so this is no error of theirs. */
static const char *
note_of(const struct effect *effect)
{
	return effect->learnt || effect->n_known == 0
	    ? "no route knew this repository; the daemon asks the primary "
	      "whether it is there: is the name right?"
	    : NULL;
}

/* false: its route is none of ours, which has been answered. */
static bool
has_route(struct push *push, struct gateway_request *request,
    const struct push_report *report)
{
	const struct route *route = conf_route(push->conf, report->route);

	if (report->route[0] == '\0' ||
	    (route != NULL && route->kind == ROUTE_GIT))
		return true;
	refuse(request, BAD_REQUEST,
	    "\"route\" names no git route "
	    "of the configuration");
	return false;
}

static void
take_report(struct push *push, struct gateway_request *request,
    struct push_report *report)
{
	const struct route *route = conf_route(push->conf, report->route);
	struct push_answer answer = { .name = report->name };
	struct push_wait wait;
	struct gate *gate = NULL;
	struct effect effect;

	if (push_wait_read(push->conf, query_of(request), report, &wait) !=
	    ERR_OK) {
		refuse(request, BAD_REQUEST, err_text());
		return;
	}
	if (wait.route != NULL && !enter_gate(push, request, &gate))
		return;
	effect_begin(&effect, push->conf, report);
	if (write_report(push, request, &effect)) {
		effect_wake(&effect);
		if (wait.route != NULL)
			route = wait.route;
		if (route != NULL)
			effect_name(&effect.report, route, report->name);
		answer.generation = effect.generation;
		answer.fenced = effect.fenced;
		answer.note = note_of(&effect);
		if (wait.route != NULL)
			wait_and_reply(push, request, &wait, &answer);
		else
			reply(request, "200 OK", &answer);
	}
	leave_gate(push, gate);
}

/* GET: nothing is reported, only waited for. */
static void
take_wait(struct push *push, struct gateway_request *request)
{
	struct push_report report = { .phase = PUSH_REPORT };
	char name[NAME_SIZE];
	struct push_answer answer = { .name = name };
	struct push_wait wait = { .route = NULL };
	struct gate *gate = NULL;
	enum err err = push_wait_report(push->conf, query_of(request), &report);

	if (err == ERR_OK)
		err = push_wait_read(push->conf, query_of(request), &report,
		    &wait);
	if (err == ERR_OK && wait.route == NULL)
		err = err_set(ERR_INPUT,
		    "\"wait\" is missing: nothing is reported by GET");
	if (err == ERR_OK)
		err = start_writer(push);
	if (err != ERR_OK) {
		refuse(request, err == ERR_INPUT ? BAD_REQUEST : UNAVAILABLE,
		    err_text());
		return;
	}
	if (!enter_gate(push, request, &gate))
		return;
	effect_name(&report, wait.route, name);
	wake_send(push->conf->run_dir, wait.route->name, name);
	wait_and_reply(push, request, &wait, &answer);
	leave_gate(push, gate);
}

static void
handle(struct gateway_request *request, void *arg)
{
	struct push *push = arg;
	const char *method = gateway_param(request, "REQUEST_METHOD");
	struct push_report report;

	if (method == NULL ||
	    (strcmp(method, "POST") != 0 && strcmp(method, "GET") != 0))
		refuse(request, METHOD,
		    "a push is reported by POST, and waited for by GET");
	else if (!authorized(push, request))
		return;
	else if (strcmp(method, "GET") == 0)
		take_wait(push, request);
	else if (read_report(request, &report) &&
	    has_route(push, request, &report))
		take_report(push, request, &report);
}

static enum err
serve(struct push *push, bool cgi)
{
	struct gateway_options gateway = { .threads = THREADS,
		.max_body = MAX_PUSH_BODY,
		.handler = handle,
		.arg = push };
	struct listener *listener;
	enum err err;

	if (cgi) {
		gateway_cgi(handle, push);
		return ERR_OK;
	}
	if ((err = listener_open(listen_at, SOCKET_MODE, &listener)) != ERR_OK)
		return err;
	gateway.listener = listener;
	err = gateway_serve(&gateway);
	listener_close(listener);
	return err;
}

int
main(int argc, char **argv)
{
	struct push push = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct program_run run;
	bool cgi;
	enum err err;

	program_start(&program, argc, argv, &run);
	cgi = listen_at == NULL && gateway_is_cgi();
	if ((err = conf_read(run.conf_file, &push.conf)) != ERR_OK) {
		/* the client of a CGI is told, too */
		if (!cgi)
			program_fail(err);
		log_msg(LOG_ERR, "%s", err_text());
	}
	err = serve(&push, cgi);
	/* a table that is locked for ever must not keep a CGI */
	if (err == ERR_LIMIT ||
	    (push.writer != NULL && writer_stop(push.writer) != ERR_OK))
		_exit(EX_OK);
	conf_free(push.conf);
	if (err != ERR_OK)
		program_fail(err);
	return EX_OK;
}

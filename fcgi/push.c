/* push.c: reproute-push: takes reports of pushes, from hooks */
/* SPDX-License-Identifier: ISC */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sysexits.h>
#include <unistd.h>

#include "conf/clock.h"
#include "conf/crypto.h"
#include "conf/log.h"
#include "conf/program.h"
#include "fcgi/gateway.h"
#include "fcgi/listener.h"
#include "fcgi/reply.h"
#include "fcgi/writer.h"
#include "sync/fence.h"
#include "sync/row.h"
#include "sync/wake.h"
#include "sync/wire.h"

/* A report that is not committed by then is answered with 503. */
#define COMMIT_MS 5000
/* Reports at once under FastCGI. */
#define THREADS 4
/* Of the socket at --listen /PATH. */
#define SOCKET_MODE 0660

struct push {
	struct conf *conf; /* NULL: it could not be read */
	pthread_mutex_t lock;
	struct writer *writer; /* NULL: not needed yet */
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

enum answer { BAD_REQUEST, UNAUTHORIZED, METHOD, TOO_LARGE, TYPE, UNAVAILABLE };

static const struct {
	const char *status;  /* RFC 9110, 15 */
	const char *code;    /* in the body */
	const char *headers; /* more, or NULL */
} answers[] = {
	[BAD_REQUEST] = { "400 Bad Request", "bad-request", NULL },
	[UNAUTHORIZED] = { "401 Unauthorized", "unauthorized",
	    REPLY_CHALLENGE },
	[METHOD] = { "405 Method Not Allowed", "method-not-allowed",
	    "Allow: POST\r\n" },
	[TOO_LARGE] = { "413 Content Too Large", "too-large", NULL },
	[TYPE] = { "415 Unsupported Media Type", "unsupported-type", NULL },
	[UNAVAILABLE] = { "503 Service Unavailable", "unavailable",
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

/* A report on its way through the writer. */
struct effect {
	const struct conf *conf;
	struct push_report report;
	char token[TOKEN_SIZE]; /* of a fence that begins or ends, or "" */
	int64_t now_ms;
	unsigned n_concerned; /* routes that it may mean */

	/* what came of it */
	uint64_t generation; /* the highest; 0: no row */
	bool fenced;
	bool known[MAX_ROUTES]; /* by index of the route */
	unsigned n_known;
};

static bool
concerns(const struct push_report *report, const struct route *route)
{
	return route->kind == ROUTE_GIT &&
	    (report->route[0] == '\0' ||
		strcmp(report->route, route->name) == 0);
}

/* The repository's printed form on that route. */
static void
name_on(const struct route *route, const struct push_report *report,
    char name[NAME_SIZE])
{
	strcpy(name, report->name);
	if (route->fold_case)
		name_fold(name);
}

static enum err
change(struct table_txn *txn, const struct effect *effect,
    const struct route *route, const char *name)
{
	const char *sha = effect->report.sha;
	uint64_t generation;
	enum err err;

	if (effect->report.phase == PUSH_BEGIN)
		return fence_begin_hook(txn, route, name, effect->token,
		    effect->now_ms);
	if (effect->report.phase == PUSH_END && effect->token[0] != '\0')
		return fence_end(txn, route, name, effect->token, NULL);
	sha = sha[0] != '\0' ? sha : NULL;
	err = row_raise(txn, route, name, sha, &generation);
	if (err != ERR_ABSENT)
		return err;
	if (effect->n_concerned > 1)
		return ERR_OK;
	/*
	 * Whoever holds the token is believed that there is such a
	 * repository, so that it is learnt without a daemon that listens;
	 * what the primary does not have is dropped when it is compared.
	 */
	err = row_learn(txn, route, name, NULL);
	if (err == ERR_OK)
		err = row_raise(txn, route, name, sha, &generation);
	return err == ERR_BUSY ? ERR_OK : err;
}

static enum err
note(struct table_txn *txn, struct effect *effect, size_t index,
    const char *name)
{
	const struct route *route = &effect->conf->routes[index];
	struct fences fences;
	struct row row;
	enum err err;

	if ((err = fences_get(txn, route, name, &fences)) != ERR_OK)
		return err;
	effect->fenced |= fences.n_up > 0;
	if ((err = row_get(txn, route, name, &row)) == ERR_ABSENT)
		return ERR_OK;
	if (err != ERR_OK)
		return err;
	effect->known[index] = true;
	effect->n_known++;
	if (row.generation > effect->generation)
		effect->generation = row.generation;
	return ERR_OK;
}

static enum err
effect_body(struct table_txn *txn, void *data)
{
	struct effect *effect = data;
	char name[NAME_SIZE];
	enum err err = ERR_OK;

	/* may run more than once */
	effect->generation = 0;
	effect->fenced = false;
	memset(effect->known, 0, sizeof(effect->known));
	effect->n_known = 0;
	for (size_t i = 0; i < effect->conf->n_routes && err == ERR_OK; i++) {
		const struct route *route = &effect->conf->routes[i];

		if (!concerns(&effect->report, route))
			continue;
		name_on(route, &effect->report, name);
		err = change(txn, effect, route, name);
		if (err == ERR_OK)
			err = note(txn, effect, i, name);
	}
	return err;
}

/* 503 was answered when it is late, so it is not kept. */
static const struct write_kind effect_kind = {
	.size = sizeof(struct effect),
	.body = effect_body,
};

/* The daemon takes it first; where nobody knows it, it is to look for it. */
static void
wake_daemon(const struct effect *effect)
{
	const struct conf *conf = effect->conf;
	char name[NAME_SIZE];

	for (size_t i = 0; i < conf->n_routes; i++) {
		if (!concerns(&effect->report, &conf->routes[i]) ||
		    (!effect->known[i] && effect->n_known > 0))
			continue;
		name_on(&conf->routes[i], &effect->report, name);
		wake_send(conf->run_dir, conf->routes[i].name, name);
	}
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

static void
take_report(struct push *push, struct gateway_request *request,
    const struct push_report *report)
{
	const struct reply ok = { "200 OK", "application/json", NULL };
	struct effect effect = { .conf = push->conf,
		.report = *report,
		.now_ms = clock_boot_ms() };
	const struct route *route = NULL;
	struct buf body = { 0 };
	enum err err;

	for (size_t i = 0; i < push->conf->n_routes; i++)
		effect.n_concerned += concerns(report, &push->conf->routes[i]);
	strcpy(effect.token, report->token);
	if (report->phase == PUSH_BEGIN && effect.token[0] == '\0')
		token_new(effect.token);
	if (report->route[0] != '\0' &&
	    ((route = conf_route(push->conf, report->route)) == NULL ||
		route->kind != ROUTE_GIT)) {
		refuse(request, BAD_REQUEST,
		    "\"route\" names no git route "
		    "of the configuration");
		return;
	}
	if ((err = start_writer(push)) == ERR_OK)
		err = writer_run(push->writer, &effect_kind, &effect,
		    COMMIT_MS);
	if (err != ERR_OK) {
		log_msg(LOG_ERR, "a report was not written: %s", err_text());
		refuse(request, UNAVAILABLE,
		    "the state could not be "
		    "written; the log says why");
		return;
	}
	wake_daemon(&effect);
	if (route != NULL)
		name_on(route, report, effect.report.name);
	wire_put_push(effect.report.name, effect.generation, effect.fenced,
	    &body);
	log_unsent(reply_send(request, &ok, body.data, body.len));
	buf_free(&body);
}

static void
handle(struct gateway_request *request, void *arg)
{
	struct push *push = arg;
	const char *method = gateway_param(request, "REQUEST_METHOD");
	struct push_report report;

	if (method == NULL || strcmp(method, "POST") != 0)
		refuse(request, METHOD, "reports are sent by POST");
	else if (authorized(push, request) && read_report(request, &report))
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

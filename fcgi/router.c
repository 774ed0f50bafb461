/* router.c: reproute-fcgi: tells the web server which upstream must serve */
/* SPDX-License-Identifier: ISC */
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "conf/clock.h"
#include "conf/log.h"
#include "conf/program.h"
#include "fcgi/decide.h"
#include "fcgi/gateway.h"
#include "fcgi/listener.h"
#include "fcgi/page.h"
#include "fcgi/snapshot.h"
#include "fcgi/waits.h"
#include "fcgi/writer.h"
#include "sync/fence.h"
#include "sync/mode.h"
#include "sync/peer.h"
#include "sync/place.h"
#include "sync/wake.h"

#define DEFAULT_THREADS 32
#define DEFAULT_MODE 0660
/* The start waits so long for the table; without it serves all the same. */
#define OPEN_WAIT_MS 3000

struct router {
	struct snapshots conf;
	const char *conf_file;
	struct listener *listener;
	struct writer *writer;
	struct waits *waits;
	struct decide decide;
	struct log_gate failed, refused;
};

static const char *listen_at, *threads_text, *mode_text;

static const struct program_option options[] = {
	{ "listen", 'l', "ADDRESS",
	    "/PATH, ADDR:PORT or :PORT (fd 0 as inherited)", NULL, &listen_at },
	{ "mode", 0, "OCTAL", "of the socket at /PATH (0660)", NULL,
	    &mode_text },
	{ "threads", 't', "N", "requests at once, 1 to 512 (32)", NULL,
	    &threads_text },
	{ NULL, 0, NULL, NULL, NULL, NULL },
};

static const struct program program = {
	.name = "reproute-fcgi",
	.synopsis = "[-c FILE] [--listen ADDRESS] [--threads N]",
	.purpose = "Tells a web server, by FastCGI, which upstream must serve "
		   "a request.",
	.options = options,
};

static unsigned
number_or_usage(const char *option, const char *text, int base,
    unsigned long least, unsigned long most, unsigned otherwise)
{
	unsigned long value;
	char *end;

	if (text == NULL)
		return otherwise;
	value = strtoul(text, &end, base);
	if (*end != '\0' || end == text || *text == '-' || value < least ||
	    value > most)
		program_fail(err_set(ERR_USAGE,
		    base == 8 ? "--%s is an octal number from %lo to %lo"
			      : "--%s is a number from %lu to %lu",
		    option, least, most));
	return (unsigned)value;
}

/* ERR_CONF: a placement names an upstream that conf does not have. */
static enum err
check_orphans(struct table_txn *txn, void *arg)
{
	const struct conf *conf = arg;
	char upstream[WORD_SIZE], name[NAME_SIZE];
	enum err err = place_orphan(txn, conf, upstream, name);

	if (err == ERR_OK)
		return err_set(ERR_CONF,
		    "%s: repository %s is placed on "
		    "upstream \"%s\", which is not there: put that upstream "
		    "back, or place the repository elsewhere first",
		    conf->file, name, upstream);
	return err == ERR_ABSENT ? ERR_OK : err;
}

/* What a start owes the table; later it says what was done. */
struct start {
	struct table *table;
	const struct conf *conf;
	bool first;	  /* no other router lives */
	unsigned changed; /* epochs that a change of conf raised */
};

/*
 * Nobody minded writes while there was no router: then every mark is seen
 * again.  One that joins others voids nothing.
 */
static enum err
adopt_at_start(struct table_txn *txn, void *arg)
{
	struct start *start = arg;
	const struct conf *conf = start->conf;
	enum err err = epochs_adopt(txn, conf, &start->changed);

	if (err == ERR_OK)
		err = modes_adopt(txn, conf);
	if (err != ERR_OK || !start->first)
		return err;
	for (size_t i = 0; i < conf->n_routes; i++)
		if (conf->routes[i].kind == ROUTE_GIT &&
		    (err = epoch_raise(txn, &conf->routes[i], NULL)) != ERR_OK)
			return err;
	return fences_adopt(txn, clock_boot_ms());
}

static enum err
start_work(void *arg, bool first)
{
	struct start *start = arg;

	start->first = first;
	return table_write(start->table, adopt_at_start, start);
}

/* In the writer's thread, like open_table(). */
static enum err
open_pulse(void *arg, struct pulse **out)
{
	struct router *router = arg;
	struct snapshot *snapshot = snapshot_now(&router->conf);
	const char *run_dir = snapshot->conf->run_dir;
	struct stamps *stamps = router->decide.stamps;
	enum err err = ERR_OK;

	/* first: where nobody would see what is read, no replica serves */
	if (stamps == NULL)
		err = stamps_open(run_dir, true, &stamps);
	if (err == ERR_OK) {
		router->decide.stamps = stamps;
		err = pulse_open(run_dir, true, out);
	}
	if (err == ERR_OK && pulse_claim(*out) != ERR_OK)
		log_msg(LOG_WARNING, "%s", err_text());
	snapshot_release(snapshot);
	return err;
}

static enum err
open_state(const struct conf *conf, struct pulse *pulse, struct table **out)
{
	struct start start = { .conf = conf };
	enum err err = table_open(conf->state_dir, true, &start.table);

	if (err != ERR_OK)
		return err;
	err = table_read(start.table, check_orphans, (void *)conf);
	if (err == ERR_OK)
		err = pulse_join(pulse, start_work, &start);
	if (err != ERR_OK) {
		table_close(start.table);
		return err;
	}
	if (start.first || start.changed > 0)
		wake_send(conf->run_dir, NULL, NULL);
	*out = start.table;
	return ERR_OK;
}

static enum err
open_table(void *arg, struct pulse *pulse, struct table **out)
{
	struct router *router = arg;
	struct snapshot *snapshot = snapshot_now(&router->conf);
	enum err err = open_state(snapshot->conf, pulse, out);

	if (err == ERR_CONF) {
		log_msg(LOG_ERR, "%s", err_text());
		_exit(EX_CONFIG);
	}
	snapshot_release(snapshot);
	return err;
}

static void
log_failure(void *arg, const char *text)
{
	struct router *router = arg;

	log_gated(&router->failed, LOG_ERR,
	    "the table is not written, and "
	    "is tried again every second: %s",
	    text);
}

/* A reload that has been read, and waits for the table. */
struct reload {
	struct router *router;
	struct conf *conf;
};

static enum err
reload_body(struct table_txn *txn, void *data)
{
	struct reload *reload = data;
	unsigned changed;
	enum err err = epochs_adopt(txn, reload->conf, &changed);

	return err == ERR_OK ? modes_adopt(txn, reload->conf) : err;
}

/* Not before the epochs are raised: no mark of before may count after it. */
static void
reload_committed(void *data)
{
	struct reload *reload = data;
	const char *run_dir = reload->conf->run_dir;

	log_msg(LOG_NOTICE, "%s: in force", reload->conf->file);
	wake_send(run_dir, NULL, NULL);
	snapshots_replace(&reload->router->conf, reload->conf);
	reload->conf = NULL;
	/* what waits was promised so by the old one */
	gateway_wake(true);
}

static void
reload_release(void *data)
{
	conf_free(((struct reload *)data)->conf);
}

static const struct write_kind reload_kind = {
	.size = sizeof(struct reload),
	.body = reload_body,
	.committed = reload_committed,
	.release = reload_release,
	.keeps = true,
};

/* May it take the place of the one in force, in a running router? */
static enum err
check_reload(struct router *router, struct conf *next)
{
	struct table *table = writer_table(router->writer);
	struct snapshot *snapshot = snapshot_now(&router->conf);
	bool moved = strcmp(next->state_dir, snapshot->conf->state_dir) != 0 ||
	    strcmp(next->run_dir, snapshot->conf->run_dir) != 0;

	snapshot_release(snapshot);
	if (moved)
		return err_set(ERR_CONF,
		    "%s: state_dir or run_dir changed: "
		    "restart for that",
		    next->file);
	return table != NULL ? table_read(table, check_orphans, next) : ERR_OK;
}

/* On SIGHUP.  A bad file is refused, and the old one stays in force. */
static void
reload(void *arg)
{
	struct router *router = arg;
	struct reload data = { .router = router };
	enum err err = conf_read(router->conf_file, &data.conf);

	if (err == ERR_OK) {
		err = check_reload(router, data.conf);
		if (err == ERR_OK)
			err = writer_run(router->writer, &reload_kind, &data,
			    0);
		else
			conf_free(data.conf);
	}
	if (err != ERR_OK)
		log_msg(LOG_ERR,
		    "not reloaded, the old configuration stays "
		    "in force: %s",
		    err_text());
}

static void
send_page(struct gateway_request *request, struct router *router)
{
	struct snapshot *snapshot = snapshot_now(&router->conf);

	page_send(request, snapshot->conf, writer_table(router->writer));
	snapshot_release(snapshot);
}

static void
handle(struct gateway_request *request, void *arg)
{
	struct router *router = arg;

	if (page_wanted(request))
		send_page(request, router);
	else
		decide_request(request, &router->decide);
}

static void
log_refused(void *arg, const char *why)
{
	struct router *router = arg;

	log_gated(&router->refused, LOG_WARNING,
	    "a FastCGI connection was closed: %s", why);
}

static void
start(struct router *router)
{
	const struct writer_options writer = { .pulse = open_pulse,
		.open = open_table,
		.failed = log_failure,
		.arg = router,
		.conf = &router->conf };
	enum err err;

	if ((err = writer_start(&writer, &router->writer)) != ERR_OK ||
	    (err = waits_start(router->writer, &router->waits)) != ERR_OK)
		program_fail(err);
	if (!writer_wait_open(router->writer, OPEN_WAIT_MS))
		log_msg(LOG_ERR,
		    "serves without a table: git reads go to the "
		    "primary, registry writes are held");
	router->decide.conf = &router->conf;
	router->decide.writer = router->writer;
	looks_init(&router->decide.looks);
}

/* Frees all, unless somebody still runs who uses it. */
static void
end(struct router *router)
{
	waits_stop(router->waits);
	if (writer_stop(router->writer) != ERR_OK) {
		log_msg(LOG_ERR, "%s", err_text());
		_exit(EX_OK);
	}
	stamps_close(router->decide.stamps);
	snapshots_end(&router->conf);
}

/*
 * A setgid one that anybody can start must do no more for him than the
 * router's own socket would: he takes part only if he may go to where that
 * is, as the web server does.  (That he names no socket to be made is
 * listener_open()'s to see.)
 */
static void
check_starter(const struct program_run *run, const struct conf *conf)
{
	/* access(2) asks for the real user and group */
	if (!run->trusted && access(conf->run_dir, X_OK) == -1)
		program_fail(err_set(ERR_DENIED,
		    "%s: whoever starts this must be in the group of that "
		    "directory, the web server's",
		    conf->run_dir));
}

int
main(int argc, char **argv)
{
	struct program_run run;
	struct router router = { .listener = NULL };
	struct gateway_options gateway = { .handler = handle,
		.arg = &router,
		.reload = reload,
		.refused = log_refused };
	struct conf *conf;
	unsigned mode;
	enum err err;

	/* first of all: a SIGHUP that comes early must not end it */
	gateway_hold_signals();
	program_start(&program, argc, argv, &run);
	gateway.threads = number_or_usage("threads", threads_text, 10, 1,
	    MAX_THREADS, DEFAULT_THREADS);
	mode = number_or_usage("mode", mode_text, 8, 0, 0777, DEFAULT_MODE);
	router.conf_file = run.conf_file;
	conf = program_conf(&run);
	check_starter(&run, conf);
	snapshots_init(&router.conf, conf);
	err = listener_open(listen_at, mode, &router.listener);
	if (err != ERR_OK)
		program_fail(err);
	gateway.listener = router.listener;
	start(&router);
	err = gateway_serve(&gateway);
	listener_close(router.listener);
	if (err == ERR_LIMIT)
		_exit(EX_OK);
	end(&router);
	if (err != ERR_OK)
		program_fail(err);
	return EX_OK;
}

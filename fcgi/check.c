/* check.c: the check verb: is all there, and may we use it? */
/* SPDX-License-Identifier: ISC */
#include "fcgi/check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conf/rules.h"
#include "fcgi/listener.h"
#include "sync/place.h"
#include "sync/wake.h"
#include "sync/wire.h"

void
check_say(struct report *report, enum level level, const char *subject,
    const char *fmt, ...)
{
	static const char *const words[] = { "ok", "warning", "error" };
	struct buf text = { 0 };
	char *body = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&body, fmt, ap) == -1)
		body = NULL;
	va_end(ap);
	buf_puts(&text, body != NULL ? body : "");
	free(body);
	report->errors += level == LEVEL_ERROR;
	if (report->wire == NULL) {
		printf("%-8s %s: %s\n", words[level], subject, text.data);
	} else {
		wire_begin_object(report->wire, NULL);
		wire_text(report->wire, "level", words[level]);
		wire_text(report->wire, "subject", subject);
		wire_text(report->wire, "text", text.data);
		wire_end(report->wire);
	}
	buf_free(&text);
}

static void
check_conf(struct report *report)
{
	const struct conf *conf = report->admin->conf;

	check_say(report, LEVEL_OK, "configuration",
	    "%s: %zu upstreams, %zu routes", conf->file, conf->n_upstreams,
	    conf->n_routes);
}

/* So long contrib/hooks rely upon a push's fence (their relied_s). */
#define RELIED_MS 60000

/* What can be seen from here; the hooks themselves are on the primary. */
static void
check_hooks(struct report *report)
{
	const struct conf *conf = report->admin->conf;

	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct route *route = &conf->routes[i];

		if (route->hooks != HOOKS_STRICT)
			continue;
		if (route->fence_ms < RELIED_MS)
			check_say(report, LEVEL_WARNING, route->name,
			    "hooks = \"strict\" does not hold with fence_s = "
			    "%lld: hooks rely upon a push's fence for %d "
			    "seconds; write that or more",
			    (long long)route->fence_ms / 1000,
			    RELIED_MS / 1000);
		if (route->proof == PROOF_COMMIT)
			check_say(report, LEVEL_WARNING, route->name,
			    "hooks = \"strict\" does not hold with proof = "
			    "\"commit\", which cannot see each change that "
			    "they report; write proof = \"refs\"");
	}
}

static void
check_jit(struct report *report)
{
	if (rules_jit())
		check_say(report, LEVEL_OK, "rules",
		    "patterns run as machine code");
	else
		check_say(report, LEVEL_WARNING, "rules",
		    "no JIT for patterns: they are slower, and work all the "
		    "same (is MemoryDenyWriteExecute set?)");
}

static void
check_socket(struct report *report, const char *name, int type,
    const char *whose)
{
	const char *run_dir = report->admin->conf->run_dir;
	char *path = mem_fmt("%s/%s", run_dir, name);
	int error = wake_try(run_dir, name, type);

	if (error == 0)
		check_say(report, LEVEL_OK, name, "%s listens", whose);
	else if (error == ENOENT || error == ECONNREFUSED)
		check_say(report, LEVEL_WARNING, name,
		    "%s: nobody listens; does %s run?", path, whose);
	else
		check_say(report, LEVEL_ERROR, name, "%s: %s", path,
		    strerror(error));
	free(path);
}

static bool
router_lives(const struct conf *conf)
{
	struct pulse *pulse = NULL;
	bool lives = pulse_open(conf->run_dir, false, &pulse) == ERR_OK &&
	    pulse_has_router(pulse);

	pulse_close(pulse);
	return lives;
}

static void
check_router(struct report *report)
{
	const struct conf *conf = report->admin->conf;
	bool lives = router_lives(conf);

	if (lives && wake_try(conf->run_dir, ROUTER_SOCKET, SOCK_STREAM) != 0)
		check_say(report, LEVEL_OK, ROUTER_SOCKET,
		    "nobody listens, but a router runs: started by the web "
		    "server, or on TCP");
	else
		check_socket(report, ROUTER_SOCKET, SOCK_STREAM, "the router");
	if (!lives)
		check_setgid(report, "reproute-fcgi", SBINDIR "/reproute-fcgi");
}

/* It is there only where the push endpoint is a service of its own. */
static void
check_push_socket(struct report *report)
{
	char *path = mem_fmt("%s/" PUSH_SOCKET, report->admin->conf->run_dir);

	if (access(path, F_OK) == 0)
		check_socket(report, PUSH_SOCKET, SOCK_STREAM,
		    "the push endpoint");
	free(path);
}

struct orphan {
	const struct conf *conf;
	char upstream[WORD_SIZE], name[NAME_SIZE];
};

static enum err
find_orphan(struct table_txn *txn, void *arg)
{
	struct orphan *orphan = arg;

	return place_orphan(txn, orphan->conf, orphan->upstream, orphan->name);
}

static void
check_table(struct report *report)
{
	const struct conf *conf = report->admin->conf;
	struct orphan orphan = { .conf = conf };
	struct table *table = NULL;
	struct table_size size;
	enum err err = admin_table(report->admin, false, &table);

	if (err == ERR_OK && table == NULL) {
		check_say(report, LEVEL_WARNING, "table",
		    "there is none yet; the daemon and the router make it when "
		    "they start");
		return;
	}
	if (err == ERR_OK)
		err = table_measure(table, &size);
	if (err == ERR_OK)
		check_say(report, LEVEL_OK, "table",
		    "format %d, %zu of %zu KiB, %u readers", TABLE_FORMAT,
		    size.used >> 10, size.map >> 10, size.readers);
	if (err == ERR_OK)
		err = table_read(table, find_orphan, &orphan);
	if (err == ERR_OK)
		check_say(report, LEVEL_ERROR, "placements",
		    "%s is placed on the upstream \"%s\", which the "
		    "configuration does not have: put it back",
		    orphan.name, orphan.upstream);
	else if (err == ERR_ABSENT)
		check_say(report, LEVEL_OK, "placements",
		    "the upstreams of all are there");
	else
		check_say(report, LEVEL_ERROR, "table", "%s", err_text());
	table_close(table);
}

static void
check_pulse(struct report *report)
{
	const struct conf *conf = report->admin->conf;
	struct pulse *pulse;
	int64_t age_ms;

	if (pulse_open(conf->run_dir, false, &pulse) != ERR_OK) {
		check_say(report, LEVEL_ERROR, "heartbeat", "%s", err_text());
		return;
	}
	age_ms = pulse_age_ms(pulse);
	if (age_ms < 0)
		check_say(report, LEVEL_ERROR, "heartbeat",
		    "none since boot: start reproute-syncd; until then all "
		    "reads go to the primary");
	else
		check_say(report,
		    age_ms > conf->sync.valid_ms ? LEVEL_ERROR : LEVEL_OK,
		    "heartbeat", "%jd s ago; good for %jd s",
		    (intmax_t)age_ms / 1000,
		    (intmax_t)conf->sync.valid_ms / 1000);
	for (size_t i = 0; i < conf->n_routes; i++)
		if (conf->routes[i].kind == ROUTE_GIT &&
		    pulse_doubt(pulse, &conf->routes[i]))
			check_say(report, LEVEL_ERROR, conf->routes[i].name,
			    "in doubt: a fence could not be written; see the "
			    "router's log");
	pulse_close(pulse);
}

enum err
admin_check(const struct admin *admin, int argc, char **argv, int *status)
{
	struct report report = { .admin = admin };
	const struct conf *conf = admin->conf;

	(void)argv;
	if (argc != 1)
		return err_set(ERR_USAGE, "check takes no operand");
	if (admin->json) {
		report.wire = wire_new();
		wire_begin_array(report.wire, "checks");
	}
	check_conf(&report);
	check_hooks(&report);
	if (!admin->test) {
		check_jit(&report);
		if (check_dir(&report, "state_dir", conf->state_dir, true))
			check_table(&report);
		if (check_dir(&report, "run_dir", conf->run_dir, false)) {
			check_pulse(&report);
			check_socket(&report, FEED_SOCKET, SOCK_DGRAM,
			    "the daemon");
			check_socket(&report, WAKE_SOCKET, SOCK_DGRAM,
			    "the daemon");
			check_router(&report);
			check_push_socket(&report);
		}
		check_files(&report);
	}
	if (report.wire != NULL) {
		wire_end(report.wire);
		wire_number(report.wire, "errors", report.errors);
		admin_print(report.wire);
	}
	*status = report.errors > 0;
	return ERR_OK;
}

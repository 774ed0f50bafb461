/* push_wait_test.c: what a query says that is waited for */
/* SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>

#include "fcgi/push_wait.h"
#include "sync/gate.h"
#include "tests/unit/tap.h"
#include "tests/unit/world.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static const struct {
	const char *query;
	enum push_phase phase;
	const char *route; /* of the report */
	enum err err;
	const char *says; /* "ROUTE REPLICAS MS", "-"; or of the error */
} rows[] = {
	{ "", PUSH_REPORT, "", ERR_OK, "-" },
	{ "project=p&repo=r", PUSH_BEGIN, "code", ERR_OK, "-" },
	{ "wait=2", PUSH_REPORT, "code", ERR_OK, "code 2 30000" },
	{ "wait=1&timeout=5", PUSH_END, "more", ERR_OK, "more 1 5000" },
	{ "project=p&timeout=0&wait=1&x", PUSH_REPORT, "code", ERR_OK,
	    "code 1 0" },
	{ "wait=2", PUSH_REPORT, "more", ERR_INPUT, "write 1 to 1" },
	{ "wait=0", PUSH_REPORT, "code", ERR_INPUT, "write 1 to 2" },
	{ "wait=", PUSH_REPORT, "code", ERR_INPUT, "write 1 to 2" },
	{ "wait", PUSH_REPORT, "code", ERR_INPUT, "write 1 to 2" },
	{ "wait=1&timeout=3601", PUSH_REPORT, "code", ERR_INPUT,
	    "write 0 to 3600" },
	{ "wait=1&wait=1", PUSH_REPORT, "code", ERR_INPUT, "there twice" },
	{ "timeout=1", PUSH_REPORT, "code", ERR_INPUT, "goes with \"wait\"" },
	{ "wait=1", PUSH_BEGIN, "code", ERR_INPUT, "goes with no \"begin\"" },
	{ "wait=1", PUSH_REPORT, "", ERR_INPUT, "\"route\" is missing" },
	{ "wait=1", PUSH_REPORT, "images", ERR_INPUT, "names no git route" },
};

static void
test_waits(const struct conf *conf)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct push_report report = { .phase = rows[i].phase };
		struct push_wait wait;
		char text[128] = "-";
		enum err err;

		strcpy(report.route, rows[i].route);
		err = push_wait_read(conf, rows[i].query, &report, &wait);
		tap_int(err, rows[i].err, "\"%s\": returns", rows[i].query);
		if (err == ERR_OK && wait.route != NULL)
			snprintf(text, sizeof(text), "%s %u %d",
			    wait.route->name, wait.replicas,
			    (int)wait.timeout_ms);
		if (err == ERR_OK)
			tap_str(text, rows[i].says, "\"%s\": says",
			    rows[i].query);
		else
			tap_ok(strstr(err_text(), rows[i].says) != NULL,
			    "\"%s\": %s", rows[i].query, err_text());
	}
}

static const struct {
	const char *query;
	enum err err;
	const char *says; /* "ROUTE NAME"; or of the error */
} reports[] = {
	{ "repository=p/r.git&route=code&wait=1", ERR_OK, "code p/r" },
	{ "route=more&repository=p%2Fr", ERR_OK, "more p/r" },
	{ "route=code", ERR_INPUT, "\"repository\" is missing" },
	{ "repository=p/r", ERR_INPUT, "\"route\" is missing" },
	{ "repository=../r&route=code", ERR_INPUT, "must name a repository" },
	{ "repository=p/r&route=none", ERR_INPUT, "names no git route" },
	{ "repository=%", ERR_INPUT, "\"%\"" },
};

static void
test_reports(struct conf *conf)
{
	struct push_report report;
	char text[NAME_SIZE * 2];

	for (size_t i = 0; i < COUNT(reports); i++) {
		enum err err = push_wait_report(conf, reports[i].query,
		    &report);

		tap_int(err, reports[i].err, "\"%s\": returns",
		    reports[i].query);
		snprintf(text, sizeof(text), "%s %s", report.route,
		    report.name);
		if (err == ERR_OK)
			tap_str(text, reports[i].says, "\"%s\": says",
			    reports[i].query);
		else
			tap_ok(strstr(err_text(), reports[i].says) != NULL,
			    "\"%s\": %s", reports[i].query, err_text());
	}
	conf->n_routes = 1;
	tap_int(push_wait_report(conf, "repository=p/r", &report), ERR_OK,
	    "one git route needs no name");
	tap_str(report.route, "code", "and is meant");
}

int
main(void)
{
	struct world world;

	world_open(&world, "waits");
	test_waits(&world.conf);
	test_reports(&world.conf);
	world_close(&world);
	return tap_done();
}

/* wait.c: the verb wait: until replicas have what was pushed */
/* SPDX-License-Identifier: ISC */
#include <stdio.h>

#include "conf/log.h"
#include "fcgi/admin.h"
#include "sync/gate.h"
#include "sync/wake.h"
#include "sync/wire.h"

/* Who does not say how many: then reads leave the primary alone. */
#define REPLICAS "1"

static enum err
read_question(const struct admin *admin, int argc, char **argv,
    struct gate_question *question, char name[NAME_SIZE], int64_t *timeout_ms)
{
	enum err err = admin_route(admin, argc, argv, 1, admin_is_git,
	    &question->route);

	if (err != ERR_OK)
		return err;
	question->name = name;
	err = admin_name(question->route, argv[argc - 1], name);
	if (err != ERR_OK)
		return err;
	err = gate_replicas(question->route,
	    admin->replicas != NULL ? admin->replicas : REPLICAS,
	    &question->replicas);
	if (err == ERR_OK)
		err = gate_timeout(admin->timeout, timeout_ms);
	return err == ERR_OK ? err : err_set(ERR_USAGE, "%s", err_text());
}

static void
say(const struct admin *admin, const struct gate_question *question,
    const struct gate_answer *answer)
{
	bool done = answer->have >= question->replicas;
	char name[NAME_SIZE * 4];
	struct wire *wire;

	if (!admin->json) {
		printf("%s: %s: generation %ju: %u of the %u replicas that "
		       "were waited for have it%s%s\n",
		    question->route->name,
		    log_escape(name, sizeof(name), question->name),
		    (uintmax_t)answer->generation, answer->have,
		    question->replicas, done ? "" : "; not in time",
		    !done && answer->fenced ? ": a fence is up" : "");
		return;
	}
	wire = wire_new();
	wire_text(wire, "route", question->route->name);
	wire_text(wire, "repository", question->name);
	wire_number(wire, "generation", (int64_t)answer->generation);
	wire_bool(wire, "fenced", answer->fenced);
	wire_number(wire, "wanted", question->replicas);
	wire_number(wire, "have", answer->have);
	admin_print(wire);
}

static enum err
wait_in(struct table *table, const struct admin *admin,
    const struct gate_question *question, int64_t timeout_ms, int *status)
{
	struct gate_answer answer;
	struct gate *gate = NULL;
	enum err err = gate_enter(admin->conf->state_dir, &gate);

	if (err != ERR_OK)
		return err;
	/* the daemon takes it first */
	wake_send(admin->conf->run_dir, question->route->name, question->name);
	err = gate_wait(table, question, timeout_ms, NULL, &answer);
	gate_leave(gate);
	if (err == ERR_ABSENT)
		return err_set(err,
		    "the repository has no row: read it once through the web "
		    "server, or report a push");
	if (err != ERR_OK)
		return err;
	say(admin, question, &answer);
	*status = answer.have < question->replicas;
	return ERR_OK;
}

enum err
admin_wait(const struct admin *admin, int argc, char **argv, int *status)
{
	struct gate_question question = { .generation = 0 };
	struct table *table = NULL;
	char name[NAME_SIZE];
	int64_t timeout_ms;
	enum err err = read_question(admin, argc, argv, &question, name,
	    &timeout_ms);

	if (err == ERR_OK)
		err = admin_known_table(admin, &table);
	if (err != ERR_OK)
		return err;
	err = wait_in(table, admin, &question, timeout_ms, status);
	table_close(table);
	return err;
}

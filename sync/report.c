/* report.c: a report of a push: which repository, which phase */
/* SPDX-License-Identifier: ISC */
#include "sync/report.h"

#include <stdlib.h>
#include <string.h>

#include "conf/mem.h"

static enum err
set_route(struct push_report *report, const char *route)
{
	if (route == NULL)
		return ERR_OK;
	if (!name_word(route))
		return err_set(ERR_INPUT,
		    "\"route\" must be the name of a "
		    "route in the configuration");
	strcpy(report->route, route);
	return ERR_OK;
}

static enum err
set_name(struct push_report *report, const char *name, const char *what)
{
	size_t len = strlen(name);
	char stem[NAME_SIZE];

	if (len > 4 && strcmp(name + len - 4, ".git") == 0)
		len -= 4;
	if (len <= MAX_NAME) {
		memcpy(stem, name, len);
		stem[len] = '\0';
	}
	if (len > MAX_NAME || !name_git(stem))
		return err_set(ERR_INPUT,
		    "%s must name a repository: 1 to "
		    "%d bytes of UTF-8, no slash at either end, no empty, "
		    "\".\" or \"..\" segment, no control byte",
		    what, MAX_NAME);
	strcpy(report->name, stem);
	return ERR_OK;
}

static enum err
set_phase(struct push_report *report, const char *phase)
{
	if (phase == NULL)
		report->phase = PUSH_REPORT;
	else if (strcmp(phase, "begin") == 0)
		report->phase = PUSH_BEGIN;
	else if (strcmp(phase, "end") == 0)
		report->phase = PUSH_END;
	else
		return err_set(ERR_INPUT,
		    "\"phase\" must be \"begin\" or \"end\"");
	return ERR_OK;
}

static enum err
set_token(struct push_report *report, const char *token)
{
	if (token == NULL)
		return ERR_OK;
	if (!token_legal(token))
		return err_set(ERR_INPUT,
		    "\"token\" must be 32 lower hex digits");
	strcpy(report->token, token);
	return ERR_OK;
}

static enum err
from_hook(const struct report_said *said, struct push_report *report)
{
	enum err err;

	if (said->project != NULL || said->repo != NULL || said->sha1 != NULL)
		return err_set(ERR_INPUT,
		    "\"repository\" and \"project\", "
		    "\"repo\", \"sha1\" are two forms; say one");
	if (said->route == NULL)
		return err_set(ERR_INPUT, "\"route\" is missing");
	err = set_name(report, said->repository, "\"repository\"");
	if (err == ERR_OK)
		err = set_phase(report, said->phase);
	if (err == ERR_OK)
		err = set_token(report, said->token);
	return err;
}

static enum err
from_seed(const struct report_said *said, struct push_report *report)
{
	char *name;
	enum err err;

	if (said->project == NULL || said->repo == NULL || said->sha1 == NULL)
		return err_set(ERR_INPUT, "\"%s\" is missing",
		    said->project == NULL    ? "project"
			: said->repo == NULL ? "repo"
					     : "sha1");
	if (said->phase != NULL || said->token != NULL)
		return err_set(ERR_INPUT,
		    "\"phase\" and \"token\" go with \"repository\"");
	if (!name_oid(said->sha1))
		return err_set(ERR_INPUT,
		    "\"sha1\" must be 40 or 64 lower hex digits");
	name = strcmp(said->project, "-") == 0
	    ? mem_dup(said->repo)
	    : mem_fmt("%s/%s", said->project, said->repo);
	err = set_name(report, name, "\"project\" and \"repo\"");
	free(name);
	if (err == ERR_OK)
		strcpy(report->sha, said->sha1);
	return err;
}

enum err
report_make(const struct report_said *said, struct push_report *out)
{
	struct push_report report = { 0 };
	enum err err = set_route(&report, said->route);

	if (err == ERR_OK)
		err = said->repository != NULL ? from_hook(said, &report)
					       : from_seed(said, &report);
	if (err == ERR_OK)
		*out = report;
	return err;
}

/* proof.c: proves that a replica has what the primary has, and marks it */
/* SPDX-License-Identifier: ISC */
#include "sync/proof.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sync/advert.h"
#include "sync/converge.h"
#include "sync/fence.h"
#include "sync/probe.h"
#include "sync/row.h"

/* Looks at a repository in which a ref is just being deleted. */
#define MAX_LOOKS 5
/* Between two looks, in milliseconds; a deletion takes fewer. */
#define LOOK_PAUSE_MS 50
/* Answers other than 200 after which they are believed. */
#define MAX_REFUSALS 2

/* One comparison: what it is about, and what was noted before it began. */
struct comparison {
	struct table *table;
	struct http *http;
	const struct conf *conf;
	const struct route *route;
	const struct upstream *replica;
	const char *name;

	bool fenced;
	bool marked; /* the replica's mark counts at present */
	uint64_t generation;
	struct epochs epochs;
	char sha[65];

	bool current; /* the mark made of it counts */
};

/* All of it from one snapshot. */
static enum err
note_before(struct table_txn *txn, void *arg)
{
	struct comparison *comparison = arg;
	struct fences fences;
	struct row row;
	enum err err;

	err = row_get(txn, comparison->route, comparison->name, &row);
	if (err == ERR_OK)
		err = fences_get(txn, comparison->route, comparison->name,
		    &fences);
	if (err == ERR_OK)
		err = epochs_get(txn, comparison->route, comparison->replica,
		    &comparison->epochs);
	if (err != ERR_OK)
		return err;
	comparison->fenced = fences.n_up > 0;
	comparison->marked = row_is_current(&row, comparison->replica,
	    &comparison->epochs);
	comparison->generation = row.generation;
	memcpy(comparison->sha, row.sha, sizeof(comparison->sha));
	return ERR_OK;
}

/* A fence that went up meanwhile has raised the generation. */
static enum err
mark(struct table_txn *txn, void *arg)
{
	struct comparison *comparison = arg;

	return row_mark(txn, comparison->route, comparison->name,
	    comparison->replica, comparison->generation, &comparison->epochs,
	    &comparison->current);
}

static enum err
void_one(struct table_txn *txn, void *arg)
{
	struct comparison *comparison = arg;

	return row_void(txn, comparison->route, comparison->name,
	    comparison->replica);
}

static enum err
void_all(struct table_txn *txn, void *arg)
{
	struct comparison *comparison = arg;
	struct row row;
	enum err err = row_get(txn, comparison->route, comparison->name, &row);

	/* to raise the generation at each refusal would cost a write a look */
	if (err != ERR_OK || row.n_marks == 0)
		return err;
	return row_void(txn, comparison->route, comparison->name, NULL);
}

static void
pause_between_looks(void)
{
	struct timespec pause = { .tv_nsec = LOOK_PAUSE_MS * 1000000L };

	nanosleep(&pause, NULL);
}

typedef enum err probe_function(struct http *, const struct conf *,
    const struct route *, const struct upstream *, const char *name,
    struct probe_refs *out);

/* Looks until no ref is being deleted. */
static enum err
look(const struct comparison *comparison, probe_function *probe,
    const struct upstream *upstream, struct probe_refs *out)
{
	enum err err;

	for (int looks = 1;; looks++) {
		memset(out, 0, sizeof(*out));
		err = probe(comparison->http, comparison->conf,
		    comparison->route, upstream, comparison->name, out);
		if (err != ERR_BUSY)
			return err;
		if (looks == MAX_LOOKS)
			return err_prefix(ERR_PEER, "looked %d times", looks);
		pause_between_looks();
	}
}

static bool
is_gone(unsigned status)
{
	return status == 404 || status == 410;
}

/*
 * The primary refused, twice: deleted, or made private; no replica may show
 * it.  Keeps the sentence of the probe.
 */
static enum err
believe_refusal(struct comparison *comparison, unsigned status,
    struct proof_result *result)
{
	char why[sizeof(result->note)];
	enum err err;

	snprintf(why, sizeof(why), "%s", err_text());
	result->primary_status = status;
	err = table_write(comparison->table, void_all, comparison);
	if (err != ERR_OK)
		return err;
	if (!is_gone(status))
		return err_set(ERR_PEER, "primary %s: %s",
		    comparison->route->primary->name, why);
	result->outcome = PROOF_GONE;
	snprintf(result->note, sizeof(result->note),
	    "the primary has no such "
	    "repository (status %u)",
	    status);
	return ERR_OK;
}

/*
 * Does that status say anything about the repository?  0 is no answer; 408,
 * 429 and 5xx speak of a server in trouble, whose replicas go on serving.
 */
static bool
is_refusal(unsigned status)
{
	return status != 0 && status != 200 && status != 408 && status != 429 &&
	    status < 500;
}

/* *refusal: the status other than 200 that the primary insists on, or 0. */
static enum err
look_at_primary(const struct comparison *comparison, struct probe_refs *out,
    unsigned *refusal)
{
	enum err err;

	*refusal = 0;
	for (int refusals = 0;; pause_between_looks()) {
		err = look(comparison, probe_advert, comparison->route->primary,
		    out);
		if (err == ERR_OK || !is_refusal(out->status))
			return err;
		if (++refusals == MAX_REFUSALS) {
			*refusal = out->status;
			return err;
		}
	}
}

/*
 * Does a failure with that status say that it cannot show this repository?  0
 * is no answer, 408, 429 and 502 to 504 speak of a server that is too busy:
 * to take its marks then would send a crowd to the primary.
 */
static bool
is_broken(unsigned status)
{
	return status == 200 || status == 500 || is_refusal(status);
}

/*
 * A mark counts for what can be seen.  One that a replica cannot be asked
 * about, twice, is void; keeps the sentence of the probe.
 */
static enum err
look_at_replica(struct comparison *comparison, struct probe_refs *out)
{
	probe_function *probe = comparison->route->converge == CONVERGE_ENDPOINT
	    ? probe_endpoint
	    : probe_advert;
	char why[256];
	enum err err;

	for (int failures = 0;; pause_between_looks()) {
		err = look(comparison, probe, comparison->replica, out);
		if (err != ERR_PEER || !comparison->marked ||
		    !is_broken(out->status))
			return err;
		if (++failures == MAX_REFUSALS)
			break;
	}
	snprintf(why, sizeof(why), "%s", err_text());
	err = table_write(comparison->table, void_one, comparison);
	return err == ERR_OK ? err_set(ERR_PEER, "%s", why) : err;
}

/* What upload-pack offers only when it is told to (git-config(1)). */
static const struct {
	const char *capability;
	const char *setting;
} settings[] = {
	{ "filter", "uploadpack.allowFilter=true" },
	{ "allow-tip-sha1-in-want", "uploadpack.allowTipSHA1InWant=true" },
	{ "allow-reachable-sha1-in-want",
	    "uploadpack.allowReachableSHA1InWant=true" },
	{ "ref-in-want", "uploadpack.allowRefInWant=true" },
	{ "sideband-all", "uploadpack.allowSidebandAll=true" },
	{ "packfile-uris", "uploadpack.blobPackfileUri, as at the primary" },
	{ "object-info", "transfer.advertiseObjectInfo=true" },
};

/* Names the first capability that the replica lacks. */
static void
say_what_to_set(unsigned missing, char *note, size_t size)
{
	const char *capability = NULL;

	for (unsigned i = 0; advert_cap_names[i] != NULL; i++) {
		if ((missing & 1U << i) != 0) {
			capability = advert_cap_names[i];
			break;
		}
	}
	if (capability == NULL)
		capability = "a capability";
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		if (strcmp(settings[i].capability, capability) != 0)
			continue;
		snprintf(note, size,
		    "its upload-pack lacks %s, which the "
		    "primary's offers: set there, by git config, %s",
		    capability, settings[i].setting);
		return;
	}
	snprintf(note, size,
	    "its upload-pack lacks %s, which the primary's "
	    "offers: a git as new as the primary's is needed there",
	    capability);
}

/* A digest of "" is equal to none: there is no repository. */
static bool
same_refs(const struct refs_digest *a, const struct refs_digest *b)
{
	return a->digest[0] != '\0' && strcmp(a->digest, b->digest) == 0 &&
	    strcmp(a->object_format, b->object_format) == 0;
}

/* PROOF_MARKED stands for "equal" until the mark is made. */
static enum proof_outcome
judge(const struct probe_refs *primary, const struct probe_refs *replica,
    char *note, size_t size)
{
	unsigned missing = 0;

	if (!same_refs(&primary->refs, &replica->refs)) {
		if (replica->refs.digest[0] == '\0')
			snprintf(note, size, "it has no such repository yet");
		return PROOF_DIFFERS;
	}
	if (primary->has_offers && replica->has_offers)
		missing = primary->offers & ~replica->offers;
	if (missing == 0)
		return PROOF_MARKED;
	say_what_to_set(missing, note, size);
	return PROOF_UNVERIFIED;
}

static enum err
compare_refs(struct comparison *comparison, struct proof_result *result)
{
	struct probe_refs primary, replica;
	unsigned refusal;
	enum err err;

	/* first: what ends before this, changes nothing behind it */
	err = converge_idle(comparison->route, comparison->replica,
	    comparison->name);
	if (err != ERR_OK)
		return err_prefix(ERR_PEER, "replica %s",
		    comparison->replica->name);
	err = look_at_primary(comparison, &primary, &refusal);
	if (refusal != 0)
		return believe_refusal(comparison, refusal, result);
	if (err != ERR_OK)
		return err_prefix(ERR_PEER, "primary %s",
		    comparison->route->primary->name);
	err = look_at_replica(comparison, &replica);
	if (err == ERR_ABSENT)
		memset(&replica, 0, sizeof(replica));
	else if (err != ERR_OK)
		return err_prefix(ERR_PEER, "replica %s",
		    comparison->replica->name);
	result->primary = primary.refs;
	result->replica = replica.refs;
	result->outcome = judge(&primary, &replica, result->note,
	    sizeof(result->note));
	return ERR_OK;
}

/* The seed's proof: the replica has the last commit that was reported. */
static enum err
compare_commit(struct comparison *comparison, struct proof_result *result)
{
	const struct upstream *primary = comparison->route->primary;
	const struct upstream *replica = comparison->replica;
	bool has = false;
	enum err err;

	if (comparison->sha[0] == '\0') {
		result->outcome = PROOF_UNREPORTED;
		snprintf(result->note, sizeof(result->note),
		    "no commit was "
		    "reported yet that it could be asked for");
		return ERR_OK;
	}
	result->outcome = PROOF_MARKED;
	err = probe_has_commit(comparison->http, comparison->conf, primary,
	    comparison->name, comparison->sha, &has);
	/* 404 may as well say that there is no such endpoint */
	if (err != ERR_OK)
		return err_prefix(ERR_PEER, "primary %s", primary->name);
	if (!has) {
		snprintf(result->note, sizeof(result->note),
		    "the primary has "
		    "no commit %s, so that it is not required",
		    comparison->sha);
		return ERR_OK;
	}
	err = probe_has_commit(comparison->http, comparison->conf, replica,
	    comparison->name, comparison->sha, &has);
	if (err == ERR_ABSENT)
		has = false;
	else if (err != ERR_OK)
		return err_prefix(ERR_PEER, "replica %s", replica->name);
	if (!has) {
		result->outcome = PROOF_DIFFERS;
		snprintf(result->note, sizeof(result->note),
		    "it has no commit %s yet", comparison->sha);
	}
	return ERR_OK;
}

/* Writes what the comparison found. */
static enum err
conclude(struct comparison *comparison, struct proof_result *result)
{
	enum err err;

	switch (result->outcome) {
	case PROOF_MARKED:
		err = table_write(comparison->table, mark, comparison);
		if (err == ERR_OK && !comparison->current)
			result->outcome = PROOF_SUPERSEDED;
		return err;
	case PROOF_UNVERIFIED:
		return comparison->marked
		    ? table_write(comparison->table, void_one, comparison)
		    : ERR_OK;
	default:
		return ERR_OK;
	}
}

enum err
proof_run(struct table *table, struct http *http, const struct conf *conf,
    const struct route *route, const struct upstream *replica, const char *name,
    struct proof_result *out)
{
	struct comparison comparison = { .table = table,
		.http = http,
		.conf = conf,
		.route = route,
		.replica = replica,
		.name = name };
	struct proof_result result = { .outcome = PROOF_FENCED };
	enum err err;

	/* before anything is asked: what is seen later is at least as new */
	err = table_read(table, note_before, &comparison);
	if (err != ERR_OK)
		return err;
	result.generation = comparison.generation;
	result.marked = comparison.marked;
	if (!comparison.fenced) {
		err = route->proof == PROOF_REFS
		    ? compare_refs(&comparison, &result)
		    : compare_commit(&comparison, &result);
		if (err == ERR_OK)
			err = conclude(&comparison, &result);
	}
	if (err == ERR_OK)
		*out = result;
	return err;
}

struct unreported {
	const struct route *route;
	const struct upstream *replica;
	const char *name;
	uint64_t generation; /* noted before the comparison */
	bool raised;
};

static enum err
raise_if_current(struct table_txn *txn, void *arg)
{
	struct unreported *unreported = arg;
	struct epochs epochs;
	struct row row;
	uint64_t generation;
	enum err err;

	unreported->raised = false;
	err = row_get(txn, unreported->route, unreported->name, &row);
	if (err == ERR_OK)
		err = epochs_get(txn, unreported->route, unreported->replica,
		    &epochs);
	/* what was reported meanwhile is known, and perhaps why they differed */
	if (err != ERR_OK || row.generation != unreported->generation ||
	    !row_is_current(&row, unreported->replica, &epochs))
		return err;
	err = row_raise(txn, unreported->route, unreported->name, NULL,
	    &generation);
	unreported->raised = err == ERR_OK;
	return err;
}

enum err
proof_unreported(struct table *table, const struct route *route,
    const struct upstream *replica, const char *name,
    const struct proof_result *result, bool *raised)
{
	struct unreported unreported = { route, replica, name,
		result->generation, false };
	enum err err = ERR_OK;

	if (result->marked && result->outcome == PROOF_DIFFERS)
		err = table_write(table, raise_if_current, &unreported);
	if (err == ERR_OK)
		*raised = unreported.raised;
	return err;
}

/* conf.h: what a program is told at start; the only user of libconfig */
/* SPDX-License-Identifier: ISC */
#ifndef CONF_CONF_H
#define CONF_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/err.h"
#include "conf/name.h"

/* Every list of the configuration is bounded. */
#define MAX_UPSTREAMS 256
#define MAX_ROUTES 64
/* Replicas of one route. */
#define MAX_REPLICAS 32
/* Words of a converge command. */
#define MAX_COMMAND 64

/* The router's answer where nobody may serve; no upstream has this name. */
#define UPSTREAM_HOLD "hold"
/* No upstream has this one either: kept for an answer of the router. */
#define UPSTREAM_CATALOGUE "catalogue"

/* An HTTP server that the web server may proxy to. */
struct upstream {
	char *name;
	char *url;	 /* http(s)://host[:port][/path], no / last */
	char *endpoint;	 /* of reproute-replica, no last slash */
	char *path;	 /* template with {name}, or NULL */
	char *auth_file; /* netrc(5) form, or NULL */
	char *ca_file;	 /* PEM, or NULL */
	unsigned weight; /* 0..1000; 0 is never chosen */
};

enum route_kind { ROUTE_GIT, ROUTE_REGISTRY };
enum proof { PROOF_REFS, PROOF_COMMIT };
enum hooks {
	HOOKS_NONE,   /* some pushes are reported by none */
	HOOKS_STRICT, /* whatever changes a ref reports it, before and after */
};
enum converge {
	CONVERGE_ENDPOINT, /* reproute-replica at the replica's endpoint */
	CONVERGE_LOCAL,	   /* git fetch into upstream.path on this host */
	CONVERGE_COMMAND,  /* an argument list */
	CONVERGE_NONE,	   /* somebody else's business: only compare */
};
enum scope { SCOPE_REPOSITORY, SCOPE_HOST };
/* What the web server does with a write while the router does not answer. */
enum undecided { UNDECIDED_REFUSE, UNDECIDED_PRIMARY };

/* A URL prefix with its kind, its primary, and where else it may go. */
struct route {
	char *name;
	enum route_kind kind;
	char *prefix; /* "/" at both ends; of a registry "/v2/" */
	const struct upstream *primary;

	/* git */
	const struct upstream *replicas[MAX_REPLICAS];
	size_t n_replicas;
	enum proof proof;
	enum converge converge;
	char **command; /* NULL-terminated, or NULL */
	enum scope scope;
	enum hooks hooks;
	enum undecided undecided_writes;
	bool fold_case;
	int64_t fence_ms, push_max_ms, watch_ms;

	/* registry; to is NULL where nothing migrates */
	const struct upstream *to;
	struct rules *rules; /* NULL where to is NULL */
	int64_t import_s, provisional_s;
};

struct conf {
	char *file; /* as given, for messages */
	char *state_dir, *run_dir;
	struct upstream *upstreams;
	size_t n_upstreams;
	struct route *routes;
	size_t n_routes;

	struct {
		char *token_file;
	} push; /* NULL: no push endpoint */
	struct {
		int64_t interval_ms, sweep_ms, stall_ms, valid_ms;
		unsigned fetches; /* at one replica at a time */
	} sync;
	/* on a replica's host; NULL where not set */
	struct {
		char *root, *origin, *auth_file, *token_file;
	} replica;
};

#define CONF_DEFAULT_FILE "/etc/reproute/reproute.conf"

/*
 * Reads file, then conf.d/ (files named *.conf) beside it in byte order of
 * their names; upstreams and routes of later files are added, other keys may
 * be set once in all.  ERR_CONF with "FILE:LINE: what; what to write
 * instead" for whatever is not exactly right.  *out is freed by
 * conf_free(), which takes NULL.
 */
MUST_USE enum err conf_read(const char *file, struct conf **out);
void conf_free(struct conf *);

/* Borrowed until conf_free(); NULL where there is none of that name. */
const struct upstream *conf_upstream(const struct conf *, const char *name);
const struct route *conf_route(const struct conf *, const char *name);

/* Has any route (git: replicas; registry: migrate) this upstream? */
bool conf_is_replica(const struct route *, const struct upstream *,
    size_t *index);
/* Of a route that migrates: 0: its primary; 1: what it migrates to. */
const struct upstream *conf_side(const struct route *, int side);

/*
 * What the marks of a route rest on (name, kind, prefix, primary's url,
 * proof, fold_case) and of one of its replicas (url, endpoint), as 64 bits:
 * when it changes, the epoch rises.
 */
uint64_t route_fingerprint(const struct route *);
uint64_t replica_fingerprint(const struct route *, const struct upstream *);

#endif

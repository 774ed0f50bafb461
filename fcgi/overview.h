/* overview.h: how all routes are, gathered from one snapshot of the table */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_OVERVIEW_H
#define FCGI_OVERVIEW_H

#include "conf/conf.h"
#include "conf/mem.h"
#include "fcgi/fresh.h"
#include "fcgi/tally.h"
#include "sync/peer.h"
#include "sync/place.h"
#include "sync/row.h"
#include "sync/table.h"

/* Fenced repositories that are shown by name; all are counted. */
#define MAX_SHOWN 20

struct replica_status {
	struct peer peer;
	uint64_t epoch;
	size_t lagging;
	struct lag failing; /* the first that lags for a reason, or "" */
};

struct fenced {
	char name[NAME_SIZE]; /* "": the route's common fence */
	unsigned n_up, n_broken, n_watched;
	int64_t begun_ms; /* of the oldest */
};

struct git_status {
	uint64_t epoch;
	int64_t off_since_s; /* real time; 0: it is on */
	size_t known, fenced;
	struct replica_status replicas[MAX_REPLICAS];
	struct fenced shown[MAX_SHOWN];
};

struct side_status {
	size_t placed[PLACE_FINAL + 1];
	struct import import;
};

struct registry_status {
	bool imported;
	struct side_status sides[2]; /* the route's primary, and its to */
};

/* What is gathered of one route, in one snapshot. */
struct route_status {
	const struct route *route;
	struct git_status git;
	struct registry_status registry;
	struct tally tally; /* of the routers' decisions since the boot */
};

struct overview {
	const struct conf *conf;
	struct fresh fresh[MAX_ROUTES]; /* zeros where it cannot be told */
	bool has_table;
	char *broken; /* why the table cannot be read; or NULL */
	struct table_size size;
	int64_t beat_ms; /* age of the heartbeat; -1: none */
	char *silent;	 /* why it cannot be read; or NULL */
	bool deserted;	 /* a daemon ran, and does no more */
	bool undecided;	 /* a router listened, and does no more */
	bool doubt[MAX_ROUTES];
	struct route_status *routes;
	bool red;    /* a person must act */
	bool yellow; /* one serves nothing, or fails at something */
};

/*
 * Reads table and heartbeat; what cannot be read is told in the overview.
 * table NULL: there is none yet, or broken says why it cannot be read, which
 * is NULL else.  Costs time, not memory, for each row and placement.
 */
void overview_gather(const struct conf *, struct table *, const char *broken,
    struct overview *out);
void overview_free(struct overview *);

/* For people, and as one object on one line; appended. */
void overview_text(const struct overview *, struct buf *out);
void overview_json(const struct overview *, struct buf *out);

#endif

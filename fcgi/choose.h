/* choose.h: which upstream: both decision tables, over values */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_CHOOSE_H
#define FCGI_CHOOSE_H

#include <stdbool.h>

#include "conf/conf.h"
#include "conf/rules.h"
#include "fcgi/request.h"
#include "sync/view.h"

/* The closed list of reasons; reason_word() is its printed form. */
enum reason {
	REASON_NO_ROUTE,
	REASON_OTHER,
	REASON_WRITE,
	REASON_DOUBT,
	REASON_UNKNOWN,
	REASON_FENCED,
	REASON_LAGGING,
	REASON_DOWN,
	REASON_SHARE,
	REASON_REPLICA,
	REASON_PLACED,
	REASON_NOT_IMPORTED,
	REASON_EXCLUDED,
	REASON_NOT_INCLUDED,
	REASON_RULE_ERROR,
	REASON_PERCENT,
	REASON_INCLUDED,
	REASON_HELD,
	REASONS /* how many there are */
};
const char *reason_word(enum reason);

/* What makes a git client's session: it keeps its connection. */
struct client {
	const char *addr; /* REMOTE_ADDR, or "" */
	const char *port; /* REMOTE_PORT, or "" */
};

struct decision {
	/*
	 * An upstream's name, "hold"; NULL: REASON_NO_ROUTE.
	 * Borrowed of the configuration, or (REASON_PLACED) of the view.
	 */
	const char *upstream;
	enum reason reason;
	/*
	 * Where a route is observed: who would have been answered, while
	 * upstream is the primary; else NULL.
	 */
	const char *observed;
	const char *rule; /* deciding rule's name, borrowed, or NULL */
	/*
	 * Replicas that may serve, in order of preference, then the primary;
	 * elsewhere the upstream itself, or none for one without a URL.
	 */
	const struct upstream *candidates[MAX_REPLICAS + 1];
	unsigned n_candidates;
	/* what has to be committed before this is answered */
	bool raises_fence;
	bool places;
	bool wants_look; /* the daemon should look: unknown or lagging */
	/*
	 * Lagging, and worth another decision when there are news of a mark,
	 * within the route's wait_ms.
	 */
	bool may_wait;
};

/*
 * The git table.  view NULL: the table cannot be read, and reads are in
 * doubt; writes go as ever.  On a route without replicas none has a mark, so
 * its known repositories are "lagging", but nobody need look.
 */
void choose_git(const struct request *, const struct client *,
    const struct git_view *view, struct decision *out);

/*
 * The registry table.  view NULL: the table cannot be read, and what names a
 * repository is held.  A route that does not migrate is all "other".
 */
void choose_registry(const struct request *, const struct registry_view *view,
    struct decision *out);

/*
 * Does the decision rest on the table?  false: both functions above decide
 * the same with view NULL (outside every route, either may be asked).
 */
bool choose_needs_view(const struct request *);

#endif

/* fresh.c: how soon reads of a git route see what was changed, and why */
/* SPDX-License-Identifier: ISC */
#include "fcgi/fresh.h"

#include "conf/clock.h"

static enum fresh_why
why_of(const struct conf *conf, const struct route *route,
    const struct pace *pace, int64_t now_ms)
{
	if (route->n_replicas == 0)
		return FRESH_ALWAYS;
	if (pace == NULL || now_ms - pace->told_ms > conf->sync.valid_ms)
		return FRESH_UNSEEN;
	if (route->proof == PROOF_COMMIT)
		return FRESH_REPORTED;
	if (pace->bound_ms <= route->poll_ms)
		return FRESH_POLL;
	/* each asks the primary once for each replica */
	return pace->polled * (int64_t)route->n_replicas * 1000 >
		route->poll_ms * (int64_t)route->poll_rate
	    ? FRESH_RATE
	    : FRESH_LATE;
}

struct fresh
fresh_of(const struct conf *conf, const struct route *route,
    const struct pace *pace, int64_t now_ms)
{
	struct fresh fresh = { .why = why_of(conf, route, pace, now_ms) };

	if (fresh.why == FRESH_POLL)
		fresh.within_s = route->poll_ms / 1000;
	else if (fresh.why == FRESH_RATE || fresh.why == FRESH_LATE)
		fresh.within_s = (pace->bound_ms + 999) / 1000;
	if (fresh.within_s > 0)
		fresh.read = pace->polled;
	return fresh;
}

static void
put_poll(const struct conf *conf, const struct route *route,
    const struct fresh *fresh, struct buf *out)
{
	long long poll_s = route->poll_ms / 1000;
	char span[32];

	buf_fmt(out, "others within %lld s of a read (",
	    (long long)fresh->within_s);
	if (fresh->why == FRESH_RATE)
		buf_fmt(out, "%lld are read, at poll_rate %u; ",
		    (long long)fresh->read, route->poll_rate);
	if (fresh->why == FRESH_POLL)
		buf_puts(out, "poll_s");
	else
		buf_fmt(out, "poll_s is %lld", poll_s);
	buf_fmt(out, "), else %s (sweep_s)\n",
	    clock_span(conf->sync.sweep_ms / 1000, span));
}

void
fresh_text(const struct conf *conf, const struct route *route,
    const struct fresh *fresh, struct buf *out)
{
	if (fresh->why == FRESH_ALWAYS)
		return;
	buf_fmt(out, "  %-14s %s are seen at once, ", "freshness",
	    route->hooks == HOOKS_STRICT ? "strict: changes by git"
					 : "reported changes");
	if (fresh->why == FRESH_UNSEEN)
		buf_puts(out,
		    "others are not: reproute-syncd does not run, or only "
		    "with --once\n");
	else if (fresh->why == FRESH_REPORTED)
		buf_puts(out, "others are not (proof = \"commit\")\n");
	else
		put_poll(conf, route, fresh, out);
}

void
fresh_json(const struct conf *conf, const struct route *route,
    const struct fresh *fresh, struct wire *wire)
{
	static const char *const words[] = {
		[FRESH_UNSEEN] = "unseen",
		[FRESH_REPORTED] = "proof",
		[FRESH_POLL] = "poll_s",
		[FRESH_RATE] = "poll_rate",
		[FRESH_LATE] = "late",
	};

	if (fresh->why == FRESH_ALWAYS)
		return;
	wire_begin_object(wire, "freshness");
	wire_bool(wire, "strict", route->hooks == HOOKS_STRICT);
	wire_text(wire, "why", words[fresh->why]);
	if (fresh->within_s > 0) {
		wire_number(wire, "unreported_s", fresh->within_s);
		wire_number(wire, "unread_s", conf->sync.sweep_ms / 1000);
		wire_number(wire, "read", fresh->read);
	} else {
		wire_text(wire, "unreported_s", NULL);
	}
	wire_end(wire);
}

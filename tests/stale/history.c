/* history.c: what each ref of a repository was, state by state, since when */
/* SPDX-License-Identifier: ISC */
#include "tests/stale/history.h"

#include <stdlib.h>

#include "conf/mem.h"

struct history *
history_new(unsigned n_refs, const int *initial)
{
	struct history *history = mem_zalloc(sizeof(*history));

	history->n_refs = n_refs;
	history->refs = mem_array(n_refs, sizeof(*history->refs));
	for (unsigned i = 0; i < n_refs; i++) {
		struct ref_history *ref = &history->refs[i];

		ref->states = mem_more(NULL, 0, sizeof(*ref->states));
		ref->states[0] = (struct state){ .value = initial[i],
			.from_ns = INT64_MIN,
			.seen_ns = INT64_MIN,
			.told_ns = INT64_MIN };
		ref->n = 1;
	}
	return history;
}

void
history_free(struct history *history)
{
	if (history == NULL)
		return;
	for (unsigned i = 0; i < history->n_refs; i++)
		free(history->refs[i].states);
	free(history->refs);
	free(history);
}

static struct state *
last(const struct ref_history *ref)
{
	return &ref->states[ref->n - 1];
}

/* What became of a last state whose git was killed; old is what followed. */
static void
settle(struct ref_history *ref, int old, int64_t ns)
{
	if (last(ref)->seen_ns != NEVER_NS)
		return;
	if (last(ref)->value == old)
		last(ref)->seen_ns = ns;
	else
		ref->n--;
}

void
history_prepared(struct history *history, unsigned ref_no, pid_t by, int old,
    int value, int64_t ns)
{
	struct ref_history *ref = &history->refs[ref_no];

	settle(ref, old, ns);
	history->gaps += last(ref)->value != old;
	ref->states = mem_more(ref->states, ref->n, sizeof(*ref->states));
	ref->states[ref->n++] = (struct state){ .value = value,
		.from_ns = ns,
		.seen_ns = NEVER_NS,
		.told_ns = NEVER_NS,
		.by = by };
}

/* The newest state that git made; NULL: none. */
static struct state *
made_by(const struct ref_history *ref, pid_t by, int value)
{
	for (size_t i = ref->n; i-- > 1;)
		if (ref->states[i].by == by && ref->states[i].value == value)
			return &ref->states[i];
	return NULL;
}

void
history_committed(struct history *history, unsigned ref_no, pid_t by, int value,
    int64_t ns)
{
	struct state *state = made_by(&history->refs[ref_no], by, value);

	/* the last of several stamps: not before then */
	if (state != NULL)
		state->seen_ns = ns;
	else
		history->gaps++;
}

void
history_aborted(struct history *history, unsigned ref_no, pid_t by, int value)
{
	struct ref_history *ref = &history->refs[ref_no];

	if (last(ref)->by == by && last(ref)->value == value &&
	    last(ref)->seen_ns == NEVER_NS && ref->n > 1)
		ref->n--;
}

void
history_told(struct history *history, unsigned ref_no, int value,
    int64_t start_ns, int64_t end_ns)
{
	const struct ref_history *ref = &history->refs[ref_no];
	ptrdiff_t place = history_newest(ref, value, end_ns);

	if (place < 0 || history_seen_by(ref, start_ns) > place) {
		history->gaps++;
		return;
	}
	if (end_ns < ref->states[place].told_ns)
		ref->states[place].told_ns = end_ns;
	/* it was there when its push returned, whoever was killed behind it */
	if (end_ns < ref->states[place].seen_ns)
		ref->states[place].seen_ns = end_ns;
}

ptrdiff_t
history_newest(const struct ref_history *ref, int value, int64_t end_ns)
{
	for (size_t i = ref->n; i-- > 0;)
		if (ref->states[i].value == value &&
		    ref->states[i].from_ns <= end_ns)
			return (ptrdiff_t)i;
	return -1;
}

ptrdiff_t
history_oldest(const struct ref_history *ref, int value)
{
	for (size_t i = 0; i < ref->n; i++)
		if (ref->states[i].value == value)
			return (ptrdiff_t)i;
	return -1;
}

ptrdiff_t
history_oldest_between(const struct ref_history *ref, int value,
    int64_t start_ns, int64_t end_ns)
{
	for (size_t i = 0; i < ref->n; i++) {
		bool gone = i + 1 < ref->n &&
		    ref->states[i + 1].seen_ns <= start_ns;

		if (!gone && ref->states[i].value == value &&
		    ref->states[i].from_ns <= end_ns)
			return (ptrdiff_t)i;
	}
	return -1;
}

ptrdiff_t
history_seen_by(const struct ref_history *ref, int64_t ns)
{
	size_t i = ref->n - 1;

	while (ref->states[i].seen_ns > ns)
		i--;
	return (ptrdiff_t)i;
}

ptrdiff_t
history_told_by(const struct ref_history *ref, int64_t ns)
{
	size_t i = ref->n - 1;

	while (ref->states[i].told_ns > ns)
		i--;
	return (ptrdiff_t)i;
}

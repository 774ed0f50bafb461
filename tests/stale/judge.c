/* judge.c: which reads were older than they might be */
/* SPDX-License-Identifier: ISC */
#include "tests/stale/judge.h"

#include <stdlib.h>

#include "conf/mem.h"

static int
by_start(const void *a, const void *b)
{
	const struct read *one = a, *other = b;

	return (one->start_ns > other->start_ns) -
	    (one->start_ns < other->start_ns);
}

static int
by_end(const void *a, const void *b)
{
	const struct read *const *one = a, *const *other = b;

	return ((*one)->end_ns > (*other)->end_ns) -
	    ((*one)->end_ns < (*other)->end_ns);
}

/*
 * What a read proves for those after it: the oldest place at which it can
 * have seen what it saw.
 */
static void
learn(const struct history *history, const struct read *read, ptrdiff_t *known)
{
	for (unsigned i = 0; i < history->n_refs; i++) {
		const struct ref_history *ref = &history->refs[i];
		ptrdiff_t place;

		if (read->values[i] == UNSEEN)
			continue;
		place = read->of_primary
		    ? history_oldest_between(ref, read->values[i],
			  read->start_ns, read->end_ns)
		    : history_oldest(ref, read->values[i]);
		if (place > known[i])
			known[i] = place;
	}
}

static unsigned
look_at(const struct ref_history *ref, const struct read *read, int value,
    ptrdiff_t known)
{
	ptrdiff_t place = history_newest(ref, value, read->end_ns);
	unsigned faults = 0;

	if (place < 0)
		return WRONG;
	if (place < history_told_by(ref, read->start_ns))
		faults |= STALE_TOLD;
	if (place < history_seen_by(ref, read->start_ns))
		faults |= STALE_DISK;
	if (place < known)
		faults |= STALE_READ;
	return faults;
}

void
judge(const struct history *history, struct read *reads, size_t n)
{
	ptrdiff_t *known = mem_array(history->n_refs, sizeof(*known));
	const struct read **ended = mem_array(n + 1, sizeof(*ended));
	size_t n_ended = 0;

	if (n > 0)
		qsort(reads, n, sizeof(*reads), by_start);
	for (size_t i = 0; i < n; i++)
		ended[i] = &reads[i];
	qsort(ended, n, sizeof(*ended), by_end);
	for (size_t i = 0; i < n; i++) {
		struct read *read = &reads[i];

		while (ended[n_ended]->end_ns < read->start_ns)
			learn(history, ended[n_ended++], known);
		for (unsigned j = 0; j < history->n_refs; j++)
			if (read->values[j] != UNSEEN)
				read->faults |= look_at(&history->refs[j], read,
				    read->values[j], known[j]);
	}
	free(ended);
	free(known);
}

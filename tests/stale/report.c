/* report.c: what came of it, for people, and in one line for scripts */
/* SPDX-License-Identifier: ISC */
#include "tests/stale/report.h"

#include <stdio.h>
#include <string.h>

static void
count_reads(const struct scene *scene, const struct readings *readings,
    struct tally *tallies)
{
	for (long repo = 0; repo < scene->repos; repo++) {
		const struct reads *reads = &readings->reads[repo];

		for (size_t i = 0; i < reads->n; i++) {
			const struct read *read = &reads->read[i];
			struct tally *tally = &tallies[read->class];

			tally->reads++;
			tally->told += (read->faults & STALE_TOLD) != 0;
			tally->older += (read->faults & STALE_READ) != 0;
			tally->disk += (read->faults & STALE_DISK) != 0;
			tally->wrong += (read->faults & WRONG) != 0;
		}
	}
}

static void
count_failures(const struct readings *readings, const struct windows *faults,
    struct tally *tallies)
{
	for (size_t i = 0; i < readings->n_failures; i++) {
		const struct failure *failure = &readings->failure[i];
		struct tally *tally = &tallies[failure->class];
		bool fault = notes_meet(faults, failure->start_ns,
		    failure->end_ns);

		tally->errors += !fault;
		tally->fault_errors += fault;
		tally->not_our_ref += failure->not_our_ref && !fault;
		tally->fault_not_our_ref += failure->not_our_ref && fault;
	}
}

static void
add(struct tally *sum, const struct tally *tally)
{
	sum->reads += tally->reads;
	sum->told += tally->told;
	sum->older += tally->older;
	sum->disk += tally->disk;
	sum->wrong += tally->wrong;
	sum->errors += tally->errors;
	sum->not_our_ref += tally->not_our_ref;
	sum->fault_errors += tally->fault_errors;
	sum->fault_not_our_ref += tally->fault_not_our_ref;
}

static void
print_tally(const char *name, const struct tally *tally)
{
	printf("%-14s %7zu %8zu %8zu %8zu %6zu  %6zu %8zu  %6zu %8zu\n", name,
	    tally->reads, tally->told, tally->older, tally->disk, tally->wrong,
	    tally->errors, tally->not_our_ref, tally->fault_errors,
	    tally->fault_not_our_ref);
}

static void
print_faults(const struct windows *faults)
{
	for (size_t i = 0; i < faults->n; i++) {
		const char *name = faults->window[i].name;
		size_t times = 0, before = 0;

		for (size_t j = 0; j < faults->n; j++) {
			bool same = strcmp(faults->window[j].name, name) == 0;

			before += same && j < i;
			times += same;
		}
		if (before == 0)
			printf("fault: %s, %zu times\n", name, times);
	}
}

/* Returned and failed ones, and the latter while there was no fault. */
static void
print_pushes(const struct pushes *pushes, const struct windows *faults)
{
	size_t table[WAYS][CHANGES] = { 0 }, returned = 0, failed = 0, bad = 0;

	for (size_t i = 0; i < pushes->n; i++) {
		const struct push *push = &pushes->push[i];

		if (push->returned) {
			table[push->way][push->change]++;
			returned++;
		} else {
			failed++;
			bad += !notes_meet(faults, push->start_ns,
			    push->end_ns);
		}
	}
	for (unsigned way = 0; way < WAYS; way++) {
		printf("pushes %s:", way_names[way]);
		for (unsigned i = 0; i < CHANGES; i++)
			printf("%s %zu %s", i > 0 ? "," : "", table[way][i],
			    change_names[i]);
		putchar('\n');
	}
	printf("pushes: %zu returned, %zu failed, %zu of these without a "
	       "fault\n",
	    returned, failed, bad);
	printf("total pushes=%zu failed_pushes=%zu", returned, bad);
}

void
report(const struct scene *scene, const struct readings *readings,
    const struct pushes *pushes, const struct windows *faults, unsigned gaps)
{
	struct tally tallies[READ_CLASSES] = { 0 }, front = { 0 };

	count_reads(scene, readings, tallies);
	count_failures(readings, faults, tallies);
	puts("                         stale by                        "
	     "without fault   during faults\n"
	     "reader           reads push,I1  read,I2     disk  wrong  "
	     "errors  not-our  errors  not-our");
	for (unsigned i = 0; i < READ_CLASSES; i++) {
		print_tally(reader_names[i], &tallies[i]);
		if (i != READ_PRIMARY)
			add(&front, &tallies[i]);
	}
	print_faults(faults);
	print_pushes(pushes, faults);
	printf(" reads=%zu i1=%zu i2=%zu disk=%zu wrong=%zu errors=%zu"
	       " not_our_ref=%zu checker=%zu\n",
	    front.reads, front.told, front.older, front.disk, front.wrong,
	    front.errors, front.not_our_ref,
	    /* the primary is never stale: or the checker is wrong */
	    gaps + tallies[READ_PRIMARY].told + tallies[READ_PRIMARY].older +
		tallies[READ_PRIMARY].disk + tallies[READ_PRIMARY].wrong);
}

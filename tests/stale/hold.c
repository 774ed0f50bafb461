/* hold.c: holds the table's lock, as a slow or a stopped writer does */
/* SPDX-License-Identifier: ISC */

/*
 * hold STATE_DIR HOLD_MS PAUSE_MS TIMES: opens the table and is inside a
 * write transaction for HOLD_MS, so many times.  Prints "held" each time
 * that it has the lock; changes nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sync/table.h"

static void
pause_ms(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

static enum err
inside(struct table_txn *txn, void *arg)
{
	(void)txn;
	puts("held");
	fflush(stdout);
	pause_ms(*(const long *)arg);
	return ERR_OK;
}

int
main(int argc, char **argv)
{
	struct table *table;
	long hold_ms, times;
	enum err err;

	if (argc != 5) {
		fputs("usage: hold STATE_DIR HOLD_MS PAUSE_MS TIMES\n", stderr);
		return 64;
	}
	hold_ms = atol(argv[2]);
	times = atol(argv[4]);
	err = table_open(argv[1], false, &table);
	for (long i = 0; i < times && err == ERR_OK; i++) {
		err = table_write(table, inside, &hold_ms);
		pause_ms(atol(argv[3]));
	}
	if (err != ERR_OK)
		fprintf(stderr, "hold: %s\n", err_text());
	else
		table_close(table);
	return err_exit(err);
}

/* form_test.c: pairs of a query, decoded once */
/* SPDX-License-Identifier: ISC */
#include "sync/form.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/tap.h"

static const char *const keys[] = { "last", "n" };

static const struct {
	const char *text;
	enum err err;
	const char *last, *n; /* NULL: its key is not there */
} rows[] = {
	{ "", ERR_OK, NULL, NULL },
	{ "last=a&n=1", ERR_OK, "a", "1" },
	{ "n=1&last=a%2Fb", ERR_OK, "a/b", "1" },
	{ "last=a%2fb+c", ERR_OK, "a/b c", NULL },
	{ "last=%2525", ERR_OK, "%25", NULL },
	{ "l%61st=x", ERR_OK, "x", NULL },
	{ "last=a=b", ERR_OK, "a=b", NULL },
	{ "last", ERR_OK, "", NULL },
	{ "last=&n=", ERR_OK, "", "" },
	{ "&&=x&LAST=y&lastly=z&", ERR_OK, NULL, NULL },
	{ "last=a&last=a", ERR_INPUT, NULL, NULL },
	{ "last=a&l%61st", ERR_INPUT, NULL, NULL },
	{ "last=%", ERR_INPUT, NULL, NULL },
	{ "last=%a", ERR_INPUT, NULL, NULL },
	{ "last=%a&n=1", ERR_INPUT, NULL, NULL },
	{ "last=%0g", ERR_INPUT, NULL, NULL },
	{ "other=%zz", ERR_INPUT, NULL, NULL },
	{ "last=a%00b", ERR_INPUT, NULL, NULL },
};

int
main(void)
{
	char *values[2];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum err err = form_get(rows[i].text, strlen(rows[i].text),
		    keys, 2, values);

		tap_int(err, rows[i].err, "\"%s\"", rows[i].text);
		if (err != ERR_OK)
			continue;
		tap_str(values[0], rows[i].last, "last");
		tap_str(values[1], rows[i].n, "n");
		free(values[0]);
		free(values[1]);
	}
	tap_int(form_get("n=1\0&last=2", 11, keys, 2, values), ERR_INPUT,
	    "a NUL as it is");
	tap_int(form_get("n=1&last=2", 5, keys, 2, values), ERR_OK,
	    "no byte beyond the length");
	tap_str(values[0], NULL, "last");
	free(values[1]);
	return tap_done();
}

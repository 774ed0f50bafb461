/* wire_fuzz.c: any bytes as any body; the first one says which */
/* SPDX-License-Identifier: ISC */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conf/name.h"
#include "sync/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool claim)
{
	if (!claim)
		abort();
}

/* Whatever is taken is legal. */
static void
check_report(const struct push_report *report)
{
	must(name_git(report->name));
	must(report->route[0] == '\0' || name_word(report->route));
	must(report->sha[0] == '\0' || name_oid(report->sha));
	must(report->token[0] == '\0' || token_legal(report->token));
	must(report->phase <= PUSH_END);
}

static enum err
take(void *arg, const char *name)
{
	size_t *names = arg;

	must(strlen(name) <= MAX_CATALOGUE_BODY);
	(*names)++;
	return ERR_OK;
}

/* What was read is written and read again as the same. */
static void
refs(const char *body, size_t len)
{
	struct refs_digest one = { 0 }, other = { 0 };
	struct buf out = { 0 };

	if (wire_get_refs(body, len, &one) != ERR_OK)
		return;
	wire_put_refs(&one, &out);
	must(wire_get_refs(out.data, out.len, &other) == ERR_OK);
	must(memcmp(&one, &other, sizeof(one)) == 0);
	buf_free(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *body = (const char *)data + 1;
	struct push_report report = { 0 };
	struct fetch_order order = { 0 };
	size_t names = 0, count = 0;

	if (size == 0)
		return 0;
	switch (data[0]) {
	case 'j':
		if (wire_get_push(body, size - 1, &report) == ERR_OK)
			check_report(&report);
		break;
	case 'f':
		if (wire_get_push_form(body, size - 1, &report) == ERR_OK)
			check_report(&report);
		break;
	case 'r':
		refs(body, size - 1);
		break;
	case 'o':
		if (wire_get_fetch(body, size - 1, &order) == ERR_OK)
			must(order.head[0] == '\0' || refs_legal(order.head));
		break;
	case 'c':
		if (wire_get_catalogue(body, size - 1, take, &names, &count) ==
		    ERR_OK)
			must(names == count);
		break;
	}
	return 0;
}

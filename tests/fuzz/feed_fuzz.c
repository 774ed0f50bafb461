/* feed_fuzz.c: any datagram at the feed's socket is a line, or is none */
/* SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conf/mem.h"
#include "sync/feed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed_line line;
	char *text;

	if (size > MAX_FEED_LINE)
		return 0;
	text = mem_dup_n(size > 0 ? (const char *)data : "", size);
	if (feed_parse(text, &line) == ERR_OK) {
		assert(line.token[0] == '\0' || token_legal(line.token));
		assert(line.served[0] == '\0' || name_word(line.served));
		/* a write tells nothing of a replica */
		assert(line.unfenced[0] == '\0' || name_word(line.unfenced));
		if (feed_is_write(&line))
			assert(feed_tells(&line) == FEED_WELL);
		assert(line.status <= 999);
		assert(line.upstream[0] == '\0' || name_word(line.upstream));
		/* a mark that is empty, or broken off, never settles */
		if (line.done[0] == '\0' || line.done[0] == 'X')
			assert(feed_judge(&line) == FEED_UNSETTLED);
	}
	free(text);
	return 0;
}

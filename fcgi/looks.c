/* looks.c: how often the daemon may be asked to look at a repository */
/* SPDX-License-Identifier: ISC */
#include "fcgi/looks.h"

#include <stdio.h>
#include <string.h>

#include "conf/crypto.h"
#include "conf/name.h"

void
looks_init(struct looks *looks)
{
	memset(looks, 0, sizeof(*looks));
	pthread_mutex_init(&looks->lock, NULL);
}

/* Under the lock. */
static bool
take(struct looks *looks, uint64_t hash, int64_t now_ms)
{
	size_t slot = hash % LOOK_SLOTS;

	if (now_ms >= looks->window_ms) {
		looks->window_ms = now_ms + LOOK_MS;
		looks->in_window = 0;
	}
	if (looks->in_window >= MAX_LOOKS ||
	    (looks->slots[slot].hash == hash &&
		now_ms < looks->slots[slot].until_ms))
		return false;
	looks->in_window++;
	looks->slots[slot].hash = hash;
	looks->slots[slot].until_ms = now_ms + LOOK_MS;
	return true;
}

bool
looks_take(struct looks *looks, const char *route, const char *name,
    int64_t now_ms)
{
	char key[WORD_SIZE + NAME_SIZE];
	uint64_t hash;
	bool may;
	int len;

	/* no name holds a newline */
	len = snprintf(key, sizeof(key), "%s\n%s", route, name);
	hash = digest_64(key, (size_t)len);
	pthread_mutex_lock(&looks->lock);
	may = take(looks, hash, now_ms);
	pthread_mutex_unlock(&looks->lock);
	return may;
}

/* setting.c: one setting of the configuration as it was written, and where */
/* SPDX-License-Identifier: ISC */
#include "conf/setting.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/mem.h"

const struct setting *
setting_child(const struct setting *group, const char *key)
{
	if (group == NULL || group->type != SETTING_GROUP)
		return NULL;
	for (size_t i = 0; i < group->n_items; i++)
		if (strcmp(group->items[i].key, key) == 0)
			return &group->items[i];
	return NULL;
}

void
setting_append(struct setting *to, struct setting *item)
{
	to->items = mem_more(to->items, to->n_items, sizeof(*to->items));
	to->items[to->n_items++] = *item;
	*item = (struct setting){ 0 };
}

enum err
setting_error(const struct setting *setting, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	return err_set(ERR_CONF, "%s:%u: %s", setting->file, setting->line,
	    line);
}

void
setting_free(struct setting *setting)
{
	for (size_t i = 0; i < setting->n_items; i++)
		setting_free(&setting->items[i]);
	free(setting->items);
	free(setting->key);
	free(setting->text);
	*setting = (struct setting){ 0 };
}

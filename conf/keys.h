/* keys.h: the configuration's keys: one table for each group */
/* SPDX-License-Identifier: ISC */
#ifndef CONF_KEYS_H
#define CONF_KEYS_H

#include "conf/conf.h"
#include "conf/setting.h"

/*
 * Fills conf, empty but for its file, from the root group.  ERR_CONF with
 * the place and the cure; what was filled until then is conf_free()'s.
 */
MUST_USE enum err keys_fill(struct conf *, const struct setting *root);

#endif

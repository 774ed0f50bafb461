/* whole.h: what the configuration's keys must be to each other */
/* SPDX-License-Identifier: ISC */
#ifndef CONF_WHOLE_H
#define CONF_WHOLE_H

#include "conf/conf.h"
#include "conf/setting.h"

/*
 * Judges the upstream or route of that index, all of whose own keys are
 * right, by itself and against those before it.  list is the setting that
 * they came from.  ERR_CONF with the place and the cure.
 */
MUST_USE enum err whole_upstream(const struct conf *,
    const struct setting *list, size_t index);
MUST_USE enum err whole_route(const struct conf *, const struct setting *list,
    size_t index);
/* The same for all of it; root is what it came from. */
MUST_USE enum err whole_conf(const struct conf *, const struct setting *root);

#endif

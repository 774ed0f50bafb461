/* form.h: "key=value&key=value", as queries and forms have it */
/* SPDX-License-Identifier: ISC */
#ifndef SYNC_FORM_H
#define SYNC_FORM_H

#include <stddef.h>

#include "conf/err.h"

/*
 * The values of the n keys, decoded once ("%XX" and "+"; application/
 * x-www-form-urlencoded), each the caller's to free, NULL where its key is
 * not there; other keys are passed over.  ERR_INPUT for a key that is there
 * twice, a broken "%", a NUL.
 */
MUST_USE enum err form_get(const char *text, size_t len,
    const char *const *keys, size_t n, char **values);

#endif

/* page.h: the status page: how all routes are, to whoever may read it */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_PAGE_H
#define FCGI_PAGE_H

#include <stdbool.h>

#include "conf/conf.h"
#include "fcgi/gateway.h"
#include "sync/table.h"

/*
 * Does the web server ask for the page, instead of a decision: as RESPONDER
 * with REPROUTE_ANSWER=status?  Who may have it the web server decides.
 */
bool page_wanted(const struct gateway_request *);

/*
 * The same as "reproute status" prints; --json's for the query "json".
 * table NULL: it is not open yet, which the page says.
 */
void page_send(struct gateway_request *, const struct conf *, struct table *);

#endif

/* log.h: one line on stderr for each thing that a person should know */
/* SPDX-License-Identifier: ISC */
#ifndef CONF_LOG_H
#define CONF_LOG_H

#include <stddef.h>
#include <stdint.h>
#include <syslog.h>

#include "conf/err.h"

/*
 * Only the mains and the daemon's loops log; library code fails with
 * err_set().  Lines go to stderr; under systemd each starts with its
 * priority, "<3>" (sd-daemon(3)), else with the program's name.  LOG_ERR
 * means that a person must act.
 */
void log_open(const char *program);
void log_msg(int priority, const char *fmt, ...) PRINTF(2, 3);
/* LOG_DEBUG lines are written only after this. */
void log_verbose(void);

/* At most one line a minute for each gate; { 0 } is one that is open. */
struct log_gate {
	_Atomic int64_t next_ms;
};
void log_gated(struct log_gate *, int priority, const char *fmt, ...)
    PRINTF(3, 4);

/*
 * Foreign text made fit for a line: bytes outside printable ASCII, and the
 * backslash, as \xHH; cut to size.  Returns out.
 */
const char *log_escape(char *out, size_t size, const char *text);

#endif

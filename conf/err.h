/* err.h: one way to fail: a code for programs, a sentence for people */
/* SPDX-License-Identifier: ISC */
#ifndef CONF_ERR_H
#define CONF_ERR_H

/*
 * What can fail returns one of these; ERR_OK is 0.  Results go out through
 * the last parameters and stay untouched on failure.
 */
enum err {
	ERR_OK = 0,
	ERR_ABSENT, /* what was asked for is not there: an answer */
	ERR_USAGE,  /* the command line is wrong */
	ERR_CONF,   /* the configuration is wrong */
	ERR_INPUT,  /* foreign bytes that break their grammar */
	ERR_LIMIT,  /* a bound was reached */
	ERR_BUSY,   /* somebody else holds it; again later */
	ERR_DENIED, /* a secret or a right is missing */
	ERR_SYS,    /* the operating system said no */
	ERR_TABLE,  /* the table is missing, full, corrupt or locked */
	ERR_PEER,   /* an upstream did not answer as it must */
};

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/*
 * Sets this thread's sentence, and returns code, so that a failure reads
 * "return err_set(ERR_PEER, ...)".  The sentence says what to do next where
 * a person can do something.
 */
enum err err_set(enum err code, const char *fmt, ...) PRINTF(2, 3);

/* The same, with ": " and the text of errno behind it; the code is ERR_SYS. */
enum err err_sys(const char *fmt, ...) PRINTF(1, 2);

/* Puts "text: " before this thread's sentence; returns code. */
enum err err_prefix(enum err code, const char *fmt, ...) PRINTF(2, 3);

/* This thread's last sentence; borrowed until its next err_ call. */
const char *err_text(void);

/* The exit status (sysexits.h) with which a program ends on this code. */
int err_exit(enum err code);

#endif

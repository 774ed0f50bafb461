/* request.h: what a request is about: route, operation, repository */
/* SPDX-License-Identifier: ISC */
#ifndef FCGI_REQUEST_H
#define FCGI_REQUEST_H

#include <stdbool.h>

#include "conf/conf.h"

/* What is asked for; each has its printed word in request_op_word(). */
enum op {
	OP_NONE,  /* outside every route */
	OP_OTHER, /* nothing known, or no legal name */

	OP_GIT_REFS, /* info/refs of git-upload-pack */
	OP_GIT_UPLOAD_PACK,
	OP_GIT_WRITE_REFS, /* info/refs of git-receive-pack */
	OP_GIT_RECEIVE_PACK,
	OP_GIT_ARCHIVE,
	OP_GIT_LFS,
	OP_GIT_DUMB,

	OP_REG_BASE,
	OP_REG_CATALOGUE,
	OP_REG_TAGS,
	OP_REG_MANIFEST_GET,
	OP_REG_MANIFEST_PUT,
	OP_REG_MANIFEST_DELETE,
	OP_REG_TAG_DELETE,
	OP_REG_BLOB_GET,
	OP_REG_BLOB_DELETE,
	OP_REG_UPLOAD_START, /* POST, mounts and monolithic ones too */
	OP_REG_UPLOAD_WRITE, /* PATCH, PUT of a session */
	OP_REG_UPLOAD_STATUS,
	OP_REG_UPLOAD_CANCEL,
	OP_REG_REFERRERS,
};

/*
 * How an operation is to be treated.  CLASS_FOLLOW: changes something, but
 * never places.
 */
enum op_class { CLASS_OTHER, CLASS_READ, CLASS_WRITE, CLASS_FOLLOW };

struct request {
	const struct route *route; /* borrowed of conf; NULL: OP_NONE */
	enum op op;
	char name[NAME_SIZE]; /* printed form, or "" */
	/*
	 * Git: spelt as every backend takes alike: the path was not changed
	 * by the resolving and holds no encoded slash, the name needed no
	 * folding.  Others are read on the primary.
	 */
	bool canonical;
};

/*
 * A pure function over the method and the request target as it came (CGI's
 * REQUEST_URI; also an absolute URL).  The path is percent-decoded exactly
 * once and resolved (target.h), and what is left is matched on its suffix,
 * greedy on the name.
 *
 * A path that the resolving changed is OP_OTHER without a name, but a git
 * write keeps its operation and the resolved name; of other spellings that
 * are not canonical, reads keep both, too.  A git write without a legal
 * name keeps its operation, with "".  Targets over MAX_TARGET bytes are
 * OP_OTHER; without a method or a target (NULL) it is OP_NONE.
 */
void request_parse(const struct conf *, const char *method, const char *target,
    struct request *out);

const char *request_op_word(enum op);
enum op_class request_op_class(enum op);

#endif

/* refs.c: the canonical ref advertisement and its digest */
/* SPDX-License-Identifier: ISC */
#include "sync/refs.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/mem.h"
#include "conf/name.h"

#define OID_SIZE 65

struct refs {
	struct digest *digest;
	bool ordered;	/* constant memory; else collected below */
	bool unordered; /* and then something came out of order */
	size_t count;
	size_t oid_len;		/* 0: no oid seen yet */
	char last[MAX_REF + 1]; /* name that was digested last */

	bool has_head;
	bool listed;		  /* target was among the refs */
	char head[OID_SIZE];	  /* "" where unborn */
	char target[MAX_REF + 1]; /* "" where detached */

	/* "OID SP REF NUL" of each, and where each starts */
	struct buf text;
	size_t *at;
};

struct refs *
refs_new(void)
{
	struct refs *refs = mem_zalloc(sizeof(*refs));

	refs->digest = digest_new();
	return refs;
}

struct refs *
refs_new_ordered(void)
{
	struct refs *refs = refs_new();

	refs->ordered = true;
	return refs;
}

bool
refs_unordered(const struct refs *refs)
{
	return refs->unordered;
}

void
refs_free(struct refs *refs)
{
	if (refs == NULL)
		return;
	digest_free(refs->digest);
	buf_free(&refs->text);
	free(refs->at);
	free(refs);
}

bool
refs_legal(const char *name)
{
	size_t len = strlen(name);

	if (len <= 5 || len > MAX_REF || strncmp(name, "refs/", 5) != 0 ||
	    strpbrk(name, "~^:?*[\\") != NULL || strstr(name, "..") != NULL)
		return false;
	for (; *name != '\0'; name++)
		if ((unsigned char)*name <= ' ' || *name == 0x7f)
			return false;
	return true;
}

/* What every oid must be, and to be like those before it. */
static enum err
check_oid(struct refs *refs, const char *oid)
{
	size_t len = strlen(oid);

	if (!name_oid(oid))
		return err_set(ERR_INPUT,
		    "an object id that is not 40 or 64 "
		    "lower hex digits");
	if (strspn(oid, "0") == len)
		return err_set(ERR_BUSY, "a ref is being deleted; look again");
	if (refs->oid_len != 0 && refs->oid_len != len)
		return err_set(ERR_INPUT, "object ids of two lengths");
	refs->oid_len = len;
	return ERR_OK;
}

static void
digest_line(struct digest *digest, const char *first, const char *second)
{
	char line[sizeof("ref: ") + 2 * (MAX_REF + 1)];
	int len = snprintf(line, sizeof(line), "%s %s\n", first, second);

	assert(len > 0 && (size_t)len < sizeof(line));
	digest_add(digest, line, (size_t)len);
}

/* The next ref in the canonical order. */
static enum err
put(struct refs *refs, const char *oid, const char *name)
{
	int order = strcmp(name, refs->last);

	if (order == 0)
		return err_set(ERR_INPUT, "a ref is listed twice");
	if (order < 0) {
		refs->unordered = true;
		return err_set(ERR_INPUT, "refs out of order");
	}
	strcpy(refs->last, name);
	if (strcmp(name, refs->target) == 0)
		refs->listed = true;
	digest_line(refs->digest, oid, name);
	return ERR_OK;
}

static enum err
keep(struct refs *refs, const char *oid, const char *name)
{
	if (refs->text.len > MAX_REFS_TEXT)
		return err_set(ERR_LIMIT, "refs of more than %lu bytes",
		    MAX_REFS_TEXT);
	refs->at = mem_more(refs->at, refs->count, sizeof(*refs->at));
	refs->at[refs->count] = refs->text.len;
	buf_puts(&refs->text, oid);
	buf_add(&refs->text, " ", 1);
	buf_add(&refs->text, name, strlen(name) + 1);
	return ERR_OK;
}

enum err
refs_add(struct refs *refs, const char *oid, const char *name)
{
	enum err err = check_oid(refs, oid);

	if (err != ERR_OK)
		return err;
	if (!refs_legal(name))
		return err_set(ERR_INPUT, "a ref whose name is not legal");
	if (refs->count == MAX_REFS)
		return err_set(ERR_LIMIT, "more than %d refs", MAX_REFS);
	err = refs->ordered ? put(refs, oid, name) : keep(refs, oid, name);
	if (err == ERR_OK)
		refs->count++;
	return err;
}

enum err
refs_head(struct refs *refs, const char *oid, const char *target)
{
	enum err err;

	assert(oid != NULL || target != NULL);
	if (refs->has_head)
		return err_set(ERR_INPUT, "HEAD is listed twice");
	if (oid != NULL && (err = check_oid(refs, oid)) != ERR_OK)
		return err;
	if (target != NULL && !refs_legal(target))
		return err_set(ERR_INPUT,
		    "HEAD points at a name that is "
		    "not legal");
	if (refs->ordered && refs->count > 0) {
		/* whether target was among them is no longer known */
		refs->unordered = true;
		return err_set(ERR_INPUT, "HEAD behind the refs");
	}
	refs->has_head = true;
	strcpy(refs->head, oid != NULL ? oid : "");
	strcpy(refs->target, target != NULL ? target : "");
	return ERR_OK;
}

static int
compare(const void *one, const void *other, void *arg)
{
	const struct refs *refs = arg;
	size_t name = refs->oid_len + 1;

	return strcmp(refs->text.data + *(const size_t *)one + name,
	    refs->text.data + *(const size_t *)other + name);
}

/* Digests in order what was collected. */
static enum err
put_collected(struct refs *refs)
{
	qsort_r(refs->at, refs->count, sizeof(*refs->at), compare, refs);
	for (size_t i = 0; i < refs->count; i++) {
		char *oid = refs->text.data + refs->at[i];
		enum err err;

		oid[refs->oid_len] = '\0';
		err = put(refs, oid, oid + refs->oid_len + 1);
		if (err != ERR_OK)
			return err;
	}
	return ERR_OK;
}

static enum err
check_format(const struct refs *refs, const char *format)
{
	size_t len = strcmp(format, "sha1") == 0 ? 40
	    : strcmp(format, "sha256") == 0	 ? 64
						 : 0;

	if (len == 0)
		return err_set(ERR_INPUT,
		    "an object format that is neither "
		    "sha1 nor sha256");
	if (refs->oid_len != 0 && refs->oid_len != len)
		return err_set(ERR_INPUT,
		    "object ids that are not of the "
		    "object format %s",
		    format);
	return ERR_OK;
}

enum err
refs_end(struct refs *refs, const char *object_format, struct refs_digest *out)
{
	uint8_t bytes[DIGEST_SIZE];
	enum err err = check_format(refs, object_format);

	if (err == ERR_OK && refs->count > 0 && !refs->ordered)
		err = put_collected(refs);
	if (err != ERR_OK)
		goto out;
	if (refs->listed) {
		digest_add(refs->digest, "ref: ", 5);
		digest_line(refs->digest, refs->target, "HEAD");
	} else if (refs->has_head && refs->target[0] == '\0') {
		digest_line(refs->digest, refs->head, "HEAD");
	}
	digest_end(refs->digest, bytes);
	refs->digest = NULL;
	digest_hex(bytes, out->digest);
	out->refs = refs->count;
	strcpy(out->head, refs->target);
	strcpy(out->object_format, object_format);
out:
	refs_free(refs);
	return err;
}

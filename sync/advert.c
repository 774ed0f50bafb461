/* advert.c: reads a ref advertisement off the wire, protocol v0, v1 and v2 */
/* SPDX-License-Identifier: ISC */
#include "sync/advert.h"

#include <stdlib.h>
#include <string.h>

#include "conf/log.h"
#include "conf/name.h"

/* Bytes of a pkt-line, its own four included (gitprotocol-common(5)). */
#define MAX_PKT 65520
#define OID_SIZE 65

/* Special packets: gitprotocol-v2(5), "Packet-Line Framing". */
enum pkt { PKT_FLUSH, PKT_DELIM, PKT_END, PKT_ILLEGAL, PKT_LINE };

/* What comes next. */
enum state {
	START,	       /* "# service=...", or the first line */
	SERVICE_FLUSH, /* the flush behind it */
	FIRST,	       /* "version N", or the first ref with capabilities */
	FIRST_REF,     /* the same, behind "version 1" */
	REFS,	       /* refs of v0 and v1 */
	CAPS,	       /* capabilities of v2 */
	LISTED,	       /* refs of ls-refs */
	DONE,
	FAILED,
};

enum cap {
	CAP_FILTER,
	CAP_TIP,
	CAP_REACHABLE,
	CAP_SHALLOW,
	CAP_REF_IN_WANT,
	CAP_SIDEBAND_ALL,
	CAP_PACKFILE_URIS,
	CAP_WAIT_FOR_DONE,
	CAP_OBJECT_INFO,
	CAPS_KNOWN
};

const char *const advert_cap_names[] = {
	[CAP_FILTER] = "filter",
	[CAP_TIP] = "allow-tip-sha1-in-want",
	[CAP_REACHABLE] = "allow-reachable-sha1-in-want",
	[CAP_SHALLOW] = "shallow",
	[CAP_REF_IN_WANT] = "ref-in-want",
	[CAP_SIDEBAND_ALL] = "sideband-all",
	[CAP_PACKFILE_URIS] = "packfile-uris",
	[CAP_WAIT_FOR_DONE] = "wait-for-done",
	[CAP_OBJECT_INFO] = "object-info",
	[CAPS_KNOWN] = NULL,
};

struct advert {
	struct refs *refs;
	enum advert_form form;
	enum state state;
	struct advert_caps caps;
	bool has_format;	/* the object format was said */
	bool ls_refs;		/* is offered (v2) */
	bool head_told;		/* refs_head() was called */
	char head[MAX_REF + 1]; /* HEAD's target as v0 says it, or "" */

	char pkt[MAX_PKT + 1]; /* under way, its length first */
	size_t have;	       /* bytes of it */
	size_t want;	       /* its length; 4 until that is known */
};

struct advert *
advert_new(enum advert_form form, struct refs *refs)
{
	struct advert *advert = mem_zalloc(sizeof(*advert));

	advert->refs = refs;
	advert->form = form;
	advert->state = form == ADVERT_LS_REFS ? LISTED : START;
	advert->want = 4;
	strcpy(advert->caps.object_format, "sha1");
	return advert;
}

void
advert_free(struct advert *advert)
{
	free(advert);
}

/* Is word one of the space-separated words? */
static bool
has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	while (*words != '\0') {
		size_t n = strcspn(words, " ");

		if (n == len && memcmp(words, word, len) == 0)
			return true;
		words += n + strspn(words + n, " ");
	}
	return false;
}

static unsigned
offers_in(const char *words)
{
	unsigned offers = 0;

	for (unsigned i = 0; i < CAPS_KNOWN; i++)
		if (has_word(words, advert_cap_names[i]))
			offers |= 1U << i;
	return offers;
}

static enum err
set_format(struct advert *advert, const char *format)
{
	if (strcmp(format, "sha1") != 0 && strcmp(format, "sha256") != 0)
		return err_set(ERR_INPUT,
		    "an object format that is neither "
		    "sha1 nor sha256");
	/* of several, the first is the repository's own */
	if (!advert->has_format)
		strcpy(advert->caps.object_format, format);
	advert->has_format = true;
	return ERR_OK;
}

/* What stands in line behind prefix; NULL where it starts otherwise. */
static char *
behind(char *line, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(line, prefix, len) == 0 ? line + len : NULL;
}

/* The capabilities of v0 and v1 (gitprotocol-capabilities(5)). */
static enum err
take_v0_caps(struct advert *advert, char *caps)
{
	char *save = NULL;

	advert->caps.offers = offers_in(caps);
	for (char *word = strtok_r(caps, " ", &save); word != NULL;
	     word = strtok_r(NULL, " ", &save)) {
		char *value;
		enum err err = ERR_OK;

		if ((value = behind(word, "object-format=")) != NULL)
			err = set_format(advert, value);
		else if ((value = behind(word, "symref=HEAD:")) != NULL) {
			if (!refs_legal(value))
				return err_set(ERR_INPUT,
				    "HEAD points at a "
				    "name that is not legal");
			strcpy(advert->head, value);
		}
		if (err != ERR_OK)
			return err;
	}
	return ERR_OK;
}

/* A line of v2's capabilities (gitprotocol-v2(5)). */
static enum err
take_v2_cap(struct advert *advert, char *line)
{
	char *value = strchr(line, '=');

	if (value != NULL)
		*value++ = '\0';
	else
		value = line + strlen(line);
	if (strcmp(line, "ls-refs") == 0) {
		advert->ls_refs = true;
		advert->caps.unborn = has_word(value, "unborn");
	} else if (strcmp(line, "fetch") == 0) {
		advert->caps.offers |= offers_in(value);
	} else if (strcmp(line, "object-info") == 0) {
		advert->caps.offers |= 1U << CAP_OBJECT_INFO;
	} else if (strcmp(line, "object-format") == 0) {
		return set_format(advert, value);
	}
	return ERR_OK;
}

/* Cuts "OID SP REST"; *rest stays in line. */
static enum err
split_oid(char *line, char oid[OID_SIZE], char **rest)
{
	size_t len = strcspn(line, " ");

	if (len >= OID_SIZE || line[len] != ' ')
		return err_set(ERR_INPUT, "a line that is no ref");
	memcpy(oid, line, len);
	oid[len] = '\0';
	*rest = line + len + 1;
	return ERR_OK;
}

static enum err
take_head(struct advert *advert, const char *oid, const char *target)
{
	advert->head_told = true;
	return refs_head(advert->refs, oid, target);
}

static bool
is_peeled(const char *name)
{
	size_t len = strlen(name);

	return len > 3 && strcmp(name + len - 3, "^{}") == 0;
}

/* A ref of v0 or v1: "OID SP NAME", or "shallow SP OID". */
static enum err
take_v0_ref(struct advert *advert, char *line)
{
	char oid[OID_SIZE], *name;
	enum err err;

	if (behind(line, "shallow ") != NULL)
		return ERR_OK;
	err = split_oid(line, oid, &name);
	if (err != ERR_OK)
		return err;
	if (is_peeled(name) && name_oid(oid))
		return ERR_OK;
	if (strcmp(name, "HEAD") != 0)
		return refs_add(advert->refs, oid, name);
	if (advert->head[0] == '\0')
		return take_head(advert, oid, NULL);
	if (advert->head_told)
		return ERR_OK;
	return take_head(advert, oid, advert->head);
}

/*
 * The first one, with NUL and the capabilities behind it; of an empty
 * repository a line for "capabilities^{}" (gitprotocol-pack(5)).
 */
static enum err
take_first_ref(struct advert *advert, char *line, size_t len)
{
	size_t ref = strlen(line);
	enum err err = ERR_OK;

	if (ref < len) {
		if (strlen(line + ref + 1) != len - ref - 1)
			return err_set(ERR_INPUT, "a line with two NULs");
		err = take_v0_caps(advert, line + ref + 1);
	}
	if (err != ERR_OK)
		return err;
	advert->state = REFS;
	/* a HEAD that is unborn has no line; tell it before its target comes */
	if (advert->head[0] != '\0' &&
	    (ref < 5 || strcmp(line + ref - 5, " HEAD") != 0)) {
		err = take_head(advert, NULL, advert->head);
		if (err != ERR_OK)
			return err;
	}
	return take_v0_ref(advert, line);
}

/* "OID|unborn SP NAME *(SP ATTRIBUTE)" (gitprotocol-v2(5), "ls-refs"). */
static enum err
take_listed(struct advert *advert, char *line)
{
	char oid[OID_SIZE], *name, *target = NULL, *save = NULL;
	bool unborn;
	enum err err = split_oid(line, oid, &name);

	if (err != ERR_OK)
		return err;
	unborn = strcmp(oid, "unborn") == 0;
	if ((name = strtok_r(name, " ", &save)) == NULL)
		return err_set(ERR_INPUT, "a ref without a name");
	for (char *word = strtok_r(NULL, " ", &save); word != NULL;
	     word = strtok_r(NULL, " ", &save)) {
		char *value = behind(word, "symref-target:");

		if (value != NULL)
			target = value;
	}
	if (strcmp(name, "HEAD") != 0)
		return refs_add(advert->refs, oid, name);
	if (unborn && target == NULL)
		return err_set(ERR_INPUT, "an unborn HEAD without a target");
	return take_head(advert, unborn ? NULL : oid, target);
}

static enum err
take_first(struct advert *advert, char *line, size_t len)
{
	if (advert->state != FIRST_REF && strcmp(line, "version 2") == 0) {
		advert->caps.v2 = true;
		advert->caps.offers = 1U << CAP_TIP | 1U << CAP_REACHABLE;
		advert->state = CAPS;
		return ERR_OK;
	}
	if (advert->state != FIRST_REF && strcmp(line, "version 1") == 0) {
		advert->state = FIRST_REF;
		return ERR_OK;
	}
	return take_first_ref(advert, line, len);
}

/* line ends in NUL at len, and its LF is gone. */
static enum err
take_line(struct advert *advert, char *line, size_t len)
{
	bool first = advert->state == START || advert->state == FIRST ||
	    advert->state == FIRST_REF;
	char *text = behind(line, "ERR ");
	char escaped[512];

	if (text != NULL)
		return err_set(ERR_INPUT, "git says: %s",
		    log_escape(escaped, sizeof(escaped), text));
	if (!first && strlen(line) != len)
		return err_set(ERR_INPUT, "a line with a NUL");
	switch (advert->state) {
	case START:
		if (strcmp(line, "# service=git-upload-pack") == 0) {
			advert->state = SERVICE_FLUSH;
			return ERR_OK;
		}
		/* fall through */
	case FIRST:
	case FIRST_REF:
		return take_first(advert, line, len);
	case REFS:
		return take_v0_ref(advert, line);
	case CAPS:
		return take_v2_cap(advert, line);
	case LISTED:
		return take_listed(advert, line);
	default:
		return err_set(ERR_INPUT, "a line where none may be");
	}
}

static enum err
take_special(struct advert *advert, enum pkt pkt)
{
	if (pkt != PKT_FLUSH || advert->state == START)
		return err_set(ERR_INPUT,
		    "a packet that has no place in a "
		    "ref advertisement");
	/* old gits advertise an empty repository by nothing but a flush */
	advert->state = advert->state == SERVICE_FLUSH ? FIRST : DONE;
	return ERR_OK;
}

/* The packet is whole. */
static enum err
take_packet(struct advert *advert)
{
	char *line = advert->pkt + 4;
	size_t len = advert->want - 4;

	if (len > 0 && line[len - 1] == '\n')
		len--;
	line[len] = '\0';
	return take_line(advert, line, len);
}

/* Reads the four hex digits, and says which kind of packet it is. */
static enum err
read_length(const char *digits, size_t *len, enum pkt *pkt)
{
	char text[5] = { 0 };

	memcpy(text, digits, 4);
	if (strspn(text, "0123456789abcdefABCDEF") != 4)
		return err_set(ERR_INPUT, "no pkt-line");
	*len = strtoul(text, NULL, 16);
	if (*len > MAX_PKT)
		return err_set(ERR_INPUT, "a pkt-line of more than %d bytes",
		    MAX_PKT);
	*pkt = *len < PKT_LINE ? (enum pkt) * len : PKT_LINE;
	return ERR_OK;
}

/* want bytes are there: a length, or a whole packet. */
static enum err
take_want(struct advert *advert)
{
	enum pkt pkt = PKT_LINE;
	enum err err = ERR_OK;

	if (advert->have == 4) {
		err = read_length(advert->pkt, &advert->want, &pkt);
		if (err != ERR_OK)
			return err;
		if (pkt == PKT_LINE && advert->want > 4)
			return ERR_OK; /* the rest of it first */
	}
	if (advert->state == DONE)
		return err_set(ERR_INPUT, "bytes behind the end");
	err = pkt == PKT_LINE ? take_packet(advert) : take_special(advert, pkt);
	advert->have = 0;
	advert->want = 4;
	return err;
}

enum err
advert_take(struct advert *advert, const char *bytes, size_t len)
{
	enum err err;

	if (advert->state == FAILED)
		return err_set(ERR_INPUT, "it failed before");
	while (len > 0) {
		size_t piece = advert->want - advert->have;

		if (piece > len)
			piece = len;
		memcpy(advert->pkt + advert->have, bytes, piece);
		advert->have += piece;
		bytes += piece;
		len -= piece;
		if (advert->have < advert->want)
			break;
		if ((err = take_want(advert)) != ERR_OK) {
			advert->state = FAILED;
			return err;
		}
	}
	return ERR_OK;
}

enum err
advert_end(struct advert *advert, struct advert_caps *out)
{
	if (advert->state != DONE || advert->have > 0)
		return err_set(ERR_INPUT, "the ref advertisement broke off");
	if (advert->caps.v2 && !advert->ls_refs)
		return err_set(ERR_INPUT, "protocol v2 without ls-refs");
	if (advert->form == ADVERT_INFO_REFS)
		*out = advert->caps;
	return ERR_OK;
}

static void
put_pkt(struct buf *out, const char *line)
{
	buf_fmt(out, "%04zx%s", strlen(line) + 4, line);
}

void
advert_ls_refs_body(const struct advert_caps *caps, struct buf *out)
{
	put_pkt(out, "command=ls-refs\n");
	/* sha1 is what nothing said means; old servers know no such word */
	if (strcmp(caps->object_format, "sha256") == 0)
		put_pkt(out, "object-format=sha256\n");
	buf_puts(out, "0001");
	put_pkt(out, "symrefs\n");
	if (caps->unborn)
		put_pkt(out, "unborn\n");
	buf_puts(out, "0000");
}

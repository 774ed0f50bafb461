/* wire_test.c: what bodies are taken, which are refused, and what is written */
/* SPDX-License-Identifier: ISC */
#include "sync/wire.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/tap.h"

#define H40 "1111111111111111111111111111111111111111"
#define H64 "4444444444444444444444444444444444444444444444444444444444444444"
#define T32 "0123456789abcdef0123456789abcdef"
#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

struct row {
	const char *body;
	const char *says; /* NULL: taken; else a part of the sentence */
	const char *route, *name, *sha, *token;
	enum push_phase phase;
};

static const struct row json_rows[] = {
	/* the seed's form */
	{ "{\"route\":\"stash\",\"project\":\"P\",\"repo\":\"R\",\"sha1\":\"" H40
	  "\"}",
	    NULL, "stash", "P/R", H40, "", PUSH_REPORT },
	{ "{\"project\":\"a/b\",\"repo\":\"c.git\",\"sha1\":\"" H64 "\"}\r\n",
	    NULL, "", "a/b/c", H64, "", PUSH_REPORT },
	{ "{\"project\":\"-\",\"repo\":\"R\",\"sha1\":\"" H40 "\",\"x\":[1]}",
	    NULL, "", "R", H40, "", PUSH_REPORT },
	{ "{\"project\":\"~u\",\"repo\":\"gr\303\274n\",\"sha1\":\"" H40 "\"}",
	    NULL, "", "~u/gr\303\274n", H40, "", PUSH_REPORT },
	{ "{\"project\":\"a\",\"repo\":\"b%2Fc\",\"sha1\":\"" H40 "\"}", NULL,
	    "", "a/b%2Fc", H40, "", PUSH_REPORT },
	{ "{\"repo\":\"R\",\"sha1\":\"" H40 "\"}", "\"project\" is missing",
	    NULL, NULL, NULL, NULL, 0 },
	{ "{\"project\":\"P\",\"sha1\":\"" H40 "\"}", "\"repo\" is missing",
	    NULL, NULL, NULL, NULL, 0 },
	{ "{\"project\":\"P\",\"repo\":\"R\"}", "\"sha1\" is missing", NULL,
	    NULL, NULL, NULL, 0 },
	{ "{\"project\":\"P\",\"repo\":\"R\",\"sha1\":\"HEAD\"}",
	    "\"sha1\" must be", NULL, NULL, NULL, NULL, 0 },
	{ "{\"project\":\"P\",\"repo\":\"R\",\"sha1\":1}",
	    "\"sha1\" must be text", NULL, NULL, NULL, NULL, 0 },
	{ "{\"project\":null,\"repo\":\"R\",\"sha1\":\"" H40 "\"}",
	    "\"project\" must be text", NULL, NULL, NULL, NULL, 0 },
	{ "{\"project\":\"..\",\"repo\":\"R\",\"sha1\":\"" H40 "\"}",
	    "must name a repository", NULL, NULL, NULL, NULL, 0 },
	{ "{\"project\":\"\",\"repo\":\"R\",\"sha1\":\"" H40 "\"}",
	    "must name a repository", NULL, NULL, NULL, NULL, 0 },
	{ "{\"project\":\"a\\u0000b\",\"repo\":\"R\",\"sha1\":\"" H40 "\"}",
	    "\"project\" holds a NUL", NULL, NULL, NULL, NULL, 0 },
	{ "{\"project\":\"a\",\"repo\":\"R\\n\",\"sha1\":\"" H40 "\"}",
	    "must name a repository", NULL, NULL, NULL, NULL, 0 },
	{ "{\"route\":\"No Route\",\"project\":\"P\",\"repo\":\"R\",\"sha1\":\"" H40
	  "\"}",
	    "\"route\" must be", NULL, NULL, NULL, NULL, 0 },
	{ "{\"project\":\"P\",\"repo\":\"R\",\"sha1\":\"" H40
	  "\",\"phase\":\"end\"}",
	    "go with \"repository\"", NULL, NULL, NULL, NULL, 0 },

	/* the hooks' form */
	{ "{\"route\":\"stash\",\"repository\":\"a/b.git\",\"phase\":\"begin\","
	  "\"refs\":[{\"ref\":\"refs/heads/x\",\"old\":\"" H40
	  "\",\"new\":\"" H40 "\"}]}",
	    NULL, "stash", "a/b", "", "", PUSH_BEGIN },
	{ "{\"route\":\"stash\",\"repository\":\"a\",\"phase\":\"end\","
	  "\"token\":\"" T32 "\",\"refs\":[]}",
	    NULL, "stash", "a", "", T32, PUSH_END },
	{ "{\"route\":\"stash\",\"repository\":\"a\"}", NULL, "stash", "a", "",
	    "", PUSH_REPORT },
	{ "{\"repository\":\"a\",\"phase\":\"end\"}", "\"route\" is missing",
	    NULL, NULL, NULL, NULL, 0 },
	{ "{\"route\":\"stash\",\"phase\":\"end\"}", "\"project\" is missing",
	    NULL, NULL, NULL, NULL, 0 },
	{ "{\"route\":\"s\",\"repository\":\"a\",\"phase\":\"middle\"}",
	    "\"phase\" must be", NULL, NULL, NULL, NULL, 0 },
	{ "{\"route\":\"s\",\"repository\":\"a\",\"phase\":null}",
	    "\"phase\" must be text", NULL, NULL, NULL, NULL, 0 },
	{ "{\"route\":\"s\",\"repository\":\"a\",\"token\":\"x\"}",
	    "\"token\" must be", NULL, NULL, NULL, NULL, 0 },
	{ "{\"route\":\"s\",\"repository\":\"a\",\"token\":\"\"}",
	    "\"token\" must be", NULL, NULL, NULL, NULL, 0 },
	{ "{\"route\":\"s\",\"repository\":\"a.git.git\"}",
	    "\"repository\" must name", NULL, NULL, NULL, NULL, 0 },
	{ "{\"route\":\"s\",\"repository\":\".git\"}",
	    "\"repository\" must name", NULL, NULL, NULL, NULL, 0 },
	{ "{\"route\":\"s\",\"repository\":{\"name\":\"a\"}}",
	    "\"repository\" must be text", NULL, NULL, NULL, NULL, 0 },
	{ "{\"route\":\"s\",\"repository\":\"a\",\"refs\":{}}",
	    "\"refs\" must be an array", NULL, NULL, NULL, NULL, 0 },
	{ "{\"route\":\"s\",\"repository\":\"a\",\"refs\":[\"x\"]}",
	    "\"refs\" must hold objects", NULL, NULL, NULL, NULL, 0 },
	{ "{\"route\":\"s\",\"repository\":\"a\",\"refs\":[{\"ref\":7}]}",
	    "\"refs\" must be text", NULL, NULL, NULL, NULL, 0 },
	{ "{\"route\":\"s\",\"repository\":\"a\",\"repo\":\"b\"}", "two forms",
	    NULL, NULL, NULL, NULL, 0 },

	/* no JSON object */
	{ "", "not one JSON object", NULL, NULL, NULL, NULL, 0 },
	{ "null", "not one JSON object", NULL, NULL, NULL, NULL, 0 },
	{ "[]", "not one JSON object", NULL, NULL, NULL, NULL, 0 },
	{ "{", "not one JSON object", NULL, NULL, NULL, NULL, 0 },
	{ "{}{}", "not one JSON object", NULL, NULL, NULL, NULL, 0 },
	{ "{\"route\":\"s\",\"repository\":\"a\"} x", "not one JSON object",
	    NULL, NULL, NULL, NULL, 0 },
	{ "{\"route\":\"s\",\"repository\":\"a\",}", "not one JSON object",
	    NULL, NULL, NULL, NULL, 0 },
	{ "{'route':'s','repository':'a'}", "not one JSON object", NULL, NULL,
	    NULL, NULL, 0 },
	{ "/*x*/{\"route\":\"s\",\"repository\":\"a\"}", "not one JSON object",
	    NULL, NULL, NULL, NULL, 0 },
	{ "{\"route\":\"s\",\"repository\":\"a\xff\"}", "not one JSON object",
	    NULL, NULL, NULL, NULL, 0 },
	{ "{\"a\":[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]}",
	    "not one JSON object", NULL, NULL, NULL, NULL, 0 },
};

static const struct row form_rows[] = {
	{ "project=P&repo=R&sha1=" H40, NULL, "", "P/R", H40, "", 0 },
	{ "route=stash&project=P&repo=R.git&sha1=" H40, NULL, "stash", "P/R",
	    H40, "", 0 },
	{ "&sha1=" H40 "&&repo=%52&project=a%2Fb&wait=1&", NULL, "", "a/b/R",
	    H40, "", 0 },
	{ "%70roject=P&repo=a+b&sha1=" H64, NULL, "", "P/a b", H64, "", 0 },
	{ "project=P&repo=a%252Fb&sha1=" H40, NULL, "", "P/a%2Fb", H40, "", 0 },
	{ "project=-&repo=gr%C3%bcn&sha1=" H40, NULL, "", "gr\303\274n", H40,
	    "", 0 },
	{ "", "\"project\" is missing", NULL, NULL, NULL, NULL, 0 },
	{ "project=P&repo=R", "\"sha1\" is missing", NULL, NULL, NULL, NULL,
	    0 },
	{ "project&repo=R&sha1=" H40, "must name a repository", NULL, NULL,
	    NULL, NULL, 0 },
	{ "project=P&repo=R&repo=R&sha1=" H40, "\"repo\" is there twice", NULL,
	    NULL, NULL, NULL, 0 },
	{ "project=P&repo=R&r%65po=Q&sha1=" H40, "\"repo\" is there twice",
	    NULL, NULL, NULL, NULL, 0 },
	{ "project=P&repo=R%&sha1=" H40, "two hex digits", NULL, NULL, NULL,
	    NULL, 0 },
	{ "project=P&repo=R&sha1=" H40 "%4", "two hex digits", NULL, NULL, NULL,
	    NULL, 0 },
	{ "project=P&repo=R%zz&sha1=" H40, "two hex digits", NULL, NULL, NULL,
	    NULL, 0 },
	{ "project=P&repo=R%00&sha1=" H40, "a NUL", NULL, NULL, NULL, NULL, 0 },
	{ "project=P&repo=R%0a&sha1=" H40, "must name a repository", NULL, NULL,
	    NULL, NULL, 0 },
	{ "project=P&repo=R%ff&sha1=" H40, "must name a repository", NULL, NULL,
	    NULL, NULL, 0 },
	{ "project=P&repo=R&sha1=HEAD", "\"sha1\" must be", NULL, NULL, NULL,
	    NULL, 0 },
	{ "route=s&repository=a&phase=end", "\"project\" is missing", NULL,
	    NULL, NULL, NULL, 0 },
};

typedef enum err reader(const char *, size_t, struct push_report *);

static void
reports(reader *read, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct push_report out = { .phase = 99 };
		enum err err = read(rows[i].body, strlen(rows[i].body), &out);

		if (rows[i].says != NULL) {
			tap_ok(err == ERR_INPUT &&
				strstr(err_text(), rows[i].says) != NULL &&
				(int)out.phase == 99,
			    "refused: %s: %s", rows[i].says, rows[i].body);
			if (err != ERR_OK)
				tap_note("%s", err_text());
			continue;
		}
		tap_int(err, ERR_OK, "taken: %.60s", rows[i].body);
		tap_str(out.route, rows[i].route, "its route");
		tap_str(out.name, rows[i].name, "its name");
		tap_str(out.sha, rows[i].sha, "its commit");
		tap_str(out.token, rows[i].token, "its token");
		tap_int(out.phase, rows[i].phase, "its phase");
	}
}

static void
bounds(void)
{
	struct push_report out = { 0 };
	struct buf body = { 0 };
	char *big = mem_array(MAX_PUSH_BODY + 2, 1);

	memset(big, ' ', MAX_PUSH_BODY + 1);
	tap_int(wire_get_push(big, MAX_PUSH_BODY + 1, &out), ERR_LIMIT,
	    "JSON over its limit");
	tap_int(wire_get_push_form(big, MAX_PUSH_BODY + 1, &out), ERR_LIMIT,
	    "a form over its limit");
	tap_int(wire_get_push("{}\0", 3, &out), ERR_INPUT,
	    "a NUL behind the object");
	memset(big, 'n', MAX_NAME + 1);
	big[MAX_NAME] = '\0';
	buf_fmt(&body, "{\"route\":\"s\",\"repository\":\"%s.git\"}", big);
	tap_int(wire_get_push(body.data, body.len, &out), ERR_OK,
	    "the longest name, with .git");
	tap_int((long long)strlen(out.name), MAX_NAME, "and its length");
	buf_reset(&body);
	buf_fmt(&body, "{\"route\":\"s\",\"repository\":\"%sn\"}", big);
	tap_int(wire_get_push(body.data, body.len, &out), ERR_INPUT,
	    "a name one byte longer");
	buf_free(&body);
	free(big);
}

static const struct {
	const char *body;
	enum err err;
	const char *head;
	long long refs;
} refs_rows[] = {
	{ "{\"digest\":\"" H64 "\",\"refs\":3,\"head\":\"refs/heads/main\","
	  "\"object_format\":\"sha1\"}",
	    ERR_OK, "refs/heads/main", 3 },
	{ "{\"digest\":\"" H64 "\",\"refs\":0,\"head\":null,"
	  "\"object_format\":\"sha256\"}",
	    ERR_OK, "", 0 },
	{ "{\"digest\":\"" H40 "\",\"refs\":0,\"head\":null,"
	  "\"object_format\":\"sha1\"}",
	    ERR_INPUT, NULL, 0 },
	{ "{\"digest\":\"" H64 "\",\"refs\":-1,\"head\":null,"
	  "\"object_format\":\"sha1\"}",
	    ERR_INPUT, NULL, 0 },
	{ "{\"digest\":\"" H64 "\",\"refs\":2000001,\"head\":null,"
	  "\"object_format\":\"sha1\"}",
	    ERR_INPUT, NULL, 0 },
	{ "{\"digest\":\"" H64 "\",\"refs\":\"3\",\"head\":null,"
	  "\"object_format\":\"sha1\"}",
	    ERR_INPUT, NULL, 0 },
	{ "{\"digest\":\"" H64 "\",\"refs\":1,\"head\":\"main\","
	  "\"object_format\":\"sha1\"}",
	    ERR_INPUT, NULL, 0 },
	{ "{\"digest\":\"" H64 "\",\"refs\":1,\"head\":null,"
	  "\"object_format\":\"md5\"}",
	    ERR_INPUT, NULL, 0 },
	{ "{\"digest\":\"" H64 "\",\"refs\":1}", ERR_INPUT, NULL, 0 },
	{ "{}", ERR_INPUT, NULL, 0 },
};

static void
refs_and_fetch(void)
{
	struct refs_digest digest = { .digest = H64,
		.refs = 7,
		.head = "refs/heads/main",
		.object_format = "sha1" };
	struct fetch_order order = { .head = "", .object_format = "sha256" };
	struct buf out = { 0 };

	for (size_t i = 0; i < COUNT(refs_rows); i++) {
		struct refs_digest got = { 0 };
		enum err err = wire_get_refs(refs_rows[i].body,
		    strlen(refs_rows[i].body), &got);

		tap_int(err, refs_rows[i].err, "%s", refs_rows[i].body);
		if (err != ERR_OK)
			continue;
		tap_str(got.head, refs_rows[i].head, "its HEAD");
		tap_int((long long)got.refs, refs_rows[i].refs, "its count");
	}
	wire_put_refs(&digest, &out);
	tap_str(out.data,
	    "{\"digest\":\"" H64 "\",\"refs\":7,\"head\":"
	    "\"refs/heads/main\",\"object_format\":\"sha1\"}\n",
	    "refs");
	memset(&digest, 0, sizeof(digest));
	tap_int(wire_get_refs(out.data, out.len, &digest), ERR_OK,
	    "is read back");
	tap_str(digest.head, "refs/heads/main", "the same");
	buf_reset(&out);
	wire_put_fetch(&order, &out);
	tap_str(out.data, "{\"head\":null,\"object_format\":\"sha256\"}\n",
	    "a fetch");
	memset(&order, 1, sizeof(order));
	tap_int(wire_get_fetch(out.data, out.len, &order), ERR_OK,
	    "is read back");
	tap_str(order.head, "", "HEAD");
	tap_str(order.object_format, "sha256", "object format");
	tap_int(wire_get_fetch("{}", 2, &order), ERR_INPUT, "an empty one");
	buf_free(&out);
}

static enum err
take(void *arg, const char *name)
{
	struct buf *names = arg;

	buf_fmt(names, "%s,", name);
	return strcmp(name, "stop") == 0 ? ERR_LIMIT : ERR_OK;
}

static const struct {
	const char *body;
	enum err err;
	const char *names;
	long long count;
} catalogue_rows[] = {
	{ "{\"repositories\":[\"a\",\"b/c\"]}\n", ERR_OK, "a,b/c,", 2 },
	{ "{\"repositories\":[]}", ERR_OK, "", 0 },
	{ "{\"repositories\":null}", ERR_OK, "", 0 },
	{ "{\"repositories\":[\"a\",\"stop\",\"b\"]}", ERR_LIMIT, "a,stop,",
	    99 },
	{ "{\"repositories\":[\"a\",1]}", ERR_INPUT, "a,", 99 },
	{ "{\"repositories\":[\"a\\u0000b\"]}", ERR_INPUT, "", 99 },
	{ "{\"repositories\":{}}", ERR_INPUT, "", 99 },
	{ "{}", ERR_INPUT, "", 99 },
	{ "<html>", ERR_INPUT, "", 99 },
};

static void
catalogues(void)
{
	for (size_t i = 0; i < COUNT(catalogue_rows); i++) {
		struct buf names = { 0 };
		size_t count = 99;

		buf_puts(&names, "");
		tap_int(wire_get_catalogue(catalogue_rows[i].body,
			    strlen(catalogue_rows[i].body), take, &names,
			    &count),
		    catalogue_rows[i].err, "%s", catalogue_rows[i].body);
		tap_str(names.data, catalogue_rows[i].names, "its names");
		tap_int((long long)count, catalogue_rows[i].count, "count");
		buf_free(&names);
	}
}

static void
writing(void)
{
	struct buf out = { 0 };
	struct wire *wire = wire_new();

	wire_text(wire, "b", "q\"\\/\n\x01");
	wire_text(wire, "a", NULL);
	wire_begin_array(wire, "list");
	wire_number(wire, NULL, -1);
	wire_number(wire, NULL, INT64_MAX);
	wire_begin_object(wire, NULL);
	wire_bool(wire, "yes", true);
	wire_end(wire);
	wire_end(wire);
	wire_text(wire, "utf", "gr\303\274n");
	wire_text(wire, "bad", "a\xff\303\274");
	wire_begin_object(wire, "none");
	wire_end(wire);
	wire_finish(wire, &out);
	tap_str(out.data,
	    "{\"b\":\"q\\\"\\\\/\\n\\u0001\",\"a\":null,\"list\":"
	    "[-1,9223372036854775807,{\"yes\":true}],\"utf\":\"gr\303\274n\","
	    "\"bad\":\"a\\\\xff\\\\xc3\\\\xbc\",\"none\":{}}\n",
	    "keys in order, text escaped, bytes that are no UTF-8 shown");
	buf_reset(&out);
	wire_put_push(&(struct push_answer){ "a/b", 12, true, NULL, 0, 0 },
	    &out);
	tap_str(out.data,
	    "{\"repository\":\"a/b\",\"generation\":12,\"fenced\":true}\n",
	    "a push's answer");
	buf_reset(&out);
	wire_put_push(&(struct push_answer){ "a/b", 2, false, "new", 2, 1 },
	    &out);
	tap_str(out.data,
	    "{\"repository\":\"a/b\",\"generation\":2,\"fenced\":false,"
	    "\"note\":\"new\",\"wanted\":2,\"have\":1}\n",
	    "one that was waited for");
	buf_reset(&out);
	wire_put_error("bad_request", "\"x\" is missing", &out);
	tap_str(out.data,
	    "{\"error\":{\"code\":\"bad_request\",\"message\":"
	    "\"\\\"x\\\" is missing\"}}\n",
	    "an error");
	buf_reset(&out);
	wire_put_registry_error("UNAVAILABLE", "later", &out);
	tap_str(out.data,
	    "{\"errors\":[{\"code\":\"UNAVAILABLE\",\"message\":"
	    "\"later\",\"detail\":null}]}\n",
	    "a registry's error");
	buf_free(&out);
}

int
main(void)
{
	reports(wire_get_push, json_rows, COUNT(json_rows));
	reports(wire_get_push_form, form_rows, COUNT(form_rows));
	bounds();
	refs_and_fetch();
	catalogues();
	writing();
	return tap_done();
}

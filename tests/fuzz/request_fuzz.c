/* request_fuzz.c: no request breaks the parser or slips past the decision */
/* SPDX-License-Identifier: ISC */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/answer.h"
#include "fcgi/choose.h"
#include "fcgi/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct upstream old = { .name = "old", .weight = 1 };
static struct upstream new = { .name = "new", .weight = 1 };
static struct upstream replica = { .name = "replica", .weight = 1 };
static struct route routes[] = {
	{ .name = "stash",
	    .kind = ROUTE_GIT,
	    .prefix = "/scm/",
	    .primary = &old,
	    .replicas = { &replica },
	    .n_replicas = 1 },
	{ .name = "folded",
	    .kind = ROUTE_GIT,
	    .prefix = "/git/",
	    .primary = &old,
	    .fold_case = true },
	{ .name = "registry",
	    .kind = ROUTE_REGISTRY,
	    .prefix = "/v2/",
	    .primary = &old,
	    .to = &new },
};
static const struct conf conf = { .routes = routes, .n_routes = 3 };

static const char *const methods[] = { "GET", "POST", "PUT", "HEAD", "PATCH",
	"DELETE", "OPTIONS", "" };

static void
must(bool holds)
{
	if (!holds)
		abort();
}

/* The plain spelling of a repository means the same repository. */
static void
check_git_name(const struct request *request)
{
	static const char hex[] = "0123456789ABCDEF";
	struct request again;
	struct buf target = { 0 };

	buf_puts(&target, request->route->prefix);
	for (const char *at = request->name; *at != '\0'; at++) {
		unsigned char byte = (unsigned char)*at;
		char escaped[] = { '%', hex[byte >> 4], hex[byte & 15] };

		buf_add(&target, byte == '/' ? at : escaped,
		    byte == '/' ? 1 : sizeof(escaped));
	}
	buf_puts(&target, ".git/git-receive-pack");
	request_parse(&conf, "POST", target.data, &again);
	buf_free(&target);
	must(again.op == OP_GIT_RECEIVE_PACK);
	must(strcmp(again.name, request->name) == 0);
	must(again.canonical == (strchr(request->name, ';') == NULL));
}

static void
check_request(const struct request *request)
{
	enum op_class class = request_op_class(request->op);

	must((request->route == NULL) == (request->op == OP_NONE));
	must(request_op_word(request->op) != NULL);
	if (request->op == OP_NONE || request->op == OP_OTHER)
		must(request->name[0] == '\0');
	if (request->name[0] == '\0') {
		must(class == CLASS_OTHER || request->op == OP_GIT_WRITE_REFS ||
		    request->op == OP_GIT_RECEIVE_PACK);
	} else if (request->route->kind == ROUTE_GIT) {
		must(name_git(request->name));
		check_git_name(request);
	} else {
		must(name_registry(request->name));
	}
}

/* With nothing known of the repository no read leaves the primary. */
static void
check_decision(const struct request *request)
{
	static const struct client client = { "192.0.2.1", "1" };
	struct git_view git = { .known = true };
	struct registry_view registry = { 0 };
	struct decision decision;
	struct buf out = { 0 };

	if (request->route != NULL && request->route->kind == ROUTE_REGISTRY) {
		choose_registry(request, &registry, &decision);
		must(decision.places ==
		    (request_op_class(request->op) == CLASS_WRITE));
	} else {
		choose_git(request, &client, &git, &decision);
		must(!decision.raises_fence ||
		    request->op == OP_GIT_RECEIVE_PACK);
	}
	must((decision.upstream == NULL) == (request->route == NULL));
	must(decision.upstream == NULL || decision.upstream == old.name);
	answer_headers(ANSWER_ACCEL, &decision, NULL, &out);
	must(strstr(out.data, "\r\n\r\n") == out.data + out.len - 4);
	buf_free(&out);
}

/* The first byte chooses the method; all behind it is the target. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct request request;
	char *target;

	if (size == 0)
		return 0;
	target = mem_dup_n((const char *)data + 1, size - 1);
	request_parse(&conf, methods[data[0] % 8], target, &request);
	check_request(&request);
	check_decision(&request);
	free(target);
	return 0;
}

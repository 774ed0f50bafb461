/* webconf_nginx_test.c: nginx's part that is printed */
/* SPDX-License-Identifier: ISC */
#include <string.h>

#include "fcgi/webconf.h"
#include "tests/unit/tap.h"

static struct upstream upstreams[] = {
	{ .name = "master", .url = "http://git-master:7990" },
	{ .name = "slave-1", .url = "http://[::1]:8080" },
	{ .name = "slave-2", .url = "https://slave.example/base" },
	{ .name = "old", .url = "http://old.example" },
	{ .name = "new", .url = "https://new.example", .ca_file = "/ca.pem" },
	{ .name = "unused", .url = "https://unused.example" },
};

static struct route routes[] = {
	{ .name = "git",
	    .kind = ROUTE_GIT,
	    .prefix = "/scm/",
	    .primary = &upstreams[0],
	    .replicas = { &upstreams[1], &upstreams[2] },
	    .n_replicas = 2 },
	{ .name = "registry",
	    .kind = ROUTE_REGISTRY,
	    .prefix = "/v2/",
	    .primary = &upstreams[3],
	    .to = &upstreams[4] },
};

static struct conf conf = { .file = "reproute.conf",
	.upstreams = upstreams,
	.n_upstreams = 6,
	.routes = routes,
	.n_routes = 2,
	.push = { "/token" } };

static struct webconf webconf = { .conf = &conf,
	.command = "reproute webconf nginx",
	.mode = "auth_request",
	.socket = "/run/fcgi.sock",
	.push_socket = "/run/push.sock",
	.feed_socket = "/run/feed.sock",
	.access_log = "/var/log/access" };

/* What must be printed, and what must not: http, server, server of accel. */
static const struct {
	int part;
	const char *claim, *text;
	bool there;
} lines[] = {
	{ 0, "a primary alone",
	    "upstream reproute.master {\n\tserver "
	    "git-master:7990;\n\tkeepalive",
	    true },
	{ 0, "a replica with its standby",
	    "reproute.git.slave-1 {\n\tserver "
	    "[::1]:8080 max_fails=1 fail_timeout=1s;\n\tserver "
	    "git-master:7990 backup;",
	    true },
	{ 0, "another path has no standby", "slave.example:443 max_fails",
	    false },
	{ 0, "no upstream that no route has", "unused", false },
	{ 0, "the white list", "\tslave-1 @slave-1;\n", true },
	{ 0, "hold", "\thold @.busy.$reproute_kind;\n", true },
	{ 0, "a push's first request is none",
	    "\t\"~^\\S+ \\S*git-receive-pack\" no;\n"
	    "\t\"~^(GET|HEAD) \" yes;",
	    true },
	{ 0, "undecided, in the log",
	    "\t\"\" undecided;\n}\nlog_format reproute_feed", true },
	{ 0, "undecided reads", "\"~ git yes$\" @master;", true },
	{ 0, "a migrating registry never crosses", "@old;\n}\nmap", false },
	{ 0, "the feed's form",
	    "'$reproute_upstream done=$reproute_done "
	    "addr=$remote_addr served=$reproute_served '\n"
	    "\t'unfenced=$reproute_unfenced';",
	    true },
	{ 0, "a read that broke off", "\"~^- - yes one 2.* X$\" 1;", true },
	{ 0, "writes wait for a decision", "\"git  no\" git;", false },
	{ 1, "a prefix before the site's patterns", "location ^~ /scm/ {",
	    true },
	{ 1, "path parameters", "location ~ \"(?s)^(?:/scm/|", true },
	{ 1, "asks", "auth_request /reproute/ask;", true },
	{ 1, "with any body",
	    "location = /reproute/ask {\n\tinternal;\n"
	    "\tclient_max_body_size 0;\n",
	    true },
	{ 1, "jumps", "try_files /.reproute/no/such/file $reproute_target;",
	    true },
	{ 1, "the router", "fastcgi_pass unix:/run/fcgi.sock;", true },
	{ 1, "the push endpoint", "fastcgi_pass unix:/run/push.sock;", true },
	{ 1, "who must authorize", "authorize = \"webserver\"", true },
	{ 1, "the token is ours",
	    "proxy_set_header X-Reproute-Token $reproute_token;", true },
	{ 1, "a path", "https://$reproute_to/base$request_uri;", true },
	{ 1, "TLS by name", "proxy_ssl_name new.example;", true },
	{ 1, "is verified", "proxy_ssl_verify on;", true },
	{ 1, "with its own authorities",
	    "proxy_ssl_trusted_certificate /ca.pem;", true },
	{ 1, "registry errors",
	    "return 503 '{\"errors\":[{\"code\":"
	    "\"UNAVAILABLE\"",
	    true },
	{ 1, "a replica that hangs",
	    "\tproxy_read_timeout 600s;\n\tproxy_request_buffering on;", true },
	{ 1, "a primary may think",
	    "\tproxy_read_timeout 3600s;\n\tproxy_request_buffering off;",
	    true },
	{ 1, "streams", "proxy_request_buffering off;", true },
	{ 1, "the status page, for this host only",
	    "location = /reproute/status {\n\tallow 127.0.0.0/8;\n"
	    "\tallow ::1;\n\tdeny all;\n",
	    true },
	{ 1, "asked of the router", "REPROUTE_ANSWER status;", true },
	{ 2, "in accel mode, too", "REPROUTE_ANSWER status;", true },
	{ 1, "no @hold of accel", "location @hold", false },
	{ 2, "accel's hold", "location @hold {", true },
	{ 2, "accel asks nobody else", "auth_request /", false },
	{ 2, "accel says that it spools", "whole body on disk", true },
	{ 2, "accel without the router",
	    "error_page 502 504 = $reproute_undecided;", true },
};

static void
test_lines(void)
{
	struct buf out[3] = { 0 };

	for (int i = 0; i < 3; i++) {
		webconf.mode = webconf_nginx.modes[i == 2];
		if (!tap_ok(webconf_nginx.parts[i > 0].print(&webconf,
				&out[i]) == ERR_OK,
			"part %d is printed", i))
			return;
	}
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		tap_ok((strstr(out[lines[i].part].data, lines[i].text) !=
			   NULL) == lines[i].there,
		    "%s", lines[i].claim);
	for (int i = 0; i < 3; i++)
		buf_free(&out[i]);
}

static void
test_no_push(void)
{
	struct buf out = { 0 };

	conf.push.token_file = NULL;
	tap_ok(webconf_nginx.parts[1].print(&webconf, &out) == ERR_OK &&
		strstr(out.data, "/reproute/push") == NULL,
	    "without a token file there is no push endpoint");
	buf_free(&out);
}

int
main(void)
{
	test_lines();
	test_no_push();
	return tap_done();
}

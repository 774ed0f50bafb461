/* webconf_test.c: the web server's part that is printed */
/* SPDX-License-Identifier: ISC */
#include <stdlib.h>
#include <string.h>

#include "conf/rules.h"
#include "fcgi/webconf.h"
#include "tests/unit/tap.h"
#include "tests/unit/webconf_sample.h"

static struct webconf webconf = { .conf = &sample_conf,
	.command = "reproute webconf lighttpd --part main",
	.app = "socket",
	.socket = "/run/fcgi.sock",
	.feed_socket = "/run/feed.sock",
	.script = "/etc/route.lua",
	.access_log = "/log/access",
	.bin_dir = "/usr/bin",
	.sbin_dir = "/usr/sbin",
	.libexec_dir = "/usr/libexec" };

static const struct {
	const char *url, *host;
	unsigned port;
	const char *path;
	bool tls;
} targets[] = {
	{ "http://git-master:7990", "git-master", 7990, "", false },
	{ "http://git-master", "git-master", 80, "", false },
	{ "https://git.example", "git.example", 443, "", true },
	{ "https://git.example:8443/x/y", "git.example", 8443, "/x/y", true },
	{ "http://10.0.0.1/base", "10.0.0.1", 80, "/base", false },
	{ "http://[2001:db8::1]", "2001:db8::1", 80, "", false },
	{ "http://[::1]:5000/a:1", "::1", 5000, "/a:1", false },
};

static void
test_targets(void)
{
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		struct upstream upstream = { .name = "x",
			.url = (char *)targets[i].url };
		struct webconf_target got;

		if (!tap_ok(webconf_target(&upstream, &got) == ERR_OK, "%s",
			targets[i].url))
			continue;
		tap_str(got.host, targets[i].host, "its host");
		tap_int(got.port, targets[i].port, "its port");
		tap_str(got.path, targets[i].path, "its path");
		tap_ok(got.tls == targets[i].tls, "its scheme");
	}
}

/* What lighttpd's $HTTP["url"] is, and whether the router is asked. */
static const struct {
	const char *path;
	bool asked;
} paths[] = {
	{ "/scm/a/b.git/info/refs", true },
	{ "/scm/", true },
	{ "/scm", false },
	{ "/scmx/a", false },
	{ "/x/scm/a", false },
	{ "/SCM/a", false },
	{ "/v2/", true },
	{ "/v2", true },
	{ "/v2x", false },
	{ "/v2/a/manifests/1", true },
	{ "/a.b/c+d/e", true },
	{ "/a.b/c+d", false },
	{ "/aXb/c+d/e", false },
	{ "/a.b/ccd/e", false },
	{ "/", false },
	{ "/index.html", false },
	{ "/reproute/push", false },
	/* backends that drop path parameters read these as /scm/a */
	{ "/scm;x=1/a", true },
	{ "/y/..;/scm/a", true },
	{ "/y/..;x/scm;y/a", true },
	{ "/a.b;x/c+d/e", true },
	{ "/a.b/c+d;x/e", true },
	{ "/;jsessionid=1", false },
	{ "/page;jsessionid=1/x", false },
};

/* The pattern of the condition on paths, as lighttpd has it. */
static char *
condition(const char *text)
{
	const char *from = strstr(text, "\"url\"] !~ \"");
	const char *to;

	if (from == NULL)
		return mem_dup("");
	from = strchr(from, '~') + 3;
	to = strchr(from, '"');
	return mem_dup_n(from, (size_t)(to - from));
}

static void
test_condition(const char *text)
{
	struct rules *rules = rules_new("", 100, false);
	char *pattern = condition(text);

	if (tap_ok(rules_add(rules, RULES_EXCLUDE, NULL, pattern) == ERR_OK,
		"the condition compiles: %s", pattern))
		for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
			tap_ok((rules_judge(rules, paths[i].path, NULL) !=
				   RULE_EXCLUDED) == paths[i].asked,
			    "%s is %sthe router's", paths[i].path,
			    paths[i].asked ? "" : "not ");
	rules_free(rules);
	free(pattern);
}

/* What must be printed, and what must not. */
static const struct {
	const char *claim, *text;
	bool there;
} lines[] = {
	{ "an upstream by name", "\"host\" => \"git-master\", \"port\" => 7990",
	    true },
	{ "chosen by the header only",
	    "$REQUEST_HEADER["
	    "\"X-Reproute-Upstream\"] == \"master\"",
	    true },
	{ "an upstream with a path is mapped",
	    "\"map-urlpath\" => (\"/\" => \"/base/\")", true },
	{ "an IPv6 address", "\"host\" => \"::1\", \"port\" => 5000", true },
	{ "the port of http", "\"host\" => \"new.example\", \"port\" => 80",
	    true },
	{ "no upstream that no route has", "unused", false },
	{ "the router's socket", "\"socket\" => \"/run/fcgi.sock\"", true },
	{ "the feed, and the site's log",
	    "|exec /usr/bin/reproute feed --log /log/access /run/feed.sock",
	    true },
	{ "which lighttpd does not start", "bin-path", false },
	{ "the feed's form",
	    "\"reproute-feed %{REPROUTE_TOKEN}e %s %D "
	    "%{REPROUTE_CHOSEN}e done=%X addr=%h "
	    "served=%{REPROUTE_UPSTREAM}e\t%h ",
	    true },
	{ "the script", "magnet.attract-raw-url-to = (\"/etc/route.lua\")",
	    true },
	{ "the script's module first",
	    "server.modules := (\"mod_magnet\") + server.modules", true },
	{ "the push endpoint", "\"/usr/libexec/reproute-push\"", true },
	{ "no configuration but the default", "REPROUTE_CONF", false },
	{ "who must authorize", "Route git says authorize", true },
	{ "and only where there are replicas", "Route deep says", false },
	{ "no HTTP/2", "\"server.h2proto\" => \"disable\"", true },
	{ "raw paths", "\"url-normalize\" => \"disable\"", true },
	{ "its command",
	    "# Printed by: reproute webconf lighttpd --part main\n", true },
	{ "its own errors", "server.error-handler = \"/reproute/failed\"",
	    true },
	{ "streams", "server.stream-request-body = 2", true },
	{ "the status page", "$HTTP[\"url\"] == \"/reproute/status\" {\n",
	    true },
	{ "for this host only",
	    "  $HTTP[\"remoteip\"] !~ \"^(127[.]|::1$)\" {\n"
	    "    url.access-deny = (\"\")\n",
	    true },
};

static void
test_lighttpd(void)
{
	struct buf out = { 0 };

	if (!tap_ok(webconf_lighttpd.parts[0].print(&webconf, &out) == ERR_OK,
		"printed"))
		return;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		tap_ok((strstr(out.data, lines[i].text) != NULL) ==
			lines[i].there,
		    "%s", lines[i].claim);
	test_condition(out.data);
	buf_free(&out);
}

/* The block of a router that lighttpd starts; conf_file: another one. */
static const struct {
	const char *claim, *conf_file, *text;
} started[] = {
	{ "started by lighttpd, several", NULL,
	    "fastcgi.server = (\"/\" => ((\"socket\" => \"/run/fcgi.sock\",\n"
	    "    \"bin-path\" => \"/usr/sbin/reproute-fcgi\", "
	    "\"max-procs\" => 4,\n"
	    "    \"mode\" => \"authorizer\"" },
	{ "which says what that needs", NULL,
	    "  # lighttpd starts the router, as its own user: "
	    "/usr/sbin/reproute-fcgi\n"
	    "  # must be setgid reproute" },
	{ "with another configuration", "/srv/reproute.conf",
	    "\"max-procs\" => 4,\n"
	    "    \"bin-environment\" => "
	    "(\"REPROUTE_CONF\" => \"/srv/reproute.conf\"),\n"
	    "    \"mode\" => \"authorizer\"" },
	{ "which says that setgid does not go with it", "/srv/reproute.conf",
	    "  # A setgid one would not believe REPROUTE_CONF" },
};

static void
test_started(void)
{
	struct webconf one = webconf;
	struct buf out = { 0 };

	tap_str(webconf_lighttpd.apps[0], "socket", "the default app");
	one.app = webconf_lighttpd.apps[1];
	for (size_t i = 0; i < sizeof(started) / sizeof(started[0]); i++) {
		buf_reset(&out);
		one.conf_file = started[i].conf_file;
		tap_ok(webconf_lighttpd.parts[0].print(&one, &out) == ERR_OK &&
			strstr(out.data, started[i].text) != NULL,
		    "%s", started[i].claim);
	}
	buf_reset(&out);
	one.conf_file = NULL;
	tap_ok(webconf_lighttpd.parts[0].print(&one, &out) == ERR_OK &&
		strstr(out.data, "REPROUTE_CONF") == NULL,
	    "no configuration but the default");
	buf_free(&out);
}

static void
test_script(void)
{
	struct buf out = { 0 };

	(void)!webconf_lighttpd.parts[1].print(&webconf, &out);
	tap_ok(strstr(out.data, "[\"slave-1\"] = true") != NULL,
	    "the script knows each upstream");
	tap_ok(strstr(out.data, "unused") == NULL, "but those of a route only");
	tap_ok(strstr(out.data, "registries = {\n  [\"/v2/\"] = \"old\",\n}") !=
		NULL,
	    "and whose errors are JSON");
	tap_ok(strstr(out.data, "primaries = {\n  [\"/scm/\"] = \"master\",") !=
		NULL,
	    "and who serves what a replica did not");
	tap_ok(strstr(out.data, "'{\"errors\":[{\"code\":\"UNAVAILABLE\"") !=
		NULL,
	    "it holds a registry's error");
	buf_free(&out);
}

/* Another configuration, one thing being different each time. */
static void
test_variants(void)
{
	struct buf out = { 0 };

	webconf.conf_file = "/srv/reproute.conf";
	tap_ok(webconf_lighttpd.parts[0].print(&webconf, &out) == ERR_OK &&
		strstr(out.data,
		    "\"REPROUTE_CONF\" => \"/srv/reproute.conf\"") != NULL,
	    "the push endpoint is told another configuration");
	buf_reset(&out);
	sample_conf.push.token_file = NULL;
	tap_ok(webconf_lighttpd.parts[0].print(&webconf, &out) == ERR_OK &&
		strstr(out.data, "reproute-push") == NULL &&
		strstr(out.data, "else $HTTP[\"url\"] !~") != NULL,
	    "without a token file there is no push endpoint");
	buf_reset(&out);
	sample_routes[2].prefix = "/";
	tap_ok(webconf_lighttpd.parts[0].print(&webconf, &out) == ERR_OK &&
		strstr(out.data, "|/)\" {") != NULL,
	    "the prefix / is everything");
	sample_routes[2].prefix = "/a.b/c+d/";
	sample_upstreams[0].url = "https://git.example";
	tap_ok(webconf_lighttpd.parts[0].print(&webconf, &out) == ERR_CONF &&
		strstr(err_text(), "upstream master") != NULL &&
		strstr(err_text(), "stunnel") != NULL,
	    "an upstream with TLS is refused, with a way out");
	sample_upstreams[0].url = "http://git-master:7990";
	buf_free(&out);
}

static const struct {
	const char *path;
	enum err want;
} sockets[] = {
	{ "/run/reproute/fcgi.sock", ERR_OK },
	{ "/a-b_c.d+e@f,g=h", ERR_OK },
	{ "run/fcgi.sock", ERR_CONF },
	{ "", ERR_CONF },
	{ "/run/a b", ERR_CONF },
	{ "/run/\"", ERR_CONF },
	{ "/run/'", ERR_CONF },
	{ "/run/$(x)", ERR_CONF },
	{ "/run/a;b", ERR_CONF },
	{ "/run/a\nb", ERR_CONF },
};

static const struct {
	const char *address;
	enum err want;
} addresses[] = {
	{ "127.0.0.1:9010", ERR_OK },
	{ "[::1]:9010", ERR_OK },
	{ "127.0.0.1", ERR_CONF },
	{ "localhost:9010", ERR_CONF },
	{ "1:2/ evil", ERR_CONF },
};

static void
test_paths(void)
{
	for (size_t i = 0; i < sizeof(sockets) / sizeof(sockets[0]); i++) {
		struct webconf one = webconf;

		one.socket = sockets[i].path;
		tap_int(webconf_check(&one), sockets[i].want,
		    "a path %zu is "
		    "%s",
		    i, sockets[i].want == ERR_OK ? "taken" : "refused");
		one.socket = webconf.socket;
		one.sbin_dir = sockets[i].path;
		tap_int(webconf_check(&one), sockets[i].want,
		    "and of a program");
		one.sbin_dir = webconf.sbin_dir;
		one.bin_dir = sockets[i].path;
		tap_int(webconf_check(&one), sockets[i].want,
		    "and for the "
		    "shell");
	}
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		struct webconf one = webconf;

		one.address = addresses[i].address;
		tap_int(webconf_check(&one), addresses[i].want, "%s",
		    one.address);
	}
}

static void
test_undecided(void)
{
	struct route routes[] = { { .name = "one" },
		{ .name = "two", .undecided_writes = UNDECIDED_PRIMARY } };
	const struct conf conf = { .routes = routes, .n_routes = 2 };
	struct buf out = { 0 };

	webconf_no_undecided(&conf, &out);
	tap_ok(strstr(out.data, "of route two cannot be had here") != NULL &&
		strstr(out.data, "route one") == NULL,
	    "what a server cannot do is said in its part");
	buf_free(&out);
}

int
main(void)
{
	test_targets();
	test_lighttpd();
	test_started();
	test_script();
	test_variants();
	test_paths();
	test_undecided();
	return tap_done();
}

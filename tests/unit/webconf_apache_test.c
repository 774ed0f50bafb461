/* webconf_apache_test.c: Apache's part that is printed */
/* SPDX-License-Identifier: ISC */
#include <stdlib.h>
#include <string.h>

#include "conf/rules.h"
#include "fcgi/webconf.h"
#include "tests/unit/tap.h"
#include "tests/unit/webconf_sample.h"

#define SERVER 0
#define SITE 1

static struct webconf webconf = { .conf = &sample_conf,
	.command = "reproute webconf apache",
	.app = "mod_fcgid",
	.mode = "users",
	.address = "127.0.0.1:9010",
	.feed_socket = "/run/feed.sock",
	.bin_dir = "/usr/bin",
	.sbin_dir = "/usr/sbin",
	.libexec_dir = "/usr/libexec" };

static enum err
print(int part, struct buf *out)
{
	buf_reset(out);
	return webconf_apache.parts[part].print(&webconf, out);
}

/* What must be printed, and what must not; app NULL: for both. */
static const struct {
	int part;
	const char *app, *claim, *text;
	bool there;
} lines[] = {
	{ SERVER, NULL, "the command", "\"reproute webconf apache\"", true },
	{ SERVER, NULL, "a primary, by its name only",
	    "BalancerMember \"http://git-master:7990\" route=master status=+N "
	    "\\\n    connectiontimeout=5 timeout=3600 ttl=3 retry=0\n",
	    true },
	{ SERVER, NULL, "a replica with a path, and who stands in for it",
	    "BalancerMember \"http://10.0.0.1/base\" route=slave-1 status=+N "
	    "\\\n    connectiontimeout=2 timeout=600 ttl=3 retry=1 "
	    "redirect=master\n",
	    true },
	{ SERVER, NULL, "nobody stands in for a registry",
	    "BalancerMember \"http://new.example\" route=new status=+N "
	    "\\\n    connectiontimeout=5 timeout=3600 ttl=3 retry=0\n",
	    true },
	{ SERVER, NULL, "a session no URL can name",
	    "\"stickysession=REPROUTE|no request\" nofailover=On", true },
	{ SERVER, NULL, "no upstream that no route has", "unused", false },
	{ SERVER, NULL, "no TLS where nobody has it", "SSLProxy", false },
	{ SERVER, NULL, "the feed",
	    "GlobalLog \"|/usr/bin/reproute feed /run/feed.sock\"", true },
	{ SERVER, NULL, "the feed's form",
	    "\"reproute-feed %{REPROUTE_TOKEN}e %>s %D "
	    "%{REPROUTE_UPSTREAM}e done=%X addr=%{BALANCER_WORKER_NAME}e "
	    "served=%{BALANCER_WORKER_ROUTE}e\"",
	    true },
	{ SITE, NULL, "the site's access log",
	    "upstream=%{REPROUTE_UPSTREAM}e reason=%{REPROUTE_REASON}e\" "
	    "combined\n",
	    true },
	{ SERVER, NULL, "a CGI module", "a2enmod cgid", true },
	{ SERVER, "mod_fcgid", "the router's processes",
	    "FcgidCmdOptions /usr/sbin/reproute-fcgi", true },
	{ SERVER, "mod_fcgid", "no other module", "authnz_fcgi", false },
	{ SERVER, "mod_authnz_fcgi", "the router's address",
	    "fcgi://127.0.0.1:9010/", true },
	{ SERVER, "mod_authnz_fcgi", "no other module", "fcgid_module", false },
	{ SITE, NULL, "raw paths", "AllowEncodedSlashes NoDecode\n", true },
	{ SITE, NULL, "double slashes", "MergeSlashes Off\n", true },
	{ SITE, NULL, "as they came", "\"balancer://reproute-git/$1\" nocanon",
	    true },
	{ SITE, NULL, "our cookie first",
	    "edit Cookie \"^\" \"REPROUTE=x.%{REPROUTE_UPSTREAM}e; \"", true },
	{ SITE, NULL, "the site's requirements too", "AuthMerging And", true },
	{ SITE, NULL, "no other spelling", "Require not env reproute_outside",
	    true },
	{ SITE, NULL, "bodies of any size", "LimitRequestBody 0\n", true },
	{ SITE, NULL, "the client's host", "ProxyPreserveHost On", true },
	{ SITE, NULL, "a registry's errors",
	    "ErrorDocument 503 '{\"errors\":[{\"code\":\"UNAVAILABLE\"", true },
	{ SITE, NULL, "git's errors", "ErrorDocument 503 'nobody can serve",
	    true },
	{ SITE, NULL, "the push endpoint", "\"/usr/libexec/reproute-push\"",
	    true },
	{ SITE, NULL, "no configuration but the default", "REPROUTE_CONF",
	    false },
	{ SITE, NULL, "the status page for this host", "Require local", true },
	{ SITE, "mod_fcgid", "the router is asked",
	    "FcgidAccessChecker \"/usr/sbin/reproute-fcgi --threads 2\"",
	    true },
	{ SITE, "mod_fcgid", "the site's passwords stay", "AuthType None",
	    false },
	{ SITE, "mod_authnz_fcgi", "the router is asked", "Require Reproute\n",
	    true },
	{ SITE, "mod_authnz_fcgi", "the site's passwords stay", "AuthType None",
	    false },
};

static void
test_lines(const char *app)
{
	struct buf out = { 0 };

	webconf.app = app;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (lines[i].app != NULL && strcmp(lines[i].app, app) != 0)
			continue;
		tap_ok(print(lines[i].part, &out) == ERR_OK &&
			(strstr(out.data, lines[i].text) != NULL) ==
			    lines[i].there,
		    "%s: %s", app, lines[i].claim);
	}
	webconf.app = "mod_fcgid";
	buf_free(&out);
}

/* Of which route is it, decoded by Apache or as it came?  NULL: of none. */
static const struct {
	const char *path, *route;
} paths[] = {
	{ "/scm/a/b.git/info/refs", "git" },
	{ "/scm/", "git" },
	{ "/scm", NULL },
	{ "/scmx/a", NULL },
	{ "/x/scm/a", NULL },
	{ "/SCM/a", NULL },
	{ "/scm/a\tb", "git" },
	{ "/v2/", "registry" },
	{ "/v2", "registry" },
	{ "/v2x", NULL },
	{ "/v2/a/manifests/1", "registry" },
	{ "/a.b/c+d/e", "deep" },
	{ "/aXb/c+d/e", NULL },
	{ "/", NULL },
	{ "/reproute/push", NULL },
	{ "/scm;x=1/a", "git" },
	{ "/y/..;/scm/a", "git" },
	{ "/page;jsessionid=1/x", NULL },
	/* what a raw target may look like, and a decoded path hardly ever */
	{ "/%73cm/a", "git" },
	{ "/s%63%6D/a", "git" },
	{ "/s%63%6d/a", "git" },
	{ "/x/../scm/a", "git" },
	{ "/x/%2e%2E/scm/a", "git" },
	{ "/v2?x=1", "registry" },
	{ "/%762?x=1", "registry" },
	{ "/%61%2eb/c%2Bd/e", "deep" },
	{ "/x?a=/../b", NULL },
	{ "/x/a%2Fb", NULL },
};

/* The pattern of a route's line, which begins with what. */
static char *
pattern_of(const char *text, const char *what, const char *route)
{
	char *balancer = mem_fmt("\"balancer://reproute-%s/", route);
	const char *at = strstr(text, balancer);

	free(balancer);
	if (at == NULL)
		return mem_dup("");
	/* the line of ProxyPassMatch, or the section behind it */
	while (at > text && at[-1] != '\n')
		at--;
	at = strstr(at, what);
	if (at == NULL)
		return mem_dup("");
	at += strlen(what);
	return mem_dup_n(at, strcspn(at, "\""));
}

static bool
takes(const char *pattern, const char *path)
{
	struct rules *rules = rules_new("", 100, false);
	bool taken = rules_add(rules, RULES_EXCLUDE, NULL, pattern) == ERR_OK &&
	    rules_judge(rules, path, NULL) == RULE_EXCLUDED;

	rules_free(rules);
	return taken;
}

/*
 * A spelling may be taken for more than one route, since both of Apache's
 * comparisons have to agree; but never by none.
 */
static void
test_patterns(void)
{
	struct buf out = { 0 };

	(void)!print(SITE, &out);
	for (size_t i = 0; i < 3; i++) {
		char *proxy = pattern_of(out.data, "ProxyPassMatch \"",
		    sample_routes[i].name);
		char *asked = pattern_of(out.data, "<LocationMatch \"",
		    sample_routes[i].name);

		tap_ok(proxy[0] != '\0', "%s has a pattern",
		    sample_routes[i].name);
		tap_str(asked, proxy, "what is proxied is asked for");
		for (size_t j = 0; j < sizeof(paths) / sizeof(paths[0]); j++) {
			const char *path = paths[j].path;
			bool own = paths[j].route != NULL &&
			    strcmp(paths[j].route, sample_routes[i].name) == 0;

			if (own || paths[j].route == NULL)
				tap_ok(takes(proxy, path) == own, "%s %s %s's",
				    path, own ? "is" : "is not",
				    sample_routes[i].name);
		}
		free(proxy);
		free(asked);
	}
	buf_free(&out);
}

/* Another configuration, one thing being different each time. */
static void
test_variants(void)
{
	struct buf out = { 0 };

	webconf.conf_file = "/srv/reproute.conf";
	tap_ok(print(SERVER, &out) == ERR_OK &&
		strstr(out.data, "InitialEnv REPROUTE_CONF=/srv/repr") != NULL,
	    "the router is told another configuration");
	tap_ok(print(SITE, &out) == ERR_OK &&
		strstr(out.data, "SetEnv REPROUTE_CONF \"/srv/repr") != NULL,
	    "and so is the push endpoint");
	webconf.conf_file = NULL;
	sample_conf.push.token_file = NULL;
	tap_ok(print(SITE, &out) == ERR_OK &&
		strstr(out.data, "reproute-push") == NULL,
	    "without a token file there is no push endpoint");
	sample_conf.push.token_file = "/token";
	sample_routes[2].prefix = "/";
	tap_ok(print(SITE, &out) == ERR_OK &&
		strstr(out.data,
		    "\"(?s)^(?!/reproute/(?:push|status)$)/(.*)$") != NULL,
	    "the prefix / is everything but our own pages");
	sample_routes[2].prefix = "/a.b/c+d/";
	webconf.app = "mod_authnz_fcgi";
	webconf.mode = "anonymous";
	tap_ok(print(SITE, &out) == ERR_OK &&
		strstr(out.data, "AuthType None") != NULL &&
		strstr(out.data, "TAKES THE PLACE OF APACHE'S OWN PASS") !=
		    NULL,
	    "without passwords, and that is said");
	webconf.app = "mod_fcgid";
	webconf.mode = "users";
	sample_routes[0].name = "a-name-that-is-much-longer-than-apache-allows";
	tap_int(print(SERVER, &out), ERR_CONF, "a name too long for Apache");
	sample_routes[0].name = "git";
	buf_free(&out);
}

static void
test_tls(void)
{
	struct buf out = { 0 };

	sample_upstreams[3].url = "https://new.example";
	tap_ok(print(SERVER, &out) == ERR_OK &&
		strstr(out.data, "SSLProxyVerify require") != NULL &&
		strstr(out.data,
		    "SSLProxyCACertificateFile "
		    "\"/etc/ssl/certs/ca-certificates.crt\"") != NULL,
	    "an upstream with TLS has to prove who it is");
	tap_ok(print(SITE, &out) == ERR_OK &&
		strstr(out.data, "ProxyPreserveHost Off") != NULL,
	    "by its own name");
	sample_upstreams[3].ca_file = "/etc/own.pem";
	tap_ok(print(SERVER, &out) == ERR_OK &&
		strstr(out.data, "CertificateFile \"/etc/own.pem\"") != NULL,
	    "to its own authority");
	sample_upstreams[2].url = "https://old.example";
	tap_ok(print(SERVER, &out) == ERR_CONF &&
		strstr(err_text(), "/etc/own.pem") != NULL,
	    "two authorities in one route are refused");
	sample_upstreams[2].url = "http://[::1]:5000";
	sample_upstreams[3].url = "http://new.example";
	sample_upstreams[3].ca_file = NULL;
	buf_free(&out);
}

int
main(void)
{
	test_lines("mod_fcgid");
	test_lines("mod_authnz_fcgi");
	test_patterns();
	test_variants();
	test_tls();
	return tap_done();
}

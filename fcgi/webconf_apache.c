/* webconf_apache.c: Apache's part for the server: balancers, router, logs */
/* SPDX-License-Identifier: ISC */
#include <string.h>

#include "fcgi/webconf_apache.h"

/*
 * The way of a request (httpd 2.4.71): mod_proxy maps it to the balancer of
 * its route; the router is asked in the phase of access control, and its
 * answer stands in the environment; mod_headers makes a cookie of it, which
 * mod_proxy_balancer takes for a session, and so for the member's name.
 */

/* "balancer://reproute-NAME" has 64 bytes at most (httpd's mod_proxy.h). */
#define MAX_BALANCER_NAME 43

static const char head[] =
    "# Apache asks reproute-fcgi for every request below the prefixes of the\n"
    "# configuration's routes, and proxies it to the upstream that it names.\n"
    "# This is the server's half: put it into\n"
    "# /etc/apache2/conf-available/reproute.conf, for a2enconf.  The other\n"
    "# half (--part site) is included in each VirtualHost.\n"
    "#\n"
    "# Printed by \"%s\".\n"
    "# Print both halves anew when upstreams or routes change.\n"
    "\n"
    "# What is missing is said now, and not by the first request.\n";

static const char balancers[] =
    "\n"
    "# One balancer a route, so that no request crosses to another's side.\n"
    "# status=+N (draining): a member takes what names it, and nothing else;\n"
    "# \"hold\", a name that this file is too old to know, and no name at all\n"
    "# reach nobody: 503.  The name comes in a cookie that the site's half\n"
    "# sets.  The second word of stickysession is a path parameter's that\n"
    "# would choose, too: no request can hold it, since it holds a space.\n"
    "# redirect: a replica out of reach is replaced by the primary in the\n"
    "# same request; nofailover: a primary by nobody.  retry: for how long (s)\n"
    "# one that failed is not tried.  ttl: an upstream may close a connection\n"
    "# that is kept, and the request sent at that moment would be lost.\n";

static const char router_own[] =
    "\n"
    "# Apache starts the router.  A process has one request at a time, so\n"
    "# that its threads are few and processes many; when all are busy, a\n"
    "# request waits a second (mod_fcgid) for one more, hence MinProcesses.\n"
    "FcgidCmdOptions %s/reproute-fcgi \\\n"
    "  MaxProcesses 48 MinProcesses 16 IdleTimeout 3600 \\\n"
    "  MaxProcessLifetime 0 MaxRequestsPerProcess 0 \\\n"
    "  ConnectTimeout 2 IOTimeout 20";

static const char router_score[] =
    "\n"
    "# As many as come at once may be started at once: at mod_fcgid's own\n"
    "# limit of 10 a burst of clients would wait.  For the whole server.\n"
    "FcgidSpawnScoreUpLimit 128\n";

static const char router_tcp[] =
    "\n"
    "# The router is a service of its own; this module speaks TCP only, so\n"
    "# that every user of this host can reach it: see the manual.  The one is\n"
    "# asked by sites that have users, the other by those that have none.\n"
    "AuthnzFcgiDefineProvider authz Reproute fcgi://%s/\n"
    "AuthnzFcgiDefineProvider authn ReprouteAnonymous fcgi://%s/\n";

/* Trailing words of the feed line are as sync/feed.c reads them. */
static const char logs[] =
    "\n"
    "# GlobalLog: for all sites, beside their own logs.\n"
    "# When a write is over, or a replica failed, reproute-syncd is told: that\n"
    "# ends fences early, and takes the replica out.  Over HTTP/2 Apache does\n"
    "# not know how an answer ended (done=-), so that there only hooks end a\n"
    "# push's fence, or the route's fence_s.\n"
    "LogFormat \"reproute-feed %%{REPROUTE_TOKEN}e %%>s %%D "
    "%%{REPROUTE_UPSTREAM}e done=%%X addr=%%{BALANCER_WORKER_NAME}e "
    "served=%%{BALANCER_WORKER_ROUTE}e\" reproute_feed\n"
    "GlobalLog \"|%s/reproute feed %s\" reproute_feed "
    "\"expr=-n reqenv('REPROUTE_TOKEN') || "
    "(-n reqenv('BALANCER_WORKER_ROUTE') && "
    "(%%{REQUEST_STATUS} -in {'502','503','504'} || "
    "reqenv('BALANCER_WORKER_ROUTE') != reqenv('REPROUTE_UPSTREAM')))\"\n";

bool
webconf_apache_starts(const struct webconf *webconf)
{
	return strcmp(webconf->app, "mod_fcgid") == 0;
}

size_t
webconf_apache_members(const struct route *route,
    const struct upstream *out[MAX_MEMBERS])
{
	size_t n = 0;

	out[n++] = route->primary;
	for (size_t i = 0; i < route->n_replicas; i++)
		out[n++] = route->replicas[i];
	if (route->to != NULL && route->to != route->primary)
		out[n++] = route->to;
	return n;
}

bool
webconf_apache_has_tls(const struct route *route)
{
	const struct upstream *members[MAX_MEMBERS];
	size_t n = webconf_apache_members(route, members);

	while (n > 0)
		if (webconf_is_tls(members[--n]))
			return true;
	return false;
}

static void
put_module(const char *module, struct buf *out)
{
	buf_fmt(out,
	    "<IfModule !%s_module>\n"
	    "  Error \"reproute needs a module: a2enmod %s\"\n"
	    "</IfModule>\n",
	    module, module);
}

static void
put_modules(const struct webconf *webconf, struct buf *out)
{
	static const char *const modules[] = { "alias", "authz_core",
		"authz_host", "env", "headers", "lbmethod_byrequests", "proxy",
		"proxy_balancer", "proxy_http", "setenvif", "slotmem_shm" };
	const struct conf *conf = webconf->conf;
	bool tls = false;

	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
		put_module(modules[i], out);
	if (webconf_apache_starts(webconf)) {
		put_module("fcgid", out);
	} else {
		put_module("authn_core", out);
		put_module("authnz_fcgi", out);
		put_module("authz_user", out);
		put_module("proxy_fcgi", out);
	}
	for (size_t i = 0; i < conf->n_routes; i++)
		tls = tls || webconf_apache_has_tls(&conf->routes[i]);
	if (tls)
		put_module("ssl", out);
	if (conf->push.token_file == NULL)
		return;
	/* which of the two it is depends on the MPM */
	buf_puts(out,
	    "<IfModule !cgid_module>\n"
	    "  <IfModule !cgi_module>\n"
	    "    Error \"reproute needs a module: a2enmod cgid\"\n"
	    "  </IfModule>\n"
	    "</IfModule>\n");
}

static void
put_member(const struct route *route, const struct upstream *upstream,
    struct buf *out)
{
	bool replica = route->kind == ROUTE_GIT && upstream != route->primary;

	buf_fmt(out,
	    "  BalancerMember \"%s\" route=%s status=+N \\\n"
	    "    connectiontimeout=%d timeout=%d ttl=3 retry=%d",
	    upstream->url, upstream->name, replica ? 2 : 5,
	    replica ? WEBCONF_READ_S : 3600, replica ? 1 : 0);
	if (replica)
		buf_fmt(out, " redirect=%s", route->primary->name);
	buf_puts(out, "\n");
}

/* SSLProxyCACertificateFile is the balancer's, not the member's. */
static enum err
put_tls(const struct route *route, struct buf *out)
{
	const struct upstream *members[MAX_MEMBERS];
	size_t n = webconf_apache_members(route, members);
	const char *ca_file = NULL;

	for (size_t i = 0; i < n; i++) {
		const char *own = members[i]->ca_file != NULL
		    ? members[i]->ca_file
		    : WEBCONF_CA_FILE;

		if (!webconf_is_tls(members[i]))
			continue;
		if (ca_file != NULL && strcmp(ca_file, own) != 0)
			return err_set(ERR_CONF,
			    "route %s: Apache has one list of authorities for "
			    "all upstreams of a route, and these have %s and "
			    "%s: put both into one file, and name that as "
			    "ca_file of each",
			    route->name, ca_file, own);
		ca_file = own;
	}
	if (ca_file != NULL)
		buf_fmt(out,
		    "  # An upstream has to prove that it is who its URL "
		    "says.\n"
		    "  SSLProxyEngine on\n"
		    "  SSLProxyVerify require\n"
		    "  SSLProxyVerifyDepth 4\n"
		    "  SSLProxyCheckPeerName on\n"
		    "  SSLProxyCheckPeerExpire on\n"
		    "  SSLProxyCACertificateFile \"%s\"\n",
		    ca_file);
	return ERR_OK;
}

static enum err
put_balancer(const struct route *route, struct buf *out)
{
	const struct upstream *members[MAX_MEMBERS];
	size_t n = webconf_apache_members(route, members);
	enum err err;

	if (strlen(route->name) > MAX_BALANCER_NAME)
		return err_set(ERR_CONF,
		    "route %s: Apache has no room for a name of more than %d "
		    "bytes",
		    route->name, MAX_BALANCER_NAME);
	buf_fmt(out, "<Proxy \"balancer://reproute-%s\">\n", route->name);
	for (size_t i = 0; i < n; i++)
		put_member(route, members[i], out);
	buf_puts(out,
	    "  ProxySet \"stickysession=REPROUTE|no request\" nofailover=On "
	    "maxattempts=1\n");
	err = put_tls(route, out);
	buf_puts(out, "</Proxy>\n");
	return err;
}

static void
put_router(const struct webconf *webconf, struct buf *out)
{
	if (!webconf_apache_starts(webconf)) {
		buf_fmt(out, router_tcp, webconf->address, webconf->address);
		return;
	}
	buf_fmt(out, router_own, webconf->sbin_dir);
	if (webconf->conf_file != NULL)
		buf_fmt(out, " \\\n  InitialEnv REPROUTE_CONF=%s",
		    webconf->conf_file);
	buf_puts(out, "\n");
	buf_puts(out, router_score);
}

enum err
webconf_apache_print_server(const struct webconf *webconf, struct buf *out)
{
	const struct conf *conf = webconf->conf;
	enum err err = ERR_OK;

	buf_fmt(out, head, webconf->command);
	put_modules(webconf, out);
	buf_puts(out, balancers);
	for (size_t i = 0; i < conf->n_routes && err == ERR_OK; i++)
		err = put_balancer(&conf->routes[i], out);
	put_router(webconf, out);
	buf_fmt(out, logs, webconf->bin_dir, webconf->feed_socket);
	return err;
}

static const char *const apps[] = { "mod_fcgid", "mod_authnz_fcgi", NULL };
static const char *const modes[] = { "users", "anonymous", NULL };
static const struct webconf_part parts[] = {
	{ "server", "/etc/apache2/conf-available/reproute.conf",
	    webconf_apache_print_server },
	{ "site", "/etc/apache2/conf-available/reproute-site.conf",
	    webconf_apache_print_site },
	{ NULL, NULL, NULL },
};
const struct webconf_server webconf_apache = {
	.name = "apache",
	.apps = apps,
	.modes = modes,
	.mode_app = "mod_authnz_fcgi",
	.parts = parts,
};

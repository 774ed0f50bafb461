/* webconf_apache_site.c: Apache's part for a site: whom to ask, headers */
/* SPDX-License-Identifier: ISC */
#include <string.h>

#include "fcgi/webconf_apache.h"

/* A report's body is read whole by the push endpoint; it takes no more. */
#define MAX_REPORT "1048576"

static const char head[] =
    "# A site's half: Apache asks reproute-fcgi for the requests below, and\n"
    "# proxies them.  Put it into\n"
    "# /etc/apache2/conf-available/reproute-site.conf, and Include that in\n"
    "# each VirtualHost, before the site's own ProxyPass and behind its own\n"
    "# <Location>s.\n"
    "#\n"
    "# Printed by \"%s\".\n"
    "\n"
    "# Paths go on as they came: a name may hold %%2F or a double slash, and\n"
    "# router and upstream must read the same bytes.  These two count in the\n"
    "# VirtualHost only, whatever the server's file says.\n"
    "AllowEncodedSlashes NoDecode\n"
    "MergeSlashes Off\n"
    "# git may think for a while before the first byte of a pack: 10 seconds,\n"
    "# as in Debian's file, would be 408.\n"
    "<IfModule reqtimeout_module>\n"
    "  RequestReadTimeout body=300,MinRate=500\n"
    "</IfModule>\n"
    "# Who was sent where, and why: in the site's own log, if its CustomLog\n"
    "# has the format \"combined\", as Debian's sites have.  Put the last two\n"
    "# words into its LogFormat if it has another.\n"
    "LogFormat \"%%h %%l %%u %%t \\\"%%r\\\" %%>s %%O \\\"%%{Referer}i\\\" "
    "\\\"%%{User-Agent}i\\\" upstream=%%{REPROUTE_UPSTREAM}e "
    "reason=%%{REPROUTE_REASON}e\" combined\n";

static const char access_own[] =
    "  # Apart from the site's own authentication, and before it; what the\n"
    "  # site requires stays in force.  A write that is refused then (401,\n"
    "  # 403) has its fence ended by the server's log.\n"
    "  FcgidAccessChecker \"%s/reproute-fcgi --threads 2\"\n"
    "  FcgidAccessCheckerAuthoritative On\n"
    "  AuthMerging And\n"
    "  <RequireAll>\n"
    "    Require all granted\n"
    "    Require not env reproute_outside\n"
    "  </RequireAll>\n";

static const char access_users[] =
    "  # The router is asked when Apache knows who it is, and not before: the\n"
    "  # site's AuthType and Require stay in force, and must be there, since\n"
    "  # this module says no to nobody in particular.  Without: --mode\n"
    "  # anonymous.\n"
    "  AuthMerging And\n"
    "  <RequireAll>\n"
    "    Require not env reproute_outside\n"
    "    Require Reproute\n"
    "  </RequireAll>\n";

static const char access_anonymous[] =
    "  # THIS TAKES THE PLACE OF APACHE'S OWN PASSWORDS (AuthType Basic and\n"
    "  # the like) here: everybody is \"anonymous\" to Require valid-user, as\n"
    "  # --mode anonymous says.  Require ip and certificates stay in force.\n"
    "  AuthType None\n"
    "  AuthnzFcgiCheckAuthnProvider ReprouteAnonymous Authoritative On \\\n"
    "    RequireBasicAuth Off UserExpr \"%{reqenv:REMOTE_USER}\" \\\n"
    "    DefaultUser anonymous\n"
    "  AuthMerging And\n"
    "  <RequireAll>\n"
    "    Require not env reproute_outside\n"
    "    Require valid-user\n"
    "  </RequireAll>\n";

static const char headers[] =
    "  # X_Reproute_Token and the like are ours to a CGI program: 403.\n"
    "  SetEnvIfNoCase \"^X([^a-z0-9-]Reproute[^a-z0-9]|"
    "-Reproute[^a-z0-9-])\" \".\" reproute_outside\n"
    "  # The router's name for mod_proxy_balancer, before the client's own\n"
    "  # cookies: the first one counts, and theirs go on.\n"
    "  RequestHeader edit Cookie \"^\" \"REPROUTE=x.%{REPROUTE_UPSTREAM}e; \"\n"
    "  RequestHeader setifempty Cookie "
    "\"REPROUTE=x.%{REPROUTE_UPSTREAM}e\"\n"
    "  # What only the router may say; the token is for hooks at the\n"
    "  # upstream.  With \"Connection: X-Reproute-Token\" it would be dropped.\n"
    "  RequestHeader unset X-Reproute-Upstream\n"
    "  RequestHeader unset X-Reproute-Reason\n"
    "  RequestHeader unset X-Reproute-Token\n"
    "  RequestHeader set X-Reproute-Token \"%{REPROUTE_TOKEN}e\" "
    "env=REPROUTE_TOKEN\n"
    "  RequestHeader edit* Connection \"(?i)x-(reproute|forwarded)-[a-z]+\" "
    "\"x-none\"\n"
    "  # What registries build their Location from; mod_proxy adds its own.\n"
    "  RequestHeader unset Forwarded\n"
    "  RequestHeader unset X-Forwarded-For\n"
    "  RequestHeader unset X-Forwarded-Host\n"
    "  RequestHeader unset X-Forwarded-Port\n"
    "  RequestHeader unset X-Forwarded-Server\n"
    "  RequestHeader set X-Forwarded-Proto \"expr=%{REQUEST_SCHEME}\"\n"
    "  # mod_fcgid tells the client what the router says (errors that Apache\n"
    "  # makes keep it: a token gives no right to anything).\n"
    "  Header always unset Variable-REPROUTE_UPSTREAM\n"
    "  Header always unset Variable-REPROUTE_REASON\n"
    "  Header always unset Variable-REPROUTE_TOKEN\n"
    "  # Bodies of any size: Apache's own limit is 1 GiB, less than a layer.\n"
    "  LimitRequestBody 0\n";

/* Statuses of which Apache says that it cannot serve. */
#define BUSY "'500','502','503','504'"

/*
 * For answers that Apache made: these have no Date yet when mod_headers sees
 * them; those of upstreams have one (RFC 9110, 6.6.1), and pass as they are.
 */
static void
put_own_header(const char *header, const char *value, const char *statuses,
    struct buf *out)
{
	buf_fmt(out,
	    "  Header always set %s %s \"expr=%%{REQUEST_STATUS} -in {%s} && "
	    "-z resp('Date') && -z resp('Content-Length')\"\n",
	    header, value, statuses);
}

/* What Apache itself answers, in the words of registries and for git. */
static const struct {
	const char *status, *code, *message;
} errors[] = {
	{ "413", "SIZE_INVALID", "the request is too large" },
	{ "500", "UNAVAILABLE", WEBCONF_BUSY },
	{ "502", "UNAVAILABLE", WEBCONF_BUSY },
	{ "503", "UNAVAILABLE", WEBCONF_BUSY },
	{ "504", "UNAVAILABLE", WEBCONF_BUSY },
};

/* The site's rules for errors would send these through other URLs. */
static void
put_errors(const struct route *route, struct buf *out)
{
	bool registry = route->kind == ROUTE_REGISTRY;

	buf_puts(out,
	    "  # Errors that Apache makes, in words that clients understand; "
	    "those of\n"
	    "  # upstreams pass.\n");
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		buf_fmt(out, "  ErrorDocument %s '", errors[i].status);
		if (registry)
			webconf_registry_error(errors[i].code,
			    errors[i].message, out);
		else
			buf_puts(out, errors[i].message);
		buf_puts(out, "'\n");
	}
	buf_puts(out,
	    "  ErrorDocument 400 default\n"
	    "  ErrorDocument 401 default\n"
	    "  ErrorDocument 403 default\n"
	    "  ErrorDocument 408 default\n");
	put_own_header("Retry-After", "5", BUSY, out);
	put_own_header("Content-Type",
	    registry ? "application/json" : "text/plain", "'413'," BUSY, out);
	if (registry)
		put_own_header("Docker-Distribution-Api-Version",
		    "registry/2.0", "'413'," BUSY, out);
}

/* A prefix, each byte as itself or percent-encoded. */
static void
put_spelt(const char *prefix, size_t len, struct buf *out)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)prefix[i];

		if (c == '/') {
			buf_puts(out, "/");
			continue;
		}
		buf_fmt(out, "(?:[%c]|%%%x", c, c >> 4);
		if ((c & 15) < 10)
			buf_fmt(out, "%x)", c & 15);
		else
			buf_fmt(out, "[%x%X])", c & 15, c & 15);
	}
}

/*
 * ProxyPassMatch compares twice: with the path that Apache decoded, and with
 * the raw target, which it passes on as it is only if that matches, too.  So
 * there is the pattern for the one, and whatever spelling may become it for
 * the other: an encoded prefix, dot segments, an encoded ";".  What is decoded
 * matches the latter only where it was encoded twice: the router answers that
 * it has no such route.
 */
static void
put_pattern(const struct route *route, struct buf *out)
{
	size_t len = strlen(route->prefix) - 1; /* without the last slash */

	if (len == 0) {
		/* our own pages have their own Require and handler */
		buf_puts(out, "(?s)^(?!/reproute/(?:push|status)$)/(.*)$");
		return;
	}
	buf_puts(out, "(?s)^(?=(?:");
	webconf_pattern(route, out);
	buf_puts(out, ")|");
	put_spelt(route->prefix, len, out);
	buf_puts(out, route->kind == ROUTE_REGISTRY ? "(?:[/?]|$)" : "/");
	buf_puts(out,
	    "|[^?]*/(?:[.]|%2[eE]){1,2}(?:[/?]|$)|[^?]*%3[bB])"
	    "/(.*)$");
}

static void
put_route(const struct webconf *webconf, const struct route *route,
    struct buf *out)
{
	struct buf pattern = { 0 };

	put_pattern(route, &pattern);
	buf_fmt(out,
	    "\n"
	    "# Route %s, below %s, however it may be spelt.\n"
	    "ProxyPassMatch \"%s\" \"balancer://reproute-%s/$1\" nocanon\n"
	    "<LocationMatch \"%s\">\n",
	    route->name, route->prefix, pattern.data, route->name,
	    pattern.data);
	if (route->n_replicas > 0)
		buf_puts(out,
		    "  # It says authorize = \"webserver\": Require must be in "
		    "force here, by a\n"
		    "  # <Location> of the site, since a replica asks nobody "
		    "who may read.\n");
	if (webconf_apache_starts(webconf))
		buf_fmt(out, access_own, webconf->sbin_dir);
	else if (strcmp(webconf->mode, "users") == 0)
		buf_puts(out, access_users);
	else
		buf_puts(out, access_anonymous);
	buf_puts(out, headers);
	if (webconf_apache_has_tls(route))
		buf_puts(out,
		    "  # By the upstream's own name its certificate is "
		    "compared.\n"
		    "  ProxyPreserveHost Off\n");
	else
		buf_puts(out, "  ProxyPreserveHost On\n");
	put_errors(route, out);
	buf_puts(out, "</LocationMatch>\n");
	buf_free(&pattern);
}

static void
put_push(const struct webconf *webconf, struct buf *out)
{
	buf_fmt(out,
	    "\n"
	    "# The push endpoint: hooks report here, with a token of their "
	    "own.\n"
	    "ProxyPass \"/reproute/push\" \"!\"\n"
	    "ScriptAliasMatch \"^/reproute/push$\" "
	    "\"%s/reproute-push\"\n"
	    "<Location \"/reproute/push\">\n"
	    "  Require all granted\n"
	    "  Options +ExecCGI\n"
	    "  # the token is in the Authorization header\n"
	    "  CGIPassAuth On\n"
	    "  LimitRequestBody " MAX_REPORT "\n",
	    webconf->libexec_dir);
	if (webconf->conf_file != NULL)
		buf_fmt(out, "  SetEnv REPROUTE_CONF \"%s\"\n",
		    webconf->conf_file);
	buf_puts(out, "</Location>\n");
}

static void
put_status(const struct webconf *webconf, struct buf *out)
{
	bool starts = webconf_apache_starts(webconf);

	buf_puts(out, "\n# The status page, for this host only.\n");
	if (starts)
		buf_fmt(out,
		    "ProxyPass \"/reproute/status\" \"!\"\n"
		    "AliasMatch \"^/reproute/status$\" \"%s/reproute-fcgi\"\n",
		    webconf->sbin_dir);
	else
		buf_fmt(out,
		    "ProxyPassMatch \"^/reproute/status$\" \"fcgi://%s/\"\n",
		    webconf->address);
	buf_puts(out,
	    "<Location \"/reproute/status\">\n"
	    "  Require local\n"
	    "  SetEnv REPROUTE_ANSWER status\n");
	if (starts)
		buf_fmt(out,
		    "  Options +ExecCGI\n"
		    "  SetHandler fcgid-script\n"
		    "  FcgidWrapper \"%s/reproute-fcgi --threads 2\" virtual\n",
		    webconf->sbin_dir);
	buf_puts(out, "</Location>\n");
}

enum err
webconf_apache_print_site(const struct webconf *webconf, struct buf *out)
{
	const struct conf *conf = webconf->conf;

	buf_fmt(out, head, webconf->command);
	webconf_no_undecided(conf, out);
	if (conf->push.token_file != NULL)
		put_push(webconf, out);
	put_status(webconf, out);
	for (size_t i = 0; i < conf->n_routes; i++)
		put_route(webconf, &conf->routes[i], out);
	return ERR_OK;
}

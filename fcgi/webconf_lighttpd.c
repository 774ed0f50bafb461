/* webconf_lighttpd.c: lighttpd's part: an authorizer, a script, proxies */
/* SPDX-License-Identifier: ISC */
#include <string.h>

#include "fcgi/webconf.h"
#include "sync/wire.h"

/*
 * The way of a request (lighttpd 1.4.69, response.c and gw_backend.c): the
 * script, which takes away what only the router may say; mod_proxy, which
 * finds no upstream yet; mod_fastcgi, which asks the router.  Its answer
 * starts the request anew with the router's words in its environment: the
 * script makes headers of them, and a header chooses the mod_proxy block.
 */

static const char head[] =
    "# lighttpd asks reproute-fcgi for every request below the prefixes of\n"
    "# the configuration's routes, and proxies it to the upstream it names.\n"
    "#\n"
    "# Printed by \"reproute webconf lighttpd\".  Print it anew, and the\n"
    "# script with --lua, when upstreams or prefixes change.  Include it\n"
    "# behind server.modules and whatever else speaks of these prefixes, in\n"
    "# lighttpd 1.4.60 or newer with mod_magnet (Debian:\n"
    "# lighttpd-modules-lua).\n"
    "\n"
    "# To name a module twice does no harm; the first place counts.\n"
    "server.modules += (\"mod_access\", \"mod_accesslog\", \"mod_alias\",\n"
    "  \"mod_cgi\", \"mod_fastcgi\", \"mod_proxy\", \"mod_setenv\")\n"
    "# The script has to run before mod_proxy does: behind it, a client could\n"
    "# choose its upstream by a header of its own, past the router.\n"
    "server.modules := (\"mod_magnet\") + server.modules\n"
    "\n"
    "# := for the whole server, whatever the site's file said before.\n"
    "# HTTP/2: before 1.4.77 a request's body went to the authorizer and was\n"
    "# lost (lighttpd's issue 3272), so that pushes hang.  A time limit for\n"
    "# graceful shutdown, as in Debian's file, would cut off pushes at each\n"
    "# reload.\n"
    "server.feature-flags := (\"server.h2proto\" => \"disable\",\n"
    "  \"server.h2c\" => \"disable\")\n"
    "# Paths go on as they came: a name may hold %2F or a double slash, and\n"
    "# router and upstream must read the same bytes.\n"
    "server.http-parseopts := (\"url-normalize\" => \"disable\")\n";

static const char settings[] =
    "\n"
    "  # Bodies of any size, streamed, never spooled to disk first.\n"
    "  server.max-request-size = 0\n"
    "  server.stream-request-body = 2\n"
    "  server.stream-response-body = 2\n"
    "  # A site's list of endings (Debian: ~ and .inc) would hide branches\n"
    "  # and tags that are called so.\n"
    "  url.access-deny = ()\n"
    "  # A site's own proxy would be asked before the router is.\n"
    "  proxy.server = ()\n"
    "\n";

static const char authorizer[] =
    "\n"
    "  # No answer in 10 seconds is 504, and no router 503: nothing goes to\n"
    "  # any upstream without a decision.\n"
    "  fastcgi.server = (\"/\" => ((\"socket\" => \"%s\",\n"
    "    \"mode\" => \"authorizer\", \"check-local\" => \"disable\",\n"
    "    \"connect-timeout\" => 2, \"read-timeout\" => 10)))\n";

static const char feed[] =
    "\n"
    "  # What the router gave a token (writes) is reported when it is over:\n"
    "  # that ends fences early.  These requests are not in the site's own\n"
    "  # access log, since a request has one log.  lighttpd's user must be\n"
    "  # able to write to this socket.\n"
    "  $REQUEST_HEADER[\"X-Reproute-Token\"] != \"\" {\n"
    "    accesslog.filename = \"|exec %s/reproute feed %s\"\n"
    "    accesslog.format = \"reproute-feed %%{X-Reproute-Token}i %%s %%D "
    "%%{REPROUTE_UPSTREAM}e done=%%X addr=%%h\"\n"
    "  }\n";

static const char script_head[] =
    "-- lighttpd.lua: makes the router's answer the header that chooses the\n"
    "-- upstream.  Printed by \"reproute webconf lighttpd --lua\".  Runs\n"
    "-- twice for each request: before the router is asked, and after its\n"
    "-- answer.\n"
    "local r = lighty.r\n"
    "\n"
    "-- Names of the router's answer that lighttpd's part has a proxy for.\n"
    "local upstreams = {\n";

static const char script_strip[] =
    "}\n"
    "\n"
    "-- What only the router may say, in any spelling that a CGI program\n"
    "-- takes for it; and what registries would build their Location from\n"
    "-- (lighttpd itself sets X-Forwarded-Host and -Proto).\n"
    "local strip = { forwarded = true, [\"x-forwarded-port\"] = true }\n"
    "local outside = {}\n"
    "for name in pairs(r.req_header) do\n"
    "  local plain = name:lower():gsub(\"[^a-z0-9]\", \"-\")\n"
    "  if strip[plain] or plain:find(\"^x%-reproute%-\") then\n"
    "    outside[#outside + 1] = name\n"
    "  end\n"
    "end\n"
    "for _, name in ipairs(outside) do\n"
    "  r.req_header[name] = nil\n"
    "end\n"
    "\n"
    "local upstream = r.req_env[\"REPROUTE_UPSTREAM\"]\n"
    "if not upstream then\n"
    "  return 0\n"
    "end\n"
    "if upstreams[upstream] then\n"
    "  r.req_header[\"X-Reproute-Upstream\"] = upstream\n"
    "  -- for hooks at the upstream, and for the log that ends fences\n"
    "  r.req_header[\"X-Reproute-Token\"] = r.req_env[\"REPROUTE_TOKEN\"]\n"
    "  return 0\n"
    "end\n"
    "\n"
    "-- \"hold\", or a name that this file is too old to know.\n"
    "r.resp_header[\"Retry-After\"] = \"5\"\n"
    "if r.req_attr[\"uri.path\"]:find(\"^/v2/\") then\n"
    "  r.resp_header[\"Content-Type\"] = \"application/json\"\n"
    "  r.resp_header[\"Docker-Distribution-Api-Version\"] = \"registry/2.0\"\n"
    "  r.resp_body.set({'";

static const char script_tail[] =
    "'})\n"
    "else\n"
    "  r.resp_header[\"Content-Type\"] = \"text/plain\"\n"
    "  r.resp_body.set({\"nobody can serve this just now: try again\\n\"})\n"
    "end\n"
    "return 503\n";

/* Prefixes hold no other byte that means something in a pattern. */
static void
put_pattern(struct buf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] == '.' || text[i] == '+')
			buf_fmt(out, "[%c]", text[i]);
		else
			buf_add(out, &text[i], 1);
}

/*
 * $HTTP["url"] is decoded and its dot segments are resolved, as the router
 * does it; but not so path parameters (";x"), which some backends drop.  So
 * "/scm;x/" and "/y/..;x/scm/" are asked for, too.
 */
static void
put_prefix(struct buf *out, const struct route *route)
{
	size_t len = strlen(route->prefix) - 1; /* without the last slash */
	size_t last = len;

	put_pattern(out, route->prefix, len);
	/* the router knows "/v2" for "/v2/", as registries do */
	buf_puts(out, route->kind == ROUTE_REGISTRY ? "(?:/|$)" : "/");
	if (len == 0)
		return;
	while (route->prefix[last - 1] != '/')
		last--;
	for (int i = 0; i < 2; i++) {
		buf_puts(out, i == 0 ? "|[^;]*;.*/" : "|.*/");
		put_pattern(out, route->prefix + last, len - last);
		buf_puts(out, i == 0 ? "/" : ";");
	}
}

/*
 * Not "=~": lighttpd matches in UTF mode, and a path that is no UTF-8 would
 * match nothing and pass by.  So the block is for all that is not certainly
 * something else.
 */
static void
put_condition(struct buf *out, const struct conf *conf)
{
	buf_puts(out, "$HTTP[\"url\"] !~ \"^(?!");
	for (size_t i = 0; i < conf->n_routes; i++) {
		buf_puts(out, i > 0 ? "|" : "");
		put_prefix(out, &conf->routes[i]);
	}
	buf_puts(out,
	    ")\" {\n"
	    "  # That is: what is below a prefix, however spelt "
	    "(\"/scm;x/\"); and what\n"
	    "  # is no UTF-8, of which the router answers 404 to what it "
	    "does not know.\n");
}

static void
put_push(const struct webconf *webconf, struct buf *out)
{
	buf_fmt(out,
	    "\n"
	    "# The push endpoint: hooks report here; the router is not asked.\n"
	    "$HTTP[\"url\"] == \"/reproute/push\" {\n"
	    "  alias.url = (\"/reproute/push\" => \"%s/reproute-push\")\n"
	    "  cgi.assign = (\"\" => \"\")\n",
	    webconf->libexec_dir);
	if (webconf->conf_file != NULL)
		buf_fmt(out,
		    "  setenv.set-environment = (\"REPROUTE_CONF\" => "
		    "\"%s\")\n",
		    webconf->conf_file);
	buf_puts(out, "}\nelse ");
}

/* mod_auth runs before the router is asked, in whatever order they load. */
static void
put_authorize(const struct conf *conf, struct buf *out)
{
	for (size_t i = 0; i < conf->n_routes; i++)
		if (conf->routes[i].n_replicas > 0)
			buf_fmt(out,
			    "\n  # Route %s says authorize = "
			    "\"webserver\": auth.require must be in force\n"
			    "  # for %s, since a replica asks nobody who may "
			    "read.\n",
			    conf->routes[i].name, conf->routes[i].prefix);
}

static enum err
put_upstream(const struct upstream *upstream, bool first, struct buf *out)
{
	struct webconf_target target;
	enum err err = webconf_target(upstream, &target);

	if (err != ERR_OK)
		return err;
	if (target.tls)
		return err_set(ERR_CONF,
		    "upstream %s: lighttpd's mod_proxy "
		    "speaks no TLS to upstreams: have a TLS client on this "
		    "host (such as stunnel) take http on a loopback port, and "
		    "give that as url instead of %s",
		    upstream->name, upstream->url);
	buf_fmt(out,
	    "  %s$REQUEST_HEADER[\"X-Reproute-Upstream\"] == "
	    "\"%s\" {\n",
	    first ? "" : "else ", upstream->name);
	/* every raw path starts with "/", however odd its spelling */
	if (target.path[0] != '\0')
		buf_fmt(out,
		    "    proxy.header = (\"map-urlpath\" => (\"/\" => "
		    "\"%s/\"))\n",
		    target.path);
	buf_fmt(out,
	    "    proxy.server = (\"\" => ((\"host\" => \"%s\", "
	    "\"port\" => %u,\n      \"connect-timeout\" => 5)))\n  }\n",
	    target.host, target.port);
	return ERR_OK;
}

static enum err
put_upstreams(const struct conf *conf, struct buf *out)
{
	bool first = true;
	enum err err = ERR_OK;

	buf_puts(out,
	    "\n"
	    "  # One server a name: lighttpd has no standby, and would "
	    "balance over two.\n");
	for (size_t i = 0; i < conf->n_upstreams && err == ERR_OK; i++) {
		if (!webconf_uses(conf, &conf->upstreams[i]))
			continue;
		err = put_upstream(&conf->upstreams[i], first, out);
		first = false;
	}
	return err;
}

enum err
webconf_lighttpd(const struct webconf *webconf, struct buf *out)
{
	const struct conf *conf = webconf->conf;
	enum err err;

	buf_puts(out, head);
	if (conf->push.token_file != NULL)
		put_push(webconf, out);
	else
		buf_puts(out, "\n");
	put_condition(out, conf);
	put_authorize(conf, out);
	buf_puts(out, settings);
	buf_fmt(out, "  magnet.attract-raw-url-to = (\"%s\")\n",
	    webconf->script);
	buf_fmt(out, authorizer, webconf->socket);
	buf_fmt(out, feed, webconf->bin_dir, webconf->feed_socket);
	err = put_upstreams(conf, out);
	buf_puts(out, "}\n");
	return err;
}

void
webconf_lighttpd_script(const struct webconf *webconf, struct buf *out)
{
	const struct conf *conf = webconf->conf;
	struct buf body = { 0 };

	buf_puts(out, script_head);
	for (size_t i = 0; i < conf->n_upstreams; i++)
		if (webconf_uses(conf, &conf->upstreams[i]))
			buf_fmt(out, "  [\"%s\"] = true,\n",
			    conf->upstreams[i].name);
	buf_puts(out, script_strip);
	wire_put_registry_error("UNAVAILABLE",
	    "no registry can serve this just now: try again", &body);
	/* without the newline, which a Lua string cannot hold */
	buf_add(out, body.data, body.len - 1);
	buf_puts(out, script_tail);
	buf_free(&body);
}

/* webconf_lighttpd.c: lighttpd's part: an authorizer, a script, proxies */
/* SPDX-License-Identifier: ISC */
#include <string.h>

#include "fcgi/webconf.h"

/* The app in which lighttpd starts the router. */
#define BIN_PATH "bin-path"
/* How many: more than one, see starts[]. */
#define MAX_PROCS 4

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
    "# Printed by: %s\n"
    "# Print it anew, and the script (--part script), when upstreams or\n"
    "# prefixes change.  Include it behind server.modules and whatever else\n"
    "# speaks of these prefixes, in lighttpd 1.4.60 or newer with mod_magnet\n"
    "# (Debian: lighttpd-modules-lua).\n"
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
    "# Paths go on as they came: a name may hold %%2F or a double slash, and\n"
    "# router and upstream must read the same bytes.\n"
    "server.http-parseopts := (\"url-normalize\" => \"disable\")\n";

static const char failed[] =
    "\n"
    "# Where lighttpd goes with its own errors; nothing for anybody outside.\n"
    "$HTTP[\"url\"] == \"/reproute/failed\" {\n"
    "  magnet.attract-raw-url-to = (\"%s\")\n";

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

static const char attract[] =
    "  magnet.attract-raw-url-to = (\"%s\")\n"
    "  # Of errors that lighttpd itself makes the script makes JSON or text,\n"
    "  # and has the primary read what a replica did not answer.  Answers of\n"
    "  # upstreams pass as they are.\n"
    "  server.error-handler = \"/reproute/failed\"\n";

static const char authorizer[] =
    "\n"
    "  # No answer in 10 seconds is 504, and no router 503: nothing goes to\n"
    "  # any upstream without a decision.\n"
    "  fastcgi.server = (\"/\" => ((\"socket\" => \"%s\",\n%s"
    "    \"mode\" => \"authorizer\", \"check-local\" => \"disable\",\n"
    "    \"connect-timeout\" => 2, \"read-timeout\" => 10)))\n";

/* Does lighttpd start the router? */
static bool
is_started(const struct webconf *webconf)
{
	return strcmp(webconf->app, BIN_PATH) == 0;
}

static const char starts[] =
    "\n"
    "  # lighttpd starts the router, as its own user: %s/reproute-fcgi\n"
    "  # must be setgid reproute to write the state, see reproute-fcgi(8).\n"
    "  # Several, so that the others answer while one that ended is started\n"
    "  # again.  Their sockets (with -0, -1, ... behind the name) are lighttpd's\n"
    "  # to make: in a directory that only its user can enter.\n";

static const char feed[] =
    "\n"
    "  # What becomes of a write is told to the daemon, which ends its fence\n"
    "  # early; and of a read that a replica failed, which takes it out.  None\n"
    "  # of it is a word of the client's: that could make up a line.  As a\n"
    "  # request has one log here, the program sends what stands before the\n"
    "  # tab, where it tells something, and appends the rest to the site's\n"
    "  # log.  lighttpd's user must be able to write to both.\n";

static const char log_lines[] =
    "  accesslog.filename = \"|exec %s/reproute feed --log %s %s\"\n"
    "  accesslog.format = \"reproute-feed %%{REPROUTE_TOKEN}e %%s %%D "
    "%%{REPROUTE_CHOSEN}e done=%%X addr=%%h served=%%{REPROUTE_UPSTREAM}e\t"
    "%%h - %%u %%t \\\"%%r\\\" %%s %%b \\\"%%{Referer}i\\\" "
    "\\\"%%{User-Agent}i\\\" "
    "upstream=%%{REPROUTE_UPSTREAM}e reason=%%{REPROUTE_REASON}e\"\n";

static const char script_head[] =
    "-- Makes the router's answer the header that chooses the upstream.  It\n"
    "-- runs before the router is asked, after its answer, and where no answer\n"
    "-- came from an upstream or from the router.\n"
    "-- Printed by: %s\n"
    "local r = lighty.r\n"
    "\n"
    "-- Names of the router's answer that lighttpd's part has a proxy for.\n"
    "local upstreams = {\n";

static const char script_rest[] =
    "\n"
    "-- Whose errors are JSON, and who serves a read that a replica did not.\n"
    "local function below(list)\n"
    "  for prefix, value in pairs(list) do\n"
    "    if (r.req_attr[\"request.orig-uri\"] .. \"/\"):sub(1, #prefix) == "
    "prefix then\n"
    "      return value\n"
    "    end\n"
    "  end\n"
    "end\n"
    "\n"
    "-- An answer of our own, that git or a registry's client understands.\n"
    "local function refuse(status)\n"
    "  local answer = status == 413 and too_large\n"
    "    or status >= 500 and unavailable or refused\n"
    "  if status >= 500 then\n"
    "    r.resp_header[\"Retry-After\"] = \"5\"\n"
    "  end\n"
    "  if below(registries) then\n"
    "    r.resp_header[\"Content-Type\"] = \"application/json\"\n"
    "    r.resp_header[\"Docker-Distribution-Api-Version\"] = "
    "\"registry/2.0\"\n"
    "    r.resp_body.set({answer.json})\n"
    "  else\n"
    "    r.resp_header[\"Content-Type\"] = \"text/plain\"\n"
    "    r.resp_body.set({answer.text .. \"\\n\"})\n"
    "  end\n"
    "  return status\n"
    "end\n"
    "\n"
    "-- lighttpd made an error itself: server.error-handler.  What a replica\n"
    "-- did not answer is read on the primary, by the same request; nothing\n"
    "-- else goes anywhere but where the router sent it.  (A POST cannot be\n"
    "-- sent again: its body is gone.)\n"
    "if r.req_attr[\"uri.path\"] == \"/reproute/failed\" then\n"
    "  local status = tonumber(r.req_env[\"REDIRECT_STATUS\"])\n"
    "  if not status then\n"
    "    return 404 -- somebody outside\n"
    "  end\n"
    "  local method = r.req_env[\"REPROUTE_METHOD\"]\n"
    "  if status >= 500 and r.req_env[\"REPROUTE_REASON\"] == \"replica\"\n"
    "      and (method == \"GET\" or method == \"HEAD\") then\n"
    "    r.req_env[\"REPROUTE_FAILED\"] = r.req_env[\"REPROUTE_UPSTREAM\"]\n"
    "    -- the router is asked anew, and lighttpd would join both answers\n"
    "    r.req_env[\"REPROUTE_UPSTREAM\"] = nil\n"
    "    r.req_env[\"REPROUTE_REASON\"] = nil\n"
    "    r.req_attr[\"request.uri\"] = r.req_attr[\"request.orig-uri\"]\n"
    "    return lighty.RESTART_REQUEST\n"
    "  end\n"
    "  return refuse(status)\n"
    "end\n"
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
    "  -- the error handler sees a GET in any case\n"
    "  r.req_env[\"REPROUTE_METHOD\"] = r.req_attr[\"request.method\"]\n"
    "  return 0\n"
    "end\n"
    "if r.req_env[\"REPROUTE_FAILED\"]\n"
    "    and r.req_env[\"REPROUTE_REASON\"] == \"replica\" then\n"
    "  upstream = below(primaries)\n"
    "  -- what the access log is to say\n"
    "  r.req_env[\"REPROUTE_UPSTREAM\"] = upstream\n"
    "  r.req_env[\"REPROUTE_REASON\"] = \"down\"\n"
    "end\n"
    "-- what the daemon is told: who was to serve it\n"
    "r.req_env[\"REPROUTE_CHOSEN\"] = r.req_env[\"REPROUTE_FAILED\"] or "
    "upstream\n"
    "if upstreams[upstream] then\n"
    "  -- a client's own; mod_proxy adds who it is (mod_extforward has had it)\n"
    "  r.req_header[\"X-Forwarded-For\"] = nil\n"
    "  r.req_header[\"X-Reproute-Upstream\"] = upstream\n"
    "  -- for hooks at the upstream, and for the log that ends fences\n"
    "  r.req_header[\"X-Reproute-Token\"] = r.req_env[\"REPROUTE_TOKEN\"]\n"
    "  return 0\n"
    "end\n"
    "\n"
    "-- \"hold\", or a name that this file is too old to know.\n"
    "return refuse(503)\n";

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
		webconf_pattern(&conf->routes[i], out);
	}
	buf_puts(out,
	    ")\" {\n"
	    "  # That is: what is below a prefix, however spelt "
	    "(\"/scm;x/\"); and what\n"
	    "  # is no UTF-8, of which the router answers 404 to what it "
	    "does not know.\n");
}

static void
put_log(const struct webconf *webconf, struct buf *out)
{
	buf_fmt(out, log_lines, webconf->bin_dir, webconf->access_log,
	    webconf->feed_socket);
}

static void
put_push(const struct webconf *webconf, struct buf *out)
{
	buf_fmt(out,
	    "$HTTP[\"url\"] == \"/reproute/push\" {\n"
	    "  # The push endpoint: hooks report here; the router is not "
	    "asked.\n"
	    "  alias.url = (\"/reproute/push\" => \"%s/reproute-push\")\n"
	    "  cgi.assign = (\"\" => \"\")\n"
	    "  # in KiB: as much as the endpoint takes\n"
	    "  server.max-request-size = 1024\n",
	    webconf->libexec_dir);
	if (webconf->conf_file != NULL)
		buf_fmt(out,
		    "  setenv.set-environment = (\"REPROUTE_CONF\" => "
		    "\"%s\")\n",
		    webconf->conf_file);
	buf_puts(out, "}\nelse ");
}

static const char status_page[] =
    "$HTTP[\"url\"] == \"/reproute/status\" {\n"
    "  # How everything is (\"?json\" for programs): for this host only.\n"
    "  # Whoever comes through a proxy on this host counts as of this host.\n"
    "  $HTTP[\"remoteip\"] !~ \"^(127[.]|::1$)\" {\n"
    "    url.access-deny = (\"\")\n"
    "  }\n"
    "  setenv.set-environment = (\"REPROUTE_ANSWER\" => \"status\")\n"
    "  fastcgi.server = (\"/\" => ((\"socket\" => \"%s%s\",\n"
    "    \"check-local\" => \"disable\")))\n"
    "}\n"
    "else ";

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

/* Where the router is asked, and how lighttpd starts it where it does. */
static void
put_router(const struct webconf *webconf, struct buf *out)
{
	struct buf started = { 0 };

	if (is_started(webconf)) {
		buf_fmt(out, starts, webconf->sbin_dir);
		buf_fmt(&started,
		    "    \"bin-path\" => \"%s/reproute-fcgi\", "
		    "\"max-procs\" => %d,\n",
		    webconf->sbin_dir, MAX_PROCS);
		if (webconf->conf_file != NULL) {
			buf_puts(out,
			    "  # A setgid one would not believe "
			    "REPROUTE_CONF: for this configuration,\n"
			    "  # lighttpd's user must be able to write the "
			    "state by itself.\n");
			buf_fmt(&started,
			    "    \"bin-environment\" => "
			    "(\"REPROUTE_CONF\" => \"%s\"),\n",
			    webconf->conf_file);
		}
	}
	buf_fmt(out, authorizer, webconf->socket,
	    started.data != NULL ? started.data : "");
	buf_free(&started);
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

static enum err
print_main(const struct webconf *webconf, struct buf *out)
{
	const struct conf *conf = webconf->conf;
	enum err err;

	buf_fmt(out, head, webconf->command);
	webconf_no_undecided(webconf->conf, out);
	buf_fmt(out, failed, webconf->script);
	put_log(webconf, out);
	buf_puts(out, "}\nelse ");
	if (conf->push.token_file != NULL)
		put_push(webconf, out);
	/* lighttpd numbers the sockets of those that it starts */
	buf_fmt(out, status_page, webconf->socket,
	    is_started(webconf) ? "-0" : "");
	put_condition(out, conf);
	put_authorize(conf, out);
	buf_puts(out, settings);
	buf_fmt(out, attract, webconf->script);
	put_router(webconf, out);
	buf_puts(out, feed);
	put_log(webconf, out);
	err = put_upstreams(conf, out);
	buf_puts(out, "}\n");
	return err;
}

/* The prefixes of the routes of a kind, with what stands for each. */
static void
put_prefixes(const struct conf *conf, enum route_kind kind, const char *list,
    struct buf *out)
{
	buf_fmt(out, "local %s = {\n", list);
	for (size_t i = 0; i < conf->n_routes; i++)
		if (conf->routes[i].kind == kind)
			buf_fmt(out, "  [\"%s\"] = \"%s\",\n",
			    conf->routes[i].prefix,
			    conf->routes[i].primary->name);
	buf_puts(out, "}\n");
}

/* What refuse() says: for registries, and for git. */
static void
put_errors(struct buf *out)
{
	static const struct {
		const char *name, *code, *message;
	} errors[] = {
		{ "unavailable", "UNAVAILABLE", WEBCONF_BUSY },
		{ "too_large", "SIZE_INVALID", "the request is too large" },
		{ "refused", "UNSUPPORTED", "the request was refused" },
	};

	buf_puts(out, "\n-- Errors of our own.\n");
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		buf_fmt(out, "local %s = { text = \"%s\",\n  json = '",
		    errors[i].name, errors[i].message);
		webconf_registry_error(errors[i].code, errors[i].message, out);
		buf_puts(out, "' }\n");
	}
}

static enum err
print_script(const struct webconf *webconf, struct buf *out)
{
	const struct conf *conf = webconf->conf;

	buf_fmt(out, script_head, webconf->command);
	for (size_t i = 0; i < conf->n_upstreams; i++)
		if (webconf_uses(conf, &conf->upstreams[i]))
			buf_fmt(out, "  [\"%s\"] = true,\n",
			    conf->upstreams[i].name);
	buf_puts(out, "}\n\n-- Prefixes, and their primaries.\n");
	put_prefixes(conf, ROUTE_GIT, "primaries", out);
	put_prefixes(conf, ROUTE_REGISTRY, "registries", out);
	put_errors(out);
	buf_puts(out, script_rest);
	return ERR_OK;
}

static const char *const apps[] = { "socket", BIN_PATH, NULL };
static const char *const modes[] = { "authorizer", NULL };
static const struct webconf_part parts[] = {
	{ "main", "/etc/lighttpd/conf-available/70-reproute.conf", print_main },
	{ "script", "/etc/reproute/lighttpd.lua", print_script },
	{ NULL, NULL, NULL },
};
const struct webconf_server webconf_lighttpd = {
	.name = "lighttpd",
	.access_log = "/var/log/lighttpd/access.log",
	.apps = apps,
	.app_socket = "/run/lighttpd/reproute.sock",
	.modes = modes,
	.parts = parts,
};

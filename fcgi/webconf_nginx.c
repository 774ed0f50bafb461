/* webconf_nginx.c: nginx's part: asks the router, then jumps to a proxy */
/* SPDX-License-Identifier: ISC */
#include <string.h>

#include "fcgi/webconf_nginx.h"

/*
 * The way of a request (nginx 1.22.1): the location of a route asks the
 * router, by auth_request or as the responder; a named location, "@NAME" for
 * the upstream NAME, proxies it.  Only a jump to a named location keeps
 * method, body and raw path.  Our other named locations hold a dot, which no
 * upstream's name does.  try_files runs behind the access phase, and so sees
 * what auth_request_set set; "if" would run before it.
 */

/* A push endpoint's body is read whole by it; it takes no more either. */
#define PUSH_BODY "1m"

static bool
is_accel(const struct webconf *webconf)
{
	return strcmp(webconf->mode, "accel") == 0;
}

static const char params[] =
    "\tfastcgi_param REQUEST_METHOD $request_method;\n"
    "\tfastcgi_param REQUEST_URI $request_uri;\n"
    "\tfastcgi_param QUERY_STRING $args;\n"
    "\tfastcgi_param SCRIPT_NAME \"\";\n"
    "\tfastcgi_param SERVER_PROTOCOL $server_protocol;\n"
    "\tfastcgi_param GATEWAY_INTERFACE CGI/1.1;\n"
    "\tfastcgi_param REMOTE_ADDR $remote_addr;\n"
    "\tfastcgi_param REMOTE_PORT $remote_port;\n"
    "\tfastcgi_param SERVER_ADDR $server_addr;\n"
    "\tfastcgi_param SERVER_PORT $server_port;\n"
    "\tfastcgi_param SERVER_NAME $server_name;\n";

/* The router is asked about a request; it never reads its body. */
static void
put_ask(const struct webconf *webconf, const char *answer, struct buf *out)
{
	buf_puts(out, params);
	if (answer != NULL)
		buf_fmt(out, "\tfastcgi_param REPROUTE_ANSWER %s;\n", answer);
	buf_fmt(out,
	    "\tfastcgi_param CONTENT_LENGTH \"\";\n"
	    "\tfastcgi_param CONTENT_TYPE \"\";\n"
	    "\tfastcgi_pass_request_body off;\n"
	    "\tfastcgi_connect_timeout 2s;\n"
	    "\tfastcgi_read_timeout 12s;\n"
	    "\tfastcgi_next_upstream off;\n"
	    "\tfastcgi_pass unix:%s;\n",
	    webconf->socket);
}

static void
put_own(const struct webconf *webconf, struct buf *out)
{
	if (webconf->conf->push.token_file != NULL)
		buf_fmt(out,
		    "\n"
		    "# The push endpoint: hooks report here, with a token of "
		    "their own instead of the\n"
		    "# site's passwords; the router is not asked.\n"
		    "location = /reproute/push {\n"
		    "\tauth_basic off;\n"
		    "\tauth_request off;\n"
		    "\tclient_max_body_size " PUSH_BODY ";\n"
		    "%s"
		    "\tfastcgi_param CONTENT_LENGTH $content_length;\n"
		    "\tfastcgi_param CONTENT_TYPE $content_type;\n"
		    "\tfastcgi_pass unix:%s;\n"
		    "}\n",
		    params, webconf->push_socket);
	buf_puts(out,
	    "\n"
	    "# How everything is (\"?json\" for programs): for this host only. "
	    " Whoever comes\n"
	    "# through a proxy on this host counts as of this host.\n"
	    "location = /reproute/status {\n"
	    "\tallow 127.0.0.0/8;\n"
	    "\tallow ::1;\n"
	    "\tdeny all;\n"
	    "\tauth_basic off;\n"
	    "\tauth_request off;\n");
	put_ask(webconf, "status", out);
	buf_puts(out, "}\n");
	if (is_accel(webconf))
		return;
	buf_puts(out,
	    "\n"
	    "# The question to the router.  internal: an outsider gets 404.  "
	    "The limit on\n"
	    "# bodies is looked at here again: no pushes of more than 1 MB "
	    "else.\n"
	    "location = /reproute/ask {\n"
	    "\tinternal;\n"
	    "\tclient_max_body_size 0;\n"
	    "\tauth_request off;\n");
	put_ask(webconf, "name", out);
	buf_puts(out, "}\n");
}

/* What every location that may take a request has. */
static void
put_common(const struct webconf *webconf, const struct route *route,
    struct buf *out)
{
	buf_fmt(out,
	    "\tset $reproute_route %s;\n"
	    "\tclient_max_body_size 0;\n",
	    route->name);
	if (is_accel(webconf)) {
		buf_puts(out,
		    "\tset $reproute_asked \"\";\n"
		    "\tset $reproute_upstream \"\";\n"
		    "\tset $reproute_reason \"\";\n"
		    "\tset $reproute_token \"\";\n"
		    "\tfastcgi_ignore_client_abort on;\n"
		    "\tfastcgi_intercept_errors off;\n");
		put_ask(webconf, NULL, out);
		buf_puts(out, "\terror_page 502 504 = $reproute_undecided;\n");
	} else {
		buf_puts(out,
		    "\tauth_request /reproute/ask;\n"
		    "\tauth_request_set $reproute_asked $upstream_status;\n"
		    "\tauth_request_set $reproute_upstream "
		    "$upstream_http_x_reproute_upstream;\n"
		    "\tauth_request_set $reproute_reason "
		    "$upstream_http_x_reproute_reason;\n"
		    "\tauth_request_set $reproute_token "
		    "$upstream_http_x_reproute_token;\n"
		    "\t# auth_request makes 500 of a router that is dead or "
		    "slow\n"
		    "\terror_page 500 502 504 = $reproute_undecided;\n"
		    "\ttry_files /.reproute/no/such/file $reproute_target;\n");
	}
	buf_puts(out, "}\n");
}

static void
put_route(const struct webconf *webconf, const struct route *route,
    struct buf *out)
{
	buf_fmt(out, "\n# Route %s.\n", route->name);
	if (route->n_replicas > 0)
		buf_puts(out,
		    "# It says authorize = \"webserver\": auth_basic or the "
		    "like must be in force\n"
		    "# for it in this server{}, since a replica asks nobody "
		    "who may read.  Where\n"
		    "# that must not count for other routes, in http{}:\n"
		    "#   map $uri $realm { default off; \"~^/scm/\" git; }\n"
		    "# and \"auth_basic $realm;\" in server{}.  With\n"
		    "# \"satisfy any\" our question would let everybody in.\n");
	buf_fmt(out, "location ^~ %s {\n", route->prefix);
	put_common(webconf, route, out);
	if (strcmp(route->prefix, "/") == 0)
		return;
	buf_puts(out,
	    "# However else it may be spelt: a backend may drop path "
	    "parameters.\n"
	    "location ~ \"(?s)^(?:");
	webconf_pattern(route, out);
	buf_puts(out, ")\" {\n");
	put_common(webconf, route, out);
}

static void
put_log(const struct webconf *webconf, struct buf *out)
{
	buf_fmt(out,
	    "\taccess_log %s reproute;\n"
	    "\taccess_log syslog:server=unix:%s,nohostname,tag=reproute\n"
	    "\t\treproute_feed if=$reproute_report;\n",
	    webconf->access_log, webconf->feed_socket);
}

static const char proxy[] =
    "\tauth_request off;\n"
    "\tclient_max_body_size 0;\n"
    "\tproxy_http_version 1.1;\n"
    "\tproxy_set_header Connection \"\";\n"
    "\tproxy_set_header Host $http_host;\n"
    "\tproxy_set_header X-Reproute-Token $reproute_token;\n"
    "\tproxy_set_header X-Reproute-Upstream \"\";\n"
    "\tproxy_set_header X-Reproute-Reason \"\";\n"
    "\tproxy_set_header Forwarded \"\";\n"
    "\tproxy_set_header X-Forwarded-Port \"\";\n"
    "\tproxy_set_header X-Forwarded-Host $http_host;\n"
    "\tproxy_set_header X-Forwarded-Proto $scheme;\n"
    "\tproxy_set_header X-Forwarded-For $remote_addr;\n"
    "\tproxy_ignore_headers X-Accel-Redirect X-Accel-Buffering "
    "X-Accel-Charset\n"
    "\t\tX-Accel-Expires X-Accel-Limit-Rate;\n"
    "\tproxy_redirect off;\n"
    "\tproxy_intercept_errors off;\n"
    "\tproxy_cache off;\n"
    "\tproxy_buffering off;\n"
    "\tproxy_ignore_client_abort on;\n"
    "\tproxy_connect_timeout 2s;\n"
    "\tproxy_send_timeout 600s;\n"
    "\tproxy_next_upstream_tries 2;\n";

static const char proxy_why[] =
    "\n"
    "# The upstreams.  In each:\n"
    "# - the token is the router's or none: hooks believe it; Forwarded and\n"
    "#   X-Forwarded-* are ours, since registries build Location of them;\n"
    "# - X-Accel-* of an upstream would be obeyed by nginx;\n"
    "# - Location stays as the upstream wrote it, by the client's Host;\n"
    "# - bodies are streamed both ways, but a read's to a replica: nginx can\n"
    "#   send only what it keeps to the primary, when the replica fails;\n"
    "# - a push goes on when its client is gone, so that the line that ends\n"
    "#   its fence comes after it;\n"
    "# - auth_request off: the site's own would otherwise ask again.\n";

static enum err
put_location(const struct webconf *webconf, const struct upstream *upstream,
    struct buf *out)
{
	struct webconf_nginx_part part = webconf_nginx_part(webconf->conf,
	    upstream);
	bool kept = part.replica && !part.other;
	struct webconf_target target;
	enum err err = webconf_target(upstream, &target);

	if (err != ERR_OK)
		return err;
	buf_fmt(out, "location @%s {\n\tset $reproute_upstream %s;\n",
	    upstream->name, upstream->name);
	if (is_accel(webconf))
		buf_puts(out,
		    "\tset $reproute_reason "
		    "$upstream_http_x_reproute_reason;\n"
		    "\tset $reproute_token $upstream_http_x_reproute_token;\n");
	put_log(webconf, out);
	buf_puts(out, proxy);
	buf_fmt(out, "\tproxy_read_timeout %ds;\n",
	    kept ? WEBCONF_READ_S : 3600);
	buf_puts(out,
	    kept ? "\tproxy_request_buffering on;\n"
		   "\tclient_body_buffer_size 1m;\n"
		   "\tproxy_next_upstream error timeout http_502 http_503 "
		   "non_idempotent;\n"
		 : "\tproxy_request_buffering off;\n"
		   "\tproxy_next_upstream error timeout http_502 http_503;\n");
	if (part.registry)
		buf_puts(out,
		    "\terror_page 502 504 = @.busy.$reproute_kind;\n");
	if (target.tls)
		buf_fmt(out,
		    "\tproxy_ssl_server_name on;\n"
		    "\tproxy_ssl_name %s;\n"
		    "\tproxy_ssl_verify on;\n"
		    "\tproxy_ssl_verify_depth 4;\n"
		    "\tproxy_ssl_trusted_certificate %s;\n",
		    target.host,
		    upstream->ca_file != NULL ? upstream->ca_file
					      : WEBCONF_CA_FILE);
	buf_fmt(out, "\tproxy_pass %s://$reproute_to%s$request_uri;\n}\n",
	    target.tls ? "https" : "http", target.path);
	return ERR_OK;
}

static void
put_busy(const struct webconf *webconf, struct buf *out)
{
	buf_puts(out,
	    "\n"
	    "# Where nobody may serve: \"hold\", and writes without a "
	    "decision.\n"
	    "location @.busy.git {\n");
	put_log(webconf, out);
	buf_puts(out,
	    "\tauth_request off;\n"
	    "\tadd_header Retry-After 5 always;\n"
	    "\ttypes { }\n"
	    "\tdefault_type text/plain;\n"
	    "\treturn 503 \"" WEBCONF_BUSY "\\n\";\n"
	    "}\n"
	    "location @.busy.registry {\n");
	put_log(webconf, out);
	buf_puts(out,
	    "\tauth_request off;\n"
	    "\tadd_header Retry-After 5 always;\n"
	    "\tadd_header Docker-Distribution-Api-Version registry/2.0 always;\n"
	    "\ttypes { }\n"
	    "\tdefault_type application/json;\n"
	    "\treturn 503 '");
	webconf_registry_error("UNAVAILABLE", WEBCONF_BUSY, out);
	buf_puts(out,
	    "';\n"
	    "}\n"
	    "location @.nowhere {\n"
	    "\treturn 404;\n"
	    "}\n");
	if (is_accel(webconf))
		buf_puts(out,
		    "location @hold {\n"
		    "\tset $reproute_upstream hold;\n"
		    "\tset $reproute_reason "
		    "$upstream_http_x_reproute_reason;\n"
		    "\tset $reproute_token $upstream_http_x_reproute_token;\n"
		    "\tauth_request off;\n"
		    "\ttry_files /.reproute/no/such/file "
		    "@.busy.$reproute_kind;\n"
		    "}\n");
}

static enum err
print_server(const struct webconf *webconf, struct buf *out)
{
	const struct conf *conf = webconf->conf;
	enum err err = ERR_OK;

	webconf_nginx_head(webconf,
	    "# /etc/nginx/snippets/reproute.conf: to be included once in each "
	    "server{} whose\n"
	    "# requests reproute-fcgi routes.  It needs the part for http{} as "
	    "well.\n",
	    out);
	if (is_accel(webconf))
		buf_puts(out,
		    "# The router is the responder and answers "
		    "X-Accel-Redirect: nginx keeps each\n"
		    "# whole body on disk before it asks.\n");
	buf_puts(out,
	    "\n"
	    "# Router and upstream must read the same bytes; and a header "
	    "spelt with _ or .\n"
	    "# is ours for a CGI program (nginx drops it).  For the whole "
	    "server{}.\n"
	    "merge_slashes off;\n"
	    "underscores_in_headers off;\n"
	    "ignore_invalid_headers on;\n");
	put_own(webconf, out);
	for (size_t i = 0; i < conf->n_routes; i++)
		put_route(webconf, &conf->routes[i], out);
	buf_puts(out, proxy_why);
	for (size_t i = 0; i < conf->n_upstreams && err == ERR_OK; i++)
		if (webconf_uses(conf, &conf->upstreams[i]))
			err = put_location(webconf, &conf->upstreams[i], out);
	put_busy(webconf, out);
	return err;
}

static const char *const apps[] = { "socket", NULL };
static const char *const modes[] = { "auth_request", "accel", NULL };
static const struct webconf_part parts[] = {
	{ "http", "/etc/nginx/conf.d/reproute.conf", webconf_nginx_http },
	{ "server", "/etc/nginx/snippets/reproute.conf", print_server },
	{ NULL, NULL, NULL },
};
const struct webconf_server webconf_nginx = {
	.name = "nginx",
	.access_log = "/var/log/nginx/access.log",
	.apps = apps,
	.modes = modes,
	.parts = parts,
};

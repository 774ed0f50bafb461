/* webconf_nginx_http.c: nginx's part for http{}: upstreams, maps, logs */
/* SPDX-License-Identifier: ISC */
#include <string.h>

#include "fcgi/webconf_nginx.h"

struct webconf_nginx_part
webconf_nginx_part(const struct conf *conf, const struct upstream *upstream)
{
	struct webconf_nginx_part part = { .replica = false };

	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct route *route = &conf->routes[i];
		bool other = route->primary == upstream ||
		    route->to == upstream;

		part.replica |= route->kind == ROUTE_GIT &&
		    conf_is_replica(route, upstream, NULL);
		part.other |= other;
		part.registry |= other && route->kind == ROUTE_REGISTRY;
	}
	return part;
}

static void
put_address(const struct webconf_target *target, struct buf *out)
{
	bool v6 = strchr(target->host, ':') != NULL;

	buf_fmt(out, v6 ? "[%s]:%u" : "%s:%u", target->host, target->port);
}

/* One upstream block has one scheme and one path for all of its servers. */
static bool
can_stand_in(const struct webconf_target *primary,
    const struct webconf_target *replica)
{
	return !primary->tls && !replica->tls &&
	    strcmp(primary->path, replica->path) == 0;
}

static const char keep[] = "\tkeepalive 16;\n"
			   "\tkeepalive_timeout 4s;\n"
			   "}\n";

static enum err
put_pair(const struct route *route, const struct upstream *upstream,
    struct buf *out)
{
	struct webconf_target primary, replica;
	enum err err = webconf_target(route->primary, &primary);

	if (err == ERR_OK)
		err = webconf_target(upstream, &replica);
	if (err != ERR_OK)
		return err;
	buf_fmt(out, "upstream reproute.%s.%s {\n\tserver ", route->name,
	    upstream->name);
	put_address(&replica, out);
	if (can_stand_in(&primary, &replica)) {
		buf_puts(out, " max_fails=1 fail_timeout=1s;\n\tserver ");
		put_address(&primary, out);
		buf_puts(out, " backup;\n");
	} else {
		buf_fmt(out,
		    ";\n\t# no standby: %s has another path, or TLS is in it\n",
		    route->primary->name);
	}
	buf_puts(out, keep);
	return ERR_OK;
}

static enum err
put_upstream(const struct upstream *upstream, struct buf *out)
{
	struct webconf_target target;
	enum err err = webconf_target(upstream, &target);

	if (err != ERR_OK)
		return err;
	buf_fmt(out, "upstream reproute.%s {\n\tserver ", upstream->name);
	put_address(&target, out);
	buf_fmt(out, ";\n%s", keep);
	return ERR_OK;
}

static enum err
put_upstreams(const struct conf *conf, struct buf *out)
{
	enum err err = ERR_OK;

	buf_puts(out,
	    "\n"
	    "# One server a name, so that no request goes where the router did "
	    "not send it.\n"
	    "# Idle connections are closed before the upstream (5 s is common) "
	    "closes them\n"
	    "# under a push, which cannot be sent twice.\n");
	for (size_t i = 0; i < conf->n_upstreams && err == ERR_OK; i++)
		if (webconf_nginx_part(conf, &conf->upstreams[i]).other)
			err = put_upstream(&conf->upstreams[i], out);
	buf_puts(out,
	    "\n"
	    "# A replica that refuses, resets or answers 502 or 503: the "
	    "primary of the\n"
	    "# route serves the read in the same request.  Only reads are sent "
	    "to replicas.\n");
	for (size_t i = 0; i < conf->n_routes; i++)
		for (size_t j = 0;
		     j < conf->routes[i].n_replicas && err == ERR_OK; j++)
			err = put_pair(&conf->routes[i],
			    conf->routes[i].replicas[j], out);
	return err;
}

static bool
refuses_writes(const struct route *route)
{
	return route->kind == ROUTE_GIT &&
	    route->undecided_writes == UNDECIDED_REFUSE;
}

static void
put_choice(const struct conf *conf, struct buf *out)
{
	buf_puts(out,
	    "\n"
	    "# What a route is.\n"
	    "map $reproute_route $reproute_kind {\n"
	    "\tdefault git;\n");
	for (size_t i = 0; i < conf->n_routes; i++)
		if (conf->routes[i].kind == ROUTE_REGISTRY)
			buf_fmt(out, "\t%s registry;\n", conf->routes[i].name);
	buf_puts(out,
	    "}\n"
	    "# Without a decision only reads go on, and to the primary only: "
	    "a write would\n"
	    "# pass its fence by (a git route can say undecided_writes = "
	    "\"primary\"), and a\n"
	    "# registry's could split a repository.\n"
	    "map \"$request_method $args $uri\" $reproute_read {\n"
	    "\tdefault no;\n"
	    "\t# a push's first request: it is told so at once\n"
	    "\t\"~^\\S+ \\S*git-receive-pack\" no;\n"
	    "\t\"~^(GET|HEAD) \" yes;\n"
	    "\t\"~(?s)^POST \\S* .*/git-upload-pack$\" yes;\n"
	    "}\n"
	    "map \"$reproute_asked $reproute_route $reproute_read\" "
	    "$reproute_undecided {\n"
	    "\tdefault @.busy.$reproute_kind;\n"
	    "\t# the router knows no route of this path\n"
	    "\t\"~^404 \" @.nowhere;\n");
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct route *route = &conf->routes[i];

		if (route->to == NULL)
			buf_fmt(out, "\t\"~ %s %s$\" @%s;\n", route->name,
			    refuses_writes(route) ? "yes" : "(yes|no)",
			    route->primary->name);
	}
	buf_puts(out,
	    "}\n"
	    "# The white list: whatever else was answered is no decision.\n"
	    "map $reproute_upstream $reproute_target {\n"
	    "\tdefault $reproute_undecided;\n"
	    "\thold @.busy.$reproute_kind;\n");
	for (size_t i = 0; i < conf->n_upstreams; i++)
		if (webconf_uses(conf, &conf->upstreams[i]))
			buf_fmt(out, "\t%s @%s;\n", conf->upstreams[i].name,
			    conf->upstreams[i].name);
	buf_puts(out,
	    "}\n"
	    "map \"$reproute_route $reproute_upstream\" $reproute_replica {\n"
	    "\tdefault no;\n");
	for (size_t i = 0; i < conf->n_routes; i++)
		for (size_t j = 0; j < conf->routes[i].n_replicas; j++)
			buf_fmt(out, "\t\"%s %s\" yes;\n", conf->routes[i].name,
			    conf->routes[i].replicas[j]->name);
	buf_puts(out,
	    "}\n"
	    "map $reproute_replica $reproute_to {\n"
	    "\tdefault reproute.$reproute_upstream;\n"
	    "\tyes reproute.$reproute_route.$reproute_upstream;\n"
	    "}\n");
}

/* Of which route it is a write without a decision. */
static void
put_unfenced(const struct conf *conf, struct buf *out)
{
	buf_puts(out,
	    "map \"$reproute_route $reproute_reason $reproute_read\" "
	    "$reproute_unfenced {\n"
	    "\tdefault -;\n");
	for (size_t i = 0; i < conf->n_routes; i++)
		if (conf->routes[i].kind == ROUTE_GIT &&
		    !refuses_writes(&conf->routes[i]))
			buf_fmt(out, "\t\"%s  no\" %s;\n", conf->routes[i].name,
			    conf->routes[i].name);
	buf_puts(out, "}\n");
}

static void
put_formats(struct buf *out)
{
	buf_puts(out,
	    "map $request_time $reproute_us {\n"
	    "\tdefault 0;\n"
	    "\t\"~^(?<reproute_s>\\d+)\\.(?<reproute_ms>\\d+)$\" "
	    "\"$reproute_s${reproute_ms}000\";\n"
	    "}\n"
	    "map $reproute_reason $reproute_why {\n"
	    "\tdefault $reproute_reason;\n"
	    "\t\"\" undecided;\n"
	    "}\n"
	    "log_format reproute_feed 'reproute-feed $reproute_token_said "
	    "$status $reproute_us '\n"
	    "\t'$reproute_upstream done=$reproute_done "
	    "addr=$remote_addr served=$reproute_served '\n"
	    "\t'unfenced=$reproute_unfenced';\n"
	    "log_format reproute '$remote_addr - $remote_user [$time_local] "
	    "\"$request\" $status '\n"
	    "\t'$body_bytes_sent \"$http_referer\" \"$http_user_agent\" '\n"
	    "\t'upstream=$reproute_upstream reason=$reproute_why';\n");
}

static void
put_logs(const struct conf *conf, struct buf *out)
{
	buf_puts(out,
	    "\n"
	    "# What the daemon is told: requests with a token (writes), which "
	    "ends fences\n"
	    "# early; reads that a replica failed, which takes it out at "
	    "once, or broke off,\n"
	    "# so that it is asked; and writes without a decision (unfenced), "
	    "so that all of\n"
	    "# the route is compared anew.\n"
	    "map $upstream_status $reproute_tries {\n"
	    "\tdefault one;\n"
	    "\t\"~,\" two;\n"
	    "}\n"
	    "map \"$reproute_tries $reproute_replica $reproute_route\" "
	    "$reproute_served {\n"
	    "\tdefault -;\n");
	for (size_t i = 0; i < conf->n_routes; i++)
		if (conf->routes[i].n_replicas > 0)
			buf_fmt(out, "\t\"two yes %s\" %s;\n",
			    conf->routes[i].name,
			    conf->routes[i].primary->name);
	buf_puts(out,
	    "}\n"
	    "map $reproute_token $reproute_token_said {\n"
	    "\tdefault $reproute_token;\n"
	    "\t\"\" -;\n"
	    "}\n");
	put_unfenced(conf, out);
	buf_puts(out,
	    "map $request_completion $reproute_done {\n"
	    "\tdefault OK;\n"
	    "\t\"\" X;\n"
	    "}\n"
	    "map \"$reproute_token_said $reproute_unfenced $reproute_replica "
	    "$reproute_tries $status $reproute_done\"\n"
	    "\t\t$reproute_report {\n"
	    "\tdefault 1;\n"
	    "\t\"~^- - no \" 0;\n"
	    "\t\"~^- - yes two \" 1;\n"
	    "\t\"~^- - yes one 50[234] \" 1;\n"
	    "\t\"~^- - yes one 2.* X$\" 1;\n"
	    "\t\"~^- - \" 0;\n"
	    "}\n");
	put_formats(out);
}

void
webconf_nginx_head(const struct webconf *webconf, const char *what,
    struct buf *out)
{
	buf_fmt(out,
	    "%s#\n"
	    "# Printed by: %s\n"
	    "# Print both parts anew when upstreams or routes change; change "
	    "nothing here\n"
	    "# (\"reproute webconf nginx --check\" compares).\n",
	    what, webconf->command);
}

enum err
webconf_nginx_http(const struct webconf *webconf, struct buf *out)
{
	enum err err;

	webconf_nginx_head(webconf,
	    "# /etc/nginx/conf.d/reproute.conf: what nginx's http{} needs to "
	    "route requests\n"
	    "# as reproute-fcgi says.  It needs the part for server{} as "
	    "well.\n",
	    out);
	if ((err = put_upstreams(webconf->conf, out)) != ERR_OK)
		return err;
	put_choice(webconf->conf, out);
	put_logs(webconf->conf, out);
	return ERR_OK;
}

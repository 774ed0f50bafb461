/* webconf.c: what the web servers' parts have in common */
/* SPDX-License-Identifier: ISC */
#include "fcgi/webconf.h"

#include <stdlib.h>
#include <string.h>

#include "sync/wire.h"

/* What webconf_check() takes in a path. */
#define PLAIN                                                                  \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"                 \
	"0123456789/._-+@,="

bool
webconf_is_tls(const struct upstream *upstream)
{
	return strncmp(upstream->url, "https:", 6) == 0;
}

enum err
webconf_target(const struct upstream *upstream, struct webconf_target *out)
{
	bool tls = webconf_is_tls(upstream);
	const char *host = strstr(upstream->url, "://") + 3;
	const char *path = host + strcspn(host, "/");
	const char *port = NULL, *end;
	size_t len;

	if (*host == '[') {
		host++;
		end = host + strcspn(host, "]");
		port = end + 1;
	} else {
		end = host + strcspn(host, ":/");
		port = end;
	}
	len = (size_t)(end - host);
	if (len >= sizeof(out->host))
		return err_set(ERR_CONF,
		    "upstream %s: a host name of %zu "
		    "bytes; %zu is the most",
		    upstream->name, len, sizeof(out->host) - 1);
	memcpy(out->host, host, len);
	out->host[len] = '\0';
	out->tls = tls;
	out->port = *port == ':' ? (unsigned)atoi(port + 1) : tls ? 443 : 80;
	out->path = path;
	return ERR_OK;
}

bool
webconf_uses(const struct conf *conf, const struct upstream *upstream)
{
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct route *route = &conf->routes[i];

		if (route->primary == upstream ||
		    conf_is_replica(route, upstream, NULL))
			return true;
	}
	return false;
}

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
 * A web server decodes a path and resolves its dot segments, as the router
 * does it; but path parameters (";x") stay, which some backends drop.  So
 * "/scm;x/" and "/y/..;x/scm/" belong to the route, too.
 */
void
webconf_pattern(const struct route *route, struct buf *out)
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

/* ADDR:PORT in numbers, as listener_open() takes it. */
static enum err
check_address(const char *address)
{
	if (address == NULL ||
	    (strchr(address, ':') != NULL &&
		address[strspn(address, "0123456789abcdefABCDEF.:[]")] == '\0'))
		return ERR_OK;
	return err_set(ERR_CONF,
	    "the address \"%s\" is not ADDR:PORT in numbers", address);
}

static enum err
check_path(const char *path)
{
	if (path == NULL ||
	    (path[0] == '/' && path[strspn(path, PLAIN)] == '\0'))
		return ERR_OK;
	return err_set(ERR_CONF,
	    "the path \"%s\" goes into the web server's file, and must start "
	    "with / and be of letters, digits and /._-+@,= only",
	    path);
}

enum err
webconf_check(const struct webconf *webconf)
{
	const char *const paths[] = { webconf->socket, webconf->push_socket,
		webconf->feed_socket, webconf->script, webconf->access_log,
		webconf->bin_dir, webconf->sbin_dir, webconf->libexec_dir,
		webconf->conf_file };
	const struct conf *conf = webconf->conf;
	enum err err = check_address(webconf->address);

	for (size_t i = 0;
	     i < sizeof(paths) / sizeof(paths[0]) && err == ERR_OK; i++)
		err = check_path(paths[i]);
	for (size_t i = 0; i < conf->n_upstreams && err == ERR_OK; i++)
		err = check_path(conf->upstreams[i].ca_file);
	return err;
}

void
webconf_no_undecided(const struct conf *conf, struct buf *out)
{
	for (size_t i = 0; i < conf->n_routes; i++)
		if (conf->routes[i].undecided_writes == UNDECIDED_PRIMARY)
			buf_fmt(out,
			    "\n"
			    "# undecided_writes = \"primary\" of route %s "
			    "cannot be had here: this server\n"
			    "# sends nothing on without a decision.\n",
			    conf->routes[i].name);
}

void
webconf_registry_error(const char *code, const char *message, struct buf *out)
{
	wire_put_registry_error(code, message, out);
	out->data[--out->len] = '\0';
}

/* webconf.c: what the web servers' parts have in common */
/* SPDX-License-Identifier: ISC */
#include "fcgi/webconf.h"

#include <stdlib.h>
#include <string.h>

/* What webconf_check() takes in a path. */
#define PLAIN                                                                  \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"                 \
	"0123456789/._-+@,="

enum err
webconf_target(const struct upstream *upstream, struct webconf_target *out)
{
	bool tls = strncmp(upstream->url, "https:", 6) == 0;
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

		if (route->primary == upstream || route->to == upstream)
			return true;
		for (size_t j = 0; j < route->n_replicas; j++)
			if (route->replicas[j] == upstream)
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

/* "127.0.0.1:9010", "[::1]:9010" */
static bool
is_address(const char *text)
{
	const char *colon = strrchr(text, ':');

	return colon != NULL && colon > text &&
	    strspn(text, "0123456789abcdef.:[]") == strlen(text) &&
	    strspn(colon + 1, "0123456789") == strlen(colon + 1) &&
	    colon[1] != '\0';
}

static bool
is_path(const char *text)
{
	return text[0] == '/' && text[strspn(text, PLAIN)] == '\0';
}

/* A path, or one that begins with a variable of the server's. */
static bool
is_log(const char *text)
{
	const char *end;

	if (strncmp(text, "${", 2) != 0)
		return is_path(text);
	end = text + 2 + strspn(text + 2, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
	return *end == '}' && is_path(end + 1);
}

static enum err
refuse(const char *path)
{
	return err_set(ERR_CONF,
	    "the path \"%s\" goes into the web server's file, and must start "
	    "with / and be of letters, digits and /._-+@,= only",
	    path);
}

enum err
webconf_check(const struct webconf *webconf)
{
	const char *const paths[] = { webconf->push_socket,
		webconf->feed_socket, webconf->script, webconf->bin_dir,
		webconf->sbin_dir, webconf->libexec_dir, webconf->conf_file };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (paths[i] != NULL && !is_path(paths[i]))
			return refuse(paths[i]);
	if (!is_path(webconf->socket) && !is_address(webconf->socket))
		return refuse(webconf->socket);
	for (size_t i = 0; i < webconf->conf->n_upstreams; i++) {
		const char *file = webconf->conf->upstreams[i].ca_file;

		if (file != NULL && !is_path(file))
			return refuse(file);
	}
	if (webconf->access_log != NULL && !is_log(webconf->access_log))
		return refuse(webconf->access_log);
	return ERR_OK;
}

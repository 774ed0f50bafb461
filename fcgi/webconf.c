/* webconf.c: the webconf verb: prints a web server's part */
/* SPDX-License-Identifier: ISC */
#include "fcgi/webconf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/admin.h"
#include "sync/wake.h"

#define DEFAULT_SCRIPT "/etc/reproute/lighttpd.lua"

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

enum err
webconf_check(const struct webconf *webconf)
{
	const char *const paths[] = { webconf->socket, webconf->feed_socket,
		webconf->script, webconf->bin_dir, webconf->libexec_dir,
		webconf->conf_file };

	for (size_t i = 0;
	     i < sizeof(paths) / sizeof(paths[0]) && paths[i] != NULL; i++)
		if (paths[i][0] != '/' ||
		    paths[i][strspn(paths[i], PLAIN)] != '\0')
			return err_set(ERR_CONF,
			    "the path \"%s\" goes into "
			    "the web server's file, and must start with / and "
			    "be of letters, digits and /._-+@,= only",
			    paths[i]);
	return ERR_OK;
}

static char *
given_or(const char *given, const char *dir, const char *name)
{
	return given != NULL ? mem_dup(given) : mem_fmt("%s/%s", dir, name);
}

/* Who starts the push endpoint has another working directory. */
static enum err
absolute_conf(const char *file, char **out)
{
	*out = NULL;
	if (strcmp(file, CONF_DEFAULT_FILE) == 0)
		return ERR_OK;
	*out = realpath(file, NULL);
	return *out != NULL ? ERR_OK : err_sys("%s", file);
}

static enum err
print_for(const char *server, bool script, const struct webconf *webconf)
{
	struct buf out = { 0 };
	enum err err;

	if (strcmp(server, "lighttpd") != 0)
		return err_set(ERR_USAGE,
		    "which web server?  lighttpd is "
		    "known");
	if ((err = webconf_check(webconf)) != ERR_OK)
		return err;
	if (script)
		webconf_lighttpd_script(webconf, &out);
	else if ((err = webconf_lighttpd(webconf, &out)) != ERR_OK)
		goto out;
	fwrite(out.data, 1, out.len, stdout);
out:
	buf_free(&out);
	return err;
}

enum err
admin_webconf(const struct admin *admin, int argc, char **argv, int *status)
{
	const struct conf *conf = admin->conf;
	char *conf_file = NULL;
	char *socket = given_or(admin->socket, conf->run_dir, "fcgi.sock");
	char *feed_socket = given_or(NULL, conf->run_dir, FEED_SOCKET);
	enum err err = absolute_conf(conf->file, &conf_file);
	const struct webconf webconf = {
		.conf = conf,
		.conf_file = conf_file,
		.socket = socket,
		.feed_socket = feed_socket,
		.script = admin->lua_file ? admin->lua_file : DEFAULT_SCRIPT,
		.bin_dir = admin->bin_dir ? admin->bin_dir : BINDIR,
		.libexec_dir = admin->libexec_dir ? admin->libexec_dir
						  : LIBEXECDIR,
	};

	(void)status;
	if (err == ERR_OK && argc != 2)
		err = err_set(ERR_USAGE, "one web server's name is wanted");
	if (err == ERR_OK)
		err = print_for(argv[1], admin->lua, &webconf);
	free(conf_file);
	free(socket);
	free(feed_socket);
	return err;
}

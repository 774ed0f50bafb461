/* check.c: the check verb: is all there, and may we use it? */
/* SPDX-License-Identifier: ISC */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "conf/crypto.h"
#include "conf/rules.h"
#include "fcgi/admin.h"
#include "sync/place.h"
#include "sync/wake.h"
#include "sync/wire.h"

/* As whom the programs run where there is such a user. */
#define USER "reproute"
/* Where the router listens that is started on its own. */
#define ROUTER_SOCKET "fcgi.sock"
/* Of one user; whoever is in more than these is taken not to be. */
#define MAX_GROUPS 256

enum level { LEVEL_OK, LEVEL_WARNING, LEVEL_ERROR };
static const char *const level_words[] = { "ok", "warning", "error" };

struct report {
	const struct admin *admin;
	struct wire *wire; /* NULL: text */
	unsigned errors;
};

static void PRINTF(4, 5) say(struct report *report, enum level level,
    const char *subject, const char *fmt, ...)
{
	struct buf text = { 0 };
	char *body = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&body, fmt, ap) == -1)
		body = NULL;
	va_end(ap);
	buf_puts(&text, body != NULL ? body : "");
	free(body);
	report->errors += level == LEVEL_ERROR;
	if (report->wire == NULL) {
		printf("%-8s %s: %s\n", level_words[level], subject, text.data);
	} else {
		wire_begin_object(report->wire, NULL);
		wire_text(report->wire, "level", level_words[level]);
		wire_text(report->wire, "subject", subject);
		wire_text(report->wire, "text", text.data);
		wire_end(report->wire);
	}
	buf_free(&text);
}

static void
check_conf(struct report *report)
{
	const struct conf *conf = report->admin->conf;

	say(report, LEVEL_OK, "configuration", "%s: %zu upstreams, %zu routes",
	    conf->file, conf->n_upstreams, conf->n_routes);
}

static void
check_jit(struct report *report)
{
	if (rules_jit())
		say(report, LEVEL_OK, "rules", "patterns run as machine code");
	else
		say(report, LEVEL_WARNING, "rules",
		    "no JIT for patterns: they are slower, and work all the "
		    "same "
		    "(is MemoryDenyWriteExecute set?)");
}

static const char *
user_name(uid_t uid, char out[64])
{
	const struct passwd *user = getpwuid(uid);

	if (user != NULL)
		snprintf(out, 64, "%s", user->pw_name);
	else
		snprintf(out, 64, "uid %ju", (uintmax_t)uid);
	return out;
}

static const char *
group_name(gid_t gid, char out[64])
{
	const struct group *group = getgrgid(gid);

	if (group != NULL)
		snprintf(out, 64, "%s", group->gr_name);
	else
		snprintf(out, 64, "gid %ju", (uintmax_t)gid);
	return out;
}

/* Ours, or reproute's where there is such a user? */
static bool
is_owner(uid_t uid)
{
	const struct passwd *user = getpwnam(USER);

	return uid == (user != NULL ? user->pw_uid : geteuid());
}

/*
 * The state must be writable for everybody in its group and readable for
 * nobody else: so nobody else may be in the group.
 */
static void
check_members(struct report *report, const char *subject, gid_t gid)
{
	const struct group *group = getgrgid(gid);

	if (group == NULL || strcmp(group->gr_name, USER) != 0)
		return;
	for (char **member = group->gr_mem; *member != NULL; member++)
		if (strcmp(*member, USER) != 0)
			say(report, LEVEL_WARNING, subject,
			    "%s is in the group %s, and can change the state: "
			    "gpasswd -d %s %s",
			    *member, group->gr_name, *member, group->gr_name);
}

/* false: it is not there, or not for us */
static bool
check_dir(struct report *report, const char *subject, const char *path,
    bool state)
{
	char owner[64], group[64], we[64];
	struct stat status;

	if (stat(path, &status) == -1) {
		/* the group of the run-time directory is the web server's */
		say(report, LEVEL_ERROR, subject,
		    "%s: %s; make it: install -d -o %s -g %s -m %s %s", path,
		    strerror(errno), USER, state ? USER : "www-data",
		    state ? "2770" : "2750", path);
		return false;
	}
	user_name(status.st_uid, owner);
	group_name(status.st_gid, group);
	if (!S_ISDIR(status.st_mode)) {
		say(report, LEVEL_ERROR, subject, "%s is no directory", path);
		return false;
	}
	if (eaccess(path, state ? R_OK | W_OK | X_OK : X_OK) == -1) {
		say(report, LEVEL_ERROR, subject,
		    "%s (%s:%s %04o): %s may not use it: run this as %s or "
		    "root",
		    path, owner, group, status.st_mode & 07777,
		    user_name(geteuid(), we), USER);
		return false;
	}
	if ((status.st_mode & 07) != 0)
		say(report, LEVEL_WARNING, subject,
		    "%s (%s:%s %04o) is open to everybody: chmod o= %s", path,
		    owner, group, status.st_mode & 07777, path);
	else if (!is_owner(status.st_uid))
		say(report, LEVEL_WARNING, subject,
		    "%s belongs to %s: chown %s it, or the programs cannot use "
		    "it",
		    path, owner, USER);
	else if ((status.st_mode & S_ISGID) == 0)
		say(report, LEVEL_WARNING, subject,
		    "%s (%s:%s %04o): what is made in it will not be of its "
		    "group: chmod g+s %s",
		    path, owner, group, status.st_mode & 07777, path);
	else
		say(report, LEVEL_OK, subject, "%s (%s:%s %04o)", path, owner,
		    group, status.st_mode & 07777);
	if (state)
		check_members(report, subject, status.st_gid);
	return true;
}

static int
try_socket(const char *path, int type)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int error = 0;

	if (fd == -1)
		return errno;
	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	/* EAGAIN: a queue is full, so somebody is there */
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == -1 &&
	    errno != EAGAIN)
		error = errno;
	close(fd);
	return error;
}

static void
check_socket(struct report *report, const char *name, int type,
    const char *whose)
{
	char *path = mem_fmt("%s/%s", report->admin->conf->run_dir, name);
	int error = try_socket(path, type);

	if (error == 0)
		say(report, LEVEL_OK, name, "%s listens", whose);
	else if (error == ENOENT || error == ECONNREFUSED)
		say(report, LEVEL_WARNING, name,
		    "%s: nobody listens; does %s run?", path, whose);
	else
		say(report, LEVEL_ERROR, name, "%s: %s", path, strerror(error));
	free(path);
}

static bool
router_lives(const struct conf *conf)
{
	struct pulse *pulse = NULL;
	bool lives = pulse_open(conf->run_dir, false, &pulse) == ERR_OK &&
	    pulse_has_router(pulse);

	pulse_close(pulse);
	return lives;
}

static bool
is_in_group(const struct passwd *user, gid_t gid)
{
	gid_t groups[MAX_GROUPS];
	int n = MAX_GROUPS;

	if (getgrouplist(user->pw_name, user->pw_gid, groups, &n) == -1)
		return user->pw_gid == gid;
	for (int i = 0; i < n; i++)
		if (groups[i] == gid)
			return true;
	return false;
}

/*
 * This process may read it.  ours: the daemon has to, too, and whoever runs
 * this (root) may read more than that.
 */
static void
say_readable(struct report *report, const char *subject, const char *path,
    bool ours)
{
	const struct passwd *user = ours ? getpwnam(USER) : NULL;
	char owner[64], group[64];
	struct stat status;
	mode_t bit = S_IROTH;

	if (user == NULL || stat(path, &status) == -1) {
		say(report, LEVEL_OK, subject, "%s", path);
		return;
	}
	if (status.st_uid == user->pw_uid)
		bit = S_IRUSR;
	else if (is_in_group(user, status.st_gid))
		bit = S_IRGRP;
	if ((status.st_mode & bit) == 0)
		say(report, LEVEL_ERROR, subject,
		    "%s (%s:%s %04o): the user %s may not read it: chgrp %s "
		    "it, and chmod 0640",
		    path, user_name(status.st_uid, owner),
		    group_name(status.st_gid, group), status.st_mode & 07777,
		    USER, USER);
	else
		say(report, LEVEL_OK, subject, "%s", path);
}

/* A program that writes the state, though the web server's user starts it. */
static void
check_setgid(struct report *report, const char *name, const char *path)
{
	const struct group *group = getgrnam(USER);
	struct stat status;

	if (group == NULL || stat(path, &status) == -1)
		return;
	if ((status.st_mode & S_ISGID) == 0 || status.st_gid != group->gr_gid)
		say(report, LEVEL_WARNING, name,
		    "%s is not setgid %s: started by a web server, as another "
		    "user, "
		    "it cannot write the state: chgrp %s it, then chmod 2755",
		    path, USER, USER);
	else
		say(report, LEVEL_OK, name, "%s, setgid %s", path, USER);
}

static void
check_router(struct report *report)
{
	const struct conf *conf = report->admin->conf;
	char *path = mem_fmt("%s/" ROUTER_SOCKET, conf->run_dir);
	bool lives = router_lives(conf);

	if (lives && try_socket(path, SOCK_STREAM) != 0)
		say(report, LEVEL_OK, ROUTER_SOCKET,
		    "nobody listens, but a router runs: started by the web "
		    "server, or on TCP");
	else
		check_socket(report, ROUTER_SOCKET, SOCK_STREAM, "the router");
	if (!lives)
		check_setgid(report, "reproute-fcgi", SBINDIR "/reproute-fcgi");
	free(path);
}

static void
check_secret(struct report *report, const char *subject, const char *path,
    bool ours)
{
	char *secret;

	if (path == NULL)
		return;
	if (secret_read(path, &secret) != ERR_OK) {
		say(report, LEVEL_ERROR, subject, "%s", err_text());
		return;
	}
	say_readable(report, subject, path, ours);
	explicit_bzero(secret, strlen(secret));
	free(secret);
}

/* A netrc file is libcurl's and git's to read: only its mode is looked at. */
static void
check_auth_file(struct report *report, const char *subject, const char *path,
    bool ours)
{
	struct stat status;

	if (path == NULL)
		return;
	if (stat(path, &status) == -1 || eaccess(path, R_OK) == -1)
		say(report, LEVEL_ERROR, subject, "%s: %s", path,
		    strerror(errno));
	else if ((status.st_mode & 07) != 0)
		say(report, LEVEL_ERROR, subject,
		    "%s: others may read it; chmod 0600 it", path);
	else
		say_readable(report, subject, path, ours);
}

static void
check_ca_file(struct report *report, const char *subject, const char *path)
{
	if (path == NULL)
		return;
	if (eaccess(path, R_OK) == -1)
		say(report, LEVEL_ERROR, subject, "%s: %s", path,
		    strerror(errno));
	else
		say_readable(report, subject, path, true);
}

static void
check_files(struct report *report)
{
	const struct conf *conf = report->admin->conf;

	check_secret(report, "push.token_file", conf->push.token_file, true);
	if (conf->push.token_file != NULL)
		check_setgid(report, "reproute-push",
		    LIBEXECDIR "/reproute-push");
	check_secret(report, "replica.token_file", conf->replica.token_file,
	    false);
	check_auth_file(report, "replica.auth_file", conf->replica.auth_file,
	    false);
	for (size_t i = 0; i < conf->n_upstreams; i++) {
		const struct upstream *upstream = &conf->upstreams[i];
		char *subject = mem_fmt("upstream %s", upstream->name);

		check_auth_file(report, subject, upstream->auth_file, true);
		check_ca_file(report, subject, upstream->ca_file);
		free(subject);
	}
}

struct orphan {
	const struct conf *conf;
	char upstream[WORD_SIZE], name[NAME_SIZE];
};

static enum err
find_orphan(struct table_txn *txn, void *arg)
{
	struct orphan *orphan = arg;

	return place_orphan(txn, orphan->conf, orphan->upstream, orphan->name);
}

static void
check_table(struct report *report)
{
	const struct conf *conf = report->admin->conf;
	struct orphan orphan = { .conf = conf };
	struct table *table = NULL;
	struct table_size size;
	enum err err = admin_table(report->admin, false, &table);

	if (err == ERR_OK && table == NULL) {
		say(report, LEVEL_WARNING, "table",
		    "there is none yet; the daemon and the router make it when "
		    "they start");
		return;
	}
	if (err == ERR_OK)
		err = table_measure(table, &size);
	if (err == ERR_OK)
		say(report, LEVEL_OK, "table",
		    "format %d, %zu of %zu KiB, %u readers", TABLE_FORMAT,
		    size.used >> 10, size.map >> 10, size.readers);
	if (err == ERR_OK)
		err = table_read(table, find_orphan, &orphan);
	if (err == ERR_OK)
		say(report, LEVEL_ERROR, "placements",
		    "%s is placed on the upstream \"%s\", which the "
		    "configuration does not have: put it back",
		    orphan.name, orphan.upstream);
	else if (err == ERR_ABSENT)
		say(report, LEVEL_OK, "placements",
		    "the upstreams of all are there");
	else
		say(report, LEVEL_ERROR, "table", "%s", err_text());
	table_close(table);
}

static void
check_pulse(struct report *report)
{
	const struct conf *conf = report->admin->conf;
	struct pulse *pulse;
	int64_t age_ms;

	if (pulse_open(conf->run_dir, false, &pulse) != ERR_OK) {
		say(report, LEVEL_ERROR, "heartbeat", "%s", err_text());
		return;
	}
	age_ms = pulse_age_ms(pulse);
	if (age_ms < 0)
		say(report, LEVEL_ERROR, "heartbeat",
		    "none since boot: start reproute-syncd; until then all "
		    "reads "
		    "go to the primary");
	else
		say(report,
		    age_ms > conf->sync.valid_ms ? LEVEL_ERROR : LEVEL_OK,
		    "heartbeat", "%jd s ago; good for %jd s",
		    (intmax_t)age_ms / 1000,
		    (intmax_t)conf->sync.valid_ms / 1000);
	for (size_t i = 0; i < conf->n_routes; i++)
		if (conf->routes[i].kind == ROUTE_GIT &&
		    pulse_doubt(pulse, &conf->routes[i]))
			say(report, LEVEL_ERROR, conf->routes[i].name,
			    "in doubt: a fence could not be written; see the "
			    "router's log");
	pulse_close(pulse);
}

enum err
admin_check(const struct admin *admin, int argc, char **argv, int *status)
{
	struct report report = { .admin = admin };
	const struct conf *conf = admin->conf;

	(void)argv;
	if (argc != 1)
		return err_set(ERR_USAGE, "check takes no operand");
	if (admin->json) {
		report.wire = wire_new();
		wire_begin_array(report.wire, "checks");
	}
	check_conf(&report);
	if (!admin->test) {
		check_jit(&report);
		if (check_dir(&report, "state_dir", conf->state_dir, true))
			check_table(&report);
		if (check_dir(&report, "run_dir", conf->run_dir, false)) {
			check_pulse(&report);
			check_socket(&report, FEED_SOCKET, SOCK_DGRAM,
			    "the daemon");
			check_socket(&report, WAKE_SOCKET, SOCK_DGRAM,
			    "the daemon");
			check_router(&report);
		}
		check_files(&report);
	}
	if (report.wire != NULL) {
		wire_end(report.wire);
		wire_number(report.wire, "errors", report.errors);
		admin_print(report.wire);
	}
	*status = report.errors > 0;
	return ERR_OK;
}

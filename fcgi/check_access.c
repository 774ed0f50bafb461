/* check_access.c: the check verb: who may do what with directories and files */
/* SPDX-License-Identifier: ISC */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/crypto.h"
#include "fcgi/check.h"

/* As whom the programs run where there is such a user. */
#define USER "reproute"
/* Of one user; whoever is in more than these is taken not to be. */
#define MAX_GROUPS 256

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
			check_say(report, LEVEL_WARNING, subject,
			    "%s is in the group %s, and can change the state: "
			    "gpasswd -d %s %s",
			    *member, group->gr_name, *member, group->gr_name);
}

/* false: it is not there, or not for us */
bool
check_dir(struct report *report, const char *subject, const char *path,
    bool state)
{
	char owner[64], group[64], we[64];
	struct stat status;

	if (stat(path, &status) == -1) {
		/* the group of the run-time directory is the web server's */
		check_say(report, LEVEL_ERROR, subject,
		    "%s: %s; make it: install -d -o %s -g %s -m %s %s", path,
		    strerror(errno), USER, state ? USER : "www-data",
		    state ? "2770" : "2750", path);
		return false;
	}
	user_name(status.st_uid, owner);
	group_name(status.st_gid, group);
	if (!S_ISDIR(status.st_mode)) {
		check_say(report, LEVEL_ERROR, subject, "%s is no directory",
		    path);
		return false;
	}
	if (eaccess(path, state ? R_OK | W_OK | X_OK : X_OK) == -1) {
		check_say(report, LEVEL_ERROR, subject,
		    "%s (%s:%s %04o): %s may not use it: run this as %s or "
		    "root",
		    path, owner, group, status.st_mode & 07777,
		    user_name(geteuid(), we), USER);
		return false;
	}
	if ((status.st_mode & 07) != 0)
		check_say(report, LEVEL_WARNING, subject,
		    "%s (%s:%s %04o) is open to everybody: chmod o= %s", path,
		    owner, group, status.st_mode & 07777, path);
	else if (!is_owner(status.st_uid))
		check_say(report, LEVEL_WARNING, subject,
		    "%s belongs to %s: chown %s it, or the programs cannot use "
		    "it",
		    path, owner, USER);
	else if ((status.st_mode & S_ISGID) == 0)
		check_say(report, LEVEL_WARNING, subject,
		    "%s (%s:%s %04o): what is made in it will not be of its "
		    "group: chmod g+s %s",
		    path, owner, group, status.st_mode & 07777, path);
	else
		check_say(report, LEVEL_OK, subject, "%s (%s:%s %04o)", path,
		    owner, group, status.st_mode & 07777);
	if (state)
		check_members(report, subject, status.st_gid);
	return true;
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
		check_say(report, LEVEL_OK, subject, "%s", path);
		return;
	}
	if (status.st_uid == user->pw_uid)
		bit = S_IRUSR;
	else if (is_in_group(user, status.st_gid))
		bit = S_IRGRP;
	if ((status.st_mode & bit) == 0)
		check_say(report, LEVEL_ERROR, subject,
		    "%s (%s:%s %04o): the user %s may not read it: chgrp %s "
		    "it, and chmod 0640",
		    path, user_name(status.st_uid, owner),
		    group_name(status.st_gid, group), status.st_mode & 07777,
		    USER, USER);
	else
		check_say(report, LEVEL_OK, subject, "%s", path);
}

/* A program that writes the state, though the web server's user starts it. */
void
check_setgid(struct report *report, const char *name, const char *path)
{
	const struct group *group = getgrnam(USER);
	struct stat status;

	if (stat(path, &status) == -1) {
		check_say(report, LEVEL_WARNING, name,
		    "%s: %s; where it is instead, it must be setgid %s if a "
		    "web server starts it as another user",
		    path, strerror(errno), USER);
		return;
	}
	if (group == NULL)
		check_say(report, LEVEL_WARNING, name,
		    "%s cannot be setgid %s, as it must be if a web server "
		    "starts it: there is no such group; systemd-sysusers "
		    "reproute.conf makes it",
		    path, USER);
	else if ((status.st_mode & S_ISGID) == 0 ||
	    status.st_gid != group->gr_gid)
		check_say(report, LEVEL_WARNING, name,
		    "%s is not setgid %s: started by a web server, as another "
		    "user, it cannot write the state: chgrp %s it, then chmod "
		    "2755, and restart the web server",
		    path, USER, USER);
	else
		check_say(report, LEVEL_OK, name, "%s, setgid %s", path, USER);
}

static void
check_secret(struct report *report, const char *subject, const char *path,
    bool ours)
{
	char *secret;

	if (path == NULL)
		return;
	if (secret_read(path, &secret) != ERR_OK) {
		check_say(report, LEVEL_ERROR, subject, "%s", err_text());
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
		check_say(report, LEVEL_ERROR, subject, "%s: %s", path,
		    strerror(errno));
	else if ((status.st_mode & 07) != 0)
		check_say(report, LEVEL_ERROR, subject,
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
		check_say(report, LEVEL_ERROR, subject, "%s: %s", path,
		    strerror(errno));
	else
		say_readable(report, subject, path, true);
}

void
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

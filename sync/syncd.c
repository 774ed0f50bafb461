/* syncd.c: reproute-syncd: the daemon in the foreground, or one pass */
/* SPDX-License-Identifier: ISC */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sysexits.h>
#include <unistd.h>

#include "conf/log.h"
#include "conf/mem.h"
#include "conf/program.h"
#include "sync/daemon.h"

static bool once, verbose;

static const struct program_option options[] = {
	{ "once", 0, NULL,
	    "one pass over all that lags, then exit: 0, or 1 "
	    "if something still does",
	    &once, NULL },
	{ "verbose", 'v', NULL, "log every mark", &verbose, NULL },
	{ 0 },
};

static const struct program program = {
	.name = "reproute-syncd",
	.synopsis = "[-c FILE] [--once] [--verbose]",
	.purpose = "Makes lagging replicas converge and proves it; imports "
		   "registry catalogues.",
	.options = options,
};

static const int caught[] = { SIGTERM, SIGINT, SIGHUP };
#define N_CAUGHT (sizeof(caught) / sizeof(caught[0]))

/* stop ends the loop, for the one reason or the other. */
static volatile sig_atomic_t stop, reload, end;

static void
on_signal(int signal)
{
	if (signal == SIGHUP)
		reload = 1;
	else
		end = 1;
	stop = 1;
}

static void
catch_signals(void)
{
	/* without SA_RESTART: the loop's poll ends */
	const struct sigaction action = { .sa_handler = on_signal };

	for (size_t i = 0; i < N_CAUGHT; i++)
		sigaction(caught[i], &action, NULL);
}

/*
 * They are blocked in all threads but the loop's, whose poll they end; and
 * there while it begins anew, so that none is lost on the way.
 */
static void
mask_signals(int how)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < N_CAUGHT; i++)
		sigaddset(&set, caught[i]);
	pthread_sigmask(how, &set, NULL);
}

/* sd_notify(3)'s protocol: one datagram, where somebody asked for it. */
static void
notify(const char *state)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	socklen_t len;
	int fd;

	if (path == NULL || strlen(path) >= sizeof(to.sun_path))
		return;
	strcpy(to.sun_path, path);
	len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
	    strlen(path));
	if (path[0] == '@')
		to.sun_path[0] = '\0'; /* an abstract one */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return;
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL,
		(struct sockaddr *)&to, len) == -1)
		log_msg(LOG_WARNING, "the service manager does not listen");
	close(fd);
}

/* One instance per state; the lock goes with the process. */
static enum err
lock_state(const struct conf *conf)
{
	char *path = mem_fmt("%s/syncd.lock", conf->state_dir);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0660);
	enum err err = ERR_OK;

	if (fd == -1)
		err = err_sys("%s", path);
	else if (flock(fd, LOCK_EX | LOCK_NB) == -1)
		err = errno == EWOULDBLOCK ? err_set(ERR_BUSY,
						 "another "
						 "reproute-syncd runs on %s",
						 conf->state_dir)
					   : err_sys("%s", path);
	free(path);
	return err;
}

/*
 * A good configuration is taken up by beginning anew in the same process;
 * with a bad one the loop goes on.
 */
static void
begin_anew(const struct program_run *run, char **argv)
{
	struct conf *conf;

	if (conf_read(run->conf_file, &conf) != ERR_OK) {
		log_msg(LOG_ERR,
		    "not reloaded, the old configuration stays "
		    "in force: %s",
		    err_text());
		return;
	}
	conf_free(conf);
	notify("RELOADING=1");
	log_msg(LOG_INFO, "reloading");
	execv("/proc/self/exe", argv);
	log_msg(LOG_ERR, "not reloaded: %s", strerror(errno));
}

static void
reload_or_go_on(const struct program_run *run, char **argv)
{
	mask_signals(SIG_BLOCK);
	reload = 0;
	stop = end;
	if (!end)
		begin_anew(run, argv);
	mask_signals(SIG_UNBLOCK);
}

static enum err
run_daemon(const struct program_run *run, const struct conf *conf,
    struct table *table, struct pulse *pulse, char **argv)
{
	struct daemon *daemon;
	enum err err;

	mask_signals(SIG_BLOCK);
	err = daemon_start(conf, table, pulse, &daemon);
	mask_signals(SIG_UNBLOCK);
	if (err != ERR_OK)
		return err;
	log_msg(LOG_INFO, "ready");
	notify("READY=1");
	for (daemon_run(daemon, &stop); reload; daemon_run(daemon, &stop))
		reload_or_go_on(run, argv);
	log_msg(LOG_INFO, "ends");
	/* threads still use conf and table: leave without tearing down */
	_exit(EX_OK);
}

int
main(int argc, char **argv)
{
	struct program_run run;
	struct conf *conf;
	struct table *table = NULL;
	struct pulse *pulse = NULL;
	bool lags = false;
	enum err err;

	program_start(&program, argc, argv, &run);
	if (verbose)
		log_verbose();
	conf = program_conf(&run);
	signal(SIGPIPE, SIG_IGN);
	/* one pass may be ended at any instant */
	if (!once)
		catch_signals();
	err = lock_state(conf);
	if (err == ERR_OK)
		err = table_open(conf->state_dir, true, &table);
	if (err == ERR_OK)
		err = pulse_open(conf->run_dir, true, &pulse);
	if (err == ERR_OK)
		err = once ? daemon_once(conf, table, pulse, &lags)
			   : run_daemon(&run, conf, table, pulse, argv);
	if (err != ERR_OK)
		program_fail(err);
	pulse_close(pulse);
	table_close(table);
	conf_free(conf);
	return lags;
}

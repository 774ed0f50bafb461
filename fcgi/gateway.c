/* gateway.c: requests as CGI or FastCGI; the only user of libfcgi */
/* SPDX-License-Identifier: ISC */
#include "fcgi/gateway.h"

#include <errno.h>
#include <fcgiapp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conf/clock.h"
#include "fcgi/listener.h"

/* Requests under way at the end get so long. */
#define LAST_MS 2000
/* Pause between two knocks at threads that still wait. */
#define KNOCK_US 5000
/* Pause after an accept that failed, for want of descriptors for example. */
#define ACCEPT_PAUSE_US 100000
/* A body is read in pieces of this size. */
#define PIECE 8192
/* Digits of the longest CONTENT_LENGTH that fits any size_t. */
#define MAX_DIGITS 18

struct gateway_request {
	FCGX_Request *fcgi; /* NULL: CGI */
};

enum worker_state {
	WORKER_WAITS, /* in accept, or for a request on a kept connection */
	WORKER_SERVES,
	WORKER_ENDED,
};

/* Not of one call: a thread that did not end may still look at it. */
static atomic_bool ending;

struct worker {
	pthread_t thread;
	const struct gateway_options *options;
	int fd;
	_Atomic enum worker_state state;
};

const char *
gateway_param(const struct gateway_request *request, const char *name)
{
	if (request->fcgi == NULL)
		return getenv(name);
	return FCGX_GetParam(name, request->fcgi->envp);
}

/* *known is false where nothing is said; 1*DIGIT (RFC 3875, 4.1.2). */
static enum err
content_length(const struct gateway_request *request, bool *known,
    size_t *length)
{
	const char *text = gateway_param(request, "CONTENT_LENGTH");
	size_t digits;

	*known = text != NULL && *text != '\0';
	if (!*known)
		return ERR_OK;
	digits = strspn(text, "0123456789");
	if (text[digits] != '\0' || digits > MAX_DIGITS)
		return err_set(ERR_INPUT, "Content-Length is no number");
	*length = (size_t)strtoull(text, NULL, 10);
	return ERR_OK;
}

static enum err
read_piece(struct gateway_request *request, char *piece, size_t len,
    size_t *got)
{
	ssize_t n;

	if (request->fcgi != NULL) {
		n = FCGX_GetStr(piece, (int)len, request->fcgi->in);
	} else {
		do
			n = read(STDIN_FILENO, piece, len);
		while (n == -1 && errno == EINTR);
	}
	if (n < 0)
		return err_sys("reading the body");
	*got = (size_t)n;
	return ERR_OK;
}

/* A CGI body without a length has an end only if the client chunked it. */
static bool
has_no_body(const struct gateway_request *request, bool known)
{
	return request->fcgi == NULL && !known &&
	    gateway_param(request, "HTTP_TRANSFER_ENCODING") == NULL;
}

static enum err
too_long(size_t max)
{
	return err_set(ERR_LIMIT, "the body is longer than %zu bytes", max);
}

enum err
gateway_body(struct gateway_request *request, size_t max, struct buf *out)
{
	char piece[PIECE];
	size_t length = 0, total = 0, got = 0;
	bool known;
	enum err err;

	if ((err = content_length(request, &known, &length)) != ERR_OK)
		return err;
	if (has_no_body(request, known))
		return ERR_OK;
	if (known && length > max)
		return too_long(max);
	if (!known)
		length = max + 1; /* one byte more shows that it is too long */
	for (; total < length; total += got) {
		size_t left = length - total;

		err = read_piece(request, piece, left < PIECE ? left : PIECE,
		    &got);
		if (err != ERR_OK)
			return err;
		if (got == 0)
			break;
		buf_add(out, piece, got);
	}
	if (total > max)
		return too_long(max);
	if (known && total < length)
		return err_set(ERR_INPUT, "the body ends early");
	return ERR_OK;
}

static enum err
write_all(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, bytes, len);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return err_sys("writing the answer");
		bytes += n;
		len -= (size_t)n;
	}
	return ERR_OK;
}

enum err
gateway_send(struct gateway_request *request, const void *bytes, size_t len,
    bool flush)
{
	if (request->fcgi == NULL)
		return write_all(STDOUT_FILENO, bytes, len);
	if (FCGX_PutStr(bytes, (int)len, request->fcgi->out) != (int)len ||
	    (flush && FCGX_FFlush(request->fcgi->out) != 0))
		return err_set(ERR_PEER, "the web server went away");
	return ERR_OK;
}

bool
gateway_ending(void)
{
	return atomic_load(&ending);
}

bool
gateway_is_cgi(void)
{
	return !listener_listens(STDIN_FILENO);
}

void
gateway_cgi(gateway_handler *handler, void *arg)
{
	struct gateway_request request = { .fcgi = NULL };

	signal(SIGPIPE, SIG_IGN);
	handler(&request, arg);
}

/*
 * Each thread has its own FCGX_Request and stands in accept(2) itself: a
 * mutex around FCGX_Accept_r, as libfcgi's examples have it, would let one
 * idle kept connection stop all of them.
 */
static void *
worker_main(void *arg)
{
	struct worker *worker = arg;
	FCGX_Request fcgi;
	struct gateway_request request = { .fcgi = &fcgi };

	FCGX_InitRequest(&fcgi, worker->fd, 0);
	while (!atomic_load(&ending)) {
		if (FCGX_Accept_r(&fcgi) < 0) {
			if (!atomic_load(&ending))
				usleep(ACCEPT_PAUSE_US);
			continue;
		}
		atomic_store(&worker->state, WORKER_SERVES);
		worker->options->handler(&request, worker->options->arg);
		/* all is sent before a knock may interrupt it */
		FCGX_FClose(fcgi.err);
		FCGX_FClose(fcgi.out);
		atomic_store(&worker->state, WORKER_WAITS);
	}
	FCGX_Finish_r(&fcgi);
	FCGX_Free(&fcgi, 1);
	atomic_store(&worker->state, WORKER_ENDED);
	return NULL;
}

static void
knock(int signal_number)
{
	(void)signal_number; /* it is enough that a system call returns EINTR */
}

static void
ending_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
	/* the end, too, as mod_fastcgi and libfcgi have it */
	sigaddset(set, SIGUSR1);
}

void
gateway_hold_signals(void)
{
	struct sigaction action = { .sa_handler = knock };
	sigset_t set;

	ending_signals(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	/* no SA_RESTART: this is what wakes threads that wait in libfcgi */
	sigaction(SIGUSR2, &action, NULL);
}

static void
wait_for_end(const struct gateway_options *options)
{
	sigset_t set;
	int number;

	ending_signals(&set);
	for (;;) {
		if (sigwait(&set, &number) != 0)
			continue;
		if (number != SIGHUP)
			return;
		if (options->reload != NULL)
			options->reload(options->arg);
	}
}

/*
 * libfcgi looks at its pending flag only before and after accept(2), and
 * only the thread that takes a signal wakes: so each thread that waits is
 * knocked at until it has ended, which closes that window.  A thread
 * that serves is let be.
 */
static bool
end_workers(struct worker *workers, unsigned n)
{
	int64_t deadline_ms = clock_boot_ms() + LAST_MS;
	unsigned alive = n;

	FCGX_ShutdownPending();
	while (alive > 0 && clock_boot_ms() < deadline_ms) {
		alive = 0;
		for (unsigned i = 0; i < n; i++) {
			enum worker_state state = atomic_load(
			    &workers[i].state);

			if (state == WORKER_WAITS)
				pthread_kill(workers[i].thread, SIGUSR2);
			alive += state != WORKER_ENDED;
		}
		if (alive > 0)
			usleep(KNOCK_US);
	}
	return alive == 0;
}

static unsigned
start_workers(struct worker *workers, const struct gateway_options *options,
    int fd)
{
	unsigned n;

	for (n = 0; n < options->threads; n++) {
		workers[n].options = options;
		workers[n].fd = fd;
		if (pthread_create(&workers[n].thread, NULL, worker_main,
			&workers[n]) != 0)
			break;
	}
	return n;
}

enum err
gateway_serve(const struct gateway_options *options)
{
	struct worker *workers;
	unsigned n;

	if (options->listener == NULL && gateway_is_cgi())
		return err_set(ERR_USAGE, "fd 0 is no listening socket");
	gateway_hold_signals();
	if (FCGX_Init() != 0)
		return err_set(ERR_SYS, "libfcgi does not start");
	workers = mem_array(options->threads, sizeof(*workers));
	n = start_workers(workers, options, listener_fd(options->listener));
	if (n < options->threads) {
		atomic_store(&ending, true);
		(void)end_workers(workers, n);
		return err_set(ERR_SYS,
		    "only %u of %u threads start: lower "
		    "--threads, or raise the limit",
		    n, options->threads);
	}
	wait_for_end(options);
	atomic_store(&ending, true);
	if (!end_workers(workers, n))
		return err_set(ERR_LIMIT, "requests are still under way");
	for (unsigned i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
	free(workers);
	return ERR_OK;
}

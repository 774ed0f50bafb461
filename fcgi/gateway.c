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
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include "conf/clock.h"
#include "fcgi/connections.h"
#include "fcgi/listener.h"
#include "fcgi/records.h"

/* Requests under way at the end get so long; those still coming, less. */
#define LAST_MS 2000
#define LAST_PARTIAL_MS 1000
/* Pause between two looks at threads that are to end. */
#define END_PAUSE_US 5000
/* A whole request, and one with a body. */
#define REQUEST_MS 5000
#define BODY_MS 30000
/* Until the peer closes, as libfcgi has it. */
#define LINGER_MS 2000
/* One write to a peer that does not read. */
#define SEND_MS 5000
/* Connections at once: some are served, others come, linger or are idle. */
#define CONNECTIONS_PER_THREAD 4
#define MORE_CONNECTIONS 64
/* Of a file of requests, before it begins anew. */
#define FILE_BYTES (64 * 1024)
/* libfcgi's one read, which takes what is not longer. */
#define ONE_READ 8192
/* Descriptors besides those of threads and connections. */
#define OTHER_DESCRIPTORS 128
/* A body is read in pieces of this size. */
#define PIECE 8192
/* Of a body that a CGI handler did not want so much is read, unkept. */
#define MAX_LEFT ((size_t)1 << 20)
/* Digits of the longest CONTENT_LENGTH that fits any size_t. */
#define MAX_DIGITS 18

struct gateway_request {
	FCGX_Request *fcgi; /* NULL: CGI */
	int file;	    /* that libfcgi reads it from */
	int socket;	    /* for the answer */
	size_t taken;	    /* bytes of the body that were read */
	/* FastCGI */
	struct connections *connections;
	struct connection *connection;
	/* how it is to be parked; NULL: it is not */
	const _Atomic uint32_t *word;
	uint32_t seen;
	unsigned wait_ms;
};

/* Those of gateway_serve(), for gateway_wake(). */
static struct {
	pthread_mutex_t lock;
	struct connections *connections; /* NULL: it does not run */
} serving = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Not of one call: a thread that did not end may still look at it. */
static atomic_bool ending;

struct worker {
	pthread_t thread;
	const struct gateway_options *options;
	struct connections *connections;
	int file;  /* requests: the last one ends it */
	off_t end; /* of what was read of it; -1: unknown */
	atomic_bool ended;
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
		request->fcgi->ipcFd = request->file;
		n = FCGX_GetStr(piece, (int)len, request->fcgi->in);
	} else {
		do
			n = read(STDIN_FILENO, piece, len);
		while (n == -1 && errno == EINTR);
	}
	if (n < 0)
		return err_sys("reading the body");
	*got = (size_t)n;
	request->taken += *got;
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
	request->fcgi->ipcFd = request->socket;
	if (FCGX_PutStr(bytes, (int)len, request->fcgi->out) != (int)len ||
	    (flush && FCGX_FFlush(request->fcgi->out) != 0))
		return err_set(ERR_PEER, "the web server went away");
	return ERR_OK;
}

bool
gateway_park(struct gateway_request *request, const _Atomic uint32_t *word,
    uint32_t seen, unsigned wait_ms)
{
	if (request->fcgi == NULL || gateway_ending() ||
	    !connections_may_park(request->connections, request->connection))
		return false;
	request->word = word;
	request->seen = seen;
	request->wait_ms = wait_ms;
	return true;
}

bool
gateway_was_parked(const struct gateway_request *request)
{
	return request->fcgi != NULL &&
	    connection_was_parked(request->connection);
}

void
gateway_wake(bool all)
{
	pthread_mutex_lock(&serving.lock);
	if (serving.connections != NULL)
		connections_wake(serving.connections, all);
	pthread_mutex_unlock(&serving.lock);
}

static void
serve_from(struct connections *connections)
{
	pthread_mutex_lock(&serving.lock);
	serving.connections = connections;
	pthread_mutex_unlock(&serving.lock);
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

/*
 * Reads what a CGI handler left of the body: where the rest of it is lost
 * with the socket that it came by, so is the answer (Apache's mod_cgid).
 */
static void
drain(struct gateway_request *request)
{
	char piece[PIECE];
	size_t length = 0, left, got;
	bool known;

	if (content_length(request, &known, &length) != ERR_OK ||
	    has_no_body(request, known))
		return;
	if (!known || length > MAX_LEFT)
		length = MAX_LEFT;
	do {
		/* no more than that: such a stdin may have no end */
		left = request->taken < length ? length - request->taken : 0;
		if (left > PIECE)
			left = PIECE;
	} while (left > 0 && read_piece(request, piece, left, &got) == ERR_OK &&
	    got > 0);
}

void
gateway_cgi(gateway_handler *handler, void *arg)
{
	struct gateway_request request = { .fcgi = NULL };

	signal(SIGPIPE, SIG_IGN);
	handler(&request, arg);
	drain(&request);
}

/*
 * The request goes behind those before it, which are never read again: what
 * one read takes leaves the file's offset at its end, without a system call to
 * move it there.
 */
static bool
append(struct worker *worker, const struct iovec parts[2])
{
	size_t len = parts[0].iov_len + parts[1].iov_len;
	off_t at = worker->end;

	if (at == -1 || at > FILE_BYTES) {
		if (ftruncate(worker->file, 0) == -1 ||
		    lseek(worker->file, 0, SEEK_SET) == -1)
			return false;
		at = 0;
	}
	worker->end = len <= ONE_READ ? at + (off_t)len : -1;
	return pwritev(worker->file, parts, 2, at) == (ssize_t)len;
}

/*
 * libfcgi reads the request from a file that ends with it, checked and
 * whole: so it never waits for a peer, and never sees a length that no bytes
 * stand behind, which would end the process (CVE-2025-23016, whose fix in
 * 2.4.2-2+deb12u1 lets a name of 0x7ffffffe bytes pass).  It has an end of
 * STDIN, too, which a peer may not have sent, and nothing behind that.
 */
static bool
hand_over(struct worker *worker, FCGX_Request *fcgi,
    const struct connection *connection)
{
	unsigned id = connection_request_id(connection);
	/* FastCGI specification, 3.3: version 1, FCGI_STDIN, no content */
	uint8_t end[RECORD_HEADER] = { 1, 5, (uint8_t)(id >> 8), (uint8_t)id };
	struct iovec parts[2] = { [1] = { end, sizeof(end) } };

	parts[0].iov_base = (void *)connection_request(connection,
	    &parts[0].iov_len);
	/* from here on libfcgi's, which closes what it does not take */
	fcgi->ipcFd = worker->file;
	if (!append(worker, parts))
		return false;
	/* or it would close the file before it reads it */
	fcgi->keepConnection = 1;
	return FCGX_Accept_r(fcgi) == 0;
}

/* true: all of the answer was sent. */
static bool
finish(FCGX_Request *fcgi, int socket)
{
	bool sent;

	fcgi->ipcFd = socket;
	sent = FCGX_FClose(fcgi->err) == 0;
	return FCGX_FClose(fcgi->out) == 0 && sent;
}

static void
serve(struct worker *worker, FCGX_Request *fcgi, struct connection *connection)
{
	struct connections *set = worker->connections;
	struct gateway_request request = { .fcgi = fcgi,
		.file = worker->file,
		.socket = connection_socket(connection),
		.connections = set,
		.connection = connection };
	bool sent = false;

	if (!hand_over(worker, fcgi, connection)) {
		worker->end = -1;
		if (fcgi->ipcFd == -1)
			worker->file = memfd_create("request", MFD_CLOEXEC);
		connections_done(set, connection, false);
		return;
	}
	worker->options->handler(&request, worker->options->arg);
	if (request.word == NULL)
		sent = finish(fcgi, request.socket);
	/* all but the descriptor, which is not libfcgi's */
	FCGX_Free(fcgi, 0);
	fcgi->ipcFd = -1;
	if (request.word == NULL)
		connections_done(set, connection, sent);
	else
		connections_park(set, connection, request.word, request.seen,
		    request.wait_ms);
}

static void *
worker_main(void *arg)
{
	struct worker *worker = arg;
	struct connection *connection;
	FCGX_Request fcgi;

	/* without a listening socket, so that libfcgi never accepts */
	FCGX_InitRequest(&fcgi, -1, 0);
	while ((connection = connections_next(worker->connections)) != NULL)
		serve(worker, &fcgi, connection);
	atomic_store(&worker->ended, true);
	return NULL;
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
	sigset_t set;

	ending_signals(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
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

/* Those that still serve are let be, until it is too late. */
static bool
end_workers(struct connections *connections, struct worker *workers, unsigned n)
{
	int64_t deadline_ms = clock_boot_ms() + LAST_MS;
	unsigned ended = 0;

	atomic_store(&ending, true);
	connections_end(connections, LAST_PARTIAL_MS);
	for (;;) {
		while (ended < n && atomic_load(&workers[ended].ended))
			ended++;
		if (ended == n || clock_boot_ms() >= deadline_ms)
			return ended == n;
		usleep(END_PAUSE_US);
	}
}

static unsigned
start_workers(struct worker *workers, const struct gateway_options *options,
    struct connections *connections)
{
	unsigned n;

	for (n = 0; n < options->threads; n++) {
		workers[n].options = options;
		workers[n].connections = connections;
		workers[n].file = memfd_create("request", MFD_CLOEXEC);
		if (workers[n].file == -1)
			break;
		if (pthread_create(&workers[n].thread, NULL, worker_main,
			&workers[n]) != 0) {
			close(workers[n].file);
			break;
		}
	}
	return n;
}

static void
free_workers(struct worker *workers, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		pthread_join(workers[i].thread, NULL);
		if (workers[i].file != -1)
			close(workers[i].file);
	}
	free(workers);
}

/* As far as the hard limit allows; without them, accepting pauses. */
static void
want_descriptors(rlim_t n)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == -1 || limit.rlim_cur >= n)
		return;
	limit.rlim_cur = n < limit.rlim_max ? n : limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static unsigned
or_default(unsigned said, unsigned otherwise)
{
	return said != 0 ? said : otherwise;
}

static enum err
open_connections(const struct gateway_options *options,
    struct connections **out)
{
	unsigned request_ms = options->max_body > 0 ? BODY_MS : REQUEST_MS;
	const struct connections_options asked = {
		.listener = listener_fd(options->listener),
		.max = CONNECTIONS_PER_THREAD * options->threads +
		    MORE_CONNECTIONS,
		.max_parked = MAX_PARKED,
		.max_body = options->max_body,
		.request_ms = or_default(options->request_ms, request_ms),
		.linger_ms = or_default(options->linger_ms, LINGER_MS),
		.send_ms = or_default(options->send_ms, SEND_MS),
		.refused = options->refused,
		.arg = options->arg,
	};

	want_descriptors(asked.max + asked.max_parked + options->threads +
	    OTHER_DESCRIPTORS);
	return connections_open(&asked, out);
}

enum err
gateway_serve(const struct gateway_options *options)
{
	struct connections *connections = NULL;
	struct worker *workers;
	unsigned n;
	enum err err = ERR_OK;

	if (options->listener == NULL && gateway_is_cgi())
		return err_set(ERR_USAGE, "fd 0 is no listening socket");
	gateway_hold_signals();
	if (FCGX_Init() != 0)
		return err_set(ERR_SYS, "libfcgi does not start");
	if ((err = open_connections(options, &connections)) != ERR_OK)
		return err;
	serve_from(connections);
	workers = mem_array(options->threads, sizeof(*workers));
	n = start_workers(workers, options, connections);
	if (n < options->threads)
		err = err_set(ERR_SYS,
		    "only %u of %u threads start: lower "
		    "--threads, or raise the limit",
		    n, options->threads);
	else
		wait_for_end(options);
	/* all that are parked get their answers now */
	serve_from(NULL);
	if (!end_workers(connections, workers, n))
		return err_set(ERR_LIMIT, "requests are still under way");
	free_workers(workers, n);
	connections_close(connections);
	return err;
}

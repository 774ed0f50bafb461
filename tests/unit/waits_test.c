/* waits_test.c: a read waits for its mark without a thread, and not too long */
/* SPDX-License-Identifier: ISC */
#include "fcgi/waits.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "conf/clock.h"
#include "fcgi/listener.h"
#include "fcgi/tally.h"
#include "sync/news.h"
#include "tests/unit/scene.h"
#include "tests/unit/tap.h"

/* Nothing here takes so long, unless it hangs. */
#define PATIENCE_MS 10000
/* Of the route more; of code it is PATIENCE_MS. */
#define SHORT_MS 200
#define FETCH "/info/refs?service=git-upload-pack"

static struct scene scene;
static struct listener *listener;
static struct pulse *pulse;
static char *path;

static void
prepare(struct world *world)
{
	world->code->wait_ms = PATIENCE_MS;
	world->more->wait_ms = SHORT_MS;
	world_learn(world, world->code, "p/a p/b p/c p/d p/e p/f");
	for (char name[] = "p/a"; name[2] <= 'f'; name[2]++)
		world_outdate(world, world->code, world->one, name);
	world_learn(world, world->more, "q/a");
	world_outdate(world, world->more, world->two, "q/a");
}

static void
handle(struct gateway_request *request, void *arg)
{
	decide_request(request, arg);
}

/* One thread: whoever waits would stop all others. */
static void *
serve(void *arg)
{
	const struct gateway_options options = { .listener = listener,
		.threads = 1,
		.handler = handle,
		.arg = &scene.decide };

	(void)arg;
	tap_must(gateway_serve(&options));
	return NULL;
}

/* FastCGI specification, 3.4: no text here has 128 bytes. */
static void
put_pair(struct buf *out, const char *name, const char *value)
{
	buf_fmt(out, "%c%c%s%s", (int)strlen(name), (int)strlen(value), name,
	    value);
}

static void
put_record(struct buf *out, char type, const char *content, size_t len)
{
	/* 3.3; of id 1, without padding */
	const char header[] = { 1, type, 0, 1, (char)(len >> 8), (char)len, 0,
		0 };

	buf_add(out, header, sizeof(header));
	buf_add(out, content, len);
}

/* An authorizer's request; the answer is hear()'s. */
static int
dial_as(const char *method, const char *target, const char *apache_role)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct buf pairs = { 0 }, out = { 0 };

	put_pair(&pairs, "REQUEST_METHOD", method);
	put_pair(&pairs, "REQUEST_URI", target);
	put_pair(&pairs, "REMOTE_ADDR", "192.0.2.1");
	if (apache_role != NULL)
		put_pair(&pairs, "FCGI_APACHE_ROLE", apache_role);
	put_record(&out, 1, "\0\2\0\0\0\0\0\0", 8);
	put_record(&out, 4, pairs.data, pairs.len);
	put_record(&out, 4, "", 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == -1 ||
	    send(fd, out.data, out.len, MSG_NOSIGNAL) != (ssize_t)out.len)
		abort();
	buf_free(&pairs);
	buf_free(&out);
	return fd;
}

static int
dial(const char *repository)
{
	char target[64];

	snprintf(target, sizeof(target), "/%s" FETCH, repository);
	return dial_as("GET", target, NULL);
}

/* "UPSTREAM REASON" of the whole answer, and closes; "-": nothing comes. */
static const char *
hear_within(int fd, int ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	static char said[128];
	char bytes[1024] = "", upstream[32] = "", reason[32] = "";
	size_t len = 0;
	ssize_t n;

	while (poll(&poll_fd, 1, ms) == 1 &&
	    (n = recv(fd, bytes + len, sizeof(bytes) - 1 - len, 0)) > 0)
		len += (size_t)n;
	if (len == 0)
		return "-";
	close(fd);
	/* behind the record's header */
	sscanf(bytes + 8,
	    "Status: 200 OK\r\nVariable-REPROUTE_UPSTREAM: %31s\r\n"
	    "Variable-REPROUTE_REASON: %31s",
	    upstream, reason);
	snprintf(said, sizeof(said), "%s %s", upstream, reason);
	return said;
}

static const char *
hear(int fd)
{
	return hear_within(fd, PATIENCE_MS / 2);
}

static void
counts_are(const struct route *route, unsigned waited, unsigned served,
    unsigned late, const char *claim)
{
	struct tally tally;

	tally_read(pulse, route, &tally);
	tap_int(tally.event[TALLY_WAITED], waited, "%s: waited", claim);
	tap_int(tally.event[TALLY_SERVED], served, "%s: served", claim);
	tap_int(tally.event[TALLY_LATE], late, "%s: too late", claim);
}

/* Until so many requests have waited for code. */
static void
await_waits(unsigned n)
{
	struct tally tally = { 0 };

	for (int ms = 0; ms < PATIENCE_MS && tally.event[TALLY_WAITED] < n;
	     ms++) {
		usleep(1000);
		tally_read(pulse, scene.world.code, &tally);
	}
	tap_int(tally.event[TALLY_WAITED], n, "so many wait or have waited");
}

static void
test_mark(void)
{
	const struct world *world = &scene.world;
	int one = dial("git/p/a"), two = dial("git/p/a"), other;

	await_waits(2);
	other = dial("git/p/fresh");
	tap_str(hear(other), "one replica", "another is not kept waiting");
	tap_str(hear_within(one, 50), "-", "they have no answer yet");
	/* a mark that is not enough: nobody says that it is current */
	news_tell(pulse, world->code, "p/a");
	tap_str(hear_within(one, 50), "-", "nor by news that are none");
	world_mark(&scene.world, world->code, world->two, "p/a");
	news_tell(pulse, world->code, "p/a");
	tap_str(hear(one), "two replica", "the mark comes: a replica's");
	tap_str(hear(two), "two replica", "for all that wait");
	counts_are(world->code, 2, 2, 0, "marked");
}

static void
test_late(void)
{
	int64_t begun_ms = clock_boot_ms();
	int one = dial("more/q/a");

	tap_str(hear(one), "other lagging", "no mark comes: the primary's");
	tap_ok(clock_boot_ms() - begun_ms >= SHORT_MS, "after wait_ms");
	counts_are(scene.world.more, 1, 0, 1, "late");
}

static void
test_fence(void)
{
	int one = dial("git/p/b"), push;

	await_waits(3);
	push = dial_as("POST", "/git/p/b/git-receive-pack", NULL);
	tap_str(hear(push), "main write", "a push meanwhile");
	tap_str(hear(one), "main fenced", "who waits waits no longer");
	counts_are(scene.world.code, 3, 2, 0, "fenced");
}

/* This is the only router, and half of one is none. */
static void
test_alone(void)
{
	int one = dial_as("GET", "/git/p/c" FETCH, "ACCESS_CHECKER");

	tap_str(hear(one), "main lagging", "the last process never waits");
	one = dial_as("GET", "/git/p/c" FETCH, "AUTHORIZER");
	await_waits(4);
	world_mark(&scene.world, scene.world.code, scene.world.one, "p/c");
	news_tell(pulse, scene.world.code, "p/c");
	tap_str(hear(one), "one replica", "in another role it waits");
}

static void
test_reload(void)
{
	int one = dial("git/p/d");

	await_waits(5);
	gateway_wake(true);
	tap_str(hear(one), "main lagging", "a reload answers at once");
}

static void
test_end(pthread_t thread)
{
	int one = dial("git/p/e"), two = dial("git/p/f");
	int64_t begun_ms;

	await_waits(7);
	begun_ms = clock_boot_ms();
	kill(getpid(), SIGTERM);
	tap_str(hear(one), "main lagging", "the end answers");
	tap_str(hear(two), "main lagging", "all that wait");
	pthread_join(thread, NULL);
	tap_ok(clock_boot_ms() - begun_ms < PATIENCE_MS / 2, "at once");
	counts_are(scene.world.code, 7, 3, 3, "in the end");
}

int
main(void)
{
	struct waits *waits;
	pthread_t thread;

	gateway_hold_signals();
	scene_begin(&scene, "waits", false, false, prepare);
	pulse = writer_pulse(scene.decide.writer);
	path = mem_fmt("%s/socket", tap_dir());
	tap_must(listener_open(path, 0600, &listener));
	tap_must(waits_start(scene.decide.writer, &waits));
	if (pthread_create(&thread, NULL, serve, NULL) != 0)
		abort();
	test_mark();
	test_late();
	test_fence();
	test_alone();
	test_reload();
	test_end(thread);
	listener_close(listener);
	waits_stop(waits);
	scene_end(&scene);
	free(path);
	return tap_done();
}

/* inbox_test.c: each datagram has its effect, nonsense has none */
/* SPDX-License-Identifier: ISC */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "sync/feed.h"
#include "sync/fence.h"
#include "sync/inbox.h"
#include "sync/peer.h"
#include "sync/place.h"
#include "sync/view.h"
#include "sync/wake.h"
#include "tests/unit/githost.h"
#include "tests/unit/tap.h"

/* Whatever waits longer than that ends the test. */
#define PATIENCE_S 60
#define TOKEN_A "0123456789abcdef0123456789abcdef"
#define TOKEN_B "123456789abcdef0123456789abcdef0"
#define TOKEN_C "23456789abcdef0123456789abcdef01"
#define TOKEN_D "3456789abcdef0123456789abcdef012"
#define TOKEN_X "ffffffffffffffffffffffffffffffff"

static struct world world;
static struct githost host;
static struct inbox inbox;
/* One for all routes, so that the test sees what is asked of any. */
static struct look *looks[3];
static atomic_uint kicks;

static void
kick(void *arg)
{
	++*(atomic_uint *)arg;
}

static void
send_bytes(const char *name, const void *bytes, size_t len)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s",
	    world.conf.run_dir, name);
	if (fd == -1 ||
	    sendto(fd, bytes, len, 0, (struct sockaddr *)&address,
		sizeof(address)) != (ssize_t)len) {
		puts("Bail out! a datagram cannot be sent");
		exit(1);
	}
	close(fd);
}

static void
send_text(const char *name, const char *text)
{
	send_bytes(name, text, strlen(text));
}

static struct git_view
see(const char *name)
{
	struct git_view view;

	tap_must(
	    view_git(world.table, NULL, &world.conf, world.code, name, &view));
	return view;
}

/* Until a replica has the mark that counts. */
static void
wait_marked(const char *name)
{
	while (!see(name).replicas[0].current || !see(name).replicas[1].current)
		usleep(5000);
}

static void
wait_kicks(unsigned want)
{
	while (kicks < want)
		usleep(5000);
}

/* "ROUTE/NAME" of what the primary is to be asked for next. */
static const char *
wait_look(void)
{
	static char text[WORD_SIZE + NAME_SIZE + 1];
	const struct route *route;
	char name[NAME_SIZE];

	if (!look_take(looks[0], &route, name))
		return "closed";
	sprintf(text, "%s/%s", route->name, name);
	return text;
}

static const struct wake {
	const char *claim;
	const char *text; /* "reproute-look ..." */
	bool kicks;	  /* else nothing comes of it */
} wakes[] = {
	{ "nothing in particular", "reproute-look", true },
	{ "a registry's repository", "reproute-look images a/b", true },
	{ "a route that is no more", "reproute-look gone a/b", true },
	{ "no word of ours", "hello", false },
	{ "nothing at all", "", false },
	{ "no repository", "reproute-look code ", false },
	{ "a name with ..", "reproute-look code ../../etc", false },
	{ "a route with a slash", "reproute-look co/de a", false },
	{ "bytes that are no text", "reproute-look code \xff\xfe", false },
};

static void
wake(void)
{
	unsigned want = 0;
	char *text = mem_zalloc(9001);

	for (size_t i = 0; i < sizeof(wakes) / sizeof(wakes[0]); i++) {
		send_text(WAKE_SOCKET, wakes[i].text);
		want += wakes[i].kicks;
		/* what comes behind shows that this one is over */
		send_text(WAKE_SOCKET, "reproute-look");
		wait_kicks(++want);
		tap_int(kicks, want, "%s: %s", wakes[i].claim,
		    wakes[i].kicks ? "a kick" : "no kick");
	}
	memset(text, 'a', 9000);
	memcpy(text, "reproute-look code ", 19);
	send_text(WAKE_SOCKET, text);
	wake_send(world.conf.run_dir, NULL, NULL);
	wait_kicks(want + 1);
	tap_int(kicks, want + 1, "a long one: no kick");
	free(text);
}

static void
wake_named(void)
{
	unsigned before = kicks;

	world_learn(&world, world.code, "known");
	wake_send(world.conf.run_dir, "code", "known");
	wait_marked("known");
	tap_ok(true, "a known repository goes into its lanes");
	wake_send(world.conf.run_dir, "code", "p/unknown");
	tap_str(wait_look(), "code/p/unknown", "an unknown one is looked at");
	wake_send(world.conf.run_dir, "more", "p/unknown");
	tap_str(wait_look(), "more/p/unknown", "in the route that is named");
	tap_int(kicks, before, "none of these is a kick");
}

/* A fence of code/NAME or a placement of images/NAME, under that token. */
struct claim {
	const char *name, *token;
	bool manifest;
};

static enum err
fence(struct table_txn *txn, void *arg)
{
	const struct claim *claim = arg;

	return fence_begin(txn, world.code, claim->name, claim->token, 1);
}

static enum err
place(struct table_txn *txn, void *arg)
{
	const struct claim *claim = arg;
	struct placement placement;

	return place_write(txn, world.images, claim->name, "new", "included",
	    claim->token, claim->manifest, &placement);
}

static enum err
broken(struct table_txn *txn, void *arg)
{
	struct fences fences;
	enum err err = fences_get(txn, world.code, arg, &fences);

	if (err != ERR_OK)
		return err;
	return fences.n == 1 && fences.fence[0].state == FENCE_BROKEN
	    ? ERR_OK
	    : ERR_BUSY;
}

static struct registry_view
see_place(const char *name)
{
	struct registry_view view;

	tap_must(view_registry(world.table, world.images, name, &view));
	return view;
}

/* Lines are applied in their order: what comes next says that it is over. */
static void
feed_nonsense(void)
{
	static const char *const texts[] = {
		"",
		"hello",
		"reproute-feed",
		"reproute-feed nothing 200 1 x",
		"reproute-feed " TOKEN_X " 200 1 main done=OK addr=::1",
		"reproute-feed " TOKEN_A " 2000 1 main done=OK addr=::1",
		"reproute-feed " TOKEN_A " 200 1 main done=?? addr=::1",
		"\xff\xfe\xfd",
	};
	char *text = mem_zalloc(2 * MAX_FEED_LINE + 1);

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		send_text(FEED_SOCKET, texts[i]);
	memset(text, 'a', 2 * MAX_FEED_LINE);
	send_text(FEED_SOCKET, text);
	send_bytes(FEED_SOCKET, "reproute-feed \0 200", 19);
	free(text);
}

static void
feed_git(void)
{
	static const struct claim pushed = { "known", TOKEN_A, false },
				  cut = { "cut", TOKEN_B, false },
				  fresh = { "fresh", TOKEN_C, false };
	uint64_t generation;

	world_learn(&world, world.code, "cut");
	tap_must(table_write(world.table, fence, (void *)&pushed));
	tap_must(table_write(world.table, fence, (void *)&cut));
	tap_must(table_write(world.table, fence, (void *)&fresh));
	generation = see("known").generation;
	tap_int(see("known").fences, 1, "a fence is up");
	feed_nonsense();
	send_text(FEED_SOCKET,
	    "reproute-feed " TOKEN_B " 200 1 main done=X addr=::1");
	while (table_read(world.table, broken, (void *)"cut") != ERR_OK)
		usleep(5000);
	tap_int(see("cut").fences, 1, "a push broken off: its fence stays");
	tap_int(see("known").fences, 1, "nonsense ends no fence");
	tap_int((long long)see("known").generation, (long long)generation,
	    "and raises nothing");

	send_text(FEED_SOCKET,
	    "reproute-feed " TOKEN_A " 200 1234 main done=+ addr=::1");
	wait_marked("known");
	tap_int(see("known").fences, 0, "a push is over: its fence ends");
	tap_ok(see("known").generation > generation, "the generation rises");
	send_text(FEED_SOCKET,
	    "<134>Oct 11 22:14:15 web lighttpd[1]: "
	    "reproute-feed " TOKEN_C " 200 1 main done=OK addr=::1");
	tap_str(wait_look(), "code/fresh",
	    "a push to what has no row: it is looked at");
	tap_int(see("fresh").fences, 0, "its fence ended, too");
}

static void
feed_registry(void)
{
	static const struct claim put = { "img/put", TOKEN_D, true },
				  refused = { "img/no", TOKEN_X, false };
	unsigned before = kicks;

	tap_must(table_write(world.table, place, (void *)&put));
	tap_must(table_write(world.table, place, (void *)&refused));
	tap_ok(see_place("img/no").placed, "a write is placed");
	send_text(FEED_SOCKET,
	    "reproute-feed " TOKEN_D " 201 1 new done=OK addr=::1");
	while (see_place("img/put").placement.state != PLACE_FINAL)
		usleep(5000);
	tap_ok(see_place("img/no").placed, "a line settles its own, no more");
	send_text(FEED_SOCKET,
	    "reproute-feed " TOKEN_X " 401 1 new done=OK addr=::1");
	while (see_place("img/no").placed)
		usleep(5000);
	tap_ok(see_place("img/put").placed, "a refused write places nothing");
	tap_int(kicks, before, "none of these is a kick");
}

/*
 * The kernel's queue holds some ten lines, and then a sender waits: all of
 * these are sent while nothing can be written.
 */
static void
feed_burst(void)
{
	enum { LINES = 100 };
	static const struct claim last = { "last", TOKEN_A, false };

	world_learn(&world, world.code, "last");
	tap_must(table_write(world.table, fence, (void *)&last));
	world_hold(&world);
	for (int i = 0; i < LINES; i++)
		send_text(FEED_SOCKET,
		    "reproute-feed " TOKEN_B " 200 1 main done=X addr=::1");
	send_text(FEED_SOCKET,
	    "reproute-feed " TOKEN_A " 200 1 main done=OK addr=::1");
	tap_int(see("last").fences, 1, "%d lines wait for the table", LINES);
	world_release(&world);
	wait_marked("last");
	tap_int(see("last").fences, 0, "and none of them is lost");
}

static enum err
is_down(struct table_txn *txn, void *arg)
{
	struct peer peer;
	enum err err = peer_get(txn, world.two->name, &peer);

	if (err == ERR_OK)
		snprintf(arg, sizeof(peer.why), "%s",
		    peer.down ? peer.why : "");
	return err;
}

/* A read that failed, of a replica that fails when it is asked, too. */
static void
feed_health(void)
{
	char why[256] = "";

	tap_must(health_start(inbox.health));
	host.two.status = 503;
	send_text(FEED_SOCKET,
	    "reproute-feed - 503 1 two done=+ addr=10.1.2.3");
	while (why[0] == '\0') {
		usleep(5000);
		tap_must(table_read(world.table, is_down, why));
	}
	tap_ok(strstr(why, "HTTP 503") != NULL, "a failed read: %s", why);
}

/* A second one neither starts, nor takes the sockets from the first. */
static void
second(void)
{
	struct inbox other = inbox;
	unsigned before = kicks;
	int fd;

	tap_int(inbox_start(&other), ERR_BUSY, "a second one: busy");
	wake_send(world.conf.run_dir, NULL, NULL);
	wait_kicks(before + 1);
	tap_ok(true, "the first goes on");

	/* where only the feed's socket is taken, the other is let go again */
	other.conf = &(
	    struct conf){ .run_dir = mem_fmt("%s/other", tap_dir()) };
	mkdir(other.conf->run_dir, 0700);
	tap_must(wake_bind(other.conf->run_dir, FEED_SOCKET, &fd));
	tap_int(inbox_start(&other), ERR_BUSY, "the feed's socket is taken");
	close(fd);
	tap_must(wake_bind(other.conf->run_dir, WAKE_SOCKET, &fd));
	tap_ok(true, "nobody holds the other one");
	close(fd);
	free(other.conf->run_dir);
}

int
main(void)
{
	int status;

	alarm(PATIENCE_S);
	world_open(&world, "inbox");
	githost_start(&host, &world);
	world.conf.run_dir = mem_fmt("%s/run", tap_dir());
	world.conf.sync.fetches = 1;
	world.code->converge = CONVERGE_NONE;
	mkdir(world.conf.run_dir, 0700);
	looks[0] = looks[1] = look_new();
	inbox = (struct inbox){ .conf = &world.conf,
		.table = world.table,
		.lanes = lanes_new(&world.conf, world.table, NULL),
		.looks = looks,
		.health = health_new(&world.conf, world.table),
		.kick = kick,
		.kick_arg = &kicks };
	lanes_start(inbox.lanes);
	tap_int(inbox_start(&inbox), ERR_OK, "started");
	wake();
	wake_named();
	feed_git();
	feed_registry();
	feed_burst();
	feed_health();
	second();
	status = tap_done();
	fflush(stdout);
	/* threads still run: leave without tearing down what they use */
	_exit(status);
}

#!/bin/bash
# What goes wrong ends on the primary, or in a clear refusal, and heals.
# SPDX-License-Identifier: ISC
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
story_begin
STAGE_GIT_KEYS='fence_s = 10; watch_s = 1; push_max_s = 16;'
STAGE_SYNC_KEYS='interval_s = 1; valid_s = 4;'
ok "everything starts" stage_all || story_end
url=$FRONT/scm/team/app.git
advert="$url/info/refs?service=git-upload-pack"
stage_repository team/app
git init -q work && git -C work commit -q --allow-empty -m one
ok "a push" git -C work push -q "$url" main
eventually 30 "replicas serve" stage_both team/app

reason() { stage_ask status >/dev/null; stage_why GET "$advert"; }
# The reason in the front's log of a real read.
real() {
	local from
	from=$(mark)
	git ls-remote "$url" >/dev/null 2>&1
	routed_since "$from" | sed -n 's/.* upstream=\(.*\) reason=\(.*\)/\1 \2/p' |
		tail -n 1
}
real_is() { [ "$(real)" = "$1" ]; }
real_like() { real | grep -Eq "$1"; }
# Is replica1 down, for a reason like that?
down_why() { stage_ask status | grep -Eq "replica1.*down.*($1)"; }

# a replica down; until it is found out, the primary serves in its place
stage_stop replica1 KILL
for i in 1 2 3 4 5 6; do
	is "$(front_status "$url/info/refs?service=git-upload-pack")" 200 \
		"GET $i right after its death is served"
done
eventually 10 "a dead replica is found out" \
	sh -c "$STAGE_BIN/reproute status | grep -q 'replica1.*down'"
for i in 1 2 3 4 5 6; do
	ok "read $i is served" git ls-remote "$url"
done
stage_git replica1 "$REPLICA1_PORT"
eventually 20 "it comes back when it answers, seen anew" stage_both team/app

# both down
stage_stop replica1 KILL
stage_stop replica2 KILL
eventually 10 "both down: the primary serves" real_is 'primary down'
ok "a push passes meanwhile" sh -c \
	"cd work && git commit -q --allow-empty -m two && git push -q $url main"
ok "and is read" real_like '^primary '
stage_git replica1 "$REPLICA1_PORT"
stage_git replica2 "$REPLICA2_PORT"
eventually 30 "they come back with what they missed" stage_both team/app

# a replica that hangs: its web server takes connections, and says nothing
kill -STOP "$(cat "$STAGE/pid/replica1")"
eventually 10 "a replica that hangs is found out" down_why 'Timeout|timed out|no byte'
kill -CONT "$(cat "$STAGE/pid/replica1")"
eventually 60 "and comes back" stage_both team/app

# a replica whose git fails, while its endpoint answers
stage_stop replica1
eventually 10 "a replica that was stopped is found out" down_why 'connect'
git_program="$(git --exec-path)/git-http-backend"
cat > git-or-503 <<-EOF
	#!/bin/sh
	[ ! -e $STAGE/no-git ] || {
		printf 'Status: 503 Service Unavailable\r\n\r\n'
		exit
	}
	exec $git_program
EOF
chmod +x git-or-503
sed -i "s|\"$git_program/\"|\"$STAGE/git-or-503/\"|" \
	"$STAGE/replica1/lighttpd.conf"
stage_start replica1 lighttpd -D -f "$STAGE/replica1/lighttpd.conf"
eventually 90 "a replica comes back" stage_both team/app
ok "the other one is drained, so that reads go there" \
	"$STAGE_BIN/reproute" drain replica2
is "$(real)" 'replica1 replica' "they do"
touch no-git
case $STAGE_FRONT in
nginx*)
	ok "its git fails: the primary serves in its place" git ls-remote "$url"
	;;
*)
	fails "its git fails: one read does" git ls-remote "$url"
	;;
esac
eventually 5 "its line takes the replica out" \
	down_why 'noticed by a read'
is "$(real)" 'primary down' "the next read is served"
rm no-git
eventually 90 "its git is back, and so is the replica" real_is 'replica1 replica'
ok "the other one is taken back" "$STAGE_BIN/reproute" drain --undo replica2

# drained
ok "a replica is drained" "$STAGE_BIN/reproute" drain replica1
for i in 1 2 3 4; do
	is "$(real)" 'replica2 replica' "read $i goes to the other one"
done
ok "and taken back" "$STAGE_BIN/reproute" drain --undo replica1

# the route switched off; what is pushed meanwhile is fenced and followed
ok "the route is switched off" "$STAGE_BIN/reproute" off
is "$(real)" 'primary doubt' "the next read goes to the primary"
git -C work commit -q --allow-empty -m off
ok "a push" git -C work push -q "$url" main
like "$("$STAGE_BIN/reproute" status)" '^  switched off since ' "status says so"
ok "and on again" "$STAGE_BIN/reproute" on git
eventually 30 "replicas serve what was pushed" stage_both team/app
like "$(real)" '^replica[12] replica$' "as they do behind the front"

# the daemon dead
stage_stop syncd KILL
eventually 10 "no heartbeat: all reads on the primary" real_is 'primary doubt'
fails "status says that somebody must act" "$STAGE_BIN/reproute" status
ok "a push passes" sh -c \
	"cd work && git commit -q --allow-empty -m three && git push -q $url main"
ok "the daemon starts again" stage_syncd
eventually 30 "replicas serve again" stage_both team/app
is "$(git ls-remote "$url" refs/heads/main | cut -f1)" \
	"$(git -C work rev-parse main)" "what was pushed meanwhile"

# the router killed: no decision; then back, with every mark seen anew
# shellcheck disable=SC2046 # pids
kill -KILL $(stage_routers)
stage_stop router KILL
case $FRONT_UNDECIDED in
reads)
	ok "no router: reads go to the primary" git ls-remote "$url"
	fails "and pushes nowhere" sh -c \
		"cd work && git commit -q --allow-empty -m undecided && git push -q $url main"
	like "$(cat output)" 'error: 503' "which git is told"
	ok "(not made)" git -C work reset -q --hard HEAD~1
	like "$(curl -s "$FRONT/v2/")" '^\{"errors":\[\{"code":"UNAVAILABLE"' \
		"and registry clients by JSON"
	cp "$REPROUTE_CONF" refusing
	sed -i 's/authorize = "webserver";/& undecided_writes = "primary";/' \
		"$REPROUTE_CONF"
	ok "unless the route lets pushes pass" front_print
	front_reload
	git -C work commit -q --allow-empty -m undecided
	eventually 10 "one is made" git -C work push -q "$url" main
	is "$(git ls-remote "$url" refs/heads/main | cut -f1)" \
		"$(git -C work rev-parse main)" "and seen"
	eventually 10 "the daemon is told that nothing counts any more" \
		grep -q 'git: a write without a decision' "$STAGE/log/syncd"
	ok "(the default again)" cp refusing "$REPROUTE_CONF"
	ok "(printed)" front_print
	front_reload
	;;
starts)
	ok "no router: it is started, and requests wait" git ls-remote "$url"
	like "$(curl -s "$FRONT/v2/")" '^\{\}$' "of registry clients, too"
	;;
refuses)
	fails "no router: it is refused" git ls-remote "$url"
	like "$(curl -s "$FRONT/v2/")" '^\{"errors":\[\{"code":"UNAVAILABLE"' \
		"and says so to registry clients by JSON"
	;;
esac
[ "$FRONT_UNDECIDED" = starts ] ||
	like "$(front_status -d "" "$FRONT/v2/team/x/blobs/uploads/")" '^50[03]$' \
		"and never crosses sides"
ok "the router starts again" stage_router
eventually 30 "and reads are served by replicas" real_like '^replica'
# the push made without a daemon is watched; when that ends, the marks are void
# for a moment
unwatched() { ! stage_ask status team/app | grep -q '^  fence '; }
eventually 20 "no push is watched any more" unwatched
eventually 30 "and both replicas serve" stage_both team/app

# the router told to reload, with a good and a bad configuration
cp "$REPROUTE_CONF" good
echo 'nonsense = 1;' >> "$REPROUTE_CONF"
# shellcheck disable=SC2046
kill -HUP $(stage_routers) "$(cat "$STAGE/pid/syncd")"
eventually 10 "a bad configuration is refused by the router" \
	grep -q nonsense "$STAGE/log/$FRONT_ROUTER_LOG"
eventually 10 "and by the daemon" grep -q nonsense "$STAGE/log/syncd"
ok "the old one stays in force" real_like '^replica'
cp good "$REPROUTE_CONF"
# shellcheck disable=SC2046
kill -HUP $(stage_routers) "$(cat "$STAGE/pid/syncd")"
eventually 30 "a good one is taken up" real_like '^replica'

# a push broken off: its client is killed while a hook sleeps
hook=$STAGE/git/primary/team/app.git/hooks/pre-receive
printf '#!/bin/sh\nsleep 4\n' > "$hook" && chmod +x "$hook"
(cd work && git commit -q --allow-empty -m four)
git -C work push -q "$url" main & pusher=$!
sleep 0.7
is "$(reason)" fenced "a push under way raises a fence"
kill -KILL $pusher
wait $pusher 2>/dev/null
is "$(reason)" fenced "its death does not end it"
eventually 30 "time does, and replicas serve what the primary has" \
	stage_both team/app
sleep 1
is "$(git ls-remote "$url")" \
	"$(git ls-remote "http://127.0.0.1:$PRIMARY_PORT/scm/team/app.git")" \
	"and it is what the primary has"
rm "$hook"

# the feed lost
stage_stop front
rm -f "$STAGE/run/feed.sock"
ok "the front starts without a feed" stage_front
(cd work && git commit -q --allow-empty -m five)
ok "a push without a feed" git -C work push -q -f "$url" main
is "$(reason)" fenced "keeps its fence"
eventually 30 "until its time is over" stage_both team/app

# the table locked by another process, which holds it as a stopped one would
eventually 20 "catalogues are imported" stage_imported
mkfifo lock
mdb_load -n "$STAGE/state/table.mdb" < lock & locker=$!
exec 9> lock
printf 'VERSION=3\nformat=print\ntype=btree\nHEADER=END\n' >&9
held() {
	curl -s -D - -d '' "$FRONT/v2/team/x/blobs/uploads/" 9>&- |
		tr -d '\r' > held
	grep -q '^HTTP/1.1 503' held
}
eventually 10 "table locked: a registry's first write is held" held
like "$(cat held)" '^Retry-After: [0-9]+$' "the client is told to come again"
like "$(tail -n 1 held)" '^\{"errors":\[\{"code":"UNAVAILABLE"' \
	"in a registry's own words"
(cd work && git commit -q --allow-empty -m six)
ok "a push passes" git -C work push -q "$url" main 9>&-
is "$(real)" 'primary doubt' "and reads see it: all are in doubt"
is "$(front_status -d '' -H "Authorization: Bearer $(cat "$STAGE/token")" \
	"$FRONT/reproute/push?project=team&repo=app&sha1=$(git -C work \
	rev-parse main)")" 503 "a report that cannot be kept is refused"
exec 9>&-
wait $locker
eventually 30 "the lock is gone: replicas serve again" stage_both team/app
eventually 30 "and out of doubt" real_like '^replica'
is "$(git ls-remote "$url" refs/heads/main | cut -f1)" \
	"$(git -C work rev-parse main)" "what was pushed meanwhile"

# shut down cleanly
for name in router syncd; do
	ok "$name ends on SIGTERM" stage_stop $name
done
story_end

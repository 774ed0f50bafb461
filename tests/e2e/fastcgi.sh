#!/bin/bash
# The endpoints as FastCGI programs that a web server starts, and their end.
# SPDX-License-Identifier: ISC
# shellcheck disable=SC2317 # functions are called by name
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
story_begin
ok "everything starts" stage_all || story_end
stage_port FASTCGI_PORT
here=http://127.0.0.1:$FASTCGI_PORT/reproute
repo=$here/projects/team/repos/app

cat > fastcgi.conf <<EOF
server.modules = ("mod_fastcgi")
server.document-root = "$STAGE/www"
server.bind = "127.0.0.1"
server.port = $FASTCGI_PORT
server.errorlog = "$STAGE/log/fastcgi.error"
server.stream-response-body = 2
fastcgi.server = (
  "/reproute/push" => ((
    "socket" => "$STAGE/push.sock", "check-local" => "disable",
    "bin-path" => "$STAGE_BIN/reproute-push", "max-procs" => 1
  )),
  "/reproute" => ((
    "socket" => "$STAGE/replica.sock", "check-local" => "disable",
    "bin-path" => "$STAGE_BIN/reproute-replica", "max-procs" => 1,
    "bin-environment" => ("REPROUTE_CONF" => "$STAGE/replica1/reproute.conf")
  ))
)
EOF
stage_start fastcgi lighttpd -D -f "$STAGE/fastcgi.conf"
ok "a web server starts both endpoints" stage_wait 10 stage_listens \
	"$FASTCGI_PORT"
token="Authorization: Bearer $(cat "$STAGE/token")"

stage_repository team/app
git init -q work && git -C work commit -q --allow-empty -m one
git -C work push -q "$STAGE/git/primary/team/app.git" main
sha=$(git -C work rev-parse main)
for i in 1 2 3; do
	is "$(curl -s -d "project=team&repo=app&sha1=$sha" -H "$token" \
		"$here/push" | grep -c '"repository":"team/app"')" 1 "report $i"
done
is "$(front_status -d 'project=team&repo=app' "$here/push")" 401 \
	"a report without a token"
eventually 30 "replicas serve" stage_both team/app
is "$(curl -s "$here")" reproute-replica "the replica's endpoint lives"
is "$(curl -s "$repo/has-commit/?sha1=$sha")" true "has-commit"
like "$(curl -s "$repo/refs/")" '^\{"digest":"[0-9a-f]{64}","refs":1,' "refs"

# its end, while a fetch waits for a primary that says nothing
pids() { # PATTERN: of this stage, by their command lines
	local pid
	for pid in $(stage_left); do
		tr '\0' ' ' 2>/dev/null < "/proc/$pid/cmdline" |
			grep -q -- "$1" && echo "$pid"
	done
}
fetches() { [ -n "$(pids "^git .*127.0.0.1:$PRIMARY_PORT/")" ]; }
no_fetch() { ! fetches; }
ended() { ! kill -0 "$1" 2>/dev/null; }
kill -STOP "$(cat "$STAGE/pid/primary")"
curl -sN -o fetched -H "$token" -d '{"head":"","object_format":"sha1"}' \
	"$repo/fetch/" & client=$!
eventually 10 "a fetch hangs" fetches
replica=$(pids "^$STAGE_BIN/reproute-replica ")
kill -TERM "$replica"
eventually 5 "SIGTERM ends the endpoint" ended "$replica"
eventually 5 "and its fetch" no_fetch
wait $client
like "$(tail -n 1 fetched)" '^failed: ' "its client is told"
kill -CONT "$(cat "$STAGE/pid/primary")"
push=$(pids "^$STAGE_BIN/reproute-push ")
kill -TERM "$push"
eventually 5 "SIGTERM ends the push endpoint" ended "$push"

# a router of two threads, among peers that are idle, stall and lie
stage_port ROUTER_PORT
mkdir trapped trapped/state trapped/run
sed "s|^state_dir.*|state_dir = \"$STAGE/trapped/state\";|
	s|^run_dir.*|run_dir = \"$STAGE/trapped/run\";|" reproute.conf \
	> trapped/reproute.conf
stage_start trapped "$STAGE_BIN/reproute-fcgi" \
	-c "$STAGE/trapped/reproute.conf" \
	--listen "127.0.0.1:$ROUTER_PORT" --threads 2
ok "a router of two threads" stage_wait 10 stage_listens "$ROUTER_PORT"
# FastCGI specification, 3.3 and 5: responders, of id 1, outside all routes
closes='\1\1\0\1\0\10\0\0\0\1\0\0\0\0\0\0'
keeps='\1\1\0\1\0\10\0\0\0\1\1\0\0\0\0\0'
rest='\1\4\0\1\0\16\2\0\13\1REQUEST_URI/\0\0\1\4\0\1\0\0\0\0\1\5\0\1\0\0\0\0'
say() { # BYTES: over a new connection, which stays open as $peer
	exec {peer}<> "/dev/tcp/127.0.0.1/$ROUTER_PORT"
	# shellcheck disable=SC2059 # octal
	printf "$1" >&"$peer"
}
hear() { timeout 5 head -c 32 <&"$peer" | tr -d '\0'; }
answers() { # NAME: a new request
	say "$closes$rest"
	like "$(hear)" 'Status: 404' "$1"
	exec {peer}>&-
}
# The router closes it.
closed() { timeout 5 cat <&"$peer" > /dev/null 2>&1; [ $? != 124 ]; }

answers "a request"
for ((i = 0; i < 100; i++)); do
	say "$keeps$rest"
	hear > heard
done
like "$(tr -d '\0' < heard)" 'Status: 404' "100 connections are kept"
answers "and one more is answered"
for ((i = 0; i < 20; i++)); do say "$closes"; done
answers "20 peers stall: one more is answered"
for lie in "$closes"'\1\4\0\1\0\6\0\0\377\377\377\376\1A' \
	'\1\11\0\0\0\6\0\0\377\377\377\376\1A' 'GET / HTTP/1.1\r\n\r\n'; do
	say "$lie"
	ok "a liar is closed" closed
	answers "and all others live"
done
eventually 5 "stalled ones do not hold up the end" stage_stop trapped
story_end

#!/bin/bash
# Several routers on one state come, die and go: no read is stale, no mark lost.
# SPDX-License-Identifier: ISC
# shellcheck disable=SC2317,SC2034 # functions are called by name; stage.sh's
STAGE_FRONT=${STAGE_FRONT:-lighttpd-bin}
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
story_begin
STAGE_GIT_KEYS='fence_s = 5; watch_s = 1; push_max_s = 10; wait_ms = 0;'
STAGE_SYNC_KEYS='interval_s = 10; valid_s = 60;'
stage_ports
url=$FRONT/scm/team/app.git
advert="$url/info/refs?service=git-upload-pack"

are() { [ "$(stage_routers | wc -l)" = "$1" ]; }
has() { # $1 routers, and each read is answered
	are "$1" && all_read '[a-z]*'
}
# How many of eight real reads gave that reason.
reads() {
	local from i
	from=$(mark)
	for i in 1 2 3 4 5 6 7 8; do
		curl -sf -o /dev/null "$advert"
	done
	routed_since "$from" | grep -c "reason=$1\$"
}
all_read() { [ "$(reads "$1")" = 8 ]; }
commit() { git -C work commit -q --allow-empty -m "$1"; }

upstreams() {
	stage_git primary "$PRIMARY_PORT" && stage_git replica1 "$REPLICA1_PORT" &&
		stage_git replica2 "$REPLICA2_PORT" && stage_conf
}

ok "the upstreams start" upstreams || story_end
ok "the daemon starts" stage_syncd || story_end
ok "a web server starts four routers" stage_front || story_end
stage_repository team/app
eventually 10 "which run" has 4
git init -q work && commit one
ok "a push" git -C work push -q "$url" main
eventually 60 "replicas serve" stage_both team/app
eventually 20 "by every router" all_read replica

# one is killed: while the daemon stands still nothing can be compared anew
kill -STOP "$(cat "$STAGE/pid/syncd")"
kill -KILL "$(stage_routers | head -n 1)"
eventually 20 "one that was killed is started again" has 4
is "$(reads replica)" 8 "its start voids no mark"
# shellcheck disable=SC2046 # pids
kill -KILL $(stage_routers)
eventually 20 "all that were killed are started again" has 4
eventually 5 "the first of these voids all: nobody minded writes" \
	all_read lagging
kill -CONT "$(cat "$STAGE/pid/syncd")"
eventually 30 "which are seen anew" all_read replica

# Pushes, and after each a read; a reader beside, that never goes back.  A
# commit's number is its message; $1 says where they write what they saw.
pushes() {
	local number=0 tip
	while [ ! -e stop ]; do
		number=$((number + 1))
		commit "$number"
		tip=$(git -C work rev-parse main)
		# without an answer nobody knows whether it is there
		git -C work push -q "$url" main 2>>pushes.log || continue
		echo "$number" > pushed.new && mv pushed.new pushed
		echo push >> seen
		tip_is "$tip" main || echo "stale: push $number is not seen" >> seen
	done
}
# A read that fails shows nothing.
tip_is() {
	local got
	got=$(git ls-remote "$url" "refs/heads/$2" 2>>reads.log) || return 0
	[ "${got%%	*}" = "$1" ]
}
number_of() { git -C work log -1 --format=%s "$1" 2>/dev/null; }
watch() {
	local last=0 number pushed got
	while [ ! -e stop ]; do
		pushed=$(cat pushed 2>/dev/null)
		got=$(git ls-remote "$url" refs/heads/main 2>>reads.log) || continue
		number=$(number_of "${got%%	*}")
		case $number in '' | *[!0-9]*) continue ;; esac
		echo read >> seen
		[ "$number" -ge "$last" ] && [ "$number" -ge "${pushed:-0}" ] ||
			echo "stale: read $number after $last, $pushed" >> seen
		last=$number
	done
}
enough() {
	[ "$(grep -c '^push' seen)" -ge 5 ] && [ "$(grep -c '^read' seen)" -ge 10 ]
}
kills() {
	local end=$((SECONDS + 15))
	until [ "$SECONDS" -ge "$end" ] && enough; do
		kill -KILL "$(stage_routers | shuf -n 1)" 2>/dev/null
		sleep 0.5
	done
	touch stop
}
: > seen
from=$(mark)
pushes & pusher=$!
watch & watcher=$!
ok "a router is killed each half second" kills
wait $pusher $watcher
is "$(grep -c '^stale' seen)" 0 "no read is stale"
grep '^stale' seen | head -n 5 | sed 's/^/# /'
on_replicas() { routed_since "$from" | grep -q 'reason=replica$'; }
ok "also on replicas" on_replicas
eventually 30 "in the end there are four" has 4
eventually 60 "and replicas serve" all_read replica

# a router that dies with a fence that it could not commit
settled() { ! in_doubt; }
lock() { # the table, as a stopped process would
	rm -f lock
	mkfifo lock
	mdb_load -n "$STAGE/state/table.mdb" < lock & locked=$!
	exec 9> lock
	printf 'VERSION=3\nformat=bytevalue\ntype=btree\nHEADER=END\n' >&9
	sleep 1
}
unlock() {
	kill -KILL "$locked"
	exec 9>&-
	wait "$locked" 2>/dev/null
	return 0
}
in_doubt() { [ "$(stage_why GET "$advert")" = doubt ]; }
STAGE_GIT_KEYS='fence_s = 30; watch_s = 1; push_max_s = 60; wait_ms = 0;'
stage_conf
stage_stop syncd
# shellcheck disable=SC2046 # pids
kill -KILL $(stage_routers)
stage_syncd
eventually 20 "all begin anew, with a longer fence_s" has 4
lock
commit late
begun=$SECONDS
ok "the table is locked: a push goes through" git -C work push -q "$url" main
ok "and its route is in doubt" in_doubt
# shellcheck disable=SC2046 # pids
kill -KILL $(stage_routers)
unlock
eventually 20 "all routers die, and others come" has 4
ok "the route stays in doubt" in_doubt
is "$(reads doubt)" 8 "for every router"
eventually 60 "as long as that fence would have stood" settled
ok "and no less" test $((SECONDS - begun)) -ge 30
eventually 30 "then replicas serve, seen anew" all_read replica

ended() {
	local pid
	for pid in $left; do
		[ ! -e "/proc/$pid" ] || return
	done
}
left=$(stage_routers)
kill -USR1 "$(cat "$STAGE/pid/front")"
eventually 20 "a graceful restart of the web server ends them" ended
eventually 20 "and brings new ones" has 4
left=$(stage_routers)
stage_stop front
eventually 10 "they end with the web server" ended
story_end

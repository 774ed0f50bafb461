#!/bin/bash
# A herd of reads right after a push waits for the replicas, and stops nobody.
# SPDX-License-Identifier: ISC
# shellcheck disable=SC2317,SC2034 # functions are called by name; stage.sh's
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
story_begin
# more than the router has threads
herd=40
STAGE_GIT_KEYS='wait_ms = 10000;'
STAGE_SYNC_KEYS='interval_s = 1; valid_s = 60;'
ok "everything starts" stage_all || story_end
url=$FRONT/scm/team/app.git
# a client's first request, without the weight of git
fetch=(curl -s "$url/info/refs?service=git-upload-pack")
stage_repository team/app
stage_repository team/other
git init -q work && git -C work commit -q --allow-empty -m one
for name in app other; do
	ok "a push of $name" git -C work push -q "$FRONT/scm/team/$name.git" main
	eventually 60 "replicas have it" stage_both "team/$name"
done

syncd() { kill "-$1" "$(cat "$STAGE/pid/syncd")"; }
# A push past the front that is over, of which the daemon, which stands still,
# has not heard: no replica has a mark, and no fence is up.  What it brought is
# at the replicas, so that a comparison is all that is left.
push() {
	local name
	git -C work commit -q --allow-empty -m more || return
	for name in primary replica1 replica2; do
		git -C work push -q "$STAGE/git/$name/team/app.git" main || return
	done
	curl -sf -o "$STAGE/answer" -d '' \
		-H "Authorization: Bearer $(cat "$STAGE/token")" \
		"$FRONT/reproute/push?project=team&repo=app&sha1=$(git -C work rev-parse main)"
}
# count KEY: what the status page counts of it, first of the git route.
count() {
	local value
	value=$(stage_ask status --json | grep -o "\"$1\":[0-9]*" | head -n 1)
	echo "${value#*:}"
}
waited() { [ "$(($(count waited) - before))" -ge "$1" ]; }
# start_herd COMMAND...: so many at once; each prints what it saw into seen/.
start_herd() {
	local i
	before=$(count waited)
	pids=()
	rm -rf seen && mkdir seen
	for ((i = 0; i < herd; i++)); do
		"$@" > "seen/$i" &
		pids+=($!)
	done
}
# How many of the herd saw the newest commit, once all are back.
end_herd() {
	wait "${pids[@]}"
	saw=$(grep -lE "(^|[0-9a-f]{4})$(git -C work rev-parse main)" seen/* | wc -l)
}
# served MARK REASON: so many of the herd, by the front's log
served() { routed_since "$1" | grep '/team/app' | grep -c "reason=$2\$"; }

# behind mod_fcgid half of the processes that live never wait: let some live
least=$herd
[ "$STAGE_FRONT" != apache ] || least=1
start_herd "${fetch[@]}"
end_herd
is "$saw" "$herd" "a herd comes while nothing lags"
syncd STOP
ok "a push is over, and nobody has fetched it" push
from=$(mark)
start_herd "${fetch[@]}"
eventually 9 "a herd comes, and waits" waited "$least"
begun=$(date +%s%N)
is "$(front_status "$FRONT/scm/team/other.git/info/refs?service=git-upload-pack")" \
	200 "another repository is read meanwhile"
is "$(front_status "$FRONT/v2/")" 200 "and another route"
ok "at once" test $((($(date +%s%N) - begun) / 1000000)) -lt 6000
syncd CONT
end_herd
is "$saw" $herd "all of the herd see the push"
if [ "$STAGE_FRONT" = apache ]; then
	ok "those that waited by replicas" test "$(served "$from" replica)" -ge "$least"
else
	is "$(served "$from" lagging)" 0 "none of it on the primary"
	ok "all of it by replicas" test "$(served "$from" replica)" -ge $herd
fi
ok "counted" test "$(count waited_served)" -ge "$least"

# without the wait
in_force() { grep -q 'in force' "$STAGE/log/$FRONT_ROUTER_LOG"; }
STAGE_GIT_KEYS='wait_ms = 0;'
ok "another configuration" stage_conf
# shellcheck disable=SC2046 # pids
kill -HUP $(stage_routers)
eventually 10 "is read anew" in_force
sleep 1
eventually 30 "replicas serve" stage_both team/app
syncd STOP
ok "another push is over" push
from=$(mark)
start_herd "${fetch[@]}"
end_herd
is "$saw" $herd "wait_ms = 0: all of the herd see it"
ok "from the primary" test "$(served "$from" lagging)" -ge $herd
is "$(served "$from" replica)" 0 "and nowhere else"
fails "nobody waited" waited 1
syncd CONT

# without a daemon nobody waits: a mark will not come
STAGE_GIT_KEYS='wait_ms = 10000;'
STAGE_SYNC_KEYS='interval_s = 1; valid_s = 2;'
stage_stop syncd
ok "another configuration" stage_conf
# shellcheck disable=SC2046 # pids
kill -HUP $(stage_routers)
doubt() {
	"${fetch[@]}" > doubt
	routed_since 0 | tail -n 1 | grep -q 'reason=doubt$'
}
eventually 40 "the daemon is dead: doubt" doubt
ok "a push meanwhile" push
start_herd "${fetch[@]}"
end_herd
is "$saw" $herd "all see it"
fails "and nobody waited" waited 1
story_end

#!/bin/bash
# Big bodies stream, many clients are served at once, and reloads fail nobody.
# SPDX-License-Identifier: ISC
# shellcheck disable=SC2317 # functions are called by name
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
story_begin
ok "a certificate" stage_tls || story_end
# bytes are to be moved here, and random ones do not get smaller
git config --global core.compression 0
git config --global transfer.unpackLimit 1
STAGE_MIGRATE_KEYS='include = ("^team/");'
ok "everything starts" stage_all || story_end
url=$FRONT/scm/team/app.git
tls=https://127.0.0.1:$FRONT_TLS_PORT
stage_repository team/app
git init -q work
git -C work commit -q --allow-empty -m one
ok "a push" git -C work push -q "$url" main
eventually 30 "replicas serve" stage_both team/app
eventually 20 "catalogues are imported" stage_imported

# The front's processes but the routers that it may have started.
front_tree() {
	local pid
	pid=$(cat "$STAGE/pid/front")
	for pid in $pid $(cat "/proc/$pid/task/$pid/children"); do
		stage_is "$pid" reproute-fcgi || echo "$pid"
	done
}
# The largest sum so far of files of more than 1 MB that the front has open.
watch_spool() {
	local most=0 now
	local -a open
	while :; do
		mapfile -t open < <(front_tree | sed 's,.*,/proc/&/fd,')
		now=$(($(find -L "${open[@]:-/nowhere}" -type f -size +1M -printf '%s+' \
			2>/dev/null)0))
		[ $now -le $most ] || echo $((most = now)) > "$STAGE/spooled"
		sleep 0.2
	done
}
# The most memory that any process of front and router ever had, in KiB.
peak() {
	local pid
	for pid in $(front_tree) $(stage_routers); do
		sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$pid/status"
	done 2>/dev/null | sort -n | tail -n 1
}
# streamed NAME COMMAND...: it succeeds; nobody held or spooled what passed.
streamed() {
	local name=$1 watcher
	shift
	echo 0 > "$STAGE/spooled"
	watch_spool & watcher=$!
	ok "$name" "$@"
	kill $watcher
	wait $watcher 2>/dev/null
	ok "$name: in constant memory ($(peak) KiB)" [ "$(peak)" -lt 150000 ]
	case $STAGE_FRONT in
	nginx-accel)
		ok "$name: accel mode spools, as its manual says" \
			[ "$(cat "$STAGE/spooled")" -gt 100000000 ]
		;;
	*)
		ok "$name: nothing spooled ($(cat "$STAGE/spooled") bytes)" \
			[ "$(cat "$STAGE/spooled")" -lt 20000000 ]
		;;
	esac
}

# 200 MB into git
head -c 200M /dev/urandom > work/big
git -C work add big
git -C work commit -qm big
from=$(mark)
streamed "a push of 200 MB" git -C work push -q "$url" main
is "$(routed_since "$from" | grep -c '"POST /scm/team/app.git/git-receive-pack .*upstream=primary')" \
	2 "in two requests: git's probe, and the pack"
is "$(git ls-remote "$url" refs/heads/main | cut -f1)" \
	"$(git -C work rev-parse main)" "the next read sees it"
eventually 240 "replicas follow" stage_both team/app ||
	"$STAGE_BIN/reproute" status team/app | sed 's/^/# /'
ok "a clone of it, from a replica" git clone -q "$url" clone
is "$(sha256sum < clone/big)" "$(sha256sum < work/big)" "the same 200 MB"

# a replica that dies in the middle of an answer
ok "reads go to one replica" "$STAGE_BIN/reproute" drain replica2
printf '0032want %s\n00000009done\n' "$(git -C work rev-parse main)" > want
curl -sf --limit-rate 4M --data-binary @want -o /dev/null \
	-H 'Content-Type: application/x-git-upload-pack-request' \
	"$url/git-upload-pack" & reader=$!
sleep 2
ok "an answer is under way" kill -0 $reader
from=$(mark)
stage_stop replica1 KILL
read=(git ls-remote -q "$url")
# lighttpd cannot send a body again: until the replica is out, only GETs pass
[ "${STAGE_FRONT#lighttpd}" = "$STAGE_FRONT" ] ||
	read=(curl -sf "$url/info/refs?service=git-upload-pack")
for i in 1 2 3 4 5; do
	ok "read $i right after the replica died" "${read[@]}"
done
wait $reader
is "$?" 18 "the answer broke off, as its client is told"
out() {
	from=$(mark)
	git ls-remote -q "$url" && routed_since "$from" | tail -n 1 |
		grep -q 'upstream=primary reason=down$'
}
eventually 5 "the replica is out" out
ok "it comes back" stage_git replica1 "$REPLICA1_PORT"
ok "and the other one" "$STAGE_BIN/reproute" drain --undo replica2
eventually 60 "both replicas serve" stage_both team/app

# 300 MB into a registry
head -c 300M /dev/urandom > layer
sum=$(sha256sum < layer)
sum=${sum%% *}
# location ARGUMENTS...: where the upload goes on
location() {
	curl -sk -o /dev/null -D - "$@" | tr -d '\r' |
		sed -n 's/^[Ll]ocation: //p'
}
absolute() { case $1 in /*) echo "$FRONT$1" ;; *) echo "$1" ;; esac; }
upload=$(absolute "$(location -d '' "$FRONT/v2/team/big/blobs/uploads/")")
send_layer() {
	upload=$(absolute "$(location -X PATCH -T layer \
		-H 'Content-Type: application/octet-stream' "$upload")")
	[ -n "$upload" ]
}
streamed "a layer of 300 MB" send_layer
case $upload in *\?*) upload="$upload&" ;; *) upload="$upload?" ;; esac
is "$(front_status -X PUT -H 'Content-Length: 0' "${upload}digest=sha256:$sum")" \
	201 "it is whole"
blob=$FRONT/v2/team/big/blobs/sha256:$sum
is "$(curl -sI "$blob" | tr -d '\r' | sed -n 's/^[Cc]ontent-[Ll]ength: //p')" \
	314572800 "HEAD tells its size"
is "$(curl -s "$blob" | sha256sum | cut -d' ' -f1)" "$sum" "and it comes back"
ok "from the new registry" curl -sfI \
	"http://127.0.0.1:$NEW_PORT/v2/team/big/blobs/sha256:$sum"
is "$(front_status -X DELETE "$blob")" 202 "DELETE"

# TLS
like "$(location -d '' "$tls/v2/team/big/blobs/uploads/")" \
	"^($tls)?/v2/team/big/blobs/uploads/" "over TLS, Location says so"
export GIT_SSL_CAINFO=$STAGE/front/crt.pem
ok "a clone over TLS" git clone -q --depth 1 "$tls/scm/team/app.git" secure
head -c 3M /dev/urandom > work/small
git -C work add small && git -C work commit -qm small
ok "a push over TLS" git -C work push -q "$tls/scm/team/app.git" main
is "$(git ls-remote "$tls/scm/team/app.git" refs/heads/main | cut -f1)" \
	"$(git -C work rev-parse main)" "the next read sees it"

# many at once; all: wait for each, and say how many failed
all() {
	local pid failed=0
	for pid; do wait "$pid" || failed=$((failed + 1)); done
	echo $failed
}
pids=()
for i in $(seq 64); do
	git ls-remote -q "$url" >/dev/null 2>&1 & pids+=($!)
done
all "${pids[@]}" > failed
is "$(cat failed)" 0 "64 git clients at once"
pids=()
for i in $(seq 64); do
	curl -sf -o /dev/null "$FRONT/v2/" & pids+=($!)
done
all "${pids[@]}" > failed
is "$(cat failed)" 0 "64 clients of a registry"

# reloads, under load
: > "$STAGE/load"
load() {
	while [ ! -e "$STAGE/enough" ]; do
		"$@" >/dev/null 2>&1 && echo ok || echo "failed: $*"
	done >> "$STAGE/load"
}
# Those that have begun: a program that is being loaded dies of SIGHUP.  A web
# server that starts them may have none at the moment.
reload_routers() {
	local pid hup=()
	for pid in $(stage_routers); do
		! grep -qs '^SigBlk:.*[13579bdf]$' /proc/"$pid"/task/*/status ||
			hup+=("$pid")
	done
	kill -HUP "${hup[@]}"
}
pids=()
load git ls-remote -q "$url" & pids+=($!)
load curl -sf "$FRONT/v2/" & pids+=($!)
load curl -sf "$FRONT/v2/team/big/blobs/uploads/" -d '' & pids+=($!)
for i in 1 2 3; do
	sleep 1
	ok "reload $i of the web server" front_reload
	sleep 1
	eventually 5 "reload $i of the router" reload_routers
done
sleep 2
touch "$STAGE/enough"
wait "${pids[@]}"
like "$(grep -c '^ok$' "$STAGE/load")" '^[1-9][0-9]+$' "requests were made meanwhile"
is "$(grep -v '^ok$' "$STAGE/load")" "" "and none failed"
story_end

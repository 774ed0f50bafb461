#!/bin/bash
# pushes.sh: how soon replicas serve what was pushed, and what a push pays for it
# SPDX-License-Identifier: ISC
#
# usage: tests/bench/pushes.sh [REFS...]   (default: 1 1000 50000)
# needs: contrib/install-packages run test
# STAGE_BIN is where the programs are (.), STAGE_FRONT the web server in front;
# PUSHES (20) of one commit each, after three that are not counted.
#
# Each round pushes to two repositories with as many refs, and times
#   marked  through the front, with hooks: from the push's end until both
#           replicas may serve it, as `reproute wait` says, which looks each
#           25 ms
#   floor   past it, without anything: what of that has to be done in any case,
#           for two copies side by side: a report, a durable write, git fetch
#           of one commit, and a comparison of all refs
#   routed, direct: the pushes themselves, through the front and past it
# Then readers ask for a repository, one after the other, while there is a push
# every 10 s, every second, and all the time: the share that replicas served.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
STAGE_BIN=$(cd "${STAGE_BIN:-.}" && pwd)
pushes=${PUSHES:-20}
share_s=${SHARE_S:-30}

say() { printf 'pushes.sh: %s\n' "$*" >&2; }

[ -x "$STAGE_BIN/reproute-fcgi" ] ||
	{ say "no $STAGE_BIN/reproute-fcgi: build first"; exit 64; }
# shellcheck source=contrib/stage.sh
. "$top/contrib/stage.sh"

now_us() { echo $(($(date +%s%N) / 1000)); }

# bench_refs NAME REFS: so many at the primary, in the packed form.
bench_refs() {
	local dir=$STAGE/git/primary/team/$1.git first
	git -C "$STAGE/work" push -q "$dir" main &&
		first=$(git -C "$dir" rev-parse main) &&
		seq 2 "$2" | sed "s|.*|create refs/tags/t& $first|" |
		git -C "$dir" update-ref --stdin && git -C "$dir" pack-refs --all
}

bench_commit() { git -C "$STAGE/work" commit -q --allow-empty -m more; }

bench_open() {
	local copy
	stage_open && stage_all || return
	direct=http://127.0.0.1:$PRIMARY_PORT/scm/team/floor.git
	git init -q "$STAGE/work" && bench_commit &&
		stage_repository team/app && bench_refs app "$1" &&
		stage_hooks team/app pre-receive post-receive &&
		stage_repository team/floor && bench_refs floor "$1" || return
	for copy in 1 2; do
		git clone -q --mirror "$direct" "$STAGE/copy$copy" || return
	done
	git ls-remote "$FRONT/scm/team/app.git" > "$STAGE/refs" &&
		stage_wait 120 stage_both team/app
}

# bench_timed FILE COMMAND...: its microseconds go there.
bench_timed() {
	local file=$STAGE/times.$1 begun
	shift
	begun=$(now_us)
	"$@" || return
	echo $(($(now_us) - begun)) >> "$file"
}

bench_compare() {
	[ "$(git ls-remote "$direct" | grep -v '\^{}$' | sha256sum)" = \
		"$(git ls-remote "$1" | grep -v '\^{}$' | sha256sum)" ]
}

bench_copy() {
	git -C "$1" fetch -q --prune origin '+refs/*:refs/*' && bench_compare "$1"
}

bench_floor() {
	local other
	# refused: what the endpoint does but write
	curl -s -o "$STAGE/answer" -d 'project=team&repo=floor' \
		"$FRONT/reproute/push"
	dd if=/dev/zero of="$STAGE/state/floor" bs=4k count=1 conv=fsync \
		status=none
	bench_copy "$STAGE/copy1" & other=$!
	bench_copy "$STAGE/copy2" && wait "$other"
}

bench_marked() {
	"$STAGE_BIN/reproute" wait --replicas 2 --timeout 60 git team/app \
		> "$STAGE/answer"
}

bench_round() {
	bench_commit &&
		bench_timed routed git -C "$STAGE/work" push -q \
			"$FRONT/scm/team/app.git" main &&
		bench_timed marked bench_marked &&
		bench_timed direct git -C "$STAGE/work" push -q "$direct" main &&
		bench_timed floor bench_floor
}

# percentile FILE P: in milliseconds
percentile() {
	sort -n "$STAGE/times.$1" | awk -v p="$2" '{ t[NR] = $1 }
		END { printf "%.0f", t[int((NR - 1) * p / 100) + 1] / 1000 }'
}

bench_close() {
	local status=$?
	stage_close || status=1
	exit "$status"
}

# bench_one REFS: its line of the table.
bench_one() {
	local round name
	trap bench_close EXIT
	trap 'exit 1' INT TERM
	if ! bench_open "$1" >&2; then
		say "the stage does not start"
		tail -n 5 "$STAGE"/log/* >&2
		exit 1
	fi
	for ((round = -3; round < pushes; round++)); do
		[ $round -ne 0 ] || rm -f "$STAGE"/times.*
		bench_round || { say "a push fails"; exit 1; }
	done
	printf '%-8s' "$1"
	for name in marked floor routed direct; do
		printf ' %8s %6s' "$(percentile $name 50)" "$(percentile $name 95)"
	done
	awk -v a="$(percentile marked 50)" -v b="$(percentile floor 50)" \
		-v c="$(percentile routed 50)" -v d="$(percentile direct 50)" \
		'BEGIN { printf " %13.2f %6d\n", a / (b ? b : 1), c - d }'
}

bench_pusher() {
	while [ -e "$STAGE/pushing" ]; do
		bench_commit && git -C "$STAGE/work" push -q \
			"$FRONT/scm/team/app.git" main || exit 1
		sleep "$1"
	done
}

# bench_share SECONDS: a push after so many each time, while clients read.
bench_share() {
	local end from pusher
	: > "$STAGE/pushing"
	bench_pusher "$1" & pusher=$!
	from=$(wc -l < "$STAGE/log/access")
	end=$((SECONDS + share_s))
	while [ $SECONDS -lt $end ]; do
		curl -sf -o "$STAGE/answer" -H 'Git-Protocol: version=2' \
			"$FRONT/scm/team/app.git/info/refs?service=git-upload-pack" ||
			exit 1
		sleep 0.05
	done
	rm "$STAGE/pushing"
	tail -n +$((from + 1)) "$STAGE/log/access" |
		grep 'service=git-upload-pack' | awk -v every="$1" '
		/reason=replica/ { n++ } { all++ }
		END { printf "%-28s %7d %8.1f\n", every, all, n * 100 / all }'
	wait $pusher
}

bench_shares() {
	local every
	trap bench_close EXIT
	trap 'exit 1' INT TERM
	bench_open 1 >&2 || exit 1
	for every in 10 1 0; do
		bench_share $every || exit 1
	done
}

[ $# -gt 0 ] || set -- 1 1000 50000
status=0
printf '%-8s %15s %15s %15s %15s %13s %6s\n' refs 'marked ms' 'floor ms' \
	'routed ms' 'direct ms' marked/floor added
printf '%-8s' "$pushes each"
printf ' %8s %6s' p50 p95 p50 p95 p50 p95 p50 p95
printf ' %13s %6s\n' p50 ms
for refs; do
	(bench_one "$refs") || status=1
done
printf '\n%-28s %7s %8s\n' 'seconds between two pushes' reads 'replicas %'
(bench_shares) || status=1
exit "$status"

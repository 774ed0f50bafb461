#!/bin/bash
# herd.sh: who serves a herd of clones that comes as a push ends, and how soon
# SPDX-License-Identifier: ISC
#
# usage: tests/bench/herd.sh [WAIT_MS...]   (default: 0 1000)
# needs: contrib/install-packages run test
# STAGE_BIN is where the programs are (.), STAGE_FRONT the web server in front;
# CLIENTS (150) clones in each of ROUNDS (3).
#
# A push goes through the front, its hook says when it is over, and all clones
# begin as it returns.  Each is timed from there to its end; the rest is the
# router's own count of what it decided.  On a host with few cores the herd
# itself is most of the time.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
STAGE_BIN=$(cd "${STAGE_BIN:-.}" && pwd)
clients=${CLIENTS:-150}
rounds=${ROUNDS:-3}

say() { printf 'herd.sh: %s\n' "$*" >&2; }

[ -x "$STAGE_BIN/reproute-fcgi" ] ||
	{ say "no $STAGE_BIN/reproute-fcgi: build first"; exit 64; }
# shellcheck source=contrib/stage.sh
. "$top/contrib/stage.sh"

# bench_open WAIT_MS: a stage with one repository, which both replicas have.
bench_open() {
	# shellcheck disable=SC2034 # stage_conf's
	STAGE_GIT_KEYS="wait_ms = $1;"
	stage_open && stage_all && stage_repository team/app &&
		stage_hooks team/app pre-receive post-receive || return
	git init -q "$STAGE/work" && bench_commit &&
		git -C "$STAGE/work" push -q "$FRONT/scm/team/app.git" main &&
		stage_wait 60 stage_both team/app
}

bench_commit() {
	head -c 100000 /dev/urandom > "$STAGE/work/file" &&
		git -C "$STAGE/work" add file &&
		git -C "$STAGE/work" commit -qm more
}

bench_clone() {
	git clone -q --bare "$FRONT/scm/team/app.git" "$STAGE/clones/$1" &&
		echo $((($(date +%s%N) - $2) / 1000000)) >> "$STAGE/times"
}

# bench_count WORD: so many decisions of the first route for that reason, or
# waits.
bench_count() {
	local value
	value=$(stage_ask status --json | grep -o '"decided":{[^}]*}[^}]*' |
		head -n 1 | grep -o "\"$1\":[0-9]*")
	echo $((${value#*:} + 0))
}

# bench_herd: a push, and all of the herd as it returns.
bench_herd() {
	local i begun pids=()
	rm -rf "$STAGE/clones" && mkdir "$STAGE/clones" && bench_commit &&
		git -C "$STAGE/work" push -q "$FRONT/scm/team/app.git" main || return
	begun=$(date +%s%N)
	for ((i = 0; i < clients; i++)); do
		bench_clone "$i" "$begun" &
		pids+=($!)
	done
	wait "${pids[@]}"
}

bench_percentile() {
	sort -n "$STAGE/times" | awk -v p="$1" '{ t[NR] = $1 }
		END { print t[int((NR - 1) * p / 100) + 1] }'
}

# bench_one WAIT_MS: its line of the table.
bench_one() {
	local round reason before after line
	trap 'status=$?; stage_close || status=1; exit $status' EXIT
	trap 'exit 1' INT TERM
	if ! bench_open "$1" >&2; then
		say "the stage does not start"
		tail -n 5 "$STAGE"/log/* >&2
		exit 1
	fi
	before=
	for reason in replica lagging fenced waited waited_served; do
		before="$before $(bench_count "$reason")"
	done
	for ((round = 0; round < rounds; round++)); do
		stage_wait 60 stage_both team/app && bench_herd || exit 1
	done
	after=
	for reason in replica lagging fenced waited waited_served; do
		after="$after $(bench_count "$reason")"
	done
	line=$(echo "$before $after" | awk '{
		for (i = 1; i <= 5; i++) d[i] = $(i + 5) - $i
		all = d[1] + d[2] + d[3]
		printf "%8d %8.0f %8d %8d %8d %8d", all, d[1] * 100 / (all ? all : 1),
		    d[2], d[3], d[4], d[5] }')
	printf '%-10s %s %8d %8d\n' "$1" "$line" "$(bench_percentile 50)" \
		"$(bench_percentile 95)"
	[ "$(wc -l < "$STAGE/times")" = $((clients * rounds)) ] ||
		{ say "some clones failed"; exit 1; }
}

[ $# -gt 0 ] || set -- 0 1000
printf '%-10s %8s %8s %8s %8s %8s %8s %8s %8s\n' wait_ms reads replicas \
	lagging fenced waited 'in time' p50 p95 \
	"$rounds x $clients" '' % '' '' '' '' ms ms
status=0
for wait_ms; do
	(bench_one "$wait_ms") || status=1
done
exit "$status"

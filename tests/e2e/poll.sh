#!/bin/bash
# Changes that nobody reported are seen: within poll_s where it is read.
# SPDX-License-Identifier: ISC
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
story_begin
poll_s=2
STAGE_GIT_KEYS="poll_s = $poll_s; poll_rate = 100;"
# no pass over what lags and no sweep comes to its help
STAGE_SYNC_KEYS='interval_s = 600; valid_s = 600; sweep_s = 86400;'
# what a comparison takes on a busy host, in seconds
slack=10
ok "everything starts" stage_all || story_end
primary=$STAGE/git/primary replica1=$STAGE/git/replica1
url=$FRONT/scm/team/read.git
for name in read quiet; do
	stage_repository team/$name
	git init -q $name && git -C $name commit -q --allow-empty -m one
	ok "a push to $name" git -C $name push -q "$FRONT/scm/team/$name.git" main
	eventually 30 "replicas serve it" stage_both team/$name
done

# unreported REPOSITORY: a new commit on the primary's disk, without hook or line
unreported() {
	local dir=$primary/team/$1.git oid
	oid=$(git -C "$dir" commit-tree -p main -m "$RANDOM" "main^{tree}") &&
		git -C "$dir" update-ref refs/heads/main "$oid"
}
of_primary() { git -C "$primary/team/$1.git" rev-parse refs/heads/main; }
seen() { [ "$(git ls-remote "$url" refs/heads/main | cut -f1)" = "$1" ]; }
# reads_until SECONDS OID: it is read all the time until that is seen
reads_until() {
	local end=$((SECONDS + $1))
	until seen "$2"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.1
	done
}
served_by_replicas() {
	local from
	from=$(mark)
	git ls-remote "$url" >/dev/null 2>&1
	routed_since "$from" | grep -q 'upstream=replica. reason=replica'
}

# the poll finds its pace
ok "reads are served by replicas" served_by_replicas
paced() {
	served_by_replicas
	stage_ask status | grep -Eq '  freshness .* others within [0-9]+ s of a read'
}
eventually 20 "status says how fresh they are" paced
told() {
	served_by_replicas
	stage_ask status --json | grep -Eq '"freshness":\{"strict":false,'\
'"why":"[a-z_]+","unreported_s":[0-9]+,"unread_s":86400,"read":1\}'
}
eventually 20 "programs are told, too" told

# a push that nobody reported, several times: the bound holds while it is read
for i in 1 2 3; do
	ok "change $i: a ref on the primary's disk" unreported read
	want=$(of_primary read)
	ok "seen within poll_s where it is read" \
		reads_until $((poll_s + slack)) "$want"
	for j in 1 2 3 4; do
		ok "and read $j does not go back" seen "$want"
	done
	eventually 30 "replicas have it, and serve" served_by_replicas
done
like "$(cat "$STAGE/log/syncd")" \
	'git/team/read: replica replica[12] and the primary differ, and nobody' \
	"the log says so"

# a replica that was set back, as from a backup; all reads are on it
want=$(of_primary read)
ok "the other replica is drained" "$STAGE_BIN/reproute" drain replica2
git -C "$replica1/team/read.git" update-ref refs/heads/main "$want~1"
ok "a replica set back is out within poll_s where it is read" \
	reads_until $((poll_s + slack)) "$want"
for j in 1 2 3 4 5 6; do
	ok "and read $j is not of its past" seen "$want"
done
mended() {
	served_by_replicas &&
		[ "$(git -C "$replica1/team/read.git" rev-parse main)" = "$want" ]
}
eventually 30 "it is mended, and serves" mended
ok "the other one is taken back" "$STAGE_BIN/reproute" drain --undo replica2

# a repository that a replica lost
rm -rf "$replica1/team/read.git"
found_anew() {
	served_by_replicas && [ -e "$replica1/team/read.git/HEAD" ]
}
eventually 30 "one that it lost is fetched anew" found_anew

# nobody reads it: only the sweep comes to it
ok "a change where nobody reads" unreported quiet
want=$(of_primary quiet)
sleep $((3 * poll_s))
quiet_at() { git -C "$STAGE/git/$1/team/quiet.git" rev-parse refs/heads/main; }
is "$(quiet_at replica1)" "$(git -C quiet rev-parse main)" \
	"one that nobody reads is not polled"
sed -i 's/sweep_s = 86400/sweep_s = 4/' "$REPROUTE_CONF"
kill -HUP "$(cat "$STAGE/pid/syncd")"
swept() { [ "$(quiet_at replica1)$(quiet_at replica2)" = "$want$want" ]; }
eventually 15 "the sweep finds it, and replicas get it" swept
eventually 10 "and serve it" stage_both team/quiet

# private from now on: no replica shows it any more
eventually 30 "(replicas serve it)" served_by_replicas
mv "$primary/team/read.git" "$primary/team/hidden.git"
not_served() { ! served_by_replicas; }
eventually $((poll_s + slack)) "what the primary has no more, no replica shows" \
	not_served

# without a daemon nothing is looked for, which status says
stage_stop syncd
sed -i 's/valid_s = 600/valid_s = 1/; s/interval_s = 600/interval_s = 1/' \
	"$REPROUTE_CONF"
sleep 2
like "$("$STAGE_BIN/reproute" status)" \
	'  freshness .* others are not: reproute-syncd' "no daemon: status says so"
story_end

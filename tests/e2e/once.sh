#!/bin/bash
# Cron instead of a daemon, and every way of converging and proving.
# SPDX-License-Identifier: ISC
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
story_begin
stage_ports
stage_git primary "$PRIMARY_PORT"
stage_git replica1 "$REPLICA1_PORT"
stage_git replica2 "$REPLICA2_PORT"
stage_registry old "$OLD_PORT"
stage_registry new "$NEW_PORT"
stage_conf
ok "the router starts" stage_router
ok "the front starts" stage_front
once() { "$STAGE_BIN/reproute-syncd" --once; }
report() {
	curl -sf -d "" -H "Authorization: Bearer $(cat "$STAGE/token")" \
		"$FRONT/reproute/push?project=team&repo=$1&sha1=$2"
}

ok "a pass with nothing to do" once
is "$(stage_why PUT "$FRONT/v2/a/manifests/1")" included \
	"has imported both catalogues"
git init -q work && git -C work commit -q --allow-empty -m one
for name in a b c; do
	stage_repository team/$name
	git -C work push -q "$STAGE/git/primary/team/$name.git" main
	ok "$name is reported" report $name "$(git -C work rev-parse main)"
done
ok "a pass converges all" once
for name in a b c; do
	ok "$name is served by replicas" stage_both team/$name
done
git -C work commit -q --allow-empty -m two
git -C work push -q "$STAGE/git/primary/team/a.git" main
report a "$(git -C work rev-parse main)" >/dev/null
stage_stop replica2 KILL
once
is "$?" 1 "a replica is down: something lags"
ok "the other one serves" stage_on_replica team/a
stage_git replica2 "$REPLICA2_PORT"
ok "it is back: nothing lags" once
ok "both serve" stage_both team/a
ok "the daemon starts" stage_syncd
once
is "$?" 75 "a pass beside the daemon: somebody else does it"
stage_stop syncd

# other ways to converge; the replicas' repositories are on this host
converge_by() { # KEYS
	STAGE_GIT_KEYS=$1
	stage_conf && kill -HUP "$(cat "$STAGE/pid/router")"
}
lag() { # what moves, and is reported
	git -C work commit -q --allow-empty -m lag &&
		git -C work push -q "$STAGE/git/primary/team/a.git" main &&
		report a "$(git -C work rev-parse main)"
}
ok "converge by local fetches" converge_by 'converge = "local";'
lag >/dev/null
ok "a pass" once
ok "both serve" stage_both team/a
is "$(git -C "$STAGE/git/replica1/team/a.git" rev-parse main)" \
	"$(git -C work rev-parse main)" "and have it"

cat > fetch.sh <<-'EOF'
	#!/bin/sh
	cd "$1" && exec git fetch -q --prune "$2" '+refs/*:refs/*'
EOF
chmod +x fetch.sh
ok "converge by a command" converge_by "converge = \"command\"; command = (\"$STAGE/fetch.sh\", \"$STAGE/git/{upstream}/{name}.git\", \"http://127.0.0.1:$PRIMARY_PORT/scm/{name}.git\");"
lag >/dev/null
ok "a pass" once
ok "both serve" stage_both team/a

ok "converge by nobody" converge_by 'converge = "none";'
lag >/dev/null
once
is "$?" 1 "a pass cannot help"
for i in 1 2; do
	git -C "$STAGE/git/replica$i/team/a.git" fetch -q \
		"$STAGE/git/primary/team/a.git" '+refs/*:refs/*'
done
ok "somebody else did it: a pass proves it" once
ok "both serve" stage_both team/a

# the seed's proof
ok "proof by commit" converge_by 'proof = "commit";'
cp "$STAGE/replica1/reproute.conf" "$STAGE/primary/reproute.conf"
sed -i "s|git/replica1|git/primary|" "$STAGE/primary/reproute.conf"
lag >/dev/null
ok "a pass" once
ok "both serve" stage_both team/a
story_end

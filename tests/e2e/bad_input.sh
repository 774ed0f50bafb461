#!/bin/bash
# Malformed requests get the decision table's answer, and no text of theirs back.
# SPDX-License-Identifier: ISC
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
story_begin
ok "everything starts" stage_all || story_end

# What the table has: repositories, fences, placements.
known() {
	"$STAGE_BIN/reproute" status --json | grep -oE \
		'"(known|fenced|placed|provisional)":[0-9]+'
}

stage_repository team/app
git init -q work && git -C work commit -q --allow-empty -m one
git -C work push -q "$FRONT/scm/team/app.git" main
eventually 30 "replicas serve" stage_both team/app
eventually 20 "catalogues are imported" stage_imported
before=$(known)

# answered STATUS UPSTREAM REASON CURL-ARGUMENTS...: what the client gets, and
# what the router said ("-": it was not asked)
answered() {
	local status=$1 said="upstream=$2 reason=$3" target=${*: -1} from
	shift 3
	target=${target#"$FRONT"}
	from=$(mark)
	is "$(front_status "$@") $(routed_since "$from" |
		sed 's/.*" [0-9]* //')" "$status $said" \
		"${target:0:80}: $status $said"
}
while read -r status upstream reason target; do
	answered "$status" "$upstream" "$reason" "$FRONT$target"
done <<-'EOF'
	404 primary other /scm/
	404 primary other /scm/%
	404 primary other /scm/%zz/info/refs
	400 primary other /scm/a%00b.git/info/refs?service=git-upload-pack
	400 primary other /scm/%ff%fe.git/info/refs?service=git-upload-pack
	400 primary other /scm/a%0ab.git/info/refs?service=git-upload-pack
	404 - - /scm/../../etc/passwd
	404 - - /scm/..%2f..%2fetc/info/refs?service=git-upload-pack
	200 primary write /scm/team/app.git/info/refs?service=git-upload-pack&service=git-receive-pack
	400 primary other /scm/team/app.git/info/refs?service=%00
	200 primary other /scm//team//app.git//info//refs?service=git-upload-pack
	404 primary other /scm/;x=y/app.git/info/refs
	404 primary other /scm/@:[]!$&'()*+,;=/info/refs
	301 old other /v2
	200 old other /v2/
	301 old other /v2//
	200 old other /v2/_catalog
	404 - - /v2/%2e%2e/manifests/x
	404 old other /v2/UPPER/tags/list
	301 old other /v2/a/../b/tags/list
	404 new included /v2/foo%2Fbar/tags/list
	404 old other /v2/foo%252Fbar/tags/list
	500 new included /v2/foo/manifests/sha256:zz
	404 old other /v2/foo%00/tags/list
	403 - - /
	404 - - /nowhere
EOF
long=$(head -c 3000 /dev/zero | tr '\0' a)
answered 404 primary other "$FRONT/scm/$long.git/info/refs?service=git-upload-pack"
answered 500 old other "$FRONT/v2/$long/tags/list"
answered 501 - - -X BREW "$FRONT/scm/team/app.git/info/refs"
is "$(known)" "$before" "nothing of all that was written"

# what a client says of us decides nothing
for header in 'X-Reproute-Upstream: new' 'X-Reproute-Token: 00112233445566778899aabbccddeeff' \
	'Variable-REPROUTE_UPSTREAM: new' 'X-Accel-Redirect: @new' \
	'Connection: X-Reproute-Upstream' 'Forwarded: host=evil.test'; do
	from=$(mark)
	front_status -H "$header" \
		"$FRONT/scm/team/app.git/info/refs?service=git-upload-pack" >/dev/null
	like "$(routed_since "$from")" 'upstream=replica[12] reason=replica' \
		"$header: ignored"
done
like "$(curl -s -o /dev/null -D - -d '' -H 'Forwarded: host=evil.test' \
	-H 'X-Forwarded-Host: evil.test' "$FRONT/v2/team/x/blobs/uploads/")" \
	"Location: ($FRONT)?/v2/" "an upload's Location names the front"

# no text of a request in the router's answers: only these words
is "$(routed_since 0 | sed 's/.*" [0-9]* //' | grep -vcE \
	'^upstream=(-|primary|replica[12]|old|new) reason=(-|[a-z-]+)$')" 0 \
	"every answer is a name and a reason"

# a write of a registry writes one row, and nothing else did
is "$(known)" "$(printf '%s\n' "$before" | sed '$s/0$/1/')" \
	"one placement was made, and nothing else"
ok "the router lives" stage_alive router
ok "the daemon lives" stage_alive syncd
ok "reads are served" git ls-remote "$FRONT/scm/team/app.git"

# datagrams that are no lines
for text in '' 'reproute-feed' 'reproute-feed x 200 1 primary done=+' \
	"reproute-feed 00112233445566778899aabbccddeeff 200 1 primary done=+" \
	"reproute-look git ../../x" 'nonsense'; do
	printf '%s\n' "$text" | "$STAGE_BIN/reproute" feed "$STAGE/run/feed.sock"
done
head -c 20000 /dev/urandom | "$STAGE_BIN/reproute" feed "$STAGE/run/feed.sock"
ok "the daemon outlives nonsense on its feed" stage_alive syncd

# the replica's endpoint
replica=http://127.0.0.1:$REPLICA1_PORT/reproute
sha=$(git -C work rev-parse HEAD)
is "$(curl -s "$replica/projects/team/repos/app/has-commit/?sha1=$sha")" true \
	"has-commit: true"
is "$(curl -s "$replica/projects/team/repos/app/has-commit/?sha1=${sha//[0-9]/0}")" \
	false "has-commit: false"
while read -r status path; do
	is "$(front_status "$replica$path")" "$status" "replica $path: $status"
done <<-EOF
	400 /projects/team/repos/app/has-commit/?sha1=HEAD
	400 /projects/team/repos/app/has-commit/?sha1=${sha:0:10}
	400 /projects/team/repos/app/has-commit/
	404 /projects/team/repos/none/has-commit/?sha1=$sha
	404 /projects/..%2f..%2fetc/repos/passwd/refs/
	404 /projects/team/repos/none/refs/
	405 /projects/team/repos/app/fetch/
	404 /nonsense
EOF
is "$(front_status -d '' "$replica/projects/team/repos/app/fetch/")" 401 \
	"fetch without a token: 401"
is "$(front_status -X POST -H "Authorization: Bearer $(cat "$STAGE/token")" \
	-d nonsense "$replica/projects/team/repos/app/fetch/")" 400 \
	"fetch with nonsense: 400"
lock=$STAGE/git/replica1/team/app.git.reproute-lock
is "$(flock "$lock" curl -s -o /dev/null -w '%{http_code}' \
	"$replica/projects/team/repos/app/refs/")" 503 \
	"refs of a repository that is being fetched: 503"
ln -s /etc "$STAGE/git/replica1/link"
is "$(front_status "$replica/projects/-/repos/link/refs/")" 404 \
	"no link is followed"
story_end

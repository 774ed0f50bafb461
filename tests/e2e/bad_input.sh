#!/bin/bash
# Malformed requests get the decision table's answer, and no text of theirs back.
# SPDX-License-Identifier: ISC
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
story_begin
ok "everything starts" stage_all || story_end
stage_repository team/app
git init -q work && git -C work commit -q --allow-empty -m one
git -C work push -q "$FRONT/scm/team/app.git" main
eventually 30 "replicas serve" stage_both team/app
eventually 20 "catalogues are imported" stage_imported
before=$("$STAGE_BIN/reproute" status --json | sed 's/"[a-z_]*_\(ms\|s\|age\)":[0-9-]*//g')

# every odd target is answered by an upstream or refused by the server, and
# never ends the router
while read -r target; do
	status=$(front_status "$FRONT$target")
	like "$status" '^[2-5][0-9][0-9]$' "GET $target: answered ($status)"
done <<-'EOF'
	/scm/
	/scm/%
	/scm/%zz/info/refs
	/scm/a%00b.git/info/refs?service=git-upload-pack
	/scm/%ff%fe.git/info/refs?service=git-upload-pack
	/scm/a%0ab.git/info/refs?service=git-upload-pack
	/scm/../../etc/passwd
	/scm/..%2f..%2fetc/info/refs?service=git-upload-pack
	/scm/team/app.git/info/refs?service=git-upload-pack&service=git-receive-pack
	/scm/team/app.git/info/refs?service=%00
	/scm/team/app.git/info/refs?service=git%2Dupload%2Dpack
	/scm//team//app.git//info//refs?service=git-upload-pack
	/scm/;x=y/app.git/info/refs
	/scm/@:[]!$&'()*+,;=/info/refs
	/v2
	/v2/
	/v2//
	/v2/_catalog
	/v2/%2e%2e/manifests/x
	/v2/UPPER/tags/list
	/v2/a/../b/tags/list
	/v2/foo%2Fbar/tags/list
	/v2/foo%252Fbar/tags/list
	/v2/foo/manifests/sha256:zz
	/v2/foo%00/tags/list
	/
	/nowhere
EOF
long=$(head -c 3000 /dev/zero | tr '\0' a)
like "$(front_status "$FRONT/scm/$long.git/info/refs?service=git-upload-pack")" \
	'^[2-5][0-9][0-9]$' "a name too long: answered"
like "$(front_status "$FRONT/v2/$long/tags/list")" '^[2-5][0-9][0-9]$' \
	"in a registry, too"
like "$(front_status -X BREW "$FRONT/scm/team/app.git/info/refs")" \
	'^[2-5][0-9][0-9]$' "an unknown method: answered"

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

# no text of a request in the router's answer
marker=zqxmarkerxqz
curl -s -D - -o /dev/null --path-as-is "$FRONT/$marker/$marker" > answer
curl -s -D - -o /dev/null "$FRONT/scm/$marker.git/HEAD" >> answer
is "$(grep -ic "reproute.*$marker" answer)" 0 "no header of ours repeats a request"

# nothing was written but what a write of a registry writes
after=$("$STAGE_BIN/reproute" status --json | sed 's/"[a-z_]*_\(ms\|s\|age\)":[0-9-]*//g')
like "$before$after" 'team|git' "status goes on"
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
ln -s /etc "$STAGE/git/replica1/link"
is "$(front_status "$replica/projects/-/repos/link/refs/")" 404 \
	"no link is followed"
story_end

#!/bin/bash
# Pushes past the front are reported by hooks, in both forms, or loudly fail.
# SPDX-License-Identifier: ISC
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
story_begin
ok "everything starts" stage_all || story_end
push=$FRONT/reproute/push
token=$(cat "$STAGE/token")
repository=$STAGE/git/primary/team/app.git
advert="$FRONT/scm/team/app.git/info/refs?service=git-upload-pack"

# report STATUS NAME CURL-ARGUMENTS...
report() {
	local status=$1 name=$2
	shift 2
	is "$(curl -s -o "$STAGE/answer" -w '%{http_code}' "$@")" "$status" \
		"$name: $status"
}
auth="Authorization: Bearer $token"
json='Content-Type: application/json'

# the answer's errors are JSON, and name what is wrong
report 401 "no token" -d '' "$push?project=team&repo=app"
like "$(cat answer)" '^\{"error":\{"code":"[^"]+","message":"[^"]+"\}\}$' "in JSON"
report 401 "a wrong token" -d '' -H 'Authorization: Bearer nonsense' "$push"
report 405 "PUT" -X PUT -H "$auth" "$push"
report 400 "GET, and nothing to wait for" -H "$auth" \
	"$push?repository=team/app"
report 400 "nothing reported" -X POST -H "$auth" -H "$json" -d '{}' "$push"
report 400 "half JSON" -X POST -H "$auth" -H "$json" -d '{"project":' "$push"
report 400 "a wrong phase" -X POST -H "$auth" -H "$json" \
	-d '{"route":"git","repository":"team/app","phase":"middle"}' "$push"
report 400 "an unknown route" -X POST -H "$auth" -H "$json" \
	-d '{"route":"nonsense","repository":"team/app","phase":"end"}' "$push"
report 400 "a registry's route" -X POST -H "$auth" -H "$json" \
	-d '{"route":"registry","repository":"team/app","phase":"end"}' "$push"
report 400 "an illegal name" -X POST -H "$auth" -H "$json" \
	-d '{"route":"git","repository":"../etc/passwd","phase":"end"}' "$push"
report 400 "an illegal commit" -d '' -H "$auth" \
	"$push?project=team&repo=app&sha1=HEAD"
report 415 "another content type" -X POST -H "$auth" -H 'Content-Type: text/xml' \
	-d '<a/>' "$push"
head -c 1100000 /dev/zero | tr '\0' ' ' > large
report 413 "a body too large" -X POST -H "$auth" -H "$json" \
	--data-binary @large "$push"

# the seed's form
sha=0123456789012345678901234567890123456789
report 200 "an unknown repository" -d '' -H "$auth" \
	"$push?project=team&repo=nothing&sha1=$sha"
like "$(cat "$STAGE/answer")" '"note":"no route knew this repository;' \
	"which the answer says"
stage_repository team/app
git init -q work && cd work && git commit -q --allow-empty -m one
git push -q "$repository" main
report 200 "the seed's query" -d '' -H "$auth" \
	"$push?project=team&repo=app&sha1=$(git rev-parse HEAD)"
like "$(cat "$STAGE/answer")" '^\{"repository":"team/app","generation":[0-9]+,"fenced":false,"note":' \
	"answers what it did, and that this is new"
eventually 30 "replicas serve" stage_both team/app
report 200 "the seed's form body" -X POST -H "$auth" \
	-d "project=team&repo=app&sha1=$sha" "$push"
like "$(cat "$STAGE/answer")" '^\{"repository":"team/app","generation":[0-9]+,"fenced":false\}$' \
	"answers what it did"
report 200 "the seed's JSON" -X POST -H "$auth" -H "$json" \
	-d '{"project":"team","repo":"app","sha1":"'$sha'"}' "$push"
eventually 30 "replicas serve" stage_both team/app

# a gate for CI: waits until replicas have it
gate="$push?repository=team/app&wait"
report 401 "a wait without the token" "$gate=2"
report 200 "GET waits" -H "$auth" "$gate=2"
like "$(cat "$STAGE/answer")" '"wanted":2,"have":2\}$' "and says who has it"
ok "so does the command" "$STAGE_BIN/reproute" wait --replicas 2 team/app
report 400 "for more than there are" -H "$auth" "$gate=3"
like "$(cat "$STAGE/answer")" 'write 1 to 2, which is what the route git has' \
	"says how many there are"
report 404 "for what nobody knows" -H "$auth" "$push?repository=no/thing&wait=1"
git commit -q --allow-empty -m gate && git push -q "$repository" main
report 200 "a report that waits" -X POST -H "$auth" -H "$json" \
	-d '{"route":"git","repository":"team/app"}' "$push?wait=2&timeout=60"
like "$(cat "$STAGE/answer")" '"wanted":2,"have":2\}$' "says so"
ok "both have it at once" stage_both team/app
kill -STOP "$(cat "$STAGE/pid/syncd")"
report 504 "and one that waits in vain" -X POST -H "$auth" \
	"$push?project=team&repo=app&sha1=$sha&wait=1&timeout=1" -d ''
like "$(cat "$STAGE/answer")" '"wanted":1,"have":0\}$' "says that"
fails "the command as well" "$STAGE_BIN/reproute" wait --timeout 1 team/app
kill -CONT "$(cat "$STAGE/pid/syncd")"
eventually 30 "replicas serve" stage_both team/app

# begin and end
fence=00112233445566778899aabbccddeeff
report 200 "begin" -X POST -H "$auth" -H "$json" \
	-d '{"route":"git","repository":"team/app","phase":"begin","token":"'$fence'","refs":[]}' "$push"
like "$(cat "$STAGE/answer")" '"fenced":true' "raises a fence"
is "$(stage_why GET "$advert")" fenced "reads go to the primary"
report 200 "end with another token" -X POST -H "$auth" -H "$json" \
	-d '{"route":"git","repository":"team/app","phase":"end","token":"ffffffffffffffffffffffffffffffff"}' "$push"
is "$(stage_why GET "$advert")" fenced "ends nothing"
report 200 "end" -X POST -H "$auth" -H "$json" \
	-d '{"route":"git","repository":"team/app","phase":"end","token":"'$fence'"}' "$push"
like "$(cat "$STAGE/answer")" '"fenced":false' "ends it"
eventually 30 "replicas serve" stage_both team/app

# the hooks themselves, for a push that does not pass the front
cp "$top"/contrib/hooks/pre-receive "$top"/contrib/hooks/post-receive \
	"$repository/hooks/"
git -C "$repository" config reproute.url "$push"
git -C "$repository" config reproute.tokenFile "$STAGE/token"
git -C "$repository" config reproute.route git
git -C "$repository" config reproute.repository team/app
for i in 1 2 3 4 5; do
	git commit -q --allow-empty -m "$i"
	ok "push $i past the front" git push -q "$repository" main
	is "$(git ls-remote "$FRONT/scm/team/app.git" refs/heads/main | cut -f1)" \
		"$(git rev-parse HEAD)" "push $i: the next read sees it"
done
eventually 30 "replicas serve" stage_both team/app
git commit -q --allow-empty -m through
ok "and one through the front" git push -q "$FRONT/scm/team/app.git" main
is "$(git ls-remote "$FRONT/scm/team/app.git" refs/heads/main | cut -f1)" \
	"$(git rev-parse HEAD)" "is seen as well"
eventually 30 "its fence is ended by hook or line" stage_both team/app

# loud
git -C "$repository" config reproute.url "http://127.0.0.1:9/reproute/push"
git commit -q --allow-empty -m unreported
before=$(git -C "$repository" rev-parse main)
output=$(git push "$repository" main 2>&1)
is "$?" 1 "a push that cannot be reported is refused"
like "$output" 'reproute pre-receive: the push is refused' \
	"and says who refused it"
is "$(git -C "$repository" rev-parse main)" "$before" "nothing moved"
story_end

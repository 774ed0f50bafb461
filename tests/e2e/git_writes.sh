#!/bin/bash
# No read after a push is stale, whatever the push changed; replicas follow.
# SPDX-License-Identifier: ISC
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
story_begin
ok "everything starts" stage_all || story_end
url=$FRONT/scm/team/app.git
primary=http://127.0.0.1:$PRIMARY_PORT/scm/team/app.git

# The refs as the front shows them now are those of the primary.
fresh() {
	local want
	want=$(git ls-remote --symref "$primary") &&
		[ "$(git ls-remote --symref "$url")" = "$want" ] &&
		[ "$(git -c protocol.version=0 ls-remote --symref "$url")" = "$want" ]
}

# Each replica's refs are those of the primary.
converged() {
	local want port
	want=$(git ls-remote --symref "$primary") || return
	for port in "$REPLICA1_PORT" "$REPLICA2_PORT"; do
		[ "$(git ls-remote --symref \
			"http://127.0.0.1:$port/scm/team/app.git")" = "$want" ] ||
			return
	done
}

# push NAME ARGUMENTS...: passes, is seen at once, and reaches the replicas.
push() {
	local name=$1
	shift
	ok "$name" git push -q "$url" "$@"
	ok "$name: seen at once" fresh
	eventually 30 "$name: replicas serve again" stage_both team/app
	ok "$name: with the refs of the primary" converged
}

stage_repository team/app
git init -q work && cd work || exit 1
git commit -q --allow-empty -m one
push "the first push of a new repository" main
git commit -q --allow-empty -m two
push "a commit" main
head -c 50M /dev/urandom > big && git add big && git commit -qm big
push "50 MB" main
git rm -q --cached big && rm big && git commit -qm small
push "a commit on top" main
push "a force-push back" -f HEAD~2:refs/heads/main
push "and forward" -f main
push "a new branch at an old commit" HEAD~3:refs/heads/old
git tag light && git tag -a heavy -m heavy
push "tags, one of them annotated" --tags
push "a tag moved" -f HEAD~1:refs/tags/light
push "a branch deleted" :refs/heads/old
push "a tag deleted" :refs/tags/heavy
push "many refs at once" main:refs/heads/m1 main:refs/heads/m2 main:refs/heads/m3
push "a name that becomes a directory" :refs/heads/m1 main:refs/heads/m1/x
push "and a directory that becomes a name" :refs/heads/m1/x main:refs/heads/m1
push "tag and branch of one name" main:refs/heads/same HEAD~1:refs/tags/same

# HEAD: nothing reports it, so it is compared when told
git push -q "$url" main:refs/heads/next
eventually 30 "replicas follow" stage_both team/app
git -C "$STAGE/git/primary/team/app.git" symbolic-ref HEAD refs/heads/next
fails "a changed HEAD is found by comparing" \
	"$STAGE_BIN/reproute" compare team/app
eventually 30 "and converges" converged
eventually 30 "and serves" stage_both team/app
ok "compare agrees" "$STAGE_BIN/reproute" compare team/app
is "$(git clone -q "$url" "$STAGE/head" && git -C "$STAGE/head" \
	symbolic-ref --short HEAD)" next "a clone checks out the new default"

# refused
printf '#!/bin/sh\necho no >&2\nexit 1\n' \
	> "$STAGE/git/primary/team/app.git/hooks/pre-receive"
chmod +x "$STAGE/git/primary/team/app.git/hooks/pre-receive"
fails "a push that a hook refuses" git push -q "$url" HEAD~1:refs/heads/refused
ok "changes nothing" fresh
eventually 30 "and replicas come back at once" stage_both team/app
rm "$STAGE/git/primary/team/app.git/hooks/pre-receive"

# no write escapes its fence by its spelling
for path in /scm/team/app.git /scm/team/app /scm//team/./app.git \
	/%73cm/team/app.git /scm/x/../team/app.git; do
	is "$(stage_why POST "$FRONT$path/git-receive-pack")" write \
		"$path: a write"
	is "$(stage_why POST "$FRONT$path/git-receive-pack" repository)" team/app \
		"$path: of team/app"
done

# the last branch goes
for ref in $(git ls-remote "$url" | sed -n 's/.*\trefs/refs/p' |
	grep -v '\^{}'); do
	echo ":$ref"
done > "$STAGE/all"
git -C "$STAGE/git/primary/team/app.git" config receive.denyDeleteCurrent ignore
# shellcheck disable=SC2046
push "every ref deleted" $(cat "$STAGE/all")
is "$(git ls-remote "$url")" "" "nothing is left"
story_end

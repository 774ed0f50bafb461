#!/bin/bash
# proof = "commit" proves that a commit is there, and nothing of refs.
# SPDX-License-Identifier: ISC
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
story_begin
# whoever brings replicas up to date is not the daemon: so they lag at will
export STAGE_GIT_KEYS='proof = "commit"; converge = "none";'
export STAGE_SYNC_KEYS='interval_s = 1; valid_s = 30;'
ok "everything starts" stage_all || story_end
advert="$FRONT/scm/team/app.git/info/refs?service=git-upload-pack"
primary=$STAGE/git/primary/team/app.git
stage_repository team/app
stage_repository_at() { git init -q --bare "$STAGE/git/$1/team/app.git"; }
stage_repository_at replica1
stage_repository_at replica2
git init -q work && cd work || exit 1

# report SHA: as the seed's hook does.
report() {
	curl -sf -o /dev/null -d "project=team&repo=app&sha1=$1" \
		-H "Authorization: Bearer $(cat "$STAGE/token")" \
		"$FRONT/reproute/push"
}
# copy: what a mirror of theirs would do.
copy() {
	local replica
	for replica in replica1 replica2; do
		git -C "$STAGE/git/$replica/team/app.git" fetch -q --prune \
			"$primary" '+refs/*:refs/*' || return
	done
}
commit() { git commit -q --allow-empty -m "$1" && git rev-parse HEAD; }
refs() { git ls-remote "$STAGE/git/$1/team/app.git"; }

one=$(commit one)
git push -q "$primary" main
ok "the first commit is reported" report "$one"
fails "a replica without it does not serve" stage_wait 3 stage_on_replica team/app
copy
eventually 30 "with it, it does" stage_both team/app
two=$(commit two)
git push -q "$primary" main
ok "another commit is reported" report "$two"
is "$(stage_why GET "$advert")" lagging "replicas without it do not serve"
fails "nor later" stage_wait 3 stage_on_replica team/app
copy
eventually 30 "with it, they do" stage_both team/app

# blind NAME SHA: reported; replicas are as before, and serve all the same
blind() {
	ok "$1: is reported" report "$2"
	eventually 30 "$1: replicas serve" stage_both team/app
	fails "$1: what the primary has not" \
		test "$(refs replica1)" = "$(refs primary)"
	git -C "$primary" symbolic-ref HEAD refs/heads/main
	copy
	is "$(refs replica1)" "$(refs primary)" "$1: until they are copied"
}

git push -q -f "$primary" "$one:refs/heads/main"
blind "a push back to an older commit" "$one"
git push -q "$primary" main
copy
git push -q "$primary" "$one:refs/heads/release"
blind "a new branch at an old commit" "$one"
git push -q "$primary" :refs/heads/release
blind "a deletion, which has no commit" 0000000000000000000000000000000000000000
git push -q "$primary" "$two:refs/heads/release"
copy
git push -q "$primary" :refs/heads/release
blind "a deletion, reported with what was there" "$two"
git tag -a -m heavy heavy
git push -q "$primary" heavy
blind "an annotated tag, which is no commit" "$(git rev-parse heavy)"
git tag light "$one"
git push -q "$primary" light
blind "a tag of an old commit" "$one"
git push -q "$primary" "$one:refs/heads/a" "$two:refs/heads/b"
copy
three=$(commit three)
git push -q "$primary" "$three:refs/heads/a" "$one:refs/heads/b"
blind "the first of two refs, where the other is reported" "$one"
four=$(commit four)
git push -q "$primary" "$four:refs/heads/review"
copy
git push -q "$primary" "$four:refs/heads/main"
blind "a branch moved to a commit that another brought" "$four"
git push -q "$primary" "$one:refs/heads/next"
copy
git -C "$primary" symbolic-ref HEAD refs/heads/next
blind "another default branch" "$four"

# through the front, and nobody reports the commit: the last one is asked for
five=$(commit five)
git push -q "$FRONT/scm/team/app.git" "$five:refs/heads/main"
eventually 30 "a push whose commit nobody reports: replicas serve" \
	stage_both team/app
fails "what the primary has not" test "$(refs replica1)" = "$(refs primary)"
ok "until it is reported" report "$five"
is "$(stage_why GET "$advert")" lagging "then they do not"
copy
eventually 30 "before they have it" stage_both team/app

# a commit that the primary does not have is no requirement
ok "a commit that nobody has is reported" report \
	1111111111111111111111111111111111111111
eventually 30 "and asked of no replica" stage_both team/app
story_end

#!/bin/bash
# Whatever git reads is read from a replica, once the replicas have it.
# SPDX-License-Identifier: ISC
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
story_begin
ok "everything starts" stage_all || story_end
url=$FRONT/scm/team/app.git

# reads NAME COMMAND...: it succeeds, and every request of it went to a replica.
reads() {
	local name=$1 from lines
	shift
	from=$(mark)
	ok "$name" "$@"
	lines=$(routed_since "$from" | grep -v 'git-receive-pack')
	is "$(printf '%s\n' "$lines" | grep -vc 'upstream=replica[12] reason=replica$')" \
		0 "$name: all of it from replicas"
}

# The repository: 30 commits, a tag, 400 branches.
stage_repository team/app
git init -q work && cd work || exit 1
for i in $(seq 30); do
	echo "$i" > file
	head -c 3000 /dev/urandom | base64 > "random$((i % 5))"
	git add . && git commit -qm "commit $i"
done
git tag -a v1 -m 'version 1'
for i in $(seq 400); do echo "create refs/heads/b$i HEAD~$((i % 20))"; done |
	git update-ref --stdin
ok "the first push passes" git push -q "$url" --all
ok "tags, too" git push -q "$url" --tags
eventually 30 "both replicas have it" stage_both team/app
cd "$STAGE" || exit 1

for version in 0 1 2; do
	reads "clone, protocol v$version" \
		git -c protocol.version=$version clone -q "$url" "clone$version"
	is "$(git -C "clone$version" rev-parse HEAD)" \
		"$(git -C work rev-parse HEAD)" "protocol v$version: the tip"
	is "$(git -C "clone$version" branch -r | grep -c 'origin/b')" 400 \
		"protocol v$version: 400 branches"
done
reads "shallow clone" git clone -q --depth 1 "$url" shallow
is "$(git -C shallow rev-list --count HEAD)" 1 "one commit deep"
reads "blobless clone" git clone -q --filter=blob:none "$url" blobless
ok "its blobs come when they are wanted" \
	git -C blobless checkout -q HEAD~10
reads "refs only" git ls-remote -q "$url"
is "$(git ls-remote "$url" | grep -c refs/heads/b)" 400 "all 400"
for version in 0 2; do
	like "$(GIT_TRACE_CURL=1 git -c protocol.version=$version clone -q \
		"$url" "gzip$version" 2>&1)" '=> Send header: Content-Encoding: gzip' \
		"protocol v$version: many wants, in a compressed body"
done

# a bigger incremental fetch: many haves, so that the body is gzip'd
git -C work commit -q --allow-empty -m more
ok "a push" git -C work push -q "$url" main
eventually 30 "replicas follow" stage_both team/app
for version in 0 2; do
	reads "incremental fetch, protocol v$version" \
		git -C "clone$version" -c protocol.version=$version fetch -q
	is "$(git -C "clone$version" rev-parse origin/main)" \
		"$(git -C work rev-parse main)" "protocol v$version: the new tip"
done
reads "a fetch of nothing new" git -C clone2 fetch -q
reads "fetch by commit" git -C shallow fetch -q origin \
	"$(git -C work rev-parse HEAD~3)"

# a client's session stays on one replica
from=$(mark)
git clone -q "$url" session
is "$(routed_since "$from" | sed 's/.*upstream=//' | sort -u | wc -l)" 1 \
	"one clone, one replica"

# many clients spread
from=$(mark)
for i in $(seq 24); do git ls-remote -q "$url" >/dev/null; done
is "$(routed_since "$from" | grep -o 'upstream=replica.' | sort -u | wc -l)" \
	2 "many clients use both replicas"

# an empty one
stage_repository team/empty
ok "a clone of an empty repository" git clone -q "$FRONT/scm/team/empty.git" empty
eventually 30 "it becomes known by being read" stage_both team/empty
reads "a clone of it from a replica" git clone -q "$FRONT/scm/team/empty.git" empty2

# spellings
is "$(stage_why GET "$FRONT/scm/team/app/info/refs?service=git-upload-pack")" \
	replica "without .git it is the same repository"
is "$(stage_why GET "$FRONT/scm/team%2Fapp.git/info/refs?service=git-upload-pack")" \
	other "an encoded slash is read on the primary"
is "$(stage_why GET "$FRONT/scm/team/./app.git/info/refs?service=git-upload-pack")" \
	other "so is a path that had to be resolved"
is "$(stage_why GET "$FRONT/scm/team/app.git/HEAD")" other \
	"the dumb protocol stays on the primary"
is "$(stage_why GET "$FRONT/scm/team/nothing.git/info/refs?service=git-upload-pack")" \
	unknown "an unknown name goes to the primary"
from=$(mark)
fails "and is not found there" git ls-remote "$FRONT/scm/team/nothing.git"
like "$(routed_since "$from")" 'upstream=primary reason=unknown' "by its own word"
story_end

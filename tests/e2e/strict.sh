#!/bin/bash
# Where hooks are strict, whatever changes a ref is fenced before it is seen.
# SPDX-License-Identifier: ISC
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
story_begin
export STAGE_GIT_KEYS='hooks = "strict";'
ok "everything starts" stage_all || story_end
url=$FRONT/scm/team/app.git
advert="$url/info/refs?service=git-upload-pack"
primary=$STAGE/git/primary/team/app.git
stage_repository team/app
git init -q work && cd work || exit 1
git commit -q --allow-empty -m one
git push -q "$url" main
eventually 30 "replicas serve" stage_both team/app
stage_hooks team/app pre-receive post-receive reference-transaction

# What is decided while a transaction is prepared, behind our hook.
mv "$primary/hooks/reference-transaction" "$primary/hooks/ours"
mkdir "$primary/hooks/reference-transaction.d"
mv "$primary/hooks/ours" "$primary/hooks/reference-transaction.d/reproute"
cat > "$primary/hooks/reference-transaction" <<-EOF
	#!/bin/sh
	"$primary/hooks/reference-transaction.d/reproute" "\$@" || exit
	[ "\$1" != prepared ] || ASAN_OPTIONS=$STAGE_NO_LEAKS \
		"$STAGE_BIN/reproute" -c "$REPROUTE_CONF" explain --json \
		GET "$advert" >> "$STAGE/decided"
EOF
chmod +x "$primary/hooks/reference-transaction"

advertised() { git ls-remote "$1" | grep -v '\^{}$'; }
generation() { stage_why GET "$advert" generation; }

# change NAME COMMAND...: on the primary; fenced before, seen after, and soon
# served by replicas again, which nobody had to find out by comparing.
change() {
	local name=$1 served
	shift
	rm -f "$STAGE/decided"
	ok "$name" "$@"
	served=$(advertised "$url")
	is "$served" "$(advertised "$primary")" "$name: the next read sees it"
	is "$(grep -vc '"reason":"fenced"' "$STAGE/decided")" 0 \
		"$name: no read went to a replica while it was prepared"
	eventually 30 "$name: replicas serve again" stage_both team/app
	is "$(advertised "$url")" "$(advertised "$primary")" \
		"$name: what the primary has"
}

git -C "$primary" fetch -q "$STAGE/work" main
git commit -q --allow-empty -m two
new=$(git rev-parse HEAD)
change "fetch into the primary" git -C "$primary" fetch -q "$STAGE/work" \
	main:refs/heads/side
change "update-ref" git -C "$primary" update-ref refs/heads/main "$new"
change "update-ref back" git -C "$primary" update-ref refs/heads/main "$new~1"
change "branch -f" git -C "$primary" branch -f other "$new"
change "branch -D" git -C "$primary" branch -q -D other
change "tag" git -C "$primary" tag -a -m heavy heavy "$new"
change "pack-refs" git -C "$primary" pack-refs --all
change "a packed ref deleted" git -C "$primary" update-ref -d refs/heads/side
change "many refs in one transaction" sh -c \
	"seq 9 | sed 's,.*,create refs/heads/m& $new,' |
	git -C '$primary' update-ref --stdin"
git -C "$primary" worktree add -q --detach "$STAGE/tree" main
eventually 30 "replicas follow a worktree" stage_both team/app
git -C "$primary" config --unset reproute.repository
git -C "$primary" config reproute.root "$STAGE/git/primary"
change "a commit in a worktree" sh -c "cd '$STAGE/tree' &&
	git checkout -q -b wt && git commit -q --allow-empty -m tree"
is "$(find "$primary" -name 'reproute-t*')" "" "no token is left behind"

# a push is reported once, however many refs it changes
for where in "$primary" "$url"; do
	# shellcheck disable=SC2046
	change "refs pushed to ${where%%:*}" git push -q -f "$where" \
		$(seq -f "main:refs/heads/p%g-${#where}" 9)
done
rm -f "$primary/hooks/reference-transaction"
cp "$top/contrib/hooks/reference-transaction" "$primary/hooks/"
before=$(generation)
# shellcheck disable=SC2046
git push -q "$primary" $(seq -f 'main:refs/heads/q%g' 99)
is $(($(generation) - before)) 2 "a push of 99 refs is reported twice"
eventually 30 "replicas serve" stage_both team/app
mv "$primary/hooks/pre-receive" "$primary/hooks/post-receive" "$STAGE"
before=$(generation)
ok "a push without its own hooks" git push -q "$primary" main:q1 main:r1 main:r2
is $(($(generation) - before)) 4 "reports each transaction"
eventually 30 "replicas serve" stage_both team/app
mv "$STAGE/pre-receive" "$STAGE/post-receive" "$primary/hooks/"

# broken_off HOOK NAME: a push whose client is killed while it waits in HOOK,
# and which lands later.  Apache hears of the death when the push is over.
broken_off() {
	local hook=$1 name=$2 pusher
	rm -f "$STAGE/waits" "$STAGE/go"
	[ ! -e "$primary/hooks/$hook" ] ||
		mv "$primary/hooks/$hook" "$STAGE/behind"
	cat > "$primary/hooks/$hook" <<-EOF
		#!/bin/sh
		touch "$STAGE/waits"
		until [ -e "$STAGE/go" ]; do sleep 0.1; done
		[ ! -e "$STAGE/$hook" ] || exec "$STAGE/$hook"
	EOF
	chmod +x "$primary/hooks/$hook"
	[ ! -e "$STAGE/behind" ] || mv "$STAGE/behind" "$STAGE/$hook"
	git commit -q --allow-empty -m "$name"
	setsid git push -q "$url" "main:$name" > "$STAGE/push.out" 2>&1 &
	pusher=$!
	eventually 30 "$name: a push waits in a hook" test -e "$STAGE/waits"
	kill -KILL -- -$pusher
	wait $pusher 2>/dev/null
}
# lands NAME: goes on, and is over.  Its web server may have ended it before,
# or not hear of its end.
is_over() {
	local pid
	for pid in $(stage_left); do
		! grep -qas receive-pack "/proc/$pid/cmdline" || return
	done
}
lands() {
	touch "$STAGE/go"
	eventually 30 "$1: it is over" is_over
	case $STAGE_FRONT in
	lighttpd*) ok "$1: it landed" git -C "$primary" rev-parse -q \
		--verify "refs/heads/$1" ;;
	esac
	is "$(advertised "$url")" "$(advertised "$primary")" \
		"$1: the next read sees it"
	"$STAGE_BIN/reproute" compare --force team/app > "$STAGE/output"
	eventually 30 "$1: replicas serve" stage_both team/app
}
line_says() { "$STAGE_BIN/reproute" status team/app | grep -q 'broken off'; }

# before our pre-receive: its line ends its fence, and the hook begins another
broken_off pre-receive early
case $STAGE_FRONT in
apache*) ;;
*) eventually 20 "its line ends its fence" stage_both team/app ;;
esac
lands early
mv "$STAGE/pre-receive" "$primary/hooks/pre-receive"
# behind it: the fence is the hook's, and no such line ends it
broken_off update late
case $STAGE_FRONT in
apache*) ;;
*) eventually 20 "its line says that it was broken off" line_says ;;
esac
is "$(stage_why GET "$advert")" fenced "its fence stands"
lands late
rm -f "$primary/hooks/update" "$primary"/reproute-token.*

# the endpoint down
git -C "$primary" config reproute.url "http://127.0.0.1:9/reproute/push"
before=$(advertised "$primary")
output=$(git -C "$primary" branch -f main "$new" 2>&1)
is "$?" 128 "a change that cannot be reported is refused"
like "$output" 'reference-transaction: http://127.0.0.1:9/.* cannot be reached' \
	"says why"
like "$output" 'the change of refs is refused, .*; try again once' \
	"and what to do"
is "$(advertised "$primary")" "$before" "nothing moved"
is "$(stage_why GET "$advert")" replica "and nothing is fenced"
is "$(find "$primary" -name 'reproute-t*')" "" "no token is left behind"
story_end

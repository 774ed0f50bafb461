#!/bin/bash
# What becomes of a request with a token is told by one line of the feed.
# SPDX-License-Identifier: ISC
# shellcheck disable=SC2317 # functions are called by name
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
story_begin
stage_ports
ok "a primary" stage_git primary "$PRIMARY_PORT"
stage_conf
ok "the router" stage_router
# in the daemon's place, somebody who notes what he is told
stage_start feed perl "$top/tests/e2e/datagrams.pl" "$STAGE/run/feed.sock"
ok "the feed" stage_wait 10 test -S "$STAGE/run/feed.sock"
ok "the front" stage_front
url=$FRONT/scm/team/app.git
stage_repository team/app
git init -q work
git -C work commit -q --allow-empty -m one

# lines: what came since the last time, once it has stopped to come; each is
# STATUS UPSTREAM MARK
told=0
lines() {
	local before=-1 now
	while now=$(wc -l < "$STAGE/log/feed"); [ "$now" != "$before" ]; do
		before=$now
		sleep 0.7
	done
	tail -n "+$((told + 1))" "$STAGE/log/feed" | sed -nE \
		's/.*reproute-feed [0-9a-f]{32} ([0-9]+|-) [0-9]+ ([^ ]*) done=([^ ]*) addr=[^ ]+( .*)?$/\1 \2 \3/p'
	told=$now
}
is_told() { # NAME PATTERN...: so many lines, each of that form, in any order
	local name=$1 want
	shift
	lines > came
	is "$(wc -l < came)" $# "$name: as many lines as requests"
	for want; do
		like "$(cat came)" "^$want\$" "$name: $want"
	done
}
settled='200 primary (OK|[+]|-)'

ok "a push" git -C work push -q "$url" main
is_told "a push" "$settled"
head -c 5M /dev/urandom > work/big
git -C work add big && git -C work commit -qm big
ok "a push in chunks" git -C work push -q "$url" main
# git's probe, and the pack
is_told "a push in chunks" "$settled" "$settled"
hook=$STAGE/git/primary/team/app.git/hooks/pre-receive
printf '#!/bin/sh\nexit 1\n' > "$hook" && chmod +x "$hook"
git -C work commit -q --allow-empty -m refused
fails "a push that a hook refuses" git -C work push -q "$url" main
is_told "a push that a hook refuses" "$settled"
rm "$hook"
probe=(-d 0000 -H 'Content-Type: application/x-git-receive-pack-request')
ok "three requests on one connection" curl -sf "${probe[@]}" -o /dev/null \
	-o /dev/null -o /dev/null "$url/git-receive-pack" \
	"$url/git-receive-pack" "$url/git-receive-pack"
is_told "three requests on one connection" "$settled" "$settled" "$settled"
is "$(front_status "${probe[@]}" "$FRONT/scm/team/none.git/git-receive-pack")" \
	404 "a repository that is not there"
is_told "a repository that is not there" '404 primary (OK|[+]|-)'

# reads say nothing, unless a replica failed
ok "a read" git ls-remote "$url"
ok "a request of nobody's" curl -s "$FRONT/nowhere"
lines > came
is "$(wc -l < came)" 0 "are not told"
for path in /reproute/failed /reproute/ask /scm/team/app.git/HEAD; do
	front_status -H 'X-Reproute-Token: - 502 1 made-up done=+ addr=x served=primary' \
		"$FRONT$path" > code
done
lines > came
is "$(grep -c made-up "$STAGE/log/feed")" 0 "and no client makes up a line"

# broken off: nothing says that it was settled
fails "a client that dies in the middle" timeout -s KILL 1 curl -sf \
	--limit-rate 100k -T work/big -X POST -H 'Transfer-Encoding: chunked' \
	-H 'Content-Type: application/x-git-receive-pack-request' \
	"$url/git-receive-pack"
sleep 1
lines > came
is "$(grep -cE '^2[0-9]+ primary (OK|[+])$' came)" 0 "is not told as settled"

# nobody there
stage_stop primary
like "$(front_status "${probe[@]}" "$url/git-receive-pack")" '^50[234]$' "a primary that is down"
is_told "a primary that is down" '50[234] primary .*'

# a reader that comes late
stage_stop feed
rm "$STAGE/run/feed.sock"
ok "requests do not wait for a reader" curl -s -m 5 -o /dev/null \
	"${probe[@]}" "$url/git-receive-pack"
: > "$STAGE/log/feed"
told=0
stage_start feed perl "$top/tests/e2e/datagrams.pl" "$STAGE/run/feed.sock"
stage_wait 10 test -S "$STAGE/run/feed.sock"
front_status "${probe[@]}" "$url/git-receive-pack" >/dev/null
is_told "a reader that came back" '50[234] primary .*'
story_end

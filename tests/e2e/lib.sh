# shellcheck shell=bash
# lib.sh: stories against real servers, told as TAP
# SPDX-License-Identifier: ISC
#
# A story sources this, calls story_begin, makes its claims, and ends with
# story_end.  STAGE_BIN names the build; see contrib/stage.sh for the rest.

set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
: "${STAGE_BIN:?names the directory of the build under test}"
# shellcheck source=contrib/stage.sh
. "$top/contrib/stage.sh"

story_count=0
story_failures=0

# result STATUS NAME: 0 is ok.
result() {
	story_count=$((story_count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $story_count - $2"
		return 0
	fi
	echo "not ok $story_count - $2"
	story_failures=$((story_failures + 1))
	return 1
}

# The last command and what it printed.
show() { { printf '%s\n' "$*"; tail -n 20 "$STAGE/output"; } | sed 's/^/# /'; }

# ok NAME COMMAND...: it succeeds; in this shell, so that it may set variables.
ok() {
	local name=$1
	shift
	if "$@" > "$STAGE/output" 2>&1 </dev/null; then
		result 0 "$name"
	else
		result 1 "$name"
		show "$@"
		return 1
	fi
}

# fails NAME COMMAND...: it does not.
fails() {
	local name=$1
	shift
	if "$@" > "$STAGE/output" 2>&1 </dev/null; then
		result 1 "$name"
		show "$@"
	else
		result 0 "$name"
	fi
}

# is GOT WANT NAME
is() {
	if [ "$1" = "$2" ]; then
		result 0 "$3"
	else
		result 1 "$3"
		printf 'got  %s\nwant %s\n' "$1" "$2" | sed 's/^/# /'
	fi
}

# like GOT PATTERN NAME: an extended regular expression.
like() {
	if printf '%s\n' "$1" | grep -Eq -- "$2"; then
		result 0 "$3"
	else
		result 1 "$3"
		printf 'got  %s\nwant %s\n' "$1" "$2" | sed 's/^/# /'
	fi
}

# eventually SECONDS NAME COMMAND...: it succeeds within that time.
eventually() {
	local seconds=$1 name=$2
	shift 2
	ok "$name" stage_wait "$seconds" "$@"
}

# story_begin: an empty stage; everything ends with this shell, in any case.
story_begin() {
	stage_open || { echo "Bail out! no stage"; exit 1; }
	trap 'story_close' EXIT
	trap 'exit 130' INT TERM HUP
	cd "$STAGE" || exit 1
}

story_close() {
	local log
	[ -n "${STAGE:-}" ] || return 0
	if [ "$story_failures" -gt 0 ]; then
		for log in "$STAGE"/log/*; do
			echo "# --- ${log##*/}"
			tail -n 30 "$log" | sed 's/^/# /'
		done
	fi
	# a sanitizer's report in any program's log is a failure
	if grep -lE 'AddressSanitizer|LeakSanitizer|runtime error:' \
		"$STAGE"/log/* >/dev/null 2>&1; then
		result 1 "no sanitizer has anything to say"
		grep -hE -A 20 'AddressSanitizer|LeakSanitizer|runtime error:' \
			"$STAGE"/log/* | head -n 60 | sed 's/^/# /'
	else
		result 0 "no sanitizer has anything to say"
	fi
	cd /
	if stage_close; then
		result 0 "no process is left behind"
	else
		result 1 "no process is left behind"
	fi
}

story_end() {
	story_close
	echo "1..$story_count"
	exit $((story_failures > 0))
}

# routed_since MARK: the front's access log since then; see mark.
mark() { wc -l < "$STAGE/log/access" 2>/dev/null || echo 0; }
routed_since() { sleep 0.2; stage_routed "$1"; }

# header URL HEADER: curl's answer header of a GET
front_status() { curl -s -o /dev/null -w '%{http_code}' --path-as-is "$@"; }

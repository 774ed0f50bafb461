#!/bin/bash
# Every program explains itself, checks its configuration, and says what is wrong.
# SPDX-License-Identifier: ISC
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
story_begin
sample=$top/conf/reproute.conf.sample
export REPROUTE_CONF=$sample

exits() { # STATUS NAME COMMAND...
	local status=$1 name=$2
	shift 2
	"$@" > out 2> err </dev/null
	is "$?" "$status" "$name: exit $status"
}

for program in reproute reproute-fcgi reproute-push reproute-replica \
	reproute-syncd; do
	exits 0 "$program --help" "$STAGE_BIN/$program" --help
	like "$(cat out)" "usage: $program" "$program --help: on standard output"
	exits 0 "$program --version" "$STAGE_BIN/$program" --version
	like "$(cat out)" "^$program [0-9.]+$" "$program --version"
	exits 0 "$program --check-config" "$STAGE_BIN/$program" -c "$sample" \
		--check-config
	exits 64 "$program --nonsense" "$STAGE_BIN/$program" --nonsense
	exits 78 "$program without its file" "$STAGE_BIN/$program" -c none \
		--check-config
	like "$(cat err)" none "$program names the file"
	ok "$program has a manual" sh -c "ls $top/*/$program.[18]"
done

# every mistake in a configuration: line, and cure
wrong() { # LINE PATTERN TEXT
	printf '%s\n' "$3" > wrong.conf
	exits 78 "$2" "$STAGE_BIN/reproute" -c wrong.conf check -t
	like "$(cat err out)" "wrong.conf:$1: .*$2" "$2: said with its line"
}
wrong 2 'nonsense' 'state_dir = "/x";
nonsense = 1;'
wrong 1 'trailing comma' 'upstreams = ( { name = "a"; url = "http://a"; }, );'
wrong 1 'url' 'upstreams = ( { name = "a"; } );'
wrong 1 'ftp' 'upstreams = ( { name = "a"; url = "ftp://a"; } );'
wrong 1 'hold' 'upstreams = ( { name = "hold"; url = "http://a"; } );'
wrong 1 'weight' 'upstreams = ( { name = "a"; url = "http://a"; weight = 1001; } );'
wrong 3 'authorize' 'upstreams = ( { name = "a"; url = "http://a"; }, { name = "b"; url = "http://b"; } );
routes = (
{ name = "g"; kind = "git"; prefix = "/scm/"; primary = "a"; replicas = ("b"); } );'
wrong 2 'not available' 'upstreams = ( { name = "a"; url = "http://a"; }, { name = "b"; url = "http://b"; } );
routes = ( { name = "g"; kind = "git"; prefix = "/scm/"; primary = "a"; replicas = ("b"); authorize = "primary"; } );'
wrong 2 '\(a\+\)\+' 'upstreams = ( { name = "a"; url = "http://a"; }, { name = "b"; url = "http://b"; } );
routes = ( { name = "r"; kind = "registry"; prefix = "/v2/"; primary = "a"; migrate = { to = "b"; include = ("^(a+)+-prod$"); }; } );'

# verbs
exits 64 "no verb" "$STAGE_BIN/reproute"
exits 64 "an unknown verb" "$STAGE_BIN/reproute" nonsense
exits 64 "explain without a URL" "$STAGE_BIN/reproute" explain GET
sed "s|/var/lib/reproute|$STAGE/state|; s|/run/reproute|$STAGE/run|" \
	"$sample" > here.conf
printf 'state_dir = "%s";\nrun_dir = "%s";\n' "$STAGE/state" "$STAGE/run" > dirs
grep -q "$STAGE/state" here.conf || cat dirs "$sample" > here.conf
export REPROUTE_CONF=$STAGE/here.conf
exits 1 "explain outside every route" "$STAGE_BIN/reproute" explain GET /nowhere
exits 0 "explain without a table" "$STAGE_BIN/reproute" explain --json GET \
	'http://front/scm/team/app.git/info/refs?service=git-upload-pack'
for key in upstream reason route repository operation rule generation candidates; do
	like "$(cat out)" "\"$key\":" "explain --json has $key"
done
like "$(cat out)" '"reason":"unknown"' "an absent table is an empty one"
ok "and none was made" test ! -e "$STAGE/state/table.mdb"
exits 0 "options anywhere" "$STAGE_BIN/reproute" explain GET --client '[::1]:7' \
	/v2/ -H 'A: b' --json -c "$STAGE/here.conf"
printf 'state_dir = "%s/none";\nrun_dir = "%s/no-run";\n' "$STAGE" "$STAGE" \
	> nowhere.conf
exits 1 "check without its directories" "$STAGE_BIN/reproute" \
	-c nowhere.conf check
like "$(cat out)" 'state_dir: .*install -d -o reproute -g reproute -m 2770' \
	"check says how to make the state's"
like "$(cat out)" 'run_dir: .*install -d -o reproute -g www-data -m 2750' \
	"and that of the sockets, which the web server has to enter"
# webconf: what is printed, and what is asked for in vain
webconf() { "$STAGE_BIN/reproute" webconf "$@"; }
for part in 'lighttpd main' 'lighttpd script' 'nginx http' 'nginx server'; do
	# shellcheck disable=SC2086 # two words
	set -- $part
	exits 0 "webconf $part" webconf "$1" --part "$2"
	cp out "$1.$2"
	exits 0 "and it is as it would be printed" \
		webconf "$1" --part "$2" --check "$1.$2"
done
echo '# by hand' >> nginx.http
exits 1 "an installed file that was changed" \
	webconf nginx --part http --check nginx.http
like "$(cat out)" '^-# by hand$' "is shown where it differs"
exits 1 "another mode is another file" \
	webconf nginx --part server --mode accel --check nginx.server
exits 0 "webconf of routers that lighttpd starts" \
	webconf lighttpd --part main --app bin-path
like "$(cat out)" '"socket" => "/run/lighttpd/reproute.sock"' \
	"which it asks where it makes sockets"
like "$(cat out)" '^# Printed by: .* --app bin-path$' "by this command"
exits 71 "webconf --check of no file" \
	webconf nginx --part http --check nothing-there
exits 64 "webconf of another server" webconf nonsense --part main
exits 64 "webconf of no part" webconf nginx
exits 64 "webconf of another part" webconf nginx --part script
exits 64 "webconf of another mode" webconf nginx --part http --mode magic
exits 64 "webconf of an app of another server" \
	webconf nginx --part http --app bin-path
exits 78 "webconf of an address that is none" webconf apache --part server \
	--app mod_authnz_fcgi --address localhost
exits 64 "webconf of two files" webconf nginx --part http --check a b
story_end

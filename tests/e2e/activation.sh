#!/bin/bash
# Programs behind a socket that outlives them: no restart costs a request.
# SPDX-License-Identifier: ISC
# shellcheck disable=SC2317 # functions are called by name
STAGE_FRONT=${STAGE_FRONT:-nginx}
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
story_begin
stage_ports
socket=$STAGE/run/fcgi.sock
advert="$FRONT/scm/team/app.git/info/refs?service=git-upload-pack"
token="Authorization: Bearer $(cat "$STAGE/token")"

# activate SOCKET FILE PROGRAM...: as a socket unit does: holds the socket, which
# is the program's fd 0, and starts that again when it ends.  Its pid is in FILE.
activate() {
	exec perl -MPOSIX -MIO::Socket::UNIX -e '
		my ($path, $file, @program) = @ARGV;
		my $ends = 0;
		my $socket = IO::Socket::UNIX->new(Local => $path,
			Listen => 1024) or die "$path: $!";
		$SIG{TERM} = sub { $ends = 1; };
		until ($ends) {
			my $pid = fork;
			if ($pid == 0) {
				$SIG{TERM} = "DEFAULT";
				POSIX::dup2(fileno $socket, 0);
				exec @program;
				POSIX::_exit(127);
			}
			open my $out, ">", "$file.new";
			print $out "$pid\n";
			close $out;
			rename "$file.new", $file;
			until (waitpid($pid, WNOHANG) != 0) {
				kill "TERM", $pid if $ends;
				select undef, undef, undef, 0.02;
			}
		}' "$@"
}
pid_of() { cat "$STAGE/$1.pid"; }
served() { [ "$(front_status "$1")" = 200 ]; }
report() {
	curl -s -o answer -w '%{http_code}' -H "$token" \
		-d "project=team&repo=app&sha1=$sha" "$FRONT/reproute/push"
}
reported() { [ "$(report)" = 200 ]; }

upstreams() {
	stage_git primary "$PRIMARY_PORT" && stage_git replica1 "$REPLICA1_PORT" &&
		stage_git replica2 "$REPLICA2_PORT" && stage_conf
}
second() {
	"$STAGE_BIN/reproute-fcgi" --listen "$socket"
	[ $? = 75 ]
}

ok "the upstreams start" upstreams || story_end
stage_start router activate "$socket" "$STAGE/router.pid" \
	"$STAGE_BIN/reproute-fcgi"
stage_start push activate "$STAGE/run/push.sock" "$STAGE/push.pid" \
	"$STAGE_BIN/reproute-push"
stage_syncd
ok "a web server asks at both sockets" stage_front || story_end
stage_repository team/app
git init -q work && git -C work commit -q --allow-empty -m one
sha=$(git -C work rev-parse main)
ok "a push" git -C work push -q "$FRONT/scm/team/app.git" main
eventually 10 "a read" served "$advert"
eventually 10 "a report" reported
like "$(cat answer)" '"repository":"team/app"' "is taken"
is "$(front_status -d 'project=team&repo=app' "$FRONT/reproute/push")" 401 \
	"one without a token is not"

# a second instance
ok "one that would listen there, too, ends with 75" second
ok "and takes nothing away" served "$advert"

# load: each answer's status is a line in answers
load() {
	while [ ! -e stop ]; do
		front_status "$advert"
		echo
	done
}
reports() {
	while [ ! -e stop ]; do
		report
		echo
	done
}
# restarts NAME SIGNAL: eight times, each seen.
restarts() {
	local before i
	for i in 1 2 3 4 5 6 7 8; do
		before=$(pid_of "$1")
		kill "-$2" "$before"
		stage_wait 10 changed "$1" "$before" || return
		sleep 0.2
	done
}
changed() { [ "$(pid_of "$1")" != "$2" ]; }
under_load() { # COMMAND...
	local -a pids=()
	local pid
	rm -f stop
	load > answers1 & pids+=($!)
	load > answers2 & pids+=($!)
	load > answers3 & pids+=($!)
	reports > answers4 & pids+=($!)
	"$@"
	local status=$?
	touch stop
	for pid in "${pids[@]}"; do
		wait "$pid"
	done
	return "$status"
}
ok "the router restarts under load" under_load restarts router TERM
is "$(sort -u answers1 answers2 answers3)" 200 "without a request that fails"
ok "the push endpoint does" under_load restarts push TERM
is "$(sort -u answers4)" 200 "without a report that fails"
hups() {
	local i
	for i in 1 2 3 4 5 6 7 8; do
		kill -HUP "$(pid_of router)"
		sleep 0.2
	done
}
before=$(pid_of router)
ok "the router reads its configuration again under load" under_load hups
is "$(sort -u answers1 answers2 answers3)" 200 "without a request that fails"
is "$(pid_of router)" "$before" "nor a restart"
for i in 1 2 3; do
	before=$(pid_of router)
	kill -KILL "$before"
	ok "killed ($i): the next request waits for the next router" \
		served "$advert"
	eventually 10 "which has come" changed router "$before"
done

# their end
router=$(pid_of router) push=$(pid_of push)
ok "the router ends" stage_stop router
ok "the push endpoint ends" stage_stop push
ok "and no program stays" test ! -e "/proc/$router" -a ! -e "/proc/$push"

# without a socket unit: the path is its own
rm -f "$socket"
ok "a router listens by itself" stage_router
is "$(stat -c %a "$socket")" 660 "whose socket is for its user and group"
stage_stop router KILL
ok "killed, it leaves its socket" test -S "$socket"
ok "the next one takes that place" stage_start router \
	"$STAGE_BIN/reproute-fcgi" --listen "$socket"
eventually 10 "and serves" served "$advert"
ok "its end" stage_stop router
ok "removes the socket" test ! -e "$socket"
story_end

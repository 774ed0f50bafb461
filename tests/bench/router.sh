#!/bin/sh
# router.sh: requests a second of reproute-fcgi against a null libfcgi program
# SPDX-License-Identifier: ISC
#
# usage: tests/bench/router.sh [DIRECTORY OF reproute-fcgi]
# needs: contrib/install-packages run bench
#
# One lighttpd asks, by port, nobody, the null program, or the router, and
# proxies to one trivial upstream.  Rounds are interleaved; each ratio is the
# median of the rounds' ratios, since the machine may be shared.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=${1:-.}
rounds=${ROUNDS:-5}
seconds=${SECONDS_EACH:-2}
work=$(mktemp -d /tmp/reproute-bench-XXXXXX)
pids=

finish() {
	for pid in $pids; do
		kill "$pid" 2>/dev/null || :
	done
	for pid in $pids; do
		wait "$pid" 2>/dev/null || :
	done
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM

for tool in lighttpd wrk curl ss cc; do
	command -v "$tool" >/dev/null ||
	    { echo "router.sh: $tool is missing" >&2; exit 69; }
done
[ -x "$bin/reproute-fcgi" ] ||
    { echo "router.sh: no $bin/reproute-fcgi: build first" >&2; exit 64; }

free_port() {
	while ss -ltnH | grep -q ":$port "; do port=$((port + 1)); done
	echo "$port"
}
# below the ports that the kernel gives to clients
port=$((20000 + $$ % 12000))
upstream=$(free_port); port=$((port + 1))
direct=$(free_port); port=$((port + 1))
null=$(free_port); port=$((port + 1))
router=$(free_port)

mkdir "$work/www" "$work/run" "$work/state"
echo ok >"$work/www/index.html"

cat >"$work/reproute.conf" <<END
state_dir = "$work/state";
run_dir = "$work/run";
upstreams = (
  { name = "master"; url = "http://127.0.0.1:$upstream"; },
  { name = "slave"; url = "http://127.0.0.2:$upstream"; }
);
routes = (
  { name = "git"; kind = "git"; prefix = "/scm/"; primary = "master";
    replicas = ("slave"); authorize = "webserver"; },
  { name = "registry"; kind = "registry"; prefix = "/v2/"; primary = "master";
    migrate = { to = "slave"; include = ("^a/.*", "^b/.*"); }; }
);
END

cat >"$work/upstream.conf" <<END
server.modules = ("mod_rewrite")
server.bind = "127.0.0.1"
server.port = $upstream
server.document-root = "$work/www"
server.max-keep-alive-requests = 1000000
url.rewrite-once = ("" => "/index.html")
static-file.disable-pathinfo = "enable"
END

cat >"$work/route.lua" <<'END'
local r = lighty.r
r.req_header["X-Bench-Upstream"] = r.req_env["REPROUTE_UPSTREAM"] or ""
return 0
END

# ask SOCKET: an authorizer, and the proxy for whatever it answers
ask() {
	cat <<END
  magnet.attract-raw-url-to = ("$work/route.lua")
  fastcgi.server = ("/" => (("socket" => "$1", "mode" => "authorizer",
    "check-local" => "disable")))
  \$REQUEST_HEADER["X-Bench-Upstream"] != "" {
    proxy.server = ("" => (("host" => "127.0.0.1", "port" => $upstream)))
  }
END
}
cat >"$work/front.conf" <<END
server.modules = ("mod_magnet", "mod_fastcgi", "mod_proxy")
server.bind = "127.0.0.1"
server.port = $direct
server.document-root = "$work/www"
server.max-keep-alive-requests = 1000000
server.max-fds = 4096
server.http-parseopts = ("url-normalize" => "disable")
server.feature-flags = ("server.h2proto" => "disable", "server.h2c" => "disable")
\$SERVER["socket"] == "127.0.0.1:$direct" {
  proxy.server = ("" => (("host" => "127.0.0.1", "port" => $upstream)))
}
\$SERVER["socket"] == "127.0.0.1:$null" {
$(ask "$work/run/null.sock")
}
\$SERVER["socket"] == "127.0.0.1:$router" {
$(ask "$work/run/fcgi.sock")
}
END

cc -O2 -o "$work/null_fcgi" "$here/null_fcgi.c" -lfcgi -lpthread
start() {
	"$@" >>"$work/log" 2>&1 &
	pids="$pids $!"
}
start "$work/null_fcgi" "$work/run/null.sock"
start "$bin/reproute-fcgi" -c "$work/reproute.conf" \
    --listen "$work/run/fcgi.sock"
start lighttpd -D -f "$work/upstream.conf"
start lighttpd -D -f "$work/front.conf"

cat >"$work/post.lua" <<'END'
wrk.method = "POST"
wrk.body = "0000"
END
# a name of its own for every request
cat >"$work/new.lua" <<'END'
wrk.method = "POST"
local n = 0
request = function()
	n = n + 1
	return wrk.format("POST", "/v2/c/r" .. os.time() .. "-" .. n ..
	    "/blobs/uploads/", nil, "")
end
END

# answers PORT PATH: is it up?
answers() {
	curl -sf -o /dev/null "http://127.0.0.1:$1$2"
}
read_path='/scm/p/r.git/info/refs?service=git-upload-pack'
push_path=/scm/p/r.git/git-receive-pack
tries=0
until answers "$direct" / && answers "$null" / &&
    answers "$router" "$read_path"; do
	tries=$((tries + 1))
	[ $tries -lt 25 ] || { cat "$work/log" >&2; exit 1; }
	sleep 0.2
done

# measure PORT PATH [SCRIPT]: requests a second
measure() {
	wrk -t1 -c16 -d"${seconds}s" ${3:+-s "$work/$3"} \
	    "http://127.0.0.1:$1$2" | awk '
		/Requests\/sec/ { rate = $2 }
		/Non-2xx/ { bad = 1 }
		END { print bad ? "bad" : rate }'
}
round=0
while [ $round -lt "$rounds" ]; do
	round=$((round + 1))
	echo "direct $(measure "$direct" /)"
	echo "null-get $(measure "$null" /)"
	echo "read $(measure "$router" "$read_path")"
	echo "registry $(measure "$router" /v2/c/r/manifests/latest)"
	echo "null-post $(measure "$null" / post.lua)"
	echo "push $(measure "$router" "$push_path" post.lua)"
	echo "place $(measure "$router" / new.lua)"
done >"$work/rates"

awk '
function median(list, n,   i, j, t) {
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && list[j - 1] > list[j]; j--) {
			t = list[j]; list[j] = list[j - 1]; list[j - 1] = t
		}
	return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}
function row(what, base, text,   i, rates, ratios) {
	for (i = 1; i <= n[what]; i++) {
		rates[i] = rate[what, i]
		ratios[i] = rate[what, i] / rate[base, i]
	}
	printf "%-44s %9.0f  %5.2f\n", text, median(rates, n[what]),
	    median(ratios, n[what])
}
$2 == "bad" { print "router.sh: " $1 ": not all answers were 2xx"; failed = 1 }
{ rate[$1, ++n[$1]] = $2 }
END {
	if (failed)
		exit 1
	print "lighttpd, 16 clients, medians of " n["direct"] " rounds"
	printf "%-44s %9s  %s\n", "", "req/s", "of null"
	row("direct", "null-get", "nobody is asked")
	row("null-get", "null-get", "null libfcgi program, GET")
	row("read", "null-get", "reproute-fcgi, git read")
	row("registry", "null-get", "reproute-fcgi, registry read")
	row("null-post", "null-post", "null libfcgi program, POST")
	row("push", "null-post", "reproute-fcgi, git push (a durable fence)")
	row("place", "null-post", "reproute-fcgi, first write (a durable row)")
}' "$work/rates"

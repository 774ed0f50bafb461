#!/bin/bash
# fronts.sh: what the router costs behind each web server, as `webconf` says
# SPDX-License-Identifier: ISC
#
# usage: tests/bench/fronts.sh [VARIANT...]   (default: all that are there)
# needs: contrib/install-packages run test bench
# STAGE_BIN is where the programs are (.), ROUNDS (5) of SECONDS_EACH (2).
#
# For each variant three fronts of the same server and one trivial upstream:
# one that asks nobody, one that asks a null libfcgi program, and one that asks
# the router.  Rounds are interleaved, and each ratio is the median of those of
# the rounds, since the machine may be shared.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
STAGE_BIN=$(cd "${STAGE_BIN:-.}" && pwd)
rounds=${ROUNDS:-5}
seconds=${SECONDS_EACH:-2}
# those of one variant; not local, since a trap ends them
stages=()

say() { printf 'fronts.sh: %s\n' "$*" >&2; }

# bench_variants: those of the servers that are there.
bench_variants() {
	local server program
	for server in "$top"/contrib/fronts/*.sh; do
		server=${server##*/}
		server=${server%.sh}
		program=${server/apache/apache2}
		command -v "$program" >/dev/null || continue
		case $server in
		lighttpd) echo lighttpd lighttpd-bin ;;
		nginx) echo nginx nginx-accel ;;
		apache) echo apache apache-authnz ;;
		esac
	done
}

# bench_plain SERVER PART: stands in for what webconf prints: nobody is asked.
bench_plain() {
	case $1-$2 in
	lighttpd-main) cat <<-EOT ;;
		server.modules += ("mod_accesslog", "mod_proxy")
		server.feature-flags := ("server.h2proto" => "disable",
		  "server.h2c" => "disable")
		server.http-parseopts := ("url-normalize" => "disable")
		server.stream-request-body = 2
		server.stream-response-body = 2
		proxy.server = ("" => (("host" => "127.0.0.1", "port" => $upstream)))
	EOT
	nginx-http) cat <<-EOT ;;
		upstream primary {
			server 127.0.0.1:$upstream;
			keepalive 16;
			keepalive_timeout 4s;
		}
	EOT
	nginx-server) cat <<-EOT ;;
		location / {
			access_log $STAGE/log/access;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
			proxy_set_header Host \$http_host;
			proxy_buffering off;
			proxy_request_buffering off;
			proxy_pass http://primary;
		}
	EOT
	apache-server) cat <<-EOT ;;
		LogFormat "%h %l %u %t \"%r\" %>s %O" plain
		GlobalLog "$STAGE/log/access" plain
	EOT
	apache-site) cat <<-EOT ;;
		AllowEncodedSlashes NoDecode
		ProxyPass "/" "http://127.0.0.1:$upstream/" nocanon ttl=3
		ProxyPreserveHost On
		<Location "/">
			Require all granted
		</Location>
	EOT
	esac
}

# bench_upstream PORT: answers whatever it is asked.
bench_upstream() {
	echo ok > "$STAGE/www/index.html"
	cat > "$STAGE/upstream.conf" <<-EOT
		server.modules = ("mod_rewrite")
		server.bind = "127.0.0.1"
		server.port = $1
		server.document-root = "$STAGE/www"
		server.max-keep-alive-requests = 1000000
		url.rewrite-once = ("" => "/index.html")
		static-file.disable-pathinfo = "enable"
	EOT
	stage_start upstream lighttpd -D -f "$STAGE/upstream.conf"
	stage_wait 10 stage_listens "$1"
}

# Without a daemon, and no replica has anything: all goes to the primary.
bench_conf() {
	cat > "$REPROUTE_CONF" <<-EOT
		state_dir = "$STAGE/state";
		run_dir = "$STAGE/run";
		upstreams = (
		  { name = "primary"; url = "http://127.0.0.1:$upstream"; },
		  { name = "replica"; url = "http://127.0.0.2:$upstream"; }
		);
		routes = (
		  { name = "git"; kind = "git"; prefix = "/scm/";
		    primary = "primary"; replicas = ("replica");
		    authorize = "webserver"; },
		  { name = "registry"; kind = "registry"; prefix = "/v2/";
		    primary = "primary";
		    migrate = { to = "replica"; include = ("^a/.*", "^b/.*"); }; }
		);
		push = { token_file = "$STAGE/token"; };
	EOT
}

# bench_null: programs of which the router is the null one.
bench_null() {
	local program
	mkdir "$STAGE/null" &&
		cc -O2 -o "$STAGE/null/reproute-fcgi" "$top/tests/bench/null_fcgi.c" \
			-lfcgi -lpthread || return
	for program in reproute reproute-push; do
		cp "$STAGE_BIN/$program" "$STAGE/null" || return
	done
	chmod 0755 "$STAGE" "$STAGE/null"
}

# bench_stage: one more, which bench_close ends.
bench_stage() {
	stage_open || return
	stages+=("$STAGE")
	stage_port FRONT_PORT
}

bench_close() {
	local status=$?
	for STAGE in "${stages[@]}"; do
		stage_close || status=1
	done
	exit "$status"
}

# bench_front VARIABLE: its port goes there.
bench_front() {
	bench_stage && bench_conf && stage_router && stage_front || return
	printf -v "$1" '%s' "$FRONT_PORT"
	unset FRONT_ROUTER_PORT
}

# bench_direct: the server alone; defined last, it stands in for webconf.
bench_direct() (
	stage_webconf() { bench_plain "$1" "$2"; }
	stage_push_endpoint() { :; }
	stage_front
)

bench_open() {
	bench_stage && stage_port upstream && bench_upstream "$upstream" &&
		bench_direct && direct=$FRONT_PORT && bench_null &&
		STAGE_BIN=$STAGE/null bench_front null &&
		bench_front routed
}

# bench_scripts: what wrk sends: an empty push, and a new name every time.
bench_scripts() {
	cat > "$STAGE/post.lua" <<-'EOT'
		wrk.method = "POST"
		wrk.body = "0000"
	EOT
	cat > "$STAGE/new.lua" <<-'EOT'
		local n = 0
		request = function()
			n = n + 1
			return wrk.format("POST", "/v2/c/r" .. os.time() .. "-" .. n ..
				"/blobs/uploads/", nil, "")
		end
	EOT
}

# bench_rate NAME PORT PATH [SCRIPT]: a line of it and its requests a second.
bench_rate() {
	local said rate
	said=$(wrk -t1 -c16 -d"${seconds}s" ${4:+-s "$STAGE/$4"} \
		"http://127.0.0.1:$2$3") || return
	case $said in
	*Non-2xx* | *'Socket errors'*)
		say "$STAGE_FRONT: $1: $said"
		return 1
		;;
	esac
	rate=$(sed -n 's/^Requests\/sec: *//p' <<< "$said")
	echo "$1 $rate"
}

bench_round() {
	local read='/scm/p/r.git/info/refs?service=git-upload-pack'
	# another one: without a daemon its fences have no end
	local push=/scm/p/w.git/git-receive-pack
	bench_rate direct "$direct" "$read" &&
		bench_rate null "$null" "$read" &&
		bench_rate read "$routed" "$read" &&
		bench_rate registry "$routed" /v2/c/r/manifests/latest &&
		bench_rate post "$null" "$push" post.lua &&
		bench_rate push "$routed" "$push" post.lua &&
		bench_rate place "$routed" / new.lua
}

# shellcheck disable=SC2016 # awk's own
bench_table='
function median(list, n,   i, j, t) {
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && list[j - 1] > list[j]; j--) {
			t = list[j]; list[j] = list[j - 1]; list[j - 1] = t
		}
	return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}
function ratio(what, base,   i, list) {
	for (i = 1; i <= n[what]; i++)
		list[i] = rate[what, i] / rate[base, i]
	return median(list, n[what])
}
function absolute(what,   i, list) {
	for (i = 1; i <= n[what]; i++)
		list[i] = rate[what, i]
	return median(list, n[what])
}
{ rate[$1, ++n[$1]] = $2 }
END {
	printf "%-14s %8.0f %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f\n", variant,
	    absolute("direct"), ratio("null", "direct"),
	    ratio("read", "direct"), ratio("read", "null"),
	    ratio("registry", "null"), ratio("push", "post"),
	    ratio("place", "post")
}'

# bench_one VARIANT: its line of the table.
bench_one() {
	local upstream direct null routed round
	STAGE_FRONT=$1
	# shellcheck source=contrib/stage.sh
	. "$top/contrib/stage.sh"
	trap bench_close EXIT
	trap 'exit 1' INT TERM
	if ! bench_open >&2 || ! bench_scripts; then
		say "$1: does not start"
		tail -n 5 "$STAGE"/log/* >&2
		exit 1
	fi
	# Apache starts one process after the other
	bench_round > /dev/null || exit 1
	for ((round = 1; round <= rounds; round++)); do
		bench_round || exit 1
	done > "$STAGE/rates"
	awk -v variant="$1" "$bench_table" "$STAGE/rates"
}

for tool in wrk cc lighttpd; do
	command -v "$tool" >/dev/null || { say "$tool is missing"; exit 69; }
done
[ -x "$STAGE_BIN/reproute-fcgi" ] ||
	{ say "no $STAGE_BIN/reproute-fcgi: build first"; exit 64; }
# shellcheck disable=SC2046 # words
[ $# -gt 0 ] || set -- $(bench_variants)

printf '%-14s %8s %8s %8s %8s %8s %8s %8s\n' \
	'16 clients' direct null git git registry push 'first w.' \
	"$rounds rounds" req/s /direct /direct /null /null /null /null
status=0
for variant; do
	(bench_one "$variant") || status=1
done
exit "$status"

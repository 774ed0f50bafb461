# shellcheck shell=bash
# stage.sh: sets a whole installation up on free loopback ports, and ends it
# SPDX-License-Identifier: ISC
#
# Sourced by bash, by contrib/quickstart and by the end-to-end tests.  Before:
#   STAGE_BIN  where reproute, reproute-fcgi, ... are
#   STAGE_SLOT 0 or 1, so that two at a time never take the same port
# After stage_open: $STAGE, a new directory that holds everything; stage_close,
# which a trap on EXIT must call, ends every process that was started, by its
# pid, and fails if one of them, or a child of theirs, is left behind.

# The web server in front: it has to define front_start, and what is otherwise
# with it than here.  FRONT_STARTS_ROUTER where it does that.
FRONT_STARTS_ROUTER=
STAGE_FRONT=${STAGE_FRONT:-lighttpd}
# what it does without a router: refuse all, have the primary serve reads, or
# start one
export FRONT_UNDECIDED=refuses
# where the router's messages go, below log
export FRONT_ROUTER_LOG=router
# who writes what the front's own programs write, too, is started by this
FRONT_GROUP=()
# front_router: the one that the front asks
front_router() {
	stage_start router "$STAGE_BIN/reproute-fcgi" \
		--listen "$STAGE/run/fcgi.sock"
	stage_wait 10 test -S "$STAGE/run/fcgi.sock"
}
# shellcheck source=/dev/null
. "$(dirname "${BASH_SOURCE[0]}")/fronts/${STAGE_FRONT%%-*}.sh"

STAGE_NO_LEAKS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0

stage_say() { printf '%s\n' "$*" >&2; }

stage_open() {
	STAGE=$(mktemp -d "${TMPDIR:-/tmp}/reproute-stage.XXXXXX") || return
	# also found in the environment of every child: see stage_left
	export REPROUTE_STAGE=$STAGE
	mkdir -p "$STAGE"/{pid,log,www,state,run,git/primary,home}
	export HOME=$STAGE/home GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0
	export REPROUTE_CONF=$STAGE/reproute.conf
	git config --global user.name 'Stage' &&
		git config --global user.email 'stage@example.org' &&
		git config --global init.defaultBranch main &&
		git config --global advice.detachedHead false &&
		# what the primary offers, a replica has to offer, too
		git config --global uploadpack.allowFilter true
	head -c 24 /dev/urandom | base64 > "$STAGE/token"
	chmod 0640 "$STAGE/token"
	STAGE_PORTS=' '
}

# stage_port VARIABLE: a port on which nobody listens, other than those given
# before.
stage_port() {
	local port
	while :; do
		port=$((20000 + ${STAGE_SLOT:-0} * 6000 + RANDOM % 6000))
		case $STAGE_PORTS in *" $port "*) continue ;; esac
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
	done
	STAGE_PORTS="$STAGE_PORTS$port "
	printf -v "$1" '%s' "$port"
}

# stage_wait SECONDS COMMAND...: until it succeeds.
stage_wait() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -le $end ] || return 1
		sleep 0.1
	done
}

stage_listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# stage_start NAME COMMAND...: in the background, its output in log/NAME.
stage_start() {
	local name=$1
	shift
	"$@" >>"$STAGE/log/$name" 2>&1 </dev/null &
	echo $! > "$STAGE/pid/$name"
}

stage_alive() { kill -0 "$(cat "$STAGE/pid/$1" 2>/dev/null)" 2>/dev/null; }

# stage_stop NAME [SIGNAL]: and waits for its end; KILL where it does not end.
stage_stop() {
	# Apache gives what it started 10 seconds
	local pid tries=240
	pid=$(cat "$STAGE/pid/$1" 2>/dev/null) || return 0
	rm -f "$STAGE/pid/$1"
	kill "-${2:-TERM}" "$pid" 2>/dev/null
	while kill -0 "$pid" 2>/dev/null; do
		tries=$((tries - 1))
		if [ $tries -eq 0 ]; then
			stage_say "$1 (pid $pid) does not end; killed"
			kill -KILL "$pid" 2>/dev/null
			wait "$pid" 2>/dev/null
			return 1
		fi
		sleep 0.05
	done
	wait "$pid" 2>/dev/null
	return 0
}

# stage_left: the pids of all that carry this stage in their environment; to
# what Apache starts it gives nothing but the configuration.  One grep for all:
# under load, one for each would find processes that are no more.
stage_left() {
	local -a all=(/proc/[0-9]*/environ)
	grep -lzxF -e "REPROUTE_STAGE=$STAGE" \
		-e "REPROUTE_CONF=$STAGE/reproute.conf" \
		"${all[@]}" 2>/dev/null | cut -d / -f 3
}

stage_none_left() { [ -z "$(stage_left)" ]; }

stage_close() {
	local file status=0 pid
	[ -n "${STAGE:-}" ] || return 0
	for file in "$STAGE"/pid/*; do
		[ -e "$file" ] && { stage_stop "${file##*/}" || status=1; }
	done
	if ! stage_wait 10 stage_none_left; then
		status=1
		for pid in $(stage_left); do
			stage_say "left behind: $pid" \
				"$(tr '\0' ' ' < "/proc/$pid/cmdline")"
			kill -KILL "$pid" 2>/dev/null
		done
	fi
	if [ -n "${STAGE_KEEP_FILES:-}" ]; then
		stage_say "files kept in $STAGE"
	else
		rm -rf "$STAGE"
	fi
	STAGE=
	return $status
}

# stage_git NAME PORT PUSHABLE: lighttpd with git http-backend over git/NAME
# at /scm/, and reproute-replica at /reproute.
stage_git() {
	local name=$1 port=$2 dir=$STAGE/$1
	mkdir -p "$dir" "$STAGE/git/$name"
	cat > "$dir/lighttpd.conf" <<-EOF
		server.modules = ("mod_alias", "mod_setenv", "mod_cgi")
		server.document-root = "$STAGE/www"
		server.bind = "127.0.0.1"
		server.port = $port
		server.errorlog = "$STAGE/log/$name.error"
		server.upload-dirs = ("$dir")
		server.max-request-size = 0
		server.max-keep-alive-requests = 100000
		# the whole request is read before git is started
		server.stream-request-body = 0
		server.stream-response-body = 2
		alias.url = (
		  "/scm/" => "$(git --exec-path)/git-http-backend/",
		  "/reproute" => "$STAGE_BIN/reproute-replica"
		)
		# this server does nothing else
		cgi.assign = ("" => "")
		setenv.set-environment = (
		  "GIT_PROJECT_ROOT" => "$STAGE/git/$name",
		  "GIT_HTTP_EXPORT_ALL" => "1",
		  "GIT_CONFIG_NOSYSTEM" => "1",
		  "HOME" => "$HOME",
		  "PATH" => "$PATH",
		  "ASAN_OPTIONS" => "$STAGE_NO_LEAKS",
		  "REPROUTE_STAGE" => "$STAGE",
		  "REPROUTE_CONF" => "$dir/reproute.conf"
		)
	EOF
	cat > "$dir/reproute.conf" <<-EOF
		state_dir = "$STAGE/state";
		run_dir = "$STAGE/run";
		replica = {
		  root = "$STAGE/git/$name";
		  origin = "http://127.0.0.1:$PRIMARY_PORT/scm/{name}.git";
		  token_file = "$STAGE/token";
		};
	EOF
	stage_start "$name" lighttpd -D -f "$dir/lighttpd.conf"
	stage_wait 10 stage_listens "$port"
}

# stage_repository NAME: an empty, pushable one on the primary.
stage_repository() {
	local dir=$STAGE/git/primary/$1.git
	git init -q --bare "$dir" &&
		git -C "$dir" config http.receivepack true
}

# stage_hooks NAME HOOK...: its hooks of contrib/hooks, which report to the front.
stage_hooks() {
	local hook name=$1 dir=$STAGE/git/primary/$1.git
	shift
	for hook; do
		cp "$(dirname "${BASH_SOURCE[0]}")/hooks/$hook" "$dir/hooks/" ||
			return
	done
	git -C "$dir" config reproute.url "$FRONT/reproute/push" &&
		git -C "$dir" config reproute.tokenFile "$STAGE/token" &&
		git -C "$dir" config reproute.route git &&
		git -C "$dir" config reproute.repository "$name"
}

# stage_registry NAME PORT: a docker-registry with its storage in NAME.
stage_registry() {
	local name=$1 port=$2 dir=$STAGE/$1
	mkdir -p "$dir/storage"
	cat > "$dir/config.yml" <<-EOF
		version: 0.1
		log: { level: warn }
		storage:
		  filesystem: { rootdirectory: $dir/storage }
		  delete: { enabled: true }
		http: { addr: "127.0.0.1:$port", secret: "$name" }
	EOF
	stage_start "$name" docker-registry serve "$dir/config.yml"
	stage_wait 20 stage_listens "$port"
}

# stage_conf: reproute.conf of a host with all of it; what stands in
# $STAGE_GIT_KEYS, $STAGE_MIGRATE_KEYS and $STAGE_REGISTRY_KEYS is added to the
# routes; $STAGE_SYNC_KEYS is what stands in sync.
stage_conf() {
	cat > "$REPROUTE_CONF" <<-EOF
		state_dir = "$STAGE/state";
		run_dir = "$STAGE/run";
		upstreams = (
		  { name = "primary"; url = "http://127.0.0.1:$PRIMARY_PORT"; },
		  { name = "replica1"; url = "http://127.0.0.1:$REPLICA1_PORT";
		    path = "$STAGE/git/replica1/{name}.git"; },
		  { name = "replica2"; url = "http://127.0.0.1:$REPLICA2_PORT";
		    path = "$STAGE/git/replica2/{name}.git"; },
		  { name = "old"; url = "http://127.0.0.1:$OLD_PORT"; },
		  { name = "new"; url = "http://127.0.0.1:$NEW_PORT"; }
		);
		routes = (
		  { name = "git"; kind = "git"; prefix = "/scm/";
		    primary = "primary"; replicas = ("replica1", "replica2");
		    authorize = "webserver"; ${STAGE_GIT_KEYS:-} },
		  { name = "registry"; kind = "registry"; prefix = "/v2/";
		    primary = "old"; ${STAGE_REGISTRY_KEYS:-}
		    migrate = { to = "new";
		      ${STAGE_MIGRATE_KEYS:-} }; }
		);
		push = { token_file = "$STAGE/token"; };
		sync = { ${STAGE_SYNC_KEYS:-interval_s = 5;} };
	EOF
	"$STAGE_BIN/reproute" check -t >&2
}

# stage_router: unless the web server starts it
stage_router() {
	[ -n "$FRONT_STARTS_ROUTER" ] || front_router
}

# stage_is PID PROGRAM
stage_is() {
	local name
	{ read -r name < "/proc/$1/comm"; } 2>/dev/null && [ "$name" = "$2" ]
}

# stage_routers: the pids of all of them, whoever started them.
stage_routers() {
	local pid
	for pid in $(stage_left); do
		! stage_is "$pid" reproute-fcgi || echo "$pid"
	done
}

# stage_push_endpoint: as FastCGI, for a front without CGI; outlives the front.
stage_push_endpoint() {
	stage_alive push && return
	stage_start push "$STAGE_BIN/reproute-push" \
		--listen "$STAGE/run/push.sock"
	stage_wait 10 test -S "$STAGE/run/push.sock"
}

stage_syncd() {
	stage_start syncd "${FRONT_GROUP[@]}" "$STAGE_BIN/reproute-syncd" --verbose
	stage_wait 10 test -S "$STAGE/run/feed.sock"
}

# stage_webconf SERVER PART [OPTION...]: what webconf prints for this stage.
stage_webconf() {
	local server=$1 part=$2
	shift 2
	"$STAGE_BIN/reproute" webconf "$server" --part "$part" \
		--bin-dir "$STAGE_BIN" --sbin-dir "$STAGE_BIN" \
		--libexec-dir "$STAGE_BIN" "$@"
}

# stage_tls: the front speaks TLS, too, at $FRONT_TLS_PORT.
stage_tls() {
	stage_port FRONT_TLS_PORT
	mkdir -p "$STAGE/front"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 \
		-nodes -days 2 -subj /CN=localhost \
		-addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' \
		-keyout "$STAGE/front/key.pem" -out "$STAGE/front/crt.pem" 2>/dev/null
}

# stage_front: the web server in front, as $STAGE_FRONT says: lighttpd,
# lighttpd-bin (which starts routers), nginx, nginx-accel (the router redirects
# in it), apache (which starts routers), or apache-authnz (which asks by TCP).
stage_front() {
	mkdir -p "$STAGE/front"
	front_start
}

# stage_ports: one for each server, and the front's URL.
stage_ports() {
	local name
	for name in PRIMARY REPLICA1 REPLICA2 OLD NEW FRONT; do
		stage_port "${name}_PORT"
	done
	FRONT=http://127.0.0.1:$FRONT_PORT
}

# stage_routed LINES: the front's access log behind so many lines, each as
#   HOST "METHOD TARGET PROTOCOL" STATUS upstream=NAME reason=WORD
stage_routed() {
	tail -n "+$(($1 + 1))" "$STAGE/log/access" | sed -E \
		's/^([^ ]+) - [^ ]+ \[[^]]*\] ("([^"\\]|\\.)*") ([0-9]+) [0-9-]+ "([^"\\]|\\.)*" "([^"\\]|\\.)*" /\1 \2 \4 /'
}

# stage_all: everything, in the order in which it is needed.
stage_all() {
	stage_ports
	stage_git primary "$PRIMARY_PORT" && stage_git replica1 "$REPLICA1_PORT" &&
		stage_git replica2 "$REPLICA2_PORT" &&
		stage_registry old "$OLD_PORT" && stage_registry new "$NEW_PORT" &&
		stage_conf && stage_router && stage_syncd && stage_front
}

# stage_why METHOD URL [FIELD]: one field of an explanation.
stage_why() {
	stage_ask explain --json "$1" "$2" |
		sed -n "s/.*\"${3:-reason}\":\"\\{0,1\\}\\([^\",}]*\\).*/\\1/p"
}

# stage_on_replica NAME: a read of it goes to a replica by now.
stage_on_replica() {
	[ "$(stage_why GET "$FRONT/scm/$1.git/info/refs?service=git-upload-pack")" \
		= replica ]
}

# stage_ask VERB...: for what is asked time and again: a sanitized build looks
# for leaks as it ends, which takes it longer than the answer.
stage_ask() { ASAN_OPTIONS=$STAGE_NO_LEAKS "$STAGE_BIN/reproute" "$@"; }

# stage_both NAME: both replicas are current.
stage_both() {
	local fields
	fields=$(stage_ask explain --json GET \
		"$FRONT/scm/$1.git/info/refs?service=git-upload-pack") &&
		case $fields in
		*replica1*replica2*primary* | *replica2*replica1*primary*) return 0 ;;
		esac
	return 1
}

# stage_blob FILE LAYOUT: puts a file into an OCI layout; prints its digest.
stage_blob() {
	local digest
	digest=$(sha256sum < "$1") && digest=${digest%% *} &&
		mkdir -p "$2/blobs/sha256" &&
		cp "$1" "$2/blobs/sha256/$digest" && echo "sha256:$digest"
}

# stage_image LAYOUT LAYERS KIB: an image of random layers of that size, in
# LAYOUT under the tag latest.
stage_image() {
	local layout=$1 layers=$2 kib=$3 tmp=$1.tmp i digest size list='' diffs=''
	local kind=application/vnd.oci.image
	mkdir -p "$layout" "$tmp"
	for ((i = 0; i < layers; i++)); do
		head -c "${kib}K" /dev/urandom > "$tmp/file$i"
		tar -C "$tmp" -cf "$tmp/layer" "file$i"
		digest=$(stage_blob "$tmp/layer" "$layout")
		size=$(stat -c %s "$tmp/layer")
		list="$list${list:+,}{\"mediaType\":\"$kind.layer.v1.tar\",\"digest\":\"$digest\",\"size\":$size}"
		diffs="$diffs${diffs:+,}\"$digest\""
	done
	printf '{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[%s]}}' \
		"$diffs" > "$tmp/config"
	digest=$(stage_blob "$tmp/config" "$layout")
	size=$(stat -c %s "$tmp/config")
	printf '{"schemaVersion":2,"mediaType":"%s.manifest.v1+json","config":{"mediaType":"%s.config.v1+json","digest":"%s","size":%s},"layers":[%s]}' \
		"$kind" "$kind" "$digest" "$size" "$list" > "$tmp/manifest"
	digest=$(stage_blob "$tmp/manifest" "$layout")
	size=$(stat -c %s "$tmp/manifest")
	printf '{"schemaVersion":2,"manifests":[{"mediaType":"%s.manifest.v1+json","digest":"%s","size":%s,"annotations":{"org.opencontainers.image.ref.name":"latest"}}]}' \
		"$kind" "$digest" "$size" > "$layout/index.json"
	printf '{"imageLayoutVersion":"1.0.0"}' > "$layout/oci-layout"
	rm -rf "$tmp"
}

# stage_push LAYOUT NAME[:TAG] [PORT]: by skopeo, through the front or at PORT.
stage_push() {
	skopeo --insecure-policy copy -q --dest-tls-verify=false \
		"oci:$1:latest" "docker://127.0.0.1:${3:-$FRONT_PORT}/$2"
}

# stage_has PORT NAME: does the registry at PORT list tags of NAME?
stage_has() {
	curl -sf "http://127.0.0.1:$1/v2/$2/tags/list" | grep -q '"tags":\['
}

# stage_imported: both catalogues were read.
stage_imported() {
	[ "$(stage_why POST "$FRONT/v2/stage/probe/blobs/uploads/")" != \
		not-imported ]
}

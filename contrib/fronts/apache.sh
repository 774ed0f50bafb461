# shellcheck shell=bash
# apache.sh: the front Apache, all of it but its ports from webconf
# SPDX-License-Identifier: ISC

# Apache's workers, and the router and the CGI programs that they start, are
# not root; the group lets them in, as reproute's does where it is installed.
# shellcheck disable=SC2034 # stage_syncd
[ "$(id -u)" != 0 ] || FRONT_GROUP=(setpriv --regid www-data --clear-groups)
FRONT_APP=mod_fcgid
if [ "$STAGE_FRONT" = apache-authnz ]; then
	FRONT_APP=mod_authnz_fcgi
	front_router() {
		[ -n "${FRONT_ROUTER_PORT:-}" ] || stage_port FRONT_ROUTER_PORT
		stage_start router "$STAGE_BIN/reproute-fcgi" \
			--listen "127.0.0.1:$FRONT_ROUTER_PORT"
		stage_wait 10 stage_listens "$FRONT_ROUTER_PORT"
	}
else
	# whenever it needs one; it has its messages
	FRONT_STARTS_ROUTER=1
	export FRONT_UNDECIDED=starts
	export FRONT_ROUTER_LOG=front.error
fi

front_modules() {
	local module
	for module in mpm_event alias auth_basic authn_core authn_file \
		authnz_fcgi authz_core authz_host authz_user cgid env fcgid \
		headers http2 lbmethod_byrequests proxy proxy_balancer \
		proxy_fcgi proxy_http reqtimeout setenvif slotmem_shm socache_shmcb ssl; do
		echo "LoadModule ${module}_module /usr/lib/apache2/modules/mod_$module.so"
	done
}

# front_server DIRECTORY NAME: any Apache's first lines; it logs to NAME.error
front_server() {
	front_modules
	cat <<-EOT
		ServerRoot "$1"
		ServerName 127.0.0.1
		PidFile "$1/apache.pid"
		DefaultRuntimeDir "$1"
		ErrorLog "$STAGE/log/$2.error"
		ScriptSock "$1/cgid.sock"
		FcgidIPCDir "$1/fcgid"
		FcgidProcessTableFile "$1/fcgid.shm"
		User www-data
		Group www-data
	EOT
}

# front_reachable: by the group; what they run is where everybody may go.
front_reachable() {
	mkdir -p "$STAGE/front/bin" &&
		cp -f "$STAGE_BIN"/reproute{,-fcgi,-push} "$STAGE/front/bin" || return
	[ "$(id -u)" = 0 ] || return 0
	chmod 0711 "$STAGE" &&
		chgrp -R www-data "$STAGE/state" "$STAGE/run" "$STAGE/token" \
			"$STAGE/front" &&
		chmod -R g+rwX "$STAGE/state" "$STAGE/run" "$STAGE/front" &&
		chmod g+s "$STAGE/state" "$STAGE/run"
}

# front_site PORT LINES: before what is printed are also those of $FRONT_SITE
front_site() {
	cat <<-EOT
		Listen 127.0.0.1:$1
		<VirtualHost 127.0.0.1:$1>
		  DocumentRoot "$STAGE/www"
		  CustomLog "$STAGE/log/access" combined
		  ${2:-}
		  ${FRONT_SITE:-}
		  Include "$STAGE/front/site.conf"
		</VirtualHost>
	EOT
}

front_start() {
	local dir=$STAGE/front
	local -a options=(--app "$FRONT_APP" --bin-dir "$dir/bin"
		--sbin-dir "$dir/bin" --libexec-dir "$dir/bin")
	[ -z "${FRONT_ROUTER_PORT:-}" ] ||
		options+=(--address "127.0.0.1:$FRONT_ROUTER_PORT"
			--mode "${FRONT_MODE:-anonymous}")
	stage_webconf apache server "${options[@]}" \
		> "$dir/server.conf" &&
		stage_webconf apache site "${options[@]}" > "$dir/site.conf" || return
	{
		front_server "$dir" front
		cat <<-EOT
			ThreadsPerChild 64
			MaxRequestWorkers 256
			MaxKeepAliveRequests 0
			Protocols h2 h2c http/1.1
			<Directory "/">
			  Require all denied
			</Directory>
			<Directory "$STAGE/www">
			  Require all granted
			</Directory>
			Include "$dir/server.conf"
		EOT
		front_site "$FRONT_PORT"
		[ -z "${FRONT_TLS_PORT:-}" ] || front_site "$FRONT_TLS_PORT" \
			"SSLEngine on
			SSLCertificateFile $dir/crt.pem
			SSLCertificateKeyFile $dir/key.pem"
	} > "$dir/apache.conf"
	front_reachable && apache2 -t -f "$dir/apache.conf" &&
		stage_start front apache2 -DFOREGROUND -f "$dir/apache.conf" &&
		# not before there are workers: it may be stopped at once
		stage_wait 10 curl -s -o /dev/null "http://127.0.0.1:$FRONT_PORT/"
}

front_reload() { kill -USR1 "$(cat "$STAGE/pid/front")"; }

# shellcheck shell=bash
# lighttpd.sh: the front lighttpd, all of it but its port from webconf
# SPDX-License-Identifier: ISC

[ "$STAGE_FRONT" != lighttpd-bin ] || FRONT_STARTS_ROUTER=1

front_start() {
	local dir=$STAGE/front tls='' app=()
	[ -z "${FRONT_TLS_PORT:-}" ] || tls="
		server.modules += (\"mod_openssl\")
		\$SERVER[\"socket\"] == \"127.0.0.1:$FRONT_TLS_PORT\" {
			ssl.engine = \"enable\"
			ssl.pemfile = \"$dir/crt.pem\"
			ssl.privkey = \"$dir/key.pem\"
		}"
	[ -z "$FRONT_STARTS_ROUTER" ] ||
		app=(--app bin-path --socket "$dir/router.sock")
	stage_webconf lighttpd main --lua-file "$dir/reproute.lua" "${app[@]}" \
		--access-log "$STAGE/log/access" > "$dir/reproute.conf" &&
		stage_webconf lighttpd script > "$dir/reproute.lua" || return
	cat > "$dir/lighttpd.conf" <<-EOT
		server.document-root = "$STAGE/www"
		server.bind = "127.0.0.1"
		server.port = $FRONT_PORT
		server.errorlog = "$STAGE/log/front.error"
		server.upload-dirs = ("$dir")
		server.max-keep-alive-requests = 100000
		${FRONT_SITE:-}
		include "$dir/reproute.conf"
		# what is not routed; through a pipe, since lighttpd keeps lines for a
		# file back for seconds
		accesslog.filename = "|/usr/bin/tee -a $STAGE/log/access"
		$tls
		accesslog.format = "%h \"%r\" %s upstream=%{REPROUTE_UPSTREAM}e reason=%{REPROUTE_REASON}e"
	EOT
	lighttpd -tt -f "$dir/lighttpd.conf" &&
		stage_start front lighttpd -D -f "$dir/lighttpd.conf" &&
		stage_wait 10 stage_listens "$FRONT_PORT"
}

front_reload() { kill -USR1 "$(cat "$STAGE/pid/front")"; }

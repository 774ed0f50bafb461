# shellcheck shell=bash
# lighttpd.sh: the front lighttpd, all of it but its port from webconf
# SPDX-License-Identifier: ISC

front_lighttpd_start() {
	local dir=$STAGE/front
	mkdir -p "$dir"
	stage_webconf lighttpd main --lua-file "$dir/reproute.lua" \
		> "$dir/reproute.conf" &&
		stage_webconf lighttpd script > "$dir/reproute.lua" || return
	cat > "$dir/lighttpd.conf" <<-EOT
		server.document-root = "$STAGE/www"
		server.bind = "127.0.0.1"
		server.port = $FRONT_PORT
		server.errorlog = "$STAGE/log/front.error"
		server.upload-dirs = ("$dir")
		server.max-keep-alive-requests = 100000
		include "$dir/reproute.conf"
		# through a pipe: lighttpd keeps lines for a file back for seconds
		accesslog.filename = "|/usr/bin/tee -a $STAGE/log/access"
		accesslog.format = "%h \"%r\" %s upstream=%{REPROUTE_UPSTREAM}e reason=%{REPROUTE_REASON}e"
	EOT
	front_lighttpd_test "$dir" &&
		stage_start front lighttpd -D -f "$dir/lighttpd.conf" &&
		stage_wait 10 stage_listens "$FRONT_PORT"
}

# front_lighttpd_test DIRECTORY: does lighttpd take it?
front_lighttpd_test() { lighttpd -tt -f "$1/lighttpd.conf"; }

front_lighttpd_reload() { kill -USR1 "$(cat "$STAGE/pid/front")"; }

# shellcheck shell=bash
# nginx.sh: the front nginx, all of it but its ports from webconf
# SPDX-License-Identifier: ISC

front_nginx_start() {
	local dir=$STAGE/front mode=auth_request tls=''
	[ "$STAGE_FRONT" != nginx-accel ] || mode=accel
	mkdir -p "$dir/tmp"
	# the stories read a log without times
	stage_webconf nginx http --mode "$mode" |
		sed "/^log_format reproute '/,/;\$/c\\
log_format reproute '\$remote_addr \"\$request\" \$status upstream=\$reproute_upstream reason=\$reproute_reason';" \
			> "$dir/http.conf" &&
		stage_webconf nginx server --mode "$mode" \
			--access-log "$STAGE/log/access" > "$dir/server.conf" || return
	[ -z "${FRONT_TLS_PORT:-}" ] ||
		tls="listen 127.0.0.1:$FRONT_TLS_PORT ssl http2;
			ssl_certificate $STAGE/tls/crt.pem;
			ssl_certificate_key $STAGE/tls/key.pem;"
	cat > "$dir/nginx.conf" <<-EOT
		worker_processes 2;
		$([ "$(id -u)" != 0 ] || echo 'user root;')
		daemon off;
		pid $dir/nginx.pid;
		error_log $STAGE/log/front.error warn;
		events { worker_connections 1024; }
		http {
			access_log off;
			client_body_temp_path $dir/tmp/body;
			proxy_temp_path $dir/tmp/proxy;
			fastcgi_temp_path $dir/tmp/fastcgi;
			uwsgi_temp_path $dir/tmp/uwsgi;
			scgi_temp_path $dir/tmp/scgi;
			keepalive_requests 100000;
			include $dir/http.conf;
			server {
				listen 127.0.0.1:$FRONT_PORT;
				$tls
				root $STAGE/www;
				include $dir/server.conf;
			}
		}
	EOT
	stage_push_endpoint && front_nginx_test "$dir" &&
		stage_start front nginx -e "$STAGE/log/front.error" \
			-c "$dir/nginx.conf" &&
		stage_wait 10 stage_listens "$FRONT_PORT"
}

# front_nginx_test DIRECTORY: does nginx take it?
front_nginx_test() { nginx -q -t -e "$STAGE/log/front.error" -c "$1/nginx.conf"; }

front_nginx_reload() { kill -HUP "$(cat "$STAGE/pid/front")"; }

# shellcheck shell=bash
# nginx.sh: the front nginx, all of it but its port from webconf
# SPDX-License-Identifier: ISC

export FRONT_UNDECIDED=reads

# front_print: what webconf says of the configuration as it is
front_print() {
	local dir=$STAGE/front mode=auth_request
	[ "$STAGE_FRONT" != nginx-accel ] || mode=accel
	stage_webconf nginx http --mode "$mode" > "$dir/http.conf" &&
		stage_webconf nginx server --mode "$mode" \
			--access-log "$STAGE/log/access" > "$dir/server.conf"
}

front_start() {
	local dir=$STAGE/front
	mkdir -p "$dir/tmp"
	front_print || return
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
				${FRONT_TLS_PORT:+
				listen 127.0.0.1:$FRONT_TLS_PORT ssl http2;
				ssl_certificate $dir/crt.pem;
				ssl_certificate_key $dir/key.pem;}
				root $STAGE/www;
				${FRONT_SITE:-}
				include $dir/server.conf;
			}
		}
	EOT
	stage_push_endpoint &&
		nginx -q -t -e "$STAGE/log/front.error" -c "$dir/nginx.conf" &&
		stage_start front nginx -e "$STAGE/log/front.error" \
			-c "$dir/nginx.conf" &&
		stage_wait 10 stage_listens "$FRONT_PORT"
}

front_reload() { kill -HUP "$(cat "$STAGE/pid/front")"; }

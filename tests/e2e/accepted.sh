#!/bin/bash
# The web server takes what is printed for any configuration.
# SPDX-License-Identifier: ISC
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
story_begin
stage_ports
stage_tls || { echo "Bail out! no certificate"; exit 1; }

# the sample, but for where its upstreams are: here no name resolves
sed -E "s|^( *state_dir = ).*|\1\"$STAGE/state\";|
	s|^( *run_dir = ).*|\1\"$STAGE/run\";|
	s|//git-master|//127.0.0.1|; s|//git-slave([0-9])|//127.0.0.1\1|
	s|//registry-old|//127.0.0.2|; s|//registry-new|//127.0.0.3|
	s|\"[^\"]*token\"|\"$STAGE/token\"|" \
	"$top/conf/reproute.conf.sample" > "$REPROUTE_CONF"
ok "the sample" "$STAGE_BIN/reproute" check -t
ok "is accepted" stage_front
stage_stop front

# every kind of upstream: plain, below a path, IPv6, TLS where it can be had
case $STAGE_FRONT in lighttpd*) scheme=http ;; *) scheme=https ;; esac
{
	echo "state_dir = \"$STAGE/state\"; run_dir = \"$STAGE/run\"; upstreams = ("
	for i in $(seq 17); do
		echo "{ name = \"u$i\"; url = \"http://127.0.0.1:$((9000 + i))/p$i\"; },"
	done
	echo '{ name = "u18"; url = "http://[::1]:9018"; },'
	echo "{ name = \"u19\"; url = \"$scheme://localhost\"; },"
	echo "{ name = \"u20\"; url = \"$scheme://127.0.0.1:9020/p/q\"; }"
	echo '); routes = ( { name = "a"; kind = "git"; prefix = "/a/"; primary = "u1";'
	echo "replicas = ($(seq -f '"u%g"' -s ', ' 2 16)); authorize = \"webserver\"; },"
	echo '{ name = "b"; kind = "registry"; prefix = "/v2/"; primary = "u17"; migrate = { to = "u18"; }; },'
	echo '{ name = "c"; kind = "git"; prefix = "/c.d+e/"; primary = "u19"; replicas = ("u20"); authorize = "webserver"; } );'
	echo "push = { token_file = \"$STAGE/token\"; };"
} > "$REPROUTE_CONF"
ok "3 routes, 20 upstreams" "$STAGE_BIN/reproute" check -t
ok "are accepted" stage_front
stage_stop front

# one route that is everything
cat > "$REPROUTE_CONF" <<-EOF
	state_dir = "$STAGE/state"; run_dir = "$STAGE/run";
	upstreams = ( { name = "all"; url = "http://127.0.0.1:9001"; } );
	routes = ( { name = "git"; kind = "git"; prefix = "/"; primary = "all"; } );
EOF
ok "one route, which is /" "$STAGE_BIN/reproute" check -t
ok "is accepted" stage_front
story_end

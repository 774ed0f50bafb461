#!/bin/bash
# Apache passes paths and cookies as they came, and obeys nobody but the router.
# SPDX-License-Identifier: ISC
case ${STAGE_FRONT:-} in apache*) ;; *) STAGE_FRONT=apache ;; esac
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
story_begin

# An upstream that answers what it was asked, at ECHO_PORT and by TLS.
echo_server() {
	local dir=$STAGE/echo
	mkdir -p "$dir"
	# shellcheck disable=SC2016 # the shell that runs it expands that
	printf '#!/bin/sh\nprintf "Content-Type: text/plain\\n\\n%%s\\n" "$REQUEST_METHOD $REQUEST_URI"\nenv\n' \
		> "$dir/echo"
	chmod 0755 "$dir" "$dir/echo"
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
		-addext subjectAltName=DNS:localhost -keyout "$dir/key.pem" \
		-out "$dir/crt.pem" || return
	{
		front_server "$dir" echo
		cat <<-EOT
			Listen 127.0.0.1:$ECHO_PORT
			Listen 127.0.0.1:$ECHO_TLS_PORT
			SSLCertificateFile "$dir/crt.pem"
			SSLCertificateKeyFile "$dir/key.pem"
			ScriptAliasMatch "(?s)^/.*" "$dir/echo"
			<VirtualHost 127.0.0.1:$ECHO_PORT>
			  AllowEncodedSlashes NoDecode
			</VirtualHost>
			<VirtualHost 127.0.0.1:$ECHO_TLS_PORT>
			  SSLEngine on
			</VirtualHost>
		EOT
	} > "$dir/apache.conf"
	stage_start echo apache2 -DFOREGROUND -f "$dir/apache.conf" &&
		stage_wait 10 stage_listens "$ECHO_PORT"
}

# stage_conf's, with routes to what answers what it was asked.
with_echo() {
	stage_conf && sed -i \
		-e "s|^upstreams = (|&{ name = \"echo\"; url = \"http://127.0.0.1:$ECHO_PORT\"; },{ name = \"deep\"; url = \"http://127.0.0.1:$ECHO_PORT/a/b\"; },{ name = \"tls\"; url = \"https://localhost:$ECHO_TLS_PORT\"; ca_file = \"$STAGE/echo/crt.pem\"; },{ name = \"other\"; url = \"https://127.0.0.1:$ECHO_TLS_PORT\"; ca_file = \"$STAGE/echo/crt.pem\"; },|" \
		-e 's|^routes = (|&{ name = "echo"; kind = "git"; prefix = "/echo/"; primary = "echo"; },{ name = "deep"; kind = "git"; prefix = "/deep/"; primary = "deep"; },{ name = "tls"; kind = "git"; prefix = "/tls/"; primary = "tls"; },{ name = "other"; kind = "git"; prefix = "/other/"; primary = "other"; },|' \
		"$REPROUTE_CONF" && "$STAGE_BIN/reproute" check -t
}

stage_ports
stage_port ECHO_PORT
stage_port ECHO_TLS_PORT
for name in primary replica1 replica2; do
	port=${name^^}_PORT
	ok "$name starts" stage_git $name "${!port}"
done
ok "what answers what it was asked" echo_server
ok "the configuration is right" with_echo
ok "the router" stage_router
ok "the daemon" stage_syncd
ok "Apache takes what is printed" stage_front

# raw TARGET: what the upstream was asked for
raw() { curl -s --path-as-is -g "$@" | head -n 1; }
while read -r target; do
	is "$(raw "$FRONT/echo/$target")" "GET /echo/$target" "$target: as it came"
done <<-'EOF'
	a%2Fb
	a%2fb
	a//b
	a+b
	a%20b
	a%3Fb
	a%25b
	./a
	a/../b
	a;x=1
	[a]
	@a
	a%23b
	a?b?c=%2F
	%41~%7e
	a%2525
	a:b,c!$&'()*=
EOF
is "$(raw "$FRONT/deep/a%2Fb//c")" "GET /a/b/deep/a%2Fb//c" \
	"below an upstream's path, too"
is "$(raw "$FRONT/%65cho/a")" "GET /%65cho/a" "an encoded prefix is routed"
is "$(raw "$FRONT/x/../echo/a")" "GET /x/../echo/a" "so is a resolved one"
like "$(front_status "$FRONT/echo;x/a")" '^40[14]$' \
	"a path parameter in the prefix is none of the route's"

# what a client says that only we may say
told=$(curl -s -H 'X-Reproute-Token: 00112233445566778899aabbccddeeff' \
	-H 'X-Reproute-Upstream: old' -H 'Connection: X-Reproute-Token' \
	-H 'Forwarded: host=evil' -H 'X-Forwarded-Host: evil' \
	-H 'X-Forwarded-Proto: evil' -b 'a=b; c=d' "$FRONT/echo/a")
for name in HTTP_X_REPROUTE HTTP_FORWARDED evil; do
	is "$(grep -c "$name" <<< "$told")" 0 "nobody hears $name of a client"
done
like "$told" '^HTTP_COOKIE=REPROUTE=x[.]echo; a=b; c=d$' \
	"a client's cookies go on behind ours"
for name in X_Reproute_Token X.Reproute.Token x-reproute_token; do
	is "$(front_status -H "$name: x" "$FRONT/echo/a")" 403 "$name is refused"
done
for target in 'a?REPROUTE=x.deep' 'a;REPROUTE=x.deep' 'a;no%20request=x.deep'; do
	is "$(raw -b 'REPROUTE=x.deep' "$FRONT/echo/$target")" \
		"GET /echo/$target" "$target: the router alone chooses"
done
is "$(front_status "$FRONT/reproute/pushed")" 404 "what is no route's is the site's"

# TLS: who an upstream is
like "$(raw "$FRONT/tls/a")" '^GET /tls/a$' "an upstream with TLS"
like "$(front_status "$FRONT/other/a")" "^50[02]\$" "one whose certificate is another's"

# a dead replica's read is the primary's in the same request
stage_repository team/app
git init -q work && git -C work commit -q --allow-empty -m one
url=$FRONT/scm/team/app.git
advert="$url/info/refs?service=git-upload-pack"
ok "a push" git -C work push -q "$url" main
eventually 60 "replicas serve" stage_both team/app
stage_stop replica1 KILL
stage_stop replica2 KILL
is "$(front_status "$advert")" 200 "replicas killed: the read is served"
eventually 10 "the daemon hears who served it" sh -c \
	"$STAGE_BIN/reproute status | grep -q 'replica.*down'"

# the primary dead: nobody takes its place
stage_git replica1 "$REPLICA1_PORT"
stage_git replica2 "$REPLICA2_PORT"
eventually 60 "replicas serve again" stage_both team/app
stage_stop primary KILL
is "$(front_status -d '' "$url/git-receive-pack")" 503 "a push without its primary"
like "$(curl -s -D - -d '' "$url/git-receive-pack" | tr -d '\r')" \
	'^Retry-After: 5$' "says when to come again"

# a site's own passwords stay in force
htpasswd -bc "$STAGE/front/users" somebody secret
export FRONT_MODE=users FRONT_SITE="<Location \"/echo/\">
	AuthType Basic
	AuthName x
	AuthUserFile $STAGE/front/users
	Require valid-user
</Location>"
ok "Apache ends" stage_stop front
ok "the site has passwords" stage_front
is "$(front_status "$FRONT/echo/a")" 401 "none: 401"
is "$(front_status -u somebody:wrong "$FRONT/echo/a")" 401 "a wrong one: 401"
is "$(front_status -u somebody:secret "$FRONT/echo/a")" 200 "the right one: 200"
FRONT_SITE=
story_end

#!/bin/bash
# Requests arrive byte for byte, and nothing that outsiders say of us does.
# SPDX-License-Identifier: ISC
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
story_begin
stage_ports
stage_tls || { echo "Bail out! no certificate"; exit 1; }
stage_echo() {
	stage_start "$1" perl "$top/tests/e2e/echo.pl" "$2" "$1" &&
		stage_wait 10 stage_listens "$2"
}
ok "a primary that echoes" stage_echo primary "$PRIMARY_PORT"
ok "an old registry that does" stage_echo old "$OLD_PORT"
ok "and a new one" stage_echo new "$NEW_PORT"
STAGE_MIGRATE_KEYS='include = ("^team/");' stage_conf
# one of them below a path
sed -i "s|\(\"new\"; url = \"http://127.0.0.1:$NEW_PORT\)|\1/base|" \
	"$REPROUTE_CONF"
ok "the router starts" stage_router
ok "the daemon starts" stage_syncd
ok "the front starts" stage_front
eventually 20 "both catalogues are imported" stage_imported
tls=https://127.0.0.1:$FRONT_TLS_PORT

# ask ARGUMENTS...: by curl; the answer, its status line first
ask() { curl -sgki --path-as-is --max-time 60 "$@" | tr -d '\r'; }

# every spelling, on every upstream
while read -r name prefix; do
	while read -r rest; do
		said=$(ask "$FRONT$prefix$rest")
		base=
		[ "$(printf '%s\n' "$said" | grep '^name:')" != 'name: new' ] ||
			base=/base
		like "$(printf '%s\n' "$said" | grep -F -x \
			-e "GET $base$prefix$rest HTTP/1.1" \
			-e "GET $base$prefix$rest HTTP/1.0")" '^GET ' "$name: $rest"
	done <<-'EOF'
		a%2Fb
		a%2fb
		a//b
		a+b
		a%3Fb
		a%25b
		./a
		b/../a
		a;b=c
		[a]
		a@b
		a%23b
		a?
		a?q=%2F%3F&x[]=1
		a%20b
		a%C3%A9b
		~a!$()*,:'
	EOF
done <<-'EOF'
	primary /scm/team/
	old /v2/other/manifests/
	new /v2/team/app/manifests/
EOF
is "$(ask "$FRONT/v2/team/app/manifests/x" | grep -c '^name: new$')" 1 \
	"the new registry was among them"

# methods and bodies
head -c 5000000 /dev/urandom > body
sum="5000000 $(sha256sum < body | cut -d' ' -f1)"
sent() { ask "$@" | sed -n 's/^body: //p'; }
for method in GET HEAD POST PUT PATCH DELETE; do
	arguments=(-X "$method")
	path=/v2/team/app/blobs/uploads/x
	case $method in
	HEAD) arguments=(-I) ;;
	POST) path=${path%x} arguments=(-d '') ;;
	esac
	like "$(ask "${arguments[@]}" "$FRONT$path")" \
		"^[Xx]-[Rr]equest-[Ll]ine: $method /base/v2/" "$method stays $method"
done
for path in /scm/team/app.git/git-receive-pack \
	/scm/team/app.git/git-upload-pack /v2/team/app/blobs/uploads/x; do
	is "$(sent --data-binary @body -H 'Expect:' "$FRONT$path")" "$sum" \
		"$path: a body of known length"
	is "$(sent --data-binary @body -H 'Expect:' \
		-H 'Transfer-Encoding: chunked' "$FRONT$path")" "$sum" \
		"$path: a chunked one"
	is "$(sent --data-binary @body -H 'Expect: 100-continue' \
		-H 'Transfer-Encoding: chunked' "$FRONT$path")" "$sum" \
		"$path: one that waits for 100"
done
gzip -c body > body.gz
is "$(sent --data-binary @body.gz -H 'Content-Encoding: gzip' \
	"$FRONT/scm/team/app.git/git-upload-pack")" \
	"$(stat -c %s body.gz) $(sha256sum < body.gz | cut -d' ' -f1)" \
	"a compressed body stays so"

# an upstream's refusal is the client's
for status in 400 404 413 429 500 502 503 504; do
	for path in "/scm/status-$status/x.git/git-receive-pack" \
		"/v2/other/status-$status/x"; do
		said=$(ask "$FRONT$path")
		like "$said" "^HTTP/1.1 $status " "$path: its status"
		like "$said" '^name: (primary|old)$' "$path: and its words"
	done
done
for path in /scm/status-401/x.git/git-receive-pack /v2/other/status-401/x; do
	like "$(ask -u you:wrong "$FRONT$path")" '^HTTP/1.1 401 ' "$path: 401"
	like "$(ask "$FRONT$path")" \
		'^[Ww][Ww][Ww]-[Aa]uthenticate: Basic realm="echo"$' \
		"$path: and its challenge"
done
like "$(ask -u you:secret "$FRONT/scm/team/x")" \
	"^Authorization: Basic $(printf you:secret | base64)\$" \
	"an upstream sees who it is"

# what outsiders say of us
write=$FRONT/scm/team/app.git/git-receive-pack
while read -r header; do
	said=$(ask -d x -H "$header" "$write")
	is "$(printf '%s' "$said" | grep -c spoof)" 0 "$header: does not arrive"
	like "$said" '^(name: primary|HTTP/1.1 4[0-9][0-9] .*)$' \
		"$header: moves nothing"
done <<-'EOF'
	X-Reproute-Upstream: spoof
	x-reproute-upstream: spoof
	X_Reproute_Upstream: spoof
	X-Reproute_Upstream: spoof
	X.Reproute.Upstream: spoof
	X-Reproute-Token: spoof
	X_Reproute_Token: spoof
	X.Reproute.Token: spoof
	X-Reproute-Reason: spoof
	Forwarded: for=spoof;host=spoof
	X-Forwarded-Host: spoof
	X-Forwarded-Proto: spoof
	X-Forwarded-Port: spoof
	X-Forwarded-For: spoof
EOF
while read -r header; do
	like "$(ask -H "$header" "$FRONT/scm/team/x")" '^name: primary$' \
		"$header: moves nothing"
done <<-'EOF'
	X-Reproute-Upstream: new
	Variable-REPROUTE_UPSTREAM: new
	REPROUTE_UPSTREAM: new
	X-Accel-Redirect: @new
	REPROUTE-ANSWER: status
	Cookie: REPROUTE=.new
	Cookie: REPROUTE=new; RT=new
EOF
for target in '/scm/x?RT=.new' '/scm/x;RT=.new' '/scm/x?REPROUTE=.new' \
	'/scm/x;REPROUTE=.new' '/scm/x?REPROUTE_ANSWER=status'; do
	like "$(ask "$FRONT$target")" '^name: primary$' "$target: moves nothing"
done
for path in ask failed ../.reproute/no/such/file x; do
	like "$(ask "$FRONT/reproute/$path")" '^HTTP/1.1 40[34] ' \
		"/reproute/$path is nothing for outsiders"
done
like "$(ask -H 'Cookie: a=b; c="d e"' "$FRONT/scm/team/x")" \
	'^Cookie: .*a=b; c="d e"' "cookies of others arrive"
said=$(ask -d x -H 'Connection: X-Reproute-Token, close' "$write")
like "$said" '^X-Reproute-Token: [0-9a-f]{32}$' \
	"a token is not taken away by the client's Connection"
said=$(ask -d x -H 'Forwarded: host=spoof' -H 'X-Forwarded-Host: spoof' "$write")
like "$said" "^X-Forwarded-Host: 127.0.0.1:$FRONT_PORT\$" \
	"the host is the front's"
like "$said" '^X-Forwarded-Proto: http$' "and the scheme"
like "$said" "^Host: 127.0.0.1:$FRONT_PORT\$" "the Host is the client's"
is "$(ask "$FRONT/scm/team/x" | grep -ci '^x-reproute-token')" 0 \
	"a read has no token"

# TLS
said=$(ask "$tls/scm/team/x%2F;y")
like "$said" '^GET /scm/team/x%2F;y HTTP/1.[01]$' "the same over TLS"
like "$said" '^X-Forwarded-Proto: https$' "the scheme is https"
like "$said" "^X-Forwarded-Host: 127.0.0.1:$FRONT_TLS_PORT\$" "and its port"
version=2
case $STAGE_FRONT in lighttpd*) version=1.1 ;; esac
is "$(curl -sko /dev/null -w '%{http_version}' "$tls/scm/team/x")" "$version" \
	"HTTP/$version there"
is "$(curl -sk --data-binary @body "$tls/scm/team/app.git/git-receive-pack" |
	sed -n 's/^body: //p')" "$sum" "a body over HTTP/$version"

# the status page
like "$(ask "$FRONT/reproute/status")" '^git \(git, /scm/\)$' "the status page"
like "$(ask "$FRONT/reproute/status?json" | tail -n 1)" \
	'^\{"red":(true|false),.*"routes":\[\{"route":"git",' "in JSON"
story_end

#!/bin/bash
# The site's passwords are in force for what is routed, however it is spelt.
# SPDX-License-Identifier: ISC
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
story_begin
mkdir -p front
printf 'somebody:%s\n' "$(openssl passwd -apr1 secret)" > front/users
users=$STAGE/front/users
refused='^40[0134]$'
# shellcheck disable=SC2089,SC2090 # the quotes are the web server's
case $STAGE_FRONT in
nginx*) FRONT_SITE="auth_basic x; auth_basic_user_file $users;" ;;
apache*)
	export FRONT_MODE=users
	# what is no route is not below the site's Location: without its
	# AuthType, Apache makes 500 of what mod_authnz_fcgi denies
	[ "$STAGE_FRONT" = apache ] || refused='^(40[0134]|500)$'
	FRONT_SITE="<Location /scm/>
		AuthType Basic
		AuthName x
		AuthUserFile $users
		Require valid-user
	</Location>
	<Location /v2/>
		AuthType Basic
		AuthName x
		AuthUserFile $users
		Require valid-user
	</Location>"
	;;
*)
	FRONT_SITE="server.modules += (\"mod_auth\", \"mod_authn_file\")
		auth.backend = \"htpasswd\"
		auth.backend.htpasswd.userfile = \"$users\"
		auth.require = (\"/scm/\" => (\"method\" => \"basic\",
			\"realm\" => \"x\", \"require\" => \"valid-user\"))"
	;;
esac
# shellcheck disable=SC2090
export FRONT_SITE
ok "everything starts, with passwords" stage_all || story_end
stage_repository team/app
git init -q work && git -C work commit -q --allow-empty -m one
with=http://somebody:secret@127.0.0.1:$FRONT_PORT
advert='/scm/team/app.git/info/refs?service=git-upload-pack'

ok "a push with the password" git -C work push -q "$with/scm/team/app.git" main
eventually 30 "replicas serve" stage_both team/app
is "$(front_status "$FRONT$advert")" 401 "none: 401"
is "$(front_status -u somebody:wrong "$FRONT$advert")" 401 "a wrong one: 401"
is "$(front_status -u somebody:secret "$FRONT$advert")" 200 "the right one: 200"
fails "a push without one" git -C work push -q "$FRONT/scm/team/app.git" \
	main:refs/heads/none
for path in '/scm;a/' '/;/scm/' '/a/..;/scm/' '/%73cm;x/' '/..;/scm/' \
	'/scm%3Ba/' '/a/../scm/' '/%73cm/' '//scm/'; do
	for rest in 'team/app.git/info/refs?service=git-upload-pack' \
		team/app.git/HEAD; do
		from=$(mark)
		like "$(front_status "$FRONT$path$rest")" "$refused" \
			"$path$rest without one is refused"
		is "$(routed_since "$from" | grep -c ' 200 upstream=[a-z]')" 0 \
			"and reaches no upstream"
	done
	like "$(front_status -d 0000 "$FRONT${path}team/app.git/git-receive-pack")" \
		"$refused" "no write through $path, either"
done

# what has a word of its own
sha=$(git -C work rev-parse main)
is "$(front_status -d "project=team&repo=app&sha1=$sha" \
	-H "Authorization: Bearer $(cat token)" "$FRONT/reproute/push")" 200 \
	"hooks need no password, but their token"
is "$(front_status -d "project=team&repo=app&sha1=$sha" \
	"$FRONT/reproute/push")" 401 "which they need"
is "$(front_status "$FRONT/reproute/status")" 200 "nor does the status page"
story_end

#!/bin/bash
# A repository is on one side of a migration, and stays there.
# SPDX-License-Identifier: ISC
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
story_begin
stage_ports
ok "registries start" stage_registry old "$OLD_PORT"
ok "both of them" stage_registry new "$NEW_PORT"

# what is there before the migration begins
stage_image six 6 300
stage_image one 1 20
ok "an image is in the old registry" stage_push six legacy/six:1 "$OLD_PORT"
for i in $(seq 12); do
	stage_push one "legacy/app$i:1" "$OLD_PORT" || echo "# legacy/app$i"
done

STAGE_MIGRATE_KEYS='include = ( { name = "team"; pattern = "^team/"; }, "^legacy/" ); exclude = ( { name = "kept"; pattern = "^team/kept/"; } );'
ok "the configuration is right" stage_conf
ok "the router starts" stage_router
ok "the front starts" stage_front
is "$(stage_why PUT "$FRONT/v2/team/app/manifests/1")" not-imported \
	"before the catalogues are imported, everything goes to the old side"
ok "the daemon starts" stage_syncd
eventually 20 "it imports both catalogues" stage_imported
is "$(stage_why GET "$FRONT/v2/legacy/app12/tags/list")" placed \
	"what was there is placed"
is "$(stage_why PUT "$FRONT/v2/legacy/six/manifests/2" upstream)" old \
	"where it was, although an include rule matches"

# side NAME: which registries have tags of it
side() {
	stage_has "$OLD_PORT" "$1" && printf 'old '
	stage_has "$NEW_PORT" "$1" && printf 'new'
	return 0
}

# copy SOURCE TARGET: between names at the front; skopeo sends layers of a
# registry's image six at a time
copy() {
	skopeo --insecure-policy copy -q --src-tls-verify=false \
		--dest-tls-verify=false "docker://127.0.0.1:$FRONT_PORT/$1" \
		"docker://127.0.0.1:$FRONT_PORT/$2"
}
pull() {
	rm -rf "$STAGE/pulled"
	skopeo --insecure-policy copy -q --src-tls-verify=false \
		"docker://127.0.0.1:$FRONT_PORT/$1" "oci:$STAGE/pulled:x"
}
inspect() {
	skopeo inspect --tls-verify=false "docker://127.0.0.1:$FRONT_PORT/$1"
}
placement() { stage_why GET "$FRONT/v2/$1/tags/list" upstream; }

ok "a new image, six layers at once" copy legacy/six:1 team/six:1
is "$(side team/six)" new "it is in the new registry, all of it"
is "$(placement team/six)" new "and placed there"
ok "an excluded one" copy legacy/six:1 team/kept/six:1
is "$(side team/kept/six)" "old " "is in the old registry"
ok "one that no rule includes" stage_push one other/app:1
is "$(side other/app)" "old " "is in the old registry, too"
is "$(stage_why PUT "$FRONT/v2/team/kept/x/manifests/1" rule)" kept \
	"explain names the rule"

ok "pull by tag" pull team/six:1
digest=$(inspect team/six:1 | sed -n 's/.*"Digest": "\(.*\)".*/\1/p')
like "$digest" '^sha256:' "the image has a digest"
ok "pull by digest" pull "team/six@$digest"
ok "pull from the old side" pull legacy/six:1
ok "a push again" copy legacy/six:1 team/six:2
ok "mount across sides" copy team/kept/six:1 team/mounted:1
is "$(side team/mounted)" new "the target is on its own side"
ok "mount within a side" copy team/six:1 team/mounted2:1
is "$(side team/mounted2)" new "and so is this"

# a push through the front and back again is the same image
ok "pull what crossed" pull team/mounted:1
is "$(inspect team/mounted:1 | sed -n 's/.*"Digest": "\(.*\)".*/\1/p')" \
	"$digest" "the same digest"

# Location names the front, so that no client sees another host
location=$(curl -s -o /dev/null -D - -d "" \
	"$FRONT/v2/team/six/blobs/uploads/" | tr -d '\r' |
	sed -n 's/^[Ll]ocation: //p')
like "$location" "^($FRONT)?/v2/team/six/blobs/uploads/" \
	"an upload continues at the front"

# rules changed in the middle of a push
upload=$(curl -s -o /dev/null -D - -d "" \
	"$FRONT/v2/team/moving/blobs/uploads/" | tr -d '\r' |
	sed -n 's/^[Ll]ocation: //p')
STAGE_MIGRATE_KEYS='include = ("^nobody/");'
ok "the rules are narrowed" stage_conf
# shellcheck disable=SC2046 # pids
kill -HUP $(stage_routers)
eventually 10 "the router takes them up" sh -c \
	"[ \"\$(curl -s -o /dev/null -D - -d '' $FRONT/v2/team/fresh/blobs/uploads/ -w '%{http_code}' | tail -1)\" = 202 ] && \
	\"$STAGE_BIN/reproute\" explain GET $FRONT/v2/team/fresh/tags/list | grep -q old"
case $upload in /*) upload=$FRONT$upload ;; esac
printf hello > hello
sum=$(sha256sum < hello | cut -d' ' -f1)
is "$(curl -s -o /dev/null -w '%{http_code}' -X PUT --data-binary @hello \
	-H 'Content-Type: application/octet-stream' \
	"$upload&digest=sha256:$sum")" 201 "the upload ends where it began"
ok "an image that was placed by the old rules can be pushed" \
	copy legacy/six:1 team/six:3
ok "and pulled" pull team/six:3
is "$(side team/six)" new "on its side"
ok "its tags are listed" curl -sf "$FRONT/v2/team/six/tags/list"
digest2=$(inspect team/six:3 | sed -n 's/.*"Digest": "\(.*\)".*/\1/p')
is "$(curl -s -o /dev/null -w '%{http_code}' -X DELETE \
	"$FRONT/v2/team/six/manifests/$digest2")" 202 "and deleted"
ok "a new name follows the new rules" stage_push one team/late:1
is "$(side team/late)" "old " "on the old side"
kill -HUP "$(cat "$STAGE/pid/syncd")"
eventually 10 "the daemon takes them up, too" \
	grep -q reloading "$STAGE/log/syncd"

# a name on both sides is reported and stays where its row says
ok "somebody pushes past the front" stage_push one team/six:9 "$OLD_PORT"
"$STAGE_BIN/reproute" import registry > import.out 2>&1
like "$(cat import.out)" 'conflict|other side|both' "an import reports it"
is "$(placement team/six)" new "its row stays"

# one side down: its repositories fail, the other's are served
stage_stop new KILL
status=$(curl -s -o /dev/null -w '%{http_code}' "$FRONT/v2/team/six/tags/list")
like "$status" '^50[0-9]$' "new side down: its repositories are not served"
like "$(curl -s "$FRONT/v2/team/six/tags/list")" \
	'^\{"errors":\[\{"code":"UNAVAILABLE"' "and clients are told so by JSON"
ok "the old side's are" pull legacy/six:1
ok "it comes back" stage_registry new "$NEW_PORT"
eventually 10 "and takes a push again" stage_push one team/six:10
ok "which can be pulled" pull team/six:10

# placements are a person's to change, when both sides were asked
fails "place refuses a side that does not have it" \
	"$STAGE_BIN/reproute" place registry legacy/app1 new --apply
is "$(placement legacy/app1)" old "nothing changed"
ok "without --apply nothing changes" \
	"$STAGE_BIN/reproute" place registry legacy/app1 old
ok "forget drops a placement" \
	"$STAGE_BIN/reproute" forget registry legacy/app1 --apply
is "$(stage_why GET "$FRONT/v2/legacy/app1/tags/list")" not-included \
	"and the rules decide again"

# the catalogue's page edges: 12 + names, read one page after the other
"$STAGE_BIN/reproute" import registry >/dev/null 2>&1
is "$(placement legacy/app1)" old "until an import finds it"
story_end

# shellcheck shell=bash
# faults.sh: breaks something every few seconds, and mends it, while reads go on
# SPDX-License-Identifier: ISC
#
# Sourced by run.  Each fault is a pair of functions: NAME_breaks, which says
# by its status whether it could, and NAME_mends.  Left out: a clock that is
# stepped, which this host shares with others.

# Between two faults, and how long one lasts, in seconds.
FAULT_GAP=4
FAULT_LASTS=4

# killed PATTERN: a process of the stage with such a command line, if there is
# one within two seconds.
killed() {
	local pid end=$((SECONDS + 2))
	while [ $SECONDS -le $end ]; do
		for pid in $(stage_left); do
			tr '\0' ' ' < "/proc/$pid/cmdline" 2>/dev/null |
				grep -Eq "$1" || continue
			kill -KILL "$pid" 2>/dev/null && return
		done
		sleep 0.05
	done
	return 1
}

# killed_git NAME: its web server and all that this had started, as the end of
# a unit does; git's locks are left.
killed_git() {
	local pid
	kill -KILL "$(cat "$STAGE/pid/$1")"
	for pid in $(stage_left); do
		! grep -qzxF "GIT_PROJECT_ROOT=$STAGE/git/$1" \
			"/proc/$pid/environ" 2>/dev/null ||
			kill -KILL "$pid" 2>/dev/null
	done
	stage_stop "$1" KILL
}

router_breaks() {
	# shellcheck disable=SC2046 # pids
	kill -KILL $(stage_routers)
	stage_stop router KILL
	sleep 1
	stage_router
}
router_mends() { :; }

daemon_breaks() { stage_stop syncd KILL; }
daemon_mends() { stage_syncd; }

# longer than its heartbeat counts
stopped_daemon_breaks() {
	kill -STOP "$(cat "$STAGE/pid/syncd")" && sleep 3
}
stopped_daemon_mends() { kill -CONT "$(cat "$STAGE/pid/syncd")"; }

hook_breaks() { killed '^/bin/sh ([^ ]*/)?hooks/(pre|post)-receive'; }
hook_mends() { :; }

client_breaks() { killed '^git -C [^ ]*/source.git push '; }
client_mends() { :; }

replica_breaks() { killed_git replica1; }
replica_mends() { stage_git replica1 "$REPLICA1_PORT"; }

# it takes connections, and never answers
swallowing_replica_breaks() {
	kill -STOP "$(cat "$STAGE/pid/replica2")" && sleep 3
}
swallowing_replica_mends() { kill -CONT "$(cat "$STAGE/pid/replica2")"; }

primary_breaks() { killed_git primary; }
primary_mends() {
	# who else would: no push of the ref passes any more
	find "$STAGE/git/primary" -name '*.lock' -delete
	stage_git primary "$PRIMARY_PORT"
}

# a writer that is stopped inside its transaction
stopped_writer_breaks() {
	: > "$STAGE/log/hold"
	stage_start hold "$work/obj/tests/stale/hold" "$STAGE/state" 9000 0 1
	stage_wait 5 grep -q held "$STAGE/log/hold" &&
		kill -STOP "$(cat "$STAGE/pid/hold")"
}
stopped_writer_mends() {
	kill -CONT "$(cat "$STAGE/pid/hold")"
	stage_stop hold
}

feed_breaks() { mv "$STAGE/run/feed.sock" "$STAGE/run/lost.sock"; }
feed_mends() { mv "$STAGE/run/lost.sock" "$STAGE/run/feed.sock"; }

# full DIRECTORY: not a byte is left there
full() {
	cat /dev/zero > "$1/full" 2>/dev/null
	[ -s "$1/full" ]
}
full_replica_breaks() { full "$STAGE/git/replica2"; }
full_replica_mends() { rm -f "$STAGE/git/replica2/full"; }
full_state_breaks() { full "$STAGE/state"; }
full_state_mends() { rm -f "$STAGE/state/full"; }

# small_disks: where a fault fills one; before anything is there.
small_disks() {
	mkdir -p "$STAGE/git/replica2" &&
		mount -t tmpfs -o size=64m,mode=0755 stale "$STAGE/git/replica2" &&
		mount -t tmpfs -o size=32m,mode=0755 stale "$STAGE/state"
}
# While they are in use: that they are empty from then on hurts nobody.
no_small_disks() {
	[ "$form" = short ] ||
		umount -l "$STAGE/git/replica2" "$STAGE/state" 2>/dev/null
}

FAULTS='router daemon stopped_daemon hook client replica swallowing_replica
	primary stopped_writer feed full_replica full_state'

note() { "$work/obj/tests/stale/stamp" "$STAGE/faults" "$1" "$2"; }

# one NAME
one() {
	note begin "$1"
	if "$1_breaks"; then
		sleep $FAULT_LASTS
	else
		stage_say "$1: did not break"
	fi
	"$1_mends"
	note end "$1"
	sleep $FAULT_GAP
}

# faults PID: one after the other, until that process ends.
faults() {
	local name
	while :; do
		for name in ${STALE_FAULTS:-$FAULTS}; do
			kill -0 "$1" 2>/dev/null || return
			one "$name" > "$STAGE/log/faults" 2>&1 </dev/null
		done
	done
}

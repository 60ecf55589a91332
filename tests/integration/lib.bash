# What every integration test stands on: two homes on one machine, agents on free ports of 127.0.0.1, and checks that
# say what they saw when they fail. A test file begins with `load lib` and gets setup() and teardown() from here; a
# file with needs of its own defines them again and calls test_begin and test_end.
#
# Words: A is the home of whoever runs `haul` (known to B as edit1), B the home of a hauld (known to A as nas) that
# offers the directory $SHARE as inbox. T is the test's own directory.

bats_require_minimum_version 1.5.0

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
HAUL_BUILD=${HAUL_BUILD:-$ROOT/build}
HAUL=${HAUL:-$HAUL_BUILD/bin/haul}
HAULD=${HAULD:-$HAUL_BUILD/bin/hauld}
SCALE=${HAUL_TEST_SCALE:-full}
SEED=${HAUL_TEST_SEED:-1}
# Seconds that any one command may take; sanitizers are slow.
LIMIT=${HAUL_TEST_LIMIT:-240}

for tools in "$HAUL_BUILD/bin" "$HAUL_BUILD/tests" "$HAUL_BUILD/tests/integration"; do
	[ -x "$tools/haul_treecmp" ] && TREECMP=$tools/haul_treecmp
	[ -x "$tools/haul_mktree" ] && MKTREE=$tools/haul_mktree
	[ -x "$tools/haul_tlsrecords" ] && TLSRECORDS=$tools/haul_tlsrecords
	[ -x "$tools/haul_swap" ] && SWAP=$tools/haul_swap
done

export TSAN_OPTIONS=suppressions=$ROOT/tests/tsan.supp:${TSAN_OPTIONS:-}

# No answer of a user's own configuration may leak into a test.
unset HAUL_HOME HAUL_ENGINE
for name in $(compgen -e HAUL_OPTION_ || true); do unset "$name"; done

setup() { test_begin; }
teardown() { test_end; }

# test_begin [DIRECTORY]: the test's own directory, given by bats or made by the test.
test_begin() {
	T=${1:-$BATS_TEST_TMPDIR}
	export HOME=$T/home XDG_CONFIG_HOME=$T/home/config XDG_STATE_HOME=$T/home/state
	mkdir -p "$HOME"
	AGENTS=() OTHERS=() MOUNTS=()
	RANDOM=$SEED
}

# test_in_the_open: the test's directory is one that every user can reach, with programs that every user can run, wherever
# the tree and bats' own directory lie.
test_in_the_open() {
	test_begin "$(mktemp -d /tmp/haul-test.XXXXXX)"
	chmod 0755 "$T"
	mkdir "$T/bin"
	install -m 0755 "$HAUL" "$HAULD" "$T/bin/"
	HAUL=$T/bin/haul HAULD=$T/bin/hauld
}

# Stop what the test started; an agent that does not end well by itself, or a sanitizer's report, fails the test.
test_end() {
	local pid bad=0 mount
	for pid in "${OTHERS[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
	for pid in "${AGENTS[@]}"; do stop_agent "$pid" || bad=1; done
	for mount in "${MOUNTS[@]}"; do umount "$mount" 2>/dev/null || umount -l "$mount" || true; done
	if grep -lE 'Sanitizer|runtime error:|Assertion .* failed' "$T"/*.err "$T"/err 2>/dev/null; then
		grep -hE -A 20 'Sanitizer|runtime error:|Assertion' "$T"/*.err "$T"/err | head -n 60
		bad=1
	fi
	rm -rf "$T"
	return $bad
}

# --- commands -------------------------------------------------------------------------------------------------------

# `haul` as A. One limit for all: a command that hangs is a failure (124).
haul() { HAUL_HOME=$A timeout -k 5 "$LIMIT" "$HAUL" "$@"; }
# `haul` in B's home.
haul_b() { HAUL_HOME=$B timeout -k 5 "$LIMIT" "$HAUL" "$@"; }

show_output() {
	head -n 40 "$T/out" | cut -c 1-300 | sed 's/^/  stdout: /'
	head -n 40 "$T/err" | cut -c 1-300 | sed 's/^/  stderr: /'
}

# expect CODE COMMAND...: run it without a terminal or input, keep stdout in $T/out and stderr in $T/err.
# CODE may be a choice: "5|0".
expect() {
	local want=$1 got=0
	shift
	"$@" >"$T/out" 2>"$T/err" </dev/null || got=$?
	GOT=$got
	case "|$want|" in *"|$got|"*) return 0 ;; esac
	echo "exit $got instead of $want: $*"
	show_output
	return 1
}

# err_has TEXT..., out_has TEXT...: each stands somewhere in what the last command printed.
err_has() { has_text "$T/err" "$@"; }
out_has() { has_text "$T/out" "$@"; }
has_text() {
	local file=$1 text
	shift
	for text in "$@"; do
		grep -qF -e "$text" "$file" && continue
		echo "missing: $text"
		show_output
		return 1
	done
}
err_lacks() { lacks_text "$T/err" "$@"; }
out_lacks() { lacks_text "$T/out" "$@"; }
lacks_text() {
	local file=$1 text
	shift
	for text in "$@"; do
		grep -qF -e "$text" "$file" || continue
		echo "should not be there: $text"
		show_output
		return 1
	done
}

# fail_with TEXT: what a test says when it finds something wrong by itself.
fail_with() {
	echo "$1"
	return 1
}

# no_line PATTERN FILE: none of the file's lines match. (`! grep` in the middle of a test fails nothing.)
no_line() {
	local line
	[ -r "$2" ] || { fail_with "there is no file to look into: $2"; return 1; }
	line=$(grep -e "$1" "$2" | head -n 1)
	[ -z "$line" ] || fail_with "should not be there: $line"
}

# check CONDITION...: a test(1) expression that says what it was when it is false.
check() {
	test "$@" && return 0
	echo "not true: $*"
	return 1
}

# done_is FIELD VALUE [FIELD VALUE]...: fields of the last JSON line of stdout.
done_is() {
	local got
	check "$(tail -n 1 "$T/out" | jq -r .event)" = done || { show_output; return 1; }
	while [ $# -gt 1 ]; do
		got=$(done_field "$1")
		if [ "$got" != "$2" ]; then
			echo "done: $1 is $got, not $2"
			show_output
			return 1
		fi
		shift 2
	done
}
done_field() { tail -n 1 "$T/out" | jq -c ".$1" | sed 's/^"\(.*\)"$/\1/'; }

# offset_named BYTES FILE: a line of the output names FILE and that offset.
offset_named() {
	grep -hF -e "$2" "$T/out" "$T/err" | tr -d ',' | grep -qE "(^|[^0-9])$1([^0-9]|\$)" && return 0
	echo "no line names $2 with offset $1"
	show_output
	return 1
}

# --- agents ---------------------------------------------------------------------------------------------------------

# The device id of a home, in whatever words `haul id` puts around it.
device_id() {
	HAUL_HOME=$1 timeout -k 5 "$LIMIT" "$HAUL" id </dev/null | grep -oE '[A-Z2-7]{4,}(-[A-Z2-7]{4,}){3,}' | head -n 1
}

# start_agent HOME [OPTION...]: hauld in the background; sets AGENT_PID and AGENT_PORT. HAULD_UNDER, a list of words,
# stands before the program (strace, setpriv). Its output goes to HOME.out and HOME.err.
start_agent() {
	local home=$1 listen=${LISTEN:-127.0.0.1:0}
	shift
	: >"$home.out"
	# shellcheck disable=SC2086 # a list of words
	HAUL_HOME=$home ${HAULD_UNDER:-} "$HAULD" --listen "$listen" "$@" >"$home.out" 2>>"$home.err" </dev/null 3>&- 4>&- &
	AGENT_PID=$!
	AGENTS+=("$AGENT_PID")
	wait_for 30 grep -q '^listening ' "$home.out" || {
		echo "hauld did not say where it listens:"
		cat "$home.out" "$home.err"
		return 1
	}
	AGENT_PORT=$(sed -n 's/^listening .*:\([0-9]*\)$/\1/p' "$home.out" | head -n 1)
}

# wait_for SECONDS COMMAND...: until it succeeds.
wait_for() {
	local left=$(($1 * 20))
	shift
	while ! "$@" >/dev/null 2>&1; do
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
		sleep 0.05
	done
}

# is_arriving DIR: a file lies in haul's own directory there, under its private name.
is_arriving() { find "$1/.haul" -type f | grep -q .; }

is_gone() { ! kill -0 "$1" 2>/dev/null; }

# SIGTERM must end an agent within ten seconds with exit 0.
stop_agent() {
	local rc=0
	kill -TERM "$1" 2>/dev/null || true
	if ! wait_for 10 is_gone "$1"; then
		echo "hauld $1 did not stop on SIGTERM within 10 s"
		kill -9 "$1" 2>/dev/null || true
		rc=1
	fi
	wait "$1" 2>/dev/null || { echo "hauld $1 ended with $?"; rc=1; }
	forget_agent "$1"
	return $rc
}

kill_agent() {
	kill -9 "$1" 2>/dev/null || true
	wait "$1" 2>/dev/null || true
	forget_agent "$1"
}

forget_agent() {
	local pid kept=()
	for pid in "${AGENTS[@]}"; do [ "$pid" = "$1" ] || kept+=("$pid"); done
	AGENTS=("${kept[@]}")
}

# pair [RIGHTS]: A and B know each other, B's hauld runs and offers $SHARE (made when missing) as inbox. As start_agent
# it heeds LISTEN (address and port) and HAULD_UNDER, so B may sit in a network namespace of its own.
pair() {
	A=$T/a B=$T/b
	B_HOST=${LISTEN:-127.0.0.1:0}
	B_HOST=${B_HOST%:*}
	SHARE=${SHARE_AT:-$T/share}
	mkdir -p "$SHARE"
	A_ID=$(device_id "$A") B_ID=$(device_id "$B")
	[ -n "$A_ID" ] && [ -n "$B_ID" ] && [ "$A_ID" != "$B_ID" ]
	expect 0 haul_b share add inbox "$SHARE"
	expect 0 haul_b peer add "$A_ID" --name edit1 --allow "inbox=${1:-writer}"
	start_agent "$B"
	expect 0 haul peer add "$B_ID" --name nas --address "$B_HOST:$AGENT_PORT"
}

# restart_b [OPTION...]: after the agent of B was stopped, start it again where it listened.
restart_b() {
	LISTEN=${B_HOST:-127.0.0.1}:$AGENT_PORT start_agent "$B" "$@"
}

# places push|pull|here: where FILE lies, what is copied FROM and TO, and the directory THERE that it arrives in; both are
# empty by then. After pair.
places() {
	case $1 in
	push) DIR=$T/src THERE=$SHARE FROM=$T/src/ TO=nas:inbox ;;
	pull) DIR=$SHARE THERE=$T/local FROM=nas:inbox TO=$T/local/ ;;
	here) DIR=$T/src THERE=$T/local FROM=$T/src/ TO=$T/local/ ;;
	esac
	FILE=$DIR/file
	rm -rf "$DIR" "${THERE:?}"/* "$THERE/.haul"
	mkdir -p "$DIR" "$THERE"
}

# watch_memory PID FILE: the high-water mark in KiB, read until the process is gone.
watch_memory() {
	(while kill -0 "$1" 2>/dev/null; do
		awk '/VmHWM/ { print $2 }' "/proc/$1/status" 2>/dev/null >"$2.new" && [ -s "$2.new" ] && mv "$2.new" "$2"
		sleep 0.05
	done) 3>&- 4>&- &
	OTHERS+=($!)
}

# agent_mib: the same of the agent, in MiB.
agent_mib() { echo $(($(awk '/VmHWM/ { print $2 }' "/proc/$AGENT_PID/status") / 1024)); }

# --- conditions -----------------------------------------------------------------------------------------------------

# as_user COMMAND...: as somebody without privileges, who needs no entry in the list of users.
as_user() { setpriv --reuid=1234 --regid=1234 --clear-groups -- "$@"; }
# need_user: the machine has such users. After test_in_the_open.
need_user() {
	need_root
	need_tool setpriv
	as_user test -x "$HAUL" || skip "a user without privileges cannot run $HAUL"
}
need_root() { [ "$(id -u)" = 0 ] || skip "needs root"; }
need_full() { [ "$SCALE" = full ] || skip "only at full scale (HAUL_TEST_SCALE=full)"; }
need_tool() {
	local tool
	for tool in "$@"; do command -v "$tool" >/dev/null || skip "needs $tool"; done
}
# need_space MEGABYTES: free where the tests keep their files.
need_space() {
	local free
	free=$(df -Pm "$BATS_TEST_TMPDIR" | awk 'NR == 2 { print $4 }')
	[ "$free" -ge "$1" ] || skip "needs $1 MB of free space, there are $free"
}

# mount_loop KIND MEGABYTES DIR [MKFS OPTION...]: a file system of its own; skips where the machine cannot.
mount_loop() {
	need_root
	mkdir -p "$3"
	if [ "$1" = tmpfs ]; then
		mount -t tmpfs -o "size=$2m" tmpfs "$3" || skip "cannot mount tmpfs"
	else
		need_tool "mkfs.$1"
		truncate -s "$2M" "$3.img"
		"mkfs.$1" "${@:4}" "$3.img" >"$T/mkfs.log" 2>&1 || skip "mkfs.$1 refused: $(tail -n 1 "$T/mkfs.log")"
		mount -o loop "$3.img" "$3" 2>"$T/mount.log" || skip "cannot mount $1: $(tail -n 1 "$T/mount.log")"
	fi
	MOUNTS=("$3" "${MOUNTS[@]}") # the last one goes first
}

# share_on KIND MEGABYTES [MKFS OPTION...]: pair anew, with the share on a file system of its own.
share_on() {
	SHARE_AT=$T/small
	mount_loop "$1" "$2" "$SHARE_AT" "${@:3}"
	stop_agent "$AGENT_PID"
	rm -rf "$T/a" "$T/b"
	pair
}

# make_tree DIR BYTES: a big file and SMALL_FILES small ones (100); SIZE and FILES are of all.
make_tree() {
	mkdir -p "$1"
	"$MKTREE" big "$2" "$1/big"
	"$MKTREE" small "${SMALL_FILES:-100}" 3000 "$1/many"
	SIZE=$(find "$1" -type f -printf '%s\n' | awk '{ n += $1 } END { printf "%d", n }')
	FILES=$(find "$1" -type f | wc -l)
}

# What the tests of move begin with, in a directory of its own, which becomes the current one; A has no home yet.
things_to_move() {
	A=$T/a
	mkdir "$T/w"
	cd "$T/w" || return 1
	mkdir -p Footage/day archive
	echo clip >Footage/day/clip
	echo top >Footage/top
	echo single >file.txt
	ln -s Footage toDir
}

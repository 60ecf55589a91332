#!/bin/sh
# Try haul on this machine in a few minutes: build it, let two agents trust each other, send a real tree from one to the
# other, verify it, damage it, find the damage, repair it. Asks nothing, and says first what it will change.
#
# Usage: sh cli/try.sh
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1
exec </dev/null

steps=8
number=0
step='start'
log=
work=
agent=

# Stop what runs, remove what was made. Also on Ctrl-C.
clean_up() {
	[ -z "$agent" ] || kill "$agent" 2>/dev/null
	[ -z "$agent" ] || wait "$agent" 2>/dev/null
	agent=
	[ -z "$work" ] || rm -rf "$work"
	work=
}

failed() {
	trap - EXIT
	kept=${TMPDIR:-/tmp}/haul-try-failed.log
	cp "$log" "$kept" 2>/dev/null
	echo
	echo "FAILED in step $number of $steps ($step): $1"
	echo "The last lines of its log:"
	tail -n 25 "$log" 2>/dev/null | sed 's/^/    /'
	echo "The whole log: $kept"
	clean_up
	exit 1
}

interrupted() {
	trap - EXIT
	echo
	echo "Interrupted in step $number of $steps ($step)."
	clean_up
	exit 130
}

begin() {
	number=$((number + 1))
	step=$1
	log=$work/step-$number.log
	: >"$log"
	printf '\n=== %d of %d: %s\n' "$number" "$steps" "$1"
}

# show TEXT: a command as somebody would type it.
show() { printf '\n$ %s\n' "$1"; }

# run WANTED TEXT COMMAND...: show it, run it, show what it prints, insist on its exit code.
run() {
	wanted=$1
	show "$2"
	shift 2
	"$@" >"$log.part" 2>&1
	code=$?
	cat "$log.part" >>"$log"
	sed "s|$work/||g" "$log.part"
	[ "$code" = "$wanted" ] || failed "exit code $code instead of $wanted"
	[ "$wanted" = 0 ] || printf '(exit code %d, as it should be)\n' "$code"
}

# quietly TEXT COMMAND...: for what prints much: shown as one line, its output goes to the log.
quietly() {
	show "$1"
	shift
	"$@" >>"$log" 2>&1 || failed "exit code $?"
	tail -n 1 "$log"
}

# The two machines of this trial are two homes on one machine.
here() { HAUL_HOME=$work/workstation build/bin/haul "$@"; }
there() { HAUL_HOME=$work/nas build/bin/haul "$@"; }
# The device id in what `haul id` prints.
find_id() { "$1" id | grep -oE '[A-Z2-7]{4,}(-[A-Z2-7]{4,}){3,}' | head -n 1; }

start_agent() {
	HAUL_HOME=$work/nas build/bin/hauld --listen 127.0.0.1:0 >"$work/hauld.out" 2>>"$log" &
	agent=$!
	tries=0
	while ! grep -q '^listening ' "$work/hauld.out" 2>/dev/null; do
		tries=$((tries + 1))
		[ "$tries" -lt 100 ] || failed "hauld did not say where it listens"
		kill -0 "$agent" 2>/dev/null || failed "hauld ended at once"
		sleep 0.1
	done
	address=$(sed -n 's/^listening //p' "$work/hauld.out" | head -n 1)
}

# A real source tree and one file of 512 MB of noise.
make_tree() {
	mkdir -p "$work/footage/source" || return 1
	for part in engine peer-protocol certs agent cli tests docs; do
		if [ -d "$part" ]; then cp -a "$part" "$work/footage/source/" || return 1; fi
	done
	if [ -d /usr/include ]; then cp -a /usr/include "$work/footage/source/include" || return 1; fi
	head -c 536870912 /dev/urandom >"$work/footage/take-1.mov"
}

# Change one byte in the middle and put the file's time back: size and time say nothing any more.
flip_byte() {
	file=$work/nas-disk/day1/footage/take-1.mov
	offset=314572803
	touch -r "$file" "$work/time" || return 1
	byte=$(od -An -tu1 -j "$offset" -N 1 "$file" | tr -d ' ')
	printf "\\$(printf '%o' $((byte ^ 1)))" | dd of="$file" bs=1 seek="$offset" conv=notrunc 2>/dev/null || return 1
	touch -r "$work/time" "$file"
}

free_mb=$(df -Pm "${TMPDIR:-/tmp}" | awk 'NR == 2 { print $4 }')
work=$(mktemp -d "${TMPDIR:-/tmp}/haul-try.XXXXXX") || exit 1
trap clean_up EXIT
trap interrupted HUP INT TERM

cat <<TEXT
This builds haul and shows it at work, on this machine alone. It will change:

  packages   what is missing for building (cmake/setup.sh; as root or by sudo); they stay
  build/     in this directory: the programs build/bin/haul and build/bin/hauld; it stays
  $work
             two homes, a source tree with a file of 512 MB, and its copy: removed at the end

Nothing else is touched: no account, no service, no file of yours; the agent listens on 127.0.0.1 only.
It takes 2 to 8 minutes.
TEXT

begin 'packages'
[ "${free_mb:-0}" -ge 2500 ] || failed "2.5 GB of free space are needed in ${TMPDIR:-/tmp}, there are $free_mb MB"
quietly 'sh cmake/setup.sh' sh cmake/setup.sh

begin 'build'
quietly 'cmake --preset release -DHAUL_TESTS=OFF' cmake --preset release -DHAUL_TESTS=OFF
quietly 'cmake --build build' cmake --build build -j "$(nproc 2>/dev/null || echo 1)"
run 0 'build/bin/haul --version' build/bin/haul --version

begin 'two agents that trust each other'
cat <<TEXT
Two homes stand for two machines: "workstation", where haul is typed, and "nas", where hauld runs. Each has an
identity of its own, made at its first use. The NAS offers a directory under the name inbox and says who may write it.
TEXT
mkdir "$work/nas-disk" || failed 'no directory for the share'
run 0 '(workstation) haul id' here id
id_here=$(find_id here)
id_there=$(find_id there)
[ -n "$id_here" ] && [ -n "$id_there" ] || failed 'no device id in what haul id prints'
run 0 '(nas)         haul share add inbox nas-disk' there share add inbox "$work/nas-disk"
run 0 "(nas)         haul peer add $id_here --name workstation --allow inbox=writer" \
	there peer add "$id_here" --name workstation --allow inbox=writer
show '(nas)         hauld --listen 127.0.0.1:0'
start_agent
cat "$work/hauld.out"
run 0 "(workstation) haul peer add $id_there --name nas --address $address" \
	here peer add "$id_there" --name nas --address "$address"
run 0 '(workstation) haul list nas:' here list nas:

begin 'send a real tree'
show 'a source tree and a file of 512 MB, as "footage"'
make_tree || failed 'the tree could not be made'
(cd "$work" && find footage -type f | wc -l | sed 's/$/ files/' && du -sh footage)
run 0 '(workstation) haul copy footage nas:inbox/day1' here copy "$work/footage" nas:inbox/day1
run 0 '(workstation) haul copy footage nas:inbox/day1     # once more: nothing is left to do' \
	here copy "$work/footage" nas:inbox/day1

begin 'verify: both sides are read and compared'
run 0 '(workstation) haul verify footage nas:inbox/day1/footage' here verify "$work/footage" nas:inbox/day1/footage

begin 'flip one byte on the NAS, keeping size and time'
show '(nas)         one bit of byte 314572803 of nas-disk/day1/footage/take-1.mov'
flip_byte || failed 'the byte could not be changed'
echo 'done'

begin 'verify finds it: exit code 4'
run 4 '(workstation) haul verify footage nas:inbox/day1/footage' here verify "$work/footage" nas:inbox/day1/footage
grep -q 'take-1.mov' "$log" || failed 'the file is not named'

begin 'copy -c repairs it'
run 0 '(workstation) haul copy -c footage nas:inbox/day1' here copy -c "$work/footage" nas:inbox/day1
run 0 '(workstation) haul verify footage nas:inbox/day1/footage' here verify "$work/footage" nas:inbox/day1/footage
cmp "$work/footage/take-1.mov" "$work/nas-disk/day1/footage/take-1.mov" >>"$log" 2>&1 || failed 'the files still differ'

trap - EXIT
clean_up
cat <<TEXT

All steps went well. What this made is removed, but for build/ and the packages.

On two real machines (port 42850/tcp open on the receiving one):

  both         sudo cmake --install build
  workstation  haul id                                # its device id
  nas          haul share add inbox /srv/inbox
  nas          haul peer add ID --name workstation --allow inbox=writer
  nas          hauld                                  # or: systemctl enable --now hauld
  workstation  haul peer add ...                      # the line that "peer add" printed on the nas
  workstation  haul copy Footage nas:inbox/day1
  workstation  haul verify Footage nas:inbox/day1/Footage
TEXT

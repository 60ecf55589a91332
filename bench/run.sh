#!/usr/bin/env bash
# Measure haul beside others, disk to disk on this machine, in one session, in rotating order.
#
# Usage: bench/run.sh WHAT [ROUNDS]
#   WHAT     big      one file of 3,200,000,000 bytes
#            small    20,000 files of 14,400 bytes (288 MB)
#            again    20,000 files of which nothing changed since the last run
#            verify   one file of 3,200,000,000 bytes compared with its copy (haul verify; cmp and rsync -c beside it)
#   ROUNDS   default 15
#
#   BENCH_DIR        where source and destination lie (one disk at both ends); default build-bench in this tree
#   BENCH_SUBJECTS   subset, as words: limit haul rsync-ssh rsync-daemon scp cp
#   BENCH_TOUCH_GIB  memory touched and freed before each run, default 8, at most a third of the machine's
#   HAUL_BUILD       default build
#
# Before each run: sync, drop caches (root), touch memory. The time runs from the start of the command to the end of
# `sync -f` of the destination. One line a run goes to bench/results/DATE-WHAT.csv; bench/summary.awk then prints
# medians, and the median and 80 % interval of each subject's ratio to haul in the same round.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
what=${1:-}
rounds=${2:-15}
build=${HAUL_BUILD:-$root/build}
dir=${BENCH_DIR:-$root/build-bench}
results=$root/bench/results
port=$((20000 + $$ % 20000))
pids=()

fail() {
	echo "bench: $*" >&2
	exit 1
}

clean_up() {
	local pid
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	[ -z "${work:-}" ] || rm -rf "$work"
}

# --- subjects: each copies $work/src to $work/dst ------------------------------------------------------------------

subject_limit() { "$build/bin/haul_limit" "$work/src/big" "$work/dst/big" >/dev/null; }
subject_haul() { HAUL_HOME=$work/a "$build/bin/haul" copy -q "$work/src/" nas:bench; }
subject_cp() { cp -a "$work/src/." "$work/dst/"; }
subject_scp() { scp -q -r -p "${ssh_options[@]}" -P "$port" "$work/src/." "127.0.0.1:$work/dst/"; }
subject_rsync-ssh() {
	rsync -a --whole-file -e "ssh ${ssh_options[*]} -p $port" "$work/src/" "127.0.0.1:$work/dst/"
}
subject_rsync-daemon() { rsync -a --whole-file "$work/src/" "rsync://127.0.0.1:$((port + 1))/dst/"; }

verify_haul() { HAUL_HOME=$work/a "$build/bin/haul" verify -q "$work/src/" nas:bench; }
verify_cp() { cmp "$work/src/big" "$work/dst/big"; }
verify_rsync-ssh() { rsync -anc -e "ssh ${ssh_options[*]} -p $port" "$work/src/" "127.0.0.1:$work/dst/"; }

# --- preparation ---------------------------------------------------------------------------------------------------

# The cipher is the one that haul uses; OpenSSH's own first choice is slower on this kind of processor.
prepare_ssh() {
	command -v sshd >/dev/null || [ -x /usr/sbin/sshd ] || fail "no sshd: install openssh-server"
	mkdir -m 0700 "$work/ssh"
	mkdir -p /run/sshd # sshd insists on it
	ssh-keygen -q -t ed25519 -N '' -f "$work/ssh/host"
	ssh-keygen -q -t ed25519 -N '' -f "$work/ssh/user"
	cp "$work/ssh/user.pub" "$work/ssh/authorized"
	cat >"$work/ssh/config" <<-CONFIG
		ListenAddress 127.0.0.1
		Port $port
		HostKey $work/ssh/host
		AuthorizedKeysFile $work/ssh/authorized
		PidFile none
		StrictModes no
		UsePAM no
		PermitRootLogin yes
		PasswordAuthentication no
		Subsystem sftp internal-sftp
	CONFIG
	ssh_options=(-q -F /dev/null -i "$work/ssh/user" -c "aes128-gcm@openssh.com" -o StrictHostKeyChecking=no
		-o "UserKnownHostsFile=$work/ssh/known" -o IdentitiesOnly=yes -o Compression=no)
	/usr/sbin/sshd -D -f "$work/ssh/config" &
	pids+=($!)
	local tries=0
	until ssh "${ssh_options[@]}" -p "$port" 127.0.0.1 true 2>/dev/null; do
		tries=$((tries + 1))
		[ $tries -lt 100 ] || fail "sshd does not answer on 127.0.0.1:$port"
		sleep 0.1
	done
}

prepare_rsync_daemon() {
	cat >"$work/rsyncd.conf" <<-CONFIG
		use chroot = no
		uid = $(id -u)
		gid = $(id -g)
		[dst]
		path = $work/dst
		read only = no
	CONFIG
	rsync --daemon --no-detach --address=127.0.0.1 --port=$((port + 1)) --config="$work/rsyncd.conf" &
	pids+=($!)
}

prepare_haul() {
	local id_a id_b
	id_of() { HAUL_HOME=$1 "$build/bin/haul" id | grep -oE '[A-Z2-7]{4,}(-[A-Z2-7]{4,}){3,}' | head -n 1; }
	id_a=$(id_of "$work/a") id_b=$(id_of "$work/b")
	HAUL_HOME=$work/b "$build/bin/haul" share add bench "$work/dst" >/dev/null 2>&1
	HAUL_HOME=$work/b "$build/bin/haul" peer add "$id_a" --name bench-a --allow bench=full >/dev/null 2>&1
	HAUL_HOME=$work/b "$build/bin/hauld" --listen 127.0.0.1:0 >"$work/hauld.out" 2>"$work/hauld.err" &
	pids+=($!)
	local tries=0
	until grep -q '^listening ' "$work/hauld.out"; do
		tries=$((tries + 1))
		[ $tries -lt 100 ] || fail "hauld does not listen: $(cat "$work/hauld.err")"
		sleep 0.1
	done
	HAUL_HOME=$work/a "$build/bin/haul" peer add "$id_b" --name nas \
		--address "$(sed -n 's/^listening //p' "$work/hauld.out" | head -n 1)" >/dev/null 2>&1
}

make_source() {
	case $what in
	big | verify) "$mktree" big ${BENCH_BIG_BYTES:-3200000000} "$work/src/big" ;;
	small | again) "$mktree" small 20000 14400 "$work/src/many" ;;
	esac
	source_bytes=$(find "$work/src" -type f -printf '%s\n' | awk '{ n += $1 } END { printf "%.0f", n }')
}

# --- one run --------------------------------------------------------------------------------------------------------

settle() {
	sync
	if [ "$(id -u)" = 0 ]; then echo 3 >/proc/sys/vm/drop_caches; fi
	"$build/bin/haul_touchmem" "$touch_gib"
}

cpu_ticks() { awk '/^cpu / { print $2 + $3 + $4 + $7 + $8 }' /proc/stat; }

measure() {
	local subject=$1 round=$2 run=subject_$1 began ended cpu_before cpu_after
	case $what in
	verify) run=verify_$1 ;;
	again) ;;
	*) find "$work/dst" -mindepth 1 -delete ;; # emptied, not replaced: hauld may hold it open
	esac
	settle
	cpu_before=$(cpu_ticks)
	began=$(date +%s%N)
	"$run" >"$work/run.log" 2>&1 || fail "$subject failed with $?: $(tail -n 3 "$work/run.log")"
	sync -f "$work/dst"
	ended=$(date +%s%N)
	cpu_after=$(cpu_ticks)
	awk -v what="$what" -v round="$round" -v subject="$subject" -v ns=$((ended - began)) -v bytes="$source_bytes" \
		-v ticks=$((cpu_after - cpu_before)) -v hz="$(getconf CLK_TCK)" 'BEGIN {
			s = ns / 1e9
			printf "%s,%d,%s,%.3f,%.1f,%.2f\n", what, round, subject, s, bytes / s / 1e6, ticks / hz }' |
		tee -a "$csv"
}

# --- all of it ------------------------------------------------------------------------------------------------------

case $what in
big) subjects=${BENCH_SUBJECTS:-limit haul rsync-ssh rsync-daemon scp cp} ;;
small) subjects=${BENCH_SUBJECTS:-haul rsync-ssh rsync-daemon scp cp} ;;
again) subjects=${BENCH_SUBJECTS:-haul rsync-ssh rsync-daemon} ;;
verify) subjects=${BENCH_SUBJECTS:-haul rsync-ssh cp} ;;
*) sed -n '2,20s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2 && exit 1 ;;
esac
for program in bin/haul bin/hauld bin/haul_touchmem bin/haul_limit; do
	[ -x "$build/$program" ] || fail "$build/$program is missing: cmake --preset release -DHAUL_BENCH=ON && cmake --build build"
done
mktree=$(find "$build" -name haul_mktree -perm -100 | head -n 1)
[ -n "$mktree" ] || fail "haul_mktree is missing: build with the tests"
[ "$(id -u)" = 0 ] || echo "bench: not root: caches stay warm, figures are not of record" >&2

memory_gib=$(awk '/^MemTotal/ { printf "%d", $2 / 1048576 }' /proc/meminfo)
touch_gib=${BENCH_TOUCH_GIB:-8}
[ "$touch_gib" -le $((memory_gib / 3)) ] || touch_gib=$((memory_gib / 3 > 0 ? memory_gib / 3 : 1))
mkdir -p "$dir" "$results"
work=$(mktemp -d "$dir/run.XXXXXX")
trap clean_up EXIT
mkdir "$work/src" "$work/dst"
csv=$results/$(date +%Y-%m-%d-%H%M)-$what.csv
{
	echo "# $(date -u +%Y-%m-%dT%H:%MZ), $(nproc) processors, ${memory_gib} GiB, Linux $(uname -r)"
	echo "# $(findmnt -n -o FSTYPE -T "$work") on one disk at both ends; haul $("$build/bin/haul" --version | head -n 1)"
	echo "# tree $(git -C "$root" rev-parse --short HEAD 2>/dev/null || echo unknown); bench/run.sh $what $rounds"
	echo "what,round,subject,seconds,mb_per_s,cpu_seconds"
} >"$csv"

make_source
case " $subjects " in *ssh* | *scp*) prepare_ssh ;; esac
case " $subjects " in *rsync-daemon*) prepare_rsync_daemon ;; esac
case " $subjects " in *" haul "*) prepare_haul ;; esac
case $what in verify | again) subject_cp && sync ;; esac

read -r -a order <<<"$subjects"
for ((round = 1; round <= rounds; round++)); do
	for subject in "${order[@]}"; do measure "$subject" "$round"; done
	order=("${order[@]:1}" "${order[0]}")
done
echo
awk -f "$root/bench/summary.awk" "$csv"

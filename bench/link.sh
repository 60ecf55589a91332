#!/usr/bin/env bash
# haul beside iperf3 over shaped links, memory to memory: what of the line arrives, without tuning.
#
# Usage: bench/link.sh [ROUNDS [RATE_MBIT:RTT_MS...]]
#   ROUNDS   default 3
#   shapes   default 1000:0 2500:0 1000:20 2500:20 1000:100 2500:100
#
#   LINK_SECONDS   how long the line takes for what is copied, default 20 (at most LINK_BYTES_MAX, default 6e9)
#   LINK_STREAMS   of iperf3, default 1 2 4 8
#   LINK_OPTIONS   for `haul copy`, for instance --lanes=4
#   LINK_CSV       where the lines go; default bench/results/DATE-link.csv, or appended to if it exists
#   LINK_KEEP      directory for what haul explained, one file a run; default none
#   HAUL_BUILD     default build
#
# Source and destination lie on a tmpfs, so no disk is in the way. Each round of a shape runs iperf3 with each number of
# streams (8 s, the first 2 not counted), haul push and haul pull, in rotating order; before each, what TCP has learnt
# is forgotten, and before each of haul's as much memory as is copied is touched (BENCHMARKING.md, "Method"). haul's time
# is the whole command: connections, look-ups, growing windows and lanes included. Needs root.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${HAUL_BUILD:-$root/build}
HAUL_BUILD=$build
# shellcheck source=bench/shape.sh
. "$root/bench/shape.sh"

rounds=${1:-3}
shift || true
shapes=("$@")
[ ${#shapes[@]} -gt 0 ] || shapes=(1000:0 2500:0 1000:20 2500:20 1000:100 2500:100)
read -r -a streams <<<"${LINK_STREAMS-1 2 4 8}"
read -r -a options <<<"${LINK_OPTIONS:-}"
csv=${LINK_CSV:-$root/bench/results/$(date +%Y-%m-%d-%H%M)-link.csv}
pids=()

fail() {
	echo "link: $*" >&2
	exit 1
}

stop_all() {
	local pid
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || true; done
	pids=()
}

clean_up() {
	stop_all
	[ -z "${SHAPE_A:-}" ] || shape_down
	if [ -n "${work:-}" ]; then
		umount "$work" 2>/dev/null || umount -l "$work" || true
		rmdir "$work" || true
	fi
}

# wait_until SECONDS COMMAND...
wait_until() {
	local tries=$(($1 * 20))
	shift
	until "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.05
	done
}

# Four names for one file, so that the source takes a quarter of the memory; haul sends each.
make_source() {
	local bytes=$1 name
	rm -rf "$work/src" && mkdir "$work/src"
	"$mktree" big $((bytes / 4)) "$work/src/1"
	for name in 2 3 4; do ln "$work/src/1" "$work/src/$name"; done
}

start_agents() {
	local id_a id_b
	id_of() { HAUL_HOME=$1 "$build/bin/haul" id | grep -oE '[A-Z2-7]{4,}(-[A-Z2-7]{4,}){3,}' | head -n 1; }
	rm -rf "$work/a" "$work/b"
	id_a=$(id_of "$work/a") id_b=$(id_of "$work/b")
	HAUL_HOME=$work/b "$build/bin/haul" share add bench "$work/far" >/dev/null 2>&1
	HAUL_HOME=$work/b "$build/bin/haul" peer add "$id_a" --name bench-a --allow bench=full >/dev/null 2>&1
	: >"$work/hauld.out"
	# Not through shape_b: what is to be ended later is the program, not a shell around it.
	HAUL_HOME=$work/b ip netns exec "$SHAPE_B" "$build/bin/hauld" --listen "$SHAPE_B_IP:0" \
		>"$work/hauld.out" 2>"$work/hauld.err" &
	pids+=($!)
	wait_until 5 grep -q '^listening ' "$work/hauld.out" || fail "hauld: $(cat "$work/hauld.err")"
	HAUL_HOME=$work/a "$build/bin/haul" peer add "$id_b" --name nas \
		--address "$(sed -n 's/^listening //p' "$work/hauld.out" | head -n 1)" >/dev/null 2>&1
	ip netns exec "$SHAPE_B" iperf3 -s >/dev/null 2>&1 &
	pids+=($!)
	wait_until 5 shape_b sh -c 'ss -tln | grep -q :5201' || fail "iperf3 does not listen"
}

# Each subject prints megabits of payload per second.
run_iperf() {
	shape_a iperf3 -c "$SHAPE_B_IP" -t 8 -O 2 -P "$1" -J >"$work/run.log" || return 1
	jq '.end.sum_received.bits_per_second / 1e6' "$work/run.log"
}

run_haul() {
	local began ended
	rm -rf "$work/far/dst" "$work/near" && mkdir -p "$work/near"
	"$touchmem" $((bytes / 1073741824 + 1)) >/dev/null || return 1
	began=$(date +%s%N)
	HAUL_HOME=$work/a shape_a "$build/bin/haul" copy --explain "${options[@]}" "$@" >"$work/run.log" 2>&1 ||
		return 1
	ended=$(date +%s%N)
	[ -z "${LINK_KEEP:-}" ] || cp "$work/run.log" "$LINK_KEEP/$rate-$rtt-$subject-$round.log"
	awk -v ns=$((ended - began)) -v bytes="$bytes" 'BEGIN { print bytes * 8e3 / ns }'
}
run_push() { run_haul "$work/src/" nas:bench/dst/; }
run_pull() { run_haul nas:bench/src/ "$work/near/"; }

lanes_of_run() { grep -oE '[0-9]+ lanes at the end' "$work/run.log" | tail -n 1 | cut -d ' ' -f 1; }

measure() {
	local subject=$1 round=$2 mbit lanes=
	shape_fresh
	case $subject in
	iperf3-*) mbit=$(run_iperf "${subject#iperf3-}") lanes=${subject#iperf3-} ;;
	push) mbit=$(run_push) && lanes=$(lanes_of_run) ;;
	pull) mbit=$(run_pull) && lanes=$(lanes_of_run) ;;
	esac || fail "$subject failed: $(tail -n 3 "$work/run.log")"
	awk -v rate="$rate" -v rtt="$rtt" -v round="$round" -v subject="$subject" -v mbit="$mbit" -v lanes="$lanes" \
		'BEGIN { printf "%s,%s,%d,%s,%s,%.0f\n", rate, rtt, round, subject, lanes, mbit }' | tee -a "$csv"
}

shape_session() {
	local round subject order=()
	bytes=$(awk -v r="$rate" -v s="${LINK_SECONDS:-20}" -v most="${LINK_BYTES_MAX:-6000000000}" \
		'BEGIN { b = r * 125000 * s; printf "%.0f", int((b > most || b == 0 ? most : b) / 4) * 4 }')
	shape_up "$rate" "$rtt"
	make_source "$bytes"
	rm -rf "$work/far" && mkdir -p "$work/far" && cp -al "$work/src" "$work/far/src"
	start_agents
	for subject in "${streams[@]}"; do order+=("iperf3-$subject"); done
	order+=(push pull)
	for ((round = 1; round <= rounds; round++)); do
		for subject in "${order[@]}"; do measure "$subject" "$round"; done
		order=("${order[@]:1}" "${order[0]}")
	done
	stop_all
	shape_down
}

[ "$(id -u)" = 0 ] || fail "needs root"
for program in iperf3 jq ip tc; do command -v "$program" >/dev/null || fail "needs $program"; done
[ -x "$build/bin/haul" ] || fail "$build/bin/haul is missing"
mktree=$(find "$build" -name haul_mktree -perm -100 | head -n 1)
[ -n "$mktree" ] || fail "haul_mktree is missing: build with the tests"
touchmem=$build/bin/haul_touchmem
[ -x "$touchmem" ] || fail "$touchmem is missing: configure with -DHAUL_BENCH=ON"
work=$(mktemp -d)
trap clean_up EXIT
mount -t tmpfs -o size=80% tmpfs "$work"
mkdir -p "$(dirname "$csv")"
if [ ! -s "$csv" ]; then
	{
		echo "# $(date -u +%Y-%m-%dT%H:%MZ), $(nproc) processors, Linux $(uname -r), $(iperf3 --version | head -n 1)"
		echo "# both ends on a tmpfs, cubic, Debian's limits of TCP's buffers; $("$build/bin/haul" --version | head -n 1)"
		echo "# tree $(git -C "$root" rev-parse --short HEAD 2>/dev/null || echo unknown); bench/link.sh $rounds ${shapes[*]}"
		echo "rate_mbit,rtt_ms,round,subject,lanes,mbit_per_s"
	} >"$csv"
fi
for shape in "${shapes[@]}"; do
	rate=${shape%:*} rtt=${shape#*:}
	shape_session
done

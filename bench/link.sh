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
# is forgotten, and before each of haul's as much memory as is copied, and 4 GiB more, is touched (BENCHMARKING.md,
# "Method"). haul's time is the whole command: connections, look-ups, growing windows and lanes included. Needs root.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
HAUL_BUILD=${HAUL_BUILD:-$root/build}
bin=$HAUL_BUILD/bin
# shellcheck source=bench/shape.sh
. "$root/bench/shape.sh"
# shellcheck source=bench/harness/common.bash
. "$root/bench/harness/common.bash"
# shellcheck source=bench/harness/haul.bash
. "$root/bench/harness/haul.bash"

rounds=${1:-3}
shift || true
shapes=("$@")
[ ${#shapes[@]} -gt 0 ] || shapes=(1000:0 2500:0 1000:20 2500:20 1000:100 2500:100)
read -r -a streams <<<"${LINK_STREAMS-1 2 4 8}"
read -r -a options <<<"${LINK_OPTIONS:-}"
csv=${LINK_CSV:-$root/bench/results/$(date +%Y-%m-%d-%H%M)-link.csv}

clean_up() {
	stop_services
	[ -z "${SHAPE_A:-}" ] || shape_down
	umount "$work" 2>/dev/null || umount -l "$work" || true
	rmdir "$work" || true
}

# Four names for one file, so that the source takes a quarter of the memory; haul sends each.
make_source() {
	local bytes=$1 name first
	rm -rf "$src"
	"$bin/haul_make_input" -s $((bytes / 4)) "$src"
	first=$(find "$src" -type f)
	for name in 2 3 4; do ln "$first" "$src/$name"; done
}

# The words of harness/common.bash, with the server at the far end of the link.
start_servers() {
	client=(ip netns exec "$SHAPE_A") server=(ip netns exec "$SHAPE_B") host=$SHAPE_B_IP
	rm -rf "$state" "$dst" && mkdir -p "$state" "$dst"
	haul_start || fail "hauld: $(tail -qn 1 "$state"/*.log)"
	start_service iperf3 iperf3 -s
	wait_for 50 is_listening 5201 || fail "iperf3 does not listen"
}

# Each subject prints megabits of payload per second.
run_iperf() {
	shape_a iperf3 -c "$SHAPE_B_IP" -t 8 -O 2 -P "$1" -J >"$work/run.log" || return 1
	jq '.end.sum_received.bits_per_second / 1e6' "$work/run.log"
}

run_haul() {
	local began ended
	rm -rf "$work/near" && mkdir -p "$work/near"
	find "$dst" -mindepth 1 -delete
	"$bin/haul_touchmem" $((bytes / 1073741824 + 5)) >/dev/null || return 1
	began=$(date +%s%N)
	haul_at_client copy --explain "${options[@]}" "$@" >"$work/run.log" 2>&1 || return 1
	ended=$(date +%s%N)
	[ -z "${LINK_KEEP:-}" ] || cp "$work/run.log" "$LINK_KEEP/$rate-$rtt-$subject-$round.log"
	awk -v ns=$((ended - began)) -v bytes="$bytes" 'BEGIN { print bytes * 8e3 / ns }'
}
run_push() { run_haul "$src/" nas:bench; }
run_pull() { run_haul nas:source/ "$work/near/"; }

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
	start_servers
	for subject in "${streams[@]}"; do order+=("iperf3-$subject"); done
	order+=(push pull)
	for ((round = 1; round <= rounds; round++)); do
		for subject in "${order[@]}"; do measure "$subject" "$round"; done
		order=("${order[@]:1}" "${order[0]}")
	done
	stop_services
	shape_down
}

[ "$(id -u)" = 0 ] || fail "needs root"
for program in iperf3 jq ip tc; do command -v "$program" >/dev/null || fail "needs $program"; done
for program in haul hauld haul_touchmem haul_make_input; do
	[ -x "$bin/$program" ] || fail "$bin/$program is missing: cmake --preset release && cmake --build build"
done
work=$(mktemp -d) state=$work/state src=$work/src dst=$work/dst
trap clean_up EXIT
mount -t tmpfs -o size=80% tmpfs "$work"
mkdir -p "$(dirname "$csv")"
if [ ! -s "$csv" ]; then
	{
		echo "# $(date -u +%Y-%m-%dT%H:%MZ), $(nproc) processors, Linux $(uname -r), $(iperf3 --version | head -n 1)"
		echo "# both ends on a tmpfs, cubic, Debian's limits of TCP's buffers; $(haul_version)"
		echo "# tree $(git -C "$root" rev-parse --short HEAD 2>/dev/null || echo unknown); bench/link.sh $rounds ${shapes[*]}"
		echo "rate_mbit,rtt_ms,round,subject,lanes,mbit_per_s"
	} >"$csv"
fi
for shape in "${shapes[@]}"; do
	rate=${shape%:*} rtt=${shape#*:}
	shape_session
done

#!/usr/bin/env bash
# Measure haul beside others on this machine, in one session, in rotating order.
#
# Usage: bench/run.sh WHAT [ROUNDS]        ROUNDS: default 15; 5 for `million`
#        bench/run.sh link [ROUNDS]        bench/link.sh with every rate and round trip
#        bench/run.sh all [ROUNDS]         one workload after the other, then link
#        bench/run.sh list                 workloads and subjects
#   WHAT   a file of bench/workloads/ without its .sh: big, small, footage, source, unchanged, million, verify,
#          local-big, local-small, remove, move, move-file, slow-source, slow-target, slow-link, fast-disks
#
#   BENCH_SUBJECTS   subset, as words; each is a file of bench/subjects/
#   BENCH_DIR        where inputs and copies lie (one disk at both ends); default build-bench in this tree
#   BENCH_SCALE      multiplies number of files or bytes, default 1
#   BENCH_TOUCH_GIB  memory touched and freed before each run, default 8, at most a third of the machine's; 0: none
#   BENCH_RTT_MS     round trip of the workloads with a link, default 0
#   BENCH_HAUL_OPTIONS  for haul's copies, as words, for instance --lanes=1
#   BENCH_INSTALL    0: do not install missing packages, leave their subjects out
#   BENCH_RESULTS    where the CSV goes, default bench/results
#   HAUL_BUILD       default build
#
# Before each run: sync, drop caches (root), touch memory. The time runs from the start of the command to the end of
# `sync -f` of the destination. One line a run goes to DATE-WHAT.csv, whose head says machine, place, versions, commands
# and which subjects were left out and why. bench/summary.awk then prints medians and ratios; bench/chart.py draws them.
# Exit 1 when a subject failed.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bench=$root/bench
harness=$bench/harness
bin=${HAUL_BUILD:-$root/build}/bin
. "$harness/common.bash"
. "$harness/measure.bash"

what=${1:-}
base_port=$((20000 + $$ % 12000)) # below where connections get theirs
scale=${BENCH_SCALE:-1}

print_usage() { sed -n '2,26s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

usage() {
	print_usage >&2
	exit 1
}

# A number of the workload's, times BENCH_SCALE, at least 1.
scaled() { awk -v n="$1" -v scale="$scale" 'BEGIN { x = int(n * scale); printf "%.0f", x < 1 ? 1 : x }'; }

list_all() {
	local kind file
	for kind in workloads subjects; do
		echo "$kind:"
		for file in "$bench/$kind"/*.sh; do
			printf '  %-16s %s\n' "$(basename "$file" .sh)" "$(sed -n '1s/^# //p' "$file")"
		done
	done
}

run_all() {
	local workload failed=0
	for workload in big small footage source unchanged million verify local-big local-small remove move move-file \
		slow-source slow-target slow-link fast-disks; do
		"$bench/run.sh" "$workload" "$@" || failed=1
	done
	run_links "${1:-3}" || failed=1
	exit $failed
}

# The rates without a round trip, then with each.
run_links() {
	"$bench/link.sh" "${1:-3}" 1000:0 2500:0 10000:0 1000:0.2 2500:0.2 1000:2 2500:2 1000:20 2500:20 1000:100 2500:100
}

clean_up() {
	local name
	for name in $running; do with_subject "$name" subject_stop || true; done
	if [ -n "${work:-}" ]; then
		workload_unplace || true
		rm -rf "$work"
	fi
}

# The source, made once for each workload and scale and kept in BENCH_DIR.
prepare_source() {
	src=$dir/inputs/$input-$scale
	mkdir -p "$dir/inputs"
	if [ ! -e "$src.complete" ]; then
		note "making $src"
		rm -rf "$src"
		input_workload workload_make "$src"
		sync
		: >"$src.complete"
	fi
	read -r source_files source_bytes <<<"$(totals_of "$src")"
}

# The workload whose input this one copies knows how to make it.
input_workload() {
	if [ -f "$bench/workloads/$input.sh" ] && [ "$input" != "$what" ]; then
		( . "$bench/workloads/$input.sh" && "$@" )
	else
		"$@"
	fi
}

processor_name() { sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1; }

# The commit; + when the tree is not just that.
tree_name() { git -C "$root" describe --always --dirty=+ --exclude '*' 2>/dev/null || echo unknown; }

write_head() {
	{
		echo "# $(date -u +%Y-%m-%dT%H:%MZ), $(nproc) processors ($(processor_name)), ${memory_gib} GiB, Linux $(uname -r)"
		echo "# $place_text; $source_files files, $source_bytes bytes"
		echo "# tree $(tree_name); bench/run.sh $what $rounds;" \
			"scale $scale, touched $touch_gib GiB, caches $([ "$(id -u)" = 0 ] && echo cold || echo warm)"
		echo "# reference $reference"
	} >"$csv"
}

# Which subjects run; the head names each with its version and command, or with the reason why not.
bring_up_all() {
	local name
	running=
	for name in ${BENCH_SUBJECTS:-$subjects}; do
		[ -f "$bench/subjects/$name.sh" ] || fail "no subject $name (bench/run.sh list)"
		if bring_up "$name"; then
			running="$running $name"
			echo "# subject $name: $(with_subject "$name" subject_version): $(with_subject "$name" eval 'echo "$command_text"')"
		else
			note "without $name: $(cat "$work/skip")"
			echo "# skipped $name: $(cat "$work/skip")"
		fi >>"$csv"
	done
	[ -n "$running" ] || fail "no subject can run here"
}

run_rounds() {
	local round name order failed=' '
	read -r -a order <<<"$running"
	echo "what,round,subject,seconds,mb_per_s,cpu_seconds,cpu_s_per_gb" >>"$csv"
	for ((round = 1; round <= rounds; round++)); do
		for name in "${order[@]}"; do
			case $failed in *" $name "*) continue ;; esac
			measure "$name" "$round" || failed="$failed$name "
		done
		order=("${order[@]:1}" "${order[0]}")
	done
	[ "$failed" = ' ' ]
}

case $scale in
*[!0-9.]* | *.*.* | .) fail "BENCH_SCALE is a number above 0, not $scale" ;;
*[1-9]*) ;;
*) fail "BENCH_SCALE is a number above 0, not $scale" ;;
esac
case $what in
-h | --help | help) print_usage && exit ;;
all) shift && run_all "$@" ;;
link) shift && run_links "$@" && exit ;;
list) list_all && exit ;;
'' | -*) usage ;;
esac
[ -f "$bench/workloads/$what.sh" ] || fail "no workload $what (bench/run.sh list)"
for program in haul hauld haul_touchmem haul_peak haul_make_input haul_limit; do
	[ -x "$bin/$program" ] || fail "$bin/$program is missing: cmake --preset release && cmake --build build"
done
[ "$(id -u)" = 0 ] || note "not root: caches stay warm, figures are not of record"

# What a workload may say otherwise.
input=$what reference=haul rounds=15
client=() server=() host=127.0.0.1
# Emptied, not replaced: a server may hold it open. Everybody's, since subjects copy modes and one is an ordinary user.
# The copies of trees go when the session ends: ext4 looks through the inodes that were freed in the last minutes at each
# create, so whoever ran after a removal would pay for it (7 s of CPU instead of 2 for 20,000 files).
workload_reset() {
	local old
	if [ "$source_files" -gt 1000 ]; then
		mkdir -p "$work/old"
		old=$(mktemp -d "$work/old/XXXXXX")
		find "$dst" -mindepth 1 -maxdepth 1 -exec mv -t "$old" {} +
	fi
	find "$dst" -mindepth 1 -delete
	chmod 0777 "$dst"
}
workload_place() { :; }
workload_unplace() { :; }
# shellcheck source=/dev/null
. "$bench/workloads/$what.sh"
rounds=${2:-$rounds}
case $rounds in '' | *[!0-9]* | 0) usage ;; esac

memory_gib=$(awk '/^MemTotal/ { printf "%d", $2 / 1048576 }' /proc/meminfo)
touch_gib=${BENCH_TOUCH_GIB:-8}
[ "$touch_gib" -le $((memory_gib / 3)) ] || touch_gib=$((memory_gib / 3))
dir=${BENCH_DIR:-$root/build-bench}
results=${BENCH_RESULTS:-$bench/results}
mkdir -p "$dir" "$results"
dir=$(cd "$dir" && pwd) running=
work=$(mktemp -d "$dir/run.XXXXXX")
chmod 0755 "$work" # a subject may run as an ordinary user
trap clean_up EXIT
trap 'exit 130' INT TERM HUP
dst=$work/dst victim=$work/victim
mkdir "$dst"
place_text="$(findmnt -n -o FSTYPE -T "$work") on one disk at both ends, loopback"
csv=$results/$(date +%Y-%m-%d-%H%M)-$what.csv
[ ! -e "$csv" ] || csv=$results/$(date +%Y-%m-%d-%H%M%S)-$what.csv

prepare_source
workload_place || fail "$what cannot run here: ${skip_reason:-}"
write_head
bring_up_all
run_rounds || status=1
echo
awk -f "$bench/summary.awk" "$csv"
python3 "$bench/chart.py" "$csv" "${csv%.csv}.svg" || note "no chart"
exit ${status:-0}

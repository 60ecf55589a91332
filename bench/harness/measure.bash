# One subject's parts, and one measured run.

# Each call of a subject's function happens in a shell of its own, so that subjects cannot see each other.
# with_subject NAME COMMAND...
with_subject() {
	(
		local index
		state=$work/subjects/$1
		index=$(index_of "$1")
		port=$((base_port + 10 * index))
		skip_reason=
		subject_install() { :; }
		subject_start() { :; }
		subject_stop() { stop_services; }
		subject_memory() { :; }
		# shellcheck source=/dev/null
		. "$bench/subjects/$1.sh"
		shift
		"$@"
	)
}

# Number of the subject among all there are, so that ports do not depend on what was asked for.
index_of() {
	local file index=0
	for file in "$bench"/subjects/*.sh; do
		[ "$file" != "$bench/subjects/$1.sh" ] || break
		index=$((index + 1))
	done
	echo $index
}

# Install and start it; else 1, and the reason in $work/skip.
bring_up() {
	mkdir -p "$work/subjects/$1"
	: >"$work/skip"
	with_subject "$1" try_bring_up && return 0
	with_subject "$1" subject_stop
	return 1
}
try_bring_up() {
	if ! declare -F "subject_$action" >/dev/null; then
		skip_reason="it has nothing for the action $action"
	elif subject_install; then
		subject_start && return 0
		skip_reason="did not start: $(tail -qn 1 "$state"/*.log 2>/dev/null | tail -n 1)"
	fi
	echo "${skip_reason:-not to be had}" >"$work/skip"
	return 1
}

# The disk is quiet, the source cold, and the guest's memory touched lately.
settle() {
	sync
	if [ "$(id -u)" = 0 ]; then echo 3 >/proc/sys/vm/drop_caches; fi
	if [ "$touch_gib" -gt 0 ]; then "$bin/haul_touchmem" "$touch_gib"; fi
}

cpu_ticks() { awk '/^cpu / { print $2 + $3 + $4 + $7 + $8 }' /proc/stat; }

# In the subject's shell: prints microseconds and CPU ticks of the whole machine.
timed_run() {
	local began ended cpu_before cpu_after
	settle
	cpu_before=$(cpu_ticks)
	began=${EPOCHREALTIME/./}
	"subject_$action" >"$state/run.log" 2>&1 || return 1
	sync -f "$dst"
	ended=${EPOCHREALTIME/./}
	cpu_after=$(cpu_ticks)
	echo "$((ended - began)) $((cpu_after - cpu_before))"
}

# What arrived must be what was sent, by number and bytes of files; contents are not the bench's business.
landed_whole() {
	case $1 in limit-read | iperf3) return 0 ;; esac
	[ "$action" = copy ] || return 0
	[ "$(totals_of "$dst")" = "$source_files $source_bytes" ]
}
totals_of() {
	find "$1" -name '.haul*' -prune -o -type f -printf '%s\n' | awk '{ n += $1 } END { printf "%d %.0f", NR, n }'
}

# measure SUBJECT ROUND: one line of the CSV; 1 when the subject failed, with a line that says how.
measure() {
	local subject=$1 round=$2 numbers
	workload_reset
	if ! numbers=$(with_subject "$subject" timed_run); then
		tell_failure "$subject" "$(tail -n 2 "$work/subjects/$subject/run.log" | tr '\n' ' ')"
		return 1
	fi
	if [ "$round" = 1 ] && ! landed_whole "$subject"; then
		tell_failure "$subject" "$(totals_of "$dst") files and bytes arrived of $source_files $source_bytes"
		return 1
	fi
	awk -v what="$what" -v round="$round" -v subject="$subject" -v numbers="$numbers" -v bytes="$source_bytes" \
		-v hz="$(getconf CLK_TCK)" 'BEGIN {
			split(numbers, n, " ")
			s = n[1] / 1e6
			cpu = n[2] / hz
			printf "%s,%d,%s,%.3f,%.1f,%.2f,%.2f\n", what, round, subject, s, bytes / s / 1e6, cpu, cpu / bytes * 1e9
		}' | tee -a "$csv"
	with_subject "$subject" subject_memory | sed "s/^/# memory $subject in round $round: /" >>"$csv"
}

tell_failure() { echo "# failed $1: $2" | tee -a "$csv" >&2; }

# What harness, subjects and workloads share. Words, set by the harness before a subject or workload is loaded:
#
#   bin           directory of haul, hauld and the bench's programs
#   src, dst      what is copied (its contents), and where to
#   state         a directory of the subject's own, for keys, configuration and logs
#   host, port    where the subject's server listens: an address, and the first of ten ports of its own
#   client, server  arrays: the words before a command that runs at either end (a namespace), or nothing

note() { echo "bench: $*" >&2; }

fail() {
	note "$*"
	exit 1
}

# start_service NAME COMMAND...: at the server's end, in the background; its output in $state/NAME.log.
start_service() {
	local name=$1
	shift
	(exec "${server[@]}" "$@" >"$state/$name.log" 2>&1 </dev/null) &
	echo $! >>"$state/pids"
}

# wait_for TENTHS COMMAND...: until the command succeeds.
wait_for() {
	local left=$1
	shift
	until "$@" >/dev/null 2>&1; do
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
		sleep 0.1
	done
}

# Something listens there, at the server's end; nothing connects, since some servers serve one connection only.
is_listening() { "${server[@]}" ss -Htln "sport = :$1" | grep -q .; }

# End what start_service started, by number, and wait for it.
stop_services() {
	local pid
	[ -f "$state/pids" ] || return 0
	while read -r pid; do
		kill "$pid" 2>/dev/null || continue
		wait_for 50 is_gone "$pid" || kill -9 "$pid" 2>/dev/null || true
	done <"$state/pids"
	rm -f "$state/pids"
}

is_gone() { [ ! -d "/proc/$1" ] || grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2>/dev/null; }

# need PACKAGE PROGRAM...: the programs are there, or come from the system's package. Else 1 with skip_reason.
need() {
	local package=$1 program missing=
	shift
	for program in "$@"; do
		command -v "$program" >/dev/null || [ -x "/usr/sbin/$program" ] || missing=$program
	done
	[ -n "$missing" ] || return 0
	skip_reason="$missing is not installed (Debian package $package)"
	[ "${BENCH_INSTALL:-1}" = 1 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
	note "installing $package"
	if ! DEBIAN_FRONTEND=noninteractive timeout 300 apt-get -q -y --no-install-recommends install "$package" \
		>"$state/apt.log" 2>&1; then
		skip_reason="$missing is not installed, and apt-get install $package failed"
		return 1
	fi
	skip_reason=
}

package_version() { dpkg-query -W -f '${Package} ${Version}' "$1" 2>/dev/null || echo "$1"; }

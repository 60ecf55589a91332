#!/usr/bin/env bash
# A shaped link between two network namespaces of this machine: to be sourced by what measures, or run by hand.
#
#   shape_up RATE_MBIT RTT_MS [OPTION...]   a link of that rate (0: unlimited) and round trip (0: none added). Sets
#                                           SHAPE_A, SHAPE_B (namespaces) and SHAPE_A_IP, SHAPE_B_IP. Options go to
#                                           haul_tun_delay (--queue, --loss, --seed, --no-offload).
#   shape_a COMMAND..., shape_b COMMAND...  run it in a namespace
#   shape_fresh                             forget what TCP has learnt of the other end, before each run
#   shape_down                              remove all of it; also for what a killed run left: shape_down PREFIX
#
# Without a round trip the link is a veth pair with a token bucket (sch_tbf) at either end; with one it is a pair of TUN
# devices joined by bench/tun_delay.c, which keeps the rate too. Either end has Debian's limits of TCP's buffers and
# cubic. Needs root. By hand: bench/shape.sh RATE_MBIT RTT_MS [OPTION...] -- COMMAND runs COMMAND with the link up and
# SHAPE_... in its environment.

SHAPE_TUN=${SHAPE_TUN:-}

shape_a() { ip netns exec "$SHAPE_A" "$@"; }
shape_b() { ip netns exec "$SHAPE_B" "$@"; }

# cubic is no namespace's own choice unless the machine allows it to everybody: allowed while the link is up.
shape_allow_cubic() {
	local allowed
	allowed=$(sysctl -n net.ipv4.tcp_allowed_congestion_control)
	case " $allowed " in *" cubic "*) return 0 ;; esac
	sysctl -qw "net.ipv4.tcp_allowed_congestion_control=$allowed cubic"
	SHAPE_ALLOWED=$allowed
}

shape_space() {
	ip netns add "$1"
	ip -n "$1" link set lo up
	ip netns exec "$1" sysctl -qw net.ipv4.tcp_congestion_control=cubic \
		"net.ipv4.tcp_rmem=4096 131072 6291456" "net.ipv4.tcp_wmem=4096 16384 4194304"
}

# The program, from the build directory or from a compiler.
shape_find_tun() {
	local root
	[ -z "$SHAPE_TUN" ] || return 0
	root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
	SHAPE_TUN=$(find "${HAUL_BUILD:-$root/build}" -name haul_tun_delay -perm -100 2>/dev/null | head -n 1)
	[ -n "$SHAPE_TUN" ] || { echo "shape: haul_tun_delay is missing: build with the tests" >&2; return 1; }
}

# bench/tun_delay.c in the background; ends with this shell at the latest.
shape_delayed() {
	local rate=$1 rtt=$2 said tries=0
	shift 2
	shape_find_tun || return 1
	[ "$rate" = 0 ] || set -- --rate "$rate" "$@"
	said=$(mktemp)
	"$SHAPE_TUN" --rtt "$rtt" "$@" "$SHAPE_A" "$SHAPE_B" >"$said" 2>"${SHAPE_LOG:-/dev/null}" </dev/null 3>&- 4>&- &
	SHAPE_PID=$!
	until grep -q ready "$said"; do
		tries=$((tries + 1))
		if [ $tries -ge 100 ] || ! kill -0 "$SHAPE_PID" 2>/dev/null; then
			rm -f "$said"
			echo "shape: haul_tun_delay did not start" >&2
			return 1
		fi
		sleep 0.05
	done
	rm -f "$said"
	# The queue is haul_tun_delay's; in the device's own nothing is to be lost while that waits for a core.
	ip -n "$SHAPE_A" link set haul0 txqueuelen 5000
	ip -n "$SHAPE_B" link set haul0 txqueuelen 5000
}

# 10 ms of the rate wait at most, as in a switch with a small buffer; the bucket holds what a timer's tick lets through.
shape_undelayed() {
	local rate=$1 space
	ip -n "$SHAPE_A" link add haul0 type veth peer name haul0 netns "$SHAPE_B"
	[ "$rate" != 0 ] || return 0
	for space in "$SHAPE_A" "$SHAPE_B"; do
		tc -n "$space" qdisc add dev haul0 root tbf rate "${rate}mbit" burst $((rate * 250 + 65536)) latency 10ms
	done
}

shape_up() {
	local rate=$1 rtt=$2
	shift 2
	SHAPE_A=${SHAPE_PREFIX:-shape$$}a SHAPE_B=${SHAPE_PREFIX:-shape$$}b
	SHAPE_A_IP=10.85.0.1 SHAPE_B_IP=10.85.0.2
	SHAPE_PID='' SHAPE_ALLOWED=''
	shape_allow_cubic
	shape_space "$SHAPE_A" && shape_space "$SHAPE_B" || return 1
	if [ "$rtt" = 0 ]; then shape_undelayed "$rate"; else shape_delayed "$rate" "$rtt" "$@"; fi || return 1
	ip -n "$SHAPE_A" addr add "$SHAPE_A_IP/30" dev haul0
	ip -n "$SHAPE_B" addr add "$SHAPE_B_IP/30" dev haul0
	ip -n "$SHAPE_A" link set haul0 up
	ip -n "$SHAPE_B" link set haul0 up
	export SHAPE_A SHAPE_B SHAPE_A_IP SHAPE_B_IP
}

shape_fresh() {
	ip -n "$SHAPE_A" tcp_metrics flush
	ip -n "$SHAPE_B" tcp_metrics flush
}

shape_down() {
	local a=${1:+$1a} b=${1:+$1b}
	if [ -n "${SHAPE_PID:-}" ]; then
		kill "$SHAPE_PID" 2>/dev/null || true
		wait "$SHAPE_PID" 2>/dev/null || true
		SHAPE_PID=''
	fi
	ip netns del "${a:-$SHAPE_A}" 2>/dev/null || true
	ip netns del "${b:-$SHAPE_B}" 2>/dev/null || true
	if [ -n "${SHAPE_ALLOWED:-}" ]; then
		sysctl -qw "net.ipv4.tcp_allowed_congestion_control=$SHAPE_ALLOWED"
		SHAPE_ALLOWED=''
	fi
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
	link=()
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		link+=("$1")
		shift
	done
	if [ ${#link[@]} -lt 2 ] || [ $# -lt 2 ]; then
		sed -n '2,18s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
		exit 1
	fi
	shift
	trap shape_down EXIT
	shape_up "${link[@]}"
	"$@"
fi

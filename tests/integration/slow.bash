# Slow disks and links, to see what is named as the narrowest part: loop devices under the block controller of cgroup v1,
# and a token bucket between two namespaces.

# slow_disk NAME MEGABYTES: an ext4 of its own at $T/NAME, whose device a slow_group can throttle.
slow_disk() {
	need_tool losetup
	mount_loop ext4 "$2" "$T/$1"
}

# slow_group NAME read|write DIR BYTES_PER_S: a cgroup whose members read or write the disk of DIR no faster.
slow_group() {
	local device
	need_root
	SLOW_ROOT=$T/cgroup
	if [ ! -d "$SLOW_ROOT/." ] || ! mountpoint -q "$SLOW_ROOT"; then
		mkdir -p "$SLOW_ROOT"
		mount -t cgroup -o blkio none "$SLOW_ROOT" 2>/dev/null || skip "this kernel has no blkio controller of cgroup v1 to mount"
	fi
	# A name of this run alone: the hierarchy is one for the whole machine.
	SLOW_GROUP=$SLOW_ROOT/haul-test-$$-$1
	mkdir "$SLOW_GROUP"
	SLOW_GROUPS+=("$SLOW_GROUP")
	[ -e "$SLOW_GROUP/blkio.throttle.$2_bps_device" ] || skip "this kernel cannot throttle block devices"
	device=$(stat -c %d "$3")
	echo "$((device >> 8)):$((device & 255)) $4" >"$SLOW_GROUP/blkio.throttle.$2_bps_device"
}

# slowly COMMAND...: `haul` in the last group. A running process: slow_down PID.
slowly() {
	HAUL_HOME=$A timeout -k 5 "$LIMIT" sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$SLOW_GROUP" "$HAUL" "$@"
}
slow_down() { echo "$1" >"$SLOW_GROUP/cgroup.procs"; }

slow_begin() { SLOW_GROUPS=() SLOW_ROOT= SLOW_SPACE=; }

# Before test_end, which stops the agents: a group goes only when nobody is in it.
slow_end() {
	local group pid
	for group in "${SLOW_GROUPS[@]}"; do
		while read -r pid; do echo "$pid" >"$SLOW_ROOT/cgroup.procs" 2>/dev/null || true; done <"$group/cgroup.procs"
		rmdir "$group" || true
	done
	[ -z "$SLOW_ROOT" ] || ! mountpoint -q "$SLOW_ROOT" || umount "$SLOW_ROOT"
	[ -z "$SLOW_SPACE" ] || ip netns del "$SLOW_SPACE" 2>/dev/null || true
}

# slow_link MBIT: a namespace $SLOW_SPACE at $SLOW_THERE behind a token bucket at either end.
slow_link() {
	need_root
	need_tool ip tc
	local net=198.18.$(($$ % 250 + 1)) # runs beside each other do not share one
	SLOW_SPACE=haul-test-$$ SLOW_THERE=$net.2
	ip netns add "$SLOW_SPACE" 2>/dev/null || { SLOW_SPACE=; skip "no network namespaces here"; }
	ip link add "ht$$a" type veth peer name "ht$$b" netns "$SLOW_SPACE" || skip "no veth devices here"
	ip addr add "$net.1/24" dev "ht$$a"
	ip link set "ht$$a" up
	ip -n "$SLOW_SPACE" addr add "$net.2/24" dev "ht$$b"
	ip -n "$SLOW_SPACE" link set "ht$$b" up
	ip -n "$SLOW_SPACE" link set lo up
	tc qdisc add dev "ht$$a" root tbf rate "${1}mbit" burst 256k latency 50ms || skip "this kernel has no sch_tbf"
	tc -n "$SLOW_SPACE" qdisc add dev "ht$$b" root tbf rate "${1}mbit" burst 256k latency 50ms
}

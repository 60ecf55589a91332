# A source and a destination on disks of their own, and a link between two namespaces: what two machines have and one
# machine lacks. Each disk is a file system on a loop device that blkio (cgroup v1) holds to a rate, reads and writes
# each; the link is bench/shape.sh's. The figure is the ratio to the least of the three, as limit-read, limit-write and
# iperf3 measure them in the same round.
#
# The limits stand in the root group, so that they hold for write-back by the kernel's own threads too: a subject that
# writes through the page cache gets no disk for nothing, since the timed part ends with sync.

subjects='limit-read limit-write iperf3 haul haul-pull rsync-ssh rsync-daemon'
action=copy
input=slow

workload_make() { "$bin/haul_make_input" -s "$(scaled 1600000000)" "$1"; }

blkio_root() {
	blkio=$(findmnt -n -t cgroup -O blkio -o TARGET | head -n 1)
	[ -z "$blkio" ] || return 0
	blkio=$work/blkio
	mkdir -p "$blkio"
	mount -t cgroup -o blkio cgroup "$blkio" || {
		skip_reason="blkio (cgroup v1) cannot be mounted, and io.max of cgroup v2 has no limit for its root"
		return 1
	}
	two_disks_blkio_mounted=1
}

# limit_disk DEVICE MB_PER_S
limit_disk() {
	local number=$((16#$(stat -c %t "$1"))):$((16#$(stat -c %T "$1"))) kind
	for kind in read write; do
		echo "$number $(($2 * 1000000))" >"$blkio/blkio.throttle.${kind}_bps_device"
	done
}

# Where the disks' images lie: in memory when there is plenty, so that the disk they would share is not the limit.
# disk_images BYTES_OF_ALL
disk_images() {
	local free_bytes=$(($(awk '/^MemAvailable/ { print $2 }' /proc/meminfo) * 1024))
	images=$work/images images_kind=disk
	mkdir -p "$images"
	[ $((free_bytes / 2)) -gt "$1" ] || return 0
	mount -t tmpfs -o "size=$(($1 + 16777216))" tmpfs "$images"
	images_kind=memory
}

# make_disk NAME BYTES: a file system on a loop device, mounted at $work/NAME; the device in ret_device
make_disk() {
	fallocate -l "$2" "$images/$1"
	ret_device=$(losetup --find --show --direct-io=on "$images/$1" 2>/dev/null) ||
		ret_device=$(losetup --find --show "$images/$1")
	two_disks_devices+=("$ret_device")
	mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 "$ret_device"
	mkdir -p "$work/$1"
	mount "$ret_device" "$work/$1"
	two_disks_mounts=("$work/$1" "${two_disks_mounts[@]}") # the last mounted goes first
}

# two_disks_up SOURCE_MB_PER_S TARGET_MB_PER_S LINK_MBIT RTT_MS
two_disks_up() {
	local bytes=$((source_bytes * 5 / 4 + 300000000)) source_device target_device
	[ "$(id -u)" = 0 ] || { skip_reason="needs root" && return 1; }
	. "$bench/shape.sh"
	two_disks_devices=() two_disks_mounts=() two_disks_blkio_mounted=
	blkio_root || return 1
	disk_images $((bytes * 2))
	make_disk disk-a "$bytes" && source_device=$ret_device
	make_disk disk-b "$bytes" && target_device=$ret_device
	cp -a "$src" "$work/disk-a/src"
	mkdir "$work/disk-b/dst"
	sync
	limit_disk "$source_device" "$1"
	limit_disk "$target_device" "$2"
	shape_up "$3" "$4" || { skip_reason="the link cannot be made" && return 1; }
	src=$work/disk-a/src dst=$work/disk-b/dst host=$SHAPE_B_IP
	client=(ip netns exec "$SHAPE_A") server=(ip netns exec "$SHAPE_B")
	place_text="$1 and $2 MB/s ext4 on loop devices in $images_kind, link of $3 Mbit/s, round trip $4 ms, cubic"
}

# Zero takes a limit away. The limits go before the mounts: what is still to be written then goes fast.
workload_unplace() {
	local device mount
	[ -z "${SHAPE_A:-}" ] || shape_down
	for device in "${two_disks_devices[@]}"; do limit_disk "$device" 0; done
	for mount in "${two_disks_mounts[@]}"; do
		umount "$mount" || umount -l "$mount"
	done
	for device in "${two_disks_devices[@]}"; do losetup -d "$device"; done
	[ "${images_kind:-}" != memory ] || umount "$images" || umount -l "$images"
	[ -z "$two_disks_blkio_mounted" ] || umount "$blkio"
	two_disks_devices=() two_disks_mounts=() two_disks_blkio_mounted='' images_kind=''
}

# What the two ends lie on is told as it is, and followed: kind, driver, file system, direct or not; a spindle gets one
# lane and whole files in the order in which they lie; a disk that goes away ends in exit 3 with the side named.
load lib
load trees

# explained TEXT...: each stands in a line of --explain of the last command.
explained() { err_has "$@"; }

# pages_of FILE: how much of it the page cache holds, bytes.
pages_of() { fincore --bytes --noheadings --output RES "$1" | tr -d ' '; }

# told_on KIND: source and destination on a file system of that kind, in an image on a loop device. PAGES: what of
# the copy was in the page cache when it had arrived.
told_on() {
	mount_loop "$1" 400 "$T/fs"
	mkdir "$T/fs/src"
	"$MKTREE" big 40000005 "$T/fs/src/large"
	SHARE_AT=$T/fs/share
	pair
	sync
	expect 0 haul copy --explain "$T/fs/src/large" nas:inbox
	PAGES=$(pages_of "$SHARE/large")
	cmp "$T/fs/src/large" "$SHARE/large"
}

# The disk under the images, as sysfs and the mount table have it.
under_images() {
	local source
	source=$(findmnt -n -o SOURCE -T "$T")
	[ -b "$source" ] || { echo "?"; return; }
	source=$(lsblk -n -d -o PKNAME "$source" | grep . || basename "$source")
	basename "$(readlink -f "/sys/block/$source/device/driver" 2>/dev/null || echo "$source")"
}

@test "on ext4 in a loop device: its disk is the file's, direct means past the page cache" {
	need_tool fincore findmnt lsblk
	told_on ext4
	explained "source here: ext4 on loop over $(under_images)" "nas: destination there: ext4 on loop over $(under_images)" \
		"both ends lie on the same disks" "lanes (" "reads of a lane in flight" "writes of a lane in flight"
	if grep -q "nas: writing large: direct" "$T/err"; then
		check "$PAGES" -lt 1000000
	else
		explained "buffered ("
	fi
}

@test "on XFS: alignment is told as statx has it" {
	told_on xfs
	explained "source here: xfs on loop" "nas: destination there: xfs on loop" "aligned to 4096 and memory to"
	expect 0 haul copy --explain --direct=never "$T/fs/src/large" nas:inbox/again
	explained "reading large: buffered (as asked)" "through the page cache"
}

@test "on btrfs: what the file system does not tell is not claimed" {
	told_on btrfs
	explained "source here: btrfs on loop" "both ends lie on the same disks"
	# Since Linux 6.15 direct writes with checksums go through the page cache inside: only statx may promise direct.
	grep -E "writing .*large: (direct as far as is known|direct, offsets aligned|buffered \()" "$T/err"
}

@test "on tmpfs: memory, and nothing is bypassed" {
	told_on tmpfs
	explained "source here: tmpfs: memory" "nas: destination there: tmpfs: memory" \
		"buffered (as asked)" "through the page cache"
	err_lacks "same disks"
}

@test "a loop device over memory is no disk, and no spindle whatever its queue claims" {
	mount_loop tmpfs 200 "$T/ram"
	mount_loop ext4 100 "$T/ram/fs"
	pair
	"$MKTREE" big 20000000 "$T/ram/fs/large"
	expect 0 haul copy --explain "$T/ram/fs/large" nas:inbox
	explained "source here: ext4 on loop: unknown ("
	err_lacks "rotational"
}

@test "what the user says of an end counts at both" {
	pair
	"$MKTREE" big 9000000 "$T/large"
	expect 0 haul copy --explain --device=destination:ssd,source:nvme "$T/large" nas:inbox
	explained ": NVMe (as asked)" ": SSD (as asked)" "8 reads of a lane in flight" "nas: 8 writes of a lane in flight"
	HAUL_OPTION_DEVICE=destination:rotational expect 0 haul copy --json --explain "$T/large" nas:inbox/again
	done_is lanes 1
	expect 0 haul copy --json --device=rotational --lanes 3 nas:inbox/large "$T/back"
	done_is lanes 3
}

# read_order TRACE DIR: names of the files in DIR in the order in which reads of them began, runs made one.
read_order() {
	sed -nE "s|.*pread64\([0-9]+<$2/([^>]*)>.*|\1|p" "$1" | uniq
}

@test "a source that is a spindle: one lane, whole files as they lie on the disk" {
	need_tool strace filefrag mkfs.ext4
	strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"
	export ASAN_OPTIONS=detect_leaks=0
	mount_loop ext4 500 "$T/fs"
	mkdir "$T/fs/src"
	# The last name lies first.
	local name names="h g f e d c b a"
	for name in $names; do
		"$MKTREE" big 41943040 "$T/fs/src/$name"
		sync
	done
	local lie order
	lie=$(for name in $names; do
		echo "$(filefrag -v "$T/fs/src/$name" | awk '$1 == "0:" { print $4 + 0 }') $name"
	done | sort -n | awk '{ print $2 }' | tr -d '\n')
	pair
	HAUL_ENGINE=threads HAUL_HOME=$A expect 0 timeout "$LIMIT" strace -f -y -s 0 -e trace=pread64 -o "$T/trace" \
		"$HAUL" copy --json --device=source:rotational "$T/fs/src" nas:inbox
	done_is lanes 1
	same "$T/fs/src" "$SHARE/src"
	order=$(read_order "$T/trace" "$T/fs/src" | tr -d '\n')
	# Neighbours of one moment may be seen swapped: a file shows as one run, or now and then as two.
	check ${#order} -ge 8
	check ${#order} -le 14
	# The first may be any, from there they follow in the order in which they lie, and around. Each counts where it
	# is met first.
	order=$(echo "$order" | grep -o . | awk '!seen[$0]++' | tr -d '\n')
	case "$lie$lie" in
	*"${order:1}"*) ;;
	*) echo "read as $order, they lie as $lie"; return 1 ;;
	esac
}

# vanish DIRECTORY: a file system of XFS that is shut down, as a disk that is pulled out leaves it.
vanish() { xfs_io -x -c shutdown "$1" >/dev/null 2>&1; }

@test "a destination that goes away: exit 3, its side is named" {
	need_tool xfs_io
	mount_loop xfs 600 "$T/fs"
	SHARE_AT=$T/fs/share
	pair
	"$MKTREE" big 200000000 "$T/large"
	haul copy --bwlimit 20M "$T/large" nas:inbox >"$T/out" 2>"$T/err" </dev/null &
	local copy=$! got=0
	OTHERS+=("$copy")
	wait_for 30 is_arriving "$SHARE"
	vanish "$T/fs" || skip "xfs_io cannot shut a file system down"
	wait "$copy" || got=$?
	OTHERS=()
	check "$got" = 3
	err_has "nas" "large"
}

@test "a source that goes away: exit 3, its side is named" {
	need_tool xfs_io
	mount_loop xfs 600 "$T/fs"
	pair
	"$MKTREE" big 200000000 "$T/fs/large"
	sync
	haul copy --bwlimit 20M "$T/fs/large" nas:inbox >"$T/out" 2>"$T/err" </dev/null &
	local copy=$! got=0
	OTHERS+=("$copy")
	wait_for 30 is_arriving "$SHARE"
	vanish "$T/fs" || skip "xfs_io cannot shut a file system down"
	wait "$copy" || got=$?
	OTHERS=()
	check "$got" = 3
	err_has "large"
	check ! -e "$SHARE/large"
}

@test "lanes and blocks out of range are usage errors with the range" {
	A=$T/a
	local option
	for option in --lanes=0 --lanes=1000; do
		expect 1 haul copy "$option" file nas:inbox
		err_has "from 1 to 16"
	done
	for option in --block=3 --block=32M --block=3M; do
		expect 1 haul copy "$option" file nas:inbox
		err_has "1M, 2M, 4M, 8M or 16M"
	done
	expect 1 haul copy --lanes=16 --block=16M file nas:inbox
	err_has "it may be 1M to 2M"
	check ! -e "$A"
}

# Both ends on one file system that shares extents: files are cloned, not read, and told apart from those that were.
load lib
load trees

setup() {
	test_begin
	A=$T/a
}

# reflink KIND: files are cloned, share their extents, and are told apart from read ones.
reflink() {
	mount_loop "$1" 400 "$T/disk"
	mkdir "$T/disk/from"
	"$MKTREE" big 30000001 "$T/disk/from/large"
	"$MKTREE" small 5 3000 "$T/disk/from/many"
	cp --reflink=always "$T/disk/from/large" "$T/disk/probe" 2>/dev/null || skip "$1 cannot share extents here"
	rm "$T/disk/probe"
	touch -d '2001-02-03 04:05:06.123456789' "$T/disk/from/large"
	expect 0 haul copy --json "$T/disk/from" "$T/disk/to"
	done_is exit 0 files_total 6 files_sent 5 files_cloned 1 bytes_reused 30000001 verified false durable true
	out_has '"outcome":"cloned"'
	same "$T/disk/from" "$T/disk/to/from"
	check "$(extent_of "$T/disk/from/large")" = "$(extent_of "$T/disk/to/from/large")"
	expect 0 haul copy "$T/disk/from" "$T/disk/told"
	err_has "1 cloned: same extents on disk, not read"
	expect 0 haul copy --json "$T/disk/from" "$T/disk/to"
	done_is files_cloned 0 files_sent 0 files_skipped 6
	flip "$T/disk/to/from/large" 20000000
	expect 4 haul verify "$T/disk/from" "$T/disk/to/from"
	expect 0 haul copy --json -c --verify=transfer "$T/disk/from" "$T/disk/to"
	done_is files_cloned 0 files_sent 1 verified transfer
	check "$(extent_of "$T/disk/from/large")" != "$(extent_of "$T/disk/to/from/large")"
	same "$T/disk/from" "$T/disk/to/from"
	no_leftovers "$T/disk"
	# another file system: read as ever
	expect 0 haul copy --json "$T/disk/from" "$T/elsewhere"
	done_is files_cloned 0 files_sent 6 verified transfer
}

# Where the first extent lies on the disk.
extent_of() { filefrag -v "$1" | awk '$1 == "0:" { print $4; exit }'; }

@test "XFS shares extents" {
	need_tool filefrag
	reflink xfs
}

@test "btrfs shares extents" {
	need_tool filefrag
	reflink btrfs
}

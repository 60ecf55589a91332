# Size and number: many small files, one large file, holes, bandwidth limits.
load lib
load trees

@test "many small files, there and back" {
	pair
	"$MKTREE" small "$SMALL_COUNT" 14000 "$T/small"
	expect 0 haul copy --json "$T/small" nas:inbox
	done_is exit 0 files_sent "$SMALL_COUNT" files_failed 0 files_verified_transfer "$SMALL_COUNT" durable true
	same "$T/small" "$SHARE/small"
	expect 0 haul verify "$T/small" nas:inbox/small
	expect 0 haul copy --json "$T/small" nas:inbox
	done_is files_sent 0 bytes_sent 0 files_skipped "$SMALL_COUNT"
	expect 0 haul copy nas:inbox/small/ "$T/back"
	same "$T/small" "$T/back"
	no_leftovers "$SHARE"
}

@test "one big file, there and back" {
	need_space $((BIG_BYTES / 1048576 * 3 + 500))
	pair
	"$MKTREE" big "$BIG_BYTES" "$T/big"
	expect 0 haul copy --json "$T/big" nas:inbox
	done_is exit 0 files_sent 1 bytes_sent "$BIG_BYTES" verified transfer durable true
	same "$T/big" "$SHARE/big"
	expect 0 haul copy nas:inbox/big "$T/back"
	same "$T/big" "$T/back"
	expect 0 haul verify "$T/big" nas:inbox/big
	flip "$SHARE/big" $((BIG_BYTES - 5000001))
	expect 4 haul verify "$T/big" nas:inbox/big
	offset_named $((BIG_BYTES - 5000001)) big
}

@test "a sparse file of 5 GiB with three extents of data" {
	need_full
	need_space 11000
	pair
	truncate -s 5G "$T/sparse"
	head -c 5000000 /dev/urandom >"$T/chunk"
	dd if="$T/chunk" of="$T/sparse" bs=1M seek=0 conv=notrunc status=none
	dd if="$T/chunk" of="$T/sparse" bs=1M seek=2500 conv=notrunc status=none
	dd if="$T/chunk" of="$T/sparse" bs=1M seek=5000 conv=notrunc status=none
	touch -d '2010-10-10 10:10:10.101010101' "$T/sparse"
	expect 0 haul copy "$T/sparse" nas:inbox
	check "$(stat -c %s "$SHARE/sparse")" = 5368709120
	same "$T/sparse" "$SHARE/sparse"
	expect 0 haul copy nas:inbox/sparse "$T/back"
	same "$T/sparse" "$T/back"
}

@test "a sparse file that is longer than the disk has room" {
	mount_loop tmpfs 64 "$T/disk"
	SHARE_AT=$T/disk/share pair
	truncate -s 2G "$T/sparse"
	head -c 3000000 /dev/urandom | dd of="$T/sparse" bs=1M seek=1500 conv=notrunc status=none
	expect 0 haul copy "$T/sparse" nas:inbox
	same "$T/sparse" "$SHARE/sparse"
	expect 0 haul copy nas:inbox/sparse "$T/disk/back/"
	check "$(du -m "$T/disk/back/sparse" | cut -f 1)" -lt 20
}

@test "small and large together, several lanes and block sizes" {
	pair
	make_mixed "$T/mixed"
	"$MKTREE" big 70000001 "$T/mixed/large"
	local lanes block
	for lanes in 1 3 8; do
		for block in 1M 4M 16M; do
			if [ "$lanes $block" = "8 16M" ]; then # four blocks of each lane do not fit into its memory
				expect 1 haul copy --lanes "$lanes" --block "$block" "$T/mixed" nas:inbox/none
				continue
			fi
			expect 0 haul copy --json --lanes "$lanes" --block "$block" "$T/mixed" "nas:inbox/$lanes-$block"
			check "$(done_field lanes)" -ge 1
			check "$(done_field lanes)" -le "$lanes"
			same "$T/mixed" "$SHARE/$lanes-$block/mixed"
		done
	done
}

@test "--bwlimit holds within a fifth" {
	pair
	"$MKTREE" big 20971520 "$T/big"
	local began took
	began=$(date +%s%N)
	expect 0 haul copy --bwlimit 5M "$T/big" nas:inbox
	took=$((($(date +%s%N) - began) / 1000000))
	check "$took" -ge 3200
	check "$took" -le 9000
	same "$T/big" "$SHARE/big"
}

@test "many directories and none of them full" {
	pair
	local i
	for i in $(seq 1 50); do mkdir -p "$T/dirs/$i"/{a,b,c}/{1,2,3}; done
	expect 0 haul copy "$T/dirs" nas:inbox
	same "$T/dirs" "$SHARE/dirs"
}

@test "a wide directory: siblings arrive in any order, none is lost" {
	pair
	"$MKTREE" small $((SMALL_COUNT / 4)) 0 "$T/wide"
	expect 0 haul copy "$T/wide" nas:inbox
	same "$T/wide" "$SHARE/wide"
	check "$(find "$SHARE/wide" -type f | wc -l)" -eq $((SMALL_COUNT / 4))
}

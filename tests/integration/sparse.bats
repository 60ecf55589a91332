# Files with holes: they arrive with their holes, whatever the holes' place and length; zeros become holes with -S.
load lib
load trees

# Bytes of $1 that lie on the disk, in KiB.
kib() { echo $(($(stat -c %b "$1") / 2)); }

# Where data begins and ends in $1, one extent a line, in pages.
extents() {
	python3 - "$1" <<-'PY'
		import os, sys
		fd, at, size = os.open(sys.argv[1], os.O_RDONLY), 0, os.stat(sys.argv[1]).st_size
		while at < size:
		    try:
		        at = os.lseek(fd, at, os.SEEK_DATA)
		    except OSError:
		        break
		    end = os.lseek(fd, at, os.SEEK_HOLE)
		    print(at // 4096, (end + 4095) // 4096)
		    at = end
	PY
}

# 24 MiB with holes at both ends, every second page of one MiB a hole, holes across the leaves' borders, and zeros that
# are data.
make_holes() {
	python3 - "$1" <<-'PY'
		import os, random, sys
		r = random.Random(7)
		with open(sys.argv[1], "wb") as f:
		    for page in list(range(300, 556, 2)) + list(range(1000, 1300)) + list(range(1530, 1537)) + [4096]:
		        f.seek(page * 4096)
		        f.write(r.randbytes(4096))
		    f.truncate(24 * 2**20 + 77)
	PY
	touch -d 2019-02-03T04:05:06.789 "$1"
}

same_holes() {
	same "$1" "$2"
	check "$(extents "$2" | md5sum)" = "$(extents "$1" | md5sum)"
}

@test "holes within a block, across blocks and at both ends, there, back and within the machine" {
	pair
	make_holes "$T/holes"
	check "$(kib "$T/holes")" -lt 3000
	expect 0 haul copy --json "$T/holes" nas:inbox
	same_holes "$T/holes" "$SHARE/holes"
	check "$(done_field bytes_sent)" -lt $((24 << 20))
	sent=$(done_field bytes_sent)
	expect 0 haul copy --json nas:inbox/holes "$T/back"
	same_holes "$T/holes" "$T/back"
	check "$(done_field bytes_sent)" = "$sent"
	expect 0 haul copy "$T/holes" "$T/here"
	same_holes "$T/holes" "$T/here"
	expect 0 haul verify "$T/holes" nas:inbox/holes
}

@test "-S: zeros become holes, in big files and small ones" {
	pair
	mkdir "$T/from"
	make_holes "$T/holes"
	cp --sparse=never "$T/holes" "$T/from/big"
	{ head -c 100 /dev/urandom; head -c 200000 /dev/zero; head -c 5000 /dev/urandom; } >"$T/from/small"
	expect 0 haul copy "$T/from/" nas:inbox/as-is
	check "$(kib "$SHARE/as-is/big")" -ge 24000
	check "$(kib "$SHARE/as-is/small")" -ge 200
	expect 0 haul copy -S "$T/from/" nas:inbox/pushed
	expect 0 haul copy --sparse nas:inbox/as-is/ "$T/pulled"
	expect 0 haul copy -S --verify=transfer "$T/from/" "$T/here"
	for to in "$SHARE/pushed" "$T/pulled" "$T/here"; do
		same "$T/from" "$to"
		check "$(extents "$to/big" | md5sum)" = "$(extents "$T/holes" | md5sum)"
		check "$(kib "$to/small")" -le 20
	done
	expect 1 haul verify -S "$T/from" nas:inbox/pushed
}

@test "a file of holes alone, and one with a byte at its end" {
	pair
	truncate -s 3G "$T/none"
	truncate -s 3G "$T/last"
	printf x | dd of="$T/last" bs=1 seek=$((3 * 1024 * 1048576)) conv=notrunc status=none
	expect 0 haul copy --json "$T/none" "$T/last" nas:inbox
	done_is files_sent 2 bytes_total $((6 * 1024 * 1048576 + 1)) verified transfer
	check "$(done_field bytes_sent)" -lt 20000000
	check "$(kib "$SHARE/none")" = 0
	check "$(kib "$SHARE/last")" -le 8
	check "$(tail -c 1 "$SHARE/last")" = x
	check "$(stat -c %s "$SHARE/none")" = $((3 * 1024 * 1048576))
}

@test "what changes from data to a hole is a hole in the new version" {
	pair
	make_holes "$T/holes"
	cp --sparse=never "$T/holes" "$T/file"
	expect 0 haul copy "$T/file" nas:inbox
	fallocate -p -o $((5 << 20)) -l $((12 << 20)) "$T/file"
	touch "$T/file"
	expect 0 haul copy "$T/file" nas:inbox
	same "$T/file" "$SHARE/file"
	check "$(kib "$SHARE/file")" -le $(($(kib "$T/file") + 8))
}

@test "a sparse file far larger than any disk: bounded memory, and a signal ends it" {
	size=$([ "$SCALE" = full ] && echo 10T || echo 1T)
	pair
	truncate -s "$size" "$T/huge" || skip "the file system takes no file of $size"
	printf middle | dd of="$T/huge" bs=1M seek=500000 conv=notrunc status=none
	HAUL_HOME=$A "$HAUL" copy "$T/huge" nas:inbox/ended >/dev/null 2>"$T/err" </dev/null 3>&- 4>&- &
	job=$!
	OTHERS+=("$job")
	wait_for 20 is_arriving "$SHARE"
	kill -TERM "$job"
	wait_for 10 is_gone "$job"
	code=0
	wait "$job" || code=$?
	check "$code" = 143
	HAUL_HOME=$A "$HAUL" copy --json "$T/huge" nas:inbox >"$T/out" 2>"$T/err" </dev/null 3>&- 4>&- &
	job=$!
	OTHERS+=("$job")
	watch_memory "$job" "$T/hwm"
	wait_for 200 is_gone "$job"
	wait "$job"
	check "$(done_field bytes_sent)" -le $((16 << 20))
	check "$(kib "$SHARE/huge")" -le 16
	check "$(stat -c %s "$SHARE/huge")" = "$(stat -c %s "$T/huge")"
	check "$(dd if="$SHARE/huge" bs=1M skip=500000 count=1 status=none | head -c 6)" = middle
	echo "# haul $(($(cat "$T/hwm") / 1024)) MiB, hauld $(agent_mib) MiB" >&3
	[ "$SCALE" != full ] || check "$(cat "$T/hwm")" -lt 409600
	[ "$SCALE" != full ] || check "$(agent_mib)" -lt 400
}

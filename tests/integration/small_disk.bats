# A destination that is smaller than what comes: no false success, each file whole or named, and with more room the next run
# sends the rest alone. Real sizes at full scale: 2 GB into 500 MB.
load lib
load trees

if [ "$SCALE" = full ]; then DISK_MB=500 FILE_BYTES=100000000; else DISK_MB=60 FILE_BYTES=10000000; fi
COUNT=20

setup() {
	test_begin
	SHARE_AT=$T/small
	mount_loop ext4 "$DISK_MB" "$SHARE_AT" -m 0
	need_space $((COUNT * FILE_BYTES / 1000000 * 22 / 10))
	local i
	mkdir "$T/rushes"
	for i in $(seq -w 1 $COUNT); do
		"$MKTREE" big "$FILE_BYTES" "$T/rushes/clip-$i"
		printf '%s' "$i" | dd of="$T/rushes/clip-$i" conv=notrunc status=none
	done
	pair
}

# Each file is there and equal, or named in an error and not there; HERE counts the former.
whole_or_named() {
	local file name
	HERE=0
	for file in "$T/rushes"/*; do
		name=${file##*/}
		if [ -e "$SHARE/rushes/$name" ]; then
			cmp "$file" "$SHARE/rushes/$name" || return 1
			HERE=$((HERE + 1))
		else
			jq -r 'select(.event == "error").path' "$T/out" | grep -qx "rushes/$name" ||
				fail_with "$name is not there, and nobody said so"
		fi
	done
}

@test "D-01, D-02: more than the disk holds: exit 7, what lacks is said, no file begins that does not fit; with room the rest alone is sent" {
	local fits
	fits=$(($(stat -f -c '%a * %S' "$SHARE" | xargs expr) / FILE_BYTES))
	expect 7 haul copy --json "$T/rushes" nas:inbox
	whole_or_named
	echo "$HERE of $COUNT are there, $fits fit"
	check "$HERE" -ge $((fits - 1)) -a "$HERE" -le "$fits"
	check "$(jq -r 'select(.event == "error" and .path == null).text' "$T/out" | grep -c '^nas:inbox lacks [0-9.]* [MG]B ([0-9.]* MB free)$')" -eq 1
	done_is exit 7 reasons '[7]' files_total $COUNT files_sent "$HERE" files_failed $((COUNT - HERE))
	# Nothing was begun beyond them.
	check "$(done_field bytes_sent)" -eq $((HERE * FILE_BYTES))
	no_leftovers "$SHARE"
	more_room
	expect 0 haul copy --json "$T/rushes" nas:inbox
	done_is exit 0 files_sent $((COUNT - HERE)) files_skipped "$HERE" bytes_sent $(((COUNT - HERE) * FILE_BYTES))
	same "$T/rushes" "$SHARE/rushes"
	no_leftovers "$SHARE"
}

# A bigger disk under the same agent.
more_room() {
	umount "$SHARE"
	truncate -s $((COUNT * FILE_BYTES * 12 / 10 + 100000000)) "$SHARE.img"
	{ e2fsck -fp "$SHARE.img" && resize2fs "$SHARE.img"; } >"$T/resize" 2>&1 || fail_with "$(cat "$T/resize")"
	mount -o loop "$SHARE.img" "$SHARE"
}

@test "D-01: a move to a disk that is too small deletes only what is there" {
	A=$T/a
	expect 7 haul move --json "$T/rushes" "$SHARE/"
	check "$(find "$T/rushes" -type f | wc -l)" -ge 1
	check "$(($(find "$T/rushes" -type f | wc -l) + $(find "$SHARE/rushes" -type f | wc -l)))" -eq $COUNT
	more_room
	expect 0 haul move --json "$T/rushes" "$SHARE/"
	check ! -e "$T/rushes"
	check "$(find "$SHARE/rushes" -type f | wc -l)" -eq $COUNT
	for file in "$SHARE/rushes"/*; do check "$(head -c 2 "$file")" = "${file##*-}"; done
}

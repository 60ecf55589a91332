# Kinds of files, as BUGREPORTS' group K has them: what travels arrives as it is, what does not is named once and holds up nobody.
load lib
load trees

@test "K-01 K-02 K-21 K-22: fifos, sockets and devices: one warning for each kind, never opened, gone the next time" {
	pair
	mkdir -p "$T/src/d"
	echo hi >"$T/src/a.txt"
	mkfifo "$T/src/pipe" "$T/src/d/pipe"
	python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$T/src/socket" 2>/dev/null || need_tool python3
	[ "$(id -u)" != 0 ] || mknod "$T/src/zero" c 1 5
	LIMIT=60 expect 0 haul copy "$T/src" nas:inbox
	err_has "2 fifos left out" "1 socket left out"
	[ "$(id -u)" != 0 ] || err_has "1 device left out"
	check "$(cat "$SHARE/src/a.txt")" = hi -a ! -e "$SHARE/src/pipe" -a ! -e "$SHARE/src/zero"
	expect 3 haul copy --strict "$T/src" nas:inbox
	rm -f "$T/src/pipe" "$T/src/d/pipe" "$T/src/socket" "$T/src/zero"
	expect 0 haul copy --strict "$T/src" nas:inbox
	err_lacks "left out"
}

@test "K-03 K-04 K-23: links are links, dangling, long, to themselves; one takes another's place at once" {
	pair
	mkdir "$T/src"
	echo A >"$T/src/a"
	ln -s a "$T/src/b"
	ln -s missing "$T/src/dangling"
	ln -s self "$T/src/self"
	ln -s "$(head -c 4095 /dev/zero | tr '\0' t)" "$T/src/long"
	expect 0 haul copy "$T/src" nas:inbox
	same "$T/src" "$SHARE/src"
	expect 0 haul copy "$T/src/b" nas:inbox/alone/
	check "$(ls "$SHARE/alone")" = b -a -L "$SHARE/alone/b"
	ln -sfn /proc/self "$T/src/b"
	expect 0 haul copy "$T/src" nas:inbox
	same "$T/src" "$SHARE/src"
}

@test "K-07: what is replaced is a new file: hard-linked snapshots of the destination keep the old" {
	pair
	mkdir "$T/src"
	echo old >"$T/src/f"
	expect 0 haul copy "$T/src" nas:inbox
	cp -al "$SHARE/src" "$SHARE/snap"
	echo newer >"$T/src/f"
	expect 0 haul copy "$T/src" nas:inbox
	check "$(cat "$SHARE/snap/f")" = old -a "$(cat "$SHARE/src/f")" = newer
}

@test "K-09: 100 GiB of holes with a byte in them: in seconds, without taking room" {
	pair
	mkdir "$T/src"
	truncate -s 100G "$T/src/img" || skip "no such long files here"
	printf x | dd of="$T/src/img" bs=1 seek=50G conv=notrunc status=none
	truncate -s 200000 "$T/src/small"
	printf y | dd of="$T/src/small" bs=1 seek=150000 conv=notrunc status=none
	LIMIT=60 expect 0 haul copy --json "$T/src" nas:inbox
	check "$(done_field bytes_sent)" -le 5000000
	check "$(stat -c %s "$SHARE/src/img")" = 107374182400
	check "$(du -k "$SHARE/src/img" | cut -f 1)" -le 4096
	check "$(du -k "$SHARE/src/small" | cut -f 1)" -le 16
	check "$(dd if="$SHARE/src/img" bs=1 skip=50G count=1 status=none)" = x
	check "$(dd if="$SHARE/src/small" bs=1 skip=150000 count=1 status=none)" = y
}

@test "K-12 K-13: files of no bytes, first, last and alone, and one that becomes empty" {
	pair
	mkdir -p "$T/src/only/empties" "$T/src/emptydir"
	: >"$T/src/0first"
	: >"$T/src/zlast"
	: >"$T/src/only/empties/a"
	echo full >"$T/src/full"
	expect 0 haul copy "$T/src" nas:inbox
	same "$T/src" "$SHARE/src"
	: >"$T/src/full"
	expect 0 haul copy "$T/src" nas:inbox
	same "$T/src" "$SHARE/src"
	expect 0 haul copy "$T/src/0first" nas:inbox/one/
	check -f "$SHARE/one/0first" -a ! -s "$SHARE/one/0first"
}

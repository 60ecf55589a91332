# A file that is there in another version: what the two have in common does not travel, whichever end is the sender; the
# new version appears whole, or not at all.
load lib
load trees
load proxy
load bad_disk

MIB=1048576
LEAVES=64
[ "$SCALE" = light ] || LEAVES=1024

setup() {
	test_begin
	mkdir "$T/src" "$T/local"
	pair
}

# both BYTES: the file is at both ends.
both() {
	"$MKTREE" big "$1" "$FILE"
	cp "$FILE" "$THERE/file"
}

# change FILE LEAF...: one byte in the middle of each of these leaves, and a time of its own.
change() {
	local file=$1 leaf
	shift
	for leaf; do flip "$file" $((leaf * MIB + 4321)); done
	touch -d "@$((1000000000 + RANDOM))" "$file"
}

# reuses ARGS...: a copy of one file that takes something of the old version, and sends the rest alone.
reuses() {
	expect 0 haul "$@"
	echo "sent $(done_field bytes_sent), reused $(done_field bytes_reused)"
	done_is exit 0 files_sent 1 bytes_resumed 0 verified transfer durable true
	check "$(($(done_field bytes_sent) + $(done_field bytes_reused)))" -eq "$(stat -c %s "$THERE/file")"
	check "$(done_field bytes_reused)" -ge $MIB
}

arrived() {
	cmp "$FILE" "$THERE/file"
	check "$(stat -c %Y "$FILE")" -eq "$(stat -c %Y "$THERE/file")"
	no_leftovers "$THERE"
}

@test "ten leaves of a big file are changed: no more than twelve travel" {
	for way in push pull; do
		echo "$way"
		places $way
		both $((LEAVES * MIB + 77))
		change "$FILE" 0 3 4 5 11 20 21 33 50 63
		reuses copy --json --explain "$FROM" "$TO"
		check "$(done_field bytes_sent)" -le $((12 * MIB))
		err_has "MiB are as in the version that is there"
		arrived
		change "$FILE" 7
		expect 0 haul copy "$FROM" "$TO"
		err_has "taken from what was there"
		arrived
	done
}

@test "something put in at the front: the whole file travels, and that is said" {
	for way in push pull; do
		echo "$way"
		places $way
		both $((LEAVES * MIB))
		(head -c 4096 /dev/urandom && cat "$THERE/file") >"$FILE"
		expect 0 haul copy --json --explain "$FROM" "$TO"
		done_is exit 0 files_sent 1 bytes_reused 0 bytes_sent $((LEAVES * MIB + 4096))
		err_has "the whole one travels"
		arrived
	done
}

@test "a file that has another name by now is taken from under the old one" {
	for way in push pull; do
		echo "$way"
		places $way
		both $((LEAVES * MIB + 5))
		expect 0 haul_b peer allow edit1 inbox=mirror
		touch -d "@$((1000000000 + RANDOM))" "$FILE"
		expect 0 haul sync --json "$FROM" "$TO"
		mkdir "$DIR/other"
		mv "$FILE" "$DIR/other/name"
		expect 0 haul sync --json --explain "$FROM" "$TO"
		done_is exit 0 files_sent 1 files_deleted 1 bytes_resumed 0 verified transfer durable true
		check "$(done_field bytes_sent)" -le $MIB
		check "$(done_field bytes_reused)" -eq $((LEAVES * MIB + 5))
		err_has "MiB are as in file"
		cmp "$DIR/other/name" "$THERE/other/name"
		check ! -e "$THERE/file"
		no_leftovers "$THERE"
		# names that go around, and one whose file is another by now
		cp "$DIR/other/name" "$DIR/a"
		change "$DIR/a" 1
		expect 0 haul sync "$FROM" "$TO"
		mv "$DIR/a" "$DIR/b"
		mv "$DIR/other/name" "$DIR/a"
		head -c $((LEAVES * MIB + 5)) /dev/urandom >"$THERE/a"
		expect 0 haul sync --json "$FROM" "$TO"
		cmp "$DIR/a" "$THERE/a"
		cmp "$DIR/b" "$THERE/b"
		check ! -e "$THERE/other/name"
	done
}

@test "a sync of big files that have other names by now deletes the old ones, as many as they are" {
	places push
	expect 0 haul_b peer allow edit1 inbox=mirror
	mkdir "$DIR/films"
	for i in $(seq 1 14); do
		"$MKTREE" big $((4 * MIB + i)) "$DIR/films/$i"
		touch -d "@$((1000000000 + i))" "$DIR/films/$i"
	done
	expect 0 haul sync "$FROM" "$TO"
	mv "$DIR/films" "$DIR/movies"
	expect 0 haul sync --json -n "$FROM" "$TO"
	expect 0 haul sync --json "$FROM" "$TO"
	done_is files_sent 14 files_deleted 14 bytes_sent 0
	same "$DIR" "$THERE"
	mv "$DIR/movies" "$DIR/films" # and others of that size and time under the new names
	for i in $(seq 1 14); do
		head -c $((4 * MIB + i)) /dev/urandom >"$DIR/films/$i"
		touch -d "@$((1000000000 + i))" "$DIR/films/$i"
	done
	expect 9 haul sync --json "$FROM" "$TO"
	done_is files_deleted 0 bytes_reused 0
	check -e "$THERE/movies/14"
}

@test "files that grew, that were cut, and that were only touched" {
	places push
	both $((20 * MIB + 5))
	head -c $((3 * MIB)) /dev/urandom >>"$FILE"
	reuses copy --json "$FROM" "$TO"
	check "$(done_field bytes_sent)" -le $((4 * MIB))
	arrived
	truncate -s $((15 * MIB + 1)) "$FILE"
	reuses copy --json "$FROM" "$TO"
	check "$(done_field bytes_sent)" -le 1
	arrived
	change "$FILE"
	reuses copy --json "$FROM" "$TO"
	check "$(done_field bytes_sent)" -eq 0
	arrived
}

@test "holes of the new version are holes, whatever the old one has there" {
	places push
	both $((24 * MIB))
	fallocate -p -o $((4 * MIB)) -l $((3 * MIB + 8192)) "$FILE"
	fallocate -p -o $((9 * MIB + 4096)) -l 8192 "$FILE"
	change "$FILE" 20
	reuses copy --json "$FROM" "$TO"
	check "$(done_field bytes_sent)" -le $((6 * MIB)) # a block that is a hole in part travels
	arrived
	check "$(stat -c %b "$THERE/file")" -le $((21 * MIB / 512 + 64))
	cp "$T/src/file" "$T/filled" --sparse=never
	mv "$T/filled" "$FILE"
	change "$FILE" 5
	reuses copy --json "$FROM" "$TO"
	arrived
}

# shares_extents KIND: the new version shares what is equal with the old one, which another name keeps.
shares_extents() {
	mount_loop "$1" 400 "$T/disk"
	places pull
	THERE=$T/disk/local TO=$T/disk/local/
	mkdir "$THERE"
	both $((64 * MIB + 9))
	cp --reflink=always "$THERE/file" "$THERE/probe" 2>/dev/null || skip "$1 cannot share extents here"
	rm "$THERE/probe"
	ln "$THERE/file" "$T/disk/keep"
	change "$FILE" 1 40
	sync -f "$T/disk"
	before=$(df -B1 --output=used "$T/disk" | tail -n 1)
	reuses copy --json "$FROM" "$TO"
	check "$(done_field bytes_sent)" -le $((3 * MIB))
	arrived
	sync -f "$T/disk"
	check $(($(df -B1 --output=used "$T/disk" | tail -n 1) - before)) -le $((8 * MIB))
	truncate -s $((40 * MIB + 100)) "$FILE" # shorter than its basis, then longer
	reuses copy --json "$FROM" "$TO"
	check "$(done_field bytes_sent)" -le $MIB
	arrived
	head -c $((30 * MIB)) /dev/urandom >>"$FILE"
	reuses copy --json "$FROM" "$TO"
	check "$(done_field bytes_sent)" -le $((31 * MIB))
	arrived
	head -c $((70 * MIB)) /dev/urandom >"$FILE"
	expect 0 haul copy --json "$FROM" "$TO"
	done_is bytes_reused 0 bytes_sent $((70 * MIB))
	arrived
}

@test "XFS shares what is equal with the old version" { shares_extents xfs; }
@test "btrfs shares what is equal with the old version" { shares_extents btrfs; }

@test "short files, and those of another length, travel whole" {
	places push
	both $((3 * MIB))
	change "$FILE" 1
	expect 0 haul copy --json "$FROM" "$TO"
	done_is bytes_sent $((3 * MIB)) bytes_reused 0
	both $((20 * MIB))
	truncate -s $((9 * MIB)) "$THERE/file"
	change "$FILE" 1
	expect 0 haul copy --json "$FROM" "$TO"
	done_is bytes_sent $((20 * MIB)) bytes_reused 0
	arrived
}

@test "who may not read what is there is not told what is in it" {
	places push
	both $((20 * MIB))
	change "$FILE" 1
	expect 0 haul_b peer allow edit1 inbox=list,create,overwrite,meta
	expect 0 haul copy --json "$FROM" "$TO"
	done_is exit 0 bytes_sent $((20 * MIB)) bytes_reused 0
	arrived
}

@test "by content, as part of a move, and by a sync" {
	places push
	both $((20 * MIB))
	change "$FILE" 1
	touch -r "$FILE" "$THERE/file"
	reuses copy --json -c "$FROM" "$TO"
	arrived
	change "$FILE" 2
	expect 0 haul_b peer allow edit1 inbox=mirror
	reuses sync --json "$FROM" "$TO"
	arrived
	change "$FILE" 3
	cp "$FILE" "$T/was"
	expect 0 haul move --json --on-conflict=replace "$FILE" "$TO"
	check "$(done_field bytes_reused)" -ge $MIB
	done_is files_deleted 1
	cmp "$T/was" "$THERE/file"
	check ! -e "$FILE"
}

@test "the old version is written to while it is taken from: never a mixture" {
	places push
	both $((LEAVES * MIB))
	change "$FILE" 1 2 3
	(while :; do
		dd if=/dev/urandom of="$THERE/file" bs=4096 count=1 conv=notrunc status=none \
			seek=$((RANDOM % (LEAVES * 256)))
	done) 3>&- 4>&- 2>/dev/null &
	OTHERS+=($!)
	expect 0 haul copy --json "$FROM" "$TO"
	kill $!
	wait $! || true
	check "$(done_field bytes_reused)" -ge $MIB
	truncate -s $((LEAVES * MIB)) "$THERE/file"
	expect 0 haul copy --json -c "$FROM" "$TO" # what was written under the new name, after it had arrived
	arrived
}

@test "lanes that break while versions are compared, and while the rest comes" {
	local hows=("--one --reset-after 700" "--reset-after 9000000")
	[ "$SCALE" = light ] || hows+=("--reset-after 1500" "--one --reset-after 7000000")
	for way in push pull; do
		places $way
		both $((64 * MIB + 5))
		cp "$THERE/file" "$T/old"
		for i in $(seq 1 2 63); do head -c 9 /dev/urandom | dd of="$FILE" bs=$MIB seek="$i" conv=notrunc status=none; done
		change "$FILE"
		for how in "${hows[@]}"; do
			echo "$way $how"
			cp "$T/old" "$THERE/file"
			through --lanes $how
			expect 0 haul copy --json --lanes 4 --block 1M "$FROM" "$TO"
			has_struck
			done_is exit 0 files_sent 1 verified transfer
			check "$(done_field bytes_reused)" -eq $((32 * MIB + 5))
			check "$(grep -c '"reconnected"' "$T/out")" -eq 0
			arrived
			leave_proxy
			reach "$AGENT_PORT"
		done
	done
}

@test "an old version that cannot be read is none: what could be is taken, the rest travels" {
	bad_disk bad
	stop_agent "$AGENT_PID"
	rm -rf "$T/a" "$T/b"
	SHARE_AT=$T/bad pair
	places push
	both $((20 * MIB))
	rm -rf "$THERE/.haul"
	change "$FILE" 1
	rules bad 'read */file EIO from=8388608 to=8388609'
	expect 0 haul copy --json --block 1M "$FROM" "$TO"
	struck bad '^read .*file'
	rules bad
	echo "sent $(done_field bytes_sent), reused $(done_field bytes_reused)"
	check "$(done_field bytes_reused)" -ge $((10 * MIB))
	check "$(done_field bytes_sent)" -ge $((2 * MIB))
	cmp "$FILE" "$THERE/file"
}

@test "--inplace writes what differs into the file that is there" {
	local size
	for way in push pull here; do
		echo "$way"
		places $way
		both $((LEAVES * MIB + 3))
		ln "$THERE/file" "$T/keep.$way"
		for size in $((LEAVES * MIB + 3)) $((LEAVES * MIB - 5 * MIB + 100)) $((LEAVES * MIB + 2 * MIB + 1)); do
			truncate -s "$size" "$FILE"
			fallocate -p -o $((12 * MIB)) -l $((MIB + 4096)) "$FILE"
			change "$FILE" 2 3 30
			chmod 640 "$FILE"
			expect 0 haul copy --json --inplace "$FROM" "$TO" # what lies in holes counts as neither
			echo "sent $(done_field bytes_sent), reused $(done_field bytes_reused)"
			done_is exit 0 files_sent 1 verified transfer durable true
			check "$(done_field bytes_sent)" -le $((10 * MIB))
			check "$(done_field bytes_reused)" -ge $((size - 20 * MIB))
			arrived
			check "$(stat -c %a "$THERE/file")" -eq 640
			check "$THERE/file" -ef "$T/keep.$way"
		done
		cp "$FILE" "$DIR/new"
		truncate -s $((3 * MIB)) "$FILE" # too unlike: a file of its own
		expect 0 haul copy --json --inplace "$FROM" "$TO"
		done_is files_sent 2 bytes_reused 0
		cmp "$DIR/new" "$THERE/new"
		arrived
		check ! "$THERE/file" -ef "$T/keep.$way"
	done
	expect 1 haul move --inplace "$FILE" nas:inbox
	err_has "--inplace"
}

@test "--inplace cut off leaves a mixture, and the next run mends it; one that another has locked is left alone" {
	places push
	both $((64 * MIB))
	for i in $(seq 1 2 63); do flip "$FILE" $((i * MIB)); done
	change "$FILE"
	HAUL_HOME=$A "$HAUL" copy --json --inplace --block=1M --bwlimit=8M "$FROM" "$TO" >"$T/out" 2>"$T/err" </dev/null 3>&- 4>&- &
	local run=$!
	OTHERS+=("$run")
	sleep 2
	kill -9 "$run"
	wait "$run" || true
	wait_for 10 flock -n "$THERE/file" true
	expect 0 haul copy --json --inplace "$FROM" "$TO"
	check "$(done_field bytes_reused)" -ge $((32 * MIB))
	arrived
	change "$FILE" 1
	flock "$THERE/file" sleep 60 3>&- 4>&- &
	OTHERS+=($!)
	wait_for 10 is_locked "$THERE/file"
	cp "$THERE/file" "$T/old"
	expect 5 haul copy --json --inplace "$FROM" "$TO"
	cmp "$T/old" "$THERE/file"
}

is_locked() { ! flock -n "$1" true; }

@test "cut off while it arrives: what was taken stays, the old version stands until the new one is whole" {
	places push
	both $((64 * MIB))
	cp "$THERE/file" "$T/old"
	for i in $(seq 1 2 63); do flip "$FILE" $((i * MIB)); done
	change "$FILE"
	HAUL_HOME=$A "$HAUL" copy --json --block=1M --bwlimit=8M "$FROM" "$TO" >"$T/out" 2>"$T/err" </dev/null 3>&- 4>&- &
	local run=$!
	OTHERS+=("$run")
	wait_for 60 has_reused 30
	kill -9 "$run"
	wait "$run" || true
	cmp "$T/old" "$THERE/file"
	wait_for 10 flock -n "$(find "$THERE/.haul/partials" -name '*.part')" true
	expect 0 haul copy --json "$FROM" "$TO"
	echo "sent $(done_field bytes_sent), were there $(done_field bytes_resumed)"
	check "$(done_field bytes_resumed)" -ge $((30 * MIB))
	check "$(($(done_field bytes_sent) + $(done_field bytes_resumed)))" -eq $((64 * MIB))
	arrived
}

has_reused() {
	local bytes
	bytes=$(HAUL_HOME=$B "$HAUL" list --partials --json "$SHARE" 2>/dev/null </dev/null |
		jq -r 'select(.event == "partial").there_bytes' | head -n 1)
	[ "${bytes:-0}" -ge $(($1 * MIB)) ]
}

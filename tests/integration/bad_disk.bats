# A disk that errors, hangs, lies or goes read-only under a transfer, at either end and within one machine: what cannot be
# had is named, everything else arrives, nothing is told as sent that is not there, nothing is half. Entries of
# docs/KNOWN-FAULTS.md by their ids.
load lib
load trees
load bad_disk

# A big file of three blocks and some small ones, in the directory.
make_files() {
	mkdir -p "$1"
	"$MKTREE" big 12500000 "$1/big"
	"$MKTREE" small 30 2000 "$1/many"
	echo one >"$1/one"
	FILES=$(find "$1" -type f | wc -l)
}

# way WAY bad_source|bad_destination: where the files are made and land (FROM, TO), and what haul is told (SRC, DST). WAY is
# push, pull or local.
way() {
	local from=$T/good to=$T/there
	[ "$2" != bad_source ] || from=$T/bad
	[ "$2" = bad_source ] || to=$T/bad
	mkdir -p "$from" "$to"
	case $1 in
	push) SHARE_AT=$to pair && SRC=$from/tree DST=nas:inbox/ ;;
	pull) SHARE_AT=$from pair && SRC=nas:inbox/tree DST=$to/ ;;
	local) A=$T/a SRC=$from/tree DST=$to/ ;;
	esac
	FROM=$from/tree TO=$to/tree
}

# Another way after this one: no agent of the last, and an empty destination.
next_way() {
	rules bad
	[ ${#AGENTS[@]} -eq 0 ] || stop_agent "$AGENT_PID"
	rm -rf "$T/a" "$T/b" "$T/good" "$T/there" "$T/bad"/* "$T/bad/.haul"
}

# all_but PATH: that file did not arrive, and is not there in part either; every other is equal.
all_but() {
	local file
	check ! -e "$TO/$1"
	while IFS= read -r file; do
		[ "$file" = "./$1" ] || cmp "$FROM/$file" "$TO/$file" || return 1
	done < <(cd "$FROM" && find . -type f)
}

# Nobody was told that it was sent.
not_told_as_sent() {
	jq -c --arg path "$1" 'select(.event == "file" and .path == $path and .outcome == "proven")' "$T/out" >"$T/told"
	[ ! -s "$T/told" ] || fail_with "told as sent: $(cat "$T/told")"
}

# each_way BODY bad_source|bad_destination: it runs once each way; at light scale one way a test.
each_way() {
	local kind all=(push pull local) ways
	ways=${all[*]}
	[ "$SCALE" = full ] || ways=${all[$((BATS_TEST_NUMBER % 3))]}
	bad_disk bad
	for kind in $ways; do
		echo "--- $kind"
		way "$kind" "$2"
		make_files "$FROM"
		"$1"
		no_leftovers "$(dirname "$TO")"
		next_way
	done
}

# With a whole disk again the next run completes.
mended() {
	rules bad
	expect 0 haul copy --json "$SRC" "$DST"
	same "$FROM" "$TO"
}

@test "R-14: a block of the source that cannot be read: that file is named, all others arrive" {
	each_way unreadable_block bad_source
}
unreadable_block() {
	rules bad 'read */big EIO from=8388608 to=8388609'
	expect 3 haul copy --json "$SRC" "$DST"
	struck bad '^read .*big'
	only_big_failed
	mended
}

@test "a block that cannot be written: that file is named, all others arrive" {
	each_way unwritable_block bad_destination
}
unwritable_block() {
	rules bad 'write * EIO from=8388608 to=8388609'
	expect 3 haul copy --json "$SRC" "$DST"
	struck bad '^write'
	only_big_failed
	mended
}
only_big_failed() {
	named tree/big
	not_told_as_sent tree/big
	done_is exit 3 files_failed 1 files_sent $((FILES - 1))
	all_but big
}

@test "R-09: a sync of a file that fails: named, never told as sent, not tried again, the old file stays" {
	each_way failing_sync bad_destination
}
failing_sync() {
	local path
	mkdir "$TO"
	echo old >"$TO/big"
	rules bad 'fsync *haul* EIO times=1 after=5'
	expect 3 haul copy --json "$SRC" "$DST"
	struck bad '^fsync'
	jq -r 'select(.event == "error" and .path != null).path' "$T/out" >"$T/failed"
	check -s "$T/failed"
	while IFS= read -r path; do
		not_told_as_sent "$path"
		[ "$path" = tree/big ] || check ! -e "$(dirname "$TO")/$path"
	done <"$T/failed"
	! grep -qx tree/big "$T/failed" || check "$(cat "$TO/big")" = old
	mended
}

@test "a sync of a directory that fails: nobody knows whether the name is there, so it is not told as sent" {
	each_way failing_directory bad_destination
}
failing_directory() {
	rules bad 'fsyncdir */tree EIO times=1'
	expect 3 haul copy --json "$SRC" "$DST"
	struck bad '^fsyncdir'
	check "$(done_field files_failed)" -ge 1
	check "$(($(done_field files_failed) + $(done_field files_sent)))" -eq "$FILES"
	mended
}

@test "R-09: what is told as sent was synced, each file and each directory, where syncfs is nothing" {
	each_way synced_one_by_one bad_destination
}
synced_one_by_one() {
	rules bad
	expect 0 haul copy --json "$SRC" "$DST"
	done_is durable true files_sent "$FILES"
	check "$(grep '^synced /' "$T/bad.log" | grep -c 'part\|/[0-9a-f]*$')" -ge "$FILES"
	grep -qx 'synced directory /tree/many' "$T/bad.log"
	grep -qx 'synced directory /tree' "$T/bad.log"
	grep -qx 'synced directory /' "$T/bad.log"
	mended
}

@test "a disk that hangs in a write, longer than a peer may be silent: nobody is declared dead" {
	export HAUL_DEAD_PEER_MS=1500
	each_way hanging_write bad_destination
}
hanging_write() {
	rules bad "write * slow=$([ "$SCALE" = full ] && echo 10000 || echo 3000) times=1 from=4194304"
	expect 0 haul copy --json "$SRC" "$DST"
	struck bad '^write .* slow'
	check "$(grep -c '"reconnected"' "$T/out")" -eq 0
	done_is files_sent "$FILES"
	mended
}

@test "a disk that hangs in a sync" {
	export HAUL_DEAD_PEER_MS=1500
	each_way hanging_sync bad_destination
}
hanging_sync() {
	rules bad 'fsync * slow=3000 times=1'
	expect 0 haul copy --json "$SRC" "$DST"
	struck bad '^fsync .* slow'
	check "$(grep -c '"reconnected"' "$T/out")" -eq 0
	mended
}

@test "a file system that becomes read-only in the midst: exit 3, told apart from missing rights, nothing half" {
	each_way read_only_midway bad_destination
}
read_only_midway() {
	rules bad 'change * EROFS after=60'
	expect 3 haul copy --json "$SRC" "$DST"
	struck bad EROFS
	jq -r 'select(.event == "error").text' "$T/out" | grep -q 'read-only file system'
	whole_or_absent
	mended
}

# Every file that was told as sent is there; what is there is whole.
whole_or_absent() {
	local file
	while IFS= read -r file; do
		[ ! -e "$TO/$file" ] || cmp "$FROM/$file" "$TO/$file" || return 1
	done < <(cd "$FROM" && find . -type f)
	while IFS= read -r file; do
		cmp "$FROM/${file#tree/}" "$TO/${file#tree/}" || return 1
	done < <(jq -r 'select(.event == "file" and .kind == "file" and .outcome == "proven").path' "$T/out")
}

@test "D-06: the quota is used up in the midst of a file, or told when it is closed: exit 7, quota, what fits arrives" {
	each_way used_up_quota bad_destination
}
used_up_quota() {
	rules bad 'write * EDQUOT from=8388608'
	expect 7 haul copy --json "$SRC" "$DST"
	struck bad EDQUOT
	named tree/big
	grep -q quota "$T/named"
	all_but big
	rules bad 'flush *haul*/*0* EDQUOT'
	rm -rf "$TO"
	expect 7 haul copy --json "$SRC" "$DST"
	struck bad '^flush'
	whole_or_absent
	mended
}

@test "D-15: no fallocate, no room told beforehand: not fatal" {
	each_way no_fallocate bad_destination
}
no_fallocate() {
	rules bad 'fallocate * EOPNOTSUPP'
	expect 0 haul copy --json "$SRC" "$DST"
	struck bad EOPNOTSUPP
	mended
}

@test "D-16: times and modes cannot be set: the content arrives, and is not sent for ever" {
	each_way no_times bad_destination
}
no_times() {
	rules bad 'meta * EPERM'
	expect 0 haul copy --json "$SRC" "$DST"
	struck bad '^meta'
	done_is files_sent "$FILES"
	all_but nothing
	expect 0 haul copy --json -c "$SRC" "$DST"
	done_is files_sent 0
	mended
}

@test "D-24: the last rename is refused: a clear error, no half file under the real name" {
	each_way no_rename bad_destination
}
no_rename() {
	rules bad 'rename */big EPERM' 'link */big EPERM'
	expect 3 haul copy --json "$SRC" "$DST"
	struck bad '^rename'
	only_big_failed
	mended
}

@test "S-04: a directory of the source that cannot be listed to its end: named, what was listed arrives" {
	each_way half_listed bad_source
}
half_listed() {
	rules bad 'readdir */many EIO from=5'
	expect 3 haul copy --json "$SRC" "$DST"
	struck bad '^readdir'
	named tree/many
	cmp "$FROM/big" "$TO/big"
	cmp "$FROM/one" "$TO/one"
	mended
}

@test "reads and writes that do half of what was asked are no faults" {
	each_way halves_written bad_destination
	each_way halves_read bad_source
}
halves_written() {
	rules bad 'write * short'
	expect 0 haul copy --json "$SRC" "$DST"
	struck bad '^write .* short'
	mended
}
halves_read() {
	rules bad 'read */big short from=4194304 times=3'
	expect 0 haul copy --json --direct=always "$SRC" "$DST"
	struck bad '^read .* short'
	mended
}

@test "move from a disk with a bad block, and to one: what did not arrive stays, all else is gone" {
	bad_disk bad
	A=$T/a
	make_files "$T/bad/tree"
	rules bad 'read */big EIO from=8388608 to=8388609'
	expect 3 haul move --json "$T/bad/tree" "$T/there/"
	struck bad '^read'
	named tree/big
	check "$(find "$T/bad/tree" -type f)" = "$T/bad/tree/big"
	check "$(find "$T/there/tree" -type f | wc -l)" -eq $((FILES - 1))
	rm -rf "$T/there" "$T/bad/tree"
	make_files "$T/good/tree"
	rules bad 'fsync *haul* EIO times=2 after=3'
	expect 3 haul move --json "$T/good/tree" "$T/bad/"
	struck bad '^fsync'
	check "$(find "$T/good/tree" -type f | wc -l)" -ge 1
	check "$(cat <(cd "$T/good/tree" && find . -type f) <(cd "$T/bad/tree" && find . -type f) | sort -u | wc -l)" -eq "$FILES"
	rules bad
	expect 0 haul move --json "$T/good/tree" "$T/bad/" --on-conflict replace
	check "$(find "$T/bad/tree" -type f | wc -l)" -eq "$FILES"
}

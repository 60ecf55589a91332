# By how much a device may make a share grow: what counts, who is refused and how it is said, before and in the middle of
# a job, and that what interrupted jobs have left cannot fill a disk for good.
load lib
load trees

MB=1000000

setup() {
	test_begin
	mkdir "$T/src"
	head -c $((30 * MB)) /dev/urandom >"$T/src/big"
	pair
}

quota() { expect 0 haul_b peer allow edit1 "inbox=${2:-writer}" --quota "$1"; }
used() { haul_b peer show edit1 --json 2>/dev/null </dev/null | jq -r 'select(.event == "peer").rights[0].quota_used_bytes'; }
uses() { [ "$(used)" -eq "$1" ]; }
lack_text() { jq -r 'select(.event == "error" and .path == null).text' "$T/out"; }
# Bytes on disk of what is kept in the share.
kept() { find "$SHARE/.haul/partials" -name '*.part' -printf '%b\n' 2>/dev/null | awk '{ s += $1 } END { print s * 512 }'; }
is_kept() { [ "$(kept)" -ge "${1:-1}" ]; }
# Once something of a file is recorded.
is_recorded() { find "$SHARE/.haul/partials" -name '*.record' -size +1 | grep -q .; }

# slow_copy RATE...: in the background; RUN is its pid.
slow_copy() {
	HAUL_HOME=$A "$HAUL" copy --json --block=1M "--bwlimit=$1" "${@:2}" >"$T/run.out" 2>"$T/run.err" </dev/null 3>&- 4>&- &
	RUN=$!
	OTHERS+=("$RUN")
}
cut_off() {
	wait_for 30 is_recorded
	kill -9 "$RUN"
	wait "$RUN" || true
	OTHERS=()
	wait_for 30 nobody_has_it
}
nobody_has_it() {
	local f
	for f in "$SHARE"/.haul/partials/*.part; do flock -n "$f" true || return 1; done
}

@test "what passes the quota does not begin: named, exit 7, with what to run; the rest is there, and more is more" {
	local i
	quota 50MB
	err_has "edit1 may on inbox: writer, quota 50.0 MB"
	expect 0 haul copy "$T/src/big" nas:inbox
	uses $((30 * MB))
	mkdir "$T/more"
	for i in 1 2 3; do head -c $((8 * MB)) /dev/urandom >"$T/more/$i"; done
	expect 0 haul list nas:
	out_has "20.0 MB free of"
	expect 7 haul copy -n --json "$T/more" nas:inbox
	check "$(lack_text)" = "nas:inbox: the quota of edit1 is 50.0 MB, 30.0 MB used; this needs 4.0 MB more"
	expect 7 haul copy --json "$T/more" nas:inbox
	done_is exit 7 files_sent 2 files_failed 1
	check "$(lack_text)" = "nas:inbox: the quota of edit1 is 50.0 MB, 30.0 MB used; this needs 4.0 MB more"
	check "$(jq -r 'select(.event == "error" and .path == null).remedy' "$T/out")" = "On nas run: haul peer allow edit1 inbox=writer --quota SIZE"
	check "$(find "$SHARE" -type f | wc -l)" -eq 3
	uses $((46 * MB))
	expect 0 haul_b peer show edit1
	out_has "inbox=writer, 46.0 MB of 50.0 MB used"
	quota 50MB # counts anew
	uses 0
	expect 0 haul copy --json "$T/more" nas:inbox
	done_is files_sent 1
	same "$T/more" "$SHARE/more"
	expect 0 haul_b peer allow edit1 inbox=writer --quota none
	err_has "without a quota"
	expect 0 haul_b peer show edit1
	out_lacks used
}

@test "small files count; what is replaced is given back; rights alone leave the quota; another hauld counts on" {
	quota 20MB
	"$MKTREE" small 100 150000 "$T/many"
	expect 0 haul copy "$T/many" nas:inbox
	bytes=$(find "$T/many" -type f -printf '%s\n' | awk '{ s += $1 } END { print s }')
	uses "$bytes"
	find "$T/many" -type f -exec touch {} +
	expect 0 haul copy "$T/many" nas:inbox
	uses "$bytes"
	expect 0 haul_b peer allow edit1 inbox=dropbox
	stop_agent "$AGENT_PID"
	uses "$bytes"
	restart_b
	mkdir "$T/twice"
	cp "$T"/many/*/* "$T/twice" 2>/dev/null || cp "$T"/many/* "$T/twice"
	expect 7 haul copy "$T/twice" nas:inbox
	err_has "the quota of edit1 is 20.0 MB" "haul peer allow edit1 inbox=dropbox --quota SIZE"
	check "$(used)" -le $((20 * MB))
}

@test "jobs at once are counted together, and a quota set in the middle counts at once" {
	quota 45MB
	cp "$T/src/big" "$T/src/other"
	slow_copy 20M "$T/src/big" nas:inbox/one/
	wait_for 30 is_arriving "$SHARE"
	expect 7 haul copy --json "$T/src/other" nas:inbox/two/
	check "$(lack_text)" = "nas:inbox: the quota of edit1 is 45.0 MB, 30.0 MB used; this needs 15.0 MB more"
	wait "$RUN"
	OTHERS=()
	cmp "$T/src/big" "$SHARE/one/big"
	mkdir "$T/five"
	for i in 1 2 3 4 5 6 7 8 9; do head -c $((4 * MB)) /dev/urandom >"$T/five/$i"; done
	quota 1G
	slow_copy 8M "$T/five" nas:inbox
	wait_for 30 test -e "$SHARE/five/1"
	quota 1MB
	wait_for 60 is_gone "$RUN"
	check "$(find "$SHARE/five" -type f 2>/dev/null | wc -l)" -lt 9
	OTHERS=()
	no_line '"event":"done".*"exit":0' "$T/run.out"
}

@test "what is unfinished counts, and its own rest may still come" {
	quota 40MB
	slow_copy 10M "$T/src/big" nas:inbox
	cut_off
	check "$(used)" -eq "$(kept)"
	head -c $((38 * MB)) /dev/urandom >"$T/other"
	expect 7 haul copy -n "$T/other" nas:inbox
	expect 7 haul copy "$T/other" nas:inbox
	err_has "the quota of edit1 is 40.0 MB"
	expect 0 haul copy -n "$T/src/big" nas:inbox
	expect 0 haul copy --json "$T/src/big" nas:inbox
	check "$(done_field bytes_sent)" -lt $((30 * MB))
	cmp "$T/src/big" "$SHARE/big"
	uses $((30 * MB))
}

# Of the file NAME in the share's list of what is kept.
recorded() {
	haul_b list --partials --json "$SHARE" 2>/dev/null </dev/null |
		jq -r --arg name "$1" 'select(.event == "partial" and .path == $name).there_bytes' | grep . || echo 0
}
has_recorded() { [ "$(recorded "$1")" -ge "$2" ]; }

@test "what a device has left unfinished goes when others need the room, the oldest first, beyond its quarter" {
	local name free before
	share_on ext4 160 -m 0
	export HAUL_KEPT_UNTOUCHED_S=1
	stop_agent "$AGENT_PID"
	restart_b
	for name in first second; do
		head -c $((60 * MB)) /dev/zero >"$T/src/$name"
		slow_copy 20M "$T/src/$name" nas:inbox
		wait_for 60 has_recorded $name $((25 * MB))
		cut_off
	done
	sleep 2
	before=$(kept)
	check "$before" -gt $((50 * MB))
	free=$(stat -f -c '%a * %S' "$SHARE" | xargs expr)
	dd if=/dev/zero of="$T/third" bs=1M count=$((free / 1048576 + 11)) status=none
	expect 0 haul copy -n "$T/third" nas:inbox
	check "$(kept)" -eq "$before"
	expect 0 haul copy "$T/third" nas:inbox
	cmp "$T/third" "$SHARE/third"
	check "$(find "$SHARE/.haul/partials" -name '*.part' | wc -l)" -eq 1
	has_recorded second $((25 * MB))
	head -c $((120 * MB)) /dev/zero >"$T/fourth" # what is left of the device is within its part, and stays
	expect 7 haul copy "$T/fourth" nas:inbox
	err_has "nas:inbox lacks "
	has_recorded second $((25 * MB))
}

@test "words that are no quota are refused" {
	local word
	for word in 0 -1 5X 10M/year / T; do expect 1 haul_b peer allow edit1 inbox=writer "--quota=$word"; done
	expect 1 haul_b peer allow edit1 inbox=none --quota 5M
	expect 1 haul_b peer show edit1 --quota 5M
	expect 1 haul_b peer add "$A_ID" --name edit1 --quota 5M
	expect 0 haul_b peer add "$A_ID" --name edit1 --allow inbox=writer --quota 200G/week
	expect 0 haul_b peer show edit1
	out_has "0 B of 215 GB/week used"
}

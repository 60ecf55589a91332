# Sources that change while they are sent: sent again as they are by then, in the same job, up to three times, and never
# delivered as a mixture; what the destination has stays until something whole is there.
load lib

MIB=1048576
SIZE=$((24 * MIB + 5))

setup() {
	test_begin
	mkdir "$T/src" "$T/local"
	pair
}

# big push|pull|here: places(), and FILE of SIZE bytes.
big() {
	places "$1"
	"$MKTREE" big $SIZE "$FILE"
}

# A copy that stands still in the first pass: a lane reads ahead no more than 8 MiB. go_on lets it run.
begin() {
	HAUL_HOME=$A "$HAUL" copy --json --lanes=1 --block=1M --bwlimit=32M "$@" "$FROM" "$TO" \
		>"$T/out" 2>"$T/err" </dev/null 3>&- 4>&- &
	RUN=$!
	OTHERS+=("$RUN")
	wait_for 30 is_arriving "$THERE" || fail_with "nothing arrives"
	kill -STOP "$RUN"
}
go_on() { kill -CONT "$RUN"; }

ends_with() {
	local got=0
	go_on
	wait_for 120 is_gone "$RUN" || { fail_with "the command hangs"; return 1; }
	wait "$RUN" || got=$?
	check "$got" -eq "$1" || { show_output; return 1; }
	check "$(tail -n 1 "$T/out" | jq .exit)" -eq "$1"
}

# progress_holds: done never passes the total, and neither falls.
progress_holds() {
	jq -se '[.[] | select(.event == "progress")] | all(.bytes_done <= .bytes_total)' "$T/out" >/dev/null ||
		fail_with "progress passes the total"
}

nothing_left() { check "$(find "$THERE" -name '.haul*' | wc -l)" -eq 0; }

@test "appended to during the first pass, then quiet: whole, in the same job" {
	for way in push pull here; do
		echo "$way"
		big $way
		begin
		for _ in 1 2 3; do head -c 700000 /dev/urandom >>"$FILE"; done
		ends_with 0
		cmp "$FILE" "$THERE/file"
		done_is files_sent 1 files_sent_again 1 files_failed 0 bytes_total "$(stat -c %s "$FILE")"
		check "$(stat -c %Y "$FILE")" -eq "$(stat -c %Y "$THERE/file")"
		progress_holds
		nothing_left
	done
}

@test "appended to for ever: named, exit 8, the destination keeps what it had" {
	for way in push pull here; do
		for had in nothing old; do
			[ $way.$had != here.nothing ] && [ $way.$had != pull.nothing ] || continue
			echo "$way, $had there"
			big $way
			[ $had = nothing ] || echo "the old content" >"$THERE/file"
			(while :; do head -c $MIB /dev/zero >>"$FILE" && sleep 0.02; done) 3>&- 4>&- &
			WRITER=$!
			OTHERS+=("$WRITER")
			expect 8 haul copy --json --lanes=1 --block=1M "$FROM" "$TO"
			kill "$WRITER"
			wait "$WRITER" || true
			err_has "file: changed while it was read, and each of 3 times that it was sent again"
			done_is files_failed 1 files_sent 0 reasons '[8]'
			progress_holds
			if [ $had = old ]; then
				check "$(cat "$THERE/file")" = "the old content"
			else
				check ! -e "$THERE/file"
			fi
			expect 0 haul copy "$FROM" "$TO"
			cmp "$FILE" "$THERE/file"
		done
	done
}

@test "truncated, rewritten and replaced by rename while being sent: the new content, whole" {
	for way in push pull here; do
		for how in truncated rewritten renamed emptied; do
			case $way.$how in pull.rewritten | pull.emptied | here.truncated | here.emptied) continue ;; esac
			echo "$way, $how"
			big $way
			echo old >"$THERE/file"
			"$MKTREE" big $((SIZE + 7)) "$T/other"
			begin
			case $how in
			truncated) truncate -s $((3 * MIB + 1)) "$FILE" ;;
			rewritten) dd if="$T/other" of="$FILE" bs=1M conv=notrunc status=none ;;
			renamed) mv "$T/other" "$FILE" ;;
			emptied) : >"$FILE" ;;
			esac
			ends_with 0
			cmp "$FILE" "$THERE/file"
			done_is files_sent 1 files_sent_again 1 bytes_total "$(stat -c %s "$FILE")"
			progress_holds
			nothing_left
		done
	done
}

@test "deleted, or something else by now: named, exit 8, not tried again" {
	for way in push pull here; do
		for how in deleted directory link; do
			case $way.$how in pull.directory | pull.link | here.link) continue ;; esac
			echo "$way, $how"
			big $way
			echo old >"$THERE/file"
			echo other >"$DIR/other"
			begin
			rm "$FILE"
			case $how in
			directory) mkdir "$FILE" ;;
			link) ln -s other "$FILE" ;;
			esac
			ends_with 8
			err_has "file: "
			check "$(cat "$THERE/file")" = old
			cmp "$DIR/other" "$THERE/other"
			done_is files_failed 1 files_sent 1 files_sent_again 0
		done
	done
}

@test "what is retried comes after all the rest" {
	for way in push pull here; do
		echo "$way"
		big $way
		for n in 1 2; do "$MKTREE" big $((2 * MIB)) "$DIR/later$n"; done
		for n in $(seq 300); do echo "$n" >"$DIR/small$n"; done
		begin
		head -c 5 /dev/urandom >>"$FILE"
		ends_with 0
		diff -r "$DIR" "$THERE"
		jq -r 'select(.event == "file").path' "$T/out" >"$T/order"
		check "$(wc -l <"$T/order")" -eq 303
		check "$(tail -n 1 "$T/order")" = file
	done
}

@test "small files that are rewritten all the time arrive as one of their states or not at all" {
	for way in push pull here; do
		echo "$way"
		big $way
		rm "$FILE"
		head -c 100000 /dev/zero | tr '\0' a >"$T/aa"
		head -c 90000 /dev/zero | tr '\0' b >"$T/bb"
		for n in $(seq 20); do cp "$T/aa" "$DIR/f$n"; done
		(while :; do for n in $(seq 20); do cp "$T/bb" "$DIR/f$n"; done && for n in $(seq 20); do cp "$T/aa" "$DIR/f$n"; done; done) 3>&- 4>&- &
		WRITER=$!
		OTHERS+=("$WRITER")
		expect '0|8' haul copy --json "$FROM" "$TO"
		kill "$WRITER"
		wait "$WRITER" || true
		for n in $(seq 20); do
			# What is there is a prefix that cp had written at a time, at most: bytes of one kind alone.
			[ ! -e "$THERE/f$n" ] || check "$(tr -d a <"$THERE/f$n" | wc -c)" -eq 0 || check "$(tr -d b <"$THERE/f$n" | wc -c)" -eq 0
		done
		expect 0 haul copy "$FROM" "$TO"
		diff -r "$DIR" "$THERE"
	done
}

@test "-c and verify of a source that changes: looked at again" {
	for way in push pull here; do
		echo "$way"
		SIZE=$((100 * MIB)) big $way
		cp -p "$FILE" "$THERE/file"
		touch "$T/mark"
		# One process, which a busy machine lets write in time as well.
		python3 -c 'import os, sys, time
fd = os.open(sys.argv[1], os.O_WRONLY)
while True:
    os.pwrite(fd, bytes(4096), 0)
    time.sleep(0.005)' "$FILE" 3>&- 4>&- &
		WRITER=$!
		OTHERS+=("$WRITER")
		wait_for 20 test "$FILE" -nt "$T/mark"
		expect 8 haul verify --lanes=1 "$DIR/file" "${TO%/}/file" || { [ $way = pull ] && expect 8 haul verify --lanes=1 nas:inbox/file "$THERE/file"; }
		err_has "each of 3 times"
		expect 8 haul copy -c --lanes=1 "$FROM" "$TO"
		err_has "each of 3 times"
		kill "$WRITER"
		wait "$WRITER" || true
		expect 0 haul copy -c "$FROM" "$TO"
		cmp "$FILE" "$THERE/file"
	done
}

# A transfer that is cut off goes on where it stood: what was recorded at the destination is not sent again, what has
# changed is, and nothing under a real name is ever a mixture. Entries of the list of known bugs are named by their ids.
load lib
load trees

MIB=1048576
BYTES=64000001 # 62 leaves, the last one short

setup() {
	test_begin
	mkdir "$T/src"
	"$MKTREE" big $BYTES "$T/src/big"
	pair
}

# A file that changed a moment ago may change again unseen: only one that is two seconds old is known by its ctime, and
# what is kept of it counts unread. Of others it is compared.
grow_old() {
	while [ "$(stat -c %Z "$1")" -gt $(($(date +%s) - 2)) ]; do sleep 0.1; done
}

# another_big FILE: as long as the other, and no leaf of it the same.
another_big() {
	"$MKTREE" big $((BYTES + 8)) "$1"
	truncate -s $BYTES "$1"
}

# A run in the background that is slow enough to be cut off; RUN is its pid.
begin_copy() {
	HAUL_HOME=$A "$HAUL" copy --json --block=1M --bwlimit=30M --timeout 5 --connect-timeout 5 "$@" \
		>"$T/run.out" 2>"$T/run.err" </dev/null 3>&- 4>&- &
	RUN=$!
	OTHERS+=("$RUN")
}

# end_copy CODE: the run ends by itself, with that exit code.
end_copy() {
	local got=0
	wait_for 60 is_gone "$RUN" || { echo "the command hangs"; return 1; }
	wait "$RUN" || got=$?
	OTHERS=()
	check "$got" -eq "$1" || { cat "$T/run.err"; return 1; }
}

kill_copy() {
	kill -9 "$RUN"
	wait "$RUN" || true
	OTHERS=()
}

# Leaves that are recorded of what is kept in DIR.
recorded() {
	local bytes
	bytes=$(HAUL_HOME=$B "$HAUL" list --partials --json "$1" 2>/dev/null </dev/null | jq -r 'select(.event == "partial").there_bytes' | head -n 1)
	echo $((${bytes:-0} / MIB))
}
has_recorded() { [ "$(recorded "$1")" -ge "$2" ]; }
the_partial() { find "$1/.haul/partials" -name '*.part'; }

# No job has the partial in DIR any more: the agent may hear of a dead command a moment later.
let_go() { wait_for 10 flock -n "$(the_partial "$1")" true; }

# cut_copy DIR SRC DST: a copy into DIR that is stopped when at least 20 leaves are recorded. KEPT: how many are then.
cut_copy() {
	local dir=$1
	shift
	begin_copy "$@"
	wait_for 30 has_recorded "$dir" 20
	kill -TERM "$RUN"
	end_copy 143
	let_go "$dir"
	KEPT=$(recorded "$dir")
	check "$KEPT" -ge 20
}

# goes_on SRC DST FILE [OPTION...]: the next run takes up what is kept (KEPT leaves at least) and sends the rest alone.
goes_on() {
	local from=$1 to=$2 file=$3 sent resumed size
	shift 3
	expect 0 haul copy --json "$@" "$from" "$to"
	size=$(stat -c %s "$file")
	sent=$(done_field bytes_sent) resumed=$(done_field bytes_resumed)
	echo "kept $KEPT leaves; of $size bytes $resumed were there, $sent sent"
	done_is exit 0 files_sent 1 durable true
	check "$resumed" -ge $((KEPT * MIB))
	check "$((sent + resumed))" -eq "$size"
	check "$sent" -le $((size - KEPT * MIB))
}

arrived() {
	cmp "$1" "$2"
	no_leftovers "$(dirname "$2")"
}

# --- who dies -------------------------------------------------------------------------------------------------------

@test "R-01, R-13: pushing, the command is killed: the agent keeps what it has, the next run sends the rest" {
	grow_old "$T/src/big"
	begin_copy "$T/src/big" nas:inbox
	wait_for 30 has_recorded "$SHARE" 20
	kill_copy
	let_go "$SHARE"
	KEPT=$(recorded "$SHARE")
	check -z "$(real_files "$SHARE")"
	goes_on "$T/src/big" nas:inbox "$T/src/big"
	expect 0 haul copy "$T/src/big" nas:inbox
	err_has "1 unchanged"
	arrived "$T/src/big" "$SHARE/big"
}

@test "pushing, the agent is killed: what it had recorded counts" {
	begin_copy "$T/src/big" nas:inbox
	wait_for 30 has_recorded "$SHARE" 20
	kill_agent "$AGENT_PID"
	KEPT=$(recorded "$SHARE")
	end_copy 5
	check -z "$(real_files "$SHARE")"
	restart_b
	goes_on "$T/src/big" nas:inbox "$T/src/big"
	arrived "$T/src/big" "$SHARE/big"
}

@test "R-10: pushing, the command is terminated: 143, the old file stands, all that was written counts" {
	echo old >"$SHARE/big"
	cut_copy "$SHARE" "$T/src/big" nas:inbox
	check "$(cat "$SHARE/big")" = old
	expect 0 haul copy "$T/src/big" nas:inbox
	err_has "were there), every block checked on arrival, durable"
	arrived "$T/src/big" "$SHARE/big"
}

@test "pulling, the command is killed or terminated" {
	mv "$T/src/big" "$SHARE/big"
	grow_old "$SHARE/big"
	begin_copy nas:inbox/big "$T/here/"
	wait_for 30 has_recorded "$T/here" 20
	kill_copy
	KEPT=$(recorded "$T/here")
	check -z "$(real_files "$T/here")"
	goes_on nas:inbox/big "$T/here/" "$SHARE/big"
	arrived "$SHARE/big" "$T/here/big"
	rm "$T/here/big"
	cut_copy "$T/here" nas:inbox/big "$T/here/"
	goes_on nas:inbox/big "$T/here/" "$SHARE/big"
	arrived "$SHARE/big" "$T/here/big"
}

@test "pulling, the agent is killed" {
	mv "$T/src/big" "$SHARE/big"
	begin_copy nas:inbox/big "$T/here/"
	wait_for 30 has_recorded "$T/here" 20
	kill_agent "$AGENT_PID"
	end_copy 5
	KEPT=$(recorded "$T/here")
	restart_b
	goes_on nas:inbox/big "$T/here/" "$SHARE/big"
	arrived "$SHARE/big" "$T/here/big"
}

# --- what the source is by then -------------------------------------------------------------------------------------

@test "R-06: cut at nine tenths, the source lies elsewhere with another inode: at most 12 % are sent, the file is whole" {
	cut_copy_late
	mkdir "$T/mounted"
	cp -p "$T/src/big" "$T/mounted/big"
	rm "$T/src/big"
	expect 0 haul copy --json "$T/mounted/big" nas:inbox
	done_is exit 0 files_sent 1
	echo "sent $(done_field bytes_sent), were there $(done_field bytes_resumed)"
	check "$(done_field bytes_sent)" -le $((BYTES * 12 / 100))
	arrived "$T/mounted/big" "$SHARE/big"
}

# Nine tenths of it, by two cuts: the second run is slow, so that a checkpoint falls between 54 leaves and the end, 62.
cut_copy_late() {
	cut_copy "$SHARE" "$T/src/big" nas:inbox
	while ! has_recorded "$SHARE" 54; do
		begin_copy --bwlimit=6M "$T/src/big" nas:inbox
		wait_for 30 has_more_recorded 54
		kill -TERM "$RUN"
		end_copy 143
		let_go "$SHARE"
	done
}
has_more_recorded() { has_recorded "$SHARE" "$1" || is_gone "$RUN"; }

@test "R-05, R-11, D-20: the source has changed meanwhile: one byte with its time kept, longer, shorter; never a mixture" {
	local how
	for how in byte longer shorter; do
		rm -f "$SHARE/big"
		cut_copy "$SHARE" "$T/src/big" nas:inbox
		case $how in
		byte) flip "$T/src/big" 5000000 ;;
		longer) "$MKTREE" big 3000000 "$T/more" && cat "$T/more" >>"$T/src/big" ;;
		shorter) truncate -s $((BYTES - 40000000)) "$T/src/big" ;;
		esac
		expect 0 haul copy --json "$T/src/big" nas:inbox
		done_is exit 0 files_sent 1
		echo "$how: sent $(done_field bytes_sent), were there $(done_field bytes_resumed)"
		cmp "$T/src/big" "$SHARE/big"
		# What is equal is not sent; of a file that became shorter that is nearly all of it.
		check "$(done_field bytes_resumed)" -ge $((15 * MIB))
		expect 0 haul verify "$T/src/big" nas:inbox/big
	done
	no_leftovers "$SHARE"
}

@test "R-11: the source is gone, and another file has its name: named, then sent whole" {
	cut_copy "$SHARE" "$T/src/big" nas:inbox
	rm "$T/src/big"
	expect 2 haul copy "$T/src/big" nas:inbox
	another_big "$T/src/big"
	expect 0 haul copy "$T/src/big" nas:inbox
	arrived "$T/src/big" "$SHARE/big"
}

@test "a file with holes goes on, and keeps them" {
	truncate -s 40000000 "$T/holes"
	cat "$T/src/big" >>"$T/holes"
	truncate -s 130000000 "$T/holes"
	cut_copy "$SHARE" "$T/holes" nas:inbox
	expect 0 haul copy --json "$T/holes" nas:inbox
	done_is exit 0 files_sent 1
	check "$(done_field bytes_resumed)" -ge $((20 * MIB))
	check "$(stat -c %b "$SHARE/holes")" -lt $((100000000 / 512))
	arrived "$T/holes" "$SHARE/holes"
}

# --- what has become of the partial ---------------------------------------------------------------------------------

@test "R-12: a damaged record costs time and nothing else" {
	local how record
	for how in cut head piece empty; do
		rm -f "$SHARE/big"
		cut_copy "$SHARE" "$T/src/big" nas:inbox
		record=$(find "$SHARE/.haul/partials" -name '*.record')
		case $how in
		cut) truncate -s -7 "$record" ;;
		head) flip "$record" 20 ;;
		piece) flip "$record" 600 ;;
		empty) : >"$record" ;;
		esac
		expect 0 haul copy --json "$T/src/big" nas:inbox
		echo "$how: sent $(done_field bytes_sent), were there $(done_field bytes_resumed)"
		done_is exit 0 files_sent 1
		check "$(($(done_field bytes_sent) + $(done_field bytes_resumed)))" -eq $BYTES
		cmp "$T/src/big" "$SHARE/big"
	done
	no_leftovers "$SHARE"
}

# What was synced and recorded is trusted like a file that has arrived: reading it all again would take as long as the
# disk is slow. What a disk loses afterwards is found where it is found for every other file.
@test "a leaf that rots on the disk after it was recorded: haul verify finds it, copy -c repairs it" {
	grow_old "$T/src/big"
	cut_copy "$SHARE" "$T/src/big" nas:inbox
	flip "$(the_partial "$SHARE")" 5000000
	expect 0 haul copy "$T/src/big" nas:inbox
	expect 4 haul verify "$T/src/big" nas:inbox/big
	offset_named 5000000 big
	expect 0 haul copy -c "$T/src/big" nas:inbox
	expect 0 haul verify "$T/src/big" nas:inbox/big
	arrived "$T/src/big" "$SHARE/big"
}

@test "--restart drops what is kept" {
	cut_copy "$SHARE" "$T/src/big" nas:inbox
	expect 0 haul copy --json --restart "$T/src/big" nas:inbox
	done_is exit 0 bytes_resumed 0 bytes_sent $BYTES
	arrived "$T/src/big" "$SHARE/big"
}

@test "with --no-sync nothing is kept" {
	begin_copy --no-sync "$T/src/big" nas:inbox
	wait_for 30 is_arriving "$SHARE"
	sleep 1.3
	kill -TERM "$RUN"
	end_copy 143
	wait_for 10 no_leftovers "$SHARE"
}

# --- who else is there ----------------------------------------------------------------------------------------------

# Another device that may write here: its home is A2.
second_device() {
	A2=$T/a2
	expect 0 haul_b peer add "$(device_id "$A2")" --name edit2 --allow inbox=writer
	HAUL_HOME=$A2 timeout 60 "$HAUL" peer add "$B_ID" --name nas --address "127.0.0.1:$AGENT_PORT" >"$T/out" 2>"$T/err"
	mkdir "$T/src2"
	another_big "$T/src2/big"
}

@test "a partial of another device is not touched" {
	second_device
	cut_copy "$SHARE" "$T/src/big" nas:inbox
	HAUL_HOME=$A2 timeout 60 "$HAUL" copy --json "$T/src2/big" nas:inbox >"$T/out" 2>"$T/err"
	done_is exit 0 bytes_resumed 0 bytes_sent $BYTES
	cmp "$T/src2/big" "$SHARE/big"
	check "$(recorded "$SHARE")" -eq "$KEPT"
	touch "$T/src/big" # another time than what stands there, and another ctime: leaves are compared
	expect 0 haul copy --json "$T/src/big" nas:inbox
	done_is exit 0 files_sent 1
	check "$(done_field bytes_resumed)" -ge $((KEPT * MIB))
	arrived "$T/src/big" "$SHARE/big"
}

@test "D-12: two devices and one device twice bring the same name at once: every run is whole" {
	local two
	second_device
	begin_copy "$T/src/big" nas:inbox
	HAUL_HOME=$A2 timeout 60 "$HAUL" copy --bwlimit=30M "$T/src2/big" nas:inbox >"$T/two.out" 2>"$T/two.err" </dev/null 3>&- 4>&- &
	two=$!
	OTHERS+=("$two")
	wait_for 30 has_recorded "$SHARE" 5
	expect "0|11" haul copy "$T/src/big" nas:inbox
	wait "$two"
	end_copy 0
	cmp "$T/src/big" "$SHARE/big" || cmp "$T/src2/big" "$SHARE/big"
	no_leftovers "$SHARE"
}

# --- no room --------------------------------------------------------------------------------------------------------

# An ext4 of 160 MB with 100 MB taken: some 40 MB are left until `rm $SHARE/ballast`.
small_disk() {
	share_on ext4 160 -m 0
	fallocate -l 100M "$SHARE/ballast"
}

# In memory nothing is reserved, so that somebody else can take the room away.
@test "the disk fills up under a file: named, exit 7, no half file; with room the next run goes on" {
	share_on tmpfs 90
	touch "$T/src/big" # so young that what is kept of it is compared: it needs no more room for that
	begin_copy "$T/src/big" nas:inbox
	wait_for 30 has_recorded "$SHARE" 20
	head -c 90000000 /dev/zero >"$SHARE/ballast" 2>/dev/null || true
	end_copy 7
	check "$(jq -r 'select(.event == "error").path' "$T/run.out")" = big
	check "$(real_files "$SHARE")" = "$SHARE/ballast"
	KEPT=$(recorded "$SHARE")
	check "$KEPT" -ge 20
	rm "$SHARE/ballast"
	goes_on "$T/src/big" nas:inbox "$T/src/big"
	arrived "$T/src/big" "$SHARE/big"
}

@test "more files than there is room for: what fits arrives, the rest is named, exit 7; with room the rest alone is sent" {
	local i here=0
	small_disk
	mkdir "$T/many"
	for i in 1 2 3 4 5; do
		head -c 12000000 "$T/src/big" >"$T/many/$i"
		printf '%d' "$i" | dd of="$T/many/$i" conv=notrunc status=none
	done
	expect 7 haul copy --json "$T/many" nas:inbox
	check "$(jq -r 'select(.event == "error" and .path == null).text' "$T/out" | grep -c '^nas:inbox lacks [0-9.]* MB ([0-9.]* MB free)$')" -eq 1
	for i in 1 2 3 4 5; do
		if [ -e "$SHARE/many/$i" ]; then
			cmp "$T/many/$i" "$SHARE/many/$i"
			here=$((here + 1))
		else
			check "$(jq -r "select(.event == \"error\" and .path == \"many/$i\").code" "$T/out")" != ""
		fi
	done
	done_is exit 7 files_total 5 files_sent $here files_failed $((5 - here))
	check "$here" -ge 2 -a "$here" -le 3
	rm "$SHARE/ballast"
	expect 0 haul copy --json "$T/many" nas:inbox
	done_is exit 0 files_sent $((5 - here)) files_skipped $here bytes_sent $(((5 - here) * 12000000))
	same "$T/many" "$SHARE/many"
	no_leftovers "$SHARE"
}

@test "what is replaced or kept is not counted twice, and small files are counted" {
	small_disk
	head -c 30000000 "$T/src/big" >"$T/one"
	expect 0 haul copy "$T/one" nas:inbox
	rm "$SHARE/ballast"
	echo more >>"$T/one" # 30 MB again, of which 30 MB are there; both fit only one after the other
	fallocate -l $(($(stat -f -c '%a * %S' "$SHARE" | xargs expr) - 34000000)) "$SHARE/ballast"
	expect 0 haul copy "$T/one" nas:inbox
	cmp "$T/one" "$SHARE/one"
	"$MKTREE" small 200 250000 "$T/small-files"
	expect 7 haul copy "$T/small-files" nas:inbox
	err_has "nas:inbox lacks "
	check "$(real_files "$SHARE/small-files" | wc -l)" -lt 200
	rm "$SHARE/ballast"
	expect 0 haul copy "$T/small-files" nas:inbox
	same "$T/small-files" "$SHARE/small-files"
}

@test "D-03: a file that goes on needs the room of its rest alone; another file system below still takes its own" {
	small_disk
	rm "$SHARE/ballast"
	cut_copy "$SHARE" "$T/src/big" nas:inbox
	fallocate -l $(($(stat -f -c '%a * %S' "$SHARE" | xargs expr) - BYTES + KEPT * MIB - 3000000)) "$SHARE/ballast"
	mkdir "$SHARE/src" "$SHARE/src/other"
	mount_loop tmpfs 40 "$SHARE/src/other"
	mkdir "$T/src/other" "$T/src/zz"
	head -c 9000000 "$T/src/big" >"$T/src/other/nine"
	head -c 9000000 "$T/src/big" >"$T/src/zz/nine"
	goes_on "$T/src/big" nas:inbox "$T/src/big"
	rm "$SHARE/ballast"
	fallocate -l $(($(stat -f -c '%a * %S' "$SHARE" | xargs expr) - 4000000)) "$SHARE/ballast"
	rm "$T/src/big"
	expect 7 haul copy "$T/src" nas:inbox
	cmp "$T/src/other/nine" "$SHARE/src/other/nine"
	check ! -e "$SHARE/src/zz/nine"
	err_has "zz/nine"
	umount "$SHARE/src/other"
}

# --- what is seen of it ---------------------------------------------------------------------------------------------

# partial_is FIELD VALUE...: of the one `partial` object that the last list gave.
partial_is() {
	check "$(jq -s '[.[] | select(.event == "partial")] | length' "$T/out")" -eq 1
	while [ $# -gt 1 ]; do
		check "$(jq -r "select(.event == \"partial\").$1" "$T/out")" = "$2"
		shift 2
	done
}

@test "list --partials: at the share, of another device's, at the agent, of a pull; nothing when it is over" {
	local there
	second_device
	cut_copy "$SHARE" "$T/src/big" nas:inbox/day1/
	expect 0 haul list --partials --json nas:inbox
	partial_is path day1/big size $BYTES yours true
	there=$(jq -r 'select(.event == "partial").there_bytes' "$T/out")
	check "$there" -ge $((KEPT * MIB)) -a "$there" -le $BYTES
	check "$(jq -r 'select(.event == "partial").touched' "$T/out")" -ge $(($(date +%s) - 60))
	expect 0 haul list --partials nas:inbox/day1
	out_has "of   64.0 MB" "yours" "day1/big"
	mkdir "$SHARE/day2"
	expect 0 haul list --partials nas:inbox/day2
	err_has "Nothing is unfinished there"
	HAUL_HOME=$A2 timeout 60 "$HAUL" list --partials nas:inbox >"$T/out" 2>"$T/err"
	out_has "another device's" "day1/big"
	expect 0 haul_b list --partials --json "$SHARE"
	partial_is path day1/big from edit1
	expect 0 haul copy --json "$T/src/big" nas:inbox/day1/
	check "$(done_field bytes_resumed)" -eq "$there"
	expect 0 haul list --partials nas:inbox
	check ! -s "$T/out"
	cut_copy "$T/here" nas:inbox/day1/big "$T/here/"
	expect 0 haul list --partials --json "$T/here"
	partial_is path big from nas size $BYTES
	expect 1 haul list --partials
	expect 1 haul list --partials nas:
	expect 2 haul list --partials nas:inbox/nothing
}

@test "list --partials wants the right to list" {
	cut_copy "$SHARE" "$T/src/big" nas:inbox
	expect 0 haul_b peer allow edit1 inbox=dropbox
	expect 6 haul list --partials nas:inbox
}

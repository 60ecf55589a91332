# haul move between machines: a source goes only when the other end has it, durable or found equal by hash tree in this
# run, and still there once the source has been put aside.
load lib

setup() {
	test_begin
	things_to_move
	head -c 3000000 /dev/urandom >Footage/big
	mkdir Footage/empty
	ln -s top Footage/link
}

sums() { (cd "$1" && find . -type f -exec sha256sum {} + | sort -k 2); }
no_aside() { check -z "$(find "$T/w" "$SHARE" -name '.haul-aside-*')"; }

@test "move: to another machine and back: sent, proven, then deleted; directories last" {
	pair mirror
	sums Footage >"$T/before"
	expect 0 haul move --json Footage nas:inbox/day1
	done_is exit 0 files_total 3 files_sent 3 files_deleted 3 files_kept 0 durable true verified transfer
	check ! -e Footage -a -d "$SHARE/day1/Footage/empty" -a -L "$SHARE/day1/Footage/link"
	sums "$SHARE/day1/Footage" | cmp - "$T/before"
	expect 0 haul move file.txt nas:inbox/renamed
	err_has "1 moved"
	err_lacks "Check again"
	check ! -e file.txt -a "$(cat "$SHARE/renamed")" = single

	expect 0 haul move --json nas:inbox/day1/Footage nas:inbox/renamed .
	done_is exit 0 files_deleted 4 files_kept 0 durable true
	check ! -e "$SHARE/day1/Footage" -a ! -e "$SHARE/renamed" -a -d "$SHARE/day1" -a -L Footage/link
	sums Footage | cmp - "$T/before"
	check "$(cat renamed)" = single
	no_aside
}

@test "move: dir/ and a share between machines are emptied and stay" {
	pair mirror
	expect 0 haul move Footage/ nas:inbox/x
	check -d Footage -a -z "$(ls -A Footage)" -a -f "$SHARE/x/day/clip"
	expect 0 haul move nas:inbox .
	check -d "$SHARE" -a -z "$(ls "$SHARE")" -a -f x/day/clip
}

@test "move: what the other end has: equal content goes, other content stays and is named, size and time prove nothing" {
	pair mirror
	mkdir -p "$SHARE/Footage/day"
	echo clip >"$SHARE/Footage/day/clip"
	echo tap >"$SHARE/Footage/top"
	touch -r Footage/top "$SHARE/Footage/top"
	expect 3 haul move --json Footage nas:inbox
	done_is files_sent 1 files_skipped 1 files_deleted 2 files_failed 1
	err_has "nas:inbox/Footage/top" "taken"
	check ! -e Footage/day -a "$(cat Footage/top)" = top -a "$(cat "$SHARE/Footage/top")" = tap
	expect 0 haul move --on-conflict=replace Footage nas:inbox
	check ! -e Footage -a "$(cat "$SHARE/Footage/top")" = top

	echo mine >top
	expect 3 haul move nas:inbox/Footage/top .
	err_has "taken"
	check "$(cat top)" = mine -a "$(cat "$SHARE/Footage/top")" = top
	expect 0 haul move --on-conflict=replace nas:inbox/Footage/top .
	check "$(cat top)" = top -a ! -e "$SHARE/Footage/top"
	expect 1 haul move --on-conflict=number top nas:inbox
	no_aside
}

@test "move: out of a share needs delete, into one that cannot be read nothing is taken for equal" {
	pair reader
	echo f >"$SHARE/f"
	expect 6 haul move nas:inbox/f .
	err_has "edit1 may not delete in inbox" "haul peer allow edit1 inbox="
	check -f "$SHARE/f" -a ! -e f
	expect 6 haul move -n nas:inbox/f .

	expect 0 haul_b peer allow edit1 inbox=create
	expect 0 haul move file.txt nas:inbox
	check ! -e file.txt -a "$(cat "$SHARE/file.txt")" = single
	echo single >file.txt
	expect 3 haul move file.txt nas:inbox
	err_has "may not read from inbox" "haul peer allow edit1 inbox="
	check -f file.txt
	expect 3 haul move --on-conflict=replace file.txt nas:inbox
	check -f file.txt

	expect 0 haul_b peer allow edit1 inbox=writer
	expect 0 haul move file.txt nas:inbox
	check ! -e file.txt
}

@test "move: -n between machines deletes nothing; options of copying that would weaken it are refused" {
	pair mirror
	expect 0 haul move -n Footage nas:inbox
	out_has Footage/big
	check -f Footage/big -a ! -e "$SHARE/Footage"
	cp -r Footage "$SHARE/there"
	expect 0 haul move -n nas:inbox/there .
	check -f "$SHARE/there/big" -a ! -e there
	for option in --no-sync --delete --size-only --inplace; do
		expect 1 haul move $option Footage nas:inbox
	done
	check -f Footage/big
	expect 1 haul move --bwlimit=1M file.txt other.txt
	err_has "between machines"
	expect 1 haul move nas:inbox/there nas:inbox/here
	check -f file.txt
}

@test "move: what was read and has changed since stays, and so does what does not travel" {
	need_tool strace
	pair mirror
	mkfifo Footage/day/pipe
	setfattr -n user.note -v precious Footage/top 2>/dev/null || echo "no attributes here"
	# Between the last byte and the deletion: the file grows when the first private directory is made.
	expect '3|8' env ASAN_OPTIONS=detect_leaks=0 HAUL_HOME="$A" strace -f -o "$T/trace" -e trace=mkdirat \
		-e inject=mkdirat:delay_exit=1500000 "$HAUL" move Footage nas:inbox &
	RUN=$!
	wait_for 30 sh -c "find Footage -name '.haul-aside-*' | grep -q ."
	echo more >>Footage/day/clip
	wait "$RUN"
	err_has "Footage/day/clip stays" "changed" "Footage/day/pipe stays"
	check "$(tail -n 1 Footage/day/clip)" = more -a -p Footage/day/pipe
	if [ -e Footage/top ]; then err_has "user.note"; fi
	check ! -e Footage/big
	no_aside
}

# Two ways to one directory: whatever the numbers of devices and inodes say, nothing is lost.
intact() {
	check "$(cat file.txt)" = single -a "$(cat Footage/top)" = top -a "$(cat Footage/day/clip)" = clip -a -d Footage/empty
	check -s Footage/big
	no_aside
}

@test "move: the very same directory as a share, by push and by pull: nothing is deleted" {
	SHARE_AT=$T/w pair full
	expect 3 haul move file.txt nas:inbox
	err_has "stays" "the very same"
	intact
	for way in "Footage nas:inbox" "Footage/ nas:inbox/Footage" "nas:inbox/file.txt ." "nas:inbox/Footage ." \
		"nas:inbox/Footage/ Footage" "--on-conflict=replace Footage nas:inbox"; do
		expect 3 haul move $way
		intact
	done
	rm -rf other
	expect 0 haul move Footage nas:inbox/other
	check ! -e Footage -a "$(cat other/Footage/top)" = top
}

@test "move: one directory by a bind mount or through another file system: nothing is deleted" {
	need_root
	mkdir "$T/bind"
	mount --bind . "$T/bind"
	MOUNTS+=("$T/bind")
	SHARE_AT=$T/bind pair full
	for way in "file.txt nas:inbox" "Footage nas:inbox" "Footage/ nas:inbox/Footage" "nas:inbox/Footage ." \
		"nas:inbox ."; do
		expect 3 haul move $way
		intact
	done
	mount_loop tmpfs 32 "$T/o"
	mkdir -p "$T/o/l/data/bare" "$T/o/u/data/empty" "$T/o/work" "$T/m"
	echo lower >"$T/o/l/data/low"
	echo precious >"$T/o/u/data/f"
	mount -t overlay overlay -o "lowerdir=$T/o/l,upperdir=$T/o/u,workdir=$T/o/work" "$T/m" || skip "cannot mount overlay"
	MOUNTS=("$T/m" "${MOUNTS[@]}")
	expect 0 haul_b share add over "$T/m"
	expect 0 haul_b share add upper "$T/o/u"
	expect 0 haul_b peer allow edit1 over=full
	expect 0 haul_b peer allow edit1 upper=full
	for way in "$T/o/u/data nas:over" "$T/o/u/data/f nas:over/data" "$T/o/l/data nas:over" "nas:over/data $T/o/u" \
		"$T/m/data nas:upper" "nas:upper/data $T/m"; do
		expect '0|3|8' haul move $way
		check "$(cat "$T/m/data/f")" = precious -a "$(cat "$T/m/data/low")" = lower
		check -d "$T/m/data/bare" -a -d "$T/m/data/empty"
	done
}

@test "move: a share of this home, or what holds one, is not moved away" {
	pair full
	mkdir -p holds/mine
	expect 0 haul share add mine "$PWD/holds/mine"
	expect 9 haul move holds nas:inbox
	expect 9 haul move holds/mine nas:inbox
	check -d holds/mine
	expect 0 haul move file.txt nas:inbox
}

@test "move: a source that cannot be deleted stays and is named, with its directory" {
	need_root
	need_tool chattr
	mount_loop ext4 32 "$T/from"
	cp -r Footage "$T/from/"
	chattr +i "$T/from/Footage/top" || skip "no chattr here"
	pair full
	rc=0
	expect 3 haul move --json "$T/from/Footage" nas:inbox || rc=$?
	chattr -i "$T/from/Footage/top"
	check "$rc" = 0
	done_is files_deleted 2 files_kept 1
	err_has "top stays"
	check -f "$T/from/Footage/top" -a ! -e "$T/from/Footage/day" -a -f "$SHARE/Footage/top"
	expect 0 haul move --json "$T/from/Footage" nas:inbox
	done_is files_deleted 1 files_sent 0
	check ! -e "$T/from/Footage"
}

@test "move: a full disk at the source does not keep it from being emptied" {
	need_root
	mount_loop ext4 32 "$T/from"
	mkdir "$T/from/src"
	for i in 1 2 3; do head -c 100000 /dev/urandom >"$T/from/src/f$i"; done
	head -c 50000000 /dev/zero >"$T/from/filler" 2>/dev/null || true
	pair full
	expect 0 haul move "$T/from/src" nas:inbox
	check ! -e "$T/from/src" -a -s "$SHARE/src/f3"
}

@test "move: what a run that died has put aside is put back first, also of one file" {
	pair full
	aside=.haul-aside-00112233445566778899aabbccddeeff
	mkdir Footage/$aside $aside "$SHARE/$aside"
	mv Footage/top Footage/$aside/
	mv file.txt $aside/
	echo there >"$SHARE/$aside/there"
	expect 0 haul move Footage file.txt nas:inbox
	check ! -e Footage -a ! -e file.txt -a "$(cat "$SHARE/Footage/top")" = top -a "$(cat "$SHARE/file.txt")" = single
	expect 0 haul move nas:inbox/there .
	check "$(cat there)" = there -a ! -e "$SHARE/there"
	no_aside
}

# What is not at the one end is at the other, whole; nothing is told apart but by content.
nothing_lost() {
	local sum path
	while read -r sum path; do
		for top in src dst "$SHARE"; do
			found=$(find "$top" -type f -name "$(basename "$path")" -exec sha256sum {} + 2>/dev/null | cut -d ' ' -f 1)
			case "$found" in *"$sum"*) continue 2 ;; esac
		done
		fail_with "lost: $path"
	done <"$T/before"
}

@test "move: killed at either side at any time, nothing is lost and the same command finishes it" {
	pair mirror
	mkdir -p src/t
	"$MKTREE" small 200 2000 src/t/small
	for i in 1 2; do head -c 4000000 /dev/urandom >"src/t/big$i"; done
	sums src | sed 's/ \+/ /' | awk '{ print $1, $2 }' >"$T/before"
	rounds=$([ "$SCALE" = full ] && echo 40 || echo 4)
	killed=0
	for round in $(seq "$rounds"); do
		way="src/t nas:inbox"
		[ -e src/t ] || way="nas:inbox/t src"
		HAUL_HOME=$A "$HAUL" move --on-conflict=replace --timeout 20 $way >"$T/out" 2>"$T/err" </dev/null 3>&- &
		RUN=$!
		sleep "0.$((RANDOM % 80 + 10))"
		if [ $((round % 2)) -eq 0 ]; then
			kill -9 "$RUN" 2>/dev/null && killed=$((killed + 1))
		else
			kill_agent "$AGENT_PID"
			killed=$((killed + 1))
			restart_b
		fi
		wait "$RUN" || true
		if [ $((round % 3)) -eq 0 ]; then nothing_lost; fi
	done
	check "$killed" -ge 1
	nothing_lost
	if [ -e src/t ]; then expect 0 haul move --on-conflict=replace src/t nas:inbox; fi
	nothing_lost
	check ! -e src/t -a "$(find "$SHARE/t" -type f | wc -l)" = "$(wc -l <"$T/before")"
	no_aside
}

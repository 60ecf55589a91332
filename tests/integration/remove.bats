# haul remove: what goes, what never goes, who is asked.
load lib

setup() {
	test_begin
	A=$T/a
	mkdir "$T/w"
	cd "$T/w"
	mkdir -p day/sub
	echo one >day/one
	echo two >day/sub/two
	ln -s ../keep day/link
	mkdir keep
	echo kept >keep/file
}

many() { mkdir -p "$1" && (cd "$1" && seq 1 "$2" | xargs touch); }

@test "remove: files, trees and links go; what links lead to stays; no home is made" {
	ln -s keep toKeep
	expect 0 haul remove day toKeep
	check ! -e day -a ! -L toKeep -a -f keep/file
	err_has "entries removed"
	check ! -e "$A"
}

@test "remove: a tree far deeper than any path may be long, and odd names" {
	"$MKTREE" deep 600 deep
	"$MKTREE" odd odd
	expect 0 haul remove --yes deep odd
	check ! -e deep -a ! -e odd
}

@test "remove: slash or not is the same directory; a link with a slash is refused" {
	ln -s keep toKeep
	expect 1 haul remove toKeep/
	err_has "leave out the slash"
	expect 1 haul remove keep/file/
	check -f keep/file -a -L toKeep
	expect 0 haul remove day/
	check ! -e day
}

@test "remove: . and .. and / and other machines are refused, and nothing else goes" {
	expect 1 haul remove day .
	expect 1 haul remove day ..
	expect 1 haul remove day keep/..
	expect 1 haul remove day nas:inbox/x
	expect 9 haul remove day /
	expect 9 haul remove --yes day //
	check -f day/one
}

@test "remove: a share of this home, and what holds one, are refused, also through links" {
	mkdir -p keep/deep/share
	ln -s keep/deep/share way
	expect 0 haul share add inbox "$T/w/way"
	expect 9 haul remove day keep
	err_has "share" "haul share remove inbox"
	expect 9 haul remove --yes keep/deep/share
	check -f day/one -a -d keep/deep/share
	expect 0 haul share remove inbox
	expect 0 haul remove keep
	check ! -e keep
}

@test "remove: a mount point is refused; one below is never crossed, and is named" {
	mount_loop tmpfs 8 "$T/w/day/mnt"
	echo inside >day/mnt/inside
	expect 9 haul remove day/mnt
	err_has "mount point"
	expect 3 haul remove day
	err_has "day/mnt" "mounted"
	check -f day/mnt/inside -a ! -e day/one -a ! -e day/sub
	expect 3 haul remove --json day
	done_is exit 3
}

@test "remove: a bind mount of the same file system below is not crossed" {
	need_root
	mkdir day/bind
	mount --bind keep day/bind
	MOUNTS+=("$T/w/day/bind")
	expect 3 haul remove day
	err_has "day/bind"
	check -f keep/file
}

@test "remove: more than a thousand entries want --yes; without a terminal exit 9" {
	many lots 1000
	expect 9 haul remove lots
	err_has "lots: 1,001 entries" "nothing was removed" "--yes"
	check "$(ls lots | wc -l)" -eq 1000
	expect 9 haul remove -n lots
	err_has "lots: 1,001 entries"
	err_lacks "nothing was"
	expect 0 haul remove -n --yes lots
	check "$(ls lots | wc -l)" -eq 1000
	rm lots/1
	expect 0 haul remove lots
	many lots 1500
	expect 0 haul remove --yes lots
	check ! -e lots
}

@test "remove: on a terminal it asks, and only y goes on" {
	need_tool script
	many lots 1200
	run script -qec "HAUL_HOME=$A '$HAUL' remove lots" /dev/null <<<"n"
	check "$status" -eq 9
	check -d lots
	run script -qec "HAUL_HOME=$A '$HAUL' remove lots" /dev/null <<<"y"
	check "$status" -eq 0
	[[ "$output" == *"1,201 entries"* ]]
	check ! -e lots
}

@test "remove: -n names what would go, contents first, and changes nothing" {
	expect 0 haul remove -n day
	out_has "*deleting   day/sub/two" "*deleting   day/sub/" "*deleting   day/link"
	check "$(tail -n 1 "$T/out")" = "*deleting   day/"
	check -f day/sub/two
}

@test "remove: -v and --json name and count what went" {
	expect 0 haul remove --json day
	done_is exit 0 files_deleted 2 entries_deleted 5 files_failed 0
	check "$(jq -r 'select(.event == "file") | .path' "$T/out" | wc -l)" -eq 5
	expect 0 haul remove -v keep
	err_has "keep/file"
}

@test "remove: nothing there is 2, one of several 3, and the others go" {
	expect 2 haul remove none
	err_has "none"
	expect 3 haul remove none day
	check ! -e day
}

@test "remove: what cannot be looked at for lack of handles holds up everything; up to the hard limit there is none" {
	local names=()
	for i in $(seq 1 60); do
		echo x >"n$i"
		names+=("n$i")
	done
	(ulimit -n 40 && expect 10 haul remove "${names[@]}")
	err_has "nothing was removed"
	check "$(ls -d n* | wc -l)" -eq 60
	(ulimit -Sn 40 && expect 0 haul remove "${names[@]}")
	check "$(ls -d n* | wc -l)" -eq 0
}

@test "remove: what may not be removed is named, stays, and makes exit 3" {
	test_in_the_open
	need_user
	mkdir "$T/user"
	mv day "$T/user"
	chown -R 1234:1234 "$T/user"
	chmod 555 "$T/user/day/sub"
	cd "$T/user"
	HAUL_HOME=$T/user/home expect 3 as_user "$HAUL" remove day
	err_has "day/sub/two" "Permission denied"
	check -f day/sub/two -a ! -e day/one
}

@test "remove: an append-only or immutable file stays and is named" {
	need_root
	need_tool chattr
	mount_loop ext4 16 "$T/w/fs"
	mkdir fs/d
	touch fs/d/plain fs/d/fixed
	chattr +i fs/d/fixed
	expect 3 haul remove fs/d
	err_has "fs/d/fixed"
	check -f fs/d/fixed -a ! -e fs/d/plain
	chattr -i fs/d/fixed
}

@test "remove: Ctrl-C ends it in good order, and done says so" {
	many lots 20000
	mkfifo "$T/pipe"
	HAUL_HOME=$A env --default-signal=INT "$HAUL" remove --yes --json lots >"$T/pipe" 2>"$T/err" </dev/null 3>&- 4>&- &
	local pid=$! got=0 line=
	OTHERS+=("$pid")
	exec {events}<"$T/pipe"
	while [[ $line != *'"file"'* ]]; do read -r -t 60 -u "$events" line; done
	# A pipe that nobody reads holds 64 KiB: it cannot be over yet.
	kill -INT "$pid"
	cat <&"$events" >"$T/out"
	exec {events}<&-
	wait "$pid" || got=$?
	OTHERS=()
	check "$got" = 130
	done_is exit 130
	check -d lots
}

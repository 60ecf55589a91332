# haul sync: the destination becomes what the source is, and nothing is deleted by accident.
load lib

setup() {
	test_begin
	A=$T/a
	mkdir "$T/w"
	cd "$T/w" || return 1
}

# tree DIR FILES: a small tree of that many files.
tree() {
	local i
	mkdir -p "$1/one" "$1/two/deep"
	for ((i = 0; i < $2; i++)); do echo "$i" >"$1/one/f$i"; done
	echo deep >"$1/two/deep/x"
	ln -s one "$1/link"
}
same() { "$TREECMP" "$1" "$2"; }

@test "sync: within this machine: what the source no longer has goes, of every kind; again there is nothing to do" {
	tree src 40
	expect 0 haul sync src/ dst
	same src dst
	rm src/one/f1 src/link
	mkdir -p dst/old/deep "dst/two/-rf"
	echo y >dst/old/deep/y
	mkfifo dst/two/fifo
	ln -s / dst/two/away
	expect 0 haul sync --json src/ dst
	done_is exit 0 entries_deleted 8 files_deleted 2 files_sent 0
	same src dst
	expect 0 haul sync --json src/ dst
	done_is entries_deleted 0 files_sent 0
}

@test "sync: to a share and from a share; without the right to delete there it does not begin" {
	pair writer
	tree src 40
	expect 6 haul sync src/ nas:inbox/p
	err_has "delete"
	check ! -e "$SHARE/p"
	expect 0 haul_b peer allow edit1 inbox=mirror
	expect 0 haul sync src/ nas:inbox/p
	same src "$SHARE/p"
	rm -r src/two
	echo new >src/one/new
	expect 0 haul sync -i src/ nas:inbox/p
	out_has "*deleting   two/"
	same src "$SHARE/p"
	expect 0 haul sync nas:inbox/p/ back
	same src back
	rm "$SHARE/p/one/f7"
	expect 0 haul sync --json nas:inbox/p/ back
	done_is entries_deleted 1 files_deleted 1
	same "$SHARE/p" back
}

@test "sync: a directory that lands under its name leaves alone what lies beside it" {
	pair mirror
	tree src 3
	mkdir "$SHARE/q" back
	echo mine >"$SHARE/q/beside"
	expect 0 haul sync src nas:inbox/q
	echo surplus >"$SHARE/q/src/surplus"
	expect 0 haul sync src nas:inbox/q
	check -f "$SHARE/q/beside" -a ! -e "$SHARE/q/src/surplus"
	echo mine >back/beside
	expect 0 haul sync nas:inbox/q/src back
	echo surplus >back/src/surplus
	expect 0 haul sync nas:inbox/q/src back
	check -f back/beside -a ! -e back/src/surplus
}

@test "sync: too many deletions: exit 9, the number, ten paths and the command; copies are made, nothing goes" {
	pair mirror
	tree src 30
	expect 0 haul sync src/ nas:inbox/p
	rm src/one/f1*
	echo changed >src/one/f2
	expect 9 haul sync --json src/ nas:inbox/p
	done_is exit 9 reasons '[9]' entries_deleted 0 files_sent 1
	expect 9 haul sync src/ nas:inbox/p
	err_has "nas:inbox/p: 11 of 35 entries" "nothing was deleted" "one/f1" "and more" "--max-delete=11"
	check -f "$SHARE/p/one/f1" -a "$(cat "$SHARE/p/one/f2")" = changed
	expect 9 haul sync -n src/ nas:inbox/p
	expect 9 haul sync --max-delete=10 src/ nas:inbox/p
	expect 9 haul sync --max-delete=31% src/ nas:inbox/p
	expect 0 haul sync --max-delete=32% -n src/ nas:inbox/p
	out_has "*deleting   one/f1"
	check -f "$SHARE/p/one/f1"
	expect 0 haul sync --max-delete=11 src/ nas:inbox/p
	same src "$SHARE/p"
	expect 1 haul sync --max-delete=x src/ nas:inbox/p
	err_has "--max-delete=x"
}

@test "S-01: sync: an empty source, one that cannot be read whole, and another file system than last time delete nothing" {
	need_root
	mount_loop ext4 16 "$T/w/src"
	echo 1 >src/1
	mkdir src/closed
	echo 2 >src/closed/2
	rmdir src/lost+found
	expect 0 haul sync src/ dst
	umount src
	expect 9 haul sync --max-delete=none src/ dst
	err_has "the source is empty"
	check -f dst/1 -a -f dst/closed/2
	echo stale >src/stale
	expect 9 haul sync --max-delete=none src/ dst
	err_has "another file system than last time" "--new-source"
	check -f dst/1 -a -f dst/stale
	expect 0 haul sync --new-source src/ dst
	check ! -e dst/1 -a -f dst/stale
}

@test "S-04: sync: a directory that may not be read keeps its counterpart, and all else" {
	test_in_the_open
	A=$T/a
	need_user
	mkdir "$T/u"
	chmod 0777 "$T/u"
	tree "$T/u/src" 3
	mkdir "$T/u/src/closed"
	echo 1 >"$T/u/src/closed/1"
	expect 0 haul sync "$T/u/src/" "$T/u/dst"
	rm "$T/u/src/one/f1"
	chown -R 1234:1234 "$T/u"
	chmod 0 "$T/u/src/closed"
	export HOME=$T/u/home
	mkdir "$T/u/home"
	chown 1234 "$T/u/home"
	expect 3 env HAUL_HOME="$T/u/h" setpriv --reuid=1234 --regid=1234 --clear-groups -- "$HAUL" sync --json "$T/u/src/" "$T/u/dst"
	done_is exit 3 reasons "[3,9]"
	err_has "closed" "could not be read whole"
	check -f "$T/u/dst/closed/1" -a -f "$T/u/dst/one/f1"
}

@test "sync: names that systems put there, mounts and shares stay, and what holds them" {
	need_root
	tree src 3
	expect 0 haul sync src/ dst
	mkdir -p dst/lost+found dst/box/@eaDir dst/holds/mnt dst/holds/share dst/.snapshot
	echo 1 >dst/box/@eaDir/1
	echo 2 >dst/box/gone
	mount_loop tmpfs 1 "$T/w/dst/holds/mnt"
	expect 0 haul share add inner "$T/w/dst/holds/share"
	expect 3 haul sync --max-delete=none src/ dst
	err_has "dst/holds/ stays: it is a share, or holds one"
	check -d dst/lost+found -a -f dst/box/@eaDir/1 -a ! -e dst/box/gone -a -d dst/holds/share -a -d dst/.snapshot
	expect 0 haul share remove inner
	expect 0 haul sync --max-delete=none src/ dst
	check -d dst/holds/mnt -a ! -e dst/holds/share
}

@test "sync: a wrong trailing slash is found out; --nest goes on" {
	pair mirror
	tree src 3
	expect 0 haul sync src/ nas:inbox/p
	expect 9 haul sync src nas:inbox/p
	err_has "nas:inbox/p looks like src itself: did you mean src/ ?"
	check ! -e "$SHARE/p/src"
	expect 9 haul sync nas:inbox/p src
	err_has "src looks like nas:inbox/p itself"
	cp -a src dst
	expect 9 haul sync src dst
	err_has "dst looks like src itself"
	expect 0 haul sync --nest src nas:inbox/p
	check -f "$SHARE/p/src/one/f1"
	expect 0 haul sync src nas:inbox/p
}

@test "sync: a file is refused, so are places inside one another, and --no-sync" {
	tree src 3
	echo x >file
	expect 1 haul sync file dst
	err_has "file is no directory"
	expect 1 haul sync src/ src/sub
	expect 1 haul sync src/ src
	expect 1 haul sync --no-sync src/ dst
	expect 1 haul sync src/ src2/ dst
	check ! -e dst -a ! -e src/sub
}

@test "sync: a destination without room deletes nothing: the old may be all there is" {
	pair mirror
	mount_loop tmpfs 8 "$SHARE"
	mkdir src
	head -c 3000000 /dev/urandom >src/old
	expect 0 haul sync src/ nas:inbox
	rm src/old
	head -c 7000000 /dev/urandom >src/new
	expect 7 haul sync src/ nas:inbox
	err_has "not everything could be written"
	check -f "$SHARE/old"
}

@test "sync: killed at any time, and by a signal: never less than the source has; the next one ends it" {
	pair mirror
	tree src 200
	expect 0 haul sync src/ nas:inbox/p
	cp -a "$SHARE/p" "$T/full"
	for round in 1 2 3 4; do
		rm -rf "$SHARE/p" src
		cp -a "$T/full" "$SHARE/p"
		tree src 20
		rm src/link
		HAUL_HOME=$A "$HAUL" sync --max-delete=none src/ nas:inbox/p >/dev/null 2>&1 </dev/null 3>&- &
		local pid=$!
		sleep "0.0$((round * 2))"
		[ $((round % 2)) = 0 ] && kill -9 $pid || kill -TERM $pid
		wait $pid || true
		for f in src/one/*; do cmp -s "$f" "$SHARE/p/one/${f##*/}" || fail_with "$f is not there"; done
	done
	expect 0 haul sync --max-delete=none src/ nas:inbox/p
	same src "$SHARE/p"
}

@test "sync: what has become another kind below directories that stay: the sync ends, and their times are the source's" {
	pair full
	for dst in dst nas:inbox/p; do
		rm -rf src
		mkdir -p src/top/deep/was_dir src/top/other
		echo 1 >src/top/deep/was_dir/1
		echo 2 >src/top/deep/was_file
		expect 0 haul sync src "$dst"
		rm -r src/top/deep/was_dir src/top/deep/was_file
		echo now >src/top/deep/was_dir
		mkdir -p src/top/deep/was_file/a
		echo 3 >src/top/deep/was_file/a/3
		touch -d 2002-02-02 src/top/deep/was_file/a src/top/deep/was_file src/top/deep src/top src
		expect 0 haul sync --json src "$dst"
		done_is exit 0 entries_deleted 3 files_failed 0
		[ "$dst" = dst ] || dst=$SHARE/p
		"$TREECMP" src "$dst/src"
	done
}

@test "D-07, D-08: sync: what has become another kind is exchanged, directories for files and files for directories" {
	need_root
	pair full
	for dst in dst nas:inbox/p; do
		rm -rf src
		tree src 30
		mkdir -p src/was_dir/sub src/to_link
		echo 1 >src/was_dir/sub/1
		echo 2 >src/was_file
		echo 3 >src/to_link/3
		expect 0 haul sync src/ "$dst"
		rm -r src/was_dir src/was_file src/to_link
		echo now >src/was_dir
		mkdir -p src/was_file/a/b
		echo deep >src/was_file/a/b/c
		head -c 3000000 /dev/urandom >src/was_file/big
		ln -s one src/to_link
		chown -R 1234:2345 src/was_file src/was_dir
		expect 0 haul sync -n src/ "$dst"
		out_has "*deleting   was_dir/" "*deleting   was_file" "was_file/a/b/c" "*deleting   to_link/"
		expect 9 haul sync --max-delete=5 src/ "$dst"
		err_has "6 of "
		expect 0 haul sync --json --max-delete=6 src/ "$dst"
		done_is exit 0 entries_deleted 6 files_failed 0
		expect 0 haul sync --json src/ "$dst"
		done_is entries_deleted 0 files_sent 0
		[ "$dst" = dst ] || dst=$SHARE/p
		"$TREECMP" --owners src "$dst"
	done
}

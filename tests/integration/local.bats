# Both ends on this machine: what arrives, what is left alone, what is refused, what a dying disk or process leaves.
load lib
load trees

setup() {
	test_begin
	A=$T/a
}

@test "a tree: copied, then nothing to do, then only what changed" {
	make_mixed "$T/mixed"
	"$MKTREE" big 30000001 "$T/mixed/large"
	expect 0 haul copy "$T/mixed" "$T/to/new"
	err_has "$T/mixed -> $T/to/new/mixed (new)" "makes $T/to/new" "durable"
	same "$T/mixed" "$T/to/new/mixed"
	snapshot "$T/to/new/mixed" >"$T/before"
	expect 0 haul copy --json "$T/mixed" "$T/to/new"
	done_is exit 0 files_sent 0 bytes_sent 0
	snapshot "$T/to/new/mixed" >"$T/after"
	cmp "$T/before" "$T/after"
	printf 'more\n' >>"$T/mixed/sub/many/file-000005"
	truncate -s 40000000 "$T/mixed/large"
	expect 0 haul copy --json "$T/mixed" "$T/to/new"
	done_is exit 0 files_sent 2 files_failed 0 verified false durable true
	same "$T/mixed" "$T/to/new/mixed"
	no_leftovers "$T/to"
}

@test "landing: names, contents, several, --as, one file under a name" {
	mkdir "$T/dir" "$T/there"
	printf one >"$T/dir/one"
	printf two >"$T/two"
	cd "$T"
	expect 0 haul copy dir there
	check "$(cat there/dir/one)" = one
	expect 0 haul copy dir/ there
	check "$(cat there/one)" = one
	expect 0 haul copy dir two several
	check "$(cat several/two several/dir/one)" = twoone
	expect 0 haul copy --as three two there
	check "$(cat there/three)" = two
	expect 0 haul copy two four
	check "$(cat four)" = two
	expect 0 haul copy two deep/er/five
	check "$(cat deep/er/five)" = two
	expect 0 haul copy -q dir there/
	check ! -s "$T/err"
	expect 2 haul copy nothing there
	expect 3 haul copy nothing two there
	check "$(cat there/two)" = two
	expect 1 haul copy dir/one there/dir/one two/x
}

@test "-n changes nothing and says what it would do" {
	make_mixed "$T/mixed"
	expect 0 haul copy -n "$T/mixed" "$T/to"
	out_has "mixed/hello.txt" "mixed/sub/many/file-000003"
	check ! -e "$T/to"
	mkdir "$T/to"
	cp -a "$T/mixed" "$T/to/"
	printf x >>"$T/mixed/hello.txt"
	snapshot "$T/to" >"$T/before"
	expect 0 haul copy -n --json "$T/mixed" "$T/to"
	done_is exit 0 dry_run true bytes_sent 0
	check "$(grep -c '"event":"file"' "$T/out")" = 1
	snapshot "$T/to" >"$T/after"
	cmp "$T/before" "$T/after"
}

@test "-c finds and mends what size and time do not show" {
	make_mixed "$T/mixed"
	"$MKTREE" big 20000001 "$T/mixed/large"
	expect 0 haul copy "$T/mixed" "$T/to"
	flip "$T/to/mixed/large" 13000000
	flip "$T/to/mixed/sub/many/file-000007" 100
	expect 0 haul copy --json "$T/mixed" "$T/to"
	done_is files_sent 0
	expect 0 haul copy -c --json --verify=transfer "$T/mixed" "$T/to"
	done_is exit 0 files_sent 2 verified transfer
	same "$T/mixed" "$T/to/mixed"
}

@test "verify: equal, different with its offset, missing, more" {
	make_mixed "$T/mixed"
	"$MKTREE" big 20000001 "$T/mixed/large"
	cp -a "$T/mixed" "$T/to"
	expect 0 haul verify "$T/mixed" "$T/to"
	err_has "every byte of both sides read"
	flip "$T/to/large" 13000001
	expect 4 haul verify "$T/mixed" "$T/to"
	offset_named 13000001 large
	cp -p "$T/mixed/large" "$T/to/large"
	rm "$T/to/hello.txt"
	expect 4 haul verify "$T/mixed" "$T/to"
	out_has hello.txt
	cp -p "$T/mixed/hello.txt" "$T/to/"
	printf more >"$T/to/surplus"
	expect 0 haul verify "$T/mixed" "$T/to"
	out_has surplus
	expect 4 haul verify --exact "$T/mixed" "$T/to"
	expect 2 haul verify "$T/mixed" "$T"
	err_has "did you mean $T/mixed ?"
	expect 4 haul verify "$T/mixed" "$T/nothing"
}

@test "holes stay holes, links stay links, special files are counted" {
	mkdir "$T/from"
	truncate -s 1G "$T/from/sparse"
	printf end | dd of="$T/from/sparse" bs=1M seek=700 conv=notrunc status=none
	ln -s sparse "$T/from/link"
	mkfifo "$T/from/fifo"
	expect 0 haul copy --verify=transfer "$T/from" "$T/to"
	err_has "1 fifo"
	check "$(du -m "$T/to/from/sparse" | cut -f 1)" -lt 20
	cmp "$T/from/sparse" "$T/to/from/sparse"
	check "$(readlink "$T/to/from/link")" = sparse
	check ! -e "$T/to/from/fifo"
	expect 0 haul copy -L "$T/from/link" "$T/file"
	check ! -L "$T/file"
	cmp "$T/from/sparse" "$T/file"
}

@test "a tree deeper than a path can be long" {
	local name i
	name=$(printf 'd%.0s' $(seq 1 200))
	mkdir "$T/deep"
	(
		cd "$T/deep"
		for i in $(seq 1 40); do
			mkdir "$name"
			cd -P "$name" 2>/dev/null || cd "$name"
		done
		printf bottom >file
	)
	expect 0 haul copy --json "$T/deep" "$T/to"
	done_is exit 0 files_sent 1
	expect 0 haul verify "$T/deep" "$T/to/deep"
}

# refused TEXT SRC... DST: exit 1, both named, and nothing has changed below $T/here.
refused() {
	local text=$1 before
	shift
	before=$(snapshot "$T/here")
	expect 1 haul copy "$@"
	err_has "$text"
	expect 1 haul copy -n "$@"
	check "$before" = "$(snapshot "$T/here")"
	no_leftovers "$T/here"
}

@test "a file is never copied onto itself, by whatever name" {
	mkdir "$T/here"
	cd "$T/here"
	printf content >file
	ln file hard
	ln -s file soft
	ln -s loop2 loop1
	refused "one and the same file" file file
	refused "one and the same file" file ./file
	refused "one and the same file" file "$T/here"
	refused "one and the same file" file hard
	refused "one and the same file" hard file
	refused "one and the same file" file soft
	refused "one and the same file" soft file
	refused "one and the same file" -L soft file
	refused "one and the same file" --as hard file .
	check "$(cat file)" = content
	mkdir other
	printf content2 >other/x
	refused "one and the same file" other/x file other
	expect 0 haul copy soft copied-link
	check "$(readlink copied-link)" = file
}

@test "a directory is never copied into itself, by whatever way" {
	mkdir -p "$T/here/dir/sub"
	cd "$T/here"
	printf content >dir/file
	ln -s dir way
	refused "one and the same directory" dir .
	refused "one and the same directory" dir/ dir
	refused "one and the same directory" dir/ way
	refused "one and the same directory" way/ dir
	refused "copied into itself" dir dir
	refused "copied into itself" dir dir/
	refused "copied into itself" dir dir/sub
	refused "copied into itself" dir/ dir/sub
	refused "copied into itself" dir way/sub
	refused "copied into itself" way/ dir/sub
	refused "copied into itself" dir dir/new/deep
	refused "copied into itself" . dir
	refused "copied into itself" -L way dir/sub
	refused "copied into itself" dir/file dir dir/sub
	expect 0 haul copy dir dir-more
	expect 0 haul copy dir/sub other
	expect 0 haul copy dir/sub .
	check -d sub
}

@test "a directory is not copied into itself through a bind mount" {
	need_root
	mkdir -p "$T/here/dir/sub" "$T/bound dir" "$T/all"
	printf content >"$T/here/dir/file"
	mount --bind "$T/here/dir/sub" "$T/bound dir" || skip "cannot bind"
	MOUNTS+=("$T/bound dir")
	refused "copied into itself" "$T/here/dir" "$T/bound dir"
	refused "copied into itself" "$T/here" "$T/bound dir/new"
	mount --bind "$T/here" "$T/all"
	MOUNTS+=("$T/all")
	refused "copied into itself" "$T/all/dir" "$T/here/dir/sub"
	refused "one and the same directory" "$T/all/dir" "$T/here"
	refused "one and the same file" "$T/all/dir/file" "$T/here/dir"
}

@test "trees that share inodes: hard links are equal, a link never replaces what it leads to" {
	mkdir -p "$T/one/sub" "$T/two"
	printf content >"$T/one/file"
	"$MKTREE" big 9000000 "$T/one/sub/large"
	cp -al "$T/one/." "$T/two/"
	expect 0 haul copy --json "$T/one/" "$T/two"
	done_is exit 0 files_sent 0
	expect 0 haul copy -c --json "$T/one/" "$T/two"
	done_is exit 0 files_sent 0
	check "$(stat -c %i "$T/one/file")" = "$(stat -c %i "$T/two/file")"
	# links of the source that lead to the files they would replace
	mkdir "$T/links" "$T/real"
	printf precious >"$T/real/a"
	printf precious >"$T/real/b"
	ln -s "$T/real/a" "$T/links/a"
	ln -s ../real/b "$T/links/b"
	expect 3 haul copy "$T/links/" "$T/real"
	err_has "one file"
	check "$(cat "$T/real/a")$(cat "$T/real/b")" = preciousprecious
	check ! -L "$T/real/a"
}

@test "a full disk: exit 7, the rest arrives, nothing is half" {
	mount_loop ext4 40 "$T/disk"
	mkdir "$T/from"
	"$MKTREE" big 60000000 "$T/from/large"
	"$MKTREE" small 20 3000 "$T/from/many"
	expect 7 haul copy --json "$T/from" "$T/disk"
	done_is exit 7 files_failed 1 durable true
	out_has "no space left" large
	check ! -e "$T/disk/from/large"
	same "$T/from/many" "$T/disk/from/many"
	no_leftovers "$T/disk"
}

@test "another file system, both directions, with owners as the user's own" {
	mount_loop ext4 200 "$T/disk"
	make_mixed "$T/mixed"
	"$MKTREE" big 30000001 "$T/mixed/large"
	expect 0 haul copy --json "$T/mixed" "$T/disk"
	done_is exit 0 verified transfer files_cloned 0
	same "$T/mixed" "$T/disk/mixed"
	expect 0 haul copy "$T/disk/mixed/" "$T/back"
	same "$T/mixed" "$T/back"
}

@test "killed in the midst: nothing half, and the next run completes" {
	local round pid
	mkdir -p "$T/from"
	"$MKTREE" small 600 6000 "$T/from/many"
	"$MKTREE" big 90000000 "$T/from/large"
	for round in 1 2 3 4 5 6; do
		rm -rf "$T/to"
		HAUL_HOME=$A "$HAUL" copy -q "$T/from" "$T/to" 3>&- 4>&- &
		pid=$!
		sleep "0.0$((round * 3))"
		kill -9 "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
		[ ! -d "$T/to" ] || real_files "$T/to" | while read -r name; do
			cmp -s "$name" "$T/from/${name#"$T/to/from/"}" || { echo "half: $name"; exit 1; }
		done
		expect 0 haul copy "$T/from" "$T/to"
		same "$T/from" "$T/to/from"
		no_leftovers "$T/to"
	done
}

@test "interrupted: exit 130, resumable, nothing left behind" {
	local pid got=0
	"$MKTREE" big 200000000 "$T/large"
	# A job in the background of a shell ignores SIGINT; env gives it back.
	HAUL_HOME=$A env --default-signal=INT "$HAUL" copy --json --bwlimit 20M "$T/large" "$T/to/" >"$T/out" 2>"$T/err" 3>&- 4>&- &
	pid=$!
	OTHERS+=("$pid")
	wait_for 30 grep -q '"progress"' "$T/out"
	kill -INT "$pid"
	wait "$pid" || got=$?
	OTHERS=()
	check "$got" = 130
	done_is exit 130
	check ! -e "$T/to/large"
	no_leftovers "$T"
	expect 0 haul copy "$T/large" "$T/to/"
	cmp "$T/large" "$T/to/large"
}

@test "what cannot be read or written is named, the rest arrives" {
	test_in_the_open
	need_user
	make_mixed "$T/mixed"
	chmod -R a+rX "$T/mixed"
	mkdir "$T/mixed/closed"
	printf x >"$T/mixed/secret"
	chmod 0000 "$T/mixed/closed" "$T/mixed/secret"
	install -d -o 1234 "$T/to" "$T/u"
	export HAUL_HOME=$T/u
	expect 3 as_user "$HAUL" copy "$T/mixed" "$T/to"
	err_has secret closed
	check "$(cat "$T/to/mixed/sub/run.sh")" = run
	expect 3 as_user "$HAUL" copy "$T/mixed/hello.txt" "$T"
	check ! -e "$T/hello.txt"
}

@test "options that make lanes, blocks and engines differ change nothing but speed" {
	make_mixed "$T/mixed"
	"$MKTREE" big 30000001 "$T/mixed/large"
	local lanes block engine
	for lanes in 1 3; do
		for block in 1M 16M; do
			for engine in ring threads; do
				HAUL_ENGINE=$engine expect 0 haul copy --json --lanes "$lanes" --block "$block" \
					"$T/mixed" "$T/to-$lanes-$block-$engine"
				done_is lanes "$lanes" exit 0
				same "$T/mixed" "$T/to-$lanes-$block-$engine/mixed"
			done
		done
	done
	expect 0 haul copy --direct never "$T/mixed" "$T/buffered"
	same "$T/mixed" "$T/buffered/mixed"
	expect 0 haul copy --no-sync --json "$T/mixed" "$T/unsynced"
	done_is exit 0 durable false
}

@test "a local copy is over when it is done: it does not wait for an end that is in the same process" {
	local began=$SECONDS
	mkdir "$T/all"
	for i in 1 2 3 4 5 6; do
		echo "$i" >"$T/one-$i"
		expect 0 haul copy -q "$T/one-$i" "$T/all/"
	done
	# The time that a peer has for closing, 1.5 s, would have passed six times.
	[ $((SECONDS - began)) -lt 9 ]
}

@test "the last line fits: -n would copy, and where only a fifo was named nothing can be checked again" {
	mkfifo "$T/ff"
	echo x >"$T/one"
	expect 0 haul copy -n "$T/one" "$T/two"
	err_has "1 would be copied, nothing was changed"
	expect 0 haul copy "$T/ff" "$T/lone"
	err_has "1 fifo left out"
	err_lacks "Check again"
	expect 0 haul copy "$T/one" "$T/two"
	err_has "Check again"
}

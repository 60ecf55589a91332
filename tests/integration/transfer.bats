# What arrives: trees of every shape, both ways, equal to the last bit and nanosecond; a second run sends nothing.
load lib
load trees

# there_and_back DIR: push it, prove it equal, send nothing the second time, pull it, prove that equal too.
there_and_back() {
	local dir=$1 name
	name=$(basename "$1")
	expect 0 haul copy "$dir" nas:inbox/in
	same "$dir" "$SHARE/in/$name"
	no_leftovers "$SHARE"
	expect 0 haul verify "$dir" "nas:inbox/in/$name"
	expect 0 haul copy --json "$dir" nas:inbox/in
	done_is exit 0 files_sent 0 bytes_sent 0 files_failed 0
	expect 0 haul copy "nas:inbox/in/$name" "$T/back"
	same "$dir" "$T/back/$name"
	expect 0 haul verify "nas:inbox/in/$name" "$T/back/$name"
	expect 0 haul copy --json "nas:inbox/in/$name" "$T/back"
	done_is exit 0 files_sent 0 bytes_sent 0 files_failed 0
}

@test "sizes around every border: leaves, blocks, alignment, nothing at all" {
	pair
	"$MKTREE" sizes "$T/sizes"
	there_and_back "$T/sizes"
}

@test "names with newline, leading dash, 255 bytes, invalid UTF-8, quotes, backslash" {
	pair
	"$MKTREE" odd "$T/odd"
	there_and_back "$T/odd"
}

@test "a tree deeper than PATH_MAX" {
	pair
	"$MKTREE" deep 1500 "$T/deep"
	there_and_back "$T/deep"
}

@test "links stay links, empty directories and modes arrive" {
	pair
	make_mixed "$T/mixed"
	there_and_back "$T/mixed"
	check "$(readlink "$SHARE/in/mixed/dangling")" = /nowhere/at/all
	check "$(readlink "$SHARE/in/mixed/sub/link")" = ../hello.txt
	check -d "$SHARE/in/mixed/empty"
}

# Lines of stderr that speak of a kind, without the first (the landing) and the last (the counts).
warnings_of() { sed '1d;$d' "$T/err" | grep -ci "$1"; }

@test "fifo and socket: one warning per kind, the rest arrives, exit 0" {
	pair
	"$MKTREE" kinds "$T/kinds"
	mkfifo "$T/kinds/second-fifo" "$T/kinds/third-fifo"
	expect 0 haul copy "$T/kinds" nas:inbox
	check "$(warnings_of fifo)" -eq 1
	check "$(warnings_of socket)" -eq 1
	check "$(find "$SHARE" -type p -o -type s | wc -l)" -eq 0
	find "$T/kinds" \( -type p -o -type s \) -delete
	same "$T/kinds" "$SHARE/kinds" --no-times
	expect 0 haul copy nas:inbox/kinds "$T/back"
	same "$T/kinds" "$T/back/kinds" --no-times
}

@test "device nodes are left out with one warning, exit 0" {
	need_root
	pair
	mkdir "$T/dev"
	mknod "$T/dev/null" c 1 3 2>/dev/null || skip "cannot make device nodes here"
	mknod "$T/dev/zero" c 1 5
	echo x >"$T/dev/file"
	expect 0 haul copy "$T/dev" nas:inbox
	check "$(warnings_of device)" -eq 1
	check "$(ls "$SHARE/dev")" = file
}

@test "a real source tree" {
	pair
	local real=/usr/include
	[ -d "$HAUL_BUILD/mbedtls" ] && real=$HAUL_BUILD/mbedtls
	[ "$SCALE" = full ] || real=$ROOT/engine
	cp -a "$real" "$T/tree"
	there_and_back "$T/tree"
}

@test "directories without write permission arrive with what is in them" {
	pair
	mkdir -p "$T/ro/inner"
	echo one >"$T/ro/inner/one"
	chmod 0555 "$T/ro/inner" "$T/ro"
	there_and_back "$T/ro"
	check "$(stat -c %a "$SHARE/in/ro/inner")" = 555
	chmod 0755 "$T/ro" "$T/ro/inner"
	echo two >"$T/ro/inner/two"
	chmod 0555 "$T/ro/inner" "$T/ro"
	expect 0 haul copy "$T/ro" nas:inbox/in
	same "$T/ro" "$SHARE/in/ro"
}

@test "setuid and setgid bits need the right special" {
	pair
	mkdir "$T/bits"
	echo x >"$T/bits/suid"
	chmod 4755 "$T/bits/suid"
	expect 0 haul copy "$T/bits" nas:inbox
	check "$(stat -c %a "$SHARE/bits/suid")" = 755
}

@test "an empty directory, an empty file, a single link as the source" {
	pair
	mkdir "$T/void"
	: >"$T/nothing"
	ln -s nothing "$T/pointer"
	expect 0 haul copy "$T/void" nas:inbox
	check -d "$SHARE/void"
	expect 0 haul copy "$T/nothing" nas:inbox
	check -f "$SHARE/nothing" -a ! -s "$SHARE/nothing"
	expect 0 haul copy "$T/pointer" nas:inbox
	check "$(readlink "$SHARE/pointer")" = nothing
	expect 0 haul verify "$T/nothing" nas:inbox/nothing
}

@test "changed files only are sent: content, size and time each count" {
	pair
	make_mixed "$T/mixed"
	expect 0 haul copy "$T/mixed" nas:inbox
	printf 'longer than before\n' >"$T/mixed/sub/run.sh"
	touch -d '2020-01-01' "$T/mixed/sizes/size-4096"
	expect 0 haul copy --json "$T/mixed" nas:inbox
	done_is files_sent 2
	same "$T/mixed" "$SHARE/mixed"
}

@test "a change of mode alone arrives without sending content" {
	pair
	make_mixed "$T/mixed"
	expect 0 haul copy "$T/mixed" nas:inbox
	chmod 0640 "$T/mixed/sub/run.sh"
	chmod 0700 "$T/mixed/empty"
	expect 0 haul copy --json "$T/mixed" nas:inbox
	done_is bytes_sent 0
	same "$T/mixed" "$SHARE/mixed"
}

@test "what the destination has beyond the source stays" {
	pair
	make_mixed "$T/mixed"
	mkdir -p "$SHARE/mixed/sub"
	echo mine >"$SHARE/mixed/sub/theirs"
	expect 0 haul copy "$T/mixed" nas:inbox
	check "$(cat "$SHARE/mixed/sub/theirs")" = mine
}

@test "-n says what would happen and changes nothing" {
	pair
	make_mixed "$T/mixed"
	expect 0 haul copy "$T/mixed" nas:inbox
	echo other >"$T/mixed/sub/run.sh"
	echo new >"$T/mixed/added"
	snapshot "$SHARE" >"$T/before"
	expect 0 haul copy -n "$T/mixed" nas:inbox
	snapshot "$SHARE" | diff "$T/before" -
	out_has added run.sh
	out_lacks hello.txt
	no_leftovers "$SHARE"
	expect 0 haul copy -n nas:inbox/mixed "$T/back"
	check ! -e "$T/back"
	out_has hello.txt
}

@test "-v names what it does, -q is silent, the landing comes first" {
	pair
	make_mixed "$T/mixed"
	expect 0 haul copy "$T/mixed" nas:inbox/day1
	head -n 1 "$T/err" | grep -qF "nas:inbox/day1/mixed (new)"
	err_has "every block checked on arrival" "durable"
	check ! -s "$T/out"
	expect 0 haul copy -q "$T/mixed" nas:inbox/day2
	check ! -s "$T/out" -a ! -s "$T/err"
	expect 0 haul copy -v "$T/mixed" nas:inbox/day3
	grep -qF hello.txt "$T/out" "$T/err"
}

@test "the letters that rsync users type change nothing" {
	pair
	make_mixed "$T/mixed"
	expect 0 haul copy -avhP "$T/mixed" nas:inbox
	expect 0 haul copy -rlptgoAXzW "$T/mixed" nas:inbox
	same "$T/mixed" "$SHARE/mixed"
}

@test "list shows peers, shares with rights, entries" {
	pair
	make_mixed "$T/mixed"
	expect 0 haul copy "$T/mixed" nas:inbox
	expect 0 haul list
	out_has nas
	expect 0 haul list nas:
	out_has inbox writer
	expect 0 haul list nas:inbox/mixed
	out_has hello.txt empty dangling
	expect 0 haul list nas:inbox/mixed/hello.txt
	out_has hello.txt
}

# haul move to another file system: copied, proven, then deleted; whatever is not proven stays, and nothing is ever lost.
load lib

setup() {
	test_begin
	things_to_move
}

other_disk() { mount_loop "${1:-ext4}" "${2:-64}" "$T/w/disk"; }
sums() { (cd "$1" && find . -type f -exec sha256sum {} + | sort -k 2); }

@test "move: to another file system: copied, proven, then deleted; directories last" {
	other_disk
	mkdir Footage/empty
	ln -s top Footage/link
	head -c 3000000 /dev/urandom >Footage/big
	sums Footage >"$T/before"
	expect 0 haul move --json Footage disk
	done_is exit 0 files_deleted 3 files_kept 0 durable true verified transfer
	check ! -e Footage
	sums disk/Footage | cmp - "$T/before"
	check -L disk/Footage/link -a -d disk/Footage/empty
	expect 0 haul move file.txt disk/renamed
	check ! -e file.txt -a "$(cat disk/renamed)" = single
}

@test "move: dir/ to another file system empties dir and keeps it; several, one of them by rename" {
	other_disk
	mkdir disk/from
	echo near >disk/near
	expect 0 haul move Footage/ disk/from
	check -d Footage -a -z "$(ls Footage)" -a -f disk/from/day/clip
	expect 0 haul move disk/near file.txt disk/from
	check -f disk/from/near -a -f disk/from/file.txt -a ! -e disk/near -a ! -e file.txt
}

@test "S-13: move: to another file system, what is there already: equal content goes, other content stays, size and time prove nothing" {
	other_disk
	mkdir -p disk/Footage/day
	echo clip >disk/Footage/day/clip
	echo tap >disk/Footage/top
	touch -r Footage/top disk/Footage/top
	expect 3 haul move Footage disk
	err_has "top" "taken"
	check ! -e Footage/day -a "$(cat Footage/top)" = top -a "$(cat disk/Footage/top)" = tap
	expect 0 haul move --on-conflict=replace Footage disk
	check ! -e Footage -a "$(cat disk/Footage/top)" = top
}

@test "move: partly renamed, partly copied: what was renamed is not replaced by what is copied" {
	other_disk
	mkdir x disk/y z
	echo near >x/f
	echo far >disk/y/f
	expect 3 haul move --on-conflict=replace disk/y/ x/ z
	check "$(cat z/f)" = near -a "$(cat disk/y/f)" = far
	mkdir a b
	echo 1 >a/f
	echo 2 >b/f
	expect 3 haul move --on-conflict=replace a/ b/ disk
	check "$(cat disk/f)" = 1 -a ! -e a/f -a "$(cat b/f)" = 2
	ln -s "$T/w/disk/f" b/l
	expect 1 haul move --on-conflict=replace b/l disk/f
	check "$(cat disk/f)" = 1 -a -L b/l
}

@test "move: specials stay and are named, and so does their directory" {
	other_disk
	mkfifo Footage/day/pipe
	expect 3 haul move Footage disk
	err_has "Footage/day/pipe stays"
	check -p Footage/day/pipe -a ! -e Footage/top -a ! -e Footage/day/clip
	check -f disk/Footage/day/clip
}

@test "move: a bind mount of the same directory, the same file by two ways: nothing is deleted" {
	need_root
	mkdir bind
	mount --bind . bind
	MOUNTS+=("$T/w/bind")
	expect '1|3|8' haul move file.txt bind
	expect '1|3|8' haul move file.txt bind/file.txt
	expect '1|3|8' haul move Footage bind
	expect '1|3|8' haul move Footage/ bind/Footage
	expect '1|3|8' haul move --on-conflict=replace Footage bind
	mkdir archive/Footage
	ln Footage/top archive/Footage/top
	expect '3|8' haul move --on-conflict=replace Footage bind/archive
	check "$(cat Footage/top)" = top -a "$(cat archive/Footage/top)" = top
	check -f archive/Footage/day/clip -o -f Footage/day/clip
	check "$(cat file.txt)" = single
}

# overlay: l u work below a tmpfs, seen together as m.
overlay() {
	mount_loop tmpfs 32 "$T/w/o"
	mkdir -p o/l/data/bare o/u/data/empty o/work m
	echo lower >o/l/data/low
	echo precious >o/u/data/f
	mount -t overlay overlay -o "lowerdir=o/l,upperdir=o/u,workdir=o/work" m || skip "cannot mount overlay"
	MOUNTS+=("$T/w/m")
}

@test "move: the source seen through another file system is kept, both ways, also empty directories" {
	need_root
	overlay
	for way in "o/u/data m/" "o/u/data/f m/data" "o/u/data/ m/data" "m/data/f o/u/data" "o/l/data m/" \
		"o/l/data/low m/data/" "o/u/data/empty m/data" "m/data o/u"; do
		expect 3 haul move $way
		err_has "stays" "another file system"
		check "$(cat o/u/data/f)" = precious -a "$(cat m/data/f)" = precious -a "$(cat m/data/low)" = lower
		check -d o/u/data/empty -a -d m/data/empty -a "$(cat o/l/data/low)" = lower -a -d m/data/bare
	done
	check -z "$(find o m -name '.haul-*')"
}

@test "move: what is equal there already is synced there before it is deleted here; unsynced it stays" {
	need_root
	need_tool strace
	other_disk
	cp -r Footage disk/
	ASAN_OPTIONS=detect_leaks=0 expect 3 strace -f -o "$T/trace" -e trace=syncfs -e inject=syncfs:error=EIO \
		"$HAUL" --home "$A" move Footage disk
	err_has "could not be made durable"
	check -f Footage/top -a -f Footage/day/clip
	ASAN_OPTIONS=detect_leaks=0 expect 0 strace -f -o "$T/trace" -e trace=syncfs,unlinkat,renameat2 \
		"$HAUL" --home "$A" move Footage disk
	check ! -e Footage
	check "$(grep -n 'syncfs(' "$T/trace" | head -n 1 | cut -d : -f 1)" -lt \
		"$(grep -n 'renameat2(.*haul-aside' "$T/trace" | head -n 1 | cut -d : -f 1)"
}

@test "move: owner, setuid, extended attributes and ACLs go with what is moved" {
	need_root
	need_tool setfattr setfacl
	other_disk
	mount_loop ext4 32 "$T/w/from"
	mkdir from/d
	for name in owned setuid tagged listed plain; do echo "$name" >"from/d/$name"; done
	chown 1234:1235 from/d/owned
	chmod 4755 from/d/setuid
	setfattr -n user.note -v precious from/d/tagged
	setfacl -m u:1234:rw from/d/listed
	expect 0 haul move from/d disk
	check ! -e from/d
	check "$(stat -c %u:%g disk/d/owned)" = 1234:1235 -a -u disk/d/setuid
	check "$(getfattr --only-values -n user.note disk/d/tagged)" = precious
	getfacl --omit-header -n disk/d/listed | grep -q '^user:1234:rw-$'
}

@test "move: what the destination cannot store keeps its source, and is named" {
	need_root
	need_tool setfattr
	mkdir disk
	mount -t ramfs ramfs disk || skip "cannot mount ramfs"
	MOUNTS=("$T/w/disk" "${MOUNTS[@]}")
	touch probe
	setfattr -n user.note -v precious probe 2>/dev/null || skip "no extended attributes here"
	setfattr -n user.note -v precious Footage/top
	expect 3 haul move Footage disk
	err_has "Footage/top stays" user.note
	check -f Footage/top -a ! -e Footage/day -a -f disk/Footage/day/clip
}

@test "move: names reserved for haul are not copied, and their directories stay and are named" {
	other_disk
	echo mine >Footage/day/.haul-mine
	expect 3 haul move Footage disk
	err_has "Footage/day stays" "reserved for haul"
	check "$(cat Footage/day/.haul-mine)" = mine -a ! -e Footage/day/clip -a -f disk/Footage/day/clip
	mv Footage/day/.haul-mine Footage/.HAUL.mine
	expect 3 haul move Footage disk
	err_has "Footage stays" "reserved for haul"
	check "$(cat Footage/.HAUL.mine)" = mine -a ! -e Footage/day
}

@test "move: a full disk: exit 7, and nothing is deleted" {
	other_disk ext4 8
	head -c 20000000 /dev/urandom >Footage/big
	sums Footage >"$T/before"
	expect 7 haul move Footage disk
	check -f Footage/big
	(cd Footage && sha256sum -c --quiet <(grep big "$T/before"))
}

@test "move: what cannot be deleted at the source stays and is named" {
	need_root
	need_tool chattr
	other_disk
	mount_loop ext4 16 "$T/w/src"
	mkdir src/d
	echo fixed >src/d/fixed
	echo plain >src/d/plain
	chattr +i src/d/fixed
	expect 3 haul move src/d disk
	err_has "src/d/fixed stays"
	check -f src/d/fixed -a ! -e src/d/plain -a "$(cat disk/d/fixed)" = fixed
	chattr -i src/d/fixed
	expect 0 haul move src/d disk
	check ! -e src/d
}

# whole: every file is in the source, or in the destination, with the content it had.
whole() {
	local sum path
	while read -r sum path; do
		[ "$(sha256sum <"src/$path" 2>/dev/null | cut -d ' ' -f 1)" = "$sum" ] ||
			[ "$(sha256sum <"disk/src/$path" 2>/dev/null | cut -d ' ' -f 1)" = "$sum" ] ||
			{ echo "lost: $path"; return 1; }
	done <"$T/before"
}

@test "S-06: move: killed at any time and run again with any option, no file is ever lost" {
	other_disk ext4 200
	mkdir src
	"$MKTREE" small 300 2000 src/small
	for i in 1 2 3; do head -c 5000000 /dev/urandom >"src/big$i"; done
	sums src | sed 's/ \+/ /' >"$T/before"
	options=("" "--on-conflict=replace" "-v" "--on-conflict=fail")
	killed=0
	for round in $(seq 40); do
		[ -e src ] || break
		rc=0
		# the first ones are over before anything can be done, the last ones long enough to end it
		HAUL_HOME=$A timeout -s KILL "$(printf '0.%03d' $((round * 10 + RANDOM % 20 + 10)))" "$HAUL" move ${options[round % 4]} src disk \
			>"$T/out" 2>"$T/err" 3>&- </dev/null || rc=$?
		if [ "$rc" -eq 137 ]; then killed=$((killed + 1)); fi
		if [ $((round % 10)) -eq 0 ]; then whole; fi
	done
	whole
	check "$killed" -ge 1
	if [ -e src ]; then expect 0 haul move src disk; fi
	check ! -e src
	whole
}

@test "move: to another file system, directories in directories go too" {
	other_disk
	mkdir -p src/a/b/c/d src/a/x
	echo f >src/a/b/c/d/f
	expect 0 haul move src disk
	check ! -e src -a -f disk/src/a/b/c/d/f -a -d disk/src/a/x
}

@test "move: an empty name that a dead run has left there to prove directories apart goes with the next" {
	other_disk
	mkdir -p disk/Footage
	: >disk/Footage/.haul-00112233445566778899aabbccddeeff
	echo mine >disk/Footage/.haul-00112233445566778899aabbccddeefe
	expect 0 haul move Footage disk
	check ! -e Footage -a ! -e disk/Footage/.haul-00112233445566778899aabbccddeeff
	check "$(cat disk/Footage/.haul-00112233445566778899aabbccddeefe)" = mine
}

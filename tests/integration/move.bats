# haul move on one machine: where things land, what stays, and that nothing is ever lost.
load lib

setup() {
	test_begin
	A=$T/a
	mkdir "$T/w"
	cd "$T/w"
	mkdir -p Footage/day archive
	echo clip >Footage/day/clip
	echo top >Footage/top
	echo single >file.txt
	ln -s Footage toDir
}

inode() { stat -c %i "$1"; }

@test "move: a file takes a missing name, goes into a directory, makes parents; no home is made" {
	was=$(inode file.txt)
	expect 0 haul move file.txt renamed.txt
	err_has "file.txt -> renamed.txt (new)" "1 entry renamed" "durable"
	check "$(inode renamed.txt)" = "$was"
	expect 0 haul move renamed.txt archive
	check "$(inode archive/renamed.txt)" = "$was"
	expect 0 haul move archive/renamed.txt p/q/last.txt
	err_has "makes p/q"
	expect 0 haul move p/q/last.txt new/
	check "$(cat new/last.txt)" = single
	check ! -e "$A"
}

@test "move: a directory lands inside, by one rename" {
	was=$(inode Footage)
	expect 0 haul move --json Footage archive
	done_is exit 0 entries_renamed 1 durable true files_failed 0
	check "$(inode archive/Footage)" = "$was" -a ! -e Footage
	expect 0 haul move archive/Footage new/deep
	check -f new/deep/Footage/day/clip
	expect 0 haul move --as Cut new/deep/Footage archive
	check -f archive/Cut/top
}

@test "move: dir/ empties dir and keeps it; . does too; a link moves as a link, link/ is what it leads to" {
	expect 0 haul move Footage/ archive
	check -d Footage -a -z "$(ls Footage)" -a -f archive/day/clip -a -f archive/top
	cd archive
	expect 0 haul move . ../Footage
	cd ..
	check -z "$(ls archive)" -a -f Footage/day/clip
	expect 0 haul move toDir/ archive
	check -L toDir -a -z "$(ls Footage)" -a -f archive/top
	expect 0 haul move toDir archive
	err_has "is a link"
	check -L archive/toDir -a -d Footage
}

@test "move: several land in DST; two of one name are refused before anything moves" {
	expect 0 haul move file.txt toDir many
	check -f many/file.txt -a -L many/toDir
	mkdir x y
	echo 1 >x/same
	echo 2 >y/same
	expect 1 haul move x/same y/same archive
	err_has "same name"
	check -f x/same -a -f y/same -a -z "$(ls archive)"
}

@test "move: a taken name fails by default, and both files stay" {
	echo other >archive/file.txt
	expect 3 haul move file.txt toDir archive
	err_has "file.txt stays" "taken" "--on-conflict"
	check "$(cat archive/file.txt)" = other -a "$(cat file.txt)" = single -a -L archive/toDir
}

@test "move: --on-conflict=replace puts it there, =number beside it; a directory is never replaced" {
	echo other >archive/file.txt
	mkdir archive/toDir
	expect 0 haul move --on-conflict=number file.txt archive
	check "$(cat archive/file.txt)" = other -a "$(cat "archive/file 2.txt")" = single
	echo third >file.txt
	expect 0 haul move --on-conflict=number file.txt archive
	check "$(cat "archive/file 3.txt")" = third
	echo new >file.txt
	expect 0 haul move --on-conflict=replace file.txt archive
	check "$(cat archive/file.txt)" = new -a ! -e file.txt
	expect 3 haul move --on-conflict=replace toDir archive
	check -L toDir -a -d archive/toDir
}

@test "move: directories that meet become one; what is in the way stays and is named" {
	mkdir -p archive/Footage/day archive/Footage/old
	echo keep >archive/Footage/day/clip
	echo two >Footage/day/two
	mkdir Footage/new
	expect 3 haul move Footage archive
	err_has "Footage/day/clip stays"
	err_lacks "Footage/day/two"
	check "$(cat archive/Footage/day/clip)" = keep -a "$(cat Footage/day/clip)" = clip
	check -f archive/Footage/day/two -a -f archive/Footage/top -a -d archive/Footage/new -a -d archive/Footage/old
	check "$(find Footage | wc -l)" -eq 3
	rm archive/Footage/day/clip
	expect 0 haul move Footage archive
	check ! -e Footage -a "$(cat archive/Footage/day/clip)" = clip
}

@test "move: onto itself, into itself, onto another name of one inode: refused, and nothing is lost" {
	expect 1 haul move file.txt file.txt
	expect 1 haul move file.txt .
	expect 1 haul move Footage .
	expect 1 haul move Footage Footage
	expect 1 haul move Footage Footage/day
	expect 1 haul move Footage Footage/new/deep
	expect 1 haul move Footage/ Footage/day
	expect 1 haul move Footage/ toDir/day
	expect 1 haul move Footage toDir/x
	expect 1 haul move file.txt Footage Footage/day
	ln file.txt hard.txt
	expect 1 haul move file.txt hard.txt
	expect 1 haul move --on-conflict=replace file.txt hard.txt
	err_has "same file"
	mkdir -p a/a
	expect 1 haul move a/a .
	check "$(cat file.txt)" = single -a "$(cat hard.txt)" = single -a -f Footage/day/clip -a -f Footage/top -a -d a/a
	check ! -e Footage/new
}

@test "move: two names of one inode inside directories that meet: both stay and are named" {
	mkdir -p archive/Footage
	ln Footage/top archive/Footage/top
	expect 3 haul move --on-conflict=replace Footage archive
	err_has "Footage/top stays" "one file under two names" "haul remove"
	check -f Footage/top -a -f archive/Footage/top -a -f archive/Footage/day/clip
}

@test "move: what arrived by the same command is never replaced, nor what it has yet to take; -n says the same" {
	mkdir -p x y/d z q/d p
	echo 1 >x/1
	echo 2 >y/1
	for n in -n ""; do
		expect 3 haul move $n --on-conflict=replace x/ y/ z
		err_has "y/1 stays" "=number"
		err_lacks "=replace or"
	done
	check "$(cat z/1)" = 1 -a "$(cat y/1)" = 2
	expect 0 haul move --on-conflict=replace y/ z
	check "$(cat z/1)" = 2
	mkdir p/d
	echo p >p/d/f
	echo q >q/d/f
	for options in "-n --on-conflict=fail" "-n --on-conflict=replace" --on-conflict=replace; do
		expect 3 haul move $options p/ q/ new
		err_has "q/d/f stays"
	done
	check "$(cat new/d/f)" = p -a "$(cat q/d/f)" = q
	echo z >p/d
	expect 3 haul move --on-conflict=replace p/ q/ new2
	check "$(cat new2/d)" = z -a "$(cat q/d/f)" = q
	mkdir m n
	echo m >m/f.x
	echo n >n/f.x
	expect 0 haul move -n --on-conflict=number m/ n/ new3
	out_has "n/f.x -> new3/f 2.x"
	expect 0 haul move --on-conflict=number m/ n/ new3
	check "$(cat new3/f.x)" = m -a "$(cat "new3/f 2.x")" = n
	mkdir -p r/k s/k
	echo mine >s/k/f
	echo other >r/k/f
	expect 3 haul move --on-conflict=replace r/ s/k/ s
	err_has "r/k/f stays"
	check "$(cat s/f)" = mine -a "$(cat r/k/f)" = other
}

@test "move: a link never takes the place of what it leads to, at the end or on the way" {
	mkdir lt in in/d out out/d
	echo content >lt/f
	ln -s f lt/l
	ln -s l lt/l2
	ln -s ../lt/./l2 in/far
	expect 1 haul move --on-conflict=replace lt/l lt/f
	err_has "one and the same file"
	expect 1 haul move --on-conflict=replace lt/l2 lt/f
	expect 1 haul move --on-conflict=replace lt/l2 lt/l
	expect 1 haul move --on-conflict=replace lt/f lt/l
	expect 1 haul move --on-conflict=replace in/far lt/l
	expect 1 haul move --on-conflict=replace --as f in/far lt
	echo deep >out/d/f
	ln -s ../../out/d/f in/d/f
	for n in -n ""; do
		expect 3 haul move $n --on-conflict=replace in/ out
		err_has "in/d/f stays" "one and the same file"
	done
	check "$(cat lt/f)" = content -a -L lt/l -a -L lt/l2 -a "$(cat out/d/f)" = deep -a -L in/d/f
	echo next >lt/g
	expect 0 haul move --on-conflict=replace lt/l lt/g
	check -L lt/g
}

@test "move: a share of this home, and what holds one, stay; bind mounts do not hide it; its contents may go" {
	need_root
	mkdir -p tree/sub/deep keep/share srv
	echo inside >tree/sub/deep/f
	expect 0 haul share add inbox "$T/w/keep/share"
	expect 9 haul move keep/share archive
	err_has "share of this home" "haul share remove inbox"
	expect 9 haul move file.txt keep archive
	expect 9 haul move keep/ archive
	check -d keep/share -a -f file.txt
	echo x >keep/share/x
	expect 0 haul move keep/share/ archive
	check -d keep/share -a -f archive/x
	mount --bind tree/sub srv
	MOUNTS+=("$T/w/srv")
	expect 0 haul share add bound "$T/w/srv"
	expect 9 haul move tree archive
	expect 9 haul remove tree
	expect 9 haul remove --yes tree/sub
	check -f tree/sub/deep/f
}

@test "move: directories made for nothing go again; names of haul's own stay and are named" {
	need_root
	need_tool chattr
	mount_loop ext4 16 "$T/w/fs"
	mkdir -p fs/d/.haul-x fs/have
	touch fs/d/fixed fs/d/plain
	chattr +i fs/d/fixed
	expect 3 haul move fs/d/fixed fs/have/made/deep/there/
	check -d fs/have -a ! -e fs/have/made
	chattr -i fs/d/fixed
	expect 3 haul move fs/d/ fs/new
	err_has "fs/d/.haul-x stays"
	check -d fs/d/.haul-x -a -f fs/new/plain -a ! -e fs/new/.haul-x
}

@test "move: what the flags of others mean, and what help says" {
	expect 0 haul move -avh file.txt archive
	expect 0 haul remove -r archive
	expect 1 haul remove -rf Footage
	err_has "--yes"
	expect 1 haul move --remove-source-files Footage archive
	err_has "haul move does that"
	check -d Footage
	expect 0 haul help move
	out_has "move --as"
	check -z "$(awk 'length > 80' "$T/out")"
	expect 0 haul help remove
	out_has "share of this home"
	check -z "$(awk 'length > 80' "$T/out")"
}

@test "move: -n says what would be renamed, and changes nothing" {
	echo other >archive/file.txt
	find . | sort >"$T/before"
	expect 3 haul move -n file.txt Footage archive
	out_has "Footage -> archive/Footage"
	err_has "file.txt stays"
	expect 0 haul move -n Footage file.txt new/place
	out_has "Footage -> new/place/Footage" "file.txt -> new/place/file.txt"
	find . | sort | cmp - "$T/before"
}

@test "move: nothing there is 2, one of several 3; a file as DST is refused; --no-sync and --delete are no options" {
	expect 2 haul move none archive
	expect 2 haul move none none2 archive
	expect 3 haul move none file.txt archive
	check -f archive/file.txt
	expect 3 haul move Footage toDir archive/file.txt
	check -d Footage -a -L toDir
	for option in no-sync delete size-only inplace; do
		expect 1 haul move --$option Footage archive
	done
	expect 1 haul move Footage nas:inbox
	expect 1 haul move nas:inbox/x .
	check -d Footage
}

@test "move: odd names, deep trees" {
	"$MKTREE" odd odd
	"$MKTREE" deep 600 deep
	expect 0 haul move odd deep archive
	check -d archive/odd -a -d archive/deep
	mkdir again
	"$MKTREE" odd again/odd
	count=$(find again/odd -type f | wc -l)
	expect 3 haul move again/odd archive
	check "$(find again/odd -type f | wc -l)" -eq "$count"
	"$MKTREE" rm archive/deep
}

@test "move: what may not be renamed stays and is named: immutable, append-only, sticky, read-only" {
	need_root
	need_tool chattr setpriv
	mount_loop ext4 16 "$T/w/fs"
	mkdir fs/d fs/to
	touch fs/d/fixed fs/d/plain fs/log
	chattr +i fs/d/fixed
	chattr +a fs/log
	expect 3 haul move fs/d/fixed fs/d/plain fs/log fs/to
	err_has "fs/d/fixed stays" "fs/log stays"
	check -f fs/d/fixed -a -f fs/log -a -f fs/to/plain
	chattr -i fs/d/fixed
	chattr -a fs/log
	open=$(mktemp -d /tmp/haul-move-XXXXXX)
	mkdir -m 1777 "$open/sticky"
	mkdir -m 777 "$open/to"
	chmod 755 "$open"
	echo theirs >"$open/sticky/f"
	expect 3 setpriv --reuid 65534 --regid 65534 --clear-groups env HAUL_HOME="$open/none" \
		"$HAUL" move "$open/sticky/f" "$open/to"
	check "$(cat "$open/sticky/f")" = theirs
	rm -rf "$open"
	mount -o remount,ro "$T/w/fs"
	expect 3 haul move fs/log fs/d
	check -f fs/log
}

@test "move: a mount point is no source" {
	mount_loop tmpfs 8 "$T/w/mnt"
	echo x >mnt/x
	expect 1 haul move mnt archive
	err_has "mount point"
	check -f mnt/x
}

@test "move: a 2 GB file and a tree of 10,000 files are one rename each" {
	need_tool strace
	truncate -s 2G big
	mkdir many
	(cd many && seq 1 10000 | xargs touch)
	expect 0 haul move big many archive
	check "$(stat -c %s archive/big)" = 2147483648 -a "$(ls archive/many | wc -l)" -eq 10000
	ASAN_OPTIONS=detect_leaks=0 expect 0 strace -f -o "$T/trace" -e trace=renameat2,renameat,rename,unlinkat "$HAUL" move archive/big archive/many .
	check "$(grep -c 'renameat2(' "$T/trace")" -eq 2
	check "$(grep -c 'unlink' "$T/trace")" -eq 0
}

# --- to another file system -----------------------------------------------------------------------------------------

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

@test "move: to another file system, what is there already: equal content goes, other content stays, size and time prove nothing" {
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

@test "move: what a copy does not carry keeps its source: owner, setuid, extended attributes, ACLs" {
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
	expect 3 haul move from/d disk
	err_has "from/d/owned stays: it belongs to 1234:1235" "from/d/tagged stays" user.note "from/d/listed stays" posix_acl
	check -f from/d/owned -a -f from/d/tagged -a -f from/d/listed -a ! -e from/d/plain -a -f disk/d/plain
	check -u from/d/setuid -o -u disk/d/setuid
	chown 1234:1235 disk/d/owned
	setfattr -n user.note -v precious disk/d/tagged
	getfacl --omit-header from/d/listed >"$T/acl"
	setfacl --set-file="$T/acl" disk/d/listed
	expect '0|3' haul move from/d disk
	check ! -e from/d/owned -a ! -e from/d/tagged -a ! -e from/d/listed
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

@test "move: killed at any time and run again with any option, no file is ever lost" {
	other_disk ext4 200
	mkdir src
	"$MKTREE" small 300 2000 src/small
	for i in 1 2 3; do head -c 5000000 /dev/urandom >"src/big$i"; done
	sums src | sed 's/ \+/ /' >"$T/before"
	options=("" "--on-conflict=replace" "-v" "--on-conflict=fail")
	for round in $(seq 40); do
		[ -e src ] || break
		HAUL_HOME=$A timeout -s KILL "0.$((RANDOM % 450 + 50))" "$HAUL" move ${options[round % 4]} src disk \
			>"$T/out" 2>"$T/err" 3>&- </dev/null || true
		if [ $((round % 10)) -eq 0 ]; then whole; fi
	done
	whole
	if [ -e src ]; then expect 0 haul move src disk; fi
	check ! -e src
	whole
}

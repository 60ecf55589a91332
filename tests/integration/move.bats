# haul move on one machine: where things land, what stays, and that nothing is ever lost.
load lib

setup() {
	test_begin
	things_to_move
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

@test "move: what may not be renamed stays and is named: immutable, append-only, read-only" {
	need_root
	need_tool chattr
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
	mount -o remount,ro "$T/w/fs"
	expect 3 haul move fs/log fs/d
	check -f fs/log
}

@test "move: what a sticky directory keeps from others stays and is named" {
	test_in_the_open
	need_user
	mkdir -m 1777 "$T/sticky"
	mkdir -m 777 "$T/to"
	echo theirs >"$T/sticky/f"
	HAUL_HOME=$T/none expect 3 as_user "$HAUL" move "$T/sticky/f" "$T/to"
	err_has "$T/sticky/f"
	check "$(cat "$T/sticky/f")" = theirs
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

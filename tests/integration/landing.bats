# Where things land: CLI.md's table row by row, pushing and pulling. A user who knows cp, scp or rsync is never surprised
# by the second run.
load lib
load trees

setup() {
	test_begin
	pair
	mkdir -p "$T/src/Footage/day" "$T/other"
	echo clip >"$T/src/Footage/day/clip"
	echo top >"$T/src/Footage/top"
	echo single >"$T/src/file.txt"
	echo second >"$T/other/second.txt"
	ln -s Footage "$T/src/toDir"
	ln -s file.txt "$T/src/toFile"
	# The same on the other side, as sources of a pull.
	mkdir "$SHARE/src"
	cp -a "$T/src/." "$SHARE/src/"
	HERE=$T/here
	mkdir "$HERE"
	cd "$T/src"
}

@test "push: file onto a missing name takes that name" {
	expect 0 haul copy file.txt nas:inbox/renamed.txt
	check "$(cat "$SHARE/renamed.txt")" = single
	err_has "file.txt -> nas:inbox/renamed.txt (new)"
}

@test "push: file to a name written with a slash, to an existing directory, to the share" {
	expect 0 haul copy file.txt nas:inbox/new/
	check "$(cat "$SHARE/new/file.txt")" = single
	expect 0 haul copy file.txt nas:inbox/new
	check "$(find "$SHARE/new" -type f | wc -l)" -eq 1
	expect 0 haul copy file.txt nas:inbox
	check "$(cat "$SHARE/file.txt")" = single
}

@test "push: file below missing parents, which are made and named" {
	expect 0 haul copy file.txt nas:inbox/p/q/file2.txt
	check "$(cat "$SHARE/p/q/file2.txt")" = single
	err_has "nas:inbox/p/q"
}

@test "push: dir lands inside, missing or not, twice the same" {
	expect 0 haul copy Footage nas:inbox/day1
	check -f "$SHARE/day1/Footage/day/clip"
	err_has "Footage -> nas:inbox/day1/Footage (new)"
	expect 0 haul copy Footage nas:inbox/day1
	check ! -e "$SHARE/day1/Footage/Footage"
	same Footage "$SHARE/day1/Footage"
	check "$(find "$SHARE/day1" -type f | wc -l)" -eq 2
}

@test "push: dir/ and . put the contents there" {
	expect 0 haul copy Footage/ nas:inbox/flat
	check -f "$SHARE/flat/day/clip" -a ! -e "$SHARE/flat/Footage"
	cd Footage
	expect 0 haul copy . nas:inbox/dot
	check -f "$SHARE/dot/day/clip" -a ! -e "$SHARE/dot/Footage"
	cd day
	expect 0 haul copy .. nas:inbox/dotdot
	check -f "$SHARE/dotdot/day/clip"
	expect 0 haul copy ../../Footage/ nas:inbox/flat
	check "$(find "$SHARE/flat" -type f | wc -l)" -eq 2
}

@test "push: several land in the target, which is made" {
	expect 0 haul copy file.txt Footage "$T/other/second.txt" nas:inbox/many
	check -f "$SHARE/many/file.txt" -a -f "$SHARE/many/Footage/day/clip" -a -f "$SHARE/many/second.txt"
}

@test "push: a link lands as a link with a note; link/ and -L follow" {
	expect 0 haul copy toDir nas:inbox
	check "$(readlink "$SHARE/toDir")" = Footage
	grep -i link "$T/err"
	expect 0 haul copy toFile nas:inbox
	check "$(readlink "$SHARE/toFile")" = file.txt
	expect 0 haul copy toDir/ nas:inbox/followed
	check -f "$SHARE/followed/day/clip" -a ! -L "$SHARE/followed"
	expect 0 haul copy -L toFile nas:inbox/L/
	check -f "$SHARE/L/toFile" -a ! -L "$SHARE/L/toFile"
	check "$(cat "$SHARE/L/toFile")" = single
}

@test "push: --as renames a single source" {
	expect 0 haul copy --as Renamed Footage nas:inbox
	check -f "$SHARE/Renamed/day/clip" -a ! -e "$SHARE/Footage"
	expect 0 haul copy --as other.txt file.txt nas:inbox
	check "$(cat "$SHARE/other.txt")" = single
	expect 1 haul copy --as x file.txt Footage nas:inbox
	expect 1 haul copy --as a/b file.txt nas:inbox
	expect 1 haul copy --as .. file.txt nas:inbox
}

@test "push: two sources with one landing name are refused, both named, nothing written" {
	mkdir "$T/other/Footage"
	snapshot "$SHARE" >"$T/before"
	expect 1 haul copy Footage "$T/other/Footage" nas:inbox/twice
	err_has "$T/other/Footage" --as
	snapshot "$SHARE" | diff "$T/before" -
}

@test "push: where contents merge, a second file for a taken name is not written and is named" {
	mkdir "$T/m1" "$T/m2"
	echo one >"$T/m1/same"
	echo two >"$T/m2/same"
	echo only >"$T/m2/only"
	expect 3 haul copy "$T/m1/" "$T/m2/" nas:inbox/merged
	check "$(cat "$SHARE/merged/same")" = one
	check "$(cat "$SHARE/merged/only")" = only
	err_has same
}

@test "pull: file onto a missing name, a directory, a name with slash, missing parents" {
	expect 0 haul copy nas:inbox/src/file.txt "$HERE/renamed.txt"
	check "$(cat "$HERE/renamed.txt")" = single
	expect 0 haul copy nas:inbox/src/file.txt "$HERE"
	check "$(cat "$HERE/file.txt")" = single
	expect 0 haul copy nas:inbox/src/file.txt "$HERE/new/"
	check "$(cat "$HERE/new/file.txt")" = single
	expect 0 haul copy nas:inbox/src/file.txt "$HERE/p/q/file2.txt"
	check "$(cat "$HERE/p/q/file2.txt")" = single
}

@test "pull: dir lands inside, dir/ and the bare share put contents" {
	expect 0 haul copy nas:inbox/src/Footage "$HERE/day1"
	check -f "$HERE/day1/Footage/day/clip"
	expect 0 haul copy nas:inbox/src/Footage "$HERE/day1"
	check ! -e "$HERE/day1/Footage/Footage"
	expect 0 haul copy nas:inbox/src/Footage/ "$HERE/flat"
	check -f "$HERE/flat/day/clip"
	expect 0 haul copy nas:inbox "$HERE/all"
	check -f "$HERE/all/src/Footage/day/clip"
	cd "$HERE"
	mkdir dot
	cd dot
	expect 0 haul copy nas:inbox/src/Footage/ .
	check -f "$HERE/dot/day/clip"
}

@test "pull: several of one peer, links, --as" {
	expect 0 haul copy nas:inbox/src/file.txt nas:inbox/src/Footage "$HERE/many"
	check -f "$HERE/many/file.txt" -a -f "$HERE/many/Footage/day/clip"
	expect 0 haul copy nas:inbox/src/toDir "$HERE"
	check "$(readlink "$HERE/toDir")" = Footage
	expect 0 haul copy --as Renamed nas:inbox/src/Footage "$HERE"
	check -f "$HERE/Renamed/day/clip"
}

@test "pull: where contents merge, the second file for a taken name is named" {
	mkdir "$SHARE/m1" "$SHARE/m2"
	echo one >"$SHARE/m1/same"
	echo two >"$SHARE/m2/same"
	expect 3 haul copy nas:inbox/m1/ nas:inbox/m2/ "$HERE/merged"
	check "$(cat "$HERE/merged/same")" = one
	err_has same
}

@test "by address instead of name" {
	expect 0 haul copy Footage "haul://127.0.0.1:$AGENT_PORT/inbox/addr"
	check -f "$SHARE/addr/Footage/day/clip"
	expect 0 haul copy "haul://127.0.0.1:$AGENT_PORT/inbox/addr/Footage" "$HERE"
	same Footage "$HERE/Footage"
}

@test "./ makes a name with a colon local, a double slash is one" {
	echo reel >./A001:C003.mov
	expect 0 haul copy ./A001:C003.mov nas:inbox
	check "$(cat "$SHARE/A001:C003.mov")" = reel
	expect 0 haul copy "$T//src//file.txt" nas:inbox/ds/
	check "$(cat "$SHARE/ds/file.txt")" = single
}

@test "names that begin with a dash go after --" {
	echo dash >./-n
	expect 0 haul copy -- -n nas:inbox/dash/
	check "$(cat "$SHARE/dash/-n")" = dash
}

@test "where contents merge, the file that is not written is the one that is named" {
	mkdir -p "$T/x" "$T/y"
	echo x >"$T/x/1"
	echo y >"$T/y/1"
	for dst in "$T/z" nas:inbox/z; do
		rm -f "$T/failed"
		expect 3 haul copy --json --failed-to "$T/failed" "$T/x/" "$T/y/" "$dst"
		err_has "$T/y/1 is not written" "--as NAME"
		err_lacks "$T/x/1"
		check "$(jq -r 'select(.event == "error").path' "$T/out")" = "$T/y/1"
		check "$(tr '\0' '\n' <"$T/failed")" = "$T/y/1"
	done
	check "$(cat "$T/z/1")" = x
	mkdir "$SHARE/x" "$SHARE/y"
	cp "$T/x/1" "$SHARE/x"
	cp "$T/y/1" "$SHARE/y"
	expect 3 haul copy nas:inbox/x/ nas:inbox/y/ "$T/back"
	err_has "is not written"
	check "$(cat "$T/back/1")" = x
}

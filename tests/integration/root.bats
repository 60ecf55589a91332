# The directory whose contents are copied: what it has itself.
load lib
load trees

make_source() {
	mkdir -p "$T/from/sub"
	echo one >"$T/from/file"
	echo two >"$T/from/sub/file"
	setfattr -n user.note -v 'of the top' "$T/from"
	chmod 0750 "$T/from"
	touch -d 2001-02-03T04:05:06.123456789 "$T/from/sub" "$T/from"
}

# What rsync would still change in a replica: nothing.
is_replica() {
	need_tool rsync
	diff=$(rsync -aAXnci --delete "$1/" "$2/")
	check "$diff" = ""
}

# Mode, time and attributes, in one line.
top_of() { echo "$(stat -c '%a %y' "$1") $(getfattr --absolute-names -d "$1" | grep user.)"; }

@test "copy of contents: a destination that it makes gets what the directory has; push, pull, within the machine" {
	pair full
	make_source
	expect 0 haul copy "$T/from/" nas:inbox/new
	is_replica "$T/from" "$SHARE/new"
	expect 0 haul copy nas:inbox/new/ "$T/back"
	is_replica "$T/from" "$T/back"
	expect 0 haul copy "$T/from/" "$T/here"
	is_replica "$T/from" "$T/here"
	no_leftovers "$SHARE"
	check ! -e "$T/here/.haul"
}

@test "copy of contents: a destination that was there stays what it is" {
	pair full
	make_source
	mkdir "$SHARE/old" "$T/old"
	chmod 0711 "$SHARE/old" "$T/old"
	expect 0 haul copy "$T/from/" nas:inbox/old
	check "$(stat -c %a "$SHARE/old")" = 711
	expect 0 haul copy "$T/from/" "$T/old"
	check "$(stat -c %a "$T/old")" = 711
	check "$(top_of "$T/old")" != "$(top_of "$T/from")"
}

@test "sync of contents: the destination follows its source, also when something is deleted in it" {
	pair full
	make_source
	mkdir "$SHARE/old" "$T/old"
	touch "$SHARE/old/surplus" "$T/old/surplus"
	expect 0 haul sync -n -i "$T/from/" nas:inbox/old
	out_has ".d..tp....x ./" "*deleting   surplus"
	expect 0 haul sync -i "$T/from/" nas:inbox/old
	out_has ".d..tp....x ./" "*deleting   surplus"
	is_replica "$T/from" "$SHARE/old"
	expect 0 haul sync "$T/from/" "$T/old"
	is_replica "$T/from" "$T/old"
	expect 0 haul sync -i "$T/from/" nas:inbox/old
	out_lacks "./"
	touch -d 2005-05-05 "$T/from"
	expect 0 haul sync nas:inbox/old/ "$T/from"
	check "$(top_of "$T/from")" = "$(top_of "$SHARE/old")"
}

@test "a share's top is its owner's, whatever is synced to it" {
	pair full
	make_source
	before=$(stat -c '%a %u' "$SHARE")
	expect 0 haul sync "$T/from/" nas:inbox/ --nest
	check "$(stat -c '%a %u' "$SHARE")" = "$before"
	check "$(cat "$SHARE/sub/file")" = two
}

@test "an empty source is still refused, and several sources have no top of their own" {
	pair full
	make_source
	mkdir "$T/empty" "$T/more"
	echo three >"$T/more/three"
	expect 0 haul copy "$T/from/" "$T/more/" nas:inbox/both
	check "$(stat -c %a "$SHARE/both")" != 750
	expect 9 haul sync "$T/empty/" nas:inbox/both
	check "$(cat "$SHARE/both/three")" = three
}

@test "without the right to change what was there the top stays, and is no fault" {
	pair list,read,create,overwrite,delete
	make_source
	mkdir "$SHARE/old"
	chmod 0711 "$SHARE/old"
	expect 0 haul sync "$T/from/" nas:inbox/old
	check "$(stat -c %a "$SHARE/old")" = 711
	expect 0 haul copy "$T/from/" nas:inbox/new
	check "$(stat -c %a "$SHARE/new")" = 750
}

@test "a directory that nobody may write to: its copy is like it, with nothing of haul's in it, also the second time" {
	test_in_the_open
	need_user
	mkdir -p "$T/from/sub"
	echo one >"$T/from/sub/file"
	chmod 0555 "$T/from/sub" "$T/from"
	chown -R 1234:1234 "$T"
	A=$T/home
	expect 0 as_user env HAUL_HOME="$A" "$HAUL" copy "$T/from/" "$T/to"
	check "$(ls -A "$T/to")" = sub
	is_replica "$T/from" "$T/to"
	chmod u+w "$T/from"
	as_user sh -c "echo two >$T/from/two"
	chmod 0555 "$T/from"
	expect 0 as_user env HAUL_HOME="$A" "$HAUL" sync "$T/from/" "$T/to"
	check "$(ls -A "$T/to" | tr '\n' ' ')" = "sub two "
	is_replica "$T/from" "$T/to"
}

@test "who only looks at a directory that nobody may write to changes nothing of it" {
	test_in_the_open
	need_user
	mkdir "$T/from" "$T/to"
	echo one >"$T/from/file"
	chmod 0555 "$T/to"
	chown -R 1234:1234 "$T"
	A=$T/home
	before=$(stat -c '%a %z' "$T/to")
	expect 0 as_user env HAUL_HOME="$A" "$HAUL" copy -n "$T/from/" "$T/to"
	expect 0 as_user env HAUL_HOME="$A" "$HAUL" list --partials "$T/to"
	expect 0 as_user env HAUL_HOME="$A" "$HAUL" verify "$T/to" "$T/to/"
	check "$(stat -c '%a %z' "$T/to")" = "$before"
}

@test "the contents move, and the directory stays as it was" {
	pair full
	make_source
	expect 0 haul move "$T/from/" nas:inbox/moved
	check "$(ls -A "$T/from")" = ""
	check "$(stat -c %a "$T/from")" = 750
}

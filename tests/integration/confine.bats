# Nothing lands, and nothing is read, outside the share; and the layouts that users really have keep working.
load lib
load trees

setup() {
	test_begin
	pair
	mkdir -p "$T/outside/sub" "$T/src/dir/sub"
	echo canary >"$T/outside/canary"
	echo canary >"$T/outside/sub/file"
	echo new >"$T/src/dir/sub/file"
	echo new >"$T/src/dir/other"
	snapshot "$T/outside" >"$T/outside.before"
}

outside_untouched() { snapshot "$T/outside" | diff "$T/outside.before" -; }

@test "a directory of the destination replaced by a link to the outside" {
	mkdir "$SHARE/dir"
	ln -s "$T/outside/sub" "$SHARE/dir/sub"
	expect 3 haul copy "$T/src/dir" nas:inbox
	err_has sub
	outside_untouched
	check "$(cat "$SHARE/dir/other")" = new
	rm -rf "$SHARE/dir"
	ln -s "$T/outside" "$SHARE/dir"
	expect "2|3|6" haul copy "$T/src/dir" nas:inbox
	outside_untouched
}

@test "a target path that goes through a link" {
	ln -s "$T/outside" "$SHARE/way"
	expect "2|3|6" haul copy "$T/src/dir/" nas:inbox/way
	outside_untouched
	expect "2|3|6" haul copy "$T/src/dir" nas:inbox/way/sub
	outside_untouched
}

@test "D-09: a file of the destination that is a link is replaced, not followed" {
	mkdir "$SHARE/dir"
	ln -s "$T/outside/canary" "$SHARE/dir/other"
	expect "0|3" haul copy "$T/src/dir" nas:inbox
	outside_untouched
	check "$(cat "$T/outside/canary")" = canary
}

@test "reading through a link gives nothing" {
	ln -s "$T/outside" "$SHARE/way"
	expect "2|3|6" haul copy nas:inbox/way/canary "$T/back"
	check ! -e "$T/back"
	expect "2|3|6" haul list nas:inbox/way/sub
	out_lacks file
	expect "2|3|6" haul verify nas:inbox/way/sub "$T/outside/sub"
}

@test "dots in a remote path are refused before anything is sent" {
	expect "1|2" haul copy nas:inbox/../outside/canary "$T/back"
	expect "1|2" haul copy "$T/src/dir" nas:inbox/../outside
	expect "1|2" haul copy "$T/src/dir" "haul://127.0.0.1:$AGENT_PORT/inbox/../../outside"
	outside_untouched
	check ! -e "$T/back"
}

@test "reserved names are not accepted" {
	mkdir -p "$T/src/evil/.haul"
	echo x >"$T/src/evil/.haul/file"
	echo y >"$T/src/evil/fine"
	expect "0|3" haul copy "$T/src/evil" nas:inbox
	check "$(cat "$SHARE/evil/fine")" = y
	check ! -e "$SHARE/evil/.haul/file"
	expect "1|2|3|6" haul copy "$T/src/dir" nas:inbox/.haul/x
	check ! -e "$SHARE/.haul/x"
}

# swap_while DIRECTORY: it and a link to the outside change places all the time.
swap_while() {
	ln -s "$T/outside" "$T/decoy"
	"$SWAP" "$1" "$T/decoy" 2>"$T/swap.log" 3>&- 4>&- &
	OTHERS+=($!)
}

@test "a directory that turns into a link and back while files arrive" {
	local i
	"$MKTREE" small 400 3000 "$T/src/many"
	mkdir "$SHARE/many"
	swap_while "$SHARE/many"
	for i in 1 2 3 4 5; do
		find "$T/src/many" -type f -exec touch -d "2020-01-0$i" {} +
		expect "0|2|3|6|8" haul copy "$T/src/many" nas:inbox
		outside_untouched
		expect "0|2|3|6|8" haul copy "$T/src/many/" nas:inbox/many
		outside_untouched
	done
	check ! -s "$T/swap.log"
}

@test "a directory that turns into a link and back while it is read: nothing of the outside is sent" {
	local i
	"$MKTREE" small 400 3000 "$SHARE/many"
	swap_while "$SHARE/many"
	for i in 1 2 3 4 5; do
		expect "0|2|3|5|6|8" haul copy nas:inbox/many "$T/here$i/"
		check -z "$(find "$T/here$i" -name canary 2>/dev/null)"
	done
	check ! -s "$T/swap.log"
}

@test "the same at a local destination: what the peer names cannot leave it" {
	mkdir "$SHARE/tree"
	cp -a "$T/src/dir" "$SHARE/tree/dir"
	mkdir -p "$T/here/tree/dir"
	ln -s "$T/outside/sub" "$T/here/tree/dir/sub"
	expect 3 haul copy nas:inbox/tree "$T/here"
	outside_untouched
	check "$(cat "$T/here/tree/dir/other")" = new
}

@test "twin: a share whose own path goes through a link works" {
	mkdir -p "$T/disk/real"
	ln -s disk/real "$T/alias"
	expect 0 haul_b share add linked "$T/alias"
	expect 0 haul_b peer allow edit1 linked=writer
	expect 0 haul copy "$T/src/dir" nas:linked
	same "$T/src/dir" "$T/disk/real/dir"
	expect 0 haul copy nas:linked/dir "$T/back"
}

@test "twin: a local destination and source whose paths go through links work" {
	mkdir -p "$T/disk/real"
	ln -s disk/real "$T/alias"
	cp -a "$T/src/dir" "$T/disk/real/dir"
	expect 0 haul copy "$T/alias/dir" nas:inbox
	same "$T/src/dir" "$SHARE/dir"
	expect 0 haul copy nas:inbox/dir "$T/alias/back/"
	same "$T/src/dir" "$T/disk/real/back/dir"
}

@test "twin: links inside the share that point inside travel and stay links" {
	mkdir "$T/src/links"
	ln -s ../dir "$T/src/links/up"
	ln -s /etc/hostname "$T/src/links/absolute"
	expect 0 haul copy "$T/src/links" nas:inbox
	check "$(readlink "$SHARE/links/up")" = ../dir
	check "$(readlink "$SHARE/links/absolute")" = /etc/hostname
}

@test "D-18: twin: another file system mounted inside the share is written" {
	mkdir "$SHARE/disk2"
	mount_loop tmpfs 32 "$SHARE/disk2"
	expect 0 haul copy "$T/src/dir" nas:inbox/disk2
	same "$T/src/dir" "$SHARE/disk2/dir"
	expect 0 haul copy "$T/src" nas:inbox/
	no_leftovers "$SHARE"
}

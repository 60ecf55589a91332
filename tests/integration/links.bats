# -L: links stand for what they lead to, as with rsync -L. What cannot be followed is named, the rest arrives, and no
# loop is walked twice. A peer resolves only what stays in its share.
load lib
load trees

setup() {
	test_begin
	pair
	mkdir -p "$T/outer/deep" "$T/src/one" "$T/src/two" "$T/here"
	echo outside >"$T/outer/deep/file"
	head -c 3000000 /dev/urandom >"$T/outer/big"
	echo first >"$T/src/one/a"
	head -c 2500000 /dev/urandom >"$T/src/two/b"
	touch -d '2003-03-03 03:03:03.333333333' "$T/src/one/a"
}

# The same tree, followed by somebody else.
followed() { cp -aL "$1" "$2"; }

@test "push -L: nested links to files and directories, inside and outside the tree" {
	ln -s ../../outer/deep "$T/src/one/toDeep"
	ln -s "$T/outer/big" "$T/src/two/toBig"
	ln -s ../one "$T/src/two/toOne"
	ln -s toOne/a "$T/src/two/toA"
	ln -s two "$T/src/chain1"
	ln -s chain1 "$T/src/chain2"
	followed "$T/src" "$T/want"
	expect 0 haul copy -L "$T/src" nas:inbox
	check -z "$(find "$SHARE/src" -type l)"
	same "$T/want" "$SHARE/src"
	err_lacks "is a link"
	# The second time nothing is sent; without -L links are links.
	expect 0 haul copy -L --json "$T/src" nas:inbox
	done_is files_sent 0 files_failed 0
	expect 0 haul verify -L "$T/src" nas:inbox/src
	expect 0 haul copy "$T/src" nas:inbox/plain
	check "$(readlink "$SHARE/plain/src/chain2")" = chain1
}

@test "push -L: the source itself is a link" {
	ln -s src "$T/toSrc"
	ln -s toSrc "$T/again"
	ln -s src/one/a "$T/toA"
	expect 0 haul copy -L "$T/again" "$T/toA" nas:inbox/named
	same "$T/src" "$SHARE/named/again"
	check "$(cat "$SHARE/named/toA")" = first
	check ! -L "$SHARE/named/toA"
	expect 0 haul copy -L "$T/again/" nas:inbox/contents
	same "$T/src" "$SHARE/contents" --no-times
	ln -s nothing "$T/dangling"
	expect 2 haul copy -L "$T/dangling" nas:inbox/none
	err_has dangling nowhere
	expect 3 haul copy -L "$T/dangling" "$T/toA" nas:inbox/some
	check "$(cat "$SHARE/some/toA")" = first
}

@test "push -L: dangling links and circles are named, exit 3, the rest arrives" {
	ln -s nothing "$T/src/one/dangling"
	ln -s y "$T/src/x"
	ln -s x "$T/src/y"
	expect 3 haul copy -L "$T/src" nas:inbox
	err_has one/dangling src/x src/y
	check "$(grep -c 'leads nowhere' "$T/err")" -eq 1
	check "$(cat "$SHARE/src/one/a")" = first
	check ! -e "$SHARE/src/one/dangling" -a ! -L "$SHARE/src/one/dangling"
}

@test "push -L: links to parents end in seconds, each named once" {
	ln -s .. "$T/src/one/up"
	ln -s ../.. "$T/src/two/upup"
	ln -s ../two "$T/src/two/self"
	LIMIT=20 expect 3 haul copy -L "$T/src" nas:inbox
	check "$(grep -c 'src/one/up:' "$T/err")" -eq 1
	check "$(grep -c 'src/two/self:' "$T/err")" -eq 1
	check "$(cat "$SHARE/src/one/a")" = first
	# A link above the top is followed until the tree would begin again.
	check -f "$SHARE/src/two/upup/outer/deep/file"
	check ! -e "$SHARE/src/two/upup/src"
}

@test "pull -L: what stays in the share is followed, what leads out is named and never read" {
	cp -a "$T/src" "$SHARE/src"
	mkdir "$SHARE/store"
	echo stored >"$SHARE/store/s"
	head -c 2200000 /dev/urandom >"$SHARE/store/big"
	ln -s ../store "$SHARE/src/toStore"
	ln -s ../../store/s "$SHARE/src/one/toS"
	ln -s src "$SHARE/toSrc"
	followed "$SHARE/src" "$T/want"
	expect 0 haul copy -L nas:inbox/src "$T/here"
	same "$T/want" "$T/here/src"
	check -z "$(find "$T/here" -type l)"
	expect 0 haul copy -L nas:inbox/toSrc "$T/here"
	same "$T/want" "$T/here/toSrc"
	expect 0 haul copy -L nas:inbox/toSrc/ "$T/here/contents"
	same "$T/want" "$T/here/contents" --no-times
	ln -s "$T/outer/deep/file" "$SHARE/src/one/absolute"
	ln -s ../../outer "$SHARE/src/leaves"
	ln -s gone "$SHARE/src/two/dangling"
	ln -s .. "$SHARE/src/two/up"
	rm -rf "$T/here/src"
	LIMIT=20 expect 3 haul copy -L nas:inbox/src "$T/here"
	err_has src/one/absolute src/leaves src/two/dangling src/two/up
	check "$(grep -c 'leads out of the share' "$T/err")" -eq 2
	check "$(grep -c '^nas:inbox/src: \|nas:inbox/src/one: ' "$T/err")" -eq 0
	check ! -e "$T/here/src/leaves" -a ! -e "$T/here/src/one/absolute"
	check "$(cat "$T/here/src/one/toS")" = stored
	check -z "$(grep -rl outside "$T/here" || true)"
	expect 3 haul copy -L nas:inbox/src/one/absolute "$T/here"
	check ! -e "$T/here/absolute"
}

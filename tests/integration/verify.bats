# verify says the truth about two trees, and copy -c repairs what it found.
load lib
load trees

setup() {
	test_begin
	pair
	make_mixed "$T/mixed"
	"$MKTREE" big 9000000 "$T/mixed/large"
	expect 0 haul copy "$T/mixed" nas:inbox
}

@test "equal trees: exit 0, nothing changed on either side" {
	snapshot "$T/mixed" >"$T/one"
	snapshot "$SHARE" >"$T/two"
	expect 0 haul verify "$T/mixed" nas:inbox/mixed
	expect 0 haul verify nas:inbox/mixed "$T/mixed"
	snapshot "$T/mixed" | diff "$T/one" -
	snapshot "$SHARE" | diff "$T/two" -
}

@test "one byte flipped at the destination: named with its offset, repaired by -c alone" {
	flip "$SHARE/mixed/large" 5555555
	expect 0 haul copy --json "$T/mixed" nas:inbox
	done_is files_sent 0
	expect 4 haul verify "$T/mixed" nas:inbox/mixed
	offset_named 5555555 large
	err_lacks hello.txt
	expect 0 haul copy -c --json "$T/mixed" nas:inbox
	done_is files_sent 1 exit 0
	same "$T/mixed" "$SHARE/mixed"
	expect 0 haul verify "$T/mixed" nas:inbox/mixed
}

@test "one byte flipped at the source: named, repaired by -c" {
	flip "$T/mixed/large" 3
	expect 4 haul verify "$T/mixed" nas:inbox/mixed
	offset_named 3 large
	expect 0 haul copy -c "$T/mixed" nas:inbox
	same "$T/mixed" "$SHARE/mixed"
}

@test "the same in the other direction" {
	expect 0 haul copy nas:inbox/mixed/ "$T/back"
	flip "$T/back/large" 8999999
	expect 4 haul verify nas:inbox/mixed "$T/back"
	offset_named 8999999 large
	expect 0 haul copy -c nas:inbox/mixed/ "$T/back"
	same "$T/mixed" "$T/back"
	expect 0 haul verify nas:inbox/mixed "$T/back"
}

@test "-c with nothing wrong sends nothing" {
	expect 0 haul copy -c --json "$T/mixed" nas:inbox
	done_is files_sent 0 bytes_sent 0
}

@test "missing at the destination: exit 4, named" {
	rm "$SHARE/mixed/sub/run.sh"
	expect 4 haul verify "$T/mixed" nas:inbox/mixed
	grep -qF run.sh "$T/out" "$T/err"
}

@test "another size: exit 4" {
	printf x >>"$SHARE/mixed/sub/run.sh"
	expect 4 haul verify "$T/mixed" nas:inbox/mixed
	grep -qF run.sh "$T/out" "$T/err"
}

@test "another kind, another link target: exit 4" {
	rm "$SHARE/mixed/sub/link"
	ln -s elsewhere "$SHARE/mixed/sub/link"
	expect 4 haul verify "$T/mixed" nas:inbox/mixed
	grep -qF link "$T/out" "$T/err"
	rm "$SHARE/mixed/sub/link"
	mkdir "$SHARE/mixed/sub/link"
	expect 4 haul verify "$T/mixed" nas:inbox/mixed
}

@test "only at the destination: listed, exit 0; --exact 4" {
	echo more >"$SHARE/mixed/surplus"
	expect 0 haul verify "$T/mixed" nas:inbox/mixed
	grep -qx 'only at the destination: surplus' "$T/out" "$T/err"
	expect 4 haul verify --exact "$T/mixed" nas:inbox/mixed
}

@test "only at the destination, with a path of more than 700 bytes: named whole" {
	local name long
	name=$(printf 'n%.0s' $(seq 240))
	long=$name/$name/$name
	mkdir -p "$SHARE/mixed/${long%/*}" "$T/mixed/${long%/*}"
	echo more >"$SHARE/mixed/$long"
	expect 0 haul verify "$T/mixed" nas:inbox/mixed
	grep -qxF "only at the destination: $long" "$T/out" "$T/err"
}

@test "modes and times that differ: listed, exit 0; --exact 4" {
	chmod 0600 "$SHARE/mixed/sub/run.sh"
	expect 0 haul verify "$T/mixed" nas:inbox/mixed
	grep -qF run.sh "$T/out" "$T/err"
	expect 4 haul verify --exact "$T/mixed" nas:inbox/mixed
	chmod 0755 "$SHARE/mixed/sub/run.sh"
	touch -d '2015-05-05' "$SHARE/mixed/sub/run.sh"
	expect 0 haul verify "$T/mixed" nas:inbox/mixed
	grep -qF run.sh "$T/out" "$T/err"
	expect 4 haul verify --exact "$T/mixed" nas:inbox/mixed
}

@test "the slash rule does not apply, a wrong level is guessed" {
	expect 0 haul verify "$T/mixed/" nas:inbox/mixed
	expect 2 haul verify "$T/mixed" nas:inbox
	err_has "did you mean nas:inbox/mixed ?"
}

@test "a single file" {
	expect 0 haul verify "$T/mixed/large" nas:inbox/mixed/large
	flip "$SHARE/mixed/large" 0
	expect 4 haul verify "$T/mixed/large" nas:inbox/mixed/large
	offset_named 0 large
}

@test "the first of several flipped bytes is the one named" {
	flip "$SHARE/mixed/large" 7000000
	flip "$SHARE/mixed/large" 2100000
	expect 4 haul verify "$T/mixed" nas:inbox/mixed
	offset_named 2100000 large
}

@test "content of the last, short leaf counts" {
	flip "$SHARE/mixed/sizes/$(ls -S "$SHARE/mixed/sizes" | head -n 1)" \
		$(($(stat -c %s "$SHARE/mixed/sizes/$(ls -S "$SHARE/mixed/sizes" | head -n 1)") - 1))
	expect 4 haul verify "$T/mixed" nas:inbox/mixed
}

@test "a directory of the destination that may not be read might hold more: exit 3" {
	need_root
	need_tool setpriv
	mkdir -p "$T/odd/in" "$SHARE/odd/in"
	touch "$SHARE/odd/in/more"
	touch -r "$T/odd/in" "$SHARE/odd/in"
	chmod 0300 "$T/odd/in" "$SHARE/odd/in"
	expect 4 haul verify --exact "$T/odd" nas:inbox/odd
	stop_agent "$AGENT_PID"
	AGENTS=()
	HAULD_UNDER="setpriv --bounding-set -dac_override,-dac_read_search --" start_agent "$B"
	expect 0 haul peer add "$B_ID" --name nas --address "127.0.0.1:$AGENT_PORT"
	expect 3 haul verify "$T/odd" nas:inbox/odd
	err_has "odd/in: permission denied"
	chmod 0700 "$SHARE/odd/in"
}

@test "a file against a file: what lies beside it is not compared, here and both ways" {
	touch "$T/mixed/sub/beside"
	cp -a "$T/mixed/large" "$T/copy"
	for pair in "$T/copy $T/mixed/large" "$T/copy nas:inbox/mixed/large" "nas:inbox/mixed/large $T/copy"; do
		expect 0 haul verify --exact --json $pair
		done_is exit 0 files_surplus 0 files_equal 1
		out_lacks '"surplus"'
	done
}

@test "a file against a directory that holds one of its name: asked whether that is meant" {
	mkdir "$T/dir"
	cp -a "$T/mixed/large" "$T/dir"
	expect 2 haul verify "$T/mixed/large" "$T/dir"
	err_has "did you mean $T/dir/large ?"
	expect 2 haul verify "$T/mixed/large" nas:inbox/mixed
	err_has "did you mean nas:inbox/mixed/large ?"
	expect 2 haul verify nas:inbox/mixed/large "$T/dir"
	err_has "did you mean $T/dir/large ?"
}

@test "--json: what only the destination has is surplus, of its kind where that is seen" {
	cp -a "$T/mixed" "$T/other"
	mkdir "$T/other/more"
	expect 0 haul verify --json "$T/mixed" "$T/other"
	check "$(jq -r 'select(.outcome == "surplus") | .path + " " + .kind' "$T/out")" = "more directory"
	mkdir "$SHARE/mixed/more"
	expect 0 haul verify --json "$T/mixed" nas:inbox/mixed
	check "$(jq -r 'select(.outcome == "surplus") | .path + " " + .kind' "$T/out")" = "more unknown"
}

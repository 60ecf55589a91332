# Who may do what, and that a change counts at once, without a restart.
load lib
load trees

setup() {
	test_begin
	pair_without_rights
	mkdir "$T/dir"
	echo one >"$T/dir/one"
}

# Known, but with no right on anything.
pair_without_rights() {
	pair
	expect 0 haul_b peer remove edit1
	expect 0 haul_b peer add "$A_ID" --name edit1
}

@test "paired without rights: nothing works, the line says what to allow" {
	expect 6 haul copy "$T/dir" nas:inbox
	err_has "haul peer allow edit1 inbox=writer"
	echo x >"$SHARE/file"
	expect 6 haul copy nas:inbox/file "$T/back"
	check ! -e "$T/back"
}

@test "rights given, changed and taken away take effect at once" {
	local pid=$AGENT_PID
	expect 6 haul copy "$T/dir" nas:inbox
	expect 0 haul_b peer allow edit1 inbox=writer
	expect 0 haul copy "$T/dir" nas:inbox
	expect 0 haul_b peer allow edit1 inbox=reader
	expect 0 haul copy nas:inbox/dir "$T/back"
	echo two >"$T/dir/two"
	expect "3|6" haul copy "$T/dir" nas:inbox
	check ! -e "$SHARE/dir/two"
	expect 0 haul_b peer remove edit1
	expect 6 haul list nas:
	err_has "does not know this device"
	expect 0 haul_b peer add "$A_ID" --name edit1 --allow inbox=writer
	expect 0 haul copy "$T/dir" nas:inbox
	check "$AGENT_PID" = "$pid"
	kill -0 "$pid"
}

@test "a share added and removed while the agent runs" {
	mkdir "$T/two"
	expect 0 haul_b share add second "$T/two"
	expect 0 haul_b peer allow edit1 second=writer
	expect 0 haul copy "$T/dir" nas:second
	check "$(cat "$T/two/dir/one")" = one
	expect 0 haul_b share remove second
	expect 6 haul copy "$T/dir" nas:second
	err_has second
}

@test "taking the peer away ends a transfer that runs" {
	expect 0 haul_b peer allow edit1 inbox=writer
	"$MKTREE" big 120000000 "$T/big"
	HAUL_HOME=$A "$HAUL" copy -q --bwlimit 5M --timeout 2 "$T/big" nas:inbox >"$T/run.out" 2>"$T/run.err" </dev/null 3>&- 4>&- &
	local run=$! rc=0
	OTHERS+=($run)
	wait_for 30 is_arriving "$SHARE"
	expect 0 haul_b peer remove edit1
	wait_for 12 is_gone $run || { echo "still running after 12 s"; false; }
	wait $run || rc=$?
	case $rc in 3 | 5 | 6) ;; *) echo "exit $rc"; cat "$T/run.err"; false ;; esac
	check -z "$(real_files "$SHARE")"
}

@test "each bundle does what it says and no more" {
	expect 0 haul_b peer allow edit1 inbox=dropbox
	expect 0 haul copy "$T/dir" nas:inbox/drop
	err_has "$T/dir -> nas:inbox/drop/dir (not visible)"
	check "$(cat "$SHARE/drop/dir/one")" = one
	expect 6 haul copy nas:inbox/drop "$T/back"
	expect "2|6" haul list nas:inbox/drop
	out_lacks one
	expect 6 haul verify "$T/dir" nas:inbox/drop/dir
	err_has "may not" "On nas run"
	expect 0 haul_b peer allow edit1 inbox=reader
	expect 0 haul list nas:inbox/drop/dir
	out_has one
	expect 6 haul copy "$T/dir" nas:inbox/new
	expect 0 haul_b peer allow edit1 inbox=backup
	expect 0 haul copy "$T/dir" nas:inbox/new
	expect 6 haul copy nas:inbox/new "$T/back"
	echo changed and longer >"$T/dir/one"
	expect 3 haul copy "$T/dir" nas:inbox/new
	check "$(cat "$SHARE/new/dir/one")" = one
}

@test "two devices have rights of their own" {
	C=$T/c
	mkdir "$T/cdir"
	local c_id
	c_id=$(device_id "$C")
	expect 0 haul_b peer allow edit1 inbox=writer
	expect 0 haul_b peer add "$c_id" --name laptop --allow inbox=reader
	HAUL_HOME=$C "$HAUL" peer add "$B_ID" --name nas --address "127.0.0.1:$AGENT_PORT"
	expect 0 haul copy "$T/dir" nas:inbox
	HAUL_HOME=$C expect 6 timeout "$LIMIT" "$HAUL" copy "$T/dir" nas:inbox/c
	err_has laptop
	HAUL_HOME=$C expect 0 timeout "$LIMIT" "$HAUL" copy nas:inbox/dir "$T/cdir/"
	same "$T/dir" "$T/cdir/dir"
}

@test "the peer never learns an absolute path" {
	expect 0 haul_b peer allow edit1 inbox=list,read,create
	mkdir -p "$SHARE/dir/one"
	expect 3 haul copy "$T/dir" nas:inbox
	err_lacks "$SHARE"
	expect 2 haul copy nas:inbox/absent "$T/back"
	err_lacks "$SHARE"
	expect 0 haul list nas:
	out_lacks "$SHARE"
}

@test "the files that hold identity and rights are closed to others" {
	local file
	for file in "$A" "$B"; do
		check "$(stat -c %a "$file")" = 700
		check -z "$(find "$file" -type f -perm /077)"
	done
}

@test "without the right to read, -c does not tell what is in a file" {
	expect 0 haul_b peer allow edit1 inbox=backup
	echo secret1 >"$SHARE/file"
	echo secret1 >"$T/file"
	expect 3 haul copy -c "$T/file" nas:inbox
	cp "$T/err" "$T/right"
	echo secret2 >"$T/file"
	expect 3 haul copy -c "$T/file" nas:inbox
	cmp "$T/err" "$T/right" || diff <(grep -v ' in [0-9.]* s' "$T/right") <(grep -v ' in [0-9.]* s' "$T/err")
	check "$(cat "$SHARE/file")" = secret1
	expect 0 haul_b peer allow edit1 inbox=create,list,overwrite
	expect 0 haul copy -c "$T/file" nas:inbox
	check "$(cat "$SHARE/file")" = secret2
}

@test "without the right to list, a link that stands there is not compared" {
	expect 0 haul_b peer allow edit1 inbox=dropbox
	ln -s /somewhere "$SHARE/link"
	ln -s /somewhere "$T/link"
	expect 3 haul copy "$T/link" nas:inbox
	err_has "already exists"
}

@test "-c sets the times of an equal file only with the right to change metadata" {
	expect 0 haul_b peer allow edit1 inbox=list,read,create,overwrite
	echo same >"$SHARE/file"
	echo same >"$T/file"
	touch -d @1000000000 "$SHARE/file"
	expect 0 haul copy -c "$T/file" nas:inbox
	check "$(stat -c %Y "$SHARE/file")" = 1000000000
	expect 0 haul_b peer allow edit1 inbox=writer
	expect 0 haul copy -c "$T/file" nas:inbox
	check "$(stat -c %Y "$SHARE/file")" != 1000000000
}

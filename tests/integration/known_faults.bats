# Faults of other tools that no other file has a place for, each by its id in docs/KNOWN-FAULTS.md.
load lib
load trees

@test "D-04: a change of mode alone needs no room" {
	SHARE_AT=$T/small
	mount_loop tmpfs 24 "$SHARE_AT"
	pair
	mkdir "$T/src"
	"$MKTREE" big 18000000 "$T/src/file"
	expect 0 haul copy "$T/src/file" nas:inbox
	chmod 0751 "$T/src/file"
	expect 0 haul copy --json "$T/src/file" nas:inbox
	done_is bytes_sent 0 files_sent 0
	check "$(stat -c %a "$SHARE/file")" = 751
	cmp "$T/src/file" "$SHARE/file"
}

@test "D-22: the root of a mounted file system as the destination, with lost+found; it outlives a sync" {
	SHARE_AT=$T/disk
	mount_loop ext4 40 "$SHARE_AT"
	pair mirror
	make_mixed "$T/tree"
	expect 0 haul copy "$T/tree/" nas:inbox
	check -d "$SHARE/lost+found"
	echo surplus >"$SHARE/surplus"
	expect 0 haul sync "$T/tree/" nas:inbox
	check -d "$SHARE/lost+found" -a ! -e "$SHARE/surplus"
	rmdir "$SHARE/lost+found"
	same "$T/tree" "$SHARE"
}

@test "R-03: right size and time, other content: told as not read, found by -c and by verify" {
	pair
	mkdir "$T/src"
	"$MKTREE" big 5000000 "$T/src/file"
	head -c 5000000 /dev/urandom >"$SHARE/file"
	touch -r "$T/src/file" "$SHARE/file"
	expect 0 haul copy --json "$T/src/file" nas:inbox
	done_is files_sent 0 files_unread 1 verified false
	expect 4 haul verify "$T/src/file" nas:inbox/file
	expect 0 haul copy -c --json "$T/src/file" nas:inbox
	done_is files_sent 1
	cmp "$T/src/file" "$SHARE/file"
}

@test "R-15: version after version of a tree: no false alarm, and what is equal is not sent" {
	local i
	pair
	make_mixed "$T/tree"
	expect 0 haul copy "$T/tree" nas:inbox
	for i in 1 2 3; do
		echo "line $i" >>"$T/tree/hello.txt.log"
		flip "$T/tree/sub/many/$(ls "$T/tree/sub/many" | head -n 1)" "$i"
		touch "$T/tree/sub/many/$(ls "$T/tree/sub/many" | head -n 1)"
		expect 0 haul copy --json "$T/tree" nas:inbox
		done_is files_sent 2
		check "$(grep -c -e '"warning"' -e '"error"' "$T/out")" -eq 0
		same "$T/tree" "$SHARE/tree"
	done
}

@test "S-02: a source that is gone: nothing made, nothing deleted" {
	pair mirror
	make_mixed "$T/tree"
	expect 0 haul copy "$T/tree" nas:inbox
	snapshot "$SHARE" >"$T/before"
	mv "$T/tree" "$T/away"
	expect 2 haul sync "$T/tree" nas:inbox
	check ! -e "$T/tree"
	snapshot "$SHARE" >"$T/after"
	cmp "$T/before" "$T/after"
}

@test "S-10: what was deleted does not come back, also when it goes while it is synced" {
	local run
	pair mirror
	mkdir -p "$T/tree/keep"
	"$MKTREE" small 300 100 "$T/tree/much"
	echo kept >"$T/tree/keep/file"
	expect 0 haul sync "$T/tree/" nas:inbox
	HAUL_HOME=$A "$HAUL" sync --max-delete none "$T/tree/" nas:inbox >"$T/run.out" 2>"$T/run.err" </dev/null 3>&- 4>&- &
	run=$!
	rm -rf "$T/tree/much"
	wait "$run" || true
	expect 0 haul sync --max-delete none "$T/tree/" nas:inbox
	check ! -e "$SHARE/much"
	check "$(cat "$SHARE/keep/file")" = kept
	expect 0 haul sync "$T/tree/" nas:inbox
	same "$T/tree" "$SHARE"
}

@test "W-12: a wrong port is not made good by another way" {
	pair
	echo x >"$T/x"
	expect 5 haul copy "$T/x" haul://127.0.0.1:1/inbox
	err_has "127.0.0.1:1"
	check -z "$(real_files "$SHARE")"
}

@test "W-16: a port that is taken is named; restarts never collide with their own old socket" {
	local i
	pair
	echo x >"$T/x"
	expect "1|3|5|10" env HAUL_HOME="$A" timeout 20 "$HAULD" --listen "127.0.0.1:$AGENT_PORT"
	err_has "127.0.0.1:$AGENT_PORT"
	for i in 1 2 3 4 5; do
		echo "$i" >"$T/x"
		expect 0 haul copy "$T/x" nas:inbox
		if [ $((i % 2)) = 0 ]; then kill_agent "$AGENT_PID"; else stop_agent "$AGENT_PID"; fi
		restart_b
	done
	expect 0 haul copy "$T/x" nas:inbox
}

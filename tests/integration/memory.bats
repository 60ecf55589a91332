# alone: memory is read while it runs, and the number of files is large.
# Memory does not grow with the number of files.
load lib
load trees

COUNT=200000
LIMIT=900

run_watched() {
	local name=$1 rc=0
	shift
	HAUL_HOME=$A "$HAUL" "$@" >"$T/out" 2>"$T/err" </dev/null 3>&- 4>&- &
	local run=$!
	OTHERS+=($run)
	watch_memory $run "$T/$name.hwm"
	wait_for "$LIMIT" is_gone $run
	wait $run || rc=$?
	[ $rc = 0 ] || { show_output; return 1; }
	echo "# $name: haul $(($(cat "$T/$name.hwm") / 1024)) MiB, hauld $(agent_mib) MiB" >&3
	check "$(cat "$T/$name.hwm")" -lt 409600
	check "$(agent_mib)" -lt 400
}

@test "200,000 files: each process stays under 400 MiB, pushing, again, verifying, pulling" {
	need_full
	need_space 4000
	pair
	"$MKTREE" small $COUNT 100 "$T/many"
	run_watched push copy -q "$T/many" nas:inbox
	check "$(find "$SHARE/many" -type f | wc -l)" -eq $COUNT
	run_watched again copy -q "$T/many" nas:inbox
	run_watched verify verify -q "$T/many" nas:inbox/many
	run_watched pull copy -q nas:inbox/many/ "$T/back"
	same "$T/many" "$T/back"
}

@test "W-13: one file of 3 GB: each process stays under 400 MiB" {
	need_full
	need_space 7000
	pair
	"$MKTREE" big "$BIG_BYTES" "$T/big"
	run_watched big copy -q "$T/big" nas:inbox
}

# A connection that breaks while a job runs: it is made again, the job goes on, and what arrives is whole. Links are
# broken by haul_proxy, by the agent's death, and by pulling the cable between two namespaces.
load lib
load trees
load slow
load proxy

setup() {
	slow_begin
	test_begin
}

teardown() {
	slow_end
	test_end
}

# A run in the background, with --json; RUN is its pid.
begin() {
	rm -f "$T/run.out" "$T/run.err" # whoever waits for a word in them does not find that of the run before
	HAUL_HOME=$A ${UNDER:-} "$HAUL" "$@" --json >"$T/run.out" 2>"$T/run.err" </dev/null 3>&- 4>&- &
	RUN=$!
	OTHERS+=("$RUN")
}
# finish CODE
finish() {
	local rc=0 out
	wait_for 60 is_gone "$RUN" || kill -9 "$RUN"
	for out in out err; do cp "$T/run.$out" "$T/$out"; done
	wait "$RUN" || rc=$?
	check "$rc" = "$1" || { show_output; return 1; }
}

has_sent() { [ "$(grep '"progress"' "$T/run.out" | tail -n 1 | jq .bytes_sent)" -ge "$1" ]; }

# one_job [BYTES]: told as one job: all of it was sent, hardly more than once (and those bytes), and what was done never
# fell.
one_job() {
	done_is exit 0 files_total "$FILES" files_sent "$FILES" files_skipped 0 files_unread 0 verified transfer durable true
	check "$(done_field bytes_sent)" -ge "$SIZE"
	check "$(done_field bytes_sent)" -le $((SIZE * 13 / 10 + ${1:-0}))
	check "$(grep -c '"reconnected"' "$T/out")" -ge 1
	err_has "connection lost, trying again" "connected again after"
	grep '"progress"' "$T/out" | jq -s -e '[.[].bytes_done] | . == sort' >/dev/null || fail_with "progress fell"
	check "$(grep -c '"start"' "$T/out")" -eq 1
}

@test "the agent is killed and comes back: a push goes on" {
	pair
	make_tree "$T/src/tree" 50000000
	begin copy --bwlimit 8M --block 1M "$T/src/tree" nas:inbox
	wait_for 30 has_sent 20000000
	kill_agent "$AGENT_PID"
	sleep 0.5
	restart_b
	finish 0
	one_job
	same "$T/src/tree" "$SHARE/tree"
	no_leftovers "$SHARE"
}

@test "the agent is killed and comes back: a pull goes on" {
	pair
	make_tree "$SHARE/tree" 30000000
	begin copy --bwlimit 8M --block 1M nas:inbox/tree "$T/here/"
	wait_for 30 has_sent 10000000
	kill_agent "$AGENT_PID"
	sleep 0.5
	restart_b
	finish 0
	one_job
	same "$SHARE/tree" "$T/here/tree"
	no_leftovers "$T/here"
}

@test "the agent is stopped and started, twice: the copy goes on" {
	pair
	make_tree "$T/src/tree" 30000000
	begin copy --bwlimit 6M --block 1M "$T/src/tree" nas:inbox
	wait_for 30 has_sent 5000000
	stop_agent "$AGENT_PID"
	restart_b
	wait_for 30 has_sent 12000000
	stop_agent "$AGENT_PID"
	restart_b
	finish 0
	one_job
	check "$(grep -c '"reconnected"' "$T/out")" -eq 2
	same "$T/src/tree" "$SHARE/tree"
	no_leftovers "$SHARE"
}

# cut_at OFFSET PROXY_OPTION COPY...: 5 only where the peer had not yet said who it is.
cut_at() {
	local offset=$1 option=$2
	shift 2
	rm -rf "$SHARE/tree" "$T/here"
	through "$option" "$offset" ${ONE:-}
	expect "0|5" haul copy --json "$@"
	[ "$GOT" = 0 ] || [ "$offset" -lt 40000 ] || { echo "cut at $offset:"; show_output; return 1; }
	[ "$offset" -lt 40000 ] || has_struck
	[ "$GOT" = 5 ] || done_is files_sent "$FILES" files_skipped 0 files_failed 0
}

@test "a link that is reset at any byte: a push arrives whole" {
	local i rounds=5
	[ "$SCALE" != full ] || rounds=100
	pair
	make_tree "$T/src/tree" 8000000
	for i in $(seq 1 $rounds); do
		cut_at $((RANDOM * 250 % SIZE)) --reset-after --lanes $((1 + i % 3)) --block 1M "$T/src/tree" nas:inbox
		[ "$GOT" = 5 ] || same "$T/src/tree" "$SHARE/tree"
	done
	forget_kept "$SHARE"
	no_leftovers "$SHARE"
}

@test "a link that is reset at any byte: a pull arrives whole" {
	local i rounds=5
	[ "$SCALE" != full ] || rounds=100
	pair
	make_tree "$SHARE/source/tree" 8000000
	for i in $(seq 1 $rounds); do
		cut_at $((RANDOM * 250 % SIZE)) --reset-after --lanes $((1 + i % 3)) --block 1M nas:inbox/source/tree "$T/here/"
		[ "$GOT" = 5 ] || same "$SHARE/source/tree" "$T/here/tree"
	done
}

# early_cuts COPY...: reset at several places between the first word of the peer and the job's begin.
early_cuts() {
	local offset
	for offset in $(seq 2400 800 7200); do
		rm -rf "$SHARE/tree" "$T/here"
		through --reset-after "$offset"
		expect 0 haul copy --lanes 1 "$@"
		has_struck
		err_has "connection lost, trying again" "connected again after"
		if [ -d "$T/here" ]; then same "$SHARE/source/tree" "$T/here/tree"; else same "$T/src/tree" "$SHARE/tree"; fi
	done
}

@test "a link that is reset before the job is accepted: it is made again, both ways; and given up in time" {
	pair
	make_tree "$T/src/tree" 1000000
	cp -a "$T/src" "$SHARE/source"
	early_cuts "$T/src/tree" nas:inbox
	early_cuts nas:inbox/source/tree "$T/here/"
	through --reset-after 2400 --down
	expect 5 haul copy --lanes 1 --timeout 2 "$T/src/tree" nas:inbox
	has_struck
	err_has "connection lost, and none made again in 2 s"
	forget_kept "$SHARE"
	no_leftovers "$SHARE"
}

@test "W-03: one of several lanes is cut, or one direction of it: the copy arrives whole" {
	pair
	make_tree "$T/src/tree" 20000000
	ONE=--one cut_at 9000000 --reset-after --lanes 4 --block 1M "$T/src/tree" nas:inbox
	same "$T/src/tree" "$SHARE/tree"
	ONE=--one cut_at 9000000 --half-after --lanes 4 --block 1M "$T/src/tree" nas:inbox
	same "$T/src/tree" "$SHARE/tree"
	no_leftovers "$SHARE"
}

@test "a link that takes nothing any more: found dead in time, the copy goes on" {
	export HAUL_DEAD_PEER_MS=3000
	pair
	make_tree "$T/src/tree" 30000000
	through --hole-after 12000000
	begin copy --lanes 2 --block 1M "$T/src/tree" nas:inbox
	wait_for 15 is_gone "$RUN" || fail_with "not found dead within 15 s"
	finish 0
	has_struck
	done_is files_sent "$FILES" files_failed 0
	same "$T/src/tree" "$SHARE/tree"
	no_leftovers "$SHARE"
}

@test "an agent that hangs is found dead although its kernel still answers; it wakes up, the copy goes on, both ways" {
	export HAUL_DEAD_PEER_MS=3000
	pair
	make_tree "$T/src/tree" 30000000
	begin copy --bwlimit 8M --block 1M "$T/src/tree" nas:inbox
	hang
	same "$T/src/tree" "$SHARE/tree"
	begin copy --bwlimit 8M --block 1M nas:inbox/tree "$T/here/"
	hang
	same "$T/src/tree" "$T/here/tree"
}
hang() {
	wait_for 30 has_sent 6000000
	kill -STOP "$AGENT_PID"
	wait_for 8 grep -q "trying again" "$T/run.err" || { kill -CONT "$AGENT_PID"; fail_with "not found dead"; }
	kill -CONT "$AGENT_PID"
	finish 0
	one_job 10000000 # which the kernel took for a process that reads nothing
}

@test "W-01, W-02: the cable is pulled and put back: found dead at both ends, the copy goes on, both ways" {
	export HAUL_DEAD_PEER_MS=3000
	slow_link 400
	HAULD_UNDER="ip netns exec $SLOW_SPACE" LISTEN=$SLOW_THERE:0 pair
	make_tree "$T/src/tree" 30000000
	local pull
	for pull in '' yes; do
		if [ -z "$pull" ]; then
			begin copy --bwlimit 8M --block 1M "$T/src/tree" nas:inbox
		else
			begin copy --bwlimit 8M --block 1M nas:inbox/tree "$T/here/"
		fi
		wait_for 30 has_sent 6000000
		ip -n "$SLOW_SPACE" link set "ht$$b" down
		wait_for 12 grep -q "trying again" "$T/run.err" || fail_with "not found dead"
		ip -n "$SLOW_SPACE" link set "ht$$b" up
		finish 0
		one_job
	done
	same "$T/src/tree" "$SHARE/tree"
	same "$T/src/tree" "$T/here/tree"
}

@test "nobody comes back: exit 5 after --timeout, and the figures are those of what was done" {
	pair
	make_tree "$T/src/tree" 40000000
	begin copy --bwlimit 8M --block 1M --timeout 2 "$T/src/tree" nas:inbox
	wait_for 30 has_sent 8000000
	kill_agent "$AGENT_PID"
	wait_for 8 is_gone "$RUN" || fail_with "still trying after 8 s"
	finish 5
	err_has "connection lost, and none made again in 2 s" "Run the same command again"
	done_is exit 5 reasons '[5]' files_total "$FILES" bytes_total "$SIZE"
	check "$(done_field bytes_sent)" -ge 8000000
	restart_b
	expect 0 haul copy --json "$T/src/tree" nas:inbox
	check "$(done_field bytes_sent)" -lt "$SIZE"
	same "$T/src/tree" "$SHARE/tree"
}

@test "interrupted while it waits: 130 at once" {
	pair
	make_tree "$T/src/tree" 40000000
	UNDER="env --default-signal=INT" begin copy --bwlimit 8M "$T/src/tree" nas:inbox
	wait_for 30 has_sent 4000000
	kill_agent "$AGENT_PID"
	wait_for 10 grep -q "trying again" "$T/run.err"
	kill -INT "$RUN"
	wait_for 5 is_gone "$RUN"
	finish 130
	done_is exit 130
}

@test "an entry that fails is told once, whatever happens to the connection" {
	pair
	make_tree "$T/src/tree" 8000000
	mkdir -p "$SHARE/tree/aaa" && echo x >"$T/src/tree/aaa"
	through --reset-after 5000000
	expect 3 haul copy --json --failed-to "$T/failed" "$T/src/tree" nas:inbox
	has_struck
	check "$(grep -c '"error"' "$T/out")" -eq 1
	check "$(tr -cd '\0' <"$T/failed" | wc -c)" -eq 1
	done_is exit 3 files_failed 1 files_sent "$FILES"
}

@test "a comparison begins again, and counts each file once" {
	pair
	mkdir -p "$T/src"
	"$MKTREE" small 3000 100 "$T/src/many"
	expect 0 haul copy "$T/src/many" nas:inbox
	echo other >"$SHARE/many/surplus"
	local files
	files=$(find "$T/src/many" -type f | wc -l)
	through --reset-after 150000
	expect 0 haul verify --json "$T/src/many" nas:inbox/many
	has_struck
	check "$(grep -c '"reconnected"' "$T/out")" -eq 1
	done_is files_equal "$files" files_total "$files" files_different 0 files_surplus 1
	check "$(grep -c surplus "$T/out")" -le 2
}

@test "the same copy twice at once: the second ends with 11; others run beside it" {
	pair
	make_tree "$T/src/tree" 30000000
	echo small >"$T/src/small"
	ln -s src "$T/again"
	begin copy --bwlimit 8M "$T/src/tree" nas:inbox
	local first=$RUN
	wait_for 30 is_arriving "$SHARE"
	expect 11 haul copy --json "$T/again/tree" nas:inbox
	err_has "the same copy is running already (process $first)"
	done_is exit 11 reasons '[11]'
	expect 0 haul copy "$T/src/small" nas:inbox
	expect 0 haul copy -n "$T/src/tree" nas:inbox
	expect 0 haul copy "$T/src/tree" nas:inbox/beside
	check -d "/proc/$first"
	finish 0
	same "$T/src/tree" "$SHARE/tree"
	same "$T/src/tree" "$SHARE/beside/tree"
	expect 0 haul copy "$T/src/tree" nas:inbox
	no_leftovers "$SHARE"
}

@test "the same pull twice at once, into a directory that the first has made" {
	pair
	make_tree "$SHARE/tree" 20000000
	mkdir "$T/there"
	begin copy --bwlimit 5M nas:inbox/tree "$T/there/new//in/"
	local first=$RUN
	wait_for 30 is_arriving "$T/there/new/in"
	expect 11 haul copy nas:inbox/tree "$T/there/new/in"
	err_has "the same copy is running already (process $first)"
	finish 0
	same "$SHARE/tree" "$T/there/new/in/tree"
}

@test "the command dies unnoticed by the peer: the next one takes its job over and goes on" {
	pair
	make_tree "$T/src/tree" 40000000
	through
	begin copy --bwlimit 10M --block 1M "$T/src/tree" nas:inbox
	wait_for 30 has_sent 20000000
	kill -STOP "$PROXY_PID"
	kill -9 "$RUN"
	wait "$RUN" || true
	reach "$AGENT_PORT"
	expect 0 haul copy --json "$T/src/tree" nas:inbox
	check "$(done_field bytes_sent)" -lt $((SIZE * 7 / 10))
	same "$T/src/tree" "$SHARE/tree"
	kill -CONT "$PROXY_PID"
	leave_proxy
	no_leftovers "$SHARE"
}

@test "a peer that refuses after the cut is believed: nothing is tried again" {
	pair
	make_tree "$T/src/tree" 30000000
	begin copy --bwlimit 8M "$T/src/tree" nas:inbox
	wait_for 30 has_sent 4000000
	kill_agent "$AGENT_PID"
	expect 0 haul_b peer allow edit1 inbox=reader
	restart_b
	wait_for 20 is_gone "$RUN"
	finish 6
	err_has "may not"
}

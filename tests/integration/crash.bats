# Either side dies at any moment: never a short or wrong file under a real name, the survivor lives, the next run
# completes.
load lib
load trees

setup() {
	test_begin
	pair
}

# generation N DIR: the same names with other content each time, so that every run has everything to do.
generation() {
	local i
	mkdir -p "$2/many" "$2/large"
	for i in $(seq 1 60); do
		printf 'generation %d file %d\n%0*d\n' "$1" "$i" $((i * 300)) "$1" >"$2/many/$i"
	done
	for i in 1 2 3; do
		"$MKTREE" big $((8000000 + i * 1000003 + $1)) "$2/large/$i"
		printf 'g%d' "$1" | dd of="$2/large/$i" conv=notrunc status=none
	done
	sums "$2" >>"$T/known"
}

sums() { (cd "$1" && real_files . | tr '\n' '\0' | xargs -0 -r cksum | awk '{ print $3, $1, $2 }'); }

# only_whole DIR: every file under a real name is wholly of one generation.
only_whole() {
	[ -d "$1" ] || return 0
	sums "$1" | sort >"$T/there"
	sort -u "$T/known" >"$T/known.sorted"
	comm -23 "$T/there" "$T/known.sorted" >"$T/wrong"
	[ ! -s "$T/wrong" ] && return 0
	echo "short or wrong files:"
	cat "$T/wrong"
	return 1
}

# A run in the background; RUN is its pid.
begin_copy() {
	HAUL_HOME=$A "$HAUL" copy -q --timeout 1 --connect-timeout 3 "$@" >"$T/run.out" 2>"$T/run.err" </dev/null 3>&- 4>&- &
	RUN=$!
	OTHERS+=("$RUN")
}

end_copy() {
	GOT=0
	wait_for 60 is_gone "$RUN" || { echo "the command hangs"; kill -9 "$RUN"; return 1; }
	wait "$RUN" || GOT=$?
	OTHERS=()
}

# sleep_random MILLISECONDS: up to that long.
sleep_random() {
	local ms=$((RANDOM % $1))
	sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
}

rounds() { if [ "$SCALE" = full ]; then echo 20; else echo 6; fi; }

@test "kill -9 of the agent at random moments while pushing" {
	local i
	for i in $(seq 1 "$(rounds)"); do
		generation "$i" "$T/src"
		begin_copy --bwlimit 40M "$T/src" nas:inbox
		sleep_random 900
		kill_agent "$AGENT_PID"
		end_copy
		case $GOT in 0 | 5) ;; *) echo "exit $GOT"; cat "$T/run.err"; false ;; esac
		only_whole "$SHARE/src"
		restart_b
	done
	expect 0 haul copy "$T/src" nas:inbox
	same "$T/src" "$SHARE/src"
	no_leftovers "$SHARE"
}

@test "kill -9 of the command at random moments while pushing: the agent stays" {
	local i
	for i in $(seq 1 "$(rounds)"); do
		generation "$i" "$T/src"
		begin_copy --bwlimit 40M "$T/src" nas:inbox
		sleep_random 900
		kill -9 "$RUN" 2>/dev/null || true
		wait "$RUN" || true
		OTHERS=()
		kill -0 "$AGENT_PID"
		only_whole "$SHARE/src"
	done
	expect 0 haul copy "$T/src" nas:inbox
	same "$T/src" "$SHARE/src"
	no_leftovers "$SHARE"
}

@test "kill -9 of either side while pulling" {
	local i
	for i in $(seq 1 "$(rounds)"); do
		generation "$i" "$SHARE/src"
		begin_copy --bwlimit 40M nas:inbox/src "$T/here/"
		sleep_random 900
		if [ $((RANDOM % 2)) = 0 ]; then
			kill_agent "$AGENT_PID"
			end_copy
			case $GOT in 0 | 5) ;; *) echo "exit $GOT"; cat "$T/run.err"; false ;; esac
			restart_b
		else
			kill -9 "$RUN" 2>/dev/null || true
			wait "$RUN" || true
			OTHERS=()
			kill -0 "$AGENT_PID"
		fi
		only_whole "$T/here/src"
	done
	expect 0 haul copy nas:inbox/src "$T/here/"
	same "$SHARE/src" "$T/here/src"
	no_leftovers "$T/here"
}

@test "the agent is stopped with SIGTERM in mid-transfer: it ends within seconds, the command with 5" {
	"$MKTREE" big 80000000 "$T/big"
	begin_copy --bwlimit 10M "$T/big" nas:inbox
	wait_for 30 is_arriving "$SHARE"
	stop_agent "$AGENT_PID"
	end_copy
	check "$GOT" -eq 5
	check -z "$(real_files "$SHARE")"
	restart_b
	expect 0 haul copy "$T/big" nas:inbox
	same "$T/big" "$SHARE/big"
	no_leftovers "$SHARE"
}

@test "interrupt, terminate, hangup: 130, 143, 129, no half file, the done line of --json still comes" {
	local signal code
	"$MKTREE" big 80000000 "$T/big"
	for signal in INT:130 TERM:143 HUP:129; do
		code=${signal#*:}
		# A job in the background of a shell ignores SIGINT; env gives it back.
		HAUL_HOME=$A env --default-signal=INT "$HAUL" copy --json --bwlimit 10M "$T/big" nas:inbox \
			>"$T/out" 2>"$T/err" </dev/null 3>&- 4>&- &
		RUN=$!
		OTHERS+=("$RUN")
		wait_for 30 grep -q '"progress"' "$T/out"
		kill "-${signal%:*}" "$RUN"
		end_copy
		check "$GOT" -eq "$code"
		done_is exit "$code"
		check -z "$(real_files "$SHARE")"
	done
	expect 0 haul copy "$T/big" nas:inbox
	no_leftovers "$SHARE"
}

@test "the connection is cut and nothing answers any more: exit 5 after --timeout" {
	"$MKTREE" big 80000000 "$T/big"
	begin_copy --bwlimit 10M "$T/big" nas:inbox
	wait_for 30 is_arriving "$SHARE"
	kill -STOP "$AGENT_PID"
	wait_for 100 is_gone "$RUN" || { kill -CONT "$AGENT_PID"; false; }
	GOT=0
	wait "$RUN" || GOT=$?
	kill -CONT "$AGENT_PID"
	check "$GOT" -eq 5
}

@test "D-10: an old file is replaced whole or not at all" {
	local i
	mkdir "$T/v"
	for i in $(seq 1 "$(rounds)"); do
		"$MKTREE" big 20000000 "$T/v/file"
		printf 'version %05d' "$i" | dd of="$T/v/file" conv=notrunc status=none
		sums "$T/v" >>"$T/known"
		begin_copy --bwlimit 60M "$T/v/file" nas:inbox/file
		sleep_random 400
		if [ $((i % 2)) = 0 ]; then
			kill -9 "$RUN" 2>/dev/null || true
			wait "$RUN" || true
		else
			kill_agent "$AGENT_PID"
			end_copy
			restart_b
		fi
		OTHERS=()
		[ ! -e "$SHARE/file" ] || only_whole "$SHARE"
	done
}

@test "what a dead run left behind is cleared by the next" {
	"$MKTREE" big 80000000 "$T/big"
	begin_copy --bwlimit 10M "$T/big" nas:inbox
	wait_for 30 is_arriving "$SHARE"
	kill_agent "$AGENT_PID"
	end_copy
	restart_b
	echo small >"$T/small"
	expect 0 haul copy "$T/small" nas:inbox
	no_leftovers "$SHARE"
}

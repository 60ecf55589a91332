# A peer that is known and breaks every rule: what it hears, what it leaves, and that the agent goes on serving others.
load lib
load trees

EVIL=${EVIL:-$HAUL_BUILD/tests/integration/haul_evil}

setup() {
	test_begin
	[ -x "$EVIL" ] || fail_with "haul_evil is not built"
	# What a sanitizer keeps of freed memory is not what the agent holds.
	export ASAN_OPTIONS=quarantine_size_mb=4:${ASAN_OPTIONS:-}
	HAUL_LANE_WAIT_MS=1500 pair
	C=$T/c
	expect 0 haul_b peer add "$(device_id "$C")" --name third --allow inbox=writer
	HAUL_HOME=$C timeout 20 "$HAUL" peer add "$B_ID" --name nas --address "127.0.0.1:$AGENT_PORT" >/dev/null
	mkdir -p "$T/outside/sub" "$T/secret" "$SHARE/source/sub" "$T/good"
	expect 0 haul_b share add secret "$T/secret"
	echo canary >"$T/outside/canary"
	ln -s "$T/outside" "$SHARE/way"
	head -c 5242880 /dev/urandom >"$SHARE/source/big"
	echo small >"$SHARE/source/small"
	echo good >"$T/good/file"
	snapshot "$T/outside" >"$T/outside.before"
}

# Cases one by one, none of which goes on with what another has left; what went wrong is collected.
evil() {
	local name bad=0
	for name in "$@"; do
		forget_kept "$SHARE"
		timeout -k 5 60 "$EVIL" client "$A" "$C" "$AGENT_PORT" "$SHARE" "$name" >"$T/evil.out" 2>"$T/evil.err" && continue
		echo "case $name:"
		cat "$T/evil.out" "$T/evil.err"
		bad=1
	done
	return $bad
}

# The agent lives, holds nothing back, and a good peer is served; nothing outside was touched, nothing is left over.
all_is_well() {
	check -d "/proc/$AGENT_PID"
	expect 0 haul copy "$T/good" nas:inbox
	check "$(cat "$SHARE/good/file")" = good
	expect 0 haul verify "$T/good" nas:inbox/good
	snapshot "$T/outside" | diff "$T/outside.before" -
	forget_kept "$SHARE"
	no_leftovers "$SHARE"
}

# Names from `haul_evil list`, those of one table after the other.
cases() { "$EVIL" list | sed -n "$1"; }

@test "greetings, questions, jobs and lanes that break a rule" {
	evil $(cases '1,/^close_after_each_step$/p')
	all_is_well
}

@test "a sender that breaks a rule" {
	evil $(cases '/^name_dots$/,/^put_off_and_gone$/p')
	all_is_well
}

@test "a receiver that breaks a rule" {
	mkdir "$SHARE/many"
	for i in $(seq 1 4000); do : >"$SHARE/many/$(printf '%04d' "$i")"; done
	chmod 0 "$SHARE/many"/*
	evil $(cases '/^want_never_announced$/,/^closes_at_each_step$/p')
	all_is_well
}

@test "a measurement that breaks a rule" {
	evil $(cases '/^probe_longer_than_agreed$/,$p')
	all_is_well
}

@test "broken transfers, a hundred or two, leave no descriptor and no memory behind" {
	local before after rss rounds=12
	[ "$SCALE" != light ] || rounds=6
	evil half_then_nonsense close_after_each_step closes_at_each_step
	before=$(ls "/proc/$AGENT_PID/fd" | wc -l)
	rss=$(awk '/VmRSS/ { print $2 }' "/proc/$AGENT_PID/status")
	for i in $(seq 1 $rounds); do
		evil cancel_with_data_on_the_way half_then_nonsense lane_cut_in_a_leaf close_after_each_step \
			closes_at_each_step lane_closed_while_it_sends cancelled takes_nothing
		rm -rf "$SHARE/cancel_with_data_on_the_way" "$SHARE/half_then_nonsense" "$SHARE/lane_cut_in_a_leaf" \
			"$SHARE/close_after_each_step"
	done
	wait_for 15 same_descriptors "$before"
	after=$(awk '/VmRSS/ { print $2 }' "/proc/$AGENT_PID/status")
	[ "$after" -lt $((rss + 65536)) ] || { echo "memory grew from $rss to $after kB"; return 1; }
	all_is_well
}

same_descriptors() { [ "$(ls "/proc/$AGENT_PID/fd" | wc -l)" -le "$1" ]; }

# lied_to WORDS: `haul` as a client of a server that lies; $CASE_PORT is where it listens.
lied_to() {
	local -a limits=(--lanes 1 --timeout 3 --connect-timeout 5 --block 1M)
	mkdir -p "$T/landing"
	case $1 in
	pull) haul copy "${limits[@]}" liar:inbox/tree "$T/landing/" ;;
	push) haul copy "${limits[@]}" "$T/good" liar:inbox ;;
	esac
}

@test "a server that lies" {
	local name words exits bad=0 pid
	D=$T/d
	expect 0 haul peer add "$(device_id "$D")" --name liar --address 127.0.0.1:1
	HAUL_HOME=$D timeout 20 "$HAUL" peer add "$A_ID" --name edit1 >/dev/null
	mkdir -p "$T/landing" "$T/landing/outside"
	while IFS=$'\t' read -r name words exits; do
		"$EVIL" server "$D" "$name" >"$T/liar.out" 2>"$T/liar.err" </dev/null 3>&- 4>&- &
		pid=$!
		OTHERS+=("$pid")
		wait_for 20 grep -q '^listening ' "$T/liar.out"
		HAUL_HOME=$A timeout 20 "$HAUL" peer remove liar >/dev/null
		expect 0 haul peer add "$(device_id "$D")" --name liar --address "127.0.0.1:$(sed -n 's/^listening //p' "$T/liar.out")"
		if ! expect "$exits" lied_to "$words" || ! wait "$pid" || grep -q $'[\x1b\x07]' "$T/err" "$T/out" ||
			[ -n "$(find "$T/landing" "$T/outside" /tmp/planted -name planted -o -name file -o -name early 2>/dev/null)" ]; then
			echo "case $name"
			show_output
			cat "$T/liar.out" "$T/liar.err"
			find "$T/landing"
			bad=1
		fi
		! grep -E 'Sanitizer|runtime error|Assertion' "$T/err" || bad=1
	done < <("$EVIL" servers)
	check $bad = 0
	snapshot "$T/outside" | diff "$T/outside.before" -
	forget_kept "$T/landing"
	no_leftovers "$T/landing"
}

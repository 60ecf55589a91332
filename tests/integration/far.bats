# A peer far away: over a long round trip lanes join while the job runs, and one that does not come harms nobody. The
# link is two TUN devices and bench/tun_delay.c between them, so TCP runs from end to end.
load lib
load trees
# shellcheck source=../../bench/shape.sh
. "$BATS_TEST_DIRNAME/../../bench/shape.sh"

setup() {
	test_begin
	need_root
	need_tool ip sysctl
	[ -c /dev/net/tun ] || skip "no TUN devices"
	SHAPE_TUN=$(dirname "$MKTREE")/haul_tun_delay
	SHAPE_PREFIX=haul-far$$ SHAPE_LOG=$T/link.err
	unshare -n true 2>/dev/null || skip "cannot make a network namespace"
	shape_up 500 60 --seed "$SEED" || { cat "$T/link.err"; false; }
	HAULD_UNDER="ip netns exec $SHAPE_B" LISTEN=$SHAPE_B_IP:0 pair
}

teardown() {
	test_end || FAILED=1
	[ -z "${SHAPE_A:-}" ] || shape_down
	return ${FAILED:-0}
}

far_agent() { HAULD_UNDER="ip netns exec $SHAPE_B" restart_b "$@"; }
far() { HAUL_HOME=$A timeout -k 5 "$LIMIT" ip netns exec "$SHAPE_A" "$HAUL" "$@"; }

make_tree() {
	mkdir -p "$1"
	head -c 30000001 /dev/urandom >"$1/big"
	head -c 9000000 /dev/urandom >"$1/other"
	"$MKTREE" small 200 4000 "$1/many"
}

@test "a long round trip: lanes join, everything arrives, in both directions" {
	make_tree "$T/src/tree"
	expect 0 far copy --json "$T/src/tree" nas:inbox
	done_is files_failed 0 durable true
	check "$(done_field lanes)" -gt 4
	same "$T/src/tree" "$SHARE/tree"
	expect 0 far copy --json nas:inbox/tree "$T/here/"
	done_is files_failed 0 durable true
	check "$(done_field lanes)" -gt 4
	same "$T/src/tree" "$T/here/tree"
	no_leftovers "$SHARE"
	no_leftovers "$T/here"
}

@test "a long round trip: said by --explain, and not with lanes that were asked for" {
	head -c 2000000 /dev/urandom >"$T/file"
	expect 0 far copy --explain "$T/file" nas:inbox
	err_has "round trip 6" "lanes more for the round trip" "lanes at the end"
	expect 0 far copy --json --lanes 2 "$T/file" nas:inbox/again/
	done_is lanes 2
}

@test "losses on the way: everything arrives" {
	stop_agent "$AGENT_PID"
	shape_down
	wait_for 10 test ! -e "/run/netns/$SHAPE_B"
	shape_up 500 20 --loss 0.3 --seed "$SEED"
	far_agent
	make_tree "$T/src/tree"
	expect 0 far copy "$T/src/tree" nas:inbox
	same "$T/src/tree" "$SHARE/tree"
	expect 0 far copy nas:inbox/tree "$T/here/"
	same "$T/src/tree" "$T/here/tree"
}

@test "a lane that finds no memory at the peer is no failure of the job" {
	local first
	local cores
	cores=$(nproc)
	[ "$cores" -le 4 ] || cores=4
	stop_agent "$AGENT_PID"
	far_agent --memory "$((46 + 9 * cores > 64 ? 46 + 9 * cores : 64))M"
	head -c 60000000 /dev/urandom >"$T/slow"
	# It holds 33 MiB for as long as it is limited; 8 for each lane to begin with, and little is left.
	HAUL_HOME=$A ip netns exec "$SHAPE_A" "$HAUL" copy --explain --lanes 2 --block 2M --bwlimit 2M "$T/slow" nas:inbox \
		>"$T/first.out" 2>&1 </dev/null 3>&- 4>&- &
	first=$!
	OTHERS+=("$first")
	wait_for 10 grep -q "round trip" "$T/first.out"
	make_tree "$T/src/tree"
	expect 0 far copy --explain "$T/src/tree" nas:inbox
	err_has "a lane did not join, the others go on" "no memory for another lane"
	same "$T/src/tree" "$SHARE/tree"
	expect 0 far copy --explain nas:inbox/tree "$T/here/"
	err_has "a lane did not join, the others go on"
	same "$T/src/tree" "$T/here/tree"
}

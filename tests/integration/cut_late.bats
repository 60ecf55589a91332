# A big file cut at nine tenths by a link that goes down, or by the death of the agent that receives it: the next run
# sends the rest alone, and at once. HAUL_TEST_CUT_BYTES says how big; docs/TESTING.md has the figures of 10 GiB.
load lib
load trees
load proxy

setup() {
	test_begin
	if [ "$SCALE" = full ]; then BYTES=3221225472 FIRST_MS=1000; else BYTES=268435456 FIRST_MS=5000; fi
	BYTES=${HAUL_TEST_CUT_BYTES:-$BYTES}
	need_space $((BYTES / 1000000 * 21 / 10 + 200))
	# Of a small one what was on its way when the link went down is more than the two hundredths.
	MOST=$((BYTES * 12 / 100))
	[ "$SCALE" = full ] || MOST=$((BYTES / 10 + 20000000))
	mkdir "$T/src"
	"$MKTREE" big "$BYTES" "$T/src/big"
	pair
}

teardown() {
	leave_proxy
	test_end
}

# again SRC DST: the second run, through a link that is whole, and tells when its first payload passes: 2 MB are more
# than the handshake and the digests of ten thousand leaves take.
again() {
	local began sent
	through --mark 2000000
	began=$(date +%s%3N)
	expect 0 haul copy --json "$1" "$2"
	FIRST=$(($(sed -n 's/^marked //p' "$T/proxy.out") - began))
	sent=$(done_field bytes_sent)
	echo "of $BYTES bytes $sent sent again ($((sent * 1000 / BYTES)) per mille), the first after $FIRST ms"
	[ -z "${HAUL_TEST_FIGURES:-}" ] || echo "$BATS_TEST_DESCRIPTION: $sent of $BYTES, first after $FIRST ms, $(done_field elapsed_s) s" >>"$HAUL_TEST_FIGURES"
	done_is exit 0 files_sent 1 durable true
	check "$sent" -le "${3:-$MOST}"
	check "$FIRST" -le "$FIRST_MS"
}

# A source that changed two seconds ago or less is compared, not known.
cut_copy() {
	while [ "$(stat -c %Z "$(readlink -f "${FILE:-$T/src/big}")")" -gt $(($(date +%s) - 3)) ]; do sleep 0.1; done
	through "$@" $((BYTES * 9 / 10))
	expect 5 haul copy --json --timeout 2 --connect-timeout 60 "${SRC:-$T/src/big}" "${DST:-nas:inbox}"
	has_struck || { show_output; cat "$T/proxy.out" "$T/proxy.log"; return 1; }
}

# What was on its way, and what the last second or 256 MiB had not made durable yet.
may_lose() { echo $((BYTES / 10 + 256 * 1048576 + 64 * 1048576 < BYTES ? BYTES / 10 + 256 * 1048576 + 64 * 1048576 : BYTES)); }

@test "R-01, R-02: a push is cut at nine tenths, the link stays down: at most 12 % are sent again, at once" {
	cut_copy --down --reset-after
	check -z "$(real_files "$SHARE")"
	again "$T/src/big" nas:inbox
	cmp "$T/src/big" "$SHARE/big"
	no_leftovers "$SHARE"
}

@test "a pull is cut at nine tenths" {
	mv "$T/src/big" "$SHARE/big"
	FILE=$SHARE/big SRC=nas:inbox/big DST=$T/here/ cut_copy --down --reset-after
	check -z "$(real_files "$T/here")"
	again nas:inbox/big "$T/here/"
	cmp "$SHARE/big" "$T/here/big"
	no_leftovers "$T/here"
}

@test "the agent that receives is killed at nine tenths" {
	cut_copy --kill "$AGENT_PID" --kill-after
	kill_agent "$AGENT_PID"
	check -z "$(real_files "$SHARE")"
	restart_b
	again "$T/src/big" nas:inbox "$(may_lose)"
	cmp "$T/src/big" "$SHARE/big"
	no_leftovers "$SHARE"
}

# The digests of what is there are compared: both ends read it.
@test "cut at nine tenths, then the source lies on another file system, with another inode" {
	cut_copy --down --reset-after
	mount_loop ext4 $((BYTES / 1000000 * 11 / 10 + 100)) "$T/card"
	cp -p "$T/src/big" "$T/card/big"
	rm "$T/src/big"
	FIRST_MS=600000 again "$T/card/big" nas:inbox
	cmp "$T/card/big" "$SHARE/big"
	no_leftovers "$SHARE"
}

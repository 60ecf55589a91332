# "Limited by", the trace, and its picture.
load lib
load slow

setup() {
	test_begin
	slow_begin
}

teardown() {
	slow_end
	test_end
}

PICTURE=$ROOT/bench/trace_picture.py

# A file that no layer makes shorter.
big_file() { head -c "$2" /dev/urandom >"$1"; }

limited_by() {
	done_is limited_by "$1"
}

@test "too little says nothing" {
	pair
	big_file "$T/small" 9000000
	expect 0 haul copy --json "$T/small" nas:inbox
	limited_by null
	check "$(done_field 'cpu_s > 0 and .peer_cpu_s >= 0')" = true
	rm "$SHARE/small"
	expect 0 haul copy "$T/small" nas:inbox
	err_lacks "Limited by"
}

@test "a link: network, either way; a rate limit is no network" {
	slow_link 200
	HAULD_UNDER="ip netns exec $SLOW_SPACE" LISTEN=$SLOW_THERE:0 pair
	big_file "$T/big" 40000000
	expect 0 haul copy --json "$T/big" nas:inbox
	limited_by network
	mkdir "$T/back"
	expect 0 haul copy --json nas:inbox/big "$T/back"
	limited_by network
	rm "$T/back/big"
	expect 0 haul copy --json --bwlimit=10MB nas:inbox/big "$T/back"
	limited_by rate-limit
	rm "$SHARE/big"
	expect 0 haul copy --json --bwlimit=10MB "$T/big" nas:inbox
	limited_by rate-limit
}

@test "W-05: a slow disk: at the destination, at the source, either way" {
	slow_disk disk 300
	mkdir "$T/disk/share" "$T/disk/here"
	SHARE_AT=$T/disk/share pair
	big_file "$T/big" 40000000
	slow_group there write "$T/disk" 20000000
	slow_down "$AGENT_PID"
	expect 0 haul copy --json "$T/big" nas:inbox
	limited_by destination-disk
	slow_group back read "$T/disk" 20000000
	slow_down "$AGENT_PID"
	mkdir "$T/back"
	expect 0 haul copy --json nas:inbox/big "$T/back"
	limited_by source-disk
	expect 0 haul verify --json "$T/big" nas:inbox/big
	limited_by destination-disk
}

# trace_has FILE SIDE STAGE...: spans of each, with sane times and the file's bytes.
trace_has() {
	local file=$1 side=$2 stage
	shift 2
	jq -e . "$file" >/dev/null
	for stage in "$@"; do
		jq -es "map(select(.side == \"$side\" and .stage == \"$stage\")) |
			length > 0 and all(.end >= .start and .start >= 0 and .busy <= .end - .start)" "$file" >/dev/null || {
			echo "$file: no sane $side $stage"
			return 1
		}
	done
}
bytes_of() { jq -s "map(select(.side == \"$2\" and .stage == \"$3\").bytes) | add" "$1"; }

@test "the trace of both ends: every stage, every byte, and a picture" {
	need_tool python3 jq
	HAULD_UNDER="env HAUL_TRACE=$T/there.trace" pair
	big_file "$T/big" 50000000
	expect 0 haul copy --trace "$T/here.trace" "$T/big" nas:inbox
	wait_for 10 grep -q '"sync"' "$T/there.trace"
	trace_has "$T/here.trace" source read digest send
	trace_has "$T/there.trace" destination receive check write sync commit
	check "$(bytes_of "$T/here.trace" source read)" = 50000000
	check "$(bytes_of "$T/here.trace" source send)" = 50000000
	check "$(bytes_of "$T/there.trace" destination receive)" = 50000000
	check "$(bytes_of "$T/there.trace" destination write)" = 50000000
	check "$(jq -r 'select(.session).session' "$T/here.trace")" = "$(jq -r 'select(.session).session' "$T/there.trace")"
	expect 0 "$PICTURE" "$T/here.trace" "$T/there.trace" -o "$T/picture.svg"
	out_has "source lane 0 send" "destination lane 0 write" "longest idle though fed"
	python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$T/picture.svg"
	grep -c '<rect' "$T/picture.svg" >/dev/null
}

@test "the trace of small files, of a pull and of verify" {
	need_tool jq
	pair
	mkdir "$T/many"
	for i in $(seq 300); do echo "$i" >"$T/many/$i"; done
	expect 0 haul copy --trace "$T/push.trace" "$T/many" nas:inbox
	trace_has "$T/push.trace" source pool-read send
	mkdir "$T/back"
	expect 0 haul copy --trace "$T/pull.trace" nas:inbox/many "$T/back"
	trace_has "$T/pull.trace" destination receive pool-write sync commit
	big_file "$T/big" 5000000
	expect 0 haul copy "$T/big" nas:inbox
	expect 0 haul verify --trace "$T/verify.trace" nas:inbox/big "$T/big"
	trace_has "$T/verify.trace" destination read check
}

@test "the trace of a copy within this machine: one end, every byte read and written, and a picture" {
	need_tool python3 jq
	A=$T/a
	big_file "$T/big" 50000000
	mkdir "$T/to" "$T/many"
	expect 0 haul copy --verify=transfer --trace "$T/big.trace" "$T/big" "$T/to"
	trace_has "$T/big.trace" source read digest
	trace_has "$T/big.trace" destination write sync commit
	check "$(bytes_of "$T/big.trace" source read)" = 50000000
	check "$(bytes_of "$T/big.trace" destination write)" = 50000000
	expect 0 "$PICTURE" "$T/big.trace" -o "$T/picture.svg"
	out_has "source lane 0 read" "destination lane 0 write" "from the first span to the last"
	for i in $(seq 300); do echo "$i" >"$T/many/$i"; done
	expect 0 haul copy --trace "$T/many.trace" "$T/many" "$T/to"
	trace_has "$T/many.trace" source pool-read
	trace_has "$T/many.trace" destination pool-write
}

@test "a picture of what is no trace: one line, exit 1" {
	need_tool python3
	echo 'no trace' >"$T/text"
	echo '[1, 2]' >"$T/list"
	echo '{"job":1,"side":"source"}' >"$T/other"
	: >"$T/empty"
	for file in "$T/nowhere" "$T" "$T/text" "$T/list" "$T/other" "$T/empty"; do
		expect 1 "$PICTURE" "$file"
		check "$(wc -l <"$T/err")" = 1
	done
}

@test "a trace that cannot be made is refused, one that breaks off is a warning" {
	pair
	echo one >"$T/one"
	expect 1 haul copy --trace "$T/no/such/place" "$T/one" nas:inbox
	err_has "$T/no/such/place"
	check ! -e "$SHARE/one"
	expect 0 haul copy --trace /dev/full "$T/one" nas:inbox
	err_has "/dev/full" "incomplete"
	check "$(cat "$SHARE/one")" = one
	expect 1 env HAUL_HOME="$T/c" "$HAULD" --listen 127.0.0.1:0 --trace "$T/no/such/place"
}

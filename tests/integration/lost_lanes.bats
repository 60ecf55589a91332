# A lane that is lost while the connection of the job lives: the job goes on in the same attempt, what it owed goes over
# the others or over its successor, and no more than that is sent twice. Lanes are broken by haul_proxy.
load lib
load proxy
load trees

SMALL_FILES=300

setup() {
	test_begin
	pair
}

teardown() {
	test_end
}

# What one lane of four may owe: its blocks at both ends, of 1 MiB, and what buffers between them hold.
LANE_OWES=$((24 * 1024 * 1024))

# same_attempt TREE COPY [LANES_LOST]: it ended well, nothing was begun again, and little was sent twice.
same_attempt() {
	done_is exit 0 files_total "$FILES" files_sent "$FILES" files_skipped 0 files_failed 0 verified transfer durable true
	check "$(done_field bytes_sent)" -ge "$SIZE"
	check "$(done_field bytes_sent)" -le $((SIZE + ${3:-1} * LANE_OWES))
	check "$(grep -c '"reconnected"' "$T/out")" -eq 0
	err_lacks "trying again"
	has_struck
	same "$1" "$2"
}

# go PUSH|PULL COPY_OPTION...: four lanes, from $T/src/tree to the peer or from the peer to $T/here.
go() {
	local way=$1
	shift
	rm -rf "$SHARE/copy" "$T/here"
	if [ "$way" = push ]; then
		expect 0 haul copy --json --explain --lanes 4 --block 1M "$@" "$T/src/tree" nas:inbox/copy/
		COPY=$SHARE/copy/tree
	else
		[ -d "$SHARE/source" ] || { mkdir "$SHARE/source" && cp -a "$T/src/tree" "$SHARE/source/"; }
		expect 0 haul copy --json --explain --lanes 4 --block 1M "$@" nas:inbox/source/tree "$T/here/"
		COPY=$T/here/tree
	fi
}

@test "one lane of four is reset, at any byte: the others go on, another takes its place, both ways" {
	local way i
	make_tree "$T/src/tree" 40000000
	for way in push pull; do
		for i in 1 2 3; do
			through --lanes --one --reset-after $((20000 + RANDOM * 1000 % (SIZE - 8000000)))
			go "$way"
			same_attempt "$T/src/tree" "$COPY"
			err_has "was lost, 3 go on"
		done
	done
}

@test "one direction of a lane ends: lost, as if it were both" {
	make_tree "$T/src/tree" 40000000
	through --lanes --one --half-after 15000000
	go push
	same_attempt "$T/src/tree" "$COPY"
	through --lanes --one --half-after 15000000
	go pull
	same_attempt "$T/src/tree" "$COPY"
}

@test "all lanes are reset: they come back, and the job goes on" {
	make_tree "$T/src/tree" 40000000
	through --lanes --reset-after 12000000
	go push
	same_attempt "$T/src/tree" "$COPY" 4
	err_has "has another connection after"
	through --lanes --reset-after 12000000
	go pull
	same_attempt "$T/src/tree" "$COPY" 4
}

@test "the only lane is reset, again and again" {
	make_tree "$T/src/tree" 40000000
	through --lanes --reset-after 5000000 --times 6
	go push --lanes 1
	check "$(grep -c '^struck' "$T/proxy.out")" -ge 5
	same_attempt "$T/src/tree" "$COPY" 6
}

@test "a lost lane whose successor is refused: the others do its work" {
	make_tree "$T/src/tree" 40000000
	through --lanes --one --reset-after 9000000 --down
	go push --timeout 2 --bwlimit 6M
	same_attempt "$T/src/tree" "$COPY"
	err_has "none in its place could be had, the others go on"
	done_is lanes 3
	through --lanes --one --reset-after 9000000 --down
	go pull
	same_attempt "$T/src/tree" "$COPY"
	done_is lanes 3
}

@test "one lane of four goes into a hole: found within the time of a dead peer, both ways" {
	export HAUL_DEAD_PEER_MS=3000
	stop_agent "$AGENT_PID"
	restart_b
	make_tree "$T/src/tree" 40000000
	local way begin
	for way in push pull; do
		through --lanes --one --hole-after 9000000
		begin=$SECONDS
		go "$way"
		check $((SECONDS - begin)) -le 15
		same_attempt "$T/src/tree" "$COPY"
		err_has "was lost"
	done
}


@test "small files alone: those of the lost lane are sent again, and no others" {
	mkdir -p "$T/src/tree"
	"$MKTREE" small 1500 3000 "$T/src/tree/many"
	SIZE=$(find "$T/src/tree" -type f -printf '%s\n' | awk '{ n += $1 } END { printf "%d", n }')
	FILES=$(find "$T/src/tree" -type f | wc -l)
	local way
	for way in push pull; do
		through --lanes --one --reset-after $((SIZE / 2))
		go "$way"
		same_attempt "$T/src/tree" "$COPY"
	done
}

@test "a comparison by content loses a lane" {
	make_tree "$T/src/tree" 40000000
	mkdir "$SHARE/copy" && cp -a "$T/src/tree" "$SHARE/copy/tree"
	printf x | dd of="$SHARE/copy/tree/big" bs=1 seek=30000001 conv=notrunc status=none
	through --lanes --one --reset-after 4000
	expect 4 haul verify --json --explain --lanes 4 --block 1M "$T/src/tree" nas:inbox/copy/tree
	has_struck
	err_lacks "trying again"
	done_is files_different 1 files_equal $((FILES - 1))
}

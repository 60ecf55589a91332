# Lanes that retire: after so many records a successor takes over, and nobody notices.
load lib
load trees

setup() {
	test_begin
	pair
	mkdir -p "$T/src/tree/small"
	head -c 70000001 /dev/urandom >"$T/src/tree/big"
	head -c 33000000 /dev/urandom >"$T/src/tree/other"
	"$MKTREE" small 300 4000 "$T/src/tree/small/many"
	export HAUL_LANE_RECORDS=256 # 4 MiB
}

@test "many successors, to the peer: the same content" {
	expect 0 haul copy --lanes 3 --block 1M --json "$T/src/tree" nas:inbox
	done_is files_failed 0 durable true
	same "$T/src/tree" "$SHARE/tree"
	expect 0 haul verify --lanes 2 "$T/src/tree" nas:inbox/tree
	no_leftovers "$SHARE"
}

@test "many successors, from the peer: the same content" {
	cp -a "$T/src/tree" "$SHARE/tree"
	expect 0 haul copy --lanes 3 --block 2M --json nas:inbox/tree "$T/here/"
	done_is files_failed 0 durable true
	same "$T/src/tree" "$T/here/tree"
	expect 0 haul verify --lanes 2 nas:inbox/tree "$T/here/tree"
	no_leftovers "$T/here"
}

@test "a successor that joins in the midst of a block" {
	rm "$T/src/tree/big"
	expect 0 haul copy --lanes 2 --block 4M --bwlimit 40M "$T/src/tree" nas:inbox
	same "$T/src/tree" "$SHARE/tree"
	expect 0 haul copy --lanes 2 --block 4M --bwlimit 40M nas:inbox/tree "$T/here/"
	same "$T/src/tree" "$T/here/tree"
}

@test "thousands of links with long targets: credit comes back in bytes" {
	local target i
	target=$(printf 'x%.0s' {1..200})
	target=$target/$target/$target/$target/$target/$target/$target/$target/$target/$target/$target/$target/$target/$target/$target
	mkdir "$T/src/links"
	for i in $(seq 1 6000); do ln -s "$target" "$T/src/links/$i"; done
	unset HAUL_LANE_RECORDS
	LIMIT=100 expect 0 haul copy "$T/src/links" nas:inbox
	check "$(find "$SHARE/links" -type l | wc -l)" = 6000
}

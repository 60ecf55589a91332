# Random trees with all their metadata, kept by haul sync and judged by rsync -aAX (tests/integration/differential.py). The seeds
# of a longer run: HAUL_TREES=10000 HAUL_TEST_SEED=N.
load lib
load trees

@test "20 random trees, edited between two runs: rsync finds nothing left to do" {
	need_root
	need_tool rsync python3
	touch "$T/probe"
	setfattr -n user.probe -v x "$T/probe" 2>/dev/null && setfacl -m u:1234:r "$T/probe" 2>/dev/null ||
		skip "no extended attributes or ACLs on $T"
	pair full
	mkdir "$T/w"
	export HAUL_HOME=$A
	expect 0 timeout 300 python3 "$BATS_TEST_DIRNAME/differential.py" "$HAUL" "-rlptgoAX" "$T/w" "$SEED" \
		"${HAUL_TREES:-20}" nas:inbox "$SHARE"
}

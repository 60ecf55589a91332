# The programs of tests/fault that run one fault after the other: a small sample, always the same, or a larger one of the
# run's seed at full scale, or, with HAUL_TEST_FAULTS=all, every point there is (of power cuts, which are states and not
# points, as many as at that scale). Loaded after lib.bash.

FAULTS=$ROOT/tests/fault

# faults PROGRAM LIGHT FULL [OPTION...]: with so many points, or states, for each process of each workload.
faults() {
	local program=$1 points=$2 seed=1
	need_tool python3 ldd
	if ldd "$HAUL" | grep -q libtsan; then skip "preloaded libraries and the thread sanitizer do not agree"; fi
	if [ "$SCALE" = full ]; then points=$3 seed=$SEED; fi
	if [ "${HAUL_TEST_FAULTS:-}" = all ]; then points="$points --all"; fi
	# shellcheck disable=SC2086 # words on purpose
	PYTHONDONTWRITEBYTECODE=1 python3 "$FAULTS/$program" "$HAUL_BUILD" "$HAUL_BUILD/tests/integration" "$T/work" \
		--seed "$seed" --points $points "${@:4}"
}

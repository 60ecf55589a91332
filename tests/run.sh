#!/bin/sh
# Everything that proves haul: set-up, build, ctest (unit, simulation, fuzz corpora, checks of the tree), and the
# integration tests with real agents. Asks nothing, needs no terminal, ends with one line:
#
#     N passed, N failed, N skipped
#
# Exit 0 only if something ran and nothing failed. Every skip is listed with its reason before that line.
#
#   HAUL_PRESET       build preset (CMakePresets.json), default release
#   HAUL_CMAKE_ARGS   more arguments for the configure step
#   HAUL_ALSO_CLANG   1: build and run ctest with clang and warnings as errors too
#   HAUL_TEST_SCALE   full or light; default: full for release, light for the sanitizers
#   HAUL_TEST_SEED    seed of the random tests; default: chosen and printed
#   HAUL_TEST_JOBS    builds and tests side by side; default: the number of processors, at most 4
#   HAUL_TEST_SETUP   0: do not install missing packages
#   arguments         names of integration files to run instead of all (tests/run.sh crash network)
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1
exec </dev/null

preset=${HAUL_PRESET:-release}
case $preset in
release) build=$root/build scale=full ;;
*) build=$root/build-$preset scale=light ;;
esac
processors=$(nproc 2>/dev/null || echo 1)
jobs=${HAUL_TEST_JOBS:-$((processors < 4 ? processors : 4))}
seed=${HAUL_TEST_SEED:-$(($(date +%s) % 32768))}
logs=$build/test-logs
passed=0 failed=0 skipped=0
skips='' failures=''

# The closing line, and the exit code that goes with it.
finish() {
	if [ -n "$skips" ]; then printf '\nSkipped:\n%s' "$skips"; fi
	if [ -n "$failures" ]; then printf '\nFailed:\n%s' "$failures"; fi
	echo
	echo "$passed passed, $failed failed, $skipped skipped"
	if [ "$failed" -gt 0 ] || [ "$passed" -eq 0 ]; then exit 1; fi
	exit 0
}

add_failure() {
	failed=$((failed + 1))
	failures="$failures  $1
"
}

add_skip() {
	skipped=$((skipped + 1))
	skips="$skips  $1
"
}

# step NAME LIMIT COMMAND...: one stage that everything after it needs; its output is shown only when it fails.
step() {
	name=$1 limit=$2
	shift 2
	log=$logs/$name.log
	printf '== %s\n' "$name"
	if timeout -k 10 "$limit" "$@" >"$log" 2>&1; then return 0; fi
	echo "-- $name failed: $*"
	tail -n 60 "$log"
	add_failure "$name ($log)"
	return 1
}

# Count what ctest printed: one line a test, "12/40 Test #3: unit.pool ... Passed  0.01 sec".
count_ctest() {
	label=$1 log=$2
	before=$((passed + failed + skipped))
	while read -r line; do
		name=$(echo "$line" | sed 's/^.*Test *#[0-9]*: *\([^ ]*\).*$/\1/')
		case $line in
		*' Passed '*) passed=$((passed + 1)) ;;
		*'***Skipped'*) add_skip "$label $name: its own check of what it needs said no" ;;
		*) add_failure "$label $name ($log)" ;;
		esac
	done <<-LINES
		$(grep -E '^ *[0-9]+/[0-9]+ Test +#[0-9]+:' "$log")
	LINES
	[ $((passed + failed + skipped)) -gt "$before" ] || add_failure "$label: ctest ran no test ($log)"
}

# A program that passed may have left out single cases: it said "skipped: REASON" for each.
list_skips() {
	label=$1 log=$2
	while read -r line; do
		[ -z "$line" ] || add_skip "$label $line"
	done <<-LINES
		$(awk '/^[0-9]+\/[0-9]+ Test: / { name = $3 } sub(/^skipped: /, "") { print name ": " $0 }' "$log" | sort -u)
	LINES
}

run_ctest() {
	label=$1 dir=$2
	log=$logs/$label.log
	printf '== %s\n' "$label"
	timeout -k 10 900 ctest --test-dir "$dir" -j "$jobs" --output-on-failure --timeout 120 >"$log" 2>&1
	grep -q '^No tests were found' "$log" && add_failure "$label: no tests ($log)" && return
	count_ctest "$label" "$log"
	list_skips "$label" "$dir/Testing/Temporary/LastTest.log"
	if grep -q 'tests failed out of' "$log" && ! grep -q ' 0 tests failed out of' "$log"; then
		echo "-- $label failed"
		grep -vE '^ *(Start|[0-9]+/[0-9]+ Test .*Passed)' "$log" | tail -n 80
	fi
}

# Run one bats file, bounded, in a mount namespace of its own where that is possible: what it mounts goes with it.
cat_runner() {
	cat <<'RUNNER'
file=$1
name=$(basename "$file" .bats)
apart=
if [ "$(id -u)" = 0 ] && unshare -m --propagation private true 2>/dev/null; then
	apart='unshare -m --propagation private'
fi
started=$(date +%s)
TMPDIR=$HAUL_TEST_TMP/$name
export TMPDIR
mkdir -p "$TMPDIR"
timeout -k 20 "$HAUL_TEST_FILE_LIMIT" $apart bats --tap "$file" >"$HAUL_TEST_LOGS/$name.tap" 2>&1
echo "rc $? $(($(date +%s) - started))" >"$HAUL_TEST_LOGS/$name.end"
rm -rf "$TMPDIR"
read -r _ rc seconds <"$HAUL_TEST_LOGS/$name.end"
echo "   $name: exit $rc after $seconds s"
RUNNER
}

# Files that say "alone" in their first lines measure something, and get the machine for themselves.
is_alone() {
	head -n 3 "$1" | grep -q '^# alone'
}

run_bats() {
	printf '== integration (scale %s, seed %s)\n' "$scale" "$seed"
	HAUL_TEST_TMP=$(mktemp -d "$build/t.XXXXXX") || exit 1
	HAUL_TEST_LOGS=$logs HAUL_TEST_FILE_LIMIT=1200 HAUL_BUILD=$build
	BATS_TEST_TIMEOUT=800 HAUL=$build/bin/haul HAULD=$build/bin/hauld HAUL_TEST_SCALE=$scale HAUL_TEST_SEED=$seed
	export BATS_TEST_TIMEOUT HAUL_TEST_TMP HAUL_TEST_LOGS HAUL_TEST_FILE_LIMIT HAUL_BUILD HAUL HAULD HAUL_TEST_SCALE HAUL_TEST_SEED
	rm -f "$logs"/*.tap "$logs"/*.end
	cat_runner >"$logs/runner.sh"
	side_by_side='' alone=''
	for file in $files; do
		if is_alone "$file"; then alone="$alone $file"; else side_by_side="$side_by_side $file"; fi
	done
	side=$((jobs < 2 ? jobs : 2))
	# shellcheck disable=SC2086 # lists of words
	[ -z "$side_by_side" ] || printf '%s\n' $side_by_side | xargs -P "$side" -n 1 sh "$logs/runner.sh"
	for file in $alone; do sh "$logs/runner.sh" "$file"; done
	rm -rf "$HAUL_TEST_TMP"
	for file in $files; do count_tap "$(basename "$file" .bats)"; done
}

# Count one file's TAP. A plan that was not played to its end is a failure for each test missing.
count_tap() {
	name=$1
	tap=$logs/$name.tap
	planned=$(sed -n 's/^1\.\.\([0-9]*\)$/\1/p' "$tap" 2>/dev/null | head -n 1)
	if [ -z "$planned" ]; then
		add_failure "$name: did not start ($tap)"
		tail -n 20 "$tap"
		return
	fi
	seen=0
	while IFS= read -r line; do
		case $line in
		'ok '*' # skip'*)
			seen=$((seen + 1))
			text=$(echo "$line" | sed 's/^ok [0-9]* //; s/ # skip */: /; s/[()]//g')
			add_skip "$name: $text"
			;;
		'ok '*) seen=$((seen + 1)) passed=$((passed + 1)) ;;
		'not ok '*)
			seen=$((seen + 1))
			add_failure "$name: ${line#not ok * } ($tap)"
			;;
		esac
	done <"$tap"
	grep -q '^not ok' "$tap" && sed -n '/^not ok/,/^ok/p' "$tap" | grep -v '^ok' | head -n 120
	if [ "$seen" -lt "$planned" ]; then add_failure "$name: $((planned - seen)) tests cut off by the limit ($tap)"; fi
}

scale=${HAUL_TEST_SCALE:-$scale}
mkdir -p "$logs"
if [ "${HAUL_TEST_SETUP:-1}" != 0 ]; then step setup 900 sh cmake/setup.sh tests || finish; fi
# shellcheck disable=SC2086 # words on purpose
step configure 900 cmake --preset "$preset" -DHAUL_TESTS=ON ${HAUL_CMAKE_ARGS:-} || finish
step build 1500 cmake --build "$build" -j "$jobs" || finish

files=''
if [ $# -gt 0 ]; then
	for name in "$@"; do files="$files tests/integration/$name.bats"; done
else
	files=$(ls tests/integration/*.bats)
	run_ctest ctest "$build"
	if [ "${HAUL_ALSO_CLANG:-0}" = 1 ]; then
		clang_args='-G Ninja -DCMAKE_C_COMPILER=clang -DHAUL_WERROR=ON'
		# shellcheck disable=SC2086 # words on purpose
		step clang-configure 900 cmake -B build-clang $clang_args &&
			step clang-build 1500 cmake --build build-clang -j "$jobs" && run_ctest clang-ctest build-clang
	fi
fi
run_bats
finish

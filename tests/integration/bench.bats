# The bench itself: that its harness runs subjects, leaves out what cannot run, names what fails, counts right, draws a
# chart that is well-formed, and leaves nothing behind. No speed is asserted.
load lib

setup() {
	test_begin
	export HAUL_BUILD BENCH_DIR=$T/bench BENCH_RESULTS=$T/results BENCH_TOUCH_GIB=0 BENCH_INSTALL=0
	export BENCH_SCALE=0.002 # of big: 6.4 MB
	[ -x "$HAUL_BUILD/bin/haul_limit" ] || fail_with "the bench's programs are not built in $HAUL_BUILD"
}

bench() { "$ROOT/bench/run.sh" "$@"; }

# Nothing of the run is left: processes, mounts, loop devices, namespaces, directories.
nothing_left() {
	if pgrep -f "$T/bench/run\."; then fail_with "a process is left"; fi
	no_line "$T/bench" /proc/mounts
	losetup -a >"$T/loops"
	no_line "$T/bench" "$T/loops"
	if compgen -G "$T/bench/run.*"; then fail_with "the working directory is left"; fi
}

the_csv() { find "$T/results" -name "*-$1.csv"; }

@test "bench: three subjects, two rounds, in turn, and a chart" {
	BENCH_SUBJECTS='limit haul cp' expect 0 bench big 2
	csv=$(the_csv big)
	grep -v '^#' "$csv" | cut -d , -f 1-3 >"$T/lines"
	diff - "$T/lines" <<-LINES
		what,round,subject
		big,1,limit
		big,1,haul
		big,1,cp
		big,2,haul
		big,2,cp
		big,2,limit
	LINES
	awk -F , '!/^#|^what/ && !($4 > 0 && $5 > 0 && $6 >= 0) { bad = 1 } END { exit bad }' "$csv"
	grep -q '^# .*1 files, 6400000 bytes' "$csv"
	grep -q '^# subject haul: haul [0-9].*: haul copy' "$csv"
	grep -qE '^haul +2 .* 1\.00 \[1\.00, 1\.00\]' "$T/out"
	grep -qE '^# memory haul in round 2: haul [1-9][0-9]* MiB, hauld [1-9][0-9]* MiB' "$csv"
	python3 - "${csv%.csv}.svg" <<-'PYTHON'
		import sys, xml.etree.ElementTree as tree
		root = tree.parse(sys.argv[1]).getroot()
		bars = root.findall("{http://www.w3.org/2000/svg}rect")
		assert root.tag.endswith("svg") and len(bars) == 3, len(bars)
		assert all(float(bar.get("width")) > 0 for bar in bars)
	PYTHON
	nothing_left
}

@test "bench: a subject that cannot run is left out with its reason" {
	BENCH_SUBJECTS='cp mv' expect 0 bench big 1
	grep -q '^# skipped mv: it has nothing for the action copy' "$(the_csv big)"
	no_line '^big,.*,mv,' "$(the_csv big)"
	BENCH_SUBJECTS='cp limit' expect 0 bench local-small 1
	grep -q '^# skipped limit: it moves one file, and here are 40' "$(the_csv local-small)"
	nothing_left
}

@test "bench: a subject that does not bring everything over is named, and the rest goes on" {
	# A cp that leaves one file out stands before the real one.
	mkdir "$T/bin"
	printf '#!/bin/sh\n[ "$1" = --version ] && exec %s --version\n%s "$@" && for d; do :; done && rm "$(find "$d" -type f | head -n 1)"\n' \
		"$(command -v cp)" "$(command -v cp)" >"$T/bin/cp"
	chmod +x "$T/bin/cp"
	PATH=$T/bin:$PATH BENCH_SUBJECTS='haul cp' expect 1 bench small 2
	grep -q '^# failed cp: 39 561600 files and bytes arrived of 40 576000' "$(the_csv small)"
	[ "$(grep -c '^small,.*,haul,' "$(the_csv small)")" = 2 ]
	no_line '^small,.*,cp,' "$(the_csv small)"
	nothing_left
}

@test "bench: what is no workload, no subject, or no number of rounds is refused" {
	expect 1 bench nothing-of-this-name
	expect 1 bench
	expect 1 bench big none
	for scale in foo 0 -1 1x . 0.0 1.2.3; do
		BENCH_SCALE=$scale expect 1 bench big 1
		grep -q 'BENCH_SCALE is a number' "$T/err"
	done
	expect 0 bench --help
	grep -q '^Usage: bench/run.sh' "$T/out"
	BENCH_SUBJECTS=nobody expect 1 bench big 1
	csv=$(the_csv big)
	[ -z "$csv" ] || no_line '^big,' "$csv"
	nothing_left
}

@test "bench: two limited disks and a link, taken down afterwards" {
	need_root
	need_tool ip
	ip netns list >/dev/null 2>&1 || skip "needs network namespaces"
	export BENCH_SCALE=0.01 # 16 MB
	export SHAPE_PREFIX=haul-bench$$
	BENCH_SUBJECTS='limit-read haul' expect '0|1' bench slow-source 1
	if grep -qF 'blkio (cgroup v1) cannot be mounted' "$T/err"; then skip "blkio (cgroup v1) cannot be mounted"; fi
	[ "$GOT" = 0 ] || { show_output; false; }
	# 200 MB/s: what is read takes 80 ms at least, however fast the machine is.
	awk -F , '$3 == "limit-read" && $4 < 0.07 { exit 1 }' "$(the_csv slow-source)"
	grep -q '^slow-source,1,haul,' "$(the_csv slow-source)"
	ip netns list >"$T/spaces"
	no_line "$SHAPE_PREFIX" "$T/spaces"
	nothing_left
}

@test "bench: summary and limits are counted right" {
	cat >"$T/session.csv" <<-CSV
		# a session
		# reference haul
		what,round,subject,seconds,mb_per_s,cpu_seconds,cpu_s_per_gb
		big,1,haul,2.0,50,1.0,10
		big,1,scp,4.0,25,3.0,30
		big,1,limit,1.0,100,0.1,1
		big,1,limit-phased,3.0,33.3,0.1,1
		big,2,haul,4.0,25,1.2,12
		big,2,scp,12.0,8.3,3.0,30
		big,2,limit,5.0,20,0.1,1
		big,2,limit-phased,3.0,33.3,0.1,1
	CSV
	awk -f "$ROOT/bench/summary.awk" "$T/session.csv" | tr -s ' ' >"$T/summary"
	grep -q '^haul 2 3.000 37.5 1.10 11.00 1.00 \[1.00, 1.00\]' "$T/summary"
	grep -q '^scp 2 8.000 16.6 3.00 30.00 2.50 \[2.10, 2.90\]' "$T/summary"
	# The better of the two in each round: 1 s and 3 s, against haul's 2 s and 4 s.
	grep -q '^L 2 2.000 .*0.62 \[0.53, 0.72\]' "$T/summary"
}

@test "bench: inputs are the same each time they are made" {
	local made
	for made in one two; do
		"$HAUL_BUILD/bin/haul_make_input" -d 9 -l 2 -n 3 -s 10:5000 "$T/$made"
		find "$T/$made" -type d -exec touch -d @0 {} +
	done
	expect 0 "$TREECMP" "$T/one" "$T/two"
	[ "$(find "$T/one" -type f | wc -l)" = 27 ]
	[ "$(find "$T/one" -mindepth 1 -type d | wc -l)" = 12 ]
}

# haul diagnose: what it prints, what rights keep it from, that nothing is left, and that it names the part that was made
# narrow on purpose.
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

# The stage of that name in the JSON of the last run: a field of it.
stage() { jq -r "select(.event == \"stage\" and .stage == \"$1\") | .$2" "$T/out"; }
verdict() { jq -r "select(.event == \"diagnosis\") | .$1" "$T/out"; }

named() {
	[ "$(verdict narrowest)" = "$1" ] && return 0
	echo "named: $(verdict narrowest), not $1"
	show_output
	return 1
}

# Nothing lies in a share or a directory that was not there before.
nothing_left() {
	local found
	found=$(find "$@" -mindepth 1 ! -name lost+found)
	[ -z "$found" ] || { echo "left behind: $found"; return 1; }
}

ALL="disk-write disk-read digest tls-aes-128-gcm tls-aes-256-gcm network-to-peer network-from-peer peer-disk-write
	peer-disk-read whole"

@test "every part is measured, the narrowest named, nothing left" {
	pair
	mkdir "$T/here"
	truncate -s 80M "$SHARE/big"
	expect 0 haul diagnose --json "$T/here" nas:inbox
	for part in $ALL; do
		check "$(stage "$part" measured)" = true
		check "$(stage "$part" 'bytes_per_s > 1000000')" = true
	done
	check "$(verdict by)" = waiting
	verdict 'narrowest | type' | grep -q string
	verdict 'help | length > 10' | grep -q true
	check "$(verdict peer)" = nas
	done_is exit 0
	nothing_left "$T/here"
	rm "$SHARE/big"
	nothing_left "$SHARE"
}

@test "a table for people" {
	pair
	cd "$T"
	mkdir here
	expect 0 haul diagnose here nas:inbox
	out_has "disk here, reading" "TLS, AES-256-GCM" "network, to the peer" "Narrowest: " "What would help: " "nothing of 64 MiB"
	check ! -s "$T/err"
}

@test "this machine alone; a file is only read; a place that is not there" {
	A=$T/a
	mkdir "$T/here"
	expect 0 haul diagnose --json "$T/here"
	check "$(stage disk-read measured)" = true
	check "$(stage network-to-peer measured)" = ""
	verdict narrowest | grep -qE 'disk|cpu'
	nothing_left "$T/here"
	head -c 70000000 /dev/urandom >"$T/file"
	expect 0 haul diagnose --json "$T/file"
	check "$(stage disk-read measured)" = true
	check "$(stage disk-write measured)" = false
	check "$(verdict 'cpu_bytes_per_s > 1000000')" = true
	check "$(done_field 'elapsed_s > 1')" = true
	expect 2 haul diagnose "$T/nowhere"
	err_has "$T/nowhere"
	expect 0 haul diagnose "$T/file"
	out_has "Digests and TLS together, $(nproc) core" ", by the slowest part alone"
	out_lacks "it writes" # nobody measured that
	head -c 70000 /dev/urandom >"$T/short"
	expect 0 haul diagnose "$T/short"
	out_has "shorter than 4 MiB"
	expect 1 haul diagnose "$T/here" "$T/file"
	expect 1 haul diagnose nas:
	expect 1 haul diagnose --lanes 0 "$T/here"
	for place in /proc /proc/self/status /sys; do
		expect 1 haul diagnose "$place"
		err_has "$place: not a place to write to"
		check ! -s "$T/out"
	done
}

@test "rights: without create no writing there, without read no reading; without a share nothing" {
	pair list,read
	mkdir "$T/here"
	truncate -s 80M "$SHARE/big"
	expect 0 haul diagnose --json "$T/here" nas:inbox
	check "$(stage peer-disk-write measured)" = false
	stage peer-disk-write note | grep -qF '"create"'
	check "$(stage peer-disk-read measured)" = true
	check "$(stage network-to-peer measured)" = true
	check "$(stage whole measured)" = false
	check "$(verdict by)" = slowest-stage
	expect 0 haul_b peer allow edit1 inbox=create
	expect 0 haul diagnose --json "$T/here" nas:inbox
	check "$(stage peer-disk-write measured)" = true
	check "$(stage peer-disk-read measured)" = false
	stage peer-disk-read note | grep -qF '"read"'
	expect 6 haul diagnose "$T/here" nas:other
	err_has 'nas offers this device no share "other" (offered: inbox)'
	check ! -s "$T/out" # before anything is measured
	expect 6 haul diagnose --json "$T/here" nas:other
	check "$(stage disk-write measured)" = ""
	done_is exit 6
	expect 6 haul diagnose "$T/here" nobody:inbox
	expect 2 haul diagnose "$T/nowhere" nas:other # what is wrong here is said first
	stop_agent "$AGENT_PID"
	expect 5 haul diagnose "$T/here" nas:inbox
	check ! -s "$T/out"
}

@test "rights of one kind, and an agent of an ordinary user: each part that cannot be measured says why" {
	test_in_the_open
	need_user
	pair list
	stop_agent "$AGENT_PID"
	chown -R 1234:1234 "$B" "$SHARE"
	HAULD_UNDER="setpriv --reuid=1234 --regid=1234 --clear-groups --" restart_b
	mkdir "$T/here"
	truncate -s 80M "$SHARE/big"
	expect 0 haul diagnose --json "$T/here" nas:inbox
	check "$(stage network-to-peer measured)" = true
	check "$(stage peer-disk-write measured)" = false
	stage peer-disk-write note | grep -qF '"create"'
	check "$(stage peer-disk-read measured)" = false
	stage peer-disk-read note | grep -qF '"read"'
	check "$(stage whole measured)" = false
	HAUL_HOME=$B expect 0 as_user "$HAUL" peer allow edit1 inbox=create
	expect 0 haul diagnose --json "$T/here" nas:inbox
	check "$(stage peer-disk-write measured)" = true
	check "$(stage whole measured)" = true
	check "$(stage peer-disk-read measured)" = false
}

@test "killed in the midst, on either side: nothing is left in the share" {
	pair
	mkdir "$T/here"
	HAUL_HOME=$A "$HAUL" diagnose "$T/here" nas:inbox >"$T/out" 2>"$T/err" </dev/null 3>&- &
	local pid=$! got=0
	OTHERS+=("$pid")
	wait_for 60 is_arriving "$SHARE"
	kill -9 "$pid"
	wait "$pid" || got=$?
	check "$got" = 137
	wait_for 20 sh -c "! find '$SHARE' -type f | grep -q ."
	HAUL_HOME=$A "$HAUL" diagnose "$T/here" nas:inbox >"$T/out" 2>"$T/err" </dev/null 3>&- &
	pid=$! got=0
	OTHERS=("$pid")
	wait_for 60 is_arriving "$SHARE"
	kill_agent "$AGENT_PID"
	wait "$pid" || got=$?
	OTHERS=()
	check "$got" = 5
	restart_b
	echo one >"$T/one"
	expect 0 haul copy "$T/one" nas:inbox # the next job sweeps
	check "$(find "$SHARE" -type f | wc -l)" = 1
	nothing_left "$T/here"
}

@test "interrupted: 130, done is the last line" {
	pair
	mkdir "$T/here"
	# A job in the background of a shell ignores SIGINT; env gives it back.
	HAUL_HOME=$A env --default-signal=INT "$HAUL" diagnose --json "$T/here" nas:inbox \
		>"$T/out" 2>"$T/err" </dev/null 3>&- &
	local pid=$! rc=0
	wait_for 30 grep -q disk-write "$T/out"
	kill -INT "$pid"
	wait "$pid" || rc=$?
	check "$rc" = 130
	done_is exit 130
	nothing_left "$T/here"
}

@test "a hangup that is ignored (nohup) does not end it" {
	A=$T/a
	mkdir "$T/here"
	HAUL_HOME=$A env --ignore-signal=HUP "$HAUL" diagnose --json "$T/here" >"$T/out" 2>"$T/err" </dev/null 3>&- &
	local pid=$! rc=0
	wait_for 30 grep -q disk-write "$T/out"
	kill -HUP "$pid"
	wait "$pid" || rc=$?
	check "$rc" = 0
	check "$(stage disk-read measured)" = true
	done_is exit 0
}

@test "a link of 300 Mb/s is the narrowest" {
	slow_link 300
	HAULD_UNDER="ip netns exec $SLOW_SPACE" LISTEN=$SLOW_THERE:0 pair
	mkdir "$T/here"
	expect 0 haul diagnose --json "$T/here" nas:inbox
	named network
	check "$(stage network-to-peer 'bytes_per_s < 40000000')" = true
	check "$(stage network-to-peer 'bytes_per_s > 20000000')" = true
}

@test "a slow destination is the narrowest" {
	slow_disk share 400
	pair
	slow_group there write "$T/share" 20000000
	slow_down "$AGENT_PID"
	mkdir "$T/here"
	expect 0 haul diagnose --json "$T/here" nas:inbox
	named destination-disk
	check "$(stage peer-disk-write 'bytes_per_s < 30000000')" = true
}

@test "a slow source is the narrowest" {
	slow_disk here 400
	pair
	slow_group here read "$T/here" 20000000
	expect 0 slowly diagnose --json "$T/here" nas:inbox
	named source-disk
	check "$(stage disk-read 'bytes_per_s < 30000000')" = true
}

@test "a single lane on a machine with more cores is the narrowest" {
	[ "$(nproc)" -ge 2 ] || skip "needs two cores"
	mount_loop tmpfs 900 "$T/fast"
	mkdir "$T/fast/share" "$T/fast/here"
	SHARE_AT=$T/fast/share pair
	expect 0 haul diagnose --json --lanes 1 "$T/fast/here" nas:inbox
	named lanes
	verdict help | grep -qF -- --lanes
}

# The same bytes whatever carries them: both back ends, direct or through the cache, one lane or eight, on every file
# system there is.
load lib
load trees

setup() {
	test_begin
	make_mixed "$T/mixed"
	"$MKTREE" big 40000005 "$T/mixed/large"
}

there_and_back() {
	expect 0 haul copy "$@" "$T/mixed" nas:inbox/in
	same "$T/mixed" "$SHARE/in/mixed"
	expect 0 haul verify "$T/mixed" nas:inbox/in/mixed
	expect 0 haul copy "$@" nas:inbox/in/mixed/ "$BACK/back"
	same "$T/mixed" "$BACK/back"
	no_leftovers "$SHARE"
}

@test "thread-pool back end at both ends" {
	BACK=$T
	export HAUL_ENGINE=threads
	pair
	there_and_back
	expect 0 haul copy --explain "$T/mixed" nas:inbox/explained
	grep -i thread "$T/err"
}

@test "ring at one end, thread pool at the other" {
	BACK=$T
	HAUL_ENGINE=threads pair
	there_and_back
}

@test "--direct=never, always and auto" {
	BACK=$T
	pair
	local mode
	for mode in never always auto; do
		there_and_back "--direct=$mode"
		rm -rf "$SHARE/in" "$T/back"
	done
}

@test "1 lane and 8 lanes" {
	BACK=$T
	pair
	there_and_back --lanes 1
	rm -rf "$SHARE/in" "$T/back"
	there_and_back --lanes 8
}

# on_file_system KIND MEGABYTES: source and destination of both directions lie there.
on_file_system() {
	mount_loop "$1" "$2" "$T/fs"
	mkdir "$T/fs/share" "$T/fs/src"
	cp -a "$T/mixed" "$T/fs/src/mixed"
	SHARE_AT=$T/fs/share BACK=$T/fs
	pair
	there_and_back
	rm -rf "$SHARE/in" "$BACK/back"
	there_and_back --direct=never
	rm -rf "$SHARE/in" "$BACK/back"
	HAUL_ENGINE=threads there_and_back
	expect 0 haul copy "$T/fs/src/mixed" nas:inbox/same
	same "$T/mixed" "$SHARE/same/mixed"
}

@test "on ext4" { on_file_system ext4 600; }
@test "on XFS" { on_file_system xfs 600; }
@test "on btrfs" { on_file_system btrfs 600; }
@test "on tmpfs" { on_file_system tmpfs 600; }

@test "ext4 with 1 KiB blocks, and XFS with 512-byte sectors" {
	mount_loop ext4 600 "$T/fs" -b 1024
	SHARE_AT=$T/fs/share BACK=$T/fs
	pair
	there_and_back
}

# payload_calls TRACE DIRECTORY...: reads and writes of 64 KiB and more, outside the ring, on files in one of these.
payload_calls() {
	local trace=$1 dir
	shift
	for dir in "$@"; do
		grep -hE "(read|pread64|readv|preadv2?|write|pwrite64|writev|pwritev2?|sendfile|splice|copy_file_range)\([0-9]+<$dir" \
			"$trace"* | grep -E '= [0-9]{5,}$' | grep -vE '= [1-5][0-9]{4}$' || true
	done | head -n 5
}

@test "a big transfer goes through io_uring and O_DIRECT at both ends, and no other way" {
	need_tool strace
	strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"
	# A leak check cannot run inside a tracer.
	export ASAN_OPTIONS=detect_leaks=0
	local calls=io_uring_setup,io_uring_enter,openat,openat2,fcntl,read,pread64,readv,preadv,preadv2
	calls=$calls,write,pwrite64,writev,pwritev,pwritev2,sendfile,splice,copy_file_range
	local probe=$T/probe
	dd if="$T/mixed/large" of="$probe" bs=4096 count=1 oflag=direct status=none 2>/dev/null ||
		skip "no direct I/O on the file system of the tests"
	"$MKTREE" big 268435456 "$T/big"
	HAULD_UNDER="strace -f -y -e trace=$calls -o $T/trace.hauld" pair
	HAUL_HOME=$A expect 0 timeout "$LIMIT" strace -f -y -e "trace=$calls" -o "$T/trace.haul" \
		"$HAUL" copy "$T/big" nas:inbox
	same "$T/big" "$SHARE/big"
	grep -q 'io_uring_setup(' "$T/trace.haul" || fail_with "no ring was asked for"
	grep -q 'io_uring_setup(.*= [0-9]' "$T/trace.haul" || skip "this machine has no io_uring"
	check "$(grep -c 'io_uring_enter' "$T/trace.haul")" -ge 16
	check "$(grep -c 'io_uring_enter' "$T/trace.hauld")" -ge 16
	grep -E 'O_DIRECT' "$T/trace.haul" | grep -q "big"
	grep -q 'O_DIRECT' "$T/trace.hauld"
	check -z "$(payload_calls "$T/trace.haul" "$T/big")"
	check -z "$(payload_calls "$T/trace.hauld" "$SHARE")"
	# The tracer passes SIGTERM on to nobody: end the agent itself.
	local agent
	agent=$(pgrep -P "$AGENT_PID" | head -n 1)
	kill -TERM "$agent"
	wait_for 10 is_gone "$AGENT_PID"
	forget_agent "$AGENT_PID"
}

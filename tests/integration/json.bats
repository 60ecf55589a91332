# --json: one object a line, `start` first, `done` last and always, every field of CLI.md there and of its type.
load lib
load trees

setup() {
	test_begin
	pair
	make_mixed "$T/mixed"
}

DONE_NUMBERS="exit files_total files_sent files_skipped files_deleted files_kept files_failed entries_total bytes_total
	bytes_sent bytes_reused bytes_resumed files_sent_again cpu_s peer_cpu_s elapsed_s rate_bytes_per_s lanes files_verified_transfer files_verified_disk files_unread"

# Every line is an object with a known event, and the frame of start and done is kept.
check_stream() {
	local line field
	while IFS= read -r line; do
		printf '%s' "$line" | jq -e 'type == "object" and (.event | IN("start", "progress", "file", "reconnected", "warning", "error", "done"))' \
			>/dev/null || { echo "not an event: $line"; return 1; }
	done <"$T/out"
	check "$(grep -c '"done"' "$T/out")" -eq 1
	for field in $DONE_NUMBERS; do
		tail -n 1 "$T/out" | jq -e ".$field | type == \"number\"" >/dev/null || {
			echo "done: $field is not a number"
			tail -n 1 "$T/out"
			return 1
		}
	done
	tail -n 1 "$T/out" | jq -e '(.reasons | type == "array") and (.durable | type == "boolean") and has("verified") and
		has("job_root") and has("limited_by")' >/dev/null
}

@test "a good run" {
	expect 0 haul copy --json "$T/mixed" nas:inbox
	check_stream
	check "$(head -n 1 "$T/out" | jq -r .event)" = start
	check "$(head -n 1 "$T/out" | jq -r .schema)" = 1
	head -n 1 "$T/out" | jq -e 'has("landing")' >/dev/null
	head -n 1 "$T/out" | grep -qF nas:inbox/mixed
	local files bytes
	files=$(find "$T/mixed" -type f | wc -l)
	bytes=$(find "$T/mixed" -type f -printf '%s\n' | awk '{ n += $1 } END { printf "%d", n }')
	done_is exit 0 files_total "$files" files_sent "$files" files_failed 0 bytes_total "$bytes" bytes_sent "$bytes" \
		verified transfer files_verified_transfer "$files" files_unread 0 durable true
	check "$(done_field entries_total)" -ge "$files"
	check "$(done_field 'job_root | length')" -ge 32
}

@test "a second run: skipped files were not read, so verified is false" {
	expect 0 haul copy "$T/mixed" nas:inbox
	expect 0 haul copy --json "$T/mixed" nas:inbox
	check_stream
	local files
	files=$(find "$T/mixed" -type f | wc -l)
	done_is exit 0 files_sent 0 files_skipped "$files" bytes_sent 0 verified false files_unread "$files"
}

@test "both ends compute the same job root, whichever sends" {
	expect 0 haul copy --json "$T/mixed/" nas:inbox/x
	local push
	push=$(done_field job_root)
	expect 0 haul copy --json nas:inbox/x/ "$T/back"
	check "$(done_field job_root)" = "$push"
}

@test "refused before anything happened" {
	expect 1 haul copy --json "$T/mixed"
	check_stream
	done_is exit 1 files_sent 0
	expect 1 haul copy --json --no-such-option "$T/mixed" nas:inbox
	check_stream
	expect 6 haul copy --json "$T/mixed" nass:inbox
	check_stream
	done_is exit 6
	check "$(done_field reasons)" = '[6]'
	grep '"error"' "$T/out" | head -n 1 | jq -e 'has("code") and has("side") and has("text") and has("path") and has("remedy")' >/dev/null
}

@test "not reachable" {
	stop_agent "$AGENT_PID"
	expect 5 haul copy --json "$T/mixed" nas:inbox
	check_stream
	done_is exit 5
}

@test "several reasons: all are listed, the first decides" {
	mkdir -p "$SHARE/mixed/hello.txt"
	expect 3 haul copy --json "$T/mixed" "$T/absent" nas:inbox
	check_stream
	done_is exit 3 files_failed 1
	out_has hello.txt absent
}

@test "a path that is not UTF-8 comes with path_b64" {
	mkdir "$T/odd"
	printf x >"$T/odd/"$'bad\xff\xfename'
	expect 0 haul copy --json "$T/odd" nas:inbox
	check_stream
	local b64
	b64=$(grep '"file"' "$T/out" | jq -r 'select(.path_b64 != null) | .path_b64' | head -n 1)
	printf '%s' "$b64" | base64 -d | grep -qa $'bad\xff\xfename'
}

@test "progress each second, never backwards, never over the total once that is final" {
	"$MKTREE" big 30000000 "$T/big"
	expect 0 haul copy --json --bwlimit 8M "$T/big" nas:inbox
	check_stream
	check "$(grep -c '"progress"' "$T/out")" -ge 2
	check "$(grep -c '"progress"' "$T/out")" -le 12
	grep '"progress"' "$T/out" | jq -s -e '[.[].bytes_done] | . == sort' >/dev/null
}

@test "verify tells what differs, with the offset" {
	expect 0 haul copy "$T/mixed" nas:inbox
	"$MKTREE" big 5000000 "$T/mixed/large"
	expect 0 haul copy "$T/mixed" nas:inbox
	flip "$SHARE/mixed/large" 4000000
	expect 4 haul verify --json "$T/mixed" nas:inbox/mixed
	check_stream
	done_is exit 4
	offset_named 4000000 large
}

@test "--failed-to lists raw names with NUL, --log-file keeps the lines" {
	mkdir -p "$SHARE/mixed/hello.txt"
	expect 3 haul copy --failed-to "$T/failed" --log-file "$T/log" "$T/mixed" nas:inbox
	tr '\0' '\n' <"$T/failed" | grep -q 'hello.txt$'
	grep -q hello.txt "$T/log"
}

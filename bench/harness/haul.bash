# Two homes of haul: the client's $state/a and the server's $state/b with a hauld. It offers $dst as bench and $src as
# source.

haul_at_client() { HAUL_HOME=$state/a "${client[@]}" "$bin/haul" "$@"; }
# The same, measured: the most memory it had goes to $state/peak.
haul_measured() { HAUL_HOME=$state/a "${client[@]}" "$bin/haul_peak" "$state/peak" "$bin/haul" "$@"; }
haul_at_server() { HAUL_HOME=$state/b "${server[@]}" "$bin/haul" "$@"; }

haul_start() {
	local id_a id_b
	id_a=$(haul_at_client id --json | device_id_of)
	id_b=$(haul_at_server id --json | device_id_of)
	[ -n "$id_a" ] && [ -n "$id_b" ] || return 1
	{
		haul_at_server share add bench "$dst"
		haul_at_server share add source "$src"
		haul_at_server peer add "$id_a" --name bench-a --allow bench=full --allow source=reader
	} >"$state/setup.log" 2>&1
	HAUL_HOME=$state/b start_service hauld "$bin/hauld" --listen "$host:0"
	wait_for 100 grep -q '^listening ' "$state/hauld.log" || return 1
	haul_at_client peer add "$id_b" --name nas \
		--address "$(sed -n 's/^listening //p' "$state/hauld.log" | head -n 1)" >>"$state/setup.log" 2>&1
}

device_id_of() { grep -oE '[A-Z2-7]{4,}(-[A-Z2-7]{4,}){3,}' | head -n 1; }

# The most memory that the last command and, since its start, the agent had resident.
haul_memory() {
	local agent=
	[ ! -f "$state/pids" ] || agent=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) .*/\1/p' "/proc/$(head -n 1 "$state/pids")/status")
	awk -v haul="$(cat "$state/peak")" -v agent="$agent" 'BEGIN {
		printf "haul %.0f MiB", haul / 1024
		if (agent != "") printf ", hauld %.0f MiB since its start", agent / 1024
		printf "\n" }'
}

haul_version() { "$bin/haul" --version | head -n 1; }

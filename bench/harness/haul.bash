# Two homes of haul: the client's $state/a and the server's $state/b with a hauld. It offers $dst as bench and $src as
# source.

haul_at_client() { HAUL_HOME=$state/a "${client[@]}" "$bin/haul" "$@"; }
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

haul_version() { "$bin/haul" --version | head -n 1; }

# Is the verb, with these arguments, one of this version? It is tried on files of the bench's own.
haul_knows() {
	if HAUL_HOME=$state/a "$bin/haul" "$@" >"$state/knows.log" 2>&1; then return 0; fi
	skip_reason=$(tail -n 1 "$state/knows.log" | sed 's/ Use .*//')
	return 1
}

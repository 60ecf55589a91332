# haul_proxy between A and B. Loaded after lib.bash.

# through OPTION...: from now on A reaches B through a proxy with these.
through() {
	local proxy
	proxy=$(dirname "$MKTREE")/haul_proxy
	[ -x "$proxy" ] || fail_with "haul_proxy is not built"
	leave_proxy
	rm -f "$T/proxy.out"
	"$proxy" "$AGENT_PORT" "$@" >"$T/proxy.out" 2>"$T/proxy.log" </dev/null 3>&- 4>&- &
	PROXY_PID=$!
	OTHERS+=("$PROXY_PID")
	wait_for 10 grep -q '^listening ' "$T/proxy.out"
	reach "$(sed -n 's/^listening //p' "$T/proxy.out")"
}
leave_proxy() {
	[ -z "${PROXY_PID:-}" ] || kill -9 "$PROXY_PID" 2>/dev/null || true
	[ -z "${PROXY_PID:-}" ] || wait "$PROXY_PID" 2>/dev/null || true
	PROXY_PID=
}
# reach PORT: B is at that port.
reach() {
	haul peer remove nas >/dev/null
	expect 0 haul peer add "$B_ID" --name nas --address "127.0.0.1:$1"
}
has_struck() { grep -q '^struck ' "$T/proxy.out" || fail_with "the proxy let everything pass"; }

# The port and the wire: strangers get nothing and disturb nobody, and who listens to a transfer learns nothing.
load lib
load trees

setup() {
	test_begin
	pair
}

# hold_silent COUNT: that many connections that say nothing, kept open until the test ends.
hold_silent() {
	(
		for _ in $(seq 1 "$1"); do
			exec {fd}<>"/dev/tcp/127.0.0.1/$AGENT_PORT" || true
		done
		: >"$T/held"
		sleep 300
	) 2>/dev/null 3>&- 4>&- &
	OTHERS+=($!)
	wait_for 30 test -e "$T/held"
}

@test "W-17: 200 silent connections: a peer gets in before and after, the agent lives" {
	"$MKTREE" small 200 5000 "$T/small"
	hold_silent 200
	expect 0 haul copy "$T/small" nas:inbox
	same "$T/small" "$SHARE/small"
	kill -0 "$AGENT_PID"
	check "$(ls "/proc/$AGENT_PID/fd" | wc -l)" -lt 150
}

@test "silent connections are closed after the deadline" {
	local began
	began=$(date +%s)
	exec {quiet}<>"/dev/tcp/127.0.0.1/$AGENT_PORT"
	timeout 30 cat <&"$quiet" >/dev/null || true
	exec {quiet}>&-
	check $(($(date +%s) - began)) -le 14
}

# Garbage and peer come from one address here, so the peer shows itself first: an address that was good lately is not
# turned away for what else comes from it.
@test "garbage on the port during a transfer: it arrives, the agent lives" {
	"$MKTREE" big 60000000 "$T/big"
	expect 0 haul list nas:
	(for _ in $(seq 1 60); do
		head -c 20000 /dev/urandom >"/dev/tcp/127.0.0.1/$AGENT_PORT" || true
		printf '\026\003\001\377\377garbage' >"/dev/tcp/127.0.0.1/$AGENT_PORT" || true
	done) 2>/dev/null 3>&- 4>&- &
	OTHERS+=($!)
	expect 0 haul copy --bwlimit 20M "$T/big" nas:inbox
	same "$T/big" "$SHARE/big"
	kill -0 "$AGENT_PID"
	expect 0 haul copy -c "$T/big" nas:inbox
}

@test "a certificate is needed: openssl without one, or with its own, gets nothing" {
	need_tool openssl
	echo "some content" >"$SHARE/file"
	(sleep 3) | timeout 10 openssl s_client -quiet -tls1_3 -alpn haul/1 -connect "127.0.0.1:$AGENT_PORT" \
		>"$T/got" 2>"$T/ssl.log" || true
	check ! -s "$T/got"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=x \
		-keyout "$T/k.pem" -out "$T/c.pem" 2>/dev/null
	(sleep 3) | timeout 10 openssl s_client -quiet -tls1_3 -alpn haul/1 -cert "$T/c.pem" -key "$T/k.pem" \
		-connect "127.0.0.1:$AGENT_PORT" >"$T/got" 2>"$T/ssl.log" || true
	check ! -s "$T/got"
	grep -i alert "$T/ssl.log"
	expect 0 haul list nas:
}

@test "older TLS and foreign ALPN are refused" {
	need_tool openssl
	local version
	for version in -tls1_2 -tls1_1; do
		if timeout 10 openssl s_client "$version" -cipher 'ALL:@SECLEVEL=0' -alpn haul/1 \
			-connect "127.0.0.1:$AGENT_PORT" </dev/null >"$T/got" 2>&1; then
			cat "$T/got"
			false
		fi
		if grep -E 'Cipher is (TLS|ECDHE|AES)' "$T/got"; then false; fi
	done
	(sleep 1) | timeout 10 openssl s_client -quiet -tls1_3 -alpn http/1.1 -connect "127.0.0.1:$AGENT_PORT" \
		>"$T/got" 2>"$T/ssl.log" || true
	check ! -s "$T/got"
	grep -i alert "$T/ssl.log"
}

@test "what a listener sees: TLS 1.3 records only, no byte of content or name" {
	need_root
	need_tool tcpdump
	local i
	for i in $(seq 1 60000); do printf 'MARKER-OF-PLAIN-TEXT-%06d\n' "$i"; done >"$T/NAME-IN-CLEAR"
	tcpdump -Z root -i lo -s 0 -B 65536 -U -w "$T/lo.pcap" tcp port "$AGENT_PORT" >"$T/tcpdump.log" 2>&1 3>&- 4>&- &
	local dump=$!
	OTHERS+=($dump)
	wait_for 10 grep -q 'listening on' "$T/tcpdump.log" || skip "tcpdump cannot listen here"
	expect 0 haul copy --bwlimit 4M "$T/NAME-IN-CLEAR" nas:inbox
	expect 0 haul copy nas:inbox/NAME-IN-CLEAR "$T/back"
	sleep 0.5
	kill -TERM $dump
	wait $dump || true
	check "$(stat -c %s "$T/lo.pcap")" -gt 1500000
	check "$(grep -c -a -E 'MARKER-OF-PLAIN|NAME-IN-CLEAR|edit1' "$T/lo.pcap")" -eq 0
	"$TLSRECORDS" "$AGENT_PORT" "$T/lo.pcap"
}

@test "an address that swallows everything: exit 5 after the connect timeout" {
	need_root
	need_tool ip unshare
	unshare -n true 2>/dev/null || skip "cannot make a network namespace"
	cat >"$T/black.sh" <<-'SCRIPT'
		set -e
		ip link set lo up
		ip link add v0 type veth peer name v1
		ip link set v1 up
		ip addr add 10.77.0.1/24 dev v0
		ip link set v0 up
		ip neigh add 10.77.0.2 lladdr 02:00:00:00:00:99 dev v0
		exec "$@"
	SCRIPT
	echo x >"$T/file"
	expect 0 haul peer remove nas
	expect 0 haul peer add "$B_ID" --name nas --address 10.77.0.2
	local began
	began=$(date +%s)
	HAUL_HOME=$A expect 5 timeout 60 unshare -n sh "$T/black.sh" "$HAUL" copy --connect-timeout 3 "$T/file" nas:inbox
	check $(($(date +%s) - began)) -ge 2
	check $(($(date +%s) - began)) -le 8
	err_has "no answer in 3 s: machine off, other address, or a firewall drops TCP 42850"
}

@test "W-06: the second address is tried when the first is dead" {
	echo x >"$T/file"
	expect 0 haul peer remove nas
	expect 0 haul peer add "$B_ID" --name nas --address 127.0.0.1:1 --address "127.0.0.1:$AGENT_PORT"
	expect 0 haul copy "$T/file" nas:inbox
}

@test "W-07: IPv6" {
	[ -e /proc/net/if_inet6 ] && grep -q ' lo$' /proc/net/if_inet6 || skip "no IPv6 on loopback"
	C=$T/c
	mkdir "$T/six"
	HAUL_HOME=$C "$HAUL" share add inbox "$T/six"
	HAUL_HOME=$C "$HAUL" peer add "$A_ID" --name edit1 --allow inbox=writer
	LISTEN='[::1]:0' start_agent "$C"
	echo x >"$T/file"
	expect 0 haul peer add "$(device_id "$C")" --name six --address "[::1]:$AGENT_PORT"
	expect 0 haul copy "$T/file" six:inbox
	check "$(cat "$T/six/file")" = x
	expect 0 haul copy "$T/file" "haul://[::1]:$AGENT_PORT/inbox/b"
}

@test "several transfers at once to one agent" {
	local i pids=()
	make_mixed "$T/mixed"
	for i in 1 2 3 4; do
		HAUL_HOME=$A timeout "$LIMIT" "$HAUL" copy -q "$T/mixed" "nas:inbox/$i" 2>"$T/par$i.log" </dev/null 3>&- 4>&- &
		pids+=($!)
	done
	for i in 1 2 3 4; do wait "${pids[i - 1]}" || { cat "$T/par$i.log"; false; }; done
	for i in 1 2 3 4; do same "$T/mixed" "$SHARE/$i/mixed"; done
	no_leftovers "$SHARE"
}

@test "push into one directory from two devices at once: each file whole" {
	mkdir "$T/x" "$T/y"
	"$MKTREE" small 300 20000 "$T/x/d"
	cp -a "$T/x/d" "$T/y/d"
	local one two
	HAUL_HOME=$A "$HAUL" copy -q "$T/x/d" nas:inbox 2>"$T/p1" </dev/null 3>&- 4>&- &
	one=$!
	HAUL_HOME=$A "$HAUL" copy -q "$T/y/d" nas:inbox 2>"$T/p2" </dev/null 3>&- 4>&- &
	two=$!
	local rc_one=0 rc_two=0
	wait $one || rc_one=$?
	wait $two || rc_two=$?
	# Who comes second to a name may say so (3); nobody may harm what is there.
	case $rc_one$rc_two in 00 | 03 | 30 | 33) ;; *) head -n 5 "$T/p1" "$T/p2"; false ;; esac
	same "$T/x/d" "$SHARE/d"
	expect 0 haul copy "$T/x/d" nas:inbox
}

# The tools that judge the others can say no.
load lib
load trees

setup() {
	test_begin
	make_mixed "$T/one"
	cp -a "$T/one" "$T/two"
}

@test "treecmp: equal trees are equal" { same "$T/one" "$T/two"; }

@test "treecmp: content, size, mode, time, kind, target, missing and surplus each differ" {
	flip "$T/two/sizes/$(ls -S "$T/two/sizes" | head -n 1)" 4000000
	differs "$T/one" "$T/two"
	rm -rf "$T/two" && cp -a "$T/one" "$T/two"
	printf x >>"$T/two/sub/run.sh"
	differs "$T/one" "$T/two"
	rm -rf "$T/two" && cp -a "$T/one" "$T/two"
	chmod 0700 "$T/two/empty"
	differs "$T/one" "$T/two"
	rm -rf "$T/two" && cp -a "$T/one" "$T/two"
	touch -d '2001-02-03 04:05:06.123456788' "$T/two/hello.txt"
	differs "$T/one" "$T/two"
	rm -rf "$T/two" && cp -a "$T/one" "$T/two"
	rmdir "$T/two/empty" && : >"$T/two/empty"
	differs "$T/one" "$T/two"
	rm -rf "$T/two" && cp -a "$T/one" "$T/two"
	ln -sfn ../hello.tx "$T/two/sub/link"
	differs "$T/one" "$T/two"
	rm -rf "$T/two" && cp -a "$T/one" "$T/two"
	rm "$T/two/sub/many/"*0
	differs "$T/one" "$T/two"
	rm -rf "$T/two" && cp -a "$T/one" "$T/two"
	: >"$T/two/sub/more"
	differs "$T/one" "$T/two"
}

@test "flip changes a byte and neither size nor time" {
	local before
	before=$(stat -c '%s %y %a' "$T/two/sub/run.sh")
	flip "$T/two/sub/run.sh" 2
	check "$(stat -c '%s %y %a' "$T/two/sub/run.sh")" = "$before"
	check "$(cmp "$T/one/sub/run.sh" "$T/two/sub/run.sh" | grep -oE 'byte [0-9]+')" = "byte 3"
}

@test "no_leftovers and snapshot see what they must" {
	mkdir "$T/two/.haul"
	if no_leftovers "$T/two" >/dev/null; then false; fi
	snapshot "$T/one" >"$T/s1"
	touch "$T/one/hello.txt"
	if snapshot "$T/one" | cmp -s "$T/s1" -; then false; fi
}

@test "tlsrecords refuses plain text and TLS 1.2" {
	need_root
	need_tool tcpdump openssl
	local dump server
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=x \
		-keyout "$T/k.pem" -out "$T/c.pem" 2>/dev/null
	for version in -tls1_2 -tls1_3; do
		local port=$((20000 + RANDOM % 20000))
		openssl s_server -accept "127.0.0.1:$port" -key "$T/k.pem" -cert "$T/c.pem" -quiet -naccept 1 \
			</dev/null >"$T/server.log" 2>&1 3>&- 4>&- &
		server=$!
		tcpdump -Z root -i lo -s 0 -U -w "$T/lo.pcap" tcp port $port >/dev/null 2>"$T/tcpdump.log" 3>&- 4>&- &
		dump=$!
		OTHERS+=($server $dump)
		wait_for 10 grep -q 'listening on' "$T/tcpdump.log" || skip "tcpdump cannot listen here"
		(head -c 100000 /dev/urandom; sleep 1) |
			timeout 5 openssl s_client -quiet $version -connect "127.0.0.1:$port" >/dev/null 2>&1 || true
		sleep 0.3
		kill -TERM $dump $server 2>/dev/null || true
		wait $dump $server || true
		if [ $version = -tls1_3 ]; then
			"$TLSRECORDS" $port "$T/lo.pcap"
		elif "$TLSRECORDS" $port "$T/lo.pcap"; then
			false
		fi
	done
}

# tar through socat, in plain text. The receiving tar's end is waited for: it says "unpacked".
command_text='tar -cf - -C src . | socat -b 1048576 - TCP:host, into tar -xpf - -C dst'

subject_install() { need socat socat; }
subject_start() {
	start_service socat socat -b 1048576 -t 3600 "TCP-LISTEN:$port,bind=$host,reuseaddr,fork" \
		"SYSTEM:tar -xpf - -C '$dst' && echo unpacked"
	wait_for 100 is_listening "$port"
}
subject_copy() {
	tar -cf - -C "$src" . | "${client[@]}" socat -b 1048576 -t 3600 - "TCP:$host:$port" | grep -q unpacked
}
subject_version() { echo "$(tar --version | head -n 1), $(package_version socat)"; }

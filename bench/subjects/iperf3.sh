# The link alone: as many bytes as the source has, one stream, memory to memory.
command_text='iperf3 -c host -n BYTES'

subject_install() { need iperf3 iperf3; }
subject_start() {
	start_service iperf3 iperf3 -s -B "$host" -p "$port"
	wait_for 100 is_listening "$port"
}
subject_copy() { "${client[@]}" iperf3 -c "$host" -p "$port" -n "$source_bytes"; }
subject_version() { iperf3 --version | head -n 1; }

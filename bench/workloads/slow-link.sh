# Two limited disks and a link of 1 Gb/s, which is the slowest: 125 MB/s against 400 and 400.
. "$harness/two_disks.bash"

workload_place() { two_disks_up 400 400 1000 "${BENCH_RTT_MS:-0}"; }

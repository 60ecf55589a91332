# Two limited disks of 500 MB/s and a link of 10 Gb/s, which is not the narrow part.
. "$harness/two_disks.bash"

workload_place() { two_disks_up 500 500 10000 "${BENCH_RTT_MS:-0}"; }

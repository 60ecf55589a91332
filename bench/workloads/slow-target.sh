# Two limited disks and a link of 2.5 Gb/s; the destination's disk is the slowest: 200 MB/s against 400 and 312.
. "$harness/two_disks.bash"

workload_place() { two_disks_up 400 200 2500 "${BENCH_RTT_MS:-0}"; }

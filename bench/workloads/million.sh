# 1,000,000 files of 0 to 1,000 bytes in 1,000 directories.
subjects='haul rsync-daemon tar-socat'
action=copy
rounds=5

workload_make() { "$bin/haul_make_input" -d 1000 -l 2 -n "$(scaled 1000)" -s 0:1000 -S 7 "$1"; }

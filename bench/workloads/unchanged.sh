# 100,000 files of 1,000 bytes in 100 directories, all of them there already with the same size and time.
subjects='haul rsync-ssh rsync-daemon rclone-sftp'
action=copy

workload_make() { "$bin/haul_make_input" -d 100 -n "$(scaled 1000)" -s 1000 -S 6 "$1"; }
workload_reset() { [ -n "$(find "$dst" -type f -print -quit)" ] || cp -a "$src/." "$dst/"; }

# 3,200,000,000 bytes compared with their copy, both sides read.
subjects='haul haul-local rsync-ssh diff'
action=verify
input=big

workload_reset() { [ -n "$(find "$dst" -type f -print -quit)" ] || cp -a "$src/." "$dst/"; }

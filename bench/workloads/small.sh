# 20,000 files of 14,400 bytes in one directory (288 MB).
subjects='haul haul-pull rsync-ssh rsync-daemon scp tar-ssh tar-socat rclone-sftp gridftp cp-r'
action=copy

workload_make() { "$bin/haul_make_input" -n "$(scaled 20000)" -s 14400 "$1"; }

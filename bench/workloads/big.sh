# One file of 3,200,000,000 bytes, from disk to disk.
subjects='limit limit-phased limit-buffered haul haul-pull rsync-ssh rsync-daemon scp tar-ssh tar-socat rclone-sftp
	gridftp cp'
action=copy

workload_make() { "$bin/haul_make_input" -s "$(scaled 3200000000)" "$1"; }

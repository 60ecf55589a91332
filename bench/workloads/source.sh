# A source tree: 3,000 directories on three levels with ten files each of 1 to 50 KB (30,000 files, about 380 MB).
subjects='haul rsync-ssh rsync-daemon scp tar-ssh tar-socat rclone-sftp gridftp cp-r'
action=copy

workload_make() { "$bin/haul_make_input" -d "$(scaled 3000)" -l 3 -n 10 -s 1000:50000 -x .c -S 5 "$1"; }

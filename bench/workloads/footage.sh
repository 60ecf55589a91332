# A day of footage: 6 clips of 500 MB, each with 40 sidecars of 1 to 100 KB, and a cache of 600 stills of 20 to 400 KB.
subjects='haul rsync-ssh rsync-daemon scp tar-ssh tar-socat rclone-sftp gridftp cp-r'
action=copy

workload_make() {
	mkdir "$1"
	"$bin/haul_make_input" -d 6 -n 1 -s "$(scaled 500000000)" -x .mov -S 2 "$1/clips"
	"$bin/haul_make_input" -d 6 -n "$(scaled 40)" -s 1000:100000 -x .xml -S 3 "$1/clips"
	"$bin/haul_make_input" -d 6 -n "$(scaled 100)" -s 20000:400000 -x .jpg -S 4 "$1/cache"
}

# A file of 3,200,000,000 bytes moved within its file system, and the move on disk.
subjects='haul-move mv'
action=move
input=big
reference=haul-move

workload_place() { victim=$work/f000000.bin; }
workload_reset() {
	if [ -e "$dst/f000000.bin" ]; then mv "$dst/f000000.bin" "$victim"; fi
	[ -e "$victim" ] || cp -a "$src/f000000.bin" "$victim"
}

# A directory of 20,000 files moved within its file system, and the move on disk.
subjects='haul-move mv'
action=move
input=small
reference=haul-move

workload_reset() {
	if [ -e "$dst/${victim##*/}" ]; then mv "$dst/${victim##*/}" "$victim"; fi
	[ -e "$victim" ] || cp -a "$src" "$victim"
}

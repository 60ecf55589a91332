# 20,000 files of 14,400 bytes removed, and the removal on disk.
subjects='haul-remove rm'
action=remove
input=small
reference=haul-remove

workload_reset() {
	[ -e "$victim" ] || cp -a "$src" "$victim"
}

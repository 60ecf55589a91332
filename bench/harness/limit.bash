# haul_limit takes one file; a workload of many has no limit of this kind.

limit_copy() {
	local file name
	file=$(find "$src" -type f -printf '%p\n' -quit)
	name=${file##*/}
	"$bin/haul_limit" -m "$1" "$file" "$dst/$name" >/dev/null
}

limit_version() { echo "haul_limit of this tree"; }

subject_install() {
	[ "$source_files" = 1 ] && return 0
	skip_reason="it moves one file, and here are $source_files"
	return 1
}

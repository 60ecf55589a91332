# Trees to send and ways to compare, damage and describe them. Loaded after lib.bash.

if [ "$SCALE" = full ]; then
	BIG_BYTES=3221225472 SMALL_COUNT=20000
else
	BIG_BYTES=268435456 SMALL_COUNT=2000
fi

# same A B [OPTION...]: kinds, sizes, bytes, modes and times are equal.
same() {
	local one=$1 two=$2
	shift 2
	"$TREECMP" "$@" "$one" "$two" >"$T/treecmp" 2>&1 && return 0
	echo "trees differ: $one $two"
	head -n 20 "$T/treecmp"
	return 1
}

# differs A B: treecmp can still say no (a test of the test).
differs() {
	"$TREECMP" "$1" "$2" >/dev/null 2>&1 || return 0
	echo "no difference found between $1 and $2"
	return 1
}

# A small tree with something of everything that travels: about 40 entries, 9 MB.
make_mixed() {
	mkdir -p "$1/sub/deeper" "$1/empty"
	"$MKTREE" sizes "$1/sizes"
	"$MKTREE" small 20 3000 "$1/sub/many"
	printf 'hello\n' >"$1/hello.txt"
	printf 'run\n' >"$1/sub/run.sh"
	ln -s ../hello.txt "$1/sub/link"
	ln -s /nowhere/at/all "$1/dangling"
	chmod 0755 "$1/sub/run.sh"
	chmod 0400 "$1/hello.txt"
	chmod 0750 "$1/sub/deeper"
	touch -d '2001-02-03 04:05:06.123456789' "$1/hello.txt" "$1/sub/deeper"
	touch -h -d '2002-03-04 05:06:07.000000001' "$1/sub/link"
	touch -d '1969-12-31 23:59:58.5' "$1/sub/run.sh"
}

# flip FILE OFFSET: change one byte, keep size and time: only reading finds it.
flip() {
	local byte
	cp -p --attributes-only "$1" "$1.times"
	byte=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
	printf "\\$(printf %o $((byte ^ 1)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
	touch -r "$1.times" "$1"
	rm -f "$1.times"
}

# A listing of a tree that shows any change: kind, mode, size, time, name, target, content.
snapshot() {
	(cd "$1" && find . -printf '%y %m %s %T@ %p %l\n' | sort &&
		find . -type f -print0 | sort -z | xargs -0 -r cksum)
}

# Files under real names: what lies in haul's own working directory, or is called like a partial, does not count.
real_files() { find "$1" \( -name .haul -o -name '.haul.*' \) -prune -o -type f -print; }

# forget_kept DIR: drop what broken transfers have left for the next one of their kind to go on with.
forget_kept() {
	rm -f "$1"/.haul/partials/*
	rmdir "$1/.haul/partials" "$1/.haul" 2>/dev/null || true
}

# no_leftovers DIR: nothing of haul's own is left once no job runs.
no_leftovers() {
	local left
	left=$(find "$1" -name .haul -o -name '.haul.*' | head -n 5)
	[ -z "$left" ] && return 0
	echo "left behind: $left"
	return 1
}

# A disk that errors: haul_bad_disk over a directory. Loaded after lib.bash.

# bad_disk NAME: mounted at $T/NAME; what it holds lies in $T/NAME.real.
bad_disk() {
	local tool
	need_root
	[ -c /dev/fuse ] || skip "needs /dev/fuse"
	tool=$(dirname "$MKTREE")/haul_bad_disk
	[ -x "$tool" ] || skip "haul_bad_disk is not built (libfuse3-dev)"
	mkdir -p "$T/$1" "$T/$1.real"
	: >"$T/$1.rules"
	"$tool" "$T/$1.real" "$T/$1" "$T/$1.rules" "$T/$1.log" >"$T/$1.fuse" 2>&1 </dev/null 3>&- 4>&- &
	wait_for 10 mountpoint -q "$T/$1" || skip "cannot mount a FUSE: $(tail -n 1 "$T/$1.fuse")"
	MOUNTS=("$T/$1" "${MOUNTS[@]}")
}

# rules NAME RULE...: from now on these, and no others; what struck before is forgotten.
rules() {
	local name=$1
	shift
	: >"$T/$name.log"
	printf '%s\n' "$@" >"$T/$name.new"
	mv "$T/$name.new" "$T/$name.rules"
}

# struck NAME [PATTERN]: a rule did strike (there).
struck() {
	grep -v '^synced' "$T/$1.log" | grep -qE -e "${2:-.}" || fail_with "nothing was struck on $1: ${2:-anything}"
}

# named PATH: the last run with --json has an error that names it.
named() {
	jq -c --arg path "$1" 'select(.event == "error" and .path == $path)' "$T/out" >"$T/named"
	[ -s "$T/named" ] || {
		echo "no error names $1"
		show_output
		return 1
	}
}

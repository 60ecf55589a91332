#!/bin/sh
# Fails, naming file:line, where a C file under DIRECTORY includes what it must not.
#
# Usage: forbid-includes.sh [--except=PATH]... DIRECTORY PATTERN...
# A PATTERN that ends in '/' is a prefix of the included name, any other the whole name; "!PATTERN" is an exception
# that wins over all others. PATH (a folder or file) is left out.
set -eu

except=
while [ $# -gt 0 ]; do
	case $1 in
	--except=*) except="$except ${1#--except=}" ;;
	*) break ;;
	esac
	shift
done
dir=$1
shift

find "$dir" -type f -name '*.[ch]' | LC_ALL=C sort | awk -v except="$except" -v patterns="$*" '
	function matches(name, pattern) {
		return pattern ~ /\/$/ ? index(name, pattern) == 1 : name == pattern
	}
	function is_forbidden(name,    i, found) {
		for (i = 1; i <= n_patterns; i++) {
			if (pattern[i] ~ /^!/) {
				if (matches(name, substr(pattern[i], 2)))
					return 0
			} else if (matches(name, pattern[i]))
				found = 1
		}
		return found
	}
	function is_left_out(file,    i) {
		for (i = 1; i <= n_except; i++)
			if (file == left_out[i] || index(file, left_out[i] "/") == 1)
				return 1
		return 0
	}
	function scan(file,    line, number, name) {
		while ((getline line < file) > 0) {
			number++
			if (line !~ /^[ \t]*#[ \t]*include[ \t]*[<"]/)
				continue
			name = line
			sub(/^[^<"]*[<"]/, "", name)
			sub(/[>"].*$/, "", name)
			if (is_forbidden(name)) {
				printf "%s:%d: may not include %s\n", file, number, name
				failed = 1
			}
		}
		close(file)
	}
	BEGIN { n_patterns = split(patterns, pattern, " "); n_except = split(except, left_out, " ") }
	!is_left_out($0) { scan($0); scanned++ }
	END {
		printf "%d files looked at\n", scanned
		exit failed
	}'

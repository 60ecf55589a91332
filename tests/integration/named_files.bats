# Files that options name: what is there already and what the command works on are never written to.
load lib
load trees

setup() {
	test_begin
	pair
	mkdir "$T/src" "$T/dst"
	echo one >"$T/src/1"
	echo precious >"$T/precious"
}

# unharmed OPTION FILE ARGUMENT...: refused as usage, the file as it was, and nothing copied.
unharmed() {
	local option=$1 file=$2
	shift 2
	cp -a "$file" "$T/before" 2>/dev/null || echo absent >"$T/before"
	expect 1 haul "$@" "$option" "$file"
	err_has "$option"
	if [ "$(cat "$T/before")" = absent ]; then
		check ! -e "$file"
	else
		cmp "$T/before" "$file"
	fi
	rm "$T/before"
}

@test "a file that another program wrote is no trace and no list: refused, unharmed, nothing copied" {
	unharmed --trace "$T/precious" copy "$T/src" "$T/dst"
	err_has "is no trace"
	unharmed --failed-to "$T/precious" copy "$T/src" nas:inbox
	err_has "is no list of failed paths"
	unharmed --failed-to "$T/precious" verify "$T/src" "$T/dst"
	check ! -e "$T/dst/src" -a ! -e "$SHARE/src"
	expect 0 env HAUL_HOME="$T/c" "$HAUL" id
	expect 1 env HAUL_HOME="$T/c" "$HAULD" --listen 127.0.0.1:0 --trace "$T/precious"
	check "$(cat "$T/precious")" = precious
}

@test "a source, what lies in one and what arrives are no place for a trace, a list or a log" {
	local option
	for option in --trace --failed-to --log-file; do
		unharmed $option "$T/src/1" copy "$T/src/1" "$T/dst"
		err_has "is or lies in"
		unharmed $option "$T/src/1" copy "$T/src" nas:inbox
		unharmed $option "$T/src/new" copy "$T/src" "$T/dst"
		unharmed $option "$T/dst/1" copy "$T/src/1" "$T/dst"
		unharmed $option "$T/dst/1" copy "$T/src/" "$T/dst"
		unharmed $option "$T/dst/2" copy --as 2 "$T/src/1" "$T/dst"
		unharmed $option "$T/dst/x" verify "$T/src" "$T/dst"
		ln "$T/src/1" "$T/other"
		unharmed $option "$T/other" copy "$T/src/1" "$T/dst"
		rm "$T/other"
	done
	unharmed --log-file "$T/src/1" remove "$T/src"
	unharmed --log-file "$T/src/1" move "$T/src" "$T/dst"
	check "$(ls -A "$T/dst" "$SHARE" | grep -c '^[12x]$')" -eq 0
	expect 0 haul copy "$T/src/1" "$T/dst" --trace "$T/dst/trace" --failed-to "$T/dst/failed" --log-file "$T/dst/log"
	expect 1 haul copy "$T/src/1" "$T/dst" --trace "$T/same" --failed-to "$T/same"
	check ! -e "$T/same"
}

@test "written again by the same option; a command that is refused leaves the old one and makes no new one" {
	expect 0 haul copy "$T/src" "$T/dst" --trace "$T/trace" --failed-to "$T/failed"
	check -s "$T/trace" -a -e "$T/failed" -a ! -s "$T/failed"
	mkdir -p "$T/dst/full/1"
	expect 3 haul copy "$T/src/" "$T/dst/full" --failed-to "$T/failed"
	check -s "$T/failed"
	cp "$T/trace" "$T/trace.old"
	cp "$T/failed" "$T/failed.old"
	expect 1 haul copy "$T/src" "$T/src/deeper" --trace "$T/trace" --failed-to "$T/failed"
	cmp "$T/trace" "$T/trace.old"
	cmp "$T/failed" "$T/failed.old"
	expect 2 haul copy "$T/absent" "$T/dst" --trace "$T/new" --failed-to "$T/new2"
	check ! -e "$T/new" -a ! -e "$T/new2"
	expect 0 haul copy "$T/src" "$T/dst" --trace "$T/trace" --failed-to "$T/failed"
	check ! -s "$T/failed"
}

@test "a link of another user's is not followed" {
	need_root
	: >"$T/target"
	ln -s "$T/target" "$T/link"
	expect 0 haul copy "$T/src" "$T/dst" --failed-to "$T/link"
	chown -h 65534 "$T/link"
	: >"$T/target"
	expect 1 haul copy "$T/src" "$T/dst" --failed-to "$T/link"
	err_has "is a link of another user's"
	expect 1 haul copy "$T/src" "$T/dst" --trace "$T/link"
	expect 0 haul copy "$T/src" "$T/dst" --failed-to /dev/stdout
}

@test "an archive that ends with NULs is no list of failed paths" {
	tar -cf "$T/archive.tar" -C "$T" src
	cp "$T/archive.tar" "$T/before"
	expect 1 haul copy "$T/src" "$T/dst" --failed-to "$T/archive.tar"
	err_has "is no list of failed paths"
	cmp "$T/archive.tar" "$T/before"
	check ! -e "$T/dst/src"
}

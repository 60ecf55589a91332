# Which entries are taken: CLI.md's paragraph on filters, sentence by sentence, within a machine, to a peer and from it.
load lib

setup() {
	test_begin
	pair
	SRC=$SHARE/src # one tree for all ways: a source here and at the peer
	mkdir -p "$SRC"/{keep/deep,cache,proxy/cache} "$T/out.d"
	for name in a.mov b.tmp keep/c.mov keep/d.tmp keep/deep/e.mov cache/f.bin proxy/g.mov proxy/cache/h.bin; do
		echo "$name" >"$SRC/$name"
	done
	mkdir "$SRC/empty"
	cd "$SHARE"
}

# Names below a directory, sorted, one line.
tree() { (cd "$1" && find . -mindepth 1 ! -path './.haul*' -printf '%P%y ' | tr ' ' '\n' | sed 's/f$//; s/d$/\//' | sort | tr '\n' ' '); }

# ways WANTED OPTION...: the same options copy the same entries here, as a push and as a pull.
ways() {
	local wanted=$1 n=$((++WAYS))

	shift
	expect 0 haul copy "$@" src/ "$T/local$n"
	check "$(tree "$T/local$n")" = "$wanted"
	expect 0 haul copy "$@" nas:inbox/src/ "$T/pull$n"
	check "$(tree "$T/pull$n")" = "$wanted"
	expect 0 haul copy "$@" src/ "nas:inbox/push$n"
	check "$(tree "$SHARE/push$n")" = "$wanted"
}

@test "excluded: names, anchored paths, directories alone, stars that cross directories" {
	ways "a.mov cache/ cache/f.bin empty/ keep/ keep/c.mov keep/deep/ keep/deep/e.mov proxy/ proxy/cache/ proxy/cache/h.bin proxy/g.mov " \
		--exclude '*.tmp'
	ways "a.mov b.tmp empty/ keep/ keep/c.mov keep/d.tmp keep/deep/ keep/deep/e.mov proxy/ proxy/cache/ proxy/cache/h.bin proxy/g.mov " \
		--exclude /cache
	ways "a.mov b.tmp empty/ keep/ keep/c.mov keep/d.tmp keep/deep/ keep/deep/e.mov proxy/ proxy/g.mov " --exclude cache/
	ways "a.mov b.tmp cache/ cache/f.bin empty/ keep/ keep/c.mov keep/d.tmp keep/deep/ proxy/ proxy/cache/ proxy/cache/h.bin proxy/g.mov " \
		--exclude 'keep/**/e.mov'
}

@test "only: what matches, the directories on the way to it, and all in a directory that matches" {
	ways "a.mov keep/ keep/c.mov keep/deep/ keep/deep/e.mov proxy/ proxy/g.mov " --only '*.mov'
	ways "keep/ keep/c.mov keep/d.tmp keep/deep/ keep/deep/e.mov " --only keep/
	ways "proxy/ proxy/cache/ proxy/cache/h.bin " --only /proxy/cache
	ways "keep/ keep/c.mov keep/deep/ keep/deep/e.mov " --exclude '*.tmp' --only keep
	ways "" --only nothing
}

@test "between options the first that decides wins; in a file the last line" {
	ways "a.mov empty/ keep/ keep/c.mov keep/d.tmp keep/deep/ keep/deep/e.mov proxy/ proxy/g.mov " \
		--include d.tmp --exclude '*.tmp' --exclude cache
	ways "a.mov empty/ keep/ keep/c.mov keep/deep/ keep/deep/e.mov proxy/ proxy/g.mov " \
		--exclude '*.tmp' --include d.tmp --exclude cache
	printf '\xef\xbb\xbf# a comment\n\n*.tmp\r\n!d.tmp   \ncache/\n' >"$T/rules"
	ways "a.mov empty/ keep/ keep/c.mov keep/d.tmp keep/deep/ keep/deep/e.mov proxy/ proxy/g.mov " --exclude-from "$T/rules"
	printf '*.tmp\n!b.tmp\n' >"$T/in"
	ways "cache/ empty/ keep/ keep/d.tmp keep/deep/ proxy/ proxy/cache/ " \
		--include-from "$T/in" --include '*/' --exclude '*'
}

@test "a slash anchors at the directory copied, named with a slash or not; a source goes by its name alone" {
	for source in src nas:inbox/src; do
		dst=$T/by-${source%%:*}
		expect 0 haul copy --exclude /cache "$source" "$dst"
		check ! -e "$dst/src/cache" -a -e "$dst/src/proxy/cache"
		expect 0 haul copy --exclude /src --exclude src/cache "$source" "$dst-2"
		check -e "$dst-2/src/cache"
	done
	expect 0 haul copy --exclude '*.tmp' src/a.mov src/b.tmp "$T/out.d"
	check "$(tree "$T/out.d")" = "a.mov "
}

@test "several sources, a merge, and a directory that one of them only leads through" {
	mkdir -p two/keep two/proxy
	echo two >two/keep/z.mov
	echo two >two/proxy/y.bin
	expect 0 haul copy --only '*.mov' --only y.bin src/ two/ "$T/m"
	check "$(tree "$T/m")" = "a.mov keep/ keep/c.mov keep/deep/ keep/deep/e.mov keep/z.mov proxy/ proxy/g.mov proxy/y.bin "
}

@test "what is left out is not opened, and no failure" {
	ln -s nowhere "$SRC/dangling" # with -L it cannot be looked at
	mkfifo "$SRC/pipe"
	expect 3 haul copy -L src/ "$T/all"
	err_has dangling
	ways "a.mov keep/ keep/c.mov keep/deep/ keep/deep/e.mov proxy/ proxy/g.mov " -L --only '*.mov' --exclude dangling
	expect 0 haul copy -L --strict --exclude dangling --exclude pipe src/ "$T/strict"
	err_lacks dangling
}

@test "refused with the remedy: ! in an option, --include alone, what can never match, a path for a pattern" {
	expect 1 haul copy --exclude '!a' src "$T/x"
	err_has "--include=a"
	expect 1 haul copy --include '*.mov' src "$T/x"
	err_has "--only"
	expect 1 haul copy --include-from <(echo a) src "$T/x"
	expect 1 haul copy --only '!a' src "$T/x"
	expect 1 haul copy --exclude '[a' src "$T/x"
	err_has "can never match"
	expect 1 haul copy --exclude ./a src "$T/x"
	err_has "no path"
	expect 1 haul copy --exclude-from "$T/absent" src "$T/x"
	expect 1 haul copy --exclude "$(printf '%5000s' x)" src "$T/x"
	check ! -e "$T/x"
}

@test "the last line names patterns that matched nothing, and counts what was left out" {
	for source in src/ nas:inbox/src/; do
		expect 0 haul copy --exclude '*.tmp' --exclude b.tmp --exclude '*.wav' "$source" "$T/n-${source%%:*}"
		err_has "Matched nothing: --exclude=*.wav."
		err_has "2 entries left out"
	done
	expect 0 haul copy --json --exclude '*.tmp' src/ "$T/j"
	check "$(done_field entries_left)" = 2
}

@test "--explain-filter says what becomes of a path and why, and copies nothing" {
	printf '*.tmp\n!d.tmp\n' >"$T/rules"
	expect 0 haul copy --exclude cache/ --exclude-from "$T/rules" --explain-filter cache/x src "$T/x"
	out_has "cache/x: left out with cache/ by --exclude=cache/"
	expect 0 haul copy --exclude-from "$T/rules" --explain-filter keep/d.tmp src "$T/x"
	out_has "keep/d.tmp: taken by $T/rules:2: !d.tmp"
	expect 0 haul copy --exclude '*.tmp' --explain-filter a.mov src "$T/x"
	out_has "a.mov: taken: no pattern speaks of it"
	expect 0 haul copy --only '*.mov' --explain-filter a.txt src "$T/x"
	out_has "a.txt: left out: no --only speaks of it"
	check ! -e "$T/x"
}

@test "a comparison takes no notice of what the filters leave out, on either side" {
	for dst in "$T/v" nas:inbox/v; do
		dir=$T/v
		[ "$dst" = "$T/v" ] || dir=$SHARE/v
		expect 0 haul copy --exclude '*.tmp' src/ "$dst"
		echo old >"$dir/old.tmp"
		mkdir "$dir/cache.tmp"
		echo other >"$dir/keep/other.mov"
		expect 0 haul verify --exclude '*.tmp' src "$dst"
		out_has "other.mov"
		out_lacks "tmp"
		expect 4 haul verify src "$dst"
		rm "$dir/keep/other.mov"
		touch -r "$SRC/keep" "$dir/keep"
		expect 0 haul verify --exact --exclude '*.tmp' src "$dst"
	done
	expect 0 haul verify --exact --exclude '*.tmp' nas:inbox/src "$T/v"
}

@test "a name is no pattern, no option and no format" {
	mkdir odd
	for name in '*.mov' '--exclude' '%s%n' $'a\nb' ' lead' 'trail ' '[x]' '!bang' '#hash'; do
		: >"odd/$name"
	done
	expect 0 haul copy --exclude '\*.mov' --exclude '[[]x]' --exclude '\!bang' --exclude '#hash' --exclude $'a\nb' odd/ "$T/odd"
	check "$(find "$T/odd" -type f | wc -l)" -eq 4
	check -e "$T/odd/trail " -a -e "$T/odd/ lead" -a -e "$T/odd/--exclude" -a -e "$T/odd/%s%n"
}

@test "only what a list names, and all in it; what is not there is named; -0, - and what is no path below" {
	printf 'keep/deep\n./a.mov\ncache/f.bin\n' >"$T/list"
	ways "a.mov cache/ cache/f.bin keep/ keep/deep/ keep/deep/e.mov " --files-from "$T/list"
	printf 'a.mov\0keep/gone\0' >"$T/nul"
	for source in src/ nas:inbox/src/; do
		expect 3 haul copy --failed-to "$T/failed" --files-from "$T/nul" -0 "$source" "$T/l-${source%%:*}"
		err_has "keep/gone is listed, but not there"
		check "$(tr '\0' '|' <"$T/failed")" = "keep/gone|"
	done
	haul copy -q --files-from - src "$T/named" <<<src/keep/c.mov
	check "$(tree "$T/named")" = "src/ src/keep/ src/keep/c.mov "
	expect 1 haul copy --files-from <(echo /a) src "$T/x"
	expect 1 haul copy --files-from <(echo ../a) src "$T/x"
	expect 1 haul copy --files-from "$T/nul" src "$T/x"
	err_has "-0"
	expect 1 haul copy -0 src "$T/x"
}

@test "size and age: files alone, both ends of a range, and a bare number is no age" {
	truncate -s 3K "$SRC/a.mov"
	truncate -s 5K "$SRC/b.tmp"
	touch -d '10 days ago' "$SRC/b.tmp" "$SRC/keep/c.mov"
	ways "a.mov cache/ empty/ keep/ keep/deep/ proxy/ proxy/cache/ " --min-size 1K --max-size 4K
	ways "b.tmp cache/ empty/ keep/ keep/c.mov keep/deep/ proxy/ proxy/cache/ " --min-age 7d
	ways "a.mov cache/ cache/f.bin empty/ keep/ keep/d.tmp keep/deep/ keep/deep/e.mov proxy/ proxy/cache/ proxy/cache/h.bin proxy/g.mov " \
		--max-age "$(date -d '5 days ago' +%F)"
	for age in 7 7x -1d 2026-13-01 2026-02-30 yesterday; do
		expect 1 haul copy --min-age "$age" src "$T/x"
		err_has "an age is"
	done
	expect 1 haul copy --max-size large src "$T/x"
	expect 1 haul copy --min-size 2K --max-size 1K src "$T/x"
	expect 1 haul copy --min-age 3d --max-age 1d src "$T/x"
	# What the limits leave out is no surplus there.
	expect 0 haul copy src/ "$T/all"
	touch "$SRC/a.mov"
	cp -a "$SRC/a.mov" "$T/all/a.mov"
	expect 0 haul verify --exact --max-size 4K src "$T/all"
}

@test "a dry run says what the real run does" {
	expect 0 haul copy -n --exclude '*.tmp' --exclude cache src/ "$T/dry"
	check "$(grep -c tmp "$T/out")" -eq 0
	out_has "keep/deep/e.mov"
	check ! -e "$T/dry"
}

@test "a sync never deletes what filters, limits or lists left out, nor with the directory that holds it" {
	local dst dir

	expect 0 haul_b peer allow edit1 inbox=mirror
	for dst in "$T/s" nas:inbox/s; do
		dir=$T/s
		[ "$dst" = "$T/s" ] || dir=$SHARE/s
		expect 0 haul sync src/ "$dst"
		mkdir -p "$dir"/{gone/deep,cache,was}
		touch "$dir"/{there.tmp,gone/x.tmp,gone/y,gone/deep/z,keep/extra,was/w}
		expect 0 haul sync --exclude '*.tmp' --exclude /cache src/ "$dst"
		check "$(tree "$dir")" = "$(tree src | sed 's/gone//')there.tmp " -o \
			"$(tree "$dir")" = "a.mov b.tmp cache/ cache/f.bin empty/ gone/ gone/x.tmp keep/ keep/c.mov keep/d.tmp keep/deep/ keep/deep/e.mov proxy/ proxy/cache/ proxy/cache/h.bin proxy/g.mov there.tmp "
		# A directory that a list leads through, or in which a limit left something out, is not cleared.
		touch "$dir/keep/old" "$dir/proxy/old"
		truncate -s 10K "$SRC/keep/c.mov"
		expect 0 haul sync --max-size 1K src/ "$dst"
		check -e "$dir/keep/old" -a -e "$dir/keep/c.mov" -a ! -e "$dir/proxy/old" -a ! -e "$dir/gone"
		expect 0 haul sync --files-from <(printf 'keep/deep\nempty/not-there\n' | head -1) src/ "$dst"
		check -e "$dir/keep/old" -a -e "$dir/a.mov" -a -e "$dir/empty"
		expect 0 haul sync --only '*.mov' src/ "$dst"
		check -e "$dir/b.tmp" -a -e "$dir/cache/f.bin" -a -e "$dir/empty"
		expect 0 haul sync src/ "$dst"
		check ! -e "$dir/keep/old"
		echo x | truncate -s 5 "$SRC/keep/c.mov"
		touch "$SRC/keep/c.mov"
	done
}

@test "--size-only and --ignore-times: what counts as unchanged; one of them at a time" {
	local dst dir

	for dst in "$T/q" nas:inbox/q; do
		dir=$T/q
		[ "$dst" = "$T/q" ] || dir=$SHARE/q
		expect 0 haul copy src/ "$dst"
		echo A.mov >"$dir/a.mov" # the same size
		touch -d '1 hour ago' "$dir/a.mov"
		expect 0 haul copy --json --size-only src/ "$dst"
		check "$(cat "$dir/a.mov")" = A.mov -a "$(done_field files_sent)" = 0
		check ! "$dir/a.mov" -ot "$SRC/a.mov"
		expect 0 haul copy --json src/ "$dst"
		check "$(cat "$dir/a.mov")" = A.mov
		expect 0 haul copy --json --ignore-times --verify=transfer src/ "$dst"
		check "$(cat "$dir/a.mov")" = a.mov -a "$(done_field files_sent)" = 8
	done
	expect 0 haul copy --size-only nas:inbox/src/ "$T/q"
	err_has "8 unchanged by size, not read"
	expect 1 haul copy -c --size-only src/ "$T/q"
	expect 1 haul copy --size-only --ignore-times src/ "$T/q"
}

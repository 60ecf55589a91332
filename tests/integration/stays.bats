# What of the destination a copy lets stay: --update, --existing, --ignore-existing, held against rsync.
load lib
load trees

# Two trees that share some of their names: of every age and kind.
two_trees() {
	rm -rf "$T/src" "$T/dst" && mkdir -p "$T/src/both/deep" "$T/src/new/deep" "$T/dst/both/deep"
	for name in older newer same both/deep/older both/deep/newer kind; do
		echo "source of $name" >"$T/src/$name"
		echo "what was $name" >"$T/dst/$name"
		touch -d '2020-01-01 00:00:00.5' "$T/src/$name"
	done
	echo fresh >"$T/src/both/fresh"
	echo deep >"$T/src/new/deep/file"
	head -c 3000000 /dev/urandom >"$T/src/big-older"
	head -c 3000000 /dev/urandom >"$T/dst/big-older"
	touch -d 2020-01-01 "$T/src/big-older"
	touch -d 2019-01-01 "$T/dst/older" "$T/dst/both/deep/older" "$T/dst/big-older"
	touch -d 2021-01-01 "$T/dst/newer" "$T/dst/both/deep/newer"
	touch -d '2020-01-01 00:00:00.5' "$T/dst/same"
	touch -d 2021-01-01 "$T/dst/kind"
	rm "$T/src/kind" && ln -s older "$T/src/kind"
	ln -s elsewhere "$T/src/link" && ln -s there "$T/dst/link"
	echo surplus >"$T/dst/both/surplus"
}

@test "--update, --existing, --ignore-existing and all together leave what rsync leaves, in a copy and in a sync" {
	need_tool rsync
	pair full
	for options in --update --existing --ignore-existing "-u --existing" "--existing --ignore-existing"; do
		for verb in copy sync; do
			two_trees
			cp -a "$T/dst" "$T/want"
			# shellcheck disable=SC2086 # a list of words
			rsync -a $options $([ $verb = copy ] || echo --delete) "$T/src/" "$T/want/"
			for way in push pull here; do
				rm -rf "$SHARE"/* "$T/got" && cp -a "$T/dst" "$SHARE/at"
				case $way in
				push) from=$T/src/ to=nas:inbox/at got=$SHARE/at ;;
				pull) cp -a "$T/src" "$SHARE/src" && from=nas:inbox/src/ to=$T/got got=$T/got && cp -a "$T/dst" "$got" ;;
				here) from=$T/src/ to=$T/got got=$T/got && cp -a "$T/dst" "$got" ;;
				esac
				# shellcheck disable=SC2086
				expect 0 haul $verb -n -i $options "$from" "$to"
				cp "$T/out" "$T/plan"
				# shellcheck disable=SC2086
				expect 0 haul $verb -i $options "$from" "$to"
				check "$(sort "$T/out")" = "$(sort "$T/plan")"
				# A copy leaves the top of a directory that was there as it is.
				diff=$(rsync -aXnci --delete "$T/want/" "$got/" | grep -v '^\.d\.\.t\.* \./$' || true)
				[ "$diff" = "" ] || fail_with "$verb $way $options: $diff"
			done
			rm -rf "$T/want"
		done
	done
}

@test "what stays is counted by itself, and said in the last line" {
	pair full
	two_trees
	expect 0 haul copy "$T/dst/" nas:inbox/at
	expect 0 haul copy --json --ignore-existing "$T/src/" nas:inbox/at
	done_is files_sent 2 files_stayed 6 exit 0
	check "$(cat "$SHARE/at/older")" = "what was older"
	expect 0 haul copy --ignore-existing "$T/src/" nas:inbox/at
	err_has "8 already there, not compared"
	expect 0 haul copy --existing --size-only "$T/src/" nas:inbox/more
	err_has "not there, or left as they are"
	check ! -e "$SHARE/more/new"
}

@test "a device that may not list a share does not learn by these what is there" {
	pair dropbox
	echo one >"$T/file"
	expect 0 haul copy --existing "$T/file" nas:inbox/
	check "$(cat "$SHARE/file")" = one
}

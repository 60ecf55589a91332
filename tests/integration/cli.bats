# The command line by itself: no network, no agent. What the contract (docs/CLI.md) names exists, refuses, or is ignored
# as written there; a usage error touches nothing; help fits a small terminal.
load lib

setup() {
	test_begin
	A=$T/a
	mkdir "$T/cwd"
	cd "$T/cwd"
	echo one >file
}

# Lists as the contract words them, each split into what this version has and what it refuses.
VERBS_LATER="hash send receive pair discover jobs history retry report"
IGNORED="a r l p t o g A X z h P W"
LETTERS_BUILT="n v q c u S L i"
LETTERS_LATER="H x D"
OPTIONS_LATER="cached trash no-perms no-times
	chown wait plan run-plan check"
VALUES_LATER="on-conflict=fail on-conflict=number verify=disk on-error=stop"
OPTIONS_BUILT="--as=x --modify-window=1 --no-sync --restart --no-xattrs --no-owner --numeric-ids --sparse --inplace --strict --bwlimit=1M --lanes=2 --block=1M --direct=never --device=ssd --explain --trace=x
	--connect-timeout=1 --timeout=1 --progress=never --on-conflict=replace --verify=transfer --on-error=continue --size-only --exclude=x --only=x --min-size=1 --max-size=1K --min-age=1d --max-age=2d -n -c -L"

# Nothing was made: no home, no file beside the one there was.
untouched() {
	check ! -e "$A"
	check "$(ls)" = file
}

@test "every verb of the contract that this version lacks refuses" {
	for verb in $VERBS_LATER; do
		expect 1 haul "$verb" file nas:inbox
		check "$(cat "$T/err")" = "$verb is not in this version"
		expect 1 haul help "$verb"
	done
	untouched
}

@test "every option of the contract that this version lacks refuses, whatever stands around it" {
	for option in $OPTIONS_LATER; do
		for spelling in "--$option" "--$option=x"; do
			expect 1 haul copy -a "$spelling" file nas:inbox
			check "$(cat "$T/err")" = "--$option is not in this version"
		done
	done
	for letter in $LETTERS_LATER; do
		expect 1 haul copy "-a$letter" file nas:inbox
		check "$(cat "$T/err")" = "-$letter is not in this version"
	done
	for value in $VALUES_LATER; do
		expect 1 haul copy "--$value" file nas:inbox
		check "$(cat "$T/err")" = "--$value is not in this version"
	done
	untouched
}

# That an option was taken shows in what is found wrong next: both places remote.
taken() {
	expect 1 haul copy "$@" nas:file other:file
	err_has "nas:file and other:file are both remote"
}

@test "what this version has is taken, in every spelling; the letters of rsync habit change nothing" {
	for option in $OPTIONS_BUILT; do taken "$option"; done
	for letter in $IGNORED $LETTERS_BUILT; do taken "-$letter"; done
	taken -avhP -nc
	taken --lanes 2 --bwlimit 10MB
	taken --progress never --direct auto
	expect 1 haul verify --exact -av nas:file other:file
	err_has "are both remote"
	untouched
}

@test "usage errors say what to do, exit 1, and touch nothing" {
	expect 1 haul copy file
	err_has "haul copy [OPTION]... SRC... DST" "haul help copy"
	expect 1 haul cpoy file nas:inbox
	err_has "Did you mean haul copy ?"
	expect 1 haul copy --dryrun file nas:inbox
	err_has "Did you mean --dry-run ?"
	expect 1 haul copy --remove-source-files file nas:inbox
	err_has "haul move"
	expect 1 haul copy -e ssh file nas:inbox
	err_has "TLS"
	expect 1 haul copy --lanes=many file nas:inbox
	err_has "--lanes=many" "1 to 16"
	expect 1 haul copy --progress file nas:inbox
	err_has "auto, always or never"
	expect 1 haul copy user@nas:x here
	expect 1 haul copy file nas:
	expect 1 haul copy nas:a edit1:b
	expect 1 haul copy --as x file file nas:inbox
	expect 1 haul share frobnicate
	expect 1 haul share add name
	expect 1 haul share list --umask 022
	expect 1 haul share list --keep-partials 3
	expect 1 haul peer add SOMEID
	err_has "--name"
	expect 1 haul peer list --allow inbox=reader
	expect 1 haul -n
	untouched
}

@test "a name never becomes an option, nor a terminal's command" {
	expect 2 haul copy -- --lanes -n
	err_has "--lanes: no such file"
	expect 2 haul copy $'evil\033[31m\nname' other
	err_has 'evil\x1B[31m\nname'
	check "$(wc -l <"$T/err")" -eq 1
	expect 1 haul $'\033]0;title\007'
	check "$(tr -d '[:print:]\n' <"$T/err" | wc -c)" -eq 0
}

@test "--json: the last line is done, also after a usage error" {
	for args in "copy" "copy file nas:" "copy --nonsense" "nonsense" "sync a b c" "verify a:x b:y" "copy --lanes=0 a nas:b"; do
		# shellcheck disable=SC2086 # words
		expect 1 haul --json $args
		done_is exit 1 reasons '[1]' files_total 0 verified false durable false
		head -n 1 "$T/out" | jq -e '.event == "error" and .code == 1 and .side == "local" and (.text | length > 0)'
	done
	expect 1 haul copy --nonsense -- --json
	check ! -s "$T/out"
	untouched
}

@test "--help: at most 40 lines of 80 columns, verbs in groups, five examples; -h alone is the same" {
	expect 0 haul --help
	check "$(wc -l <"$T/out")" -le 40
	check -z "$(awk 'length($0) > 80' "$T/out")"
	out_has copy verify list "share add" "peer add" hauld "lands as" Examples
	check "$(sed -n '/^Examples/,/^$/p' "$T/out" | grep -c '^  haul ')" -eq 5
	cp "$T/out" "$T/help"
	expect 0 haul -h
	cmp "$T/out" "$T/help"
	expect 0 haul help
	cmp "$T/out" "$T/help"
	check ! -s "$T/err"
	untouched
}

@test "help of each verb: usage, options, examples; within 80 columns" {
	for verb in copy verify list id share peer; do
		expect 0 haul help "$verb"
		out_has "haul $verb" Options Examples
		check -z "$(awk 'length($0) > 80' "$T/out")"
		cp "$T/out" "$T/help"
		expect 0 haul "$verb" --help
		cmp "$T/out" "$T/help"
	done
	expect 1 haul help cpy
	untouched
}

@test "--version" {
	expect 0 haul --version
	grep -qxE 'haul [0-9]+\.[0-9]+\.[0-9]+' "$T/out"
}

@test "haul alone: the state and the way to a first transfer, on stderr, exit 1" {
	expect 1 haul
	check ! -s "$T/out"
	err_has "does not run" "haul share add inbox" "haul peer add" "hauld" "haul copy FILE nas:inbox"
	check "$(grep -cE '^  (on nas|here)' "$T/err")" -eq 5
	expect 0 haul peer add "$(device_id "$T/b")" --name nas --address 192.0.2.1
	expect 1 haul
	err_has "nas at 192.0.2.1" "haul list nas:"
	err_lacks "on nas"
}

@test "haul id: name, device id, home, agent, and a line that works on the other machine" {
	expect 0 haul id
	out_has "$A" "does not run" "haul peer add"
	local line
	line=$(grep -oE 'haul peer add .*' "$T/out")
	# shellcheck disable=SC2086 # words
	expect 0 haul_b_home $line
	expect 0 haul id --json
	check "$(wc -l <"$T/out")" -eq 1
	check "$(jq -r .home "$T/out")" = "$A"
	check "$(jq -r .agent_runs "$T/out")" = false
	check "$(jq -r .paste "$T/out")" = "$line"
	check "$(jq -r .device_id "$T/out")" = "$(device_id "$A")"
}

# The pasted line, as B: its first word is the program.
haul_b_home() {
	shift
	HAUL_HOME=$T/b "$HAUL" "$@"
}

@test "shares: added, listed, removed; whose agent serves them" {
	mkdir "$T/in box"
	expect 0 haul share add inbox "$T/in box"
	err_has "$T/in box" "does not run"
	expect 0 haul share add inbox "$T/in box"
	expect 0 haul share add here .
	expect 0 haul share list
	out_has "inbox" "$T/in box" "here" "$T/cwd"
	expect 0 haul share list --json
	check "$(head -n 1 "$T/out" | jq -r '.name + .path')" = "here$T/cwd/."
	done_is exit 0
	expect 1 haul share add inbox "$T/cwd"
	expect 1 haul share add gone "$T/absent"
	expect 1 haul share add odd "$T/cwd" --umask 9
	expect 1 haul share add odd "$T/cwd" --own nobody-of-that-name:x
	expect 0 haul share add masked "$T/cwd" --umask 027
	for days in 0 3651 1.5 two; do expect 1 haul share add odd "$T/cwd" "--keep-partials=$days"; done
	expect 0 haul share add short "$T/cwd" --keep-partials 1
	expect 0 haul share list --json
	check "$(jq -r 'select(.name == "short").keep_partials_days' "$T/out")" = 1
	expect 0 haul share remove inbox
	expect 1 haul share remove inbox
	expect 0 haul share list
	out_lacks inbox
}

@test "peers: added, shown, listed, allowed, removed" {
	local id
	id=$(device_id "$T/b")
	expect 1 haul peer add "$id" --name nas --allow inbox=writer
	err_has "shares of THIS machine"
	expect 0 haul share add inbox "$T/cwd"
	expect 0 haul peer add "$id" --name nas --address 192.0.2.1 --address '[2001:db8::1]:7' --allow inbox=writer
	err_has "nas is known." "nas may on inbox: writer" "there run:" "haul peer add" "does not run"
	expect 0 haul peer show nas
	out_has nas "$id" 192.0.2.1 '[2001:db8::1]:7' inbox=writer
	expect 0 haul peer allow nas inbox=list,read
	expect 0 haul peer show nas
	out_has inbox=reader
	expect 0 haul peer list
	out_has nas 192.0.2.1
	cp "$T/out" "$T/list"
	expect 0 haul list
	cmp "$T/out" "$T/list"
	expect 0 haul peer list --json
	check "$(head -n 1 "$T/out" | jq -r '.name + " " + .addresses[0] + " " + .rights[0].rights')" = "nas 192.0.2.1 reader"
	done_is exit 0
	expect 1 haul peer allow nas inbox
	expect 1 haul peer allow nas inbox=everything
	expect 6 haul peer allow nass inbox=reader
	expect 6 haul peer show nass
	err_has 'no peer "nass" (known: nas)'
	expect 0 haul peer remove nas
	expect 6 haul peer remove nas
}

@test "list of a local directory" {
	mkdir sub
	touch $'new\nline'
	expect 0 haul list .
	out_has "sub/" "file" '$'"'new\\nline'"
	expect 0 haul list . --json
	check "$(jq -r 'select(.event == "entry") | .name' "$T/out" | head -n 1)" = file
	done_is exit 0
	expect 2 haul list absent
}

@test "HAUL_OPTION_NAME: below the command line, told on the first line, never what destroys or skips" {
	HAUL_OPTION_QUIET=0 HAUL_OPTION_CONNECT_TIMEOUT=3 expect 0 haul list
	check "$(head -n 1 "$T/err")" = "from the environment: --connect-timeout=3"
	HAUL_OPTION_LANES=many expect 1 haul copy file nas:inbox
	err_has HAUL_OPTION_LANES=many
	HAUL_OPTION_LANES=many expect 1 haul copy --lanes 2 nas:file other:file
	err_has "are both remote"
	for name in MAX_DELETE YES DRY_RUN INPLACE NO_SYNC RESTART ON_CONFLICT EXCLUDE INCLUDE ONLY FILES_FROM PLAN RUN_PLAN; do
		expect 1 env "HAUL_OPTION_$name=1" "$HAUL" copy file nas:inbox
		err_has "HAUL_OPTION_$name is not taken from the environment"
	done
	expect 1 env HAUL_OPTION_NOSUCH=1 "$HAUL" copy file nas:inbox
	err_has HAUL_OPTION_NOSUCH
	HAUL_OPTION_JSON=1 expect 1 haul copy file file
	done_is exit 1
}

@test "NO_COLOR, and no colour off a terminal" {
	need_tool script
	expect 1 haul copy file file
	check "$(grep -c $'\033' "$T/err")" -eq 0
	TERM=xterm script -qec "'$HAUL' copy file file" /dev/null </dev/null >"$T/tty" || true
	grep -q $'\033\[31m' "$T/tty"
	NO_COLOR=1 TERM=xterm script -qec "'$HAUL' copy file file" /dev/null </dev/null >"$T/tty" || true
	check "$(grep -c $'\033\[31m' "$T/tty")" -eq 0
}

@test "stdout that cannot be written is no success" {
	[ -c /dev/full ] || skip "needs /dev/full"
	check "$("$HAUL" --help >/dev/full 2>"$T/err"; echo $?)" -eq 10
	err_has "could not be written"
}

@test "--log-file gets the lines of stderr, also with -q; one that cannot be opened is a usage error" {
	expect 0 haul share add inbox . -q --log-file "$T/log"
	check ! -s "$T/err"
	grep -q "is shared as inbox" "$T/log"
	expect 1 haul share list --log-file "$T/absent/log"
	err_has absent/log
}

@test "--system is root's, and not together with --home" {
	expect 1 haul --home "$A" --system id
	err_has "two homes"
}

@test "a reader of stdout that has seen enough is no failure" {
	mkdir many
	(cd many && seq -f 'some-name-to-fill-the-pipe-%g' 1 4000 | xargs touch)
	haul list many 2>"$T/err" | head -n 1
	check "${PIPESTATUS[0]}" -eq 0
	check ! -s "$T/err"
}

@test "help of every verb, by help, --help and -h, is no wider than 80 columns; help hauld says where to look" {
	local verb
	for verb in copy verify move remove list diagnose id share peer; do
		expect 0 haul help "$verb"
		cp "$T/out" "$T/long"
		expect 0 haul "$verb" -h
		cmp "$T/out" "$T/long"
		check "$(wc -L <"$T/out")" -le 80
	done
	expect 0 haul help hauld
	out_has "hauld --help"
	expect 0 haul --help
	out_has "9 guard refused" "11 the same copy runs."
	check "$(wc -L <"$T/out")" -le 80
}

@test "an empty value is none, and what the environment said wrong is named as the variable" {
	expect 1 haul copy --trace= a b
	err_has "--trace needs a value"
	expect 1 env HAUL_OPTION_LANES=many "$HAUL" copy a b
	err_has "HAUL_OPTION_LANES=many: from 1 to 16"
	expect 1 env HAUL_OPTION_DIRECT=perhaps "$HAUL" copy a b
	err_has "HAUL_OPTION_DIRECT takes"
	expect 1 haul copy --remove-source-files a b
	err_has "haul move does that"
	err_lacks "not in this version"
}

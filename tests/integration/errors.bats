# What goes wrong, which exit code says so, and the line with the cure. Nothing is written where nothing may be.
load lib
load trees

setup() {
	test_begin
	pair
	mkdir -p "$T/dir/sub"
	echo one >"$T/dir/one"
	echo two >"$T/dir/sub/two"
}

nothing_written() { check -z "$(find "$SHARE" -mindepth 1 | head -n 3)"; }

@test "a device the peer does not know: exit 6 and the line to run there" {
	expect 0 haul_b peer remove edit1
	expect 6 haul copy "$T/dir" nas:inbox
	err_has "nas does not know this device" "haul peer add $A_ID --name" "--allow inbox="
	nothing_written
	expect 6 haul copy nas:inbox "$T/back"
	check ! -e "$T/back"
	expect 6 haul verify "$T/dir" nas:inbox/dir
	expect 6 haul list nas:
}

@test "a right that is missing, for each direction: exit 6 and the cure" {
	expect 0 haul_b peer allow edit1 inbox=list,read
	expect 6 haul copy "$T/dir" nas:inbox
	err_has "nas: edit1 may not create in inbox" "haul peer allow edit1 inbox=writer"
	nothing_written
	expect 0 haul_b peer allow edit1 inbox=dropbox
	expect 0 haul copy "$T/dir" nas:inbox
	expect 6 haul copy nas:inbox/dir "$T/back"
	err_has "may not read" "haul peer allow edit1 inbox="
	check ! -e "$T/back"
}

@test "D-14: overwriting needs the right: named, exit 3, the old file stays" {
	expect 0 haul copy "$T/dir" nas:inbox
	expect 0 haul_b peer allow edit1 inbox=list,read,create
	echo changed and longer >"$T/dir/one"
	echo three >"$T/dir/three"
	expect 3 haul copy "$T/dir" nas:inbox
	err_has one
	check "$(cat "$SHARE/dir/one")" = one
	check "$(cat "$SHARE/dir/three")" = three
}

@test "no such share: exit 6, the offered ones named" {
	expect 6 haul copy "$T/dir" nas:inbx
	err_has 'nas offers this device no share "inbx" (offered: inbox)'
	nothing_written
	expect 6 haul copy nas:inbx/x "$T/back"
	err_has 'no share "inbx"'
}

@test "a misspelt peer: exit 6, the known ones named" {
	expect 6 haul copy "$T/dir" nass:inbox
	err_has 'no peer "nass" (known: nas)'
	nothing_written
}

@test "no such path: exit 2, nothing touched; one of several missing: exit 3" {
	expect 2 haul copy "$T/absent" nas:inbox
	err_has absent
	nothing_written
	expect 2 haul copy nas:inbox/absent "$T/back"
	err_has absent
	check ! -e "$T/back"
	expect 3 haul copy "$T/dir" "$T/absent" nas:inbox/both
	err_has absent
	check "$(cat "$SHARE/both/dir/one")" = one
	expect 2 haul verify "$T/absent" nas:inbox
}

@test "D-07, D-08: a file where a directory should be, and the reverse: named, exit 3, both stay" {
	mkdir -p "$SHARE/dir/one"
	echo keep >"$SHARE/dir/one/keep"
	echo file >"$SHARE/dir/sub"
	expect 3 haul copy "$T/dir" nas:inbox
	err_has one sub
	check "$(cat "$SHARE/dir/one/keep")" = keep
	check "$(cat "$SHARE/dir/sub")" = file
	no_leftovers "$SHARE"
}

@test "the same at a local destination" {
	expect 0 haul copy "$T/dir" nas:inbox
	mkdir -p "$T/back/dir/one"
	echo file >"$T/back/dir/sub"
	expect 3 haul copy nas:inbox/dir "$T/back"
	err_has one sub
	check -d "$T/back/dir/one"
	check "$(cat "$T/back/dir/sub")" = file
}

@test "a destination below a file: exit 3 or 2, the file stays" {
	echo file >"$SHARE/file"
	expect "2|3" haul copy "$T/dir" nas:inbox/file/deeper
	check "$(cat "$SHARE/file")" = file
	err_has file
}

@test "remote paths instead of shares, and other refused forms: exit 1 with the remedy" {
	expect 1 haul copy "$T/dir" nas:/volume1/x
	err_has "shares, not paths"
	expect 1 haul copy "$T/dir" user@nas:x
	expect 1 haul copy "$T/dir" nas::inbox
	expect 1 haul copy "$T/dir" nas:
	expect 1 haul copy nas:inbox nas:inbox/two
	nothing_written
}

@test "the agent is off: exit 5 and what to check" {
	stop_agent "$AGENT_PID"
	expect 5 haul copy "$T/dir" nas:inbox
	err_has "127.0.0.1:$AGENT_PORT refused the connection" "hauld is not running there"
	nothing_written
	expect 5 haul list nas:
	expect 5 haul verify "$T/dir" nas:inbox/dir
	restart_b
	expect 0 haul copy "$T/dir" nas:inbox
}

@test "a peer without an address, a wrong port, a name that does not resolve" {
	expect 0 haul peer remove nas
	expect 0 haul peer add "$B_ID" --name nas
	expect "5|6" haul copy "$T/dir" nas:inbox
	err_has "haul peer add"
	expect 0 haul peer add "$B_ID" --name nas --address 127.0.0.1:1
	expect 5 haul copy "$T/dir" nas:inbox
	err_has "127.0.0.1:1"
	expect 0 haul peer remove nas
	expect 0 haul peer add "$B_ID" --name nas --address host.invalid
	expect 5 haul copy --connect-timeout 5 "$T/dir" nas:inbox
	err_has host.invalid
}

@test "W-14: another device at the address: exit 6, nothing sent" {
	C=$T/c
	mkdir "$T/cshare"
	A_KEEPS=$AGENT_PORT
	HAUL_HOME=$C "$HAUL" share add inbox "$T/cshare"
	HAUL_HOME=$C "$HAUL" peer add "$A_ID" --name edit1 --allow inbox=writer
	start_agent "$C"
	expect 0 haul peer remove nas
	expect 0 haul peer add "$B_ID" --name nas --address "127.0.0.1:$AGENT_PORT"
	expect 6 haul copy "$T/dir" nas:inbox
	err_has "answers as another device than nas" "nothing was sent"
	check -z "$(ls -A "$T/cshare")"
	expect 0 haul peer add "$B_ID" --name nas --address "127.0.0.1:$A_KEEPS"
}

@test "--allow speaks of shares of this machine" {
	expect 1 haul_b peer add "$A_ID" --name edit1 --allow nosuch=writer
	err_has '--allow grants rights on shares of THIS machine, which has no share "nosuch"'
}

@test "an id mistyped by one character, an own id, a damaged list of rights: exit 1" {
	local wrong
	case $B_ID in A*) wrong=B${B_ID#?} ;; *) wrong=A${B_ID#?} ;; esac
	expect 1 haul peer add "$wrong" --name other
	expect 1 haul peer add "$A_ID" --name myself
	expect 1 haul_b peer allow edit1 inbox=wrtier
	err_has wrtier writer
}

@test "a home that belongs to somebody else is refused with the cure" {
	need_root
	chown -R 1234 "$A"
	expect "1|6" haul copy "$T/dir" nas:inbox
	err_has "$A"
	expect 6 timeout 10 "$HAULD" --home "$A" --listen 127.0.0.1:0
	err_has "$A belongs to"
	chown -R 0 "$A"
	nothing_written
}

@test "a list of peers that was damaged lets nobody in" {
	stop_agent "$AGENT_PID"
	printf 'x' >>"$B/peers"
	restart_b
	expect 6 haul copy "$T/dir" nas:inbox
	nothing_written
	grep -i peers "$B.err"
}

@test "a source that changes while it is read is named: exit 8, no mixture under its name" {
	"$MKTREE" big 40000000 "$T/moving"
	(for i in $(seq 1 400); do
		printf '%s' "$i" | dd of="$T/moving" bs=1 seek=$((i * 90000)) conv=notrunc status=none
		sleep 0.01
	done) 3>&- &
	OTHERS+=($!)
	expect "0|8|3" haul copy --bwlimit 20M "$T/moving" nas:inbox
	if [ "$GOT" != 0 ]; then
		err_has moving
		check ! -e "$SHARE/moving"
	fi
}

# Two machines as a newcomer meets them: two network namespaces, two users, the installed programs, the README's steps
# and then each step got wrong once.
load lib
load trees

setup() {
	test_begin
	need_root
	need_tool ip unshare nsenter setpriv
	unshare -n true 2>/dev/null || skip "cannot make a network namespace"
	# Away from the build: an unprivileged user must reach all of it.
	W=$(mktemp -d /tmp/haul-users.XXXXXX)
	chmod 0755 "$W"
	install -m 0755 "$HAUL" "$HAULD" "$W/"
	as_user test -x "$W/haul" || skip "a user without privileges cannot run $W/haul"
	install -d -o 1234 -g 1234 -m 0700 "$W/user" "$W/user/footage"
	install -d -m 0755 "$W/disk"
	make_network
}

teardown() {
	local pid bad=0
	test_end || bad=1
	for pid in "${SPACES[@]:-}"; do [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || true; done
	[ -z "${W:-}" ] || rm -rf "$W"
	return $bad
}

# Two namespaces, workstation 10.78.0.1 and nas 10.78.0.2, joined by a cable.
make_network() {
	SPACES=()
	local name
	for name in 1 2; do
		unshare -n sleep 600 3>&- 4>&- &
		SPACES+=($!)
	done
	wait_for 5 other_network "${SPACES[0]}"
	wait_for 5 other_network "${SPACES[1]}"
	ip link add "hv$$a" type veth peer name "hv$$b" 2>/dev/null || skip "no veth devices"
	ip link set "hv$$a" netns "${SPACES[0]}" name eth0
	ip link set "hv$$b" netns "${SPACES[1]}" name eth0
	for name in 1 2; do
		nsenter -t "${SPACES[name - 1]}" -n sh -c \
			"ip link set lo up; ip addr add 10.78.0.$name/24 dev eth0; ip link set eth0 up"
	done
}

other_network() { [ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]; }

# The workstation's user, and root on the NAS with a home as its unit has it.
ws() {
	timeout -k 5 "$LIMIT" nsenter -t "${SPACES[0]}" -n setpriv --reuid=1234 --regid=1234 --clear-groups -- \
		env -i HOME="$W/user" PATH=/usr/bin:/bin "$W/haul" "$@"
}
nas() {
	timeout -k 5 "$LIMIT" nsenter -t "${SPACES[1]}" -n env -i HOME=/root HAUL_HOME="$W/etc" PATH=/usr/bin:/bin "$W/haul" "$@"
}

start_nas() {
	HAUL_HOME=$W/etc nsenter -t "${SPACES[1]}" -n "$W/hauld" >"$T/nas.out" 2>"$T/nas.err" </dev/null 3>&- 4>&- &
	NAS=$!
	OTHERS+=($NAS)
	wait_for 20 grep -q '^listening ' "$T/nas.out" || { cat "$T/nas.out" "$T/nas.err"; false; }
}

ids() {
	WS_ID=$(ws id </dev/null | grep -oE '[A-Z2-7]{4,}(-[A-Z2-7]{4,}){3,}' | head -n 1)
	NAS_ID=$(nas id </dev/null | grep -oE '[A-Z2-7]{4,}(-[A-Z2-7]{4,}){3,}' | head -n 1)
}

@test "a newcomer's six commands to the first verified file" {
	echo take one >"$W/user/footage/clip"
	chown 1234:1234 "$W/user/footage/clip"
	ids
	# On the NAS: share, peer, agent. On the workstation: peer, copy, verify.
	expect 0 nas share add inbox "$W/disk"
	expect 0 nas peer add "$WS_ID" --name edit1 --allow inbox=writer
	start_nas
	expect 0 ws peer add "$NAS_ID" --name nas --address 10.78.0.2
	expect 0 ws copy "$W/user/footage" nas:inbox/day1
	expect 0 ws verify "$W/user/footage" nas:inbox/day1/footage
	check "$(cat "$W/disk/day1/footage/clip")" = "take one"
}

@test "each step wrong once: the printed line alone mends it" {
	echo take two >"$W/user/footage/clip"
	chown 1234:1234 "$W/user/footage/clip"
	ids
	expect 0 nas share add inbox "$W/disk"
	expect 0 ws peer add "$NAS_ID" --name nas --address 10.78.0.2
	# The agent is off.
	expect 5 ws copy "$W/user/footage" nas:inbox
	err_has "10.78.0.2:42850 refused the connection: hauld is not running there"
	start_nas
	# The workstation is not known: run there what the line says.
	expect 6 ws copy "$W/user/footage" nas:inbox
	local cure
	cure=$(grep -oE 'haul peer add .*' "$T/err" | head -n 1 | sed 's/ *([0-9]*)$//; s/^haul //; s/[.]$//')
	# shellcheck disable=SC2086 # the line as a shell would split it
	expect 0 nas $cure
	# A right is missing.
	local name
	name=$(echo "$cure" | sed -n 's/.*--name \([^ ]*\).*/\1/p')
	expect 0 nas peer allow "$name" inbox=reader
	expect 6 ws copy "$W/user/footage" nas:inbox
	cure=$(grep -oE 'haul peer allow .*' "$T/err" | head -n 1 | sed 's/ *([0-9]*)$//; s/^haul //; s/[.]$//')
	# shellcheck disable=SC2086
	expect 0 nas $cure
	# A share misspelt, a path instead of a share.
	expect 6 ws copy "$W/user/footage" nas:inbx
	err_has "offered: inbox"
	expect 1 ws copy "$W/user/footage" "nas:$W/disk"
	err_has "shares, not paths"
	# Another user's home.
	expect "1|6" timeout 60 setpriv --reuid=4321 --regid=4321 --clear-groups -- env -i HAUL_HOME="$W/user/.config/haul" \
		"$W/haul" id
	expect 0 ws copy "$W/user/footage" nas:inbox
	check "$(cat "$W/disk/footage/clip")" = "take two"
}

@test "files that root's agent writes for a user belong to root, or to whom --own names" {
	echo x >"$W/user/footage/clip"
	chown 1234:1234 "$W/user/footage/clip"
	ids
	install -d "$W/disk2"
	expect 0 nas share add inbox "$W/disk"
	expect 0 nas share add owned "$W/disk2" --own 1234:1234
	expect 0 nas peer add "$WS_ID" --name edit1 --allow inbox=writer --allow owned=writer
	start_nas
	expect 0 ws peer add "$NAS_ID" --name nas --address 10.78.0.2
	expect 0 ws copy "$W/user/footage" nas:inbox
	check "$(stat -c %u "$W/disk/footage/clip")" = 0
	expect 0 ws copy "$W/user/footage" nas:owned
	check "$(stat -c %u:%g "$W/disk2/footage/clip")" = 1234:1234
	check "$(stat -c %u:%g "$W/disk2/footage")" = 1234:1234
}

@test "one address after the other, and a cable that is pulled: exit 5" {
	ids
	expect 0 nas share add inbox "$W/disk"
	expect 0 nas peer add "$WS_ID" --name edit1 --allow inbox=writer
	start_nas
	expect 0 ws peer add "$NAS_ID" --name nas --address 10.78.0.9 --address 10.78.0.2
	"$MKTREE" big 100000000 "$W/user/footage/big"
	chown 1234:1234 "$W/user/footage/big"
	expect 0 ws list nas:
	(wait_for 60 is_arriving "$W/disk"; nsenter -t "${SPACES[1]}" -n ip link set eth0 down) 3>&- 4>&- &
	expect 5 ws copy --bwlimit 10M --timeout 5 "$W/user/footage/big" nas:inbox
	check -z "$(real_files "$W/disk")"
	kill -0 "$NAS"
}

# Shares with --own and --umask: what arrives belongs to whom the share says, whole, and an agent that may not give
# files away says so before anything is written.
load lib
load trees

# In a directory that anybody can reach: one agent here runs without privileges.
setup() {
	test_in_the_open
	need_user
}

not_of() { find "$1" -mindepth 1 \( ! -uid "$2" -o ! -gid "$3" \) -print; }

@test "files big and small, directories, links and made parents belong to the share's owner" {
	pair
	mkdir "$T/owned"
	expect 0 haul_b share add owned "$T/owned" --own 4321:8765 --umask 027
	expect 0 haul_b peer allow edit1 owned=writer
	make_mixed "$T/mixed"
	head -c 9000000 /dev/urandom >"$T/mixed/big"
	expect 0 haul copy "$T/mixed" nas:owned/made/parents
	check -z "$(not_of "$T/owned" 4321 8765)"
	check "$(stat -c %u "$T/owned")" = 0
	same "$T/mixed" "$T/owned/made/parents/mixed" --no-modes
	check -z "$(find "$T/owned" -mindepth 1 ! -type l -perm /027)"
	# What stood there keeps its owner; a file that is replaced is a new one.
	chown 77:77 "$T/owned/made/parents/mixed/hello.txt" "$T/owned/made/parents/mixed/sub"
	echo changed >"$T/mixed/sub/run.sh"
	expect 0 haul copy "$T/mixed" nas:owned/made/parents
	check "$(stat -c %u "$T/owned/made/parents/mixed/hello.txt")" = 77
	check "$(stat -c %u "$T/owned/made/parents/mixed/sub")" = 77
	check "$(stat -c %u "$T/owned/made/parents/mixed/sub/run.sh")" = 4321
}

@test "an agent that is not root refuses the job, says why, and makes nothing" {
	A=$T/a B=$T/b
	install -d -o 1234 -g 1234 -m 0700 "$B"
	install -d -o 1234 -g 1234 -m 0755 "$T/share"
	A_ID=$(device_id "$A")
	user_b() { HAUL_HOME=$B timeout -k 5 "$LIMIT" setpriv --reuid=1234 --regid=1234 --clear-groups -- "$HAUL" "$@"; }
	expect 0 user_b share add inbox "$T/share" --own 4321:8765
	expect 0 user_b share add mine "$T/share" --own 1234:1234
	expect 0 user_b peer add "$A_ID" --name edit1 --allow inbox=writer --allow mine=writer
	B_ID=$(user_b id </dev/null | grep -oE '[A-Z2-7]{4,}(-[A-Z2-7]{4,}){3,}' | head -n 1)
	HAULD_UNDER="setpriv --reuid=1234 --regid=1234 --clear-groups --" start_agent "$B"
	expect 0 haul peer add "$B_ID" --name nas --address "127.0.0.1:$AGENT_PORT"
	echo x >"$T/x"
	expect 3 haul copy "$T/x" nas:inbox/a/b/
	err_has "nas:inbox" 4321:8765 root
	check -z "$(ls -A "$T/share")"
	expect 0 haul copy "$T/x" nas:mine/a/
	check "$(stat -c %u:%g "$T/share/a/x")" = 1234:1234
}

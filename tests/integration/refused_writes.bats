# A source that cannot be read, a destination that cannot be written, a disk that is full: what can arrive arrives, the
# rest is named, nothing is half.
load lib
load trees

# Some tests have a user without privileges.
setup() { test_in_the_open; }

# haul as that user, with a home of its own.
haul_user() {
	HAUL_HOME=$T/u timeout -k 5 "$LIMIT" setpriv --reuid=1234 --regid=1234 --clear-groups -- "$HAUL" "$@"
}

# A user's home $T/u known to B as edit1.
pair_user() {
	pair
	install -d -o 1234 -g 1234 -m 0700 "$T/u"
	A_ID=$(haul_user id </dev/null | grep -oE '[A-Z2-7]{4,}(-[A-Z2-7]{4,}){3,}' | head -n 1)
	expect 0 haul_b peer remove edit1
	expect 0 haul_b peer add "$A_ID" --name edit1 --allow inbox=writer
	expect 0 haul_user peer add "$B_ID" --name nas --address "127.0.0.1:$AGENT_PORT"
}

@test "an unreadable file and directory: named, exit 3, the rest arrives" {
	need_user
	pair_user
	make_mixed "$T/mixed"
	chown -R 1234 "$T/mixed"
	chown 0 "$T/mixed/hello.txt" "$T/mixed/sub/many"
	chmod 0600 "$T/mixed/hello.txt"
	chmod 0700 "$T/mixed/sub/many"
	expect 3 haul_user copy --json "$T/mixed" nas:inbox
	check "$(grep -c '"error"' "$T/out")" -ge 2
	out_has hello.txt many
	check ! -e "$SHARE/mixed/hello.txt"
	check "$(cat "$SHARE/mixed/sub/run.sh")" = run
	chown -R 1234 "$T/mixed"
	expect 0 haul_user copy "$T/mixed" nas:inbox
	same "$T/mixed" "$SHARE/mixed"
}

@test "an unreadable single source: exit 2 or 3, named" {
	need_user
	pair_user
	echo x >"$T/secret"
	chmod 0600 "$T/secret"
	expect "2|3" haul_user copy "$T/secret" nas:inbox
	err_has secret
	check ! -e "$SHARE/secret"
}

@test "a local destination that may not be written" {
	need_user
	pair_user
	echo x >"$SHARE/file"
	mkdir -m 0755 "$T/closed"
	expect "2|3" haul_user copy nas:inbox/file "$T/closed/"
	err_has closed
	check -z "$(ls -A "$T/closed")"
}

@test "a share whose agent may not write there" {
	need_user
	A=$T/a B=$T/u SHARE=$T/share
	mkdir -m 0755 "$SHARE" "$SHARE/closed"
	install -d -o 1234 -g 1234 -m 0700 "$B"
	install -d -o 1234 -m 0755 "$SHARE/open"
	A_ID=$(device_id "$A")
	expect 0 haul_user share add inbox "$SHARE"
	expect 0 haul_user peer add "$A_ID" --name edit1 --allow inbox=writer
	B_ID=$(haul_user id </dev/null | grep -oE '[A-Z2-7]{4,}(-[A-Z2-7]{4,}){3,}' | head -n 1)
	HAULD_UNDER="setpriv --reuid=1234 --regid=1234 --clear-groups --" start_agent "$B"
	expect 0 haul peer add "$B_ID" --name nas --address "127.0.0.1:$AGENT_PORT"
	make_mixed "$T/mixed"
	expect "3|6" haul copy "$T/mixed/" nas:inbox/closed
	err_has closed
	check -z "$(ls -A "$SHARE/closed")"
	expect 0 haul copy "$T/mixed/" nas:inbox/open
	same "$T/mixed" "$SHARE/open" --no-times
	check "$(stat -c %u "$SHARE/open/sub/run.sh")" = 1234
}

@test "a full disk: exit 7, what lacks is said, no half file" {
	SHARE_AT=$T/small
	mount_loop ext4 64 "$SHARE_AT"
	pair
	"$MKTREE" big 100000000 "$T/big"
	expect 7 haul copy "$T/big" nas:inbox
	err_has inbox
	check -z "$(real_files "$SHARE")"
	no_leftovers "$SHARE"
	echo fits >"$T/fits"
	expect 0 haul copy "$T/fits" nas:inbox
}

@test "a disk that fills up in the middle of many files: exit 7, every file there is whole" {
	SHARE_AT=$T/small
	mount_loop ext4 64 "$SHARE_AT"
	pair
	"$MKTREE" small 100 1000000 "$T/many"
	expect 7 haul copy "$T/many" nas:inbox
	local file
	real_files "$SHARE" | while IFS= read -r file; do
		cmp "$file" "$T/many/${file#"$SHARE/many/"}" || exit 1
	done
	no_leftovers "$SHARE"
}

@test "a full local disk when pulling: exit 7, no half file" {
	pair
	mount_loop ext4 64 "$T/small"
	"$MKTREE" big 100000000 "$SHARE/big"
	expect 7 haul copy nas:inbox/big "$T/small/"
	check -z "$(real_files "$T/small")"
	no_leftovers "$T/small"
}

@test "a share on a read-only file system: named, not exit 0" {
	mount_loop tmpfs 16 "$T/ro"
	SHARE_AT=$T/ro
	pair
	mount -o remount,ro "$T/ro"
	echo x >"$T/file"
	expect "3|6" haul copy "$T/file" nas:inbox
	err_has inbox
}

@test "D-23: an immutable file in the way is named and stays" {
	need_root
	need_tool chattr
	pair
	make_mixed "$T/mixed"
	expect 0 haul copy "$T/mixed" nas:inbox
	chattr +i "$SHARE/mixed/sub/run.sh" 2>/dev/null || skip "no immutable flag on this file system"
	echo changed >"$T/mixed/sub/run.sh"
	echo new >"$T/mixed/new"
	expect 3 haul copy "$T/mixed" nas:inbox
	chattr -i "$SHARE/mixed/sub/run.sh"
	err_has run.sh
	check "$(cat "$SHARE/mixed/sub/run.sh")" = run
	check "$(cat "$SHARE/mixed/new")" = new
}

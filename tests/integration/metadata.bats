# Metadata beside the bytes, as BUGREPORTS' group M has it: extended attributes and ACLs, where both ends can and the sender
# may, with modes that forbid writing and times of all ages.
load lib
load trees

need_attributes() {
	need_tool setfattr getfattr setfacl getfacl
	touch "$T/probe"
	setfattr -n user.probe -v x "$T/probe" 2>/dev/null && setfacl -m u:1234:r "$T/probe" 2>/dev/null ||
		skip "no extended attributes or ACLs on $T"
}

# A tree with attributes of every kind that this user may set.
make_tagged() {
	mkdir -p "$1/dir/deep" "$1/plain"
	echo one >"$1/small"
	head -c 3000000 /dev/urandom >"$1/big"
	echo two >"$1/dir/readonly"
	echo three >"$1/plain/none"
	: >"$1/empty"
	ln -s small "$1/link"
	setfattr -n user.note -v precious "$1/small"
	setfattr -n user.empty "$1/small"
	setfattr -n user.binary -v 0x00ff0a00 "$1/big"
	setfattr -n user.k -v v "$1/dir/readonly"
	setfattr -n user.of.empty -v "$(head -c 900 /dev/zero | tr '\0' x)" "$1/empty"
	setfattr -n user.dir -v d "$1/dir"
	setfacl -m u:1234:rwx,g:4321:r,o::- "$1/small" "$1/big"
	setfacl -d -m u:1234:rwx "$1/dir"
	setfacl -m u:1234:rwx "$1/dir/deep"
	chmod 0444 "$1/dir/readonly"
	chmod 0555 "$1/dir/deep"
	if [ "$(id -u)" = 0 ]; then
		setfattr -n trusted.haul -v t "$1/small"
		setfattr -h -n trusted.haul -v l "$1/link"
		setfattr -n security.haul -v s "$1/big"
	fi
}

@test "attributes and ACLs arrive, locally, pushed and pulled; a second run finds them equal" {
	need_attributes
	pair full
	make_tagged "$T/src"
	expect 0 haul copy "$T/src" "$T/local/"
	same "$T/src" "$T/local/src" --xattrs
	expect 0 haul copy "$T/src" nas:inbox
	same "$T/src" "$SHARE/src" --xattrs
	expect 0 haul copy nas:inbox/src "$T/pulled/"
	same "$T/src" "$T/pulled/src" --xattrs
	expect 0 haul copy -n "$T/src" nas:inbox
	check ! -s "$T/out"
	expect 0 haul copy --json "$T/src" nas:inbox
	done_is bytes_sent 0 files_sent 0
	expect 0 haul verify --exact "$T/src" nas:inbox/src
}

@test "a change of attributes alone: no content is sent, what is surplus goes" {
	need_attributes
	pair full
	make_tagged "$T/src"
	expect 0 haul copy "$T/src" nas:inbox
	setfattr -n user.note -v other "$T/src/small"
	setfattr -x user.k "$T/src/dir/readonly"
	setfacl -b "$T/src/big"
	setfattr -n user.more -v "$(head -c 500 /dev/zero | tr '\0' y)" "$SHARE/src/plain"
	setfattr -n user.surplus -v x "$SHARE/src/plain/none"
	expect 4 haul verify --exact "$T/src" nas:inbox/src
	expect 0 haul copy -n "$T/src" nas:inbox
	grep -q '^\.f.*x src/plain/none$' "$T/out"
	grep -q '^\.f\.\.\..*a\. src/big$' "$T/out" || { show_output; false; }
	check "$(wc -l <"$T/out")" -eq 5
	expect 0 haul copy --json "$T/src" nas:inbox
	done_is bytes_sent 0 files_sent 0
	same "$T/src" "$SHARE/src" --xattrs
}

@test "--no-xattrs: none are sent, and those there stay" {
	need_attributes
	pair full
	make_tagged "$T/src"
	expect 0 haul copy --no-xattrs "$T/src" nas:inbox
	check -z "$(getfattr -R -d -m 'user|trusted' "$SHARE/src" 2>/dev/null)"
	setfattr -n user.mine -v m "$SHARE/src/small"
	expect 0 haul copy --no-xattrs "$T/src" nas:inbox
	check "$(getfattr --only-values -n user.mine "$SHARE/src/small")" = m
	expect 0 haul verify --exact --no-xattrs "$T/src" nas:inbox/src
}

@test "M-07 M-06: read-only files and directories get theirs, as nobody's root" {
	need_attributes
	pair writer
	mkdir -p "$T/src/a"
	echo 1 >"$T/src/a/x"
	setfattr -n user.k -v v "$T/src/a/x" "$T/src/a"
	chmod 0444 "$T/src/a/x"
	chmod 0555 "$T/src/a" "$T/src"
	expect 0 haul copy "$T/src" nas:inbox
	same "$T/src" "$SHARE/src" --xattrs
	chmod 0644 "$T/src/a/x"
	setfattr -n user.k -v w "$T/src/a/x"
	chmod 0444 "$T/src/a/x"
	expect 0 haul copy "$T/src" nas:inbox
	same "$T/src" "$SHARE/src" --xattrs
	chmod -R u+w "$T/src" "$SHARE/src"
}

@test "who may only create: content arrives, one warning for each class; --strict: exit 3" {
	need_attributes
	pair dropbox
	make_tagged "$T/src"
	expect 0 haul copy "$T/src" nas:inbox
	check "$(grep -c 'extended attributes not kept' "$T/err")" -eq 1
	check "$(grep -c 'ACLs not kept' "$T/err")" -eq 1
	err_has 'edit1 has no "meta" on inbox (5 entries)' "On nas run: haul peer allow edit1 inbox=writer"
	check -z "$(getfattr -R -d -m user "$SHARE/src" 2>/dev/null)"
	# Without its ACL the group may not do more than the ACL let it.
	check "$(stat -c %a "$SHARE/src/small")" = 640
	expect 3 haul copy --strict "$T/src" nas:inbox/other
}

@test "a destination that cannot store them: everything arrives, one warning" {
	need_attributes
	need_root
	A=$T/a
	mkdir "$T/disk"
	mount -t ramfs ramfs "$T/disk" || skip "cannot mount ramfs"
	MOUNTS=("$T/disk")
	make_tagged "$T/src"
	expect 0 haul copy "$T/src" "$T/disk"
	check "$(grep -c 'extended attributes not kept: the destination cannot store them' "$T/err")" -eq 1
	check "$(grep -c 'ACLs not kept: the destination cannot store them' "$T/err")" -eq 1
	same "$T/src" "$T/disk/src" --no-modes
	expect 0 haul copy --json "$T/src" "$T/disk"
	done_is bytes_sent 0 files_failed 0
}

@test "M-01 M-02 M-04: times before 1970 and far ahead, to the nanosecond, are kept and sent once" {
	pair
	mkdir "$T/src"
	touch -d '1965-07-13 19:57:00.000000001' "$T/src/a"
	touch -d '1913-05-09 01:02:03.999999999' "$T/src/b"
	touch -d '1970-01-01T00:00:00Z' "$T/src/c"
	touch -d '2099-12-31 23:59:59.123456789' "$T/src/d"
	touch -d '2400-02-29 12:00:00.5' "$T/src/e"
	head -c 5000000 /dev/urandom >"$T/src/f"
	touch -d '2020-01-01 00:00:00.123456789' "$T/src/f"
	mkdir "$T/src/dir"
	ln -s nowhere "$T/src/link"
	touch -h -d '1931-01-01 00:00:00.25' "$T/src/link"
	touch -d '1950-01-01 00:00:00.75' "$T/src/dir" "$T/src"
	expect 0 haul copy "$T/src" nas:inbox
	same "$T/src" "$SHARE/src" --root
	expect 0 haul copy --json "$T/src" nas:inbox
	done_is bytes_sent 0
	expect 0 haul copy -n "$T/src" nas:inbox
	check ! -s "$T/out"
	# A link's time alone
	touch -h -d '1932-01-01' "$T/src/link"
	expect 0 haul copy "$T/src" nas:inbox
	same "$T/src" "$SHARE/src"
}

# Files of others, with setuid and setgid, and one that belongs to nobody known.
make_owned() {
	mkdir -p "$1/dir" "$1/shared"
	for name in own other suid nobody acl; do echo "$name" >"$1/$name"; done
	echo in >"$1/dir/in"
	head -c 2000000 /dev/urandom >"$1/big"
	ln -s own "$1/link"
	chown daemon:daemon "$1/other" "$1/big" "$1/dir/in"
	chown -h bin:bin "$1/link"
	chown 54321:54322 "$1/nobody"
	chown daemon:bin "$1/suid" "$1/dir"
	chmod 4755 "$1/suid"
	chgrp bin "$1/shared"
	chmod 2775 "$1/shared"
	chmod 1777 "$1/dir"
}

@test "M-12 M-09: owners, setuid, setgid and sticky bits go with root's, by name or number; none with --no-owner" {
	need_root
	pair full
	make_owned "$T/src"
	setfacl -m u:daemon:rw "$T/src/suid" 2>/dev/null || true
	setfacl -d -m g:bin:rwx "$T/src/shared" 2>/dev/null || true
	expect 0 haul copy "$T/src" "$T/local/"
	same "$T/src" "$T/local/src" --owners --xattrs
	expect 0 haul copy "$T/src" nas:inbox
	same "$T/src" "$SHARE/src" --owners --xattrs
	check "$(stat -c %a "$SHARE/src/suid")" = 4755 -o "$(stat -c %a "$SHARE/src/suid")" = 4775
	expect 0 haul copy --json "$T/src" nas:inbox
	done_is bytes_sent 0 files_sent 0
	# A new owner alone: no content is sent.
	chown bin:daemon "$T/src/other" "$T/src/shared"
	chmod 2775 "$T/src/shared"
	chown -h daemon "$T/src/link"
	expect 0 haul copy -n "$T/src" nas:inbox
	grep -q '^\.f\.\.\.\.o\..* src/other$' "$T/out" || { show_output; false; }
	expect 0 haul copy --json "$T/src" nas:inbox
	done_is bytes_sent 0
	same "$T/src" "$SHARE/src" --owners --xattrs
	expect 0 haul verify --exact "$T/src" nas:inbox/src
	expect 0 haul copy --numeric-ids "$T/src" nas:inbox/numbers
	same "$T/src" "$SHARE/numbers/src" --owners --xattrs
	expect 0 haul copy --no-owner "$T/src" nas:inbox/mine
	check -z "$(find "$SHARE/mine" ! -uid 0)"
	check -z "$(find "$SHARE/mine" -perm /6000)"
}

@test "owners without the right special: content arrives, one warning for each class" {
	need_root
	pair writer
	make_owned "$T/src"
	expect 0 haul copy "$T/src" nas:inbox
	err_has 'owners not kept: edit1 has no "special" on inbox' 'setuid and setgid bits not kept'
	check "$(grep -c 'not kept' "$T/err")" -eq 2
	check -z "$(find "$SHARE/src" ! -uid 0 -o -perm /6000)"
	expect 0 haul copy --json "$T/src" nas:inbox
	done_is bytes_sent 0
	expect 0 haul copy --no-owner "$T/src" nas:inbox/quiet
	err_lacks 'not kept'
}

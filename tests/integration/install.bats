# What `cmake --install` puts in place, and what the programs need of a machine.
load lib

setup() { test_begin; }

@test "programs, units and manual pages are installed" {
	DESTDIR=$T/dest cmake --install "$HAUL_BUILD" >"$T/install.log" 2>&1 || { cat "$T/install.log"; false; }
	cd "$T/dest"
	local file
	for file in bin/haul bin/hauld; do [ -n "$(find . -path "*/$file" -perm -111)" ] || { find .; false; }; done
	[ -n "$(find . -path '*/systemd/system/hauld.service')" ]
	[ -n "$(find . -path '*/systemd/user/hauld.service')" ]
	[ -n "$(find . -name 'haul.1*')" ]
	[ -n "$(find . -name 'hauld.8*')" ]
	"$(find "$T/dest" -path '*/bin/haul')" --version
	! grep -rIlE "$ROOT" . || false
}

@test "the units name the installed program and are well formed" {
	DESTDIR=$T/dest cmake --install "$HAUL_BUILD" >"$T/install.log" 2>&1
	local unit
	for unit in $(find "$T/dest" -name 'hauld.service'); do
		grep -q '^Type=notify' "$unit"
		grep -qE '^ExecStart=.*/bin/hauld' "$unit"
	done
	command -v systemd-analyze >/dev/null || skip "no systemd-analyze to check the units with"
}

@test "haul and hauld need nothing but libc and libcrypto" {
	need_full
	local program
	for program in "$HAUL" "$HAULD"; do
		ldd "$program" >"$T/ldd"
		if grep -vE 'linux-vdso|libcrypto\.so|libc\.so|/ld-linux|libpthread\.so|libdl\.so' "$T/ldd"; then false; fi
	done
}

@test "the programs are hardened" {
	need_full
	need_tool readelf
	local program
	for program in "$HAUL" "$HAULD"; do
		readelf -h "$program" | grep -q 'DYN'
		readelf -d "$program" | grep -qE 'BIND_NOW|NOW'
		readelf -W -l "$program" | grep -q GNU_RELRO
		if readelf -W -l "$program" | grep GNU_STACK | grep -q 'RWE'; then false; fi
	done
}

@test "versions and help of both programs" {
	"$HAUL" --version | grep -qE '[0-9]+\.[0-9]+'
	"$HAULD" --version | grep -qE '[0-9]+\.[0-9]+'
	check "$("$HAUL" --help | wc -l)" -le 40
	check "$("$HAUL" --help | awk '{ if (length > m) m = length } END { print m }')" -le 80
	"$HAULD" --help | grep -q -- --listen
}

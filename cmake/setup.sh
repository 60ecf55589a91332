#!/bin/sh
# Install what building haul needs (Debian 12 and 13), and with `tests` what its tests need too. Does nothing, fast,
# when everything is there. Needs root or sudo only when something is missing.
#
# Usage: cmake/setup.sh [tests]
set -eu

build="gcc libc6-dev cmake ninja-build pkg-config git ca-certificates bzip2 dpkg-dev debian-archive-keyring
	libuv1-dev libmsgpack-dev libxxhash-dev liburing-dev libinih-dev libpcre2-dev libssl-dev"
tests="libcmocka-dev bats clang clang-format libclang-rt-dev llvm strace tcpdump iproute2 util-linux procps
	xxhash acl attr libfuse3-dev rsync xfsprogs btrfs-progs e2fsprogs jq openssl python3"

case ${1-} in
'') wanted=$build ;;
tests) wanted="$build $tests" ;;
*)
	echo "usage: cmake/setup.sh [tests]" >&2
	exit 1
	;;
esac

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
	echo "setup: this is not Debian; please install by other means: $wanted" | tr -s ' \t\n' ' ' >&2
	echo >&2
	exit 1
fi

# The sanitizers' and libFuzzer's run-time library: Debian 12 names it after the compiler's version only.
clang_rt() {
	if apt-cache show libclang-rt-dev >/dev/null 2>&1; then
		echo libclang-rt-dev
	else
		version=$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p' | head -n 1)
		echo "libclang-rt-${version:-14}-dev"
	fi
}

is_installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# The packages of $wanted that are not there; pkg-config counts when pkgconf stands in for it.
list_missing() {
	for package in $wanted; do
		case $package in
		pkg-config) is_installed pkgconf || is_installed pkg-config || echo pkg-config ;;
		libclang-rt-dev)
			dpkg-query -W -f '${db:Status-Status}\n' 'libclang-rt-*dev' 2>/dev/null |
				grep -q '^installed' || echo libclang-rt-dev
			;;
		*) is_installed "$package" || echo "$package" ;;
		esac
	done
}

missing=$(list_missing)
if [ -z "$missing" ]; then
	echo "setup: everything is installed"
	exit 0
fi

as_root=
if [ "$(id -u)" != 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "setup: missing: $(echo "$missing" | tr '\n' ' ')" >&2
		echo "setup: run this as root (there is no sudo)" >&2
		exit 1
	fi
	as_root=sudo
fi

# Output is kept back and shown only when a step fails.
quietly() {
	log=$(mktemp)
	if ! "$@" >"$log" 2>&1; then
		cat "$log" >&2
		rm -f "$log"
		echo "setup: failed: $*" >&2
		exit 1
	fi
	rm -f "$log"
}

quietly $as_root apt-get -q update
case $missing in
*libclang-rt-dev*) missing=$(echo "$missing" | sed "s/^libclang-rt-dev\$/$(clang_rt)/") ;;
esac
echo "setup: installing $(echo "$missing" | tr '\n' ' ')"
# shellcheck disable=SC2086 # words on purpose
quietly $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install $missing
echo "setup: done"

#!/bin/sh
# forbid-includes.sh finds what it must, where it must, and nothing else.
set -eu

script=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
	echo "FAILED: $*" >&2
	exit 1
}
# expect_found TEXT ARGUMENT...: the script fails and prints TEXT.
expect_found() {
	text=$1
	shift
	if said=$(sh "$script" "$@"); then fail "accepted: $*"; fi
	case $said in *"$text"*) ;; *) fail "said '$said' for: $*" ;; esac
}
expect_clean() {
	sh "$script" "$@" >said || fail "refused: $* ($(cat said))"
}

mkdir -p area/sub
printf '/* x */\n\n#include <uv.h>\n' >area/one.c
printf '#  include "mbedtls/ssl.h" /* why */\n' >area/sub/two.h
printf '/* #include <sys/socket.h> */\n#include <uv.hpp>\n' >area/three.c

expect_found 'area/one.c:3: may not include uv.h' area uv.h
expect_found 'area/sub/two.h:1: may not include mbedtls/ssl.h' area mbedtls/
expect_clean area sys/socket.h ssl.h mbedtls
expect_clean --except=area/sub area mbedtls/
expect_found 'area/one.c:3' --except=area/sub area mbedtls/ uv.h
expect_clean area mbedtls/ !mbedtls/ssl.h
expect_clean area !mbedtls/ssl.h mbedtls/
echo "forbid-includes: all as expected"

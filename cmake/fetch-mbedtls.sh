#!/bin/sh
# Download the distribution's source package of mbedTLS 3.6 into DIRECTORY with a private apt state, so that neither
# root nor a change of the machine's own apt configuration is needed. The mirror is the one this machine already uses.
# The caller checks the archive's SHA-256; the distribution's keyring is checked here all the same.
#
# Usage: fetch-mbedtls.sh DIRECTORY
set -eu

suite=trixie
dir=$1

# The first archive that this machine takes its own release from, of both source formats: "deb [opts] URI SUITE main"
# and the stanzas of *.sources.
find_mirror() {
	. /etc/os-release
	export VERSION_CODENAME
	cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | awk '
		$1 == "deb" {
			sub(/\[[^]]*\]/, "")
			if ($3 == ENVIRON["VERSION_CODENAME"]) { print $2; exit }
		}'
	for file in /etc/apt/sources.list.d/*.sources; do
		[ -r "$file" ] || continue
		{ cat "$file"; echo; } | awk '
			function stanza() {
				if (!off && types ~ / deb / && suites ~ " " ENVIRON["VERSION_CODENAME"] " ") print uri
				types = suites = uri = ""; off = 0
			}
			/^#/ { next }
			/^[ \t]*$/ { stanza(); next }
			{ key = tolower($1) }
			key == "types:" { $1 = ""; types = $0 " " }
			key == "suites:" { $1 = ""; suites = $0 " " }
			key == "uris:" { uri = $2 }
			key == "enabled:" { off = tolower($2) == "no" }'
	done
}

keyring=
for file in /usr/share/keyrings/debian-archive-keyring.gpg /usr/share/keyrings/debian-archive-keyring.pgp; do
	[ -r "$file" ] && keyring=$file && break
done
if [ -z "$keyring" ]; then
	echo "the keyring of the distribution is missing" >&2
	exit 1
fi

mirror=$(find_mirror | head -n 1)
if [ -z "$mirror" ]; then
	echo "no mirror of this release in the apt configuration" >&2
	exit 1
fi

mkdir -p "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial"
cd "$dir"
echo "deb-src [signed-by=$keyring] $mirror $suite main" >apt/sources.list

private_apt() {
	apt-get -qq -o Dir::Etc::SourceList="$PWD/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null \
		-o Dir::State="$PWD/apt" -o Dir::State::Lists="$PWD/apt/lists" -o Dir::State::status=/dev/null \
		-o Dir::Cache="$PWD/apt/cache" -o APT::Sandbox::User=root -o Acquire::Languages=none \
		-o Acquire::Check-Valid-Until=false -o Acquire::Retries=2 "$@"
}

private_apt update
private_apt source --download-only "mbedtls/$suite"
rm -rf apt

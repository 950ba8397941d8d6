#!/bin/sh
# Fetches the public IKEv2 captures with keys that protocols/ike/tests/captures.rs decrypts.
#
# They are test data of the Debian source package `wireshark` (47 MB, GPL): fetched by package name, never vendored. The
# system's apt configuration is only read: its sources, once more as deb-src, with package lists of our own.
#
#   interop/fetch-captures.sh             into target/captures, unless they are there already
#   KEYTOLL_CAPTURES=DIR …                into (and, for the test, from) another directory
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
captures=${KEYTOLL_CAPTURES:-$root/target/captures}
mkdir -p "$captures"
captures=$(cd "$captures" && pwd)
complete=$captures/.complete

if [ -e "$complete" ]; then
    echo "captures are in $captures"
    exit 0
fi

work=$captures/work
mkdir -p "$work/lists/partial" "$work/sources" "$work/archives/partial"
cd "$work"

# The system's sources as deb-src, in both formats that Debian knows.
for file in /etc/apt/sources.list.d/*.sources; do
    [ -e "$file" ] && sed 's/^Types:.*/Types: deb-src/' "$file" >"sources/$(basename "$file")"
done
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -s "$file" ] && sed -n 's/^deb /deb-src /p' "$file" >"sources/$(basename "$file" .list).list"
done

apt() {
    command=$1
    shift
    "$command" -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$work/sources" \
        -o "Dir::State::lists=$work/lists" -o "Dir::Cache::archives=$work/archives" \
        -o "Dir::Cache::srcpkgcache=$work/srcpkgcache.bin" -o "Dir::Cache::pkgcache=$work/pkgcache.bin" \
        -o APT::Sandbox::User=root "$@"
}

apt apt-get update -qq
# The newest version the mirrors still have; lists may be ahead of them.
for version in $(apt apt-cache showsrc wireshark | awk '/^Version/ { print $2 }' | sort -rV | uniq); do
    apt apt-get source -qq --download-only "wireshark=$version" >/dev/null 2>&1 && break
done
tarball=$(ls wireshark_*.orig.tar.* 2>/dev/null | grep -v '\.asc$' | head -n 1)
if [ -z "$tarball" ]; then
    echo "the source of wireshark cannot be had: are Debian's mirrors reachable?" >&2
    exit 1
fi

tar --extract --file "$tarball" --wildcards --strip-components=1 --directory "$captures" \
    '*/test/captures/ikev2-decrypt-*' '*/test/config/ikev2_decryption_table.tmpl' '*/test/suite_decryption.py'
cd "$captures"
rm -rf "$work"
: >"$complete"
echo "captures are in $captures"

#!/bin/sh
# Fetches the newest source package of that name that Debian's mirrors have, as files, into an empty directory.
# The system's apt configuration is only read: its sources, once more as deb-src, with package lists of our own.
#
#   interop/debian-source.sh wireshark DIR
set -eu

name=$1
mkdir -p "$2/lists/partial" "$2/sources" "$2/archives/partial"
cd "$2"
work=$PWD

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
for version in $(apt apt-cache showsrc "$name" | awk '/^Version/ { print $2 }' | sort -rV | uniq); do
    apt apt-get source -qq --download-only "$name=$version" >/dev/null 2>&1 && exit 0
done
echo "the source of $name cannot be had: are Debian's mirrors reachable?" >&2
exit 1

#!/bin/sh
# Unpacks Debian's libreswan, which cannot be installed beside strongSwan, and builds libreswan/no-esp.c, with which pluto
# runs on a kernel without ESP. Nothing of it is installed.
#
#   interop/unpack-libreswan.sh    to target/libreswan/, unless it is there already
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
dir=$root/target/libreswan
source=$root/interop/libreswan/no-esp.c
if [ ! -x "$dir/usr/libexec/ipsec/pluto" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    # apt's own user must be able to write there.
    chmod 755 "$work"
    if id _apt >/dev/null 2>&1; then chown _apt "$work"; fi
    (cd "$work" && apt-get download -qq libreswan >/dev/null)
    mkdir -p "$dir"
    dpkg --extract "$work"/libreswan_*.deb "$dir"
fi
if [ ! "$dir/no-esp.so" -nt "$source" ]; then
    cc -O1 -Wall -shared -fPIC -o "$dir/no-esp.so" "$source"
fi
echo "pluto and no-esp.so are in $dir"

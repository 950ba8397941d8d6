#!/bin/sh
# Unpacks Debian's libreswan, which cannot be installed beside strongSwan, and builds libreswan/no-esp.c, with which pluto
# runs on a kernel without ESP, and libreswan/nss-time.c, which measures its cryptography. Nothing of it is installed.
#
#   interop/unpack-libreswan.sh    to target/libreswan/, unless it is there already
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
dir=$root/target/libreswan
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
for name in no-esp nss-time; do
    source=$root/interop/libreswan/$name.c
    if [ ! "$dir/$name.so" -nt "$source" ]; then
        cc -O1 -Wall -shared -fPIC -o "$dir/$name.so" "$source"
    fi
done
echo "pluto, no-esp.so and nss-time.so are in $dir"

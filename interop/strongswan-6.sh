#!/bin/sh
# Unpacks strongSwan 6.1 of Debian forky with its libraries into target/strongswan-6, for tests/strongswan_6.rs. Debian 12
# has 5.9.8, which the other tests use. Nothing is installed: tests mount target/strongswan-6/usr over /usr for one process.
#
#   interop/strongswan-6.sh [LIST]    LIST: names and versions of packages, strongswan-6.packages by default
#
# Debian's mirrors replace packages. If a version of the list is gone, the script names the package in
# target/strongswan-6/missing and succeeds, and the tests are skipped with that name.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
dir=$(dirname "$here")/target/strongswan-6
list=${1:-$here/strongswan-6.packages}

if cmp -s "$list" "$dir/packages" && [ -x "$dir/usr/sbin/charon-systemd" ]; then
    echo "strongSwan 6.1 is in $dir"
    exit 0
fi
rm -rf "$dir"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$dir" "$work/lists/partial" "$work/archives/partial" "$work/root"
: >"$work/status"

# The mirror that this machine uses for Debian itself, in both formats of apt's sources, with another suite.
mirror=$(cat /etc/apt/sources.list.d/*.sources /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
    sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] *\)\{0,1\}//p' | tr ' ' '\n' | grep '^[a-z+]*:.*/debian' | grep -v security | head -n 1)
[ -n "$mirror" ] || { echo "no mirror of Debian among apt's sources" >&2; exit 1; }
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror forky main" >"$work/sources.list"

# The system's apt configuration is only read; lists, status and archives are our own.
apt() {
    command=$1
    shift
    "$command" -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$work/lists" \
        -o "Dir::State::status=$work/status" -o "Dir::Cache=$work" -o "Dir::Cache::archives=$work/archives" \
        -o Acquire::Languages=none -o APT::Sandbox::User=root "$@"
}

apt apt-get update -qq
grep -v '^#' "$list" | while read -r name version; do
    cd "$work/archives"
    if ! apt apt-get download -qq "$name=$version" >/dev/null 2>"$work/error"; then
        echo "$name $version" >>"$dir/missing"
    fi
done
if [ -e "$dir/missing" ]; then
    echo "the mirror $mirror does not have: $(paste -s -d, "$dir/missing"); tests of strongSwan 6.1 will be skipped" >&2
    cat "$work/error" >&2
    exit 0
fi
for package in "$work"/archives/*.deb; do
    dpkg --extract "$package" "$work/root"
done
mv "$work/root/usr" "$dir/usr"
cp "$list" "$dir/packages"
echo "strongSwan 6.1 is in $dir"

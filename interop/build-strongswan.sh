#!/bin/sh
# Builds Debian's strongSwan once more, with what Debian leaves out: the load-tester, the cards (EAP-SIM with triplets
# from a file, EAP-AKA with Milenage), EAP-PEAP, and the plugin that saves keys. Debian's own compiler flags, so that
# what it costs is what Debian's package costs. About three minutes; nothing of it is installed, nor needed by tests:
# interop/bench compares with it.
#
#   interop/build-strongswan.sh    to target/strongswan/, unless it is there already
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
dir=$root/target/strongswan
if [ -x "$dir/libexec/ipsec/charon" ] && [ -x "$dir/sbin/swanctl" ]; then
    echo "charon with its load-tester is in $dir"
    exit 0
fi

# What it needs beside setup.sh's packages.
missing=""
for package in build-essential dpkg-dev pkg-config automake autoconf libtool libgmp-dev libssl-dev; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
# shellcheck disable=SC2086 # a list of names
[ -z "$missing" ] || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null

# run STEP COMMAND…, quietly unless it fails
run() {
    step=$1
    shift
    if ! "$@" >"$dir/$step.log" 2>&1; then
        tail -n 20 "$dir/$step.log" >&2
        exit 1
    fi
}

work=$dir/work
rm -rf "$dir"
"$root/interop/debian-source.sh" strongswan "$work"
cd "$work"
dpkg-source --no-check --extract strongswan_*.dsc strongswan >/dev/null
cd strongswan
eval "$(dpkg-buildflags --export=sh)"
run configure ./configure --prefix="$dir" --sysconfdir="$dir/etc" --with-piddir=/run \
    --enable-load-tester --enable-kernel-libipsec --enable-kernel-netlink --enable-vici --enable-swanctl --enable-cmd \
    --disable-stroke --disable-scepclient --enable-openssl --enable-gmp --enable-aesni --enable-gcm --enable-ccm \
    --enable-ctr --enable-chapoly --enable-curve25519 --enable-md4 --enable-eap-identity --enable-eap-md5 \
    --enable-eap-mschapv2 --enable-eap-gtc --enable-eap-tls --enable-eap-ttls --enable-eap-peap --enable-eap-radius \
    --enable-eap-sim --enable-eap-sim-file --enable-eap-simaka-pseudonym --enable-eap-simaka-reauth \
    --enable-eap-aka --enable-eap-aka-3gpp --enable-save-keys
run make make -j"$(nproc)"
run install make install
rm -rf "$work"

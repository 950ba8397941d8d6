#!/bin/sh
# Builds wpa_supplicant's eapol_test from Debian's source package `wpa` with what Debian's own lacks: the simulators of
# SIM and USIM cards. About a minute; nothing of it is installed.
#
#   interop/build-eapol-test.sh           to target/eapol_test/eapol_test, unless it is there already
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
dir=$root/target/eapol_test
program=$dir/eapol_test
if [ -x "$program" ]; then
    echo "eapol_test is in $dir"
    exit 0
fi

work=$dir/work
rm -rf "$work"
"$root/interop/debian-source.sh" wpa "$work"
cd "$work"
dpkg-source --no-check --extract wpa_*.dsc wpa >/dev/null
cd wpa/wpa_supplicant
cat >.config <<'CONFIG'
CONFIG_EAPOL_TEST=y
CONFIG_IEEE8021X_EAPOL=y
CONFIG_EAP_SIM=y
CONFIG_EAP_AKA=y
CONFIG_EAP_AKA_PRIME=y
CONFIG_SIM_SIMULATOR=y
CONFIG_USIM_SIMULATOR=y
CONFIG_TLS=openssl
CONFIG_BACKEND=file
CONFIG
if ! CFLAGS="-MMD -O1 -w" make -j"$(nproc)" eapol_test >"$dir/make.log" 2>&1; then
    tail -n 20 "$dir/make.log" >&2
    exit 1
fi
cp eapol_test "$program"
cd "$root"
rm -rf "$work"
echo "eapol_test is in $dir"

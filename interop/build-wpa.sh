#!/bin/sh
# Builds from Debian's source package `wpa` what Debian leaves out: eapol_test with simulators of SIM and USIM cards, and
# hlr_auc_gw, the subscriber database of hostapd's EAP server. Less than a minute; nothing of it is installed.
#
#   interop/build-wpa.sh           to target/wpa/, unless it is there already
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
dir=$root/target/wpa
if [ -x "$dir/eapol_test" ] && [ -x "$dir/hlr_auc_gw" ]; then
    echo "eapol_test and hlr_auc_gw are in $dir"
    exit 0
fi

# build FOLDER PROGRAM, with the configuration on stdin
build() {
    cat >"$1/.config"
    if ! CFLAGS="-MMD -O1 -w" make -C "$1" -j"$(nproc)" "$2" >"$dir/$2.log" 2>&1; then
        tail -n 20 "$dir/$2.log" >&2
        exit 1
    fi
    cp "$1/$2" "$dir/"
}

work=$dir/work
rm -rf "$work"
"$root/interop/debian-source.sh" wpa "$work"
cd "$work"
dpkg-source --no-check --extract wpa_*.dsc wpa >/dev/null
cd wpa
build wpa_supplicant eapol_test <<'CONFIG'
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
build hostapd hlr_auc_gw <<'CONFIG'
CONFIG_EAP=y
CONFIG_EAP_SIM=y
CONFIG_EAP_AKA=y
CONFIG_RADIUS_SERVER=y
CONFIG_DRIVER_NONE=y
CONFIG
cd "$root"
rm -rf "$work"
echo "eapol_test and hlr_auc_gw are in $dir"

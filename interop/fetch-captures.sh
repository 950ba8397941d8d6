#!/bin/sh
# Fetches the public captures with keys that tests decrypt: of IKEv2 and IKEv1 (protocols/ike/tests/captures.rs), and of wireless
# LANs (world/decode/tests/wlan_captures.rs).
#
# They are test data of the Debian source package `wireshark` (47 MB, GPL): fetched by package name, never vendored.
#
#   interop/fetch-captures.sh             into target/captures, unless they are there already
#   KEYTOLL_CAPTURES=DIR …                into (and, for the test, from) another directory
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
captures=${KEYTOLL_CAPTURES:-$root/target/captures}
mkdir -p "$captures"
captures=$(cd "$captures" && pwd)
complete=$captures/.complete

# Captures fetched before there were those of IKEv1 and of wireless LANs are fetched again.
if [ -e "$complete" ] && [ -e "$captures/test/config/ikev1_decryption_table.tmpl" ] &&
    [ -e "$captures/test/config/80211_keys.tmpl" ]; then
    echo "captures are in $captures"
    exit 0
fi

work=$captures/work
rm -rf "$work"
"$root/interop/debian-source.sh" wireshark "$work"
tarball=$(ls "$work"/wireshark_*.orig.tar.* | grep -v '\.asc$' | head -n 1)

tar --extract --file "$tarball" --wildcards --strip-components=1 --directory "$captures" \
    '*/test/captures/ikev2-decrypt-*' '*/test/config/ikev2_decryption_table.tmpl' \
    '*/test/captures/ikev1-*' '*/test/config/ikev1_decryption_table.tmpl' '*/test/suite_decryption.py' \
    '*/test/captures/owe.*' '*/test/captures/wep.*' '*/test/captures/wpa*' '*/test/config/80211_keys.tmpl'
cd "$captures"
gunzip --force test/captures/*.gz
rm -rf "$work"
: >"$complete"
echo "captures are in $captures"

#!/bin/bash
# Installs what the interoperability tests need on Debian 12, by package name, and starts nothing; builds what Debian
# leaves out of wpa_supplicant and hostapd, unpacks libreswan and strongSwan 6.1 without installing them, and makes a
# guest with simulated Wi-Fi.
# Run as root:  interop/setup.sh   (nothing is done for what is already there)
set -eu
export DEBIAN_FRONTEND=noninteractive

packages="strongswan-swanctl charon-systemd libstrongswan-standard-plugins libstrongswan-extra-plugins
    libcharon-extra-plugins libcharon-extauth-plugins freeradius freeradius-utils radsecproxy eapoltest hostapd wpasupplicant freediameterd
    libnss3-tools libldns3 libunbound8 libcap-ng0 libevent-2.1-7 libevent-pthreads-2.1-7 libcurl3-gnutls libpam0g
    nftables conntrack iproute2 iputils-ping iperf3 openssl tshark python3-scapy python3-cryptography build-essential dpkg-dev pkg-config libssl-dev"

missing=""
for package in $packages; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done

install() {
    # Debian starts daemons at install time unless policy-rc.d says no; ours goes away again, a foreign one stays.
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        trap 'rm -f "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod +x "$policy"
    fi
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# shellcheck disable=SC2086 # a list of names
[ -z "$missing" ] || install $missing
"$(dirname "$0")/build-wpa.sh"
"$(dirname "$0")/unpack-libreswan.sh"
"$(dirname "$0")/strongswan-6.sh"
"$(dirname "$0")/build-ryke.sh"
"$(dirname "$0")/hwsim.sh" build

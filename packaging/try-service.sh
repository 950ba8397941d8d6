#!/bin/bash
# Tries the services of the package under systemd, in a container without a network, and an image of the same files. Run as root after packaging/build.sh:
#   packaging/try-service.sh [DEB]
# Wants Debian's systemd-container, debootstrap, podman and runc, and a Debian mirror once: the container's files remain in target/packaging/debian.
set -eu -o pipefail
cd "$(dirname "$0")/.."

out=$PWD/target/packaging
deb=${1:-$(ls "$out"/keytoll_*.deb)}
base=$out/debian
box=$out/debian-try

for package in systemd-container debootstrap podman runc; do
    dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null | grep --quiet '^installed$' ||
        apt-get install -y -qq --no-install-recommends "$package" >/dev/null
done

fail() {
    printf 'packaging/try-service.sh: %s\n' "$*" >&2
    exit 1
}

debian() {
    local mirror
    [ ! -e "$base/etc/os-release" ] || return 0
    # A machine has one of the two files.
    mirror=$(cat /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null |
        sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) .*/\2/p' | grep --invert-match security | head -1) || true
    debootstrap --variant=minbase --include=systemd,systemd-sysv,iproute2 bookworm "$base.part" "${mirror:-http://deb.debian.org/debian}" >"$out/debian.log"
    mv "$base.part" "$base"
}

# The script for the container; each line of its result is `ok CHECK` or `FAILED CHECK`.
inside() {
    cat <<'TRY'
#!/bin/bash
# Runs inside the container.
check() {
    local what=$1
    shift
    if "$@" >>/root/log 2>&1; then echo "ok      $what"; else echo "FAILED  $what"; fi
}
of_gateway() { sed -n "s/^$1:\t//p" "/proc/$(systemctl show --property MainPID --value keytoll-gateway@psk)/status"; }
has() { echo "$1: $2, wanted $3"; [ "$2" = "$3" ]; }
connects() { keytoll connect /root/device.toml --within 5s; }
restart() { systemctl daemon-reload; systemctl restart "keytoll-gateway@$1"; sleep 1; systemctl is-active "keytoll-gateway@$1"; }
# IKE's own ports, below 1024.
sed 's/15500/500/; s/15501/4500/' /usr/share/doc/keytoll/scenarios/live/gateway-psk.toml >/etc/keytoll/psk.toml
sed 's/:15500/:500/; s/15501/4500/' /usr/share/doc/keytoll/scenarios/live/device-psk.toml >/root/device.toml
sed 's/^inner = .*$//; s|^pool = .*$|&\nlocal = "10.98.2.0/24"|' /etc/keytoll/psk.toml >/etc/keytoll/tun.toml
printf '\n[tun]\nname = "keytoll0"\naddress = "10.98.2.1/24"\nroutes = "10.98.3.0/24"\n' >>/etc/keytoll/tun.toml
cp /usr/share/doc/keytoll/scenarios/live/aaa.toml /etc/keytoll/aaa.toml
chgrp keytoll-gateway /etc/keytoll/{psk,tun}.toml
chgrp keytoll-aaa /etc/keytoll/aaa.toml
chmod 640 /etc/keytoll/*.toml

check "gateway@psk starts" restart psk
check "a device connects" connects
check "its user is keytoll-gateway" has uid "$(of_gateway Uid | cut -f1)" "$(id --user keytoll-gateway)"
check "that user cannot read the file of the AAA server" sh -c '! setpriv --reuid keytoll-gateway --regid keytoll-gateway --clear-groups cat /etc/keytoll/aaa.toml'
check "it can read its own" setpriv --reuid keytoll-gateway --regid keytoll-gateway --clear-groups cat /etc/keytoll/psk.toml
# Bit 10 is CAP_NET_BIND_SERVICE.
for set in CapEff CapPrm CapBnd CapAmb; do check "$set is NET_BIND_SERVICE" has $set "$(of_gateway $set)" 0000000000000400; done
check "no new privileges" has NoNewPrivs "$(of_gateway NoNewPrivs)" 1
check "system calls are filtered" has Seccomp "$(of_gateway Seccomp)" 2
check "exposure is below 2 of 10" systemd-analyze security --threshold=20 --no-pager keytoll-gateway@psk
systemd-analyze security --no-pager keytoll-gateway@psk | tail -1
systemctl stop keytoll-gateway@psk
check "it ends well" has result "$(systemctl show --property Result --value keytoll-gateway@psk)" success

# Positive controls: without the capability the port is refused, and without the group the file.
mkdir -p /etc/systemd/system/keytoll-gateway@psk.service.d
printf '[Service]\nAmbientCapabilities=\nCapabilityBoundingSet=\nRestart=no\n' >/etc/systemd/system/keytoll-gateway@psk.service.d/none.conf
restart psk >/dev/null
check "without NET_BIND_SERVICE port 500 is refused" sh -c 'journalctl --unit keytoll-gateway@psk | grep "no permission for a port below 1024"'
rm -r /etc/systemd/system/keytoll-gateway@psk.service.d
chmod 600 /etc/keytoll/psk.toml
restart psk >/dev/null
check "a file of root alone cannot be read" sh -c 'journalctl --unit keytoll-gateway@psk | grep -i "permission denied"'
systemctl stop keytoll-gateway@psk

check "aaa@aaa starts" sh -c 'systemctl start keytoll-aaa@aaa; sleep 1; systemctl is-active keytoll-aaa@aaa'
systemctl stop keytoll-aaa@aaa
if [ -c /dev/net/tun ]; then
    restart tun >/dev/null
    check "without tun.conf there is no interface" sh -c '! ip link show keytoll0'
    install -D -m 644 /usr/share/doc/keytoll/systemd/tun.conf -t /etc/systemd/system/keytoll-gateway@tun.service.d/
    check "gateway@tun starts with tun.conf" restart tun
    check "its interface is there" ip link show keytoll0
    pid=$(systemctl show --property MainPID --value keytoll-gateway@tun)
    # Bits 10 and 12.
    check "its capabilities are NET_BIND_SERVICE and NET_ADMIN" has CapEff "$(sed -n 's/^CapEff:\t//p' "/proc/$pid/status")" 0000000000001400
    check "a device connects to it" connects
else
    echo "skipped tun.conf: no /dev/net/tun here"
fi
systemctl start keytoll-aaa@aaa
dpkg --remove keytoll >>/root/log 2>&1
check "removal ends the services" sh -c '! cat /proc/[0-9]*/comm | grep --quiet --line-regexp keytoll && [ "$(systemctl is-active keytoll-aaa@aaa)" = inactive ]'
TRY
}

boot() {
    rm -rf "$box"
    cp -a "$base" "$box"
    cp "$deb" "$box/root/keytoll.deb"
    systemd-nspawn --quiet --register=no --keep-unit --directory="$box" dpkg --install /root/keytoll.deb >"$out/dpkg.log" 2>&1 || fail "dpkg cannot install $deb"
    inside >"$box/root/try"
    cat >"$box/etc/systemd/system/try.service" <<'UNIT'
[Unit]
After=network.target
[Service]
Type=oneshot
ExecStart=/bin/bash -c 'bash /root/try >/root/result 2>>/root/log; journalctl >/root/journal; touch /root/done; systemctl poweroff --force'
UNIT
    ln -s ../try.service "$box/etc/systemd/system/multi-user.target.wants/try.service"
    local tun=()
    [ ! -c /dev/net/tun ] || tun=(--bind=/dev/net/tun)
    timeout 180 systemd-nspawn --quiet --register=no --keep-unit --directory="$box" --private-network "${tun[@]}" --boot </dev/null >"$out/boot.log" 2>&1 || true
    [ -e "$box/root/done" ] || fail "the container did not finish: $(tail -n 5 "$out/boot.log")"
    cat "$box/root/result"
    ! grep --quiet FAILED "$box/root/result" || fail "see $box/root/log and $box/root/journal"
}

# The last stage of the Containerfile, from the files of the package: the first would only build them again.
image() {
    local tag=keytoll-try said
    install -d "$out/runs"
    sed -n '/^FROM scratch/,$p' packaging/Containerfile | sed 's|--from=build ||; s|/keytoll/target/packaging/|/|; s|/keytoll/scenarios|/scenarios|' >"$out/Containerfile"
    rm -rf "$out/scenarios"
    cp -r scenarios "$out/scenarios"
    podman build --quiet --tag "$tag" --ignorefile /dev/null --file "$out/Containerfile" "$out" >/dev/null || fail "no image"
    # runc and these limits: crun refuses hybrid cgroups, and a machine that is a guest itself may not raise limits.
    run() { podman run --rm --runtime runc --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 --cap-drop all --network none --read-only --read-only-tmpfs=false "$@"; }
    run --volume /work/runs "$tag" run quickstart --samples 2 >/dev/null || fail "the image does not run the quickstart"
    said=$(podman image inspect --format '{{.Config.User}}' "$tag")
    [ "$said" = 65532:65532 ] || fail "the user of the image is $said"
    echo "ok      the image runs the quickstart as user $said, without capabilities, on a read-only file system"
    # Positive control.
    ! run "$tag" run quickstart --samples 2 --out /usr/share/run >/dev/null 2>&1 || fail "the user of the image can write into /usr"
    echo "ok      it cannot write into /usr"
    podman image rm --force "$tag" >/dev/null
}

debian
boot
image
rm -rf "$box"

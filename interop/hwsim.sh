#!/bin/bash
# A Linux guest with simulated Wi-Fi (mac80211_hwsim), which the machine's own kernel need not have: Debian's kernel, hostapd and
# wpa_supplicant under QEMU's TCG, without KVM, disk or network. Nothing is installed: packages are fetched by name and unpacked into
# target/hwsim.
#
#   interop/hwsim.sh build                        fetches the packages and makes kernel and initramfs, unless they are there
#   interop/hwsim.sh run OUT SECONDS SCRIPT [FILE…]
#        boots with two radios, wlan0 and wlan1, and runs SCRIPT as root in /root, where FILEs are, programs with their libraries; what
#        it writes into $OUT is then in OUT. Exit status: that of SCRIPT; 124: it took longer than SECONDS; 125: no boot
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
work=${KEYTOLL_HWSIM:-$root/target/hwsim}
tree=$work/packages guest=$work/guest
packages="qemu-system-x86 busybox-static hostapd wpasupplicant libssl3 iw iproute2 kmod dash wireless-regdb"
programs="dash hostapd hostapd_cli wpa_supplicant wpa_cli iw ip modprobe"
modules="mac80211_hwsim 9p 9pnet_virtio virtio_pci virtio_rng"
libraries=$tree/usr/lib/x86_64-linux-gnu:$tree/lib/x86_64-linux-gnu

fetch() {
    local image fetched=$work/fetched
    mkdir -p "$fetched/partial"
    apt-get update -qq
    image=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
    # shellcheck disable=SC2086 # a list of names; --reinstall: also those that the machine has
    apt-get install -y -qq --no-install-recommends --download-only --reinstall -o Dir::Cache::archives="$fetched" $packages >/dev/null
    (cd "$fetched" && apt-get download -qq "$image" >/dev/null)
    rm -rf "$tree"
    mkdir -p "$tree"
    for package in "$fetched"/*.deb; do dpkg -x "$package" "$tree"; done
    rm -rf "$fetched"
}

# The shared libraries of programs, where they are looked for.
with_libraries() {
    local into=$1
    shift
    for program; do
        LD_LIBRARY_PATH=$libraries ldd "$program" 2>/dev/null || true
    done | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^[ \t]*\(\/lib[^ ]*\) .*/\1/p' | sort -u | while read -r library; do
        case $library in
        */ld-linux-x86-64.so.2) cp -Ln "$library" "$into/usr/lib64/" ;;
        *) cp -Ln "$library" "$into/usr/lib/x86_64-linux-gnu/" ;;
        esac
    done
}

# The kernel as an ELF file: it boots at once, while its own decompression takes long under TCG.
unpack_kernel() {
    python3 - "$1" "$2" <<'PYTHON'
import lzma, sys
image = open(sys.argv[1], 'rb').read()
kernel = lzma.LZMADecompressor().decompress(image[image.find(b'\xfd7zXZ\0'):])
open(sys.argv[2], 'wb').write(kernel)
PYTHON
}

copy_modules() {
    local version=$1 module file
    LD_LIBRARY_PATH=$libraries "$guest/usr/sbin/modprobe" --version >/dev/null
    ln -sf modprobe "$guest/usr/sbin/depmod"
    LD_LIBRARY_PATH=$libraries "$guest/usr/sbin/depmod" -b "$tree" "$version" 2>/dev/null
    {
        for module in $modules; do
            LD_LIBRARY_PATH=$libraries "$guest/usr/sbin/modprobe" -d "$tree" -S "$version" --show-depends "$module"
        done | sed -n 's/^insmod \([^ ]*\).*/\1/p'
        # Ciphers are asked for by their names.
        find "$tree/lib/modules/$version/kernel"/{crypto,arch/x86/crypto,lib/crypto} -name '*.ko'
    } | sort -u | while read -r file; do
        mkdir -p "$(dirname "$guest/usr/${file#"$tree"/}")"
        cp "$file" "$guest/usr/${file#"$tree"/}"
    done
    cp "$tree/lib/modules/$version"/modules.{builtin,builtin.modinfo,order} "$guest/usr/lib/modules/$version/"
    LD_LIBRARY_PATH=$libraries "$guest/usr/sbin/depmod" -b "$guest" "$version"
}

# Whoever comes second waits, and finds everything there.
build() {
    mkdir -p "$work"
    (flock 9 && build_once) 9>"$work/lock"
}

build_once() {
    [ ! -s "$work/initramfs" ] || [ "$work/initramfs" -ot "$0" ] || return 0
    local version program file
    ls "$tree"/boot/vmlinuz-* >/dev/null 2>&1 || fetch
    version=$(basename "$tree"/boot/vmlinuz-*)
    version=${version#vmlinuz-}
    unpack_kernel "$tree/boot/vmlinuz-$version" "$work/vmlinux"
    rm -rf "$guest"
    mkdir -p "$guest"/{proc,sys,dev,run,tmp,out,root,etc,usr/{bin,sbin,lib64,lib/x86_64-linux-gnu,lib/firmware}}
    for file in bin sbin lib lib64; do ln -s "usr/$file" "$guest/$file"; done
    cp "$tree/bin/busybox" "$guest/usr/bin/busybox"
    for program in $programs; do
        file=$(find "$tree"/{usr/sbin,usr/bin,sbin,bin} -name "$program" 2>/dev/null | head -n 1)
        [ "$program" != modprobe ] || file=$tree/bin/kmod
        cp -L "$file" "$guest/usr/sbin/$program"
    done
    with_libraries "$guest" "$guest"/usr/sbin/*
    # EAP-MSCHAPv2 hashes with MD4.
    cp -r "$tree/usr/lib/x86_64-linux-gnu/ossl-modules" "$guest/usr/lib/x86_64-linux-gnu/"
    cp "$tree/lib/firmware/regulatory.db-debian" "$guest/usr/lib/firmware/regulatory.db"
    cp "$tree/lib/firmware/regulatory.db.p7s-debian" "$guest/usr/lib/firmware/regulatory.db.p7s"
    copy_modules "$version"
    echo 'root:x:0:0:root:/root:/bin/sh' >"$guest/etc/passwd"
    printf 'root:x:0:\nnetdev:x:1:\n' >"$guest/etc/group"
    cat >"$guest/init" <<'INIT'
#!/usr/sbin/dash
/bin/busybox --install -s /bin
export PATH=/usr/sbin:/bin OUT=/out
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs run /run; mount -t tmpfs tmp /tmp
for module in virtio_pci virtio_rng 9pnet_virtio 9p; do modprobe $module; done
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 out /out
ip link set lo up
modprobe mac80211_hwsim radios=2
cd /root
dash ./.script
echo $? >/out/.status
sync; poweroff -f
INIT
    chmod +x "$guest/init"
    (cd "$guest" && find . | "$tree/bin/busybox" cpio -o -H newc) >"$work/initramfs.new" 2>/dev/null
    mv "$work/initramfs.new" "$work/initramfs"
}

run() {
    local out=$1 seconds=$2 script=$3 own status=0
    shift 3
    build
    mkdir -p "$out"
    rm -f "$out/.status"
    own=$(mktemp -d "$work/run.XXXXXX")
    # shellcheck disable=SC2064 # what it is now
    trap "rm -rf '$own'" EXIT
    mkdir -p "$own/files"/{root,usr/lib64,usr/lib/x86_64-linux-gnu}
    cp "$script" "$own/files/root/.script"
    for file; do
        # What a debugger wants takes long to load.
        strip -o "$own/files/root/$(basename "$file")" "$file" 2>/dev/null || cp "$file" "$own/files/root/"
        with_libraries "$own/files" "$file"
    done
    { cat "$work/initramfs"; (cd "$own/files" && find . | "$tree/bin/busybox" cpio -o -H newc 2>/dev/null); } >"$own/initramfs"
    LD_LIBRARY_PATH=$libraries timeout -k 5 "$seconds" "$tree/usr/bin/qemu-system-x86_64" -accel tcg,thread=multi -cpu max -smp 2 -m 384 \
        -L "$tree/usr/share/qemu" -L "$tree/usr/share/seabios" -nodefaults -no-user-config -display none -no-reboot -monitor none \
        -serial stdio -kernel "$work/vmlinux" -initrd "$own/initramfs" \
        -append "console=ttyS0 quiet loglevel=1 cryptomgr.notests mitigations=off nokaslr random.trust_cpu=on panic=-1" \
        -device virtio-rng-pci -virtfs "local,path=$out,mount_tag=out,security_model=none,multidevs=remap" </dev/null || status=$?
    [ "$status" != 137 ] || status=124
    [ ! -s "$out/.status" ] || exit "$(cat "$out/.status")"
    [ "$status" = 124 ] || status=125
    exit "$status"
}

case ${1:-} in
build) build ;;
run) shift && run "$@" ;;
*) sed -n '2,10s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac

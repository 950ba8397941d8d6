//! Whether the interoperability tests can run here, and what is said if not: a notice on a developer's machine, a
//! failure in CI, because a test that is silently skipped there proves nothing.

use std::env;
use std::io::{self, Write};
use std::path::Path;

use keytoll_daemons::Home;

use crate::lab::Lab;
use crate::run::{Trouble, finish, words};
use crate::{eapol_test, hostapd, hwsim, radsecproxy, strongswan_6};

/// Programs that must be there, and the package or script that brings each.
const PROGRAMS: [(&str, &str); 22] = [
    ("/usr/sbin/charon-systemd", "charon-systemd"),
    ("/usr/sbin/swanctl", "strongswan-swanctl"),
    ("/usr/lib/ipsec/plugins/libstrongswan-kernel-libipsec.so", "libcharon-extra-plugins"),
    ("/usr/lib/ipsec/plugins/libstrongswan-eap-radius.so", "libcharon-extra-plugins"),
    ("/usr/sbin/freeradius", "freeradius"),
    (radsecproxy::PROGRAM, "radsecproxy"),
    (eapol_test::PACKAGED, "eapoltest"),
    (eapol_test::BUILT, "interop/build-wpa.sh"),
    (hostapd::PACKAGED, "hostapd"),
    ("/sbin/wpa_supplicant", "wpasupplicant"),
    (hostapd::SUBSCRIBERS, "interop/build-wpa.sh"),
    ("/usr/bin/freeDiameterd", "freediameterd"),
    ("/usr/sbin/nft", "nftables"),
    ("/usr/sbin/conntrack", "conntrack"),
    ("/usr/bin/openssl", "openssl"),
    ("/usr/bin/certutil", "libnss3-tools"),
    ("/usr/bin/pk12util", "libnss3-tools"),
    (concat!(env!("CARGO_MANIFEST_DIR"), "/../target/libreswan/no-esp.so"), "interop/unpack-libreswan.sh"),
    ("/usr/lib/python3/dist-packages/scapy/layers/ipsec.py", "python3-scapy"),
    ("/usr/lib/python3/dist-packages/cryptography/__init__.py", "python3-cryptography"),
    ("/usr/bin/unshare", "util-linux"),
    ("/usr/bin/setpriv", "util-linux"),
];

/// A fresh lab; or nothing, with a printed notice, where the tests were not asked for or cannot run.
///
/// # Panics
/// In CI (`CI=true`), when they were asked for and cannot run.
pub fn lab_or_skip() -> Option<Lab> {
    run_or_skip(obstacle, Lab::new)
}

/// A fresh lab with strongSwan 6.1; or nothing, with a printed notice, as [`lab_or_skip`], and also when Debian's mirror did not
/// have its packages any more.
///
/// # Panics
/// As [`lab_or_skip`].
pub fn strongswan_6_or_skip() -> Option<Lab> {
    if is_asked()
        && let Some(missing) = strongswan_6::missing()
    {
        notice(&missing);
        return None;
    }
    let without = || obstacle().or_else(strongswan_6::obstacle);
    run_or_skip(without, || Ok(Lab::new()?.with_strongswan_of(strongswan_6::USR.into())))
}

/// A directory for a guest with simulated Wi-Fi, on the same terms; it needs no other program of the lab.
///
/// # Panics
/// As [`lab_or_skip`].
pub fn guest_or_skip() -> Option<Home> {
    let obstacle =
        || (!Path::new(hwsim::INITRAMFS).exists()).then(|| "run interop/hwsim.sh build, as root".to_owned());
    run_or_skip(obstacle, home)
}

/// A home whose directory goes away, unless it is to be kept.
pub(crate) fn home() -> Result<Home, Trouble> {
    if env::var_os("KEYTOLL_INTEROP_KEEP").is_none() { Home::new() } else { Home::kept() }
}

pub(crate) fn run_or_skip<T>(
    obstacle: impl FnOnce() -> Option<String>,
    make: impl FnOnce() -> Result<T, Trouble>,
) -> Option<T> {
    if !is_asked() {
        notice("interoperability tests run with KEYTOLL_INTEROP=1 (as .ci/run does)");
        return None;
    }
    match obstacle().map_or_else(|| make().map_err(|trouble| trouble.to_string()), Err) {
        Ok(made) => Some(made),
        Err(why) => {
            assert!(
                env::var_os("CI").is_none_or(|ci| ci != "true"),
                "interoperability tests cannot run: {why}"
            );
            notice(&why);
            None
        }
    }
}

fn is_asked() -> bool {
    env::var_os("KEYTOLL_INTEROP").is_some_and(|asked| asked == "1")
}

/// Past libtest's capture, which would swallow the notice of a test that passes.
pub(crate) fn notice(why: &str) {
    // A notice that cannot be written is no reason to fail.
    let _ = writeln!(io::stderr(), "skipped: {why}");
}

/// The first thing that is missing, as a sentence.
pub fn obstacle() -> Option<String> {
    let missing = PROGRAMS.iter().find(|(path, _)| !Path::new(path).exists());
    if let Some((path, package)) = missing {
        return Some(format!("{path} is missing (of {package}); run interop/setup.sh as root"));
    }
    if !Path::new("/dev/net/tun").exists() {
        return Some("/dev/net/tun is missing; strongSwan's user-space ESP needs it".into());
    }
    let root = finish(&mut words("id -u")).is_ok_and(|id| id.trim() == "0");
    (!root).then(|| "only root may make network namespaces".into())
}

//! The programs, their paths and packages: a missing one is reported in one sentence, before anything is started.

use std::env;
use std::path::{Path, PathBuf};

use crate::run::Trouble;

/// A required program, or a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Program {
    /// Its path.
    pub path: &'static str,
    /// Its Debian package.
    pub package: &'static str,
}

/// strongSwan's IKE daemon, without the starter.
pub const CHARON: Program = Program { path: "/usr/sbin/charon-systemd", package: "charon-systemd" };
/// Its control program.
pub const SWANCTL: Program = Program { path: "/usr/sbin/swanctl", package: "strongswan-swanctl" };
/// ESP in user space.
pub const LIBIPSEC: Program = Program {
    path: "/usr/lib/ipsec/plugins/libstrongswan-kernel-libipsec.so",
    package: "libcharon-extra-plugins",
};
/// RADIUS behind charon.
pub const EAP_RADIUS: Program = Program {
    path: "/usr/lib/ipsec/plugins/libstrongswan-eap-radius.so",
    package: "libcharon-extra-plugins",
};
/// FreeRADIUS.
pub const FREERADIUS: Program = Program { path: "/usr/sbin/freeradius", package: "freeradius" };
/// hostapd.
pub const HOSTAPD: Program = Program { path: "/usr/sbin/hostapd", package: "hostapd" };
/// wpa_supplicant.
pub const WPA_SUPPLICANT: Program = Program { path: "/sbin/wpa_supplicant", package: "wpasupplicant" };
/// Kills a program with the thread that started it.
pub const SETPRIV: Program = Program { path: "/usr/bin/setpriv", package: "util-linux" };
/// Gives charon its own /run.
pub const UNSHARE: Program = Program { path: "/usr/bin/unshare", package: "util-linux" };
/// Creates libreswan's certificate databases.
pub const CERTUTIL: Program = Program { path: "/usr/bin/certutil", package: "libnss3-tools" };
/// Puts keys into them.
pub const PK12UTIL: Program = Program { path: "/usr/bin/pk12util", package: "libnss3-tools" };
/// Wraps keys for that.
pub const OPENSSL: Program = Program { path: "/usr/bin/openssl", package: "openssl" };
/// Makes namespaces and cables.
pub const IP: Program = Program { path: "/usr/sbin/ip", package: "iproute2" };

/// hostapd's source of vectors, which no Debian package has.
const SUBSCRIBERS: &str = "hlr_auc_gw";

impl Program {
    /// The version of its Debian package; `None` if it is of no package.
    pub fn version(self) -> Option<String> {
        let query = ["-W", "-f=${Version}", self.package];
        let told = crate::run::finish(std::process::Command::new("dpkg-query").args(query)).ok()?;
        Some(told.trim().to_owned()).filter(|version| !version.is_empty())
    }

    /// Checks that it is installed.
    ///
    /// # Errors
    /// When it is not, with its package.
    pub fn check(self) -> Result<(), Trouble> {
        if Path::new(self.path).exists() {
            return Ok(());
        }
        let remedy = format!("install it with `apt-get install {}`", self.package);
        Err(Trouble::NotInstalled { path: self.path.to_owned(), remedy })
    }
}

/// That all of them are there.
///
/// # Errors
/// The first one that is missing.
pub fn check(programs: &[Program]) -> Result<(), Trouble> {
    programs.iter().try_for_each(|program| program.check())
}

/// Checks that ESP in user space has its device.
///
/// # Errors
/// When it is missing.
pub fn check_tun() -> Result<(), Trouble> {
    if Path::new("/dev/net/tun").exists() {
        return Ok(());
    }
    Err(Trouble::NotAllowed("/dev/net/tun is missing, and strongSwan's user-space ESP needs it"))
}

/// The path of `hlr_auc_gw`: that of `KEYTOLL_HLR_AUC_GW`, one beside our own program's build, or one in the search path.
///
/// # Errors
/// When there is none.
pub fn subscribers() -> Result<PathBuf, Trouble> {
    let path = env::var_os("PATH").unwrap_or_default();
    let installed = env::split_paths(&path).map(|folder| folder.join(SUBSCRIBERS)).collect::<Vec<_>>();
    let built = beside_our_build(&Path::new("wpa").join(SUBSCRIBERS));
    let found = named("KEYTOLL_HLR_AUC_GW").chain(built).chain(installed).find(|file| file.is_file());
    let remedy = "no Debian package has it; `interop/build-wpa.sh` builds it, and KEYTOLL_HLR_AUC_GW may say \
                  where it is";
    found.ok_or_else(|| not_installed(SUBSCRIBERS, remedy))
}

/// The path of libreswan: that of `KEYTOLL_LIBRESWAN`, or one beside our own program's build.
///
/// # Errors
/// When there is none.
pub fn libreswan() -> Result<PathBuf, Trouble> {
    let built = beside_our_build(Path::new("libreswan"));
    let found = named("KEYTOLL_LIBRESWAN").chain(built).find(|folder| folder.join("no-esp.so").is_file());
    let remedy = "it cannot be installed beside strongSwan; `interop/unpack-libreswan.sh` unpacks it, and \
                  KEYTOLL_LIBRESWAN may say where it is";
    found.ok_or_else(|| not_installed("libreswan", remedy))
}

/// The preloaded library that measures the cryptography of libreswan in this directory.
///
/// # Errors
/// When an older script unpacked libreswan without it.
pub fn nss_timer(libreswan: &Path) -> Result<PathBuf, Trouble> {
    let timer = libreswan.join("nss-time.so");
    let remedy =
        "without it pluto's cryptography cannot be measured; `interop/unpack-libreswan.sh` builds it";
    if timer.is_file() { Ok(timer) } else { Err(not_installed(&timer.display().to_string(), remedy)) }
}

fn named(variable: &str) -> impl Iterator<Item = PathBuf> {
    env::var_os(variable).map(PathBuf::from).into_iter()
}

/// The ancestors of our own program's directory, as in a build.
fn beside_our_build(file: &Path) -> Vec<PathBuf> {
    let program = env::current_exe().unwrap_or_default();
    program.ancestors().skip(1).take(3).map(|folder| folder.join(file)).collect()
}

fn not_installed(path: &str, remedy: &str) -> Trouble {
    Trouble::NotInstalled { path: path.to_owned(), remedy: remedy.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        let absent = Program { path: "/no/such/charon", package: "charon-systemd" };
        let said = check(&[absent]).unwrap_err().to_string();
        assert_eq!(said, "/no/such/charon is missing: install it with `apt-get install charon-systemd`");
        check(&[]).unwrap();
    }
}

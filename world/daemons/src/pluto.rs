//! One pluto, the IKE daemon of libreswan: unpacked, not installed, on a kernel without ESP, controlled through `whack`, killed on
//! drop. Its SAs never reach the kernel; their keys are logged for comparison ([`Pluto::sas`], `interop/libreswan/no-esp.c`). The CPU
//! time of its cryptography can be measured ([`Pluto::crypto_ns`], `interop/libreswan/nss-time.c`). Read ipsec.conf(5) and pluto(8).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::files;
use crate::place::Place;
use crate::process::{Process, end_of};
use crate::program::{self, CERTUTIL, OPENSSL, PK12UTIL, SETPRIV, UNSHARE, check};
use crate::run::{Trouble, finish, wait_for};

/// Timeout of its start, including its cryptographic self-tests.
const START_LIMIT: Duration = Duration::from_secs(20);
/// Timeout of awaited changes, which may include two retransmissions.
const LIMIT: Duration = Duration::from_secs(20);
/// It logs this when it listens for peers.
const LISTENS: &str = "loading secrets from";
/// Where `interop/libreswan/nss-time.c` adds up the CPU time of cryptography.
const CRYPTO_TIME: &str = "crypto-time";

/// The files of a certificate, its key, and its trust anchor.
#[derive(Debug, Clone)]
pub struct Certificate {
    /// The end entity's certificate followed by intermediate ones, in PEM.
    pub certificate: PathBuf,
    /// Its key, in PEM.
    pub key: PathBuf,
    /// The trust anchor, in PEM.
    pub root: PathBuf,
}

/// The configuration of one daemon.
#[derive(Debug, Clone)]
pub struct Config {
    /// The lines of connection `c` in `ipsec.conf`, one setting each; its own certificate is called `own`.
    pub connection: Vec<String>,
    /// The shared key.
    pub secret: String,
    /// Its certificate, unless it uses the key.
    pub certificate: Option<Certificate>,
}

/// Keys of an SA, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaKeys {
    /// Encryption, with the salt.
    pub encryption: String,
    /// Integrity; empty with an AEAD.
    pub integrity: String,
}

/// A running daemon.
#[derive(Debug)]
pub struct Pluto {
    dir: PathBuf,
    libexec: PathBuf,
    process: Process,
}

impl Pluto {
    /// Checks that all its programs are installed.
    ///
    /// # Errors
    /// The first one that is missing.
    pub fn check() -> Result<(), Trouble> {
        check(&[CERTUTIL, PK12UTIL, OPENSSL, UNSHARE, SETPRIV])?;
        program::libreswan().map(drop)
    }

    /// Writes its configuration into `dir`, starts it, waits until it listens, and loads the connection.
    ///
    /// # Errors
    /// When a file cannot be written, it does not start, or it refuses the connection.
    pub fn start(place: &Place, dir: &Path, config: &Config) -> Result<Self, Trouble> {
        Self::configure(dir, config)?;
        let mut pluto = Self::launch(place, dir, false)?;
        let listens = |process: &Process| process.output().contains(LISTENS).then_some(());
        pluto.process.await_ready(START_LIMIT, listens)?;
        pluto.load()?;
        Ok(pluto)
    }

    /// Writes the configuration that [`Self::launch`] reads.
    ///
    /// # Errors
    /// When a program is missing, or a file cannot be written.
    pub fn configure(dir: &Path, config: &Config) -> Result<(), Trouble> {
        Self::check()?;
        configure(dir, config)
    }

    /// Starts it with a written configuration without waiting for anything; if `is_timed`, [`Self::crypto_ns`] is measured.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn launch(place: &Place, dir: &Path, is_timed: bool) -> Result<Self, Trouble> {
        let unpacked = program::libreswan()?;
        let libexec = unpacked.join("usr/libexec/ipsec");
        let mut command = place.command("unshare");
        // pluto looks for its helpers where the package installs them; the private mount is only for it.
        let script = "mount -t tmpfs none /usr/libexec && mkdir /usr/libexec/ipsec && \
                      mount --bind \"$0\" /usr/libexec/ipsec && LD_PRELOAD=\"$1\" exec /usr/libexec/ipsec/pluto \
                      --nofork --stderrlog --no-dnssec --config \"$2/ipsec.conf\" --secretsfile \"$2/ipsec.secrets\" \
                      --nssdir \"$2/nss\" --rundir \"$2/run\" --ipsecdir \"$2\"";
        let timer = if is_timed { program::nss_timer(&unpacked)? } else { PathBuf::new() };
        let preloaded = format!("{} {}", unpacked.join("no-esp.so").display(), timer.display());
        command.args(["-m", "sh", "-c", script]).arg(&libexec).arg(preloaded).arg(dir);
        command.env("NO_ESP_LOG", dir.join("sas")).env("NSS_TIME", dir.join(CRYPTO_TIME));
        // The timer adds to the sums in an existing file.
        let _ = fs::remove_file(dir.join(CRYPTO_TIME));
        let process = Process::start("pluto", command, dir.join("stdout"))?;
        Ok(Self { dir: dir.to_owned(), libexec, process })
    }

    /// Whether it listens for peers.
    pub fn is_listening(&self) -> bool {
        self.log().contains(LISTENS)
    }

    /// Its process ID.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// CPU time of its cryptography so far, in nanoseconds; `None` unless it was launched with a timer.
    pub fn crypto_ns(&self) -> Option<u64> {
        let sums = fs::read(self.dir.join(CRYPTO_TIME)).ok()?;
        sums.first_chunk().map(|nanoseconds| u64::from_ne_bytes(*nanoseconds))
    }

    /// Loads the connection.
    ///
    /// # Errors
    /// When it is refused.
    pub fn load(&self) -> Result<(), Trouble> {
        let mut command = Command::new(self.libexec.join("addconn"));
        command
            .arg("--config")
            .arg(self.dir.join("ipsec.conf"))
            .arg("--ctlsocket")
            .arg(self.socket())
            .arg("c");
        finish(&mut command)?;
        self.await_log("added IKE")
    }

    /// Initiates the connection, and waits until its IPsec SA is established.
    ///
    /// # Errors
    /// When `whack` fails, as it does if the connection is not established.
    pub fn connect(&self) -> Result<(), Trouble> {
        self.whack("--initiate --name c")
    }

    /// Orders it to delete its SAs and to end.
    ///
    /// # Errors
    /// When `whack` fails.
    pub fn shut_down(&self) -> Result<(), Trouble> {
        self.whack("--shutdown")
    }

    /// Initiates the connection; the log has the outcome.
    ///
    /// # Errors
    /// When `whack` fails.
    pub fn initiate(&self) -> Result<(), Trouble> {
        self.whack("--initiate --asynchronous --name c")
    }

    /// Rekeys the IKE SA or its child.
    ///
    /// # Errors
    /// When `whack` fails.
    pub fn rekey(&self, is_ike: bool) -> Result<(), Trouble> {
        let what = if is_ike { "--rekey-ike" } else { "--rekey-ipsec" };
        self.whack(&format!("{what} --asynchronous --name c"))
    }

    /// Deletes the IKE SA and its children.
    ///
    /// # Errors
    /// When `whack` fails.
    pub fn terminate(&self) -> Result<(), Trouble> {
        self.whack("--terminate --name c")
    }

    fn whack(&self, arguments: &str) -> Result<(), Trouble> {
        let mut command = Command::new(self.libexec.join("whack"));
        command.arg("--ctlsocket").arg(self.socket()).args(arguments.split_whitespace());
        finish(&mut command).map(drop)
    }

    fn socket(&self) -> PathBuf {
        self.dir.join("run/pluto.ctl")
    }

    /// Its log.
    pub fn log(&self) -> String {
        self.process.output()
    }

    /// Waits until its log contains these words.
    ///
    /// # Errors
    /// After a timeout, with the end of the log.
    pub fn await_log(&self, words: &str) -> Result<(), Trouble> {
        let logged = || self.log().contains(words).then_some(());
        wait_for(&format!("{words:?} in pluto's log"), LIMIT, logged, || end_of(&self.log()))
    }

    /// The SAs that it would have installed, by SPI.
    pub fn sas(&self) -> BTreeMap<u32, SaKeys> {
        let written = fs::read_to_string(self.dir.join("sas")).unwrap_or_default();
        written.lines().filter_map(sa).collect()
    }
}

/// `spi=1a2b3c4d … encryption=NAME:HEX integrity=NAME:HEX`.
fn sa(line: &str) -> Option<(u32, SaKeys)> {
    let field = |key: &str| line.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    let key = |what: &str| field(what).and_then(|named| named.rsplit(':').next()).unwrap_or_default();
    let spi = u32::from_str_radix(field("spi")?, 16).ok()?;
    Some((spi, SaKeys { encryption: key("encryption").to_owned(), integrity: key("integrity").to_owned() }))
}

fn configure(dir: &Path, config: &Config) -> Result<(), Trouble> {
    for folder in ["run", "nss"] {
        files::directory(&dir.join(folder))?;
    }
    let lines: String = config.connection.iter().map(|line| format!("\t{line}\n")).collect();
    let setup = "config setup\n\tuniqueids=no\n\tikev1-policy=accept\n";
    files::write(&dir.join("ipsec.conf"), format!("{setup}conn c\n\tleftupdown=%disabled\n{lines}"))?;
    files::write(&dir.join("ipsec.secrets"), format!(": PSK \"{}\"\n", config.secret))?;
    let database = format!("sql:{}", dir.join("nss").display());
    finish(Command::new(CERTUTIL.path).args(["-N", "--empty-password", "-d", &database]))?;
    config.certificate.as_ref().map_or(Ok(()), |files| import(dir, &database, files))
}

/// NSS imports keys only from PKCS #12.
fn import(dir: &Path, database: &str, files: &Certificate) -> Result<(), Trouble> {
    let bundle = dir.join("own.p12");
    let mut export = Command::new(OPENSSL.path);
    export.args(["pkcs12", "-export", "-name", "own", "-passout", "pass:", "-in"]).arg(&files.certificate);
    finish(export.arg("-inkey").arg(&files.key).arg("-out").arg(&bundle))?;
    finish(Command::new(PK12UTIL.path).args(["-W", "", "-d", database, "-i"]).arg(&bundle))?;
    let trust = ["-A", "-n", "root", "-t", "CT,,", "-d", database, "-i"];
    finish(Command::new(CERTUTIL.path).args(trust).arg(&files.root)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logged_keys_are_parsed() {
        let keys = |encryption: &str, integrity: &str| SaKeys {
            encryption: encryption.to_owned(),
            integrity: integrity.to_owned(),
        };
        let cbc = "spi=4529282c destination=10.97.1.1 integrity=hmac(sha256):b9f5 encryption=aes:0baf";
        assert_eq!(sa(cbc), Some((0x4529_282c, keys("0baf", "b9f5"))));
        let gcm = "spi=0000beef destination=fd99::1 encryption=rfc4106(gcm(aes)):aa00";
        assert_eq!(sa(gcm), Some((0xbeef, keys("aa00", ""))));
        assert_eq!(sa("destination=10.97.1.1"), None);
    }
}

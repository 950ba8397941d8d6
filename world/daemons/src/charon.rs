//! One strongSwan daemon: started without systemd, controlled through `swanctl`, killed on drop.

use std::ffi::OsString;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::files;
use crate::place::Place;
use crate::process::{Process, Usage, end_of};
use crate::program::{CHARON, EAP_RADIUS, LIBIPSEC, SETPRIV, SWANCTL, UNSHARE, check, check_tun};
use crate::run::{Trouble, finish, wait_for};
use crate::status::{self, IkeSa};
use crate::swanctl::{strongswan_conf, swanctl_conf};
use crate::vici::Vici;

/// Timeout of the daemon's start.
const START_LIMIT: Duration = Duration::from_secs(20);

/// Timeout of changes of SAs, which may include two retransmissions (4 s and 7.2 s), because strongSwan 5.9.8 drops a response
/// while it processes a request with the same message ID ("already processing").
const SA_LIMIT: Duration = Duration::from_secs(30);

/// Which IKE a daemon speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IkeVersion {
    /// RFC 7296.
    #[default]
    V2,
    /// RFC 2409, identities protected.
    V1Main,
    /// RFC 2409, three messages. With a shared key it allows offline attacks on the password.
    V1Aggressive,
}

/// How a daemon proves itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Own {
    /// With the shared key.
    Psk,
    /// With a certificate, by the name of its file in [`Config::files`].
    Certificate {
        /// The name.
        file: String,
    },
    /// With a key pair whose public key the peer has, by the name of the public key's file in [`Config::files`].
    RawKey {
        /// The name.
        file: String,
    },
    /// With EAP.
    Eap {
        /// Its EAP identity.
        identity: String,
        /// The AAA server's name in its certificate.
        server: String,
        /// Its certificate for EAP-TLS.
        certificate: Option<String>,
    },
}

/// How its peer proves itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Peer {
    /// With the shared key.
    Psk,
    /// With a certificate.
    Certificate,
    /// With the private key of this public key file in [`Config::files`].
    RawKey {
        /// The name.
        file: String,
    },
    /// With EAP, verified by the AAA server.
    Radius {
        /// Whether the daemon requests the EAP identity; otherwise it uses IKE's.
        asks_identity: bool,
    },
    /// With EAP, verified by the daemon's own EAP server.
    Eap {
        /// The method in strongSwan's syntax, without `eap-`.
        method: String,
        /// Whether the daemon requests the EAP identity; otherwise it uses IKE's.
        asks_identity: bool,
    },
}

/// The assignment of inner addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Addresses {
    /// Both sides bring their own.
    Own,
    /// It requests one of this kind.
    Asks(IpAddr),
    /// It assigns them from this range.
    Gives(String),
}

/// A child SA to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    /// Its name.
    pub name: String,
    /// Our traffic selectors in strongSwan's syntax.
    pub local: String,
    /// The peer's.
    pub remote: String,
    /// `tunnel` or `transport`.
    pub mode: &'static str,
}

/// A secret.
#[derive(Clone)]
pub enum Secret {
    /// The shared key of IKE.
    Psk(Vec<u8>),
    /// Somebody's password in EAP.
    Password {
        /// The identity of its owner.
        identity: String,
        /// The password.
        password: Vec<u8>,
    },
}

/// The AAA server behind a gateway.
#[derive(Clone)]
pub struct Radius {
    /// Its address.
    pub address: IpAddr,
    /// The shared secret.
    pub secret: String,
    /// Whether sessions are reported.
    pub accounting: bool,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl std::fmt::Debug for Radius {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Radius").field("address", &self.address).finish_non_exhaustive()
    }
}

/// A certificate or key that the daemon loads.
#[derive(Clone)]
pub struct Credential {
    /// Its kind.
    pub kind: Kind,
    /// The file's name.
    pub name: String,
    /// PEM or DER.
    pub bytes: Vec<u8>,
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Credential({:?}, {})", self.kind, self.name)
    }
}

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A certificate of its own.
    Certificate,
    /// A trust anchor, or an intermediate certificate.
    Authority,
    /// A private key.
    Key,
    /// A public key.
    PublicKey,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Certificate, Self::Authority, Self::Key, Self::PublicKey];

    /// The directory in which strongSwan expects it.
    const fn folder(self) -> &'static str {
        match self {
            Self::Certificate => "x509",
            Self::Authority => "x509ca",
            Self::Key => "private",
            Self::PublicKey => "pubkey",
        }
    }
}

/// The configuration of one daemon.
#[derive(Debug, Clone)]
pub struct Config {
    /// Which IKE.
    pub version: IkeVersion,
    /// Its address.
    pub local: IpAddr,
    /// The peer it connects to; `None`: it only responds.
    pub remote: Option<IpAddr>,
    /// IKE proposals in strongSwan's syntax.
    pub ike: String,
    /// ESP proposals in strongSwan's syntax.
    pub esp: String,
    /// How it authenticates.
    pub own: Own,
    /// Signature schemes of certificates, its own and its peer's, in strongSwan's syntax; empty: any.
    pub signatures: &'static str,
    /// Its identity.
    pub own_id: String,
    /// How its peer proves itself.
    pub peer: Peer,
    /// The required identity of the peer.
    pub peer_id: String,
    /// Inner addresses.
    pub addresses: Addresses,
    /// Its child SAs.
    pub children: Vec<Child>,
    /// Keys and passwords.
    pub secrets: Vec<Secret>,
    /// Certificates and private keys.
    pub files: Vec<Credential>,
    /// The AAA server it uses.
    pub radius: Option<Radius>,
    /// Whether EAP's TLS may be 1.3.
    pub is_tls_1_3: bool,
    /// More lines for the connection.
    pub more: String,
    /// More lines for the daemon.
    pub daemon: String,
    /// Whether it writes a log, which [`Charon::log`] needs and which takes time.
    pub logs: bool,
}

/// A running daemon.
#[derive(Debug)]
pub struct Charon {
    dir: PathBuf,
    usr: Option<PathBuf>,
    process: Process,
}

impl Charon {
    /// Checks that all its programs are installed.
    ///
    /// # Errors
    /// The first one that is missing.
    pub fn check() -> Result<(), Trouble> {
        check(&[CHARON, SWANCTL, LIBIPSEC, EAP_RADIUS, UNSHARE, SETPRIV])?;
        check_tun()
    }

    /// Writes its configuration into `dir`, starts it, waits until it responds, and loads connections and credentials.
    ///
    /// # Errors
    /// When a file cannot be written, it does not start, or it refuses the configuration.
    pub fn start(place: &Place, dir: &Path, config: &Config) -> Result<Self, Trouble> {
        Self::check()?;
        Self::start_of(None, place, dir, config)
    }

    /// The same with the programs and libraries of another `/usr`, that of a newer Debian. Its processes alone see it in place of the
    /// machine's.
    ///
    /// # Errors
    /// As [`Charon::start`].
    pub fn start_from(usr: &Path, place: &Place, dir: &Path, config: &Config) -> Result<Self, Trouble> {
        check(&[UNSHARE, SETPRIV])?;
        check_tun()?;
        Self::start_of(Some(usr.to_owned()), place, dir, config)
    }

    fn start_of(usr: Option<PathBuf>, place: &Place, dir: &Path, config: &Config) -> Result<Self, Trouble> {
        configure(dir, config)?;
        let mut command = place.command("unshare");
        command.args(unshared(usr.as_deref(), "mount -t tmpfs tmpfs /run", CHARON.path));
        command.env("STRONGSWAN_CONF", dir.join("strongswan.conf"));
        let process = Process::start("charon", command, dir.join("stdout"))?;
        let mut charon = Self { dir: dir.to_owned(), usr, process };
        let (dir, usr) = (charon.dir.clone(), charon.usr.clone());
        let answers = |_: &Process| swanctl(usr.as_deref(), &dir, "--stats").ok();
        charon.process.await_ready(START_LIMIT, answers)?;
        charon.swanctl("--load-all --noprompt")?;
        Ok(charon)
    }

    /// Sets up the child `net` and its IKE SA.
    ///
    /// # Errors
    /// With strongSwan's message when it fails.
    pub fn initiate(&self) -> Result<String, Trouble> {
        self.initiate_child("net")
    }

    /// Sets up this child, and an IKE SA if there is none.
    ///
    /// # Errors
    /// With strongSwan's message when it fails.
    pub fn initiate_child(&self, name: &str) -> Result<String, Trouble> {
        self.swanctl(&format!("--initiate --child {name} --timeout 20"))
    }

    /// Sets up the IKE SA alone.
    ///
    /// # Errors
    /// With strongSwan's message when it fails.
    pub fn initiate_ike(&self) -> Result<String, Trouble> {
        self.swanctl("--initiate --ike c --timeout 20")
    }

    /// A connection for commands that must not wait for the start of `swanctl`.
    ///
    /// # Errors
    /// When charon does not accept it.
    pub fn vici(&self) -> Result<Vici, Trouble> {
        let socket = self.dir.join("vici");
        Vici::connect(&socket)
            .map_err(|source| Trouble::File { what: format!("connect to {}", socket.display()), source })
    }

    /// Waits until its log contains `words`.
    ///
    /// # Errors
    /// After a timeout, with the end of the log.
    pub fn await_log(&self, words: &str) -> Result<(), Trouble> {
        self.await_line(words, |line| line.contains(words))
    }

    /// Waits until its log has such a line.
    ///
    /// # Errors
    /// After a timeout, with the end of the log.
    pub fn await_line(&self, what: &str, is_it: impl Fn(&str) -> bool) -> Result<(), Trouble> {
        let ready = || self.log().lines().any(&is_it).then_some(());
        wait_for(what, Duration::from_secs(10), ready, || self.last_words())
    }

    /// Deletes the IKE SA and waits for the peer's answer.
    ///
    /// # Errors
    /// With strongSwan's message when it fails.
    pub fn terminate(&self) -> Result<String, Trouble> {
        self.swanctl("--terminate --ike c --timeout 20")
    }

    /// Rekeys the CHILD SA, or with `ike` the IKE SA itself.
    ///
    /// # Errors
    /// With strongSwan's message when it fails.
    pub fn rekey(&self, ike: bool) -> Result<String, Trouble> {
        self.swanctl(if ike { "--rekey --ike c" } else { "--rekey --child net" })
    }

    /// Rekeys the IKE SA while the daemon is stopped and `meanwhile` happens: afterwards it finds its own rekeying command and the
    /// received messages at the same time.
    ///
    /// # Errors
    /// Those of `meanwhile`, and when the daemon cannot be stopped.
    pub fn rekey_ike_after(&self, meanwhile: impl FnOnce() -> Result<(), Trouble>) -> Result<(), Trouble> {
        self.signal("STOP")?;
        thread::scope(|scope| {
            let rekey = scope.spawn(|| self.rekey(true));
            let happened = meanwhile();
            // Both the request and the command need a moment to arrive.
            thread::sleep(Duration::from_millis(100));
            self.signal("CONT")?;
            // Refused when the peer's rekeying was first.
            let _ = rekey.join();
            happened
        })
    }

    fn signal(&self, name: &str) -> Result<(), Trouble> {
        finish(Command::new("sh").args(["-c", &format!("kill -{name} {}", self.process.id())])).map(drop)
    }

    /// Its SAs.
    ///
    /// # Errors
    /// When `swanctl` fails.
    pub fn list_sas(&self) -> Result<Vec<IkeSa>, Trouble> {
        Ok(status::read(&self.swanctl("--list-sas --raw")?))
    }

    /// Waits until its SAs satisfy a condition, and returns them.
    ///
    /// # Errors
    /// After a timeout, with the SAs.
    pub fn await_sas(&self, what: &str, wished: impl Fn(&[IkeSa]) -> bool) -> Result<Vec<IkeSa>, Trouble> {
        let ready = || self.list_sas().ok().filter(|sas| wished(sas));
        wait_for(what, SA_LIMIT, ready, || format!("{:?}\n{}", self.list_sas(), self.last_words()))
    }

    /// Its log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.join("charon.log")).unwrap_or_default()
    }

    /// Its resource usage so far; `None` if it has ended.
    pub fn usage(&self) -> Option<Usage> {
        self.process.usage()
    }

    fn swanctl(&self, arguments: &str) -> Result<String, Trouble> {
        swanctl(self.usr.as_deref(), &self.dir, arguments)
    }

    /// The end of its output and log, for the message of a failed test.
    fn last_words(&self) -> String {
        end_of(&format!("{}{}", self.process.output(), self.log()))
    }
}

/// The arguments of `unshare` that start a program with its own mounts: another `/usr` if there is one, and `mount` first.
///
/// charon needs its own /run for its sockets and lock files; the private mount hides the machine's.
fn unshared(usr: Option<&Path>, mount: &str, program: &str) -> Vec<OsString> {
    let other = if usr.is_some() { "&& mount --bind \"$0\" /usr" } else { "" };
    let script = format!("{mount} {other} && exec {program} \"$@\"");
    let usr = usr.map_or_else(|| "sh".into(), |usr| usr.as_os_str().to_owned());
    ["-m", "sh", "-c", &script].map(OsString::from).into_iter().chain([usr]).collect()
}

fn swanctl(usr: Option<&Path>, dir: &Path, arguments: &str) -> Result<String, Trouble> {
    let mut command = Command::new(if usr.is_some() { UNSHARE.path } else { SWANCTL.path });
    if usr.is_some() {
        command.args(unshared(usr, "true", SWANCTL.path));
    }
    command.args(arguments.split_whitespace()).arg("--uri").arg(format!("unix://{}/vici", dir.display()));
    command.env("STRONGSWAN_CONF", dir.join("strongswan.conf")).env("SWANCTL_DIR", dir.join("swanctl"));
    finish(&mut command)
}

fn configure(dir: &Path, config: &Config) -> Result<(), Trouble> {
    let swanctl = dir.join("swanctl");
    for kind in Kind::ALL {
        files::directory(&swanctl.join(kind.folder()))?;
    }
    files::write(&dir.join("strongswan.conf"), strongswan_conf(config, dir))?;
    files::write(&swanctl.join("swanctl.conf"), swanctl_conf(config))?;
    config
        .files
        .iter()
        .try_for_each(|file| files::write(&swanctl.join(file.kind.folder()).join(&file.name), &file.bytes))
}

//! One radsecproxy between a gateway and an AAA server: it passes RADIUS on over UDP or TLS (RFC 6614), and asks the server with
//! Status-Server whether it is alive. See radsecproxy.conf(5).

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use keytoll_daemons::{Place, Process};

use crate::eap::RADIUS_SECRET;
use crate::lab::{Lab, Node};
use crate::pki::Pki;
use crate::run::Trouble;

/// Debian's.
pub const PROGRAM: &str = "/usr/sbin/radsecproxy";
/// Timeout of its start.
const START_LIMIT: Duration = Duration::from_secs(20);

/// The transport of one side. With TLS both ends show the AAA server's certificate.
#[derive(Debug, Clone, Copy)]
pub enum Leg<'a> {
    /// RADIUS over UDP.
    Udp,
    /// RADIUS over TLS.
    Tls(&'a Pki),
}

/// Where it is.
#[derive(Debug, Clone, Copy)]
pub struct Config<'a> {
    /// Its name, which its directory has.
    pub name: &'static str,
    /// Where it listens.
    pub listen: (SocketAddr, Leg<'a>),
    /// Its client.
    pub client: IpAddr,
    /// The server that it passes requests on to.
    pub server: (SocketAddr, Leg<'a>),
}

/// A running proxy.
#[derive(Debug)]
pub struct Radsecproxy {
    process: Process,
}

impl Radsecproxy {
    /// Starts it in the AAA server's place and waits until it listens.
    ///
    /// # Errors
    /// When a file cannot be written, or it does not start.
    pub fn start(lab: &Lab, config: &Config<'_>) -> Result<Self, Trouble> {
        let (dir, place): (PathBuf, Place) = (lab.shared_dir().join(config.name), lab.place(Node::Aaa));
        let file = dir.join("radsecproxy.conf");
        let written = fs::create_dir_all(&dir).and_then(|()| fs::write(&file, config.text()));
        written.map_err(|source| Trouble::File { what: format!("write {}", file.display()), source })?;
        let mut command = place.command(PROGRAM);
        command.args(["-f", "-d", "5", "-c"]).arg(&file);
        let mut process = Process::start("radsecproxy", command, dir.join("stdout"))?;
        let listens = |process: &Process| process.output().contains("listening for").then_some(());
        process.await_ready(START_LIMIT, listens)?;
        Ok(Self { process })
    }

    /// Its log.
    pub fn log(&self) -> String {
        self.process.output()
    }
}

impl Config<'_> {
    fn text(&self) -> String {
        let ((listen, from), (server, to)) = (self.listen, self.server);
        format!(
            "Listen{word} {listen}\n{tls}client {client} {{\n  type {from}\n  secret {from_secret}\n{check}}}\n\
             server {host} {{\n  type {to}\n  port {port}\n  secret {to_secret}\n  StatusServer on\n{check_to}}}\n\
             realm * {{\n  server {host}\n}}\n",
            word = from.word().to_uppercase(),
            tls = from.tls() + &to.tls(),
            client = self.client,
            from = from.word(),
            from_secret = from.secret(),
            check = from.check(),
            host = server.ip(),
            to = to.word(),
            port = server.port(),
            to_secret = to.secret(),
            check_to = to.check(),
        )
    }
}

impl Leg<'_> {
    const fn word(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::Tls(_) => "tls",
        }
    }

    /// RFC 6614 §2.3: over TLS the secret is known.
    const fn secret(self) -> &'static str {
        match self {
            Self::Udp => RADIUS_SECRET,
            Self::Tls(_) => "radsec",
        }
    }

    /// Peers are known by name, for their address is not in their certificate.
    fn check(self) -> String {
        match self {
            Self::Udp => String::new(),
            Self::Tls(_) => {
                let name = Node::Aaa.id().replace('.', "\\.");
                format!(
                    "  CertificateNameCheck off\n  MatchCertificateAttribute SubjectAltName:DNS:/^{name}$/\n"
                )
            }
        }
    }

    fn tls(self) -> String {
        let Self::Tls(pki) = self else { return String::new() };
        format!(
            "tls default {{\n  CACertificateFile {}\n  CertificateFile {}\n  CertificateKeyFile {}\n}}\n",
            pki.root_certificate().display(),
            pki.certificate(Node::Aaa).display(),
            pki.key(Node::Aaa).display(),
        )
    }
}

//! One hostapd without any radio, as an AAA server or as an authenticator of 802.1X with its EAP server inside, and hlr_auc_gw,
//! which has the subscriber's key. Both run in the foreground and are killed on drop.
//!
//! The first method of a user's line is proposed first; lines for methods inside a tunnel end in `[2]`. See hostapd's
//! `hostapd.conf` and `hostapd.eap_user`, and `hlr_auc_gw.milenage_db`.

use std::path::Path;
use std::time::Duration;

use crate::aaa::{Client, Methods, Tls};
use crate::files;
use crate::place::Place;
use crate::process::{Process, Usage};
use crate::program::{self, HOSTAPD, SETPRIV, check};
use crate::run::Trouble;

/// Timeout of the start of either.
const START_LIMIT: Duration = Duration::from_secs(20);

/// A subscriber.
#[derive(Clone)]
pub struct Subscriber {
    /// The IMSI.
    pub imsi: String,
    /// K.
    pub key: u128,
    /// OPc.
    pub opc: u128,
    /// The authentication management field; EAP-AKA′ requires its separation bit (TS 33.402 §6.2).
    pub amf: [u8; 2],
    /// The highest sequence number used so far.
    pub sqn: u64,
}

impl std::fmt::Debug for Subscriber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscriber").field("imsi", &self.imsi).finish_non_exhaustive()
    }
}

/// How others reach it.
#[derive(Debug, Clone)]
pub enum Access {
    /// By RADIUS.
    Radius {
        /// The UDP port it listens on, at every address of its place.
        port: u16,
        /// Its RADIUS client.
        client: Client,
    },
    /// By 802.1X on a cable.
    Wired {
        /// The device at which it listens.
        interface: String,
        /// The bytes of the keys of dynamic WEP, if it gives any.
        wep_key_bytes: Option<u8>,
    },
}

/// The configuration of a server.
#[derive(Clone)]
pub struct Config {
    /// How others reach it.
    pub access: Access,
    /// Its methods: `MD5`, `MSCHAPV2`, `TLS`, `TTLS`, `PEAP`, `SIM`, `AKA`, `AKA'`, …
    pub methods: Methods,
    /// The user.
    pub user: String,
    /// The user's password.
    pub password: String,
    /// The user's card; `None`: hlr_auc_gw is not needed.
    pub subscriber: Option<Subscriber>,
    /// Whether the user returns with pseudonyms.
    pub has_pseudonyms: bool,
    /// TLS inside EAP; `None`: only methods without TLS.
    pub tls: Option<Tls>,
    /// Whether it writes a debug log; that takes time.
    pub logs: bool,
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config")
            .field("access", &self.access)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// A running server.
#[derive(Debug)]
pub struct Hostapd {
    process: Process,
    subscribers: Option<Process>,
}

impl Hostapd {
    /// Checks that all its programs are installed, with or without hlr_auc_gw.
    ///
    /// # Errors
    /// The first one that is missing.
    pub fn check(with_subscribers: bool) -> Result<(), Trouble> {
        check(&[HOSTAPD, SETPRIV])?;
        if with_subscribers { program::subscribers().map(drop) } else { Ok(()) }
    }

    /// Writes its configuration into `dir`, starts it, and waits until it listens.
    ///
    /// # Errors
    /// When a file cannot be written, or a program does not start.
    pub fn start(place: &Place, dir: &Path, config: &Config) -> Result<Self, Trouble> {
        Self::check(config.subscriber.is_some())?;
        files::write(&dir.join("hostapd.conf"), hostapd_conf(dir, config))?;
        if let Access::Radius { client, .. } = &config.access {
            files::write(&dir.join("clients"), format!("{} {}\n", client.address, client.secret))?;
        }
        files::write(&dir.join("users"), users(config))?;
        let subscribers =
            config.subscriber.as_ref().map(|subscriber| centre(place, dir, subscriber)).transpose()?;
        let mut command = place.command(HOSTAPD.path);
        if config.logs {
            command.arg("-d");
        }
        command.arg(dir.join("hostapd.conf"));
        let mut process = Process::start("hostapd", command, dir.join("stdout"))?;
        let listens = |process: &Process| process.output().contains("AP-ENABLED").then_some(());
        process.await_ready(START_LIMIT, listens)?;
        Ok(Self { process, subscribers })
    }

    /// Its log.
    pub fn log(&self) -> String {
        self.process.output()
    }

    /// The resource usage of both programs so far; `None` if either has ended.
    pub fn usage(&self) -> Option<Usage> {
        let own = self.process.usage()?;
        let Some(subscribers) = &self.subscribers else { return Some(own) };
        Some(own + subscribers.usage()?)
    }
}

/// Starts hlr_auc_gw with one subscriber.
fn centre(place: &Place, dir: &Path, subscriber: &Subscriber) -> Result<Process, Trouble> {
    let Subscriber { imsi, key, opc, amf: [high, low], sqn } = subscriber;
    let known = format!("{imsi} {key:032x} {opc:032x} {high:02x}{low:02x} {sqn:012x}\n");
    files::write(&dir.join("milenage"), known)?;
    let (program, socket) = (program::subscribers()?, dir.join("socket"));
    let mut command = place.command(&program.to_string_lossy());
    command.arg("-s").arg(&socket).arg("-m").arg(dir.join("milenage"));
    let mut process = Process::start("hlr_auc_gw", command, dir.join("subscribers"))?;
    process.await_ready(START_LIMIT, |_| socket.exists().then_some(()))?;
    Ok(process)
}

fn users(config: &Config) -> String {
    let Config { user, password, methods, .. } = config;
    let Methods { proposed, allowed, inside } = methods;
    // A returning card has another identity.
    let others = if config.has_pseudonyms { format!("*\t{allowed}\n") } else { String::new() };
    let list = if proposed == allowed { (*proposed).to_owned() } else { format!("{proposed},{allowed}") };
    format!("\"{user}\"\t{list}\t\"{password}\"\n\"{user}\"\t{inside}\t\"{password}\"\t[2]\n{others}")
}

fn hostapd_conf(dir: &Path, config: &Config) -> String {
    let centre = if config.subscriber.is_some() {
        format!("eap_sim_db=unix:{}/socket\n", dir.display())
    } else {
        String::new()
    };
    format!(
        "logger_stdout=-1
logger_stdout_level=0
eap_server=1
eap_user_file={dir}/users
{access}{centre}{tls}",
        dir = dir.display(),
        access = access(dir, &config.access),
        tls = config.tls.as_ref().map_or_else(String::new, tunnels),
    )
}

fn access(dir: &Path, access: &Access) -> String {
    match access {
        Access::Radius { port, client } => format!(
            "interface=lo
driver=none
radius_server_clients={dir}/clients
radius_server_auth_port={port}
{ipv6}",
            dir = dir.display(),
            ipv6 = if client.address.is_ipv6() { "radius_server_ipv6=1\n" } else { "" },
        ),
        Access::Wired { interface, wep_key_bytes } => {
            let wep = wep_key_bytes.map(|bytes| {
                format!("wep_key_len_broadcast={bytes}\nwep_key_len_unicast={bytes}\nwep_rekey_period=0\n")
            });
            format!("interface={interface}\ndriver=wired\nieee8021x=1\n{}", wep.unwrap_or_default())
        }
    }
}

fn tunnels(tls: &Tls) -> String {
    // Version 2.10 disables TLS 1.3 by default.
    let versions = if tls.is_1_3 { "[ENABLE-TLSv1.3][DISABLE-TLSv1.2]" } else { "[DISABLE-TLSv1.3]" };
    format!(
        "ca_cert={root}
server_cert={certificate}
private_key={key}
tls_flags={versions}
fragment_size={fragment_bytes}
tls_session_lifetime={lifetime_s}
",
        root = tls.root.display(),
        certificate = tls.certificate.display(),
        key = tls.key.display(),
        fragment_bytes = tls.fragment_bytes,
        lifetime_s = if tls.resumption { 3600 } else { 0 },
    )
}

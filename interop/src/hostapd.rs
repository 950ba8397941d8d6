//! One hostapd as the AAA server, without any radio, and behind it hlr_auc_gw, which knows the subscriber's key. Both in
//! the foreground, ended on drop.
//!
//! The first method of a user's line is proposed first; lines for what goes on inside a tunnel end in `[2]`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::eap::{CARD_KEY, CARD_OPC, IMSI, Inside, Login, Method, PASSWORD, RADIUS_SECRET, Version};
use crate::lab::{GW_TOWARDS_AAA, Lab, Node};
use crate::pki::Pki;
use crate::run::{Trouble, line, wait_for};

/// Debian's.
pub const PACKAGED: &str = "/usr/sbin/hostapd";
/// Built from Debian's source; not packaged.
pub const SUBSCRIBERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/wpa/hlr_auc_gw");

/// How long either may take to start.
const START_LIMIT: Duration = Duration::from_secs(20);

/// A running server.
#[derive(Debug)]
pub struct Hostapd {
    dir: PathBuf,
    processes: Vec<Child>,
}

impl Hostapd {
    /// Starts both at the AAA server's address and waits until hostapd listens.
    pub fn start(lab: &Lab, login: &Login, pki: &Pki) -> Result<Self, Trouble> {
        let dir = lab.dir(Node::Aaa);
        for (name, text) in files(&dir, login, pki) {
            let file = dir.join(name);
            fs::write(&file, text)
                .map_err(|source| Trouble::File { what: format!("write {}", file.display()), source })?;
        }
        let mut server = Self { dir, processes: Vec::new() };
        let mut subscribers = lab.command(Node::Aaa, SUBSCRIBERS);
        subscribers.arg("-s").arg(server.dir.join("socket")).arg("-m").arg(server.dir.join("milenage"));
        server.spawn(subscribers, "subscribers")?;
        let ready = || server.dir.join("socket").exists().then_some(());
        wait_for("hlr_auc_gw", START_LIMIT, ready, || server.told("subscribers"))?;
        let mut hostapd = lab.command(Node::Aaa, PACKAGED);
        hostapd.arg("-d").arg(server.dir.join("hostapd.conf"));
        server.spawn(hostapd, "stdout")?;
        let ready = || server.told("stdout").contains("AP-ENABLED").then_some(());
        wait_for("hostapd", START_LIMIT, ready, || server.last_words())?;
        Ok(server)
    }

    fn spawn(&mut self, mut command: Command, output: &str) -> Result<(), Trouble> {
        let file = self.dir.join(output);
        let told = File::create(&file)
            .and_then(|file| Ok((file.try_clone()?, file)))
            .map_err(|source| Trouble::File { what: format!("write {}", file.display()), source })?;
        command.stdin(Stdio::null()).stdout(told.0).stderr(told.1);
        let process = command.spawn();
        self.processes.push(process.map_err(|source| Trouble::Start { command: line(&command), source })?);
        Ok(())
    }

    fn told(&self, output: &str) -> String {
        fs::read_to_string(self.dir.join(output)).unwrap_or_default()
    }

    fn last_words(&self) -> String {
        let log = self.told("stdout");
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(60)..].join("\n")
    }
}

impl Drop for Hostapd {
    fn drop(&mut self) {
        if thread::panicking() {
            // Straight to the terminal or the test's report: this log is gone in a moment.
            let _ = std::io::Write::write_all(&mut std::io::stderr(), self.last_words().as_bytes());
        }
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Everything they read.
fn files(dir: &Path, login: &Login, pki: &Pki) -> [(&'static str, String); 4] {
    // TS 33.402 §6.2: AKA′ wants the separation bit of the AMF; the sequence number is one never used.
    let milenage = format!("{IMSI} {CARD_KEY:032x} {CARD_OPC:032x} 8000 000000000000\n");
    [
        ("hostapd.conf", hostapd_conf(dir, login, pki)),
        ("clients", format!("{GW_TOWARDS_AAA} {RADIUS_SECRET}\n")),
        ("users", users(login)),
        ("milenage", milenage),
    ]
}

fn users(login: &Login) -> String {
    let (user, first) = (login.user(), eap_type(login.proposed));
    let inside = match login.method {
        Method::Ttls(inside, _) => inner_type(inside),
        Method::Peap(..) => "MSCHAPV2",
        _ => "TTLS-PAP",
    };
    let method = eap_type(login.method);
    // Whoever comes back with a card has another name then.
    let others = if login.method.card().is_some() { format!("*\t{method}\n") } else { String::new() };
    format!(
        "\"{user}\"\t{first},{method}\t\"{PASSWORD}\"\n\"{user}\"\t{inside}\t\"{PASSWORD}\"\t[2]\n{others}"
    )
}

/// Its names of methods.
const fn eap_type(method: Method) -> &'static str {
    match method {
        Method::Md5 => "MD5",
        Method::MschapV2 => "MSCHAPV2",
        Method::Gtc => "GTC",
        Method::Sim => "SIM",
        Method::Aka => "AKA",
        Method::AkaPrime => "AKA'",
        Method::Tls(_) => "TLS",
        Method::Ttls(..) => "TTLS",
        Method::Peap(..) => "PEAP",
    }
}

const fn inner_type(inside: Inside) -> &'static str {
    match inside {
        Inside::Pap => "TTLS-PAP",
        Inside::MschapV2 => "TTLS-MSCHAPV2",
        Inside::EapMd5 => "MD5",
        Inside::EapMschapV2 => "MSCHAPV2",
    }
}

fn hostapd_conf(dir: &Path, login: &Login, pki: &Pki) -> String {
    // 2.10 leaves TLS 1.3 out unless asked for.
    let versions = match login.method.tls() {
        Some(Version::Tls13) => "[ENABLE-TLSv1.3][DISABLE-TLSv1.2]",
        _ => "[DISABLE-TLSv1.3]",
    };
    format!(
        "interface=lo
driver=none
logger_stdout=-1
logger_stdout_level=0
eap_server=1
eap_user_file={dir}/users
ca_cert={root}
server_cert={certificate}
private_key={key}
tls_flags={versions}
fragment_size=1024
tls_session_lifetime={lifetime_s}
eap_sim_db=unix:{dir}/socket
radius_server_clients={dir}/clients
radius_server_auth_port=1812
",
        dir = dir.display(),
        lifetime_s = if login.resumption { 3600 } else { 0 },
        root = pki.root_certificate().display(),
        certificate = pki.certificate(Node::Aaa).display(),
        key = pki.key(Node::Aaa).display(),
    )
}

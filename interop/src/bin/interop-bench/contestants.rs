//! Who answers, or asks, in a measurement of IKE: our gateway, Debian's strongSwan as shipped, the same in its fastest
//! configuration, and strongSwan rebuilt with its load-tester, which needs no kernel.
//!
//! What makes strongSwan look slower than it is, and is avoided here: `reuse_ikesa`, a hash table of one row, logs, and
//! with MODP groups on OpenSSL 3 the validation of the peer's value (gmp with short exponents costs less than half).

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use keytoll_daemons::Process;
use keytoll_daemons::run::finish;
use keytoll_interop::swanctl::SECRET;
use keytoll_interop::{Lab, Node};

use crate::cases::{Case, Proof};
use crate::product::{self, Log};
use crate::trouble::Result;

/// Built by `interop/build-strongswan.sh`.
const REBUILT_CHARON: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../target/strongswan/libexec/ipsec/charon");
/// The same.
const REBUILT_SWANCTL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/strongswan/sbin/swanctl");

/// How long anybody may take to start.
const START_LIMIT: Duration = Duration::from_secs(20);

/// The CPU of everybody who answers; we stay there ourselves, and whom we start inherits it.
const RESPONDER_CPU: &str = "1";
/// The CPU of everybody who asks.
const INITIATOR_CPU: &str = "0";

/// Goes to the CPU of those who answer.
pub(crate) fn take_place() -> Result<()> {
    let own = std::process::id().to_string();
    finish(Command::new("taskset").args(["-c", "-p", RESPONDER_CPU, &own]))?;
    Ok(())
}

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gateway {
    /// Ours, with nothing in its log but warnings.
    Keytoll,
    /// Ours, with its usual log.
    KeytollUsual,
    /// Debian's charon-systemd with Debian's plugins and settings, logs included.
    Shipped,
    /// Debian's charon-systemd without logs, with a hash table for its SAs, and with the plugins it needs.
    Fastest,
    /// The same settings, with the load-tester's kernel, which does nothing.
    Rebuilt,
}

impl Gateway {
    /// Who can take part; Debian's kernel interface cannot install SAs on every kernel, so it plays childless only.
    pub(crate) const fn for_case(case: &Case) -> &'static [Self] {
        match case.esp {
            None => &[Self::Keytoll, Self::KeytollUsual, Self::Shipped, Self::Fastest],
            Some(_) => &[Self::Keytoll, Self::Rebuilt],
        }
    }

    /// In tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Keytoll => "keytoll",
            Self::KeytollUsual => "keytoll with its usual log",
            Self::Shipped => "strongSwan as shipped",
            Self::Fastest => "strongSwan, fastest",
            Self::Rebuilt => "strongSwan, fastest, no kernel",
        }
    }

    /// Starts it in the gateway's place of its own lab.
    pub(crate) fn start(self, lab: &Lab, case: &Case, pki: &Path) -> Result<Process> {
        match self {
            Self::Keytoll => product::gateway(lab, case, pki, Log::Quiet),
            Self::KeytollUsual => product::gateway(lab, case, pki, Log::Usual),
            Self::Shipped | Self::Fastest | Self::Rebuilt => Charon { gateway: self, lab, case, pki }.start(),
        }
    }
}

/// This program again, as a load generator.
pub(crate) fn asking(lab: &Lab, node: Node, role: &str) -> Result<Command> {
    let mut command = lab.command(node, "taskset");
    command.args(["-c", INITIATOR_CPU]).arg(std::env::current_exe()?).arg(role);
    Ok(command)
}

/// The arguments that both of our roles take.
pub(crate) fn terms(command: &mut Command, case: &Case, pki: &Path) {
    command.args(["--ike", case.ike]);
    if let Some(esp) = case.esp {
        command.args(["--esp", esp]);
    }
    if case.proof == Proof::Rsa2048 {
        command.arg("--pki").arg(pki);
    }
}

/// Starts a program and waits until it is ready.
pub(crate) fn start(
    name: &'static str,
    command: Command,
    dir: &Path,
    is_ready: impl Fn(&str) -> bool,
) -> Result<Process> {
    let mut process = Process::start(name, command, dir.join("printed"))?;
    process.await_ready(START_LIMIT, |process| is_ready(&process.output()).then_some(()))?;
    Ok(process)
}

/// strongSwan in one of its configurations.
struct Charon<'a> {
    gateway: Gateway,
    lab: &'a Lab,
    case: &'a Case,
    pki: &'a Path,
}

impl Charon<'_> {
    fn start(&self) -> Result<Process> {
        let dir = self.lab.dir(Node::Gw);
        self.write_configuration(&dir)?;
        let command = charon(self.lab.command(Node::Gw, "unshare"), self.binary(), &dir);
        let process = start("strongSwan", command, &dir, |_| dir.join("vici").exists())?;
        self.load(&dir)?;
        Ok(process)
    }

    const fn binary(&self) -> &'static str {
        match self.gateway {
            Gateway::Rebuilt => REBUILT_CHARON,
            _ => "/usr/sbin/charon-systemd",
        }
    }

    fn write_configuration(&self, dir: &Path) -> Result<()> {
        let swanctl = dir.join("swanctl");
        for part in ["x509", "x509ca", "private"] {
            fs::create_dir_all(swanctl.join(part))?;
        }
        let settings = match self.gateway {
            Gateway::Shipped => shipped(dir),
            Gateway::Rebuilt => fastest(self.case, dir, &load_tester(self.case, dir, self.pki)),
            _ => fastest(self.case, dir, ""),
        };
        fs::write(dir.join("strongswan.conf"), settings)?;
        fs::write(swanctl.join("swanctl.conf"), swanctl_conf(self.case))?;
        if self.case.proof == Proof::Rsa2048 {
            fs::copy(self.pki.join("root.crt"), swanctl.join("x509ca/root.crt"))?;
            fs::copy(self.pki.join("gw.crt"), swanctl.join("x509/gw.crt"))?;
            fs::copy(self.pki.join("gw.key"), swanctl.join("private/gw.key"))?;
        }
        Ok(())
    }

    fn load(&self, dir: &Path) -> Result<()> {
        let mut swanctl = match self.gateway {
            Gateway::Rebuilt => Command::new(REBUILT_SWANCTL),
            _ => Command::new("/usr/sbin/swanctl"),
        };
        swanctl.args(["--load-all", "--noprompt", "--uri"]).arg(format!("unix://{}/vici", dir.display()));
        swanctl.env("STRONGSWAN_CONF", dir.join("strongswan.conf")).env("SWANCTL_DIR", dir.join("swanctl"));
        finish(&mut swanctl)?;
        Ok(())
    }
}

/// strongSwan's load-tester as the device of a lab, on the CPU of those who ask.
pub(crate) fn load_tester_process(lab: &Lab, dir: &Path) -> Result<Process> {
    let mut command = lab.command(Node::Ue, "taskset");
    command.args(["-c", INITIATOR_CPU, "unshare"]);
    let command = charon(command, REBUILT_CHARON, dir);
    start("the load-tester", command, dir, |_| dir.join("load").exists())
}

/// What makes `unshare` strongSwan's daemon, with a /run of its own for sockets and lock files.
fn charon(mut unshare: Command, binary: &str, dir: &Path) -> Command {
    let exec = format!("mount -t tmpfs tmpfs /run && exec {binary}");
    unshare.args(["-m", "sh", "-c", &exec]).env("STRONGSWAN_CONF", dir.join("strongswan.conf"));
    unshare
}

/// Debian's settings; nothing is ours but the socket to ask through, and that one address may bear all the load.
fn shipped(dir: &Path) -> String {
    format!(
        "charon-systemd {{
  load_modular = yes
  dos_protection = no
  plugins {{
    include /etc/strongswan.d/charon/*.conf
    vici {{ socket = unix://{dir}/vici }}
  }}
}}
include /etc/strongswan.d/*.conf
",
        dir = dir.display()
    )
}

/// All that makes it faster here; `more` are plugins with their settings.
pub(crate) fn fastest(case: &Case, dir: &Path, more: &str) -> String {
    let tester = if more.is_empty() { "" } else { "load-tester" };
    // Without OpenSSL, so that MODP groups are gmp's, whose short exponents are the fastest it has.
    let openssl = if case.ike.contains("modp") { "" } else { "openssl" };
    let settings = format!(
        "
  load_modular = no
  load = aesni aes sha2 sha1 md5 mgf1 random nonce x509 constraints pubkey pkcs1 pem {openssl} pkcs8 gmp curve25519 \
         hmac kdf ctr gcm drbg {tester} kernel-netlink socket-default vici
  dos_protection = no
  reuse_ikesa = no
  dh_exponent_ansi_x9_42 = no
  ikesa_table_size = 8192
  ikesa_table_segments = 16
  syslog {{ daemon {{ default = -1 }}
    auth {{ default = -1 }} }}
  journal {{ default = -1 }}
  plugins {{ vici {{ socket = unix://{dir}/vici }}
    {more} }}
",
        dir = dir.display()
    );
    format!("charon {{ {settings} }}\ncharon-systemd {{ {settings} }}\n")
}

/// The load-tester's settings for either side: who it is, and a kernel that does nothing.
pub(crate) fn load_tester(case: &Case, dir: &Path, pki: &Path) -> String {
    let auth = if case.proof == Proof::Psk { "psk" } else { "pubkey" };
    format!(
        "load-tester {{
      enable = yes
      fake_kernel = yes
      initiators = 0
      delete_after_established = yes
      responder = {responder}
      initiator_id = {ue}
      initiator_match = {ue}
      responder_id = {gw}
      proposal = {ike}
      esp = {esp}
      initiator_auth = {auth}
      responder_auth = {auth}
      preshared_key = {SECRET}
      digest = sha256
      issuer_cert = {pki}/root.crt
      issuer_key = {pki}/root.key
      socket = unix://{dir}/load }}",
        responder = Node::Gw.outer(),
        ue = Node::Ue.id(),
        gw = Node::Gw.id(),
        ike = case.strongswan_ike(),
        esp = case.esp.unwrap_or("aes128gcm16"),
        pki = pki.display(),
        dir = dir.display(),
    )
}

fn swanctl_conf(case: &Case) -> String {
    let (own, peer) = match case.proof {
        Proof::Psk => ("auth = psk", "auth = psk"),
        Proof::Rsa2048 => ("auth = pubkey\n certs = gw.crt", "auth = pubkey\n cacerts = root.crt"),
    };
    let child = case.esp.map_or(String::new(), |esp| format!("net {{ esp_proposals = {esp} }}"));
    format!(
        "connections {{ c {{
  version = 2
  local_addrs = {local}
  proposals = {ike}
  unique = never
  mobike = no
  local {{ {own}
    id = {gw} }}
  remote {{ {peer}
    id = {ue} }}
  children {{ {child} }} }} }}
secrets {{ ike-1 {{ secret = \"{SECRET}\" }} }}
",
        local = Node::Gw.outer(),
        ike = case.strongswan_ike(),
        gw = Node::Gw.id(),
        ue = Node::Ue.id(),
    )
}

//! One FreeRADIUS as the AAA server: a complete configuration of its own, in the foreground, killed on drop.
//!
//! Its grammar wants one item a line in `authorize` and `authenticate`. `-X` makes it tell everything on stdout.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use keytoll_crypto::Real;
use keytoll_eap::simaka::milenage::Milenage;
use keytoll_eap::simaka::vector::Triplet;

use crate::eap::{CARD_KEY, CARD_OPC, Inside, Login, Method, PASSWORD, RADIUS_SECRET, USER, Version};
use crate::lab::{GW_TOWARDS_AAA, Lab, Node};
use crate::pki::Pki;
use crate::run::{Trouble, line, wait_for};

/// How long it may take to start.
const START_LIMIT: Duration = Duration::from_secs(20);

/// A running server.
#[derive(Debug)]
pub struct FreeRadius {
    dir: PathBuf,
    process: Child,
}

impl FreeRadius {
    /// Starts it at the AAA server's address, with every method it has and one version of TLS, and waits until it
    /// listens.
    pub fn start(lab: &Lab, login: &Login, pki: &Pki) -> Result<Self, Trouble> {
        let dir = lab.dir(Node::Aaa);
        for (name, text) in [("radiusd.conf", radiusd_conf(&dir, login, pki)), ("users", users(login))] {
            let file = dir.join(name);
            fs::write(&file, text)
                .map_err(|source| Trouble::File { what: format!("write {}", file.display()), source })?;
        }
        let server = Self { process: spawn(lab, &dir)?, dir };
        let ready = || server.log().contains("Ready to process requests").then_some(());
        wait_for("FreeRADIUS", START_LIMIT, ready, || server.last_words())?;
        Ok(server)
    }

    /// Everything it told.
    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.join("stdout")).unwrap_or_default()
    }

    fn last_words(&self) -> String {
        let log = self.log();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(80)..].join("\n")
    }
}

fn spawn(lab: &Lab, dir: &Path) -> Result<Child, Trouble> {
    let stdout = dir.join("stdout");
    let told = File::create(&stdout)
        .and_then(|file| Ok((file.try_clone()?, file)))
        .map_err(|source| Trouble::File { what: format!("write {}", stdout.display()), source })?;
    let mut command = lab.command(Node::Aaa, "/usr/sbin/freeradius");
    command.arg("-X").arg("-d").arg(dir).args(["-n", "radiusd"]);
    command.stdin(Stdio::null()).stdout(told.0).stderr(told.1);
    command.spawn().map_err(|source| Trouble::Start { command: line(&command), source })
}

impl Drop for FreeRadius {
    fn drop(&mut self) {
        if thread::panicking() {
            // Straight to the terminal or the test's report: this log is gone in a moment.
            let _ = std::io::Write::write_all(&mut std::io::stderr(), self.last_words().as_bytes());
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn users(login: &Login) -> String {
    let password = format!("{USER}\tCleartext-Password := \"{PASSWORD}\"\n");
    if login.method == Method::Sim { password + &triplets(&login.user()) } else { password }
}

/// rlm_eap_sim knows no key, only three triplets of the subscriber's.
fn triplets(user: &str) -> String {
    let card = Milenage::with_opc(&CARD_KEY.to_be_bytes(), &CARD_OPC.to_be_bytes());
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let reply = |n: u8| {
        let Triplet { rand, sres, kc } = Triplet::from_milenage(&card, [n; 16], &mut Real::default());
        let (rand, sres, kc) = (hex(&rand), hex(&sres), hex(&kc));
        format!("\tEAP-Sim-Rand{n} = 0x{rand}, EAP-Sim-SRES{n} = 0x{sres}, EAP-Sim-KC{n} = 0x{kc}")
    };
    format!("{user}\tEAP-Type := SIM\n{}\n", [1, 2, 3].map(reply).join(",\n"))
}

/// Its names of methods.
const fn eap_type(method: Method) -> &'static str {
    match method {
        Method::Md5 => "md5",
        Method::MschapV2 => "mschapv2",
        Method::Gtc => "gtc",
        Method::Sim => "sim",
        // FreeRADIUS 3 has neither.
        Method::Aka | Method::AkaPrime => "md5",
        Method::Tls(_) => "tls",
        Method::Ttls(..) => "ttls",
        Method::Peap(..) => "peap",
    }
}

/// What it proposes to a peer that begins with EAP inside TTLS.
const fn inner_type(method: Method) -> &'static str {
    match method {
        Method::Ttls(Inside::EapMschapV2, _) => "mschapv2",
        _ => "md5",
    }
}

const fn tls_version(method: Method) -> &'static str {
    match method.tls() {
        Some(Version::Tls13) => "1.3",
        _ => "1.2",
    }
}

fn radiusd_conf(dir: &Path, login: &Login, pki: &Pki) -> String {
    format!(
        "prefix = /usr
libdir = /usr/lib/freeradius
logdir = {dir}
run_dir = {dir}
name = freeradius
max_request_time = 30
cleanup_delay = 5
max_requests = 1024
hostname_lookups = no
log {{ destination = stdout }}
security {{ reject_delay = 0
  status_server = no
  allow_vulnerable_openssl = yes }}
client gw {{ ipaddr = {GW_TOWARDS_AAA}
  secret = {RADIUS_SECRET}
  require_message_authenticator = yes }}
modules {{
  files {{ filename = {dir}/users
    usersfile = {dir}/users }}
  pap {{ }}
  mschap {{ use_mppe = yes
    require_encryption = no }}
  {eap}
}}
{server}",
        dir = dir.display(),
        eap = eap_module(dir, login, pki),
        server = server(),
    )
}

fn eap_module(dir: &Path, login: &Login, pki: &Pki) -> String {
    format!(
        "eap {{
    default_eap_type = {eap_type}
    timer_expire = 60
    ignore_unknown_eap_types = no
    max_sessions = 1024
    md5 {{ }}
    mschapv2 {{ }}
    gtc {{ auth_type = PAP }}
    sim {{ }}
    tls-config common {{
      private_key_file = {key}
      certificate_file = {certificate}
      ca_file = {root}
      fragment_size = 1024
      include_length = yes
      auto_chain = no
      cipher_list = \"DEFAULT\"
      tls_min_version = \"{version}\"
      tls_max_version = \"{version}\"
      ecdh_curve = \"\"
      cache {{ enable = {resumption}
        name = lab
        persist_dir = {dir} }}
    }}
    tls {{ tls = common }}
    ttls {{ tls = common
      default_eap_type = {inner_type}
      copy_request_to_tunnel = no
      use_tunneled_reply = no
      virtual_server = lab }}
    peap {{ tls = common
      default_eap_type = mschapv2
      copy_request_to_tunnel = no
      use_tunneled_reply = no
      virtual_server = lab }}
  }}",
        eap_type = eap_type(login.proposed),
        inner_type = inner_type(login.method),
        version = tls_version(login.method),
        resumption = if login.resumption { "yes" } else { "no" },
        dir = dir.display(),
        key = pki.key(Node::Aaa).display(),
        certificate = pki.certificate(Node::Aaa).display(),
        root = pki.root_certificate().display(),
    )
}

/// The same for what comes from outside and for what comes out of a tunnel.
fn server() -> String {
    format!(
        "server lab {{
  listen {{ type = auth
    ipaddr = {address}
    port = 1812 }}
  authorize {{
    files
    mschap
    eap {{
      ok = return
    }}
    pap
  }}
  authenticate {{
    Auth-Type PAP {{
      pap
    }}
    Auth-Type MS-CHAP {{
      mschap
    }}
    eap
  }}
}}
",
        address = Node::Aaa.outer(),
    )
}

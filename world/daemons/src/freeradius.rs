//! One FreeRADIUS as the AAA server: with a complete configuration of its own, in the foreground, killed on drop.
//!
//! Its syntax requires one item a line in `authorize` and `authenticate`. See radiusd.conf(5), and `mods-available/eap` of
//! the package for the options of the module.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use crate::aaa::{Client, Methods, Tls};
use crate::files;
use crate::place::Place;
use crate::process::{Process, Usage};
use crate::program::{FREERADIUS, SETPRIV, check};
use crate::run::Trouble;

/// Timeout of its start.
const START_LIMIT: Duration = Duration::from_secs(20);

/// A GSM triplet, which is all that rlm_eap_sim has of a subscriber.
#[derive(Clone)]
pub struct Triplet {
    /// The challenge.
    pub rand: [u8; 16],
    /// Its answer.
    pub sres: Vec<u8>,
    /// Its key.
    pub kc: Vec<u8>,
}

impl std::fmt::Debug for Triplet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Triplet")
    }
}

/// A user.
#[derive(Clone)]
pub enum User {
    /// With a password.
    Password {
        /// The name.
        name: String,
        /// The password.
        password: String,
    },
    /// With a SIM.
    Sim {
        /// The permanent identity.
        name: String,
        /// Three vectors, the same each time.
        triplets: [Triplet; 3],
    },
    /// With a certificate: only the name is known.
    Certificate {
        /// The name.
        name: String,
    },
}

impl std::fmt::Debug for User {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("User")
    }
}

/// The configuration of a server.
#[derive(Debug, Clone)]
pub struct Config {
    /// The listening address.
    pub listen: SocketAddr,
    /// TLS around RADIUS itself, over TCP (RFC 6614), both sides with certificates; `None`: RADIUS over UDP.
    pub around: Option<Tls>,
    /// Its RADIUS client.
    pub client: Client,
    /// Its methods: `md5`, `mschapv2`, `tls`, `ttls`, `peap`, `sim`, …
    pub methods: Methods,
    /// TLS inside EAP; `None`: only methods without TLS.
    pub tls: Option<Tls>,
    /// The users.
    pub users: Vec<User>,
    /// Whether it writes a debug log, for [`FreeRadius::log`]; that takes time.
    pub logs: bool,
}

/// A running server.
#[derive(Debug)]
pub struct FreeRadius {
    process: Process,
}

impl FreeRadius {
    /// Checks that it is installed.
    ///
    /// # Errors
    /// When it is not.
    pub fn check() -> Result<(), Trouble> {
        check(&[FREERADIUS, SETPRIV])
    }

    /// Writes its configuration into `dir`, starts it, and waits until it listens.
    ///
    /// # Errors
    /// When a file cannot be written, or it does not start.
    pub fn start(place: &Place, dir: &Path, config: &Config) -> Result<Self, Trouble> {
        Self::check()?;
        files::write(&dir.join("radiusd.conf"), radiusd_conf(dir, config))?;
        files::write(&dir.join("users"), config.users.iter().map(user).collect::<String>())?;
        let mut command = place.command(FREERADIUS.path);
        command.arg(verbosity(config)).args(["-l", "stdout", "-d"]);
        command.arg(dir).args(["-n", "radiusd"]);
        let mut process = Process::start("FreeRADIUS", command, dir.join("stdout"))?;
        let listens =
            |process: &Process| process.output().contains("Ready to process requests").then_some(());
        process.await_ready(START_LIMIT, listens)?;
        Ok(Self { process })
    }

    /// Its log.
    pub fn log(&self) -> String {
        self.process.output()
    }

    /// Its resource usage so far; `None` if it has ended.
    pub fn usage(&self) -> Option<Usage> {
        self.process.usage()
    }
}

/// It speaks TLS over TCP with threads only, which `-X` turns off.
const fn verbosity(config: &Config) -> &'static str {
    match (config.logs, config.around.is_some()) {
        (false, _) => "-f",
        (true, false) => "-X",
        (true, true) => "-fxx",
    }
}

fn user(user: &User) -> String {
    match user {
        User::Password { name, password } => format!("{name}\tCleartext-Password := \"{password}\"\n"),
        User::Certificate { name } => format!("{name}\tCleartext-Password := \"unused\"\n"),
        User::Sim { name, triplets } => {
            let mut number = 0;
            let reply = triplets.each_ref().map(|triplet| {
                number += 1;
                vector(number, triplet)
            });
            format!("{name}\tEAP-Type := SIM\n{}\n", reply.join(",\n"))
        }
    }
}

fn vector(n: u8, triplet: &Triplet) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let (rand, sres, kc) = (hex(&triplet.rand), hex(&triplet.sres), hex(&triplet.kc));
    format!("\tEAP-Sim-Rand{n} = 0x{rand}, EAP-Sim-SRES{n} = 0x{sres}, EAP-Sim-KC{n} = 0x{kc}")
}

fn radiusd_conf(dir: &Path, config: &Config) -> String {
    format!(
        "prefix = /usr
libdir = /usr/lib/freeradius
logdir = {dir}
run_dir = {dir}
name = freeradius
max_request_time = 30
cleanup_delay = 5
max_requests = 65536
hostname_lookups = no
log {{ destination = stdout
  auth = no }}
security {{ reject_delay = 0
  status_server = no
  allow_vulnerable_openssl = yes }}
thread pool {{ start_servers = 1
  max_servers = 1
  min_spare_servers = 1
  max_spare_servers = 1
  max_requests_per_server = 0
  auto_limit_acct = no }}
client gw {{ {address} = {client}
  proto = *
  secret = {secret}
  require_message_authenticator = yes }}
modules {{
  files {{ filename = {dir}/users
    usersfile = {dir}/users }}
  pap {{ }}
  chap {{ }}
  mschap {{ use_mppe = yes
    require_encryption = no }}
  {eap}
}}
{server}",
        dir = dir.display(),
        address = address_word(config.client.address),
        client = config.client.address,
        secret = config.client.secret,
        eap = eap_module(dir, config),
        server = server(config.listen, config.around.as_ref()),
    )
}

const fn address_word(address: IpAddr) -> &'static str {
    if address.is_ipv4() { "ipaddr" } else { "ipv6addr" }
}

fn eap_module(dir: &Path, config: &Config) -> String {
    format!(
        "eap {{
    default_eap_type = {eap_type}
    timer_expire = 60
    ignore_unknown_eap_types = no
    max_sessions = 65536
    md5 {{ }}
    mschapv2 {{ }}
    gtc {{ auth_type = PAP }}
    sim {{ }}
    {tls}
  }}",
        eap_type = config.methods.proposed,
        tls = config.tls.as_ref().map_or_else(String::new, |tls| tunnels(dir, tls, config.methods.inside)),
    )
}

fn tunnels(dir: &Path, tls: &Tls, inside: &str) -> String {
    format!(
        "tls-config common {{
      {common}
      include_length = yes
      cache {{ enable = {resumption}
        name = lab
        persist_dir = {dir} }}
    }}
    tls {{ tls = common }}
    ttls {{ tls = common
      default_eap_type = {inside}
      copy_request_to_tunnel = no
      use_tunneled_reply = no
      virtual_server = lab }}
    peap {{ tls = common
      default_eap_type = {inside}
      copy_request_to_tunnel = no
      use_tunneled_reply = no
      virtual_server = lab }}",
        common = common(tls),
        resumption = if tls.resumption { "yes" } else { "no" },
        dir = dir.display(),
    )
}

/// What TLS inside EAP and TLS around RADIUS have in common.
fn common(tls: &Tls) -> String {
    format!(
        "private_key_file = {key}
      certificate_file = {certificate}
      ca_file = {root}
      fragment_size = {fragment_bytes}
      auto_chain = no
      cipher_list = \"DEFAULT\"
      tls_min_version = \"{version}\"
      tls_max_version = \"{version}\"
      ecdh_curve = \"\"",
        key = tls.key.display(),
        certificate = tls.certificate.display(),
        root = tls.root.display(),
        fragment_bytes = tls.fragment_bytes,
        version = if tls.is_1_3 { "1.3" } else { "1.2" },
    )
}

/// TLS around RADIUS.
fn around(tls: &Tls) -> String {
    format!(
        "
    proto = tcp
    tls {{ {common}
      require_client_cert = yes
      cache {{ enable = no }}
    }}",
        common = common(tls)
    )
}

/// A virtual server, the same for outer requests and for those inside a tunnel.
fn server(listen: SocketAddr, tls: Option<&Tls>) -> String {
    format!(
        "server lab {{
  listen {{ type = auth
    {word} = {address}
    port = {port}{around} }}
  authorize {{
    files
    chap
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
    Auth-Type CHAP {{
      chap
    }}
    Auth-Type MS-CHAP {{
      mschap
    }}
    eap
  }}
}}
",
        word = address_word(listen.ip()),
        address = listen.ip(),
        port = listen.port(),
        around = tls.map_or_else(String::new, around),
    )
}

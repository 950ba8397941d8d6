//! One FreeRADIUS as a proxy between a gateway and an AAA server. It asks a server that does not answer with Status-Server
//! (RFC 5997) until that is alive again. See `proxy.conf` of the package.

use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use keytoll_daemons::Process;
use keytoll_daemons::program::FREERADIUS;

use crate::eap::RADIUS_SECRET;
use crate::lab::{GW_TOWARDS_AAA, Lab, Node};
use crate::run::{Trouble, wait_for};

/// Timeout of its start.
const START_LIMIT: Duration = Duration::from_secs(20);
/// A server is alive again after three answers to a Status-Server, one in six seconds: the least that FreeRADIUS allows.
const REVIVAL_LIMIT: Duration = Duration::from_secs(60);

/// The Access-Reject that the proxy sends in place of an unreachable server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejects {
    /// Of 20 octets, without attributes: the default of FreeRADIUS 3.2.1.
    Bare,
    /// With Message-Authenticator.
    Authentic,
}

/// A running proxy.
#[derive(Debug)]
pub struct Proxy {
    process: Process,
}

impl Proxy {
    /// Starts it at the AAA server's address and waits until it listens; it passes requests on to `server`.
    ///
    /// # Errors
    /// When a file cannot be written, or it does not start.
    pub fn start(lab: &Lab, server: SocketAddr, rejects: Rejects) -> Result<Self, Trouble> {
        let dir = lab.shared_dir().join("proxy");
        let file = dir.join("radiusd.conf");
        let text = text(&dir.display().to_string(), server, rejects);
        let written = fs::create_dir_all(&dir).and_then(|()| fs::write(&file, text));
        written.map_err(|source| Trouble::File { what: format!("write {}", file.display()), source })?;
        let mut command = lab.place(Node::Aaa).command(FREERADIUS.path);
        command.args(["-X", "-l", "stdout", "-d"]).arg(&dir).args(["-n", "radiusd"]);
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

    /// Waits until it has asked the server with Status-Server often enough to use it again.
    ///
    /// # Errors
    /// After a timeout, with the end of its log.
    pub fn await_revival(&self) -> Result<(), Trouble> {
        let alive = || self.log().contains("Marking home server 127.0.0.1 port 1812 alive").then_some(());
        wait_for("a home server that is alive again", REVIVAL_LIMIT, alive, || self.process.last_words())
    }
}

/// Without a log of its own, and with one thread, as [`keytoll_daemons::FreeRadius`].
fn text(dir: &str, server: SocketAddr, rejects: Rejects) -> String {
    let reject = match rejects {
        Rejects::Bare => "",
        Rejects::Authentic => "update reply {\n        &Message-Authenticator := 0x00\n      }",
    };
    format!(
        "prefix = /usr
libdir = /usr/lib/freeradius
logdir = {dir}
run_dir = {dir}
name = freeradius
max_request_time = 30
cleanup_delay = 5
hostname_lookups = no
proxy_requests = yes
log {{ destination = stdout }}
security {{ reject_delay = 0
  status_server = yes
  allow_vulnerable_openssl = yes }}
client gw {{ ipaddr = {GW_TOWARDS_AAA}
  secret = {RADIUS_SECRET}
  require_message_authenticator = yes }}
proxy server {{ default_fallback = no }}
home_server aaa {{ type = auth
  ipaddr = {address}
  port = {port}
  secret = {RADIUS_SECRET}
  response_window = 2
  zombie_period = 2
  status_check = status-server
  check_interval = 6
  check_timeout = 4
  num_answers_to_alive = 3
  revive_interval = 3600 }}
home_server_pool aaa {{ type = fail-over
  home_server = aaa }}
realm aaa {{ auth_pool = aaa
  nostrip
}}
modules {{ }}
server proxy {{
  listen {{ type = auth
    ipaddr = {own}
    port = 1812 }}
  authorize {{
    update control {{
      &Proxy-To-Realm := \"aaa\"
    }}
  }}
  post-auth {{
    Post-Auth-Type REJECT {{
      {reject}
    }}
  }}
}}
",
        address = server.ip(),
        port = server.port(),
        own = Node::Aaa.outer(),
    )
}

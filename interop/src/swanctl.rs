//! The configuration files strongSwan reads: `strongswan.conf` for the daemon, `swanctl.conf` for what it shall agree to.
//! One connection `c` with a child `net` (and `host`, a part of it), the same on both sides but for their roles.

use std::path::Path;

use crate::lab::{Node, POOL};

/// The shared key, unless a case wants a wrong one.
pub const SECRET: &str = "lab-shared-secret";

/// How both sides prove who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    /// The shared key.
    Psk,
    /// The node's certificate of a [`crate::Pki`].
    Certificate,
}

/// What the device is called inside the tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inner {
    /// An address the gateway assigns from its pool.
    Virtual,
    /// The network it brings along.
    Subnet,
}

/// What both sides shall agree on.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// Who proves what how.
    pub auth: Auth,
    /// The shared key of both, whether it is used or not.
    pub secret: &'static str,
    /// IKE proposals in strongSwan's words.
    pub ike: &'static str,
    /// ESP proposals in strongSwan's words.
    pub esp: &'static str,
    /// The device's inner address.
    pub inner: Inner,
    /// More lines for strongSwan's connection.
    pub charon: &'static str,
    /// More arguments for `keytoll-live-peer`, separated by blanks.
    pub keytoll: &'static str,
}

impl Terms {
    /// A shared key and a virtual address.
    pub const fn psk(ike: &'static str, esp: &'static str) -> Self {
        Self { auth: Auth::Psk, secret: SECRET, ike, esp, inner: Inner::Virtual, charon: "", keytoll: "" }
    }

    /// Certificates and a virtual address.
    pub const fn certificate(ike: &'static str, esp: &'static str) -> Self {
        Self { auth: Auth::Certificate, ..Self::psk(ike, esp) }
    }

    /// `swanctl.conf` for one side.
    pub fn swanctl_conf(&self, node: Node) -> String {
        let (peer, remote_addrs) = match node {
            Node::Ue => (Node::Gw, format!("remote_addrs = {}", Node::Gw.outer())),
            Node::Gw => (Node::Ue, String::new()),
        };
        format!(
            "connections {{ c {{
  version = 2
  local_addrs = {local}
  {remote_addrs}
  proposals = {ike}
  unique = never
  mobike = no
  {addresses}
  {more}
  local {{ {own_auth}
    id = {own_id} }}
  remote {{ auth = {auth}
    id = {peer_id} }}
  children {{ {net}
    {host} }} }} }}
pools {{ p {{ addrs = {POOL} }} }}
secrets {{ ike-1 {{ secret = \"{secret}\" }} }}
",
            local = node.outer(),
            ike = self.ike,
            net = self.child("net", self.selector(node), self.selector(peer)),
            host = self.child("host", self.host(node), self.host(peer)),
            secret = self.secret,
            more = self.charon,
            addresses = self.addresses(node),
            own_auth = self.own_auth(node),
            auth = self.auth_word(),
            own_id = node.id(),
            peer_id = peer.id(),
        )
    }

    fn child(&self, name: &str, local: &str, remote: &str) -> String {
        format!("{name} {{ local_ts = {local}\n remote_ts = {remote}\n esp_proposals = {} }}", self.esp)
    }

    const fn auth_word(&self) -> &'static str {
        match self.auth {
            Auth::Psk => "psk",
            Auth::Certificate => "pubkey",
        }
    }

    fn own_auth(&self, node: Node) -> String {
        match self.auth {
            Auth::Psk => "auth = psk".into(),
            Auth::Certificate => format!("auth = pubkey\n    certs = {}.crt", node.name()),
        }
    }

    const fn addresses(&self, node: Node) -> &'static str {
        match (self.inner, node) {
            (Inner::Virtual, Node::Ue) => "vips = 0.0.0.0",
            (Inner::Virtual, Node::Gw) => "pools = p",
            (Inner::Subnet, _) => "",
        }
    }

    /// The child `host` is for one address of the gateway alone.
    const fn host(&self, node: Node) -> &'static str {
        match node {
            Node::Ue => self.selector(node),
            Node::Gw => "10.98.2.1/32",
        }
    }

    const fn selector(&self, node: Node) -> &'static str {
        match (self.inner, node) {
            // "dynamic" stands for the virtual address once there is one.
            (Inner::Virtual, Node::Ue) => "dynamic",
            _ => node.inner_net(),
        }
    }
}

/// Plugins of Debian's packages that IKEv2 needs; an explicit list keeps the machine's own /etc/strongswan.d out.
/// `kernel-libipsec` stands before `kernel-netlink`: the first that can do a thing does it.
const PLUGINS: &str = "aesni aes sha2 sha1 md5 mgf1 random nonce x509 constraints pubkey pkcs1 pkcs8 pem openssl gmp \
    curve25519 chapoly xcbc cmac hmac kdf ctr ccm gcm drbg kernel-libipsec kernel-netlink socket-default vici";

/// `strongswan.conf` for a daemon that keeps everything it writes in `dir`.
pub fn strongswan_conf(dir: &Path) -> String {
    let dir = dir.display();
    format!(
        "charon {{
  load_modular = no
  load = {PLUGINS}
  install_virtual_ip_on = lo
  syslog {{ daemon {{ default = -1 }}
    auth {{ default = -1 }} }}
  filelog {{ main {{ path = {dir}/charon.log
      append = no
      flush_line = yes
      default = 2
      net = 1
      job = 1 }} }}
  plugins {{ vici {{ socket = unix://{dir}/vici }} }}
}}
charon-systemd {{ journal {{ default = -1 }} }}
"
    )
}
